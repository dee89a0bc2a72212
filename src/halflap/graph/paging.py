"""Paging: how to get the next page of a result, and how to know whether there is one.

Three ways are known. A result holds a cursor, or the address of the next page, that a parameter takes. A parameter takes
a page number or an offset, and the result tells how many items or pages there are, or whether more follow; if it tells
nothing, the last page is an empty one. A parameter takes the id of the last item, and the result tells whether more
follow. Otherwise a program can only report that there is more.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from halflap.graph.naming import Words, is_plural, phrase, words_of
from halflap.graph.paths import EACH, Path

if TYPE_CHECKING:
    from halflap.graph.ports import Place, Ports, Slot


def _phrases(text: str) -> frozenset[str]:
    return frozenset(text.split(", "))


_CURSORS = _phrases(
    "cursor, token, marker, bookmark, continuation, continuation token, skiptoken, skip token, evaluated key, key, after, "
    "offset, state, info"
)
"""Names of cursors, without the words below."""
_ONWARD = _phrases("next, page, pagination, paging, start, starting, end, exclusive, last")
_LEADS = _phrases("next, end, last, continuation, cursor, bookmark, marker, after, skiptoken")
"""A field is a cursor for the next page only if it has one of these words."""
_PAGE_NUMBERS = _phrases("page, page number, page index")
_OFFSETS = _phrases("offset, skip, start index, start at, start offset, from, start")
_SIZES = _phrases(
    "limit, size, page size, per page, max result, max item, max key, count, top, take, first, page limit"
)
_LAST_SEEN = _phrases("starting after, after, after id, last id, since id")
_TOTALS = _phrases("total, found, hit count, item count")
_COUNTED = _phrases("count, item, result, record, hit, element, entry, row, size, number")
_PAGE_COUNTS = _phrases("total page, page count, page total, number page, last page")
_MORE = _phrases("has more, has next, has next page, more, more result, is truncated, truncated")
_DONE = _phrases("is last, last, is last page, done, is done")
_AROUND = _phrases(
    "meta, metadata, response metadata, pagination, paging, page, page info, cursor, url, next, info, total"
)
"""Objects with facts about the page that contains them."""
_NEXT = ({"next"}, {"next", "url"}, {"next", "page"}, {"next", "page", "url"})

Tells = Literal["next", "items", "pages", "more", "done", "nothing"]
"""What a field says of a page: what leads to the next one, how many items or pages there are, whether more follow, or
whether it ends. If there is no such field, it says `nothing`."""


@dataclass(frozen=True, slots=True)
class Pages:
    """How to get from one page to the next."""

    by: Literal["cursor", "page", "offset", "last"]
    """What the parameter takes: what the result holds, a page number, a number of items, or the last item's id."""
    source: Path
    target: Path
    tells: Tells
    """What `source` means."""
    lists: tuple[Path, ...]
    """The arrays that grow page by page, the one that counts first."""
    last: Path = ()
    """The id of an item."""
    first: int = 0
    """The number of the first page, or of the first item."""
    ends: tuple[Path, bool] | None = None
    """The flag that marks the last page, and its value there."""
    may_be_address: bool = False
    """Whether the cursor may be the address of the next page, with the parameter in its query."""


@dataclass(frozen=True, slots=True)
class More:
    """A place that shows that a result is incomplete."""

    tells: Tells
    path: Path
    array: Path = ()
    """The items to count."""


def takes_page(path: Path) -> bool:
    """Return whether a parameter chooses a part of a list, or its size."""
    return path[-1].kind == "key" and _takes_page(path[-1].key)


@lru_cache(maxsize=1 << 14)
def _takes_page(name: str) -> bool:
    words = _words(name)
    if phrase(words) in _PAGE_NUMBERS | _SIZES | (_OFFSETS - {"from", "start"}):
        return True
    return _core(words) in _CURSORS and (words[-1] not in {"info", "key", "token", "state"} or len(words) > 1)


def takes_pages(ports: Ports) -> bool:
    """Return whether a tool returns a list, and takes what chooses a page of it."""
    has_list = ports.main_list is not None or bool(ports.lists)
    return has_list and any(_is_page_slot(ports, one) for one in ports.slots)


def pages_of(ports: Ports) -> Pages | None:
    """Return how to get all pages of a tool's result, if that is known."""
    slots = [one for one in ports.slots if _is_page_slot(ports, one)]
    lists, main = ports.lists, ports.main_list
    if not slots or (main is None and not lists):
        return None
    told = _told(ports, main)
    if main is None:
        return _by_cursor(slots, told, lists)
    return (
        _by_cursor(slots, told, lists) or _by_number(slots, told, main) or _by_last(ports, slots, told, main)
    )


def more_of(ports: Ports) -> tuple[More, ...]:
    """Return what shows that a result is incomplete, if its other pages cannot be requested."""
    lists, main = ports.lists, ports.main_list
    is_paged = any(takes_page(one.path) for one in ports.slots)
    told = [(place, tells) for place, tells in _told(ports, main) if lists and _is_about(place.path, lists)]
    flags = [one for one in told if one[1] == "more" or (one[1] == "done" and is_paged)]
    # A cursor may be there on the last page, too, so flags say more.
    others = [
        one
        for one in told
        if (one[1] == "next" and (is_paged or _name(one[0].path) != "next"))
        or (one[1] == "items" and is_paged)
    ]
    return tuple(More(tells, place.path, main or ()) for place, tells in flags or others)


def _told(ports: Ports, main: Path | None) -> list[tuple[Place, Tells]]:
    """Return the facts about the page at places outside of lists."""
    places = (one for one in ports.places if one.path and all(step.kind == "key" for step in one.path))
    return [(one, tells) for one in places if (tells := _tells(one, main)) is not None]


# The three ways --------------------------------------------------------------------------------------


def _by_cursor(slots: list[Slot], told: list[tuple[Place, Tells]], lists: tuple[Path, ...]) -> Pages | None:
    found = [
        (_closeness(place, slot), -at, place, slot)
        for at, (place, tells) in enumerate(told)
        for slot in slots
        if tells == "next" and lists and _belongs(place, slot)
    ]
    if not found:
        return None
    *_, place, slot = max(found, key=lambda one: one[:2])
    ends = (
        (one.path, tells == "done")
        for one, tells in told
        if tells in {"more", "done"} and place.path[: len(one.path) - 1] == one.path[:-1]
    )
    is_text = "string" in place.form.kinds
    may_be_address = is_text and _is_next(place.path) and "url" not in _words(slot.path[-1].key)
    return Pages(
        "cursor", place.path, slot.path, "next", lists, ends=next(ends, None), may_be_address=may_be_address
    )


def _by_number(slots: list[Slot], told: list[tuple[Place, Tells]], items: Path) -> Pages | None:
    about = [(place.path, tells) for place, tells in told if _is_about(place.path, (items,))]
    source, tells = next((one for one in about if one[1] != "next"), (items, "nothing"))
    if about and tells == "nothing":
        # It is the cursor that leads on.
        return None
    for slot in slots:
        name = _name(slot.path)
        if name in _PAGE_NUMBERS | _OFFSETS and slot.form.is_number:
            by: Literal["page", "offset"] = "page" if name in _PAGE_NUMBERS else "offset"
            first = (
                slot.default if type(slot.default) is int and slot.default in {0, 1} else int(by == "page")
            )
            return Pages(by, source, slot.path, tells, (items,), first=first)
    return None


def _by_last(ports: Ports, slots: list[Slot], told: list[tuple[Place, Tells]], items: Path) -> Pages | None:
    slot = next((one for one in slots if _name(one.path) in _LAST_SEEN), None)
    more = [(place, tells) for place, tells in told if tells in {"more", "done"}]
    if slot is None or not more:
        return None
    kinds = slot.form.kinds
    inside = [one for one in ports.places if one.path[:-1] == (*items, EACH) and one.form.kinds & kinds]
    for name in (("id",), (*ports.subject.thing, "id")):
        for one in inside:
            if words_of(one.path[-1].key) == name:
                return Pages("last", more[0][0].path, slot.path, more[0][1], (items,), last=one.path)
    return None


# Names -----------------------------------------------------------------------------------------------


@lru_cache(maxsize=1 << 14)
def _words(name: str) -> Words:
    """Return the words of a name without its namespace: `@odata.nextLink` is a `next url`."""
    for mark in ".:@$":
        name = name.rpartition(mark)[2] or name
    return words_of(name)


def _name(path: Path) -> str:
    return phrase(_words(path[-1].key))


def _core(words: Words) -> str:
    """Return the kind of cursor, without the words for `next`."""
    return phrase(tuple(one for one in words if one not in _ONWARD))


def _is_page_slot(ports: Ports, slot: Slot) -> bool:
    inner = slot.path[1:]
    if slot.parameter in ports.required or slot.path[-1].kind != "key" or len(inner) > 1:
        return False
    if inner and not set(_words(slot.parameter)) & {"page", "pagination", "paging", "cursor"}:
        return False
    name = _name(slot.path)
    if name in {"from", "start"}:
        # Alone they may be anything.
        return any(phrase(_words(one.parameter)) in _SIZES for one in ports.slots)
    return name not in _SIZES and (name in _LAST_SEEN or takes_page(slot.path) or _is_next(slot.path))


def _is_next(path: Path) -> bool:
    """Return whether a path is the next page or its address: `next`, `links.next`, `_links.next.href`, `next_url`."""
    own = _words(path[-1].key)
    return set(own) in _NEXT or (own == ("url",) and len(path) > 1 and _name(path[:-1]) == "next")


def _tells(place: Place, items: Path | None) -> Tells | None:
    words, name = _words(place.path[-1].key), _name(place.path)
    if place.form.is_boolean:
        return "more" if name in _MORE else "done" if name in _DONE else None
    core = _core(words)
    is_cursor = core in _CURSORS and (core not in {"info", "key", "offset", "state"} or "next" in words)
    if not {"previous", "prev", "start"} & set(words) and (
        _is_next(place.path) or (is_cursor and not _LEADS.isdisjoint(words))
    ):
        return "next"
    if not place.form.is_number or items is None:
        return None
    if name in _PAGE_COUNTS or (name == "page" and is_plural(place.path[-1].key)):
        return "pages"
    own = _words(place.path[-2].key) if words == ("value",) and len(place.path) > 1 else words
    counted = _COUNTED | set(words_of(items[-1].key) if items else ())
    is_total = phrase(own) in _TOTALS or ("total" in own and set(own) - {"total"} <= counted)
    return "items" if is_total else None


def _belongs(place: Place, slot: Slot) -> bool:
    """Return whether a slot takes the cursor of a place: a number only by the same name or from an address."""
    fits = bool(place.form.kinds & slot.form.kinds)
    if _is_next(place.path):
        return fits or "string" in place.form.kinds
    asked = _name(slot.path)
    is_number = asked in _PAGE_NUMBERS | _OFFSETS
    return fits and (not is_number or _core(_words(place.path[-1].key)) in {asked, ""})


def _closeness(place: Place, slot: Slot) -> int:
    own, asked = set(_words(place.path[-1].key)), set(_words(slot.path[-1].key))
    same = 4 * (own - {"next"} == asked - {"next"}) + 2 * bool(own & asked)
    return same + ("next" in own) - _is_next(place.path)


def _is_about(path: Path, lists: tuple[Path, ...]) -> bool:
    """Return whether a place is about the page of some lists: it is beside or around them."""
    around = path[:-1]
    while around and _name(around) in _AROUND:
        around = around[:-1]
    return any(array[: len(around)] == around for array in lists)
