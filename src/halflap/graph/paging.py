"""Pages: how a result leads to the next one, and what tells that there is more.

Three ways are known. A result holds a cursor, or the address of the next page, that a parameter takes. A parameter takes
a page number or an offset, and the result says how many items or pages there are, or whether more follow. A parameter
takes the id of the last item, and the result says whether more follow. Where none of them applies, a program can only
report that there is more.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from halflap.graph.naming import Words, is_plural, phrase, words_of
from halflap.graph.naming.vocabulary import CONTAINERS
from halflap.graph.outputs import is_boolean
from halflap.graph.paths import EACH, Path
from halflap.graph.ports import kinds_of

if TYPE_CHECKING:
    from halflap.graph.ports import Place, Ports, Slot

__all__ = ["More", "Pages", "lists_of", "main_list", "more_of", "pages_of", "takes_page"]

_NUMBERS = frozenset({"integer", "number"})


def _phrases(text: str) -> frozenset[str]:
    return frozenset(text.split(", "))


_CURSORS = _phrases(
    "cursor, token, marker, bookmark, continuation, continuation token, scroll id, skiptoken, skip token, page state, "
    "paging state, evaluated key, key, after, batch, sync token, offset"
)
"""What leads to the next page, without the words below."""
_ONWARD = _phrases("next, page, pagination, paging, start, starting, end, exclusive, last, list")
"""Words that say that something is about pages or leads on."""
_LEADS = _phrases("next, end, last, continuation, cursor, bookmark, scroll, marker, after, skiptoken, page")
_PAGE_NUMBERS = _phrases("page, page number, page index, p, pg")
_OFFSETS = _phrases("offset, skip, start index, start at, start offset, first result")
_BARE_OFFSETS = _phrases("from, start")
"""Offsets where the call also takes a size; alone they may be anything."""
_SIZES = _phrases(
    "limit, size, page size, per page, max result, max item, max key, count, top, take, row, first, result per page, "
    "page limit"
)
_LAST_SEEN = _phrases("starting after, after, after id, last id, since id, start after")
_TOTALS = _phrases("total, found, number found, hit count, item count, count total")
_COUNTED = _phrases("count, item, result, record, hit, element, entry, row, size, object, number")
_PAGE_COUNTS = _phrases("total page, page count, page total, number page, last page, num page, nb page")
_MORE = _phrases(
    "has more, has next, has next page, more, more result, is truncated, truncated, has more result"
)
_DONE = _phrases("is last, last, is last page, done, complete, is done, end")
_AROUND = _phrases(
    "meta, metadata, response metadata, pagination, paging, page, page info, cursor, link, url, next, info"
)
"""Objects that hold what tells about the page around them."""


@dataclass(frozen=True, slots=True)
class Pages:
    """How to get from one page to the next."""

    by: Literal["cursor", "page", "offset", "last"]
    """What the parameter takes: what the result holds, a page number, a number of items, or the last item's id."""
    source: Path
    """The cursor, or what tells how much there is."""
    target: Path
    tells: Literal["cursor", "items", "pages", "more", "done"]
    """What `source` is: the cursor itself, how many items or pages there are, whether more follow, or whether it ends."""
    lists: tuple[Path, ...]
    """The arrays that grow page by page."""
    last: Path = ()
    """Where an item has its id, seen from the result."""
    first: int = 0
    """The number of the first page, or of the first item."""
    ends: tuple[Path, bool] | None = None
    """What tells beside a cursor that no page follows, and its value then."""
    may_be_address: bool = False
    """Whether the cursor may be the address of the next page, with the parameter in its query."""


@dataclass(frozen=True, slots=True)
class More:
    """A place that tells that a result is only a part."""

    kind: Literal["more", "done", "next", "total", "full"]
    """It is true then, false, there at all, or greater than the number of items; or there are as many as a limit allows."""
    path: Path
    array: Path = ()
    """The items to count."""
    limit: str = ""
    """The parameter that limits their number, and its default."""
    size: int = 0


def takes_page(path: Path) -> bool:
    """Return whether a parameter says which part of a list is wanted, or how much of it."""
    return _takes_page(path[-1].key) if path[-1].kind == "key" else False


@lru_cache(maxsize=1 << 14)
def _takes_page(name: str) -> bool:
    words = _words(name)
    said = phrase(words)
    return said in _PAGE_NUMBERS | _OFFSETS | _SIZES or (
        _leading(words) in _CURSORS and _is_cursor_slot(words)
    )


def pages_of(ports: Ports) -> Pages | None:
    """Return how to get all pages of a tool's result, if that is known."""
    slots = [one for one in ports.slots if _is_page_slot(ports, one)]
    lists = lists_of(ports)
    if not slots or not (lists or main_list(ports) is not None):
        return None
    told = _around(ports)
    return _by_cursor(slots, told, lists) or _by_number(ports, slots, told) or _by_last(ports, slots, told)


def more_of(ports: Ports) -> tuple[More, ...]:
    """Return what tells that a result is only a part, where its pages cannot be asked for."""
    lists, main = lists_of(ports), main_list(ports)
    is_paged = any(takes_page(one.path) for one in ports.slots)
    found: list[More] = []
    for place in _around(ports) if lists else ():
        if not _is_about(place.path, lists):
            continue
        name = _name(place.path)
        if is_boolean(place.type):
            if name in _MORE or (name in _DONE and is_paged):
                found.append(More("more" if name in _MORE else "done", place.path))
        elif _leads_on(place) and (is_paged or name != "next"):
            found.append(More("next", place.path))
        elif main is not None and is_paged and _is_total(place, main):
            found.append(More("total", place.path, main))
    if any(one.kind in {"more", "done"} for one in found):
        # A cursor may be there on the last page, too.
        found = [one for one in found if one.kind != "next"]
    return tuple(found) or _full(ports, main)


def _full(ports: Ports, main: Path | None) -> tuple[More, ...]:
    """Return the limit of a list that is to be whole, where the tool has a default for it."""
    if main is None or ports.subject.verb != "list":
        return ()
    for slot in ports.slots:
        is_size = len(slot.path) == 1 and phrase(_words(slot.parameter)) in _SIZES
        if is_size and type(slot.default) is int and slot.default > 0:
            return (More("full", main, main, slot.parameter, slot.default),)
    return ()


def _around(ports: Ports) -> list[Place]:
    """Return the places outside all lists."""
    return [one for one in ports.told if one.path and all(step.kind == "key" for step in one.path)]


def lists_of(ports: Ports) -> tuple[Path, ...]:
    """Return the outermost arrays inside a tool's result."""
    found: dict[Path, None] = {}
    for place in ports.places:
        first = next((at for at, step in enumerate(place.path) if step.kind != "key"), None)
        if first and place.path[first].kind == "each":
            found[place.path[:first]] = None
    return tuple(found)


def main_list(ports: Ports) -> Path | None:
    """Return the list that a tool is asked for: the only one, or the one named after its thing or after nothing."""
    lists = lists_of(ports)
    if not lists:
        is_root = any(one.path for one in ports.places) and all(
            one.path[0] == EACH for one in ports.places if one.path
        )
        return () if is_root else None
    if len(lists) == 1:
        return lists[0]
    thing = ports.subject.thing
    named = [one for one in lists if thing and words_of(one[-1].key) in (thing, thing[-1:])]
    named = named or [one for one in lists if CONTAINERS.issuperset(words_of(one[-1].key))]
    return named[0] if len(named) == 1 else None


# The three ways --------------------------------------------------------------------------------------


def _by_cursor(slots: list[Slot], told: list[Place], lists: tuple[Path, ...]) -> Pages | None:
    found = [
        (_closeness(place, slot), -at, place, slot)
        for at, place in enumerate(told)
        if _leads_on(place) and lists
        for slot in slots
        if _belongs(place, slot)
    ]
    if not found:
        return None
    *_, place, slot = max(found, key=lambda one: one[:2])
    flags = [
        (one.path, _name(one.path) in _DONE)
        for one in told
        if is_boolean(one.type) and _name(one.path) in _MORE | _DONE
        if place.path[: len(one.path) - 1] == one.path[:-1]
    ]
    texts = bool(kinds_of(place.type) & {"string", "any"})
    may_be_address = texts and _is_next(place.path) and "url" not in _words(slot.path[-1].key)
    ends = flags[0] if flags else None
    return Pages("cursor", place.path, slot.path, "cursor", lists, ends=ends, may_be_address=may_be_address)


def _by_number(ports: Ports, slots: list[Slot], told: list[Place]) -> Pages | None:
    items = main_list(ports)
    if items is None:
        return None
    for slot in slots:
        name = _name(slot.path)
        by: Literal["page", "offset"] = "page" if name in _PAGE_NUMBERS else "offset"
        if not kinds_of(slot.type) <= _NUMBERS or name not in _PAGE_NUMBERS | _OFFSETS | _BARE_OFFSETS:
            continue
        for place in told:
            tells = _tells(place, items)
            if tells is not None and _is_about(place.path, (items,)):
                first = int(by == "page")
                if type(slot.default) is int and slot.default in {0, 1}:
                    first = slot.default
                return Pages(by, place.path, slot.path, tells, (items,), first=first)
    return None


def _by_last(ports: Ports, slots: list[Slot], told: list[Place]) -> Pages | None:
    items = main_list(ports)
    more = [(one, tells) for one in told if items is not None and (tells := _tells(one, items))]
    ends = next(((one, tells) for one, tells in more if tells in {"more", "done"}), None)
    slot = next((one for one in slots if _name(one.path) in _LAST_SEEN), None)
    if items is None or ends is None or slot is None:
        return None
    ids = [
        one.path
        for one in ports.places
        if one.path[:-1] == (*items, EACH) and kinds_of(one.type) & kinds_of(slot.type)
        if words_of(one.path[-1].key)[-1:] == ("id",)
    ]
    own = [path for path in ids if words_of(path[-1].key) in {("id",), (*ports.subject.thing, "id")}] or ids
    return Pages("last", ends[0].path, slot.path, ends[1], (items,), last=own[0]) if own else None


# Names -----------------------------------------------------------------------------------------------


@lru_cache(maxsize=1 << 14)
def _words(name: str) -> Words:
    """Return the words of a name without its namespace: `@odata.nextLink` is a `next url`."""
    for mark in (".", ":", "@", "$"):
        name = name.rpartition(mark)[2] or name
    return words_of(name)


def _name(path: Path) -> str:
    return phrase(_words(path[-1].key))


def _leading(words: Words) -> str:
    """Return what leads on, without the words that say that it does; of a bare `after`, itself."""
    return phrase(tuple(one for one in words if one not in _ONWARD))


def _is_cursor_slot(words: Words) -> bool:
    return words[-1] not in {"key", "token", "id", "batch"} or len(words) > 1


def _is_page_slot(ports: Ports, slot: Slot) -> bool:
    if slot.parameter in ports.required or len(slot.path) > 2 or slot.path[-1].kind != "key":  # noqa: PLR2004 -- `page.number`
        return False
    if len(slot.path) > 1 and not set(_words(slot.path[0].key)) & {"page", "pagination", "paging", "cursor"}:
        return False
    words = _words(slot.path[-1].key)
    said = phrase(words)
    if said in _BARE_OFFSETS:
        return any(phrase(_words(one.parameter)) in _SIZES for one in ports.slots)
    if said in _SIZES:
        return False
    return said in _LAST_SEEN or takes_page(slot.path) or _is_next(slot.path)


def _is_next(path: Path) -> bool:
    """Return whether a path is the next page or its address: `next`, `links.next`, `_links.next.href`, `next_url`."""
    names = [_words(step.key) for step in path[-2:]]
    own = names[-1]
    if own in {("next",), ("next", "url"), ("next", "page"), ("next", "page", "url")}:
        return True
    return own == ("url",) and len(names) > 1 and names[0] == ("next",)


def _leads_on(place: Place) -> bool:
    """Return whether a place holds what leads to the next page."""
    words = _words(place.path[-1].key)
    if is_boolean(place.type) or "previous" in words or "prev" in words or "start" in words:
        return False
    if _is_next(place.path):
        return True
    rest = _leading(words)
    is_cursor = rest in _CURSORS - {"key", "offset"} or (
        rest in _CURSORS and bool({"next", "last"} & set(words))
    )
    return is_cursor and not _LEADS.isdisjoint(words)


def _belongs(place: Place, slot: Slot) -> bool:
    """Return whether a slot takes the cursor of a place: a number only by the same name or from an address."""
    asked = _name(slot.path)
    kinds, takes = kinds_of(place.type), kinds_of(slot.type)
    if _is_next(place.path):
        return bool(kinds & takes) or "any" in kinds | takes or "string" in kinds
    if asked in _PAGE_NUMBERS | _OFFSETS:
        return _leading(_words(place.path[-1].key)) in {asked, ""} and bool(kinds & takes)
    return bool(kinds & takes) or "any" in kinds | takes


def _closeness(place: Place, slot: Slot) -> int:
    own, asked = set(_words(place.path[-1].key)), set(_words(slot.path[-1].key))
    return (
        4 * (own - {"next"} == asked - {"next"})
        + 2 * bool(own & asked)
        + ("next" in own)
        - _is_next(place.path)
    )


def _tells(place: Place, items: Path) -> Literal["items", "pages", "more", "done"] | None:
    name = _name(place.path)
    if is_boolean(place.type):
        return "more" if name in _MORE else "done" if name in _DONE else None
    if not kinds_of(place.type) <= _NUMBERS:
        return None
    if name in _PAGE_COUNTS or (name == "page" and is_plural(place.path[-1].key)):
        return "pages"
    return "items" if _is_total(place, items) else None


def _is_total(place: Place, items: Path) -> bool:
    if not kinds_of(place.type) <= _NUMBERS:
        return False
    path = place.path[:-1] if place.path[-1].key == "value" and len(place.path) > 1 else place.path
    said = _words(path[-1].key)
    if phrase(said) in _TOTALS:
        return True
    own = set(words_of(items[-1].key)) if items else set()
    return "total" in said and set(said) - {"total"} <= _COUNTED | own


def _is_about(path: Path, lists: tuple[Path, ...]) -> bool:
    """Return whether a place speaks of the page that some lists are on: it stands beside or around them."""
    around = path[:-1]
    while around and (phrase(_words(around[-1].key)) in _AROUND or "total" in _words(around[-1].key)):
        around = around[:-1]
    return any(array[: len(around)] == around for array in lists)
