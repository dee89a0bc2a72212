"""Pagination: what one page of a result has that the call for the next one takes."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from halflap.graph.edge import Evidence, Link
from halflap.graph.fit import conflict
from halflap.graph.node import LAST_KEY, PAGE_SLOTS
from halflap.graph.ports import is_boolean
from halflap.graph.turning import LINKS, MORE, counted_pages
from halflap.graph.words import Words, phrase, words_of

if TYPE_CHECKING:
    from halflap.graph.edge import Path, Ports
    from halflap.graph.node import Node

__all__ = [
    "is_always_there",
    "keeps_its_cursor",
    "last_page",
    "leads_on",
    "pages",
    "says_last",
    "says_more",
]

_SURE = 0.9
_NEXT = frozenset({"next", "end", "continuation"})
_NUMERIC = frozenset({"integer", "number"})
_NUMBERED = frozenset({"page", "page number", "offset", "skip"})
"""What takes a `next` that is a number."""


def _phrases(text: str) -> frozenset[str]:
    return frozenset(text.split("|"))


_CURSORS = _phrases(
    "cursor|next|next cursor|end cursor|page token|next page token|next token|continuation token|page cursor|marker|"
    "next page cursor|next marker|next page id|scroll id|next start cursor|next continuation token|start cursor|"
    "last id"
)
_TAKEN = _phrases(
    "cursor|after|page token|next token|next page token|next cursor|continuation token|continue|page cursor|marker|"
    "start cursor|scroll id|starting after|next page cursor|next page id|next|after id"
)
_OPAQUE = _phrases(
    "after|bookmark|continuation|position token|resume token|page state|paging state|next record key"
)
"""What leads on where it is both returned and taken under the same name."""
_BEGINS = frozenset({"start", "starting", "after", "from"})
_LAST = _phrases(
    "is last|last|is last page|last page|is end|end|is final|done|is done|finished|is finished|no more|exhausted|"
    "end of result|end of list|is complete"
)
_TURNED = frozenset({"cursor", "token", "page", "offset", "marker", "start", "index", "key", "id", "skip"})
_KEYS = frozenset({"key", "token", "cursor", "marker"})
_ALSO = {
    "page": frozenset({"page number"}),
    "offset": frozenset({"start", "start index", "skip"}),
    "index": frozenset({"start index"}),
}


_TURNED_BY = PAGE_SLOTS | _OPAQUE | {"start", "after id"}


def pages(node: Node) -> list[Link]:
    """Give the links by which a tool's result leads to its next page."""
    links = []
    for to, slot in enumerate(node.ports.slots):
        asked = phrase(node.slot_names[to])
        if not (asked in _TURNED_BY or _begins(asked)):
            continue
        for at, place in enumerate(node.ports.places):
            # What is in a list is of an item, not of the page.
            if not place.path or any(step.kind != "key" for step in place.path):
                continue
            given = node.place_names[at]
            is_number = given == ("next",) and node.place_forms[at].kinds <= _NUMERIC
            if (_turns(given, asked) or (is_number and asked in _NUMBERED)) and not conflict(
                node.place_forms[at], node.slot_forms[to]
            ):
                detail = f"the {phrase(given)} of one page is the {asked} of the next call"
                links.append(Link(place.path, slot.path, _SURE, (Evidence("words", _SURE, detail),)))
                break
    # Where something leads to the next page, nothing has to be counted.
    return links or counted_pages(node.ports)


def last_page(ports: Ports, cursor: Path) -> tuple[Path, bool] | None:
    """Give what says beside a cursor, or around it, that no page follows, and what it is then."""
    found: list[tuple[int, Path, bool]] = []
    for place in ports.places:
        around = place.path[:-1]
        if not place.path or place.path[-1].kind != "key" or cursor[: len(around)] != around:
            continue
        name = phrase(words_of(place.path[-1].key))
        if (name in MORE or name in _LAST) and is_boolean(place.type):
            found.append((len(around), place.path, name in _LAST))
    _, path, value = max(found, key=lambda one: one[0], default=(0, (), False))
    return (path, value) if path else None


def says_more(name: str) -> bool:
    """Say whether what is called so is true where there is more."""
    return name in MORE


def says_last(name: str) -> bool:
    """Say whether what is called so is false where there is more."""
    return name in _LAST


def leads_on(name: str) -> bool:
    """Say whether what is called so is there where there is more."""
    said = name.split()
    if tuple(said) == LAST_KEY:
        return True
    return said[:1] == ["next"] and (name in _CURSORS or name in LINKS or said[-1] in {"page", "offset"})


def keeps_its_cursor(cursor: Path) -> bool:
    """Say whether the same cursor leads to one page after the other, till one is empty."""
    return phrase(words_of(cursor[-1].key)) == "scroll id"


def is_always_there(cursor: Path) -> bool:
    """Say whether there is a cursor on every page: one without items is the last, or one whose cursor is the same."""
    return phrase(words_of(cursor[-1].key)) == "bookmark"


@lru_cache(maxsize=1 << 14)
def _begins(asked: str) -> bool:
    """Say whether a parameter takes the key after which the next page begins: `exclusive_start_key`."""
    said = asked.split()
    return len(said) > 1 and said[-1] in _KEYS and not _BEGINS.isdisjoint(said[:-1])


def _turns(given: Words, asked: str) -> bool:
    name = phrase(given)
    if (name in _CURSORS and asked in _TAKEN) or (name in _OPAQUE and name == asked):
        return True
    if given[:1] == ("last",) and given[-1] in _KEYS and asked.endswith(f" {given[-1]}") and _begins(asked):
        # `LastEvaluatedKey` is the `ExclusiveStartKey` of the next call.
        return True
    if len(given) < 2 or given[0] not in _NEXT or given[-1] not in _TURNED:  # noqa: PLR2004 -- `next` and what
        return False
    rest = phrase(given[1:])
    return asked in {rest, name} or asked in _ALSO.get(rest, ())
