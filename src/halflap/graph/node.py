"""A tool as the graph has it: its ports, and what their names may mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from halflap.graph.declared import mentions_of
from halflap.graph.edge import path_text
from halflap.graph.fit import Form, form_of
from halflap.graph.reading import own_words, place_readings, slot_readings
from halflap.graph.subject import Subject, subject_of
from halflap.graph.vocabulary import CONTAINERS, IDENTIFYING, KINDS, telling
from halflap.graph.words import Words, phrase, words_in, words_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from halflap.graph.declared import Mention
    from halflap.graph.edge import Path, Place, Ports

__all__ = ["PAGE_SLOTS", "Held", "Node", "node_of", "vague_key"]

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
_LITTLE = 0.2
_MOST_BESIDE = 8
_OUTERMOST = 2


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
    vague: dict[str, list[int]]
    """The places whose names say little, such as `id`, by that name; what they are of, the description may tell."""
    asked: dict[tuple[str, str], list[int]]
    """The slots that take such a value, by its name and what it is to be of."""
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

    def keys_given(self) -> Iterator[str]:
        """Give the keys under which an index has it as one that gives something."""
        yield from self.gives
        yield from (vague_key(self.server, name) for name in self.vague)

    def keys_taken(self) -> Iterator[str]:
        """Give the keys under which an index has it as one that takes something."""
        yield from self.takes
        yield from (vague_key(self.server, name, thing) for name, thing in self.asked)

    def keys_told(self) -> Iterator[str]:
        """Give the keys under which an index has it as one that tells of something."""
        if self.vague:
            yield from (vague_key(self.server, "", word) for word in self.texts)


def vague_key(server: str, name: str, thing: str = "") -> str:
    """Give the key of a name that says something within one server alone."""
    return f"\0{server}\0{name}\0{thing}"


def node_of(ports: Ports, number: int) -> Node:
    """Read a tool."""
    name = ports.original_name or ports.tool.rpartition("__")[2]
    subject = subject_of(name, ports.server)
    place_forms = tuple(form_of(place.type) for place in ports.places)
    slot_forms = tuple(form_of(slot.type) for slot in ports.slots)
    gives, vague = _given(ports, subject, place_forms)
    takes, asked = _taken(ports, subject, slot_forms)
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
        vague=vague,
        asked=asked,
        mentions=mentions_of(ports),
        texts=words_in(ports.description),
        place_at={path_text(place.path): at for at, place in enumerate(ports.places)},
        slot_at={path_text(slot.path): at for at, slot in enumerate(ports.slots)},
    )


def _given(
    ports: Ports, subject: Subject, forms: tuple[Form, ...]
) -> tuple[dict[str, list[Held]], dict[str, list[int]]]:
    gives: dict[str, list[Held]] = {}
    vague: dict[str, list[int]] = {}
    lists = {place.path[: _first_list(place)] for place in ports.places if _first_list(place)}
    for at, (place, form) in enumerate(zip(ports.places, forms, strict=True)):
        if form.kinds <= {"boolean"}:
            # Of yes and no, one is as good as another: there is nothing to be taken from one tool to another.
            continue
        only = len(lists) == 1 and bool(_first_list(place))
        for key, weight, own in place_readings(place.path, subject, form.kind, form.format, only):
            gives.setdefault(key, []).append(Held(at, weight, own))
        if form.format in _FORMATS:
            gives.setdefault(f"={form.format}", []).append(Held(at, 1.0, own=False))
        for name, _, _ in form.fields if "object" in form.kinds else ():
            gives.setdefault(f"{{{name}}}", []).append(Held(at, 1.0, own=False))
        if form.values:
            gives.setdefault(_choice(ports.server, place.path, form), []).append(Held(at, 1.0, own=False))
        if _is_open(place.path, subject):
            vague.setdefault(own_words(place.path)[0], []).append(at)
    for key, at in _beside([place.path for place in ports.places]):
        gives.setdefault(key, []).append(Held(at, 1.0, own=False))
    return gives, vague


def _taken(
    ports: Ports, subject: Subject, forms: tuple[Form, ...]
) -> tuple[dict[str, list[Held]], dict[tuple[str, str], list[int]]]:
    takes: dict[str, list[Held]] = {}
    asked: dict[tuple[str, str], list[int]] = {}
    for at, (slot, form) in enumerate(zip(ports.slots, forms, strict=True)):
        own_name = own_words(slot.path)
        if form.kinds <= {"boolean"} or not own_name or phrase(own_name) in PAGE_SLOTS:
            continue
        for key, weight, own in slot_readings(slot.path, subject, form.kind, slot.description):
            takes.setdefault(key, []).append(Held(at, weight, own))
        if form.format in _FORMATS:
            takes.setdefault(f"={form.format}", []).append(Held(at, 1.0, own=False))
        shape = _shape(form)
        if shape:
            takes.setdefault(shape, []).append(Held(at, 1.0, own=False))
        if form.values:
            takes.setdefault(_choice(ports.server, slot.path, form), []).append(Held(at, 1.0, own=False))
        thing = own_name[:-1] or (() if subject.creates else subject.thing)
        if thing and len(slot.path) <= _OUTERMOST and _is_vague(own_name[-1]):
            asked.setdefault((own_name[-1], thing[-1]), []).append(at)
    needed = [slot.path for slot in ports.slots if slot.required and slot.parameter in ports.required]
    for key, at in _beside(needed):
        takes.setdefault(key, []).append(Held(at, 1.0, own=False))
    return takes, asked


def _first_list(place: Place) -> int:
    """Say how many steps lead into the first list that a place is in; 0 for none."""
    return next((at + 1 for at, step in enumerate(place.path) if step.kind != "key"), 0)


def _is_open(path: Path, subject: Subject) -> bool:
    """Say whether it is open of what a place is: an id of what the tool is about, whatever that may be."""
    names = [words_of(step.key) for step in path if step.kind == "key"]
    if not names or path[-1].kind != "key" or len(names[-1]) != 1 or not _is_vague(names[-1][0]):
        return False
    if not subject.is_vague and names[-1][0] not in KINDS:
        return False
    return all(set(words) <= CONTAINERS for words in names[:-1])


def _choice(server: str, path: Path, form: Form) -> str:
    """Give the key of one of a few values, under one name, of one server."""
    values = sorted(map(repr, form.values or ()))
    return f"#{server}\0{own_words(path)[-1:]}\0{values}"


def _beside(paths: Sequence[Path]) -> Iterator[tuple[str, int]]:
    """Give the keys of names that say little alone, two by two, where they stand side by side."""
    inside: dict[Path, list[tuple[str, int]]] = {}
    for at, path in enumerate(paths):
        own = own_words(path)
        if path and path[-1].kind == "key" and _LITTLE <= telling(own) < _GENERIC:
            inside.setdefault(path[:-1], []).append((phrase(own), at))
    for found in inside.values():
        few = sorted(found)[:_MOST_BESIDE]
        for one, (name, at) in enumerate(few):
            for other, _ in few[one + 1 :]:
                yield f"+{name}+{other}", at


def _is_vague(name: str) -> bool:
    """Say whether a name is that of an attribute by which things are known, but not of which."""
    return telling((name,)) < _GENERIC and (name in IDENTIFYING or name in KINDS)


def _shape(form: Form) -> str:
    """Give the key by which objects are found that this slot takes as they are: the field that tells most."""
    required = [name for name, needed, _ in form.fields if needed]
    if form.kinds != {"object"} or len(required) < _FEWEST_FIELDS:
        return ""
    return f"{{{max(required, key=lambda name: (telling(words_of(name)), len(name), name))}}}"
