"""Quantities: which numbers need a unit to be understood, and whether anything gives them one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from halflap.graph.words import pieces_of
from halflap.lint.measures import named_unit, one_unit, units_in

if TYPE_CHECKING:
    from halflap.lint.parts import Part

__all__ = ["gives_unit", "needs_unit", "quantity_of", "tells_units", "unit_of"]


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_MEASURES = {
    "money": _set(
        "amount balance budget cost discount expense fee income payment payout price profit revenue salary subtotal tax "
        "tip turnover wage"
    ),
    "time": _set("delay duration elapsed interval latency runtime timeout ttl uptime"),
    "instant": _set("timestamp"),
    "length": _set("altitude distance elevation height radius wavelength width"),
    "mass": _set("mass weight"),
    "temperature": _set("temperature"),
    "speed": _set("bandwidth speed throughput velocity"),
    "physics": _set("energy humidity power precipitation pressure rainfall torque voltage"),
    "share": _set("percentage"),
}
_DIMENSIONS = {word: dimension for dimension, words in _MEASURES.items() for word in words}
_SHARES = _set(
    "bounce churn click conversion discount error failure growth inflation interest retention return success tax "
    "unemployment utilization win"
)
"""Of these, a rate is a share: 0.05 or 5."""
_STORED = _set("attachment cache disk download file heap memory payload storage upload")
"""Of these, a size is in bytes, or kilobytes, or megabytes."""
_FILES = _set("filename file_name path mime_type mimeType content_type contentType last_modified modified")
"""Beside these, a size is that of a file."""
_NOT_MEASURED = _set(
    "code color column count factor flag font id index key kind label level line mode name number order page percent "
    "percentile position power_of precision priority quantity rank ratio row score step tier token type unit version zoom"
)
"""With one of these in its name, a number is something else: a count, an id, a place, a choice."""
_NO_MEASURE = {
    "radius": _set("blur border corner inner outer"),
    "weight": _set("class edge font node score stroke"),
    "width": _set("bit column"),
    "height": _set("block line tree"),
    "tip": _set("tool"),
    "tax": _set("id"),
    "distance": _set("edit hamming levenshtein cosine vector"),
    "speed": _set("playback animation speech voice reading"),
    "interval": _set("confidence credible musical pitch prediction"),
}
"""What stands before a word that else is measured, and makes it something without a unit."""
_BOUNDS = _set(
    "average avg charged default due expected from high initial limit low lower max maximum mean median min minimum new old "
    "outstanding over owed paid payable received refunded remaining spent sum target threshold to total under upper value"
)
"""What may follow the word that says what is measured."""
_PICTURES = _set(
    "animation browser canvas chart diagram drawing gif graph icon image map painter photo picture plot png screen "
    "screenshot svg thumbnail video viewport visualization window"
)
"""Of these, everybody means pixels."""
_PRINTED = _set("document docx paper pdf ppt pptx presentation slide")
"""On these, pictures are as wide in inches, points or centimetres."""
_MODELS = _set("model prompt messages top_p topP max_tokens maxTokens")
"""Beside these, a temperature is that of a language model."""
_LONGEST = 2_000
"""Of a longer description, the rest is not read."""
_LONGEST_UNIT = 60
_UNIT_WORDS = frozenset({"unit", "units", "uom"})
_MONEYS = frozenset({"currency", "asset"})
_PHYSICAL = frozenset({"length", "mass", "temperature", "speed", "physics"})
"""What `units` tells all at once: metric, or imperial."""
_SYSTEM = re.compile(r"\b(?:(?i:metric|imperial)|SI)\b")
_NO_UNIT = re.compile(
    r"^\W*(?:the |an? )?(?:how many|number of|count of|quantity of)\b|\bwithout (?:an? )?(?:unit|dimension)|\b(?:unit|dimension)-?less\b"
    r"|\bno units?\b|\barbitrary units?\b|\bnormali[sz]ed\b",
    re.IGNORECASE,
)
"""By these, a number is a count, or has no unit."""
_CURRENCY = re.compile(r"currenc", re.IGNORECASE)
_ABOUT = {
    "instant": {"time"},
    "share": {"share", "count"},
    "length": {"length", "time", "angle", "count"},
    "physics": {"physics", "share", "length", "size", "speed"},
    "speed": {"speed", "size", "length", "physics", "share"},
    "money": {"money", "share"},
    "mass": {"mass", "share"},
    "time": {"time", "count"},
}
"""The units that a quantity may have beside those of its own name: distances are driven in minutes, too."""


def quantity_of(part: Part, about: frozenset[str]) -> str | None:
    """Say what a number measures, if it measures something; `about` are the words of its tool's name.

    Counts, ids, years, coordinates and scores are numbers that need no unit.
    """
    if not part.kinds & {"number", "integer"} or part.values or not part.words:
        return None
    words = list(part.words)
    while len(words) > 1 and words[-1] in _BOUNDS:
        words.pop()
    if not _NOT_MEASURED.isdisjoint(words):
        return None
    last, before = words[-1], set(words[:-1])
    dimension = _DIMENSIONS.get(last)
    if last == "rate":
        dimension = "share" if before & _SHARES else None
    elif last == "cap":
        dimension = "money" if "market" in before else None
    elif last == "size":
        beside = len(words) == 1 and not _FILES.isdisjoint(part.beside) and part.side == "output"
        dimension = "size" if before & _STORED or beside else None
    if dimension is None or before & _NO_MEASURE.get(last, frozenset()) or _is_plain(last, part, about):
        return None
    return dimension


def _is_plain(measure: str, part: Part, about: frozenset[str]) -> bool:
    """Say whether everybody knows the unit, or there is none."""
    if measure in {"width", "height"}:
        return bool(about & _PICTURES) and not about & _PRINTED
    if measure == "temperature":
        return not _MODELS.isdisjoint(part.beside)
    # Many weights are how much each of many things counts.
    return measure == "weight" and part.is_list


def needs_unit(part: Part, described: str, dimension: str) -> bool:
    """Say whether nothing tells the unit of a number by itself: a keyword, the name, or the description."""
    if part.unit or named_unit(part.name) is not None:
        return False
    described = described[:_LONGEST]
    if (dimension == "money" and _CURRENCY.search(described)) or _NO_UNIT.search(described):
        return False
    wanted = {dimension, *_ABOUT.get(dimension, ())}
    return not any(about in wanted for about, _ in units_in(described))


def tells_units(part: Part) -> bool:
    """Say whether a field is there to tell the unit of others: `unit`, `weight_unit`, `currency`."""
    words = pieces_of(part.name)
    is_text = not part.kinds or "string" in part.kinds
    return is_text and bool(words) and (words[-1] in _UNIT_WORDS or not _MONEYS.isdisjoint(words))


def gives_unit(unit: Part, part: Part, dimension: str, beside: frozenset[str]) -> bool:
    """Say whether a field that tells units tells that of a number; `beside` is all that those are about which lack one.

    One unit cannot be that of a price and of a time: then it is that of what it names.
    """
    words = pieces_of(unit.name)
    if words[-1] not in _UNIT_WORDS:
        return dimension == "money"
    of = set(words[:-1]) & (_DIMENSIONS.keys() | _MEASURES.keys())
    if of:
        return not of.isdisjoint(part.words) or dimension in of
    if len(beside) == 1:
        return True
    text = " ".join((unit.description[:_LONGEST], *(str(one)[:_LONGEST_UNIT] for one in unit.values)))
    told = {about for about, _ in units_in(text)}
    if told:
        return dimension in told
    return dimension in _PHYSICAL and (words[-1] != "unit" or _SYSTEM.search(text) is not None)


def unit_of(part: Part, described: str, dimension: str | None) -> str | None:
    """Give the unit of a number, where exactly one is told; what a keyword declares is one, known or not."""
    if part.unit:
        declared = " ".join(part.unit[:_LONGEST_UNIT].split())
        return one_unit(units_in(declared), declared)
    named = named_unit(part.name)
    if named is not None:
        return named[1]
    if dimension is None:
        return None
    wanted = {dimension, *_ABOUT.get(dimension, ())} - {"count"}
    return one_unit(frozenset(one for one in units_in(described[:_LONGEST]) if one[0] in wanted))
