"""Pagination: what one page of a result has that the call for the next one takes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from halflap.graph.edge import Evidence, Link
from halflap.graph.fit import conflict, form_of
from halflap.graph.onward import ADDRESS, belongs, given, is_address, may_turn, own_words, taken
from halflap.graph.ports import is_boolean
from halflap.graph.turning import LAST, MORE, counted_pages, is_paging_object, kinds_of
from halflap.graph.words import Words, phrase, words_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.graph.edge import Path, Ports, Slot
    from halflap.graph.fit import Form
    from halflap.graph.node import Node
    from halflap.graph.onward import Said

__all__ = [
    "is_always_there",
    "keeps_its_cursor",
    "last_page",
    "may_hold_address",
    "pages",
    "says_last",
    "says_more",
    "takes_address",
]

_SURE = 0.9
_BY_ADDRESS = 0.85
_BACK = 0.82
"""What leads back leads through all pages where nothing leads on: the first call began at the end."""
_SHORT = 4
_NUMERIC = frozenset({"integer", "number"})
_NUMBERED = frozenset({"page", "page number", "offset", "skip"})
"""What takes a `next` that is a number."""
_WHEN = frozenset({"date", "date-time", "time"})
_LEADING = frozenset({"next", "last"})
"""How what leads on begins where what takes it has any name: `next_batch` and `batch`."""
_PAGES = re.compile(r"\b(?:next|following|subsequent|previous) page\b|\bpaginat|\bpaging\b", re.IGNORECASE)
"""What the description of a parameter says that takes where to go on."""


class _Taken(NamedTuple):
    """A slot that may take where to go on."""

    slot: Slot
    form: Form
    said: Said
    turns: bool
    """Whether it is called so; else it has to be called as what comes back is."""
    speaks: bool
    """Whether its description speaks of pages."""


def pages(node: Node) -> list[Link]:
    """Give the links by which a tool's result leads to its next page."""
    return _cursors(node) or counted_pages(node.ports)


def _cursors(node: Node) -> list[Link]:
    """Give the links from what says where a page ended to what takes where to go on, by their words together.

    Of what leads to the same parameter, the first; what leads back, only where nothing leads on.
    """
    slots = _takers(node)
    if not slots:
        # So it is with most tools.
        return []
    on: dict[Path, Link] = {}
    back: dict[Path, Link] = {}
    leads = any(one.said.way > 0 for one in slots if one.turns)
    for path, own, form in _told(node):
        said = given(path)
        leads = leads or (said.way > 0 and not said.is_end)
        for one in slots:
            if form.format in _WHEN or not _fits(path, own, form, said, one):
                continue
            known = back if one.said.way < 0 else on
            link = _link(path, own, one, said)
            if one.slot.path not in known or known[one.slot.path].confidence < link.confidence:
                known[one.slot.path] = link
    return list((on or ({} if leads else back)).values())


def _takers(node: Node) -> list[_Taken]:
    """Give the slots that may take where to go on; what is not called so may be left out, or there would be no first page."""
    ports = node.ports
    if not ports.places:
        return []
    leads = bool(ports.beside) or any(words[0] in _LEADING for words in node.place_names if words)
    found: list[_Taken] = []
    for at, slot in enumerate(ports.slots):
        path = slot.path
        if len(path) > 1 and not is_paging_object(path):
            continue
        turns, speaks = may_turn(path), _speaks_of_pages(slot)
        if turns or ((speaks or leads) and path[0].key not in ports.required):
            found.append(_Taken(slot, node.slot_forms[at], taken(path), turns, speaks))
    return found


def _fits(path: Path, own: Words, form: Form, said: Said, one: _Taken) -> bool:
    slot = one.slot
    fits = belongs(said, one.said)
    if own == ("next",) and form.kinds <= _NUMERIC:
        fits = fits or phrase(words_of(slot.path[-1].key)) in _NUMBERED
    if one.speaks:
        own_name = own_words(slot.path[-1].key)
        fits = fits or own_words(path[-1].key) == own_name or _is_named_in(path[-1].key, slot.description)
        # `url`, of which it is said that it is that of the next page.
        fits = fits or (one.said.by == (ADDRESS,) and said.way > 0 and is_address(path))
    return fits and not conflict(form, one.form)


def _told(node: Node) -> Iterator[tuple[Path, Words, Form]]:
    """Give what a page tells of itself: what is in a list is of an item."""
    for at, place in enumerate(node.ports.places):
        if place.path and all(step.kind == "key" for step in place.path):
            yield place.path, node.place_names[at], node.place_forms[at]
    for place in node.ports.beside:
        yield place.path, words_of(place.path[-1].key), form_of(place.type)


def _link(path: Path, own: Words, one: _Taken, said: Said) -> Link:
    sure = _BACK if one.said.way < 0 else _BY_ADDRESS if said.by == ("url",) else _SURE
    name = phrase(words_of(one.slot.path[-1].key))
    detail = f"the {phrase(own)} of one page is the {name} of the next call"
    if said.by == ("url",):
        detail = f"the address of the next page is or has the {name} of the next call"
    return Link(path, one.slot.path, sure, (Evidence("words", sure, detail),))


def may_hold_address(ports: Ports, cursor: Path) -> bool:
    """Say whether what leads on may be the address of the next page, which has the parameter of the next call in it."""
    place = next((one for one in ports.told if one.path == cursor), None)
    return place is not None and is_address(cursor) and not kinds_of(place.type).isdisjoint({"string", "any"})


def takes_address(target: Path) -> bool:
    """Say whether a parameter takes the address of the next page itself."""
    return taken(target).by == ("url",)


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
        if (name in MORE or name in LAST) and is_boolean(place.type):
            found.append((len(around), place.path, name in LAST))
    _, path, value = max(found, key=lambda one: one[0], default=(0, (), False))
    return (path, value) if path else None


def says_more(name: str) -> bool:
    """Say whether what is called so is true where there is more."""
    return name in MORE


def says_last(name: str) -> bool:
    """Say whether what is called so is false where there is more."""
    return name in LAST


def keeps_its_cursor(cursor: Path) -> bool:
    """Say whether the same cursor leads to one page after the other, till one is empty."""
    said = words_of(cursor[-1].key)
    return "scroll" in said and said[-1] in {"id", "token"}


def is_always_there(cursor: Path) -> bool:
    """Say whether there is a cursor on every page: one without items is the last, or one whose cursor is the same."""
    said = words_of(cursor[-1].key)
    return said == ("bookmark",) or (said[:1] == ("last",) and said[-1] == "id")
