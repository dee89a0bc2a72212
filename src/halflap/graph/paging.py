"""Pagination: what one page of a result has that the call for the next one takes."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from halflap.graph.edge import Evidence, Link
from halflap.graph.fit import conflict, form_of
from halflap.graph.node import LAST_KEY, PAGE_SLOTS
from halflap.graph.ports import is_boolean
from halflap.graph.turning import LINKS, MORE, counted_pages
from halflap.graph.words import Words, phrase, words_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.graph.edge import Path, Ports, Slot
    from halflap.graph.fit import Form
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
_SHORT = 4
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
    "after|bookmark|continuation|position token|resume token|page state|paging state|next record key|resume|"
    "resume from|resume key|checkpoint|continue|continue from|continuation key|watermark|scroll token|batch token"
)
"""What leads on where it is both returned and taken under the same name."""
_BEGINS = frozenset({"start", "starting", "after", "from"})
_LAST = _phrases(
    "is last|last|is last page|last page|is end|end|is final|done|is done|finished|is finished|no more|exhausted|"
    "end of result|end of list|is complete|complete|end reached|is exhausted|all returned"
)
_TURNED = frozenset({"cursor", "token", "page", "offset", "marker", "start", "index", "key", "id", "skip"})
_KEYS = frozenset({"key", "token", "cursor", "marker"})
_ALSO = {
    "page": frozenset({"page number"}),
    "offset": frozenset({"start", "start index", "skip"}),
    "index": frozenset({"start index"}),
}


_LED_TO = frozenset({"page", "offset", "batch", "chunk", "slice"})
_TURNED_BY = PAGE_SLOTS | _OPAQUE | {"start", "after id"}


_SINCE = frozenset({"since", "after", "from", "start", "starting", "begin", "beginning", "exclusive"})
_LASTS = frozenset(
    {"id", "key", "token", "cursor", "marker", "sequence", "seq", "position", "offset", "index"}
)
"""What of the last item says where the next page begins."""
_ELSE = frozenset(
    {
        "action", "appointment", "billing", "date", "day", "due", "episode", "event", "hour", "level", "minute", "month",
        "name", "payment", "quarter", "renewal", "review", "run", "season", "stage", "state", "status", "step", "task",
        "time", "timestamp", "version", "week", "year",
    }
)  # fmt: skip
"""What there is a next one of whether or not there are pages."""
_WHEN = frozenset({"date", "date-time", "time"})
_LEADING = frozenset({"next", "last", "token", "cursor", "marker"} | {one.split()[0] for one in _OPAQUE})
"""How what leads on begins, or what it is of the `page`, say, that it stands in."""
_PAGES = re.compile(r"\b(?:next|following|subsequent|previous) page\b|\bpaginat|\bpaging\b", re.IGNORECASE)
"""What the description of a parameter says that takes where to go on."""


def pages(node: Node) -> list[Link]:
    """Give the links by which a tool's result leads to its next page."""
    return _cursors(node) or _going_on(node) or counted_pages(node.ports)


def _cursors(node: Node) -> list[Link]:
    """Give the links from what is called as cursors are to what takes such."""
    links = []
    told: list[tuple[Path, Words, Form]] | None = None
    for to, slot in enumerate(node.ports.slots):
        asked = phrase(node.slot_names[to])
        if not (asked in _TURNED_BY or _begins(asked)):
            continue
        told = list(_told(node)) if told is None else told
        for path, given, form in told:
            is_number = given == ("next",) and form.kinds <= _NUMERIC
            if (_turns(given, asked) or (is_number and asked in _NUMBERED)) and not conflict(
                form, node.slot_forms[to]
            ):
                links.append(_link(path, slot, given))
                break
    return links


def _going_on(node: Node) -> list[Link]:
    """Give the link from what says where a page ended to what may be told where to go on, by their words together.

    It may be left out, or there would be no first page.
    """
    ports = node.ports
    if not ports.places:
        return []
    taken: dict[Words, int] = {}
    for to, slot in enumerate(ports.slots):
        path = slot.path
        if len(path) == 1 and path[0].key not in ports.required:
            taken.setdefault(node.slot_names[to], to)
    if not taken:
        return []
    speaking = [to for to in taken.values() if _speaks_of_pages(ports.slots[to])]
    if not (speaking or ports.beside or any(words[0] in _LEADING for words in node.place_names if words)):
        # So it is with most tools.
        return []
    for path, own, form in _told(node):
        for asked, to in taken.items():
            slot = ports.slots[to]
            fits = any(_goes_on(given, asked) for given in _together(path, own))
            if to in speaking:
                fits = fits or own == asked or _is_named_in(path[-1].key, slot.description)
            if fits and form.format not in _WHEN and not conflict(form, node.slot_forms[to]):
                return [_link(path, slot, own)]
    return []


def _told(node: Node) -> Iterator[tuple[Path, Words, Form]]:
    """Give what a page tells of itself: what is in a list is of an item."""
    for at, place in enumerate(node.ports.places):
        if place.path and all(step.kind == "key" for step in place.path):
            yield place.path, node.place_names[at], node.place_forms[at]
    for place in node.ports.beside:
        yield place.path, words_of(place.path[-1].key), form_of(place.type)


def _link(path: Path, slot: Slot, given: Words) -> Link:
    detail = f"the {phrase(given)} of one page is the {phrase(words_of(slot.path[-1].key))} of the next call"
    return Link(path, slot.path, _SURE, (Evidence("words", _SURE, detail),))


def _together(path: Path, own: Words) -> Iterator[Words]:
    """Give what something is called: by its name, and with what it is in: `page.token`, and `cursor.next` as `next cursor`."""
    yield own
    if len(path) > 1:
        of = words_of(path[-2].key)
        yield (*own, *of) if own == ("next",) else (*of, *own)


@lru_cache(maxsize=1 << 14)
def _goes_on(given: Words, asked: Words) -> bool:
    """Say whether what is called so is where a page ended, and what is asked for so where the next one begins."""
    name, rest = phrase(given), given[1:]
    if (name in _CURSORS and phrase(asked) in _TAKEN) or (given == asked and name in _OPAQUE):
        return True
    if not rest or not _ELSE.isdisjoint(rest):
        return False
    begins = asked[: -len(rest)] if asked[-len(rest) :] == rest else None
    if begins is None or not _SINCE.issuperset(begins):
        return False
    return given[0] == "next" or (given[0] == "last" and bool(begins) and rest[-1] in _LASTS)


def _speaks_of_pages(slot: Slot) -> bool:
    said = slot.description
    # A glance first, as there are many.
    return ("pag" in said or "Pag" in said) and bool(_PAGES.search(said))


def _is_named_in(name: str, text: str) -> bool:
    return len(name) > _SHORT and bool(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text))


def last_page(ports: Ports, cursor: Path) -> tuple[Path, bool] | None:
    """Give what says beside a cursor, or around it, that no page follows, and what it is then."""
    found: list[tuple[int, Path, bool]] = []
    for place in ports.told:
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
    return said[:1] == ["next"] and (name in _CURSORS or name in LINKS or said[-1] in _LED_TO)


def keeps_its_cursor(cursor: Path) -> bool:
    """Say whether the same cursor leads to one page after the other, till one is empty."""
    return phrase(words_of(cursor[-1].key)) == "scroll id"


def is_always_there(cursor: Path) -> bool:
    """Say whether there is a cursor on every page: one without items is the last, or one whose cursor is the same."""
    said = words_of(cursor[-1].key)
    return said == ("bookmark",) or (said[:1] == ("last",) and said[-1] == "id")


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
