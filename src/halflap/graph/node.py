"""A tool as the graph has it: its ports, and what their names may mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from halflap.graph.declared import mentions_of
from halflap.graph.edge import path_text
from halflap.graph.fit import Form, form_of
from halflap.graph.reading import own_words, place_readings, slot_readings
from halflap.graph.subject import Subject, subject_of
from halflap.graph.vocabulary import IDENTIFYING, KINDS, telling
from halflap.graph.words import Words, phrase, words_in, words_of

if TYPE_CHECKING:
    from halflap.graph.declared import Mention
    from halflap.graph.edge import Path, Place, Ports

__all__ = ["PAGE_SLOTS", "Held", "Node", "node_of"]

PAGE_SLOTS = frozenset(
    {
        "after", "before", "continuation token", "continue", "cursor", "first", "hit per page", "last", "limit", "marker",
        "max count", "max number result", "max result", "next cursor", "next page token", "next token", "offset",
        "page", "page cursor", "page limit", "page number", "page offset", "page size", "page token", "per page",
        "result per page", "scroll id", "skip", "start cursor", "start index", "starting after", "top", "top k", "top n",
        "number result",
    }
)  # fmt: skip
"""Parameters that say which part of a list is wanted: another tool's list has other parts."""
_FORMATS = frozenset({"email", "ipv4", "ipv6", "uri"})
_GENERIC = 0.7
_FEWEST_FIELDS = 2


class Held(NamedTuple):
    """A place or a slot that a key leads to."""

    at: int
    weight: float
    own: bool


@dataclass(frozen=True, slots=True)
class Node:
    """A tool, read."""

    number: int
    ports: Ports
    name: str
    """As its server calls it."""
    subject: Subject
    place_forms: tuple[Form, ...]
    slot_forms: tuple[Form, ...]
    place_names: tuple[Words, ...]
    slot_names: tuple[Words, ...]
    gives: dict[str, list[Held]]
    takes: dict[str, list[Held]]
    mentions: tuple[Mention, ...]
    texts: frozenset[str]
    """The words of its description."""
    place_at: dict[str, int]
    slot_at: dict[str, int]

    @property
    def tool(self) -> str:
        """Its name in the catalogue."""
        return self.ports.tool

    @property
    def server(self) -> str:
        """Its server."""
        return self.ports.server


def node_of(ports: Ports, number: int) -> Node:
    """Read a tool."""
    name = ports.original_name or ports.tool.rpartition("__")[2]
    subject = subject_of(name, ports.server)
    place_forms = tuple(form_of(place.type) for place in ports.places)
    slot_forms = tuple(form_of(slot.type) for slot in ports.slots)
    lists = {place.path[: _first_list(place)] for place in ports.places if _first_list(place)}
    gives: dict[str, list[Held]] = {}
    for at, (place, form) in enumerate(zip(ports.places, place_forms, strict=True)):
        if form.kinds <= {"boolean"}:
            # Of yes and no, one is as good as another: there is nothing to be taken from one tool to another.
            continue
        only = len(lists) == 1 and bool(_first_list(place))
        for key, weight, own in place_readings(place.path, subject, form.kind, form.format, only):
            gives.setdefault(key, []).append(Held(at, weight, own))
        for key in _more_keys(ports.server, place.path, form):
            gives.setdefault(key, []).append(Held(at, 1.0, own=False))
        for key, _, _ in form.fields if "object" in form.kinds else ():
            gives.setdefault(f"{{{key}}}", []).append(Held(at, 1.0, own=False))
    takes: dict[str, list[Held]] = {}
    for at, (slot, form) in enumerate(zip(ports.slots, slot_forms, strict=True)):
        if form.kinds <= {"boolean"} or phrase(own_words(slot.path)) in PAGE_SLOTS:
            continue
        for key, weight, own in slot_readings(slot.path, subject, form.kind, slot.description):
            takes.setdefault(key, []).append(Held(at, weight, own))
        for key in _more_keys(ports.server, slot.path, form):
            takes.setdefault(key, []).append(Held(at, 1.0, own=False))
        shape = _shape(form)
        if shape:
            takes.setdefault(shape, []).append(Held(at, 1.0, own=False))
    return Node(
        number=number,
        ports=ports,
        name=name,
        subject=subject,
        place_forms=place_forms,
        slot_forms=slot_forms,
        place_names=tuple(own_words(place.path) for place in ports.places),
        slot_names=tuple(own_words(slot.path) for slot in ports.slots),
        gives=gives,
        takes=takes,
        mentions=mentions_of(ports),
        texts=words_in(ports.description),
        place_at={path_text(place.path): at for at, place in enumerate(ports.places)},
        slot_at={path_text(slot.path): at for at, slot in enumerate(ports.slots)},
    )


def _first_list(place: Place) -> int:
    """Say how many steps lead into the first list that a place is in; 0 for none."""
    return next((at + 1 for at, step in enumerate(place.path) if step.kind != "key"), 0)


def _more_keys(server: str, path: Path, form: Form) -> list[str]:
    """Give the keys that are no names: a format, and within one server a name that says little."""
    found = []
    if form.format in _FORMATS:
        found.append(f"={form.format}")
    own = own_words(path)
    if len(own) == 1 and telling(own) < _GENERIC and (own[0] in IDENTIFYING or own[0] in KINDS):
        found.append(f"{server}\0{own[0]}")
    return found


def _shape(form: Form) -> str:
    """Give the key by which objects are found that this slot takes as they are: the field that tells most."""
    required = [name for name, needed, _ in form.fields if needed]
    if form.kinds != {"object"} or len(required) < _FEWEST_FIELDS:
        return ""
    return f"{{{max(required, key=lambda name: (telling(words_of(name)), len(name), name))}}}"
