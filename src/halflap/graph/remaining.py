"""What says of a result that it is a part: that there is more than the items that it has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from halflap.graph.edge import key
from halflap.graph.listed import lists_all, main_list, only_list, outer_arrays
from halflap.graph.node import PAGE_SLOTS
from halflap.graph.onward import given, is_beginning, leads_on, may_turn
from halflap.graph.paging import last_page, says_last, says_more
from halflap.graph.ports import is_boolean
from halflap.graph.turning import (
    LEFT,
    is_count,
    is_of_page,
    is_ranked,
    kinds_of,
    size_of,
    told_by,
    turning_of,
)
from halflap.graph.words import is_plural, phrase, words_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.graph.edge import Link, Path, Place, Ports

__all__ = ["More", "asks_for_a_part", "more_of"]

_PLAIN = frozenset({"string", "integer", "number"})
_SIZES = frozenset({"size", "row", "from", "start", "start at", "max item", "number", "take"})
_OF_PAGES = frozenset({"previous", "prev", "page", "per page", "page size", "limit", "offset"})
"""What a page tells of itself: beside it, `total` and `count` are of items, and `next` is a page."""
_CERTAIN = frozenset(
    {"total count", "total result", "total record", "total hit", "total element", "total entry"}
)
"""What counts items, whatever stands beside it: `total` alone may be the sum of a bill."""


_OF_THINGS = frozenset({"complete", "done", "finished", "end", "last", "remaining", "left", "omitted"})
"""What may as well be said of a thing that has a list: a task that is not done."""
_SHOWN = frozenset(
    {
        "count", "display", "displayed", "displaying", "info", "message", "note", "page", "pagination", "paging", "position",
        "range", "result", "returned", "showing", "shown", "status", "summary", "total",
    }
)  # fmt: skip
"""Texts that may say how many of how many there are: `1-3 of 7`."""


@dataclass(frozen=True, slots=True)
class More:
    """One such place of a result."""

    kind: Literal["yes", "no", "next", "address", "left", "total", "pages", "text", "full"]
    """It is true then, or false, or there at all, or there as an address; or a number, greater than none, than that of the
    items, or than one page; or a text that says that these are so many of more; or nothing says it, but there are as many
    items as there may be."""
    path: Path
    array: Path = ()
    """The items that are counted."""
    by: str = ""
    """The parameter that says how many there may be, and how many that is."""
    size: int = 0


def more_of(ports: Ports, cursor: Link | None) -> tuple[More, ...]:
    """Give what says that there is more; after the last page, where there is something that leads from page to page."""
    arrays = outer_arrays(ports)
    found = list(_all(ports, arrays)) if arrays else []
    if cursor is None:
        if any(one.kind in {"yes", "no"} for one in found):
            # What leads on may be there on the last page, too, where that is told otherwise.
            found = [one for one in found if one.kind not in {"next", "address"}]
        return tuple(found) or _full(ports)
    turning, last = turning_of(ports, cursor.source, cursor.target), last_page(ports, cursor.source)
    # Of the whole, only what turned the pages is as on the last one.
    kept = {cursor.source} if turning is not None else {last[0]} if last is not None else set()
    if turning is not None and turning.tells == "items":
        found = [
            More("total", cursor.source, main_list(ports) or ()),
            *(one for one in found if one.path != cursor.source),
        ]
    return tuple(one for one in found if one.kind == "total" or (one.path in kept and one.kind != "pages"))


def _full(ports: Ports) -> tuple[More, ...]:
    """Give that a list which is to be whole has as many items as its limit allows: nobody says whether there are more."""
    items, size = only_list(ports), size_of(ports)
    if items is None or size is None or size[1] is None or is_ranked(ports) or not lists_all(ports):
        return ()
    return (More("full", items, items, size[0], size[1]),)


def asks_for_a_part(parameter: str) -> bool:
    """Say whether a parameter says which part of a list is wanted."""
    name = phrase(words_of(parameter))
    path = (key(parameter),)
    return name in PAGE_SLOTS or name in _SIZES or may_turn(path) or is_beginning(path)


def _all(ports: Ports, arrays: tuple[Path, ...]) -> Iterator[More]:
    # How many pages there are is no page.
    beside = {
        phrase(words_of(one.path[-1].key))
        for one in ports.told
        if one.path and not (one.path[-1].key and is_plural(one.path[-1].key))
    }
    is_paged = any(asks_for_a_part(one.path[0].key) for one in ports.slots) or bool(beside & _OF_PAGES)
    is_paged = is_paged or any(_is_next_of_page(one.path) for one in ports.told)
    lists, main = is_paged or lists_all(ports), main_list(ports)
    only_back = not any(_leads(one.path) > 0 for one in ports.told)
    for place in ports.told:
        if not place.path or any(step.kind != "key" for step in place.path):
            continue
        name = phrase(words_of(place.path[-1].key))
        is_value = name == "value"
        if not is_of_page(place.path[: -2 if is_value else -1], arrays):
            continue
        said = _said(place, name, may_be_of_things=not lists)
        if said is not None:
            yield More(said, place.path)
        elif leads_on(place.path) and _may_lead(place, name):
            # Of what has no pages, there is a next one as well: but not the address of it.
            yield More("next" if is_paged or name != "next" else "address", place.path)
        elif only_back and _leads(place.path) < 0 and _may_lead(place, name):
            # The first call began at the end, then.
            yield More("next", place.path)
        elif told_by(place) == "pages" and (is_paged or name != "page"):
            yield More("pages", place.path)
        elif main is not None and _counts(place, name, arrays, is_paged=is_paged or is_value):
            yield More("total", place.path, main)
        elif main is not None and kinds_of(place.type) == {"string"} and not _SHOWN.isdisjoint(name.split()):
            yield More("text", place.path, main)


def _said(place: Place, name: str, *, may_be_of_things: bool) -> Literal["yes", "no", "left"] | None:
    """Say how a place tells outright that there is more, if it does."""
    if may_be_of_things and name in _OF_THINGS:
        return None
    if is_boolean(place.type):
        return "yes" if says_more(name) else "no" if says_last(name) else None
    return "left" if name in LEFT and told_by(place) == "more" else None


def _is_next_of_page(path: Path) -> bool:
    """Say whether something is the `next` of what tells about pages: `meta.cursor.next`."""
    said = [phrase(words_of(one.key)) for one in path[-2:]]
    return len(said) > 1 and said[1] == "next" and is_of_page(path[:-1], ((),))


def _leads(path: Path) -> int:
    """Say which way something leads from page to page, if it does: on or back."""
    said = given(path) if path and all(step.kind == "key" for step in path) else None
    return said.way if said is not None and said.of_pages else 0


def _may_lead(place: Place, name: str) -> bool:
    # A key is an object as often as a text.
    return kinds_of(place.type) <= (_PLAIN | {"object"} if name.endswith("key") else _PLAIN)


def _counts(place: Place, name: str, arrays: tuple[Path, ...], *, is_paged: bool) -> bool:
    if kinds_of(place.type) - {"integer", "number"}:
        return False
    counts = told_by(place, arrays) == "items" or any(is_count(place.path, one) for one in arrays)
    return (counts or name == "count") and (is_paged or name in _CERTAIN)
