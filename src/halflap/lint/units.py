"""Quantities and units: which numbers need a unit to be understood, and which unit a name or a text gives them."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from halflap.graph.words import pieces_of

if TYPE_CHECKING:
    from halflap.lint.parts import Part

__all__ = ["quantity_of", "tells_unit", "unit_of"]


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_MEASURES = {
    "money": _set(
        "amount balance budget cost discount expense fee income payment payout price profit revenue salary subtotal tax "
        "tip turnover wage"
    ),
    "time": _set("delay duration elapsed latency runtime timeout ttl uptime"),
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
}
"""What stands before a word that else is measured, and makes it something without a unit."""
_BOUNDS = _set(
    "average avg default expected from high initial limit low lower max maximum mean median min minimum new old over "
    "sum target threshold to total under upper value"
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
_CURRENCY = re.compile(r"currenc", re.IGNORECASE)

_UNITS: tuple[tuple[str, str, str], ...] = (
    ("time", "milliseconds", r"ms|msecs?|millis|milli-?seconds?|毫秒|ミリ秒|밀리초"),
    ("time", "seconds", r"secs?|seconds?|sekunden?|秒|초"),
    ("time", "minutes", r"mins|minutes?|分钟|分"),
    ("time", "hours", r"hrs?|hours?|stunden?|小时|時間|시간"),
    ("time", "days", r"days?|tagen?|天|日数"),
    ("time", "weeks", r"weeks?|周"),
    ("time", "months", r"months?|个月"),
    ("time", "years", r"years?|年"),
    ("time", "nanoseconds", r"ns|nano-?seconds?"),
    ("time", "microseconds", r"µs|micro-?seconds?|微秒"),
    ("time", "unix", r"unix|epoch"),
    ("money", "cents", r"cents?|pence"),
    ("money", "USD", r"usd|us ?dollars?|dollars?|\$"),
    ("money", "EUR", r"eur|euros?|€"),
    ("money", "GBP", r"gbp|pounds? sterling|£"),
    ("money", "JPY", r"jpy|yen|円"),
    ("money", "CNY", r"cny|rmb|yuan|元|人民币|¥"),
    ("money", "KRW", r"krw|won|원"),
    ("money", "other", r"chf|inr|cad|aud|btc|eth|satoshis?|wei|gwei|lamports?|credits?|points?"),
    ("share", "percent", r"percent(?:ages?)?|pct|%|per cent|百分比|百分之"),
    ("share", "fraction", r"fraction|decimal|0(?:\.0)? ?(?:-|\u2013|to|and|\uff5e|~|到|至) ?1(?:\.0)?(?![\d.])|0\.\d+ ?="),
    ("share", "basis points", r"bps|basis points?"),
    ("size", "bytes", r"bytes?|octets?|字节|バイト"),
    ("size", "kilobytes", r"kb|kib|kilobytes?"),
    ("size", "megabytes", r"mb|mib|megabytes?"),
    ("size", "gigabytes", r"gb|gib|gigabytes?|tb|tib|terabytes?"),
    ("size", "bits", r"bits?|bit/s|[kmg]bps|[kmg]bit(?:/s)?"),
    ("length", "pixels", r"px|pixels?|像素|ピクセル"),
    ("length", "inches", r"inch(?:es)?|英寸"),
    ("length", "points", r"pt|pts|points?|磅"),
    ("length", "EMU", r"emus?|em|rem|twips?"),
    ("length", "millimetres", r"mm|millimet(?:er|re)s?|毫米"),
    ("length", "centimetres", r"cm|centimet(?:er|re)s?|厘米"),
    ("length", "metres", r"met(?:er|re)s?|(?<=\d )m|米|미터"),
    ("length", "kilometres", r"km|kilomet(?:er|re)s?|公里|千米"),
    ("length", "miles", r"miles?|mi"),
    ("length", "feet", r"feet|foot|ft|yards?|yd"),
    ("length", "nanometres", r"nm|nanomet(?:er|re)s?|bp|base pairs?"),
    ("mass", "grams", r"g|grams?|mg|milligrams?|克"),
    ("mass", "kilograms", r"kg|kilos?|kilograms?|tonnes?|公斤|千克"),
    ("mass", "pounds", r"lbs?|pounds?|oz|ounces?"),
    ("temperature", "Celsius", r"celsius|°c|℃|摄氏"),
    ("temperature", "Fahrenheit", r"fahrenheit|°f|℉"),
    ("temperature", "Kelvin", r"kelvin|k"),
    ("speed", "per time", r"km/?h|kph|mph|m/s|knots?|rpm|fps|bpm|per (?:second|minute|hour|day)|/ ?s"),
    ("physics", "SI", r"kwh?|mw|watts?|w|volts?|v|amps?|amperes?|a|[kmg]?hz|hertz|h?pa|pascals?|bar|psi|mmhg|joules?|j|kcal|calories?|nm"),
    ("angle", "degrees", r"degrees?|deg|°|度"),
    ("angle", "radians", r"rad|radians?"),
    ("count", "characters", r"chars?|characters?|tokens?|words?|lines?|frames?|samples?|bars?|beats?|字符"),
)  # fmt: skip
_ONLY_IN_NAMES = _set("a v w j k g m mi em rem")
"""Too short to be looked for in a text: `a` is a word."""
_ABOUT = {
    "instant": {"time"},
    "share": {"share", "count"},
    "length": {"length", "time", "angle", "count"},
    "physics": {"physics", "share", "length", "size", "speed"},
    "speed": {"speed", "size", "length", "physics", "share"},
    "money": {"money", "share"},
    "time": {"time", "count"},
}
"""The units that a quantity may have beside those of its own name: distances are driven in minutes, too."""


def _any(pattern: str) -> re.Pattern[str]:
    words = "|".join(one for one in pattern.split("|") if one not in _ONLY_IN_NAMES)
    return re.compile(rf"(?<![a-z])(?:{words or '(?!)'})(?![a-z])", re.IGNORECASE)


_IN_TEXT = tuple((dimension, unit, _any(pattern)) for dimension, unit, pattern in _UNITS)
_IN_NAME = tuple(
    (dimension, unit, re.compile(rf"(?:{pattern})", re.IGNORECASE)) for dimension, unit, pattern in _UNITS
)


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


def tells_unit(part: Part, described: str, dimension: str) -> bool:
    """Say whether anything tells the unit: a keyword, the name, the description, or a field beside it."""
    if part.unit or _named(part.name) is not None:
        return True
    if any(_is_unit_field(name, dimension) for name in part.beside if name != part.name):
        return True
    if dimension == "money" and _CURRENCY.search(described[:_LONGEST]):
        return True
    wanted = {dimension, *_ABOUT.get(dimension, ())}
    return any(about in wanted for about, _ in _described(described))


def unit_of(part: Part, described: str, dimension: str) -> str | None:
    """Give the unit of a number, where exactly one is told."""
    named = _named(part.name)
    if named is not None:
        return named[1]
    wanted = {dimension, *_ABOUT.get(dimension, ())} - {"count"}
    told = _described(part.unit) if part.unit else _described(described)
    found = {unit for about, unit in told if about in wanted}
    return found.pop() if len(found) == 1 else None


@lru_cache(maxsize=1 << 12)
def _named(name: str) -> tuple[str, str] | None:
    """Give the unit that a name ends with, or has in it: `timeout_ms`, `widthPx`, `price_usd_cents`."""
    pieces = pieces_of(name)
    for piece in reversed(pieces[1:]):
        for dimension, unit, pattern in _IN_NAME:
            if dimension != "count" and pattern.fullmatch(piece):
                return dimension, unit
    return None


@lru_cache(maxsize=1 << 12)
def _described(text: str) -> frozenset[tuple[str, str]]:
    text = text[:_LONGEST]
    return frozenset((dimension, unit) for dimension, unit, pattern in _IN_TEXT if pattern.search(text))


def _is_unit_field(name: str, dimension: str) -> bool:
    words = pieces_of(name)
    if dimension == "money" and ("currency" in words or "asset" in words):
        return True
    return bool(words) and words[-1] in {"unit", "units", "uom"}
