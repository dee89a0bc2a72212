"""Pages that are counted: the call takes where to begin, or the number of a page, and a result says how much there is.

Where none says it, a page that is full is followed by another, and one that is not is the last.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from halflap.graph.edge import Evidence, Link, key
from halflap.graph.listed import main_list, only_list, outer_arrays
from halflap.graph.onward import given, is_address, is_beginning, is_last_seen, own_words
from halflap.graph.ports import is_boolean
from halflap.graph.subject import subject_of
from halflap.graph.words import is_plural, phrase, words_of

if TYPE_CHECKING:
    from halflap.graph.edge import Path, Place, Ports, Slot
    from halflap.schema import Type

__all__ = [
    "LAST",
    "LEFT",
    "MORE",
    "Turning",
    "collected",
    "counted_pages",
    "is_count",
    "is_of_page",
    "is_paging_object",
    "is_ranked",
    "kinds_of",
    "size_of",
    "told_by",
    "turning_of",
]

_SURE = 0.8
"""Less than a cursor: where there is one, it is what leads on."""
_GUESSED = 0.6
"""Less than where a result says how much there is."""
_NUMERIC = frozenset({"integer", "number"})
_FROM_NOTHING = frozenset({"offset", "skip", "start at"})
"""Where the first item is 0, unless somebody says something else: others may count from 1."""
_BEGINNINGS = frozenset({"from", "start"})
"""Offsets where the call takes how many, too: alone, `from` may as well be a place."""
_SIZES = frozenset(
    {
        "size", "limit", "row", "count", "page size", "max result", "per page", "hit per page", "result per page",
        "max count", "page limit", "number result", "max number result", "take",
    }
)  # fmt: skip
"""What takes how many there are to be."""
_RANKED = frozenset(
    {
        "top", "recent", "latest", "newest", "oldest", "trending", "popular", "best", "worst", "first", "last", "random",
        "nearby", "nearest", "closest", "similar", "related", "sample", "suggested", "recommended",
    }
)  # fmt: skip
"""What names a part that is meant: of the top ten, there are no more."""
_NUMBERS = frozenset({"page", "page number", "page index", "p", "pg"})
_OWN_NUMBERS = _NUMBERS | {"current page", "number"}
"""What a page calls its own number."""
_OWN_BEGINNINGS = frozenset({"start", "from", "start index", "offset", "start at", "skip"})
"""What a page calls the number of its first item."""
_IDS = {("cursor",), ("id",), ("uuid",), ("reference",), ("key",), ("number",)}
"""How what an item is known by ends."""
_COUNTED = frozenset(
    {
        "all", "available", "count", "element", "entry", "found", "grand", "hit", "item", "match", "matched", "matching",
        "number", "object", "overall", "record", "resource", "result", "row", "size",
    }
)  # fmt: skip
"""What a total of items may be called beside that: a `total_price` is none."""
_FOUND = frozenset({"number found", "nb hit", "number hit", "number match", "hit count", "found count"})
_PAGES = frozenset(
    {
        "total page", "page count", "page total", "number page", "total page count", "last page", "max page", "nb page",
    }
)  # fmt: skip
MORE = frozenset(
    {
        "has more", "more", "has next", "has next page", "has more result", "has more item", "has more page",
        "has more data", "more result", "more available", "is more", "is truncated", "truncated", "has another page",
        "next page exist", "was truncated", "result truncated", "partial", "is partial", "partial result", "incomplete",
        "is incomplete", "incomplete result",
    }
)  # fmt: skip
"""What is true where there is more."""
LAST = frozenset(
    {
        "is last", "last", "is last page", "last page", "is end", "end", "is final", "done", "is done", "finished",
        "is finished", "no more", "exhausted", "end of result", "end of list", "is complete", "complete", "end reached",
        "is exhausted", "all returned", "eof",
    }
)  # fmt: skip
"""What is false where there is more."""
LEFT = frozenset(
    {
        "remaining", "left", "remaining count", "remaining item", "remaining result", "remaining record", "item remaining",
        "result remaining", "record remaining", "item left", "result left", "record left", "number remaining", "more count",
        "omitted", "omitted count", "not shown",
    }
)  # fmt: skip
"""What says how many more there are."""
_BY_DEFAULT = re.compile(
    r"\bdefaults?\b(?:\s+(?:value|is|to|of))*\s*[:=]?\s*[`'\"]?(\d{1,6})(?!\.?\d)|\b(\d{1,6})\s+by\s+default\b",
    re.IGNORECASE,
)
_FROM_ZERO = re.compile(
    r"\b(?:zero|0)[ -]?(?:based|indexed)\b|\b(?:start|begin|count)(?:s|ing|ed)? (?:at|from|with) (?:zero|0)\b"
    r"|\bfirst(?: page)? (?:is|=) (?:page )?(?:zero|0)\b|\b(?:zero|0) is the first\b|, from (?:zero|0)\b",
    re.IGNORECASE,
)
_FROM_ONE = re.compile(_FROM_ZERO.pattern.replace("zero|0", "one|1"), re.IGNORECASE)
_AROUND = frozenset(
    {
        "meta", "metadata", "response metadata", "pagination", "paging", "page", "page info", "url", "cursor", "info",
        "next",
    }
)  # fmt: skip
"""What pages are told about in, beside their items; what is called `links`, too."""


@dataclass(frozen=True, slots=True)
class Turning:
    """How one gets from a page to the next."""

    by: Literal["items", "pages", "last"]
    """Whether the call takes how many items there were, the number of the page, or the id of the last item."""
    tells: Literal["items", "pages", "more", "last", "nothing"]
    """Whether a page tells how many items there are, how many pages, only that there are more, or that it is the last, or
    nothing at all."""
    first: int = 0
    """The number of the first page, or item."""
    own: Path = ()
    """Where the first page says its own number, or that of its first item, if nobody has said what that is."""
    last: Path = ()
    """Where an item has the id that the call takes."""
    size: int | None = None
    """How many items a full page has, where nothing is told and that is known."""
    is_first_known: bool = True
    """Whether it is known from which number items are counted; else one that comes twice shows that it is another."""


def counted_pages(ports: Ports) -> list[Link]:
    """Give the links from what says how much there is to what says which part is asked for; one list has to be meant.

    Where nothing says it, they are from the list itself.
    """
    slots = [one for one in ports.slots if _may_count(one)]
    if not slots:
        # So it is with most tools.
        return []
    if main_list(ports) is not None:
        for slot in slots:
            for place in ports.told:
                if turning_of(ports, place.path, slot.path) is not None:
                    detail = (
                        f"the {_name(place.path)} says whether there is more to ask for by {_name(slot.path)}"
                    )
                    return [Link(place.path, slot.path, _SURE, (Evidence("words", _SURE, detail),))]
    items = only_list(ports)
    for slot in slots:
        if items is not None and _guessed(ports, slot, items) is not None:
            detail = f"after a full page there may be more to ask for by {_name(slot.path)}"
            return [Link(items, slot.path, _GUESSED, (Evidence("words", _GUESSED, detail),))]
    return []


def collected(ports: Ports, link: Link) -> tuple[Path, ...]:
    """Give the lists that grow page by page."""
    turning = turning_of(ports, link.source, link.target)
    if turning is None:
        return outer_arrays(ports)
    items = link.source if turning.tells == "nothing" else main_list(ports)
    return () if items is None else (items,)


def turning_of(ports: Ports, source: Path, target: Path) -> Turning | None:
    """Say how pages are turned by a place and a slot, if they are counted."""
    slot = next((one for one in ports.slots if one.path == target), None)
    if slot is None or not _is_outer(target) or slot.parameter in ports.required:
        return None
    if source == only_list(ports):
        return _guessed(ports, slot, source)
    place = next((one for one in ports.told if one.path == source), None)
    if place is None or not source or any(step.kind != "key" for step in source):
        return None
    by, last = _by(ports, slot), _last(ports, slot)
    tells = told_by(place, outer_arrays(ports))
    if tells is None or (by is None and (not last or kinds_of(place.type) == {"string"})):
        # A text that leads on is taken itself, before the id of the last item is.
        return None
    return _counted(ports, slot, by, tells) if by is not None else Turning("last", tells, last=last)


def _counted(
    ports: Ports,
    slot: Slot,
    by: Literal["items", "pages"],
    tells: Literal["items", "pages", "more", "last", "nothing"],
) -> Turning:
    """Say from which number pages or items are counted, as far as that is known."""
    first, name = _first(slot), _name(slot.path)
    if first is None and by == "pages":
        own = _own_number(ports, _OWN_NUMBERS | {name})
        # The first page of an index is 0: where that is wrong, the same page comes again, and none is lost.
        return Turning(by, tells, 0 if name == "page index" else 1, own)
    if first is None and by == "items" and name not in _FROM_NOTHING:
        own = _own_number(ports, _OWN_BEGINNINGS | {name})
        return Turning(by, tells, 0, own, is_first_known=bool(own))
    return Turning(by, tells, first or 0)


def size_of(ports: Ports) -> tuple[str, int | None] | None:
    """Give the parameter that says how many items there are to be, and how many that is where nobody says it."""
    for one in ports.slots:
        if len(one.path) == 1 and _name(one.path) in _SIZES and one.type.kind in _NUMERIC:
            known = type(one.default) is int and one.default > 0
            said = None if known else _BY_DEFAULT.search(one.description)
            if said is not None:
                return one.path[0].key, int(said[1] or said[2]) or None
            return one.path[0].key, one.default if known else None
    return None


def is_ranked(ports: Ports) -> bool:
    """Say whether a tool's name says that it returns a part, such as the best."""
    return not _RANKED.isdisjoint(words_of(ports.original_name or ports.tool))


def is_paging_object(path: Path) -> bool:
    """Say whether something is in an object that is called as what speaks of pages: `pagination.offset`."""
    if len(path) != 2 or any(step.kind != "key" for step in path):  # noqa: PLR2004 -- it, and what it is in
        return False
    around = own_words(path[0].key)
    return "page" in around or around == ("cursor",)


def _is_outer(path: Path) -> bool:
    return len(path) == 1 or is_paging_object(path)


def _may_count(slot: Slot) -> bool:
    path = slot.path
    return (len(path) == 1 or is_paging_object(path)) and _counts(path[-1].key)


@lru_cache(maxsize=1 << 14)
def _counts(name: str) -> bool:
    path = (key(name),)
    return _name(path) in _NUMBERS | _BEGINNINGS or is_beginning(path) or is_last_seen(path)


def _first(slot: Slot) -> int | None:
    """Give the number of the first page, as the default or the description says it."""
    if type(slot.default) is int and slot.default in {0, 1}:
        return slot.default
    if _FROM_ZERO.search(slot.description):
        return 0
    return 1 if _FROM_ONE.search(slot.description) else None


def _own_number(ports: Ports, names: frozenset[str]) -> Path:
    """Give where a page says its own number, under one of these names, beside its list or around it."""
    array = (main_list(ports) or (),)
    found = [
        one.path
        for one in ports.told
        if one.path and all(step.kind == "key" for step in one.path)
        if _name(one.path) in names and not is_plural(one.path[-1].key) and is_of_page(one.path[:-1], array)
        if kinds_of(one.type) == {"integer"}
    ]
    return min(found, key=lambda path: (_name(path) == "number", len(path)), default=())


def is_of_page(around: Path, arrays: tuple[Path, ...]) -> bool:
    """Say whether what stands in something is told of the page that some lists are on."""
    while around and _name(around) in _AROUND:
        around = around[:-1]
    return any(array[: len(around)] == around for array in arrays)


def _guessed(ports: Ports, slot: Slot, items: Path) -> Turning | None:
    """Say how pages are turned of which none tells anything: those of a list that is asked for in parts."""
    by = _by(ports, slot)
    if by is None or not _is_outer(slot.path) or slot.parameter in ports.required or is_ranked(ports):
        return None
    size = size_of(ports)
    told = {one.path for one in ports.places if one.path and one.path[:-1] == items[:-1]}
    is_numbered = by == "pages" and any(
        _name(path) in _NUMBERS and not is_plural(path[-1].key) for path in told if path[-1].kind == "key"
    )
    first = _first(slot)
    begins = type(slot.default) is int and first is not None
    is_said = begins or (by == "pages" and first is not None)
    if size is None and not (is_numbered or is_said or any(is_count(path, items) for path in told)):
        # A page of a book is no page of a list, and there is no first one.
        return None
    if first is None and _name(slot.path) == "page index":
        # Whoever began with another number would lose a page, and nobody would notice.
        return None
    return replace(_counted(ports, slot, by, "nothing"), size=None if size is None else size[1])


def is_count(path: Path, items: Path) -> bool:
    """Say whether a number beside a list is that of its items: of all, or of these."""
    *rest, last = words_of(path[-1].key) or ("",)
    called = {*words_of(items[-1].key)} if items else set()
    return last == "count" and {*rest} <= called | _COUNTED


def told_by(place: Place, arrays: tuple[Path, ...] = ()) -> Literal["items", "pages", "more", "last"] | None:
    """Say what a place of a page tells of the others, if it does; `arrays` are the lists beside it."""
    told = _name(place.path)
    if is_boolean(place.type):
        return "more" if told in MORE else "last" if told in LAST else None
    if kinds_of(place.type) == {"string"} and is_address(place.path) and given(place.path).way > 0:
        return "more"
    if not kinds_of(place.type) <= _NUMERIC or place.type.kind == "any":
        return None
    if told in LEFT:
        return "more"
    if _is_total(place.path, arrays) or (
        told == "value" and len(place.path) > 1 and _is_total(place.path[:-1], arrays)
    ):
        return "items"
    return "pages" if told in _PAGES or (told == "page" and is_plural(place.path[-1].key)) else None


def _is_total(path: Path, arrays: tuple[Path, ...]) -> bool:
    """Say whether a number is that of all items: a total of nothing, of what only counts, or of what the list is called."""
    said = words_of(path[-1].key)
    if phrase(said) in _FOUND:
        return True
    rest = {*said} - {"total"}
    if len(rest) == len({*said}):
        return False
    return rest <= _COUNTED or any(
        array and rest <= {*words_of(array[-1].key), *_COUNTED} for array in arrays
    )


def _by(ports: Ports, slot: Slot) -> Literal["items", "pages"] | None:
    asked = _name(slot.path)
    if slot.type.kind not in _NUMERIC:
        return None
    if is_beginning(slot.path) or (
        asked in _BEGINNINGS and any(_name(one.path) in _SIZES for one in ports.slots if _is_outer(one.path))
    ):
        return "items"
    return "pages" if asked in _NUMBERS else None


def _last(ports: Ports, slot: Slot) -> Path:
    """Give where the items have the id that a slot takes: `id`, or the only id, or that of what the tool lists."""
    items = main_list(ports) if is_last_seen(slot.path) else None
    if items is None:
        return ()
    size = len(items) + 2
    ids = {
        words_of(one.path[-1].key): one.path
        for one in ports.places
        if len(one.path) == size and one.path[:-2] == items and one.path[-1].kind == "key"
        if words_of(one.path[-1].key)[-1:] in _IDS and kinds_of(one.type) & kinds_of(slot.type)
    }
    if ("cursor",) in ids:
        # Each item has where the next begins.
        return ids["cursor",]
    if any(said[-1] == "id" for said in ids):
        ids = {said: path for said, path in ids.items() if said[-1] == "id"}
    own = [path for said, path in ids.items() if len(ids) == 1 or said == ("id",)]
    thing = subject_of(ports.original_name, ports.server).thing
    own += [path for said, path in ids.items() if said[:-1] == thing]
    return own[0] if own else ()


def kinds_of(kind: Type) -> set[str]:
    """Give what a value may be, if it is not null."""
    return {str(one.kind) for one in kind.members or (kind,)} - {"null"}


def _name(path: Path) -> str:
    return phrase(words_of(path[-1].key))
