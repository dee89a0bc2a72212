"""A tool as the graph has it: its ports, and what their names may mean."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from halflap.graph.declared import mentions_of, related_keys
from halflap.graph.fit import Form, form_of
from halflap.graph.reading import place_readings, slot_readings, where
from halflap.graph.subject import Subject, subject_of
from halflap.graph.vocabulary import CONTAINERS, IDENTIFYING, KINDS, is_secret, telling
from halflap.graph.words import Words, phrase, words_in, words_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from halflap.graph.declared import Mention
    from halflap.graph.edge import Coverage, Path, Ports
    from halflap.graph.reading import Where

__all__ = ["ANY_THING", "LAST_KEY", "PAGE_SLOTS", "Held", "Node", "node_of", "vague_key"]

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
LAST_KEY = ("last", "evaluated", "key")
"""Where a page ended: the next begins behind it."""
_FORMATS = frozenset({"email", "ipv4", "ipv6", "uri"})
_GENERIC = 0.7
_YES_OR_NO = frozenset({"boolean"})
_OBJECT = frozenset({"object"})
_FEWEST_FIELDS = 2
ANY_THING = "*"
_LITTLE = 0.2
_MOST_BESIDE = 8
_MOST_HELD = 12
"""A key leads to no more places of one tool: where they are more, each is as good as the others."""
_OUTERMOST = 2


class Held(NamedTuple):
    """A place or a slot that a key leads to."""

    at: int
    weight: float
    own: bool
    """Whether the key is its name itself, and not only what that may mean."""
    optional: bool = False
    """Whether it is a slot that may be left empty."""


@dataclass(slots=True, eq=False)
class Node:
    """A tool, read."""

    number: int
    ports: Ports
    tool: str
    """Its name in the catalogue."""
    server: str
    name: str
    """As its server calls it."""
    subject: Subject
    place_forms: tuple[Form, ...]
    slot_forms: tuple[Form, ...]
    place_names: tuple[Words, ...]
    slot_names: tuple[Words, ...]
    place_keys: tuple[str, ...]
    """The names of the places as they are written."""
    slot_keys: tuple[str, ...]
    gives: dict[str, tuple[Held, ...]]
    takes: dict[str, tuple[Held, ...]]
    vague: dict[str, list[int]]
    """The places whose names say little, such as `id`, by that name; what they are of, the description may tell."""
    asked: dict[tuple[str, str], list[int]]
    """The slots that take such a value, by its name and what it is to be of; nothing, where no name says that."""
    offered: dict[str, list[tuple[int, str]]]
    """The places whose names say little, by that name, each with what it is of."""
    mentions: tuple[Mention, ...]
    texts: frozenset[str]
    """The words of its description."""
    covered: dict[tuple[int, ...], Coverage] = field(default_factory=dict, compare=False, repr=False)
    """What of its parameters these slots are, as it was worked out."""

    def keys_given(self) -> Iterator[str]:
        """Give the keys under which an index has it as one that gives something."""
        yield from self.gives
        yield from (vague_key(self.server, name) for name in self.vague)
        yield from (vague_key(self.server, name, ANY_THING) for name in self.offered)

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
    places = [where(place.path) for place in ports.places]
    slots = [where(slot.path) for slot in ports.slots]
    gives, vague, offered = _given(ports, subject, place_forms, places)
    takes, asked = _taken(ports, subject, slot_forms, slots)
    return Node(
        number=number,
        ports=ports,
        tool=ports.tool,
        server=ports.server,
        name=name,
        subject=subject,
        place_forms=place_forms,
        slot_forms=slot_forms,
        place_names=tuple(seen.own for seen in places),
        slot_names=tuple(seen.own for seen in slots),
        place_keys=tuple(seen.name for seen in places),
        slot_keys=tuple(seen.name for seen in slots),
        gives=gives,
        takes=takes,
        vague=vague,
        offered=offered,
        asked=asked,
        mentions=mentions_of(ports),
        texts=words_in(ports.description),
    )


@lru_cache(maxsize=1 << 14)
def _held(at: int, weight: float, own: bool, optional: bool) -> tuple[Held, ...]:
    # Nearly all keys lead to one place, and nearly all of these are alike: ten thousand tools share them.
    return (Held(at, weight, own, optional),)


def _hold(
    keys: dict[str, tuple[Held, ...]],
    key: str,
    at: int,
    weight: float = 1.0,
    *,
    own: bool = False,
    optional: bool = False,
) -> None:
    known = keys.get(key)
    one = _held(at, weight, own, optional)
    if known is None:
        keys[key] = one
    elif len(known) < _MOST_HELD:
        keys[key] = known + one


def _given(
    ports: Ports, subject: Subject, forms: tuple[Form, ...], wheres: list[Where]
) -> tuple[dict[str, tuple[Held, ...]], dict[str, list[int]], dict[str, list[tuple[int, str]]]]:
    gives: dict[str, tuple[Held, ...]] = {}
    vague: dict[str, list[int]] = {}
    offered: dict[str, list[tuple[int, str]]] = {}
    lists = {
        place.path[: at.into_list] for place, at in zip(ports.places, wheres, strict=True) if at.into_list
    }
    for at, (place, form, seen) in enumerate(zip(ports.places, forms, wheres, strict=True)):
        if form.kinds == _YES_OR_NO or is_secret(seen.own):
            # Of yes and no, one is as good as another: there is nothing to be taken from one tool to another.
            continue
        if LAST_KEY in seen.parents:
            # Where a page ended is no item.
            continue
        only = len(lists) == 1 and bool(seen.into_list)
        for key, weight, own in place_readings(place.path, subject, form.kind, form.format, only):
            _hold(gives, key, at, weight, own=own)
        related = related_keys(ports.server, place.type, "produces")
        for key in chain(_typed(ports.server, seen, form), related):
            _hold(gives, key, at)
        if seen.is_named and len(seen.own) == 1 and _is_vague(seen.own[0]):
            if _is_open(seen, subject):
                vague.setdefault(seen.own[0], []).append(at)
            for thing in _thing(seen, subject):
                offered.setdefault(seen.own[0], []).append((at, thing))
    for key in _beside([place.path for place in ports.places], wheres):
        _hold(gives, key, 0)
    return gives, vague, offered


def _taken(
    ports: Ports, subject: Subject, forms: tuple[Form, ...], wheres: list[Where]
) -> tuple[dict[str, tuple[Held, ...]], dict[tuple[str, str], list[int]]]:
    takes: dict[str, tuple[Held, ...]] = {}
    asked: dict[tuple[str, str], list[int]] = {}
    needed: list[int] = []
    for at, (slot, form, seen) in enumerate(zip(ports.slots, forms, wheres, strict=True)):
        own_name = seen.own
        if form.kinds == _YES_OR_NO or not own_name or phrase(own_name) in PAGE_SLOTS:
            continue
        if is_secret(own_name):
            # Only that values were seen to go there says that they are meant to.
            continue
        is_needed = slot.required and slot.parameter in ports.required
        for key, weight, own in slot_readings(slot.path, subject, form.kind, slot.description):
            _hold(takes, key, at, weight, own=own, optional=not is_needed)
        related = related_keys(ports.server, slot.type, "consumes")
        for key in chain(_typed_slot(ports.server, seen, form, is_needed=is_needed), related):
            _hold(takes, key, at)
        if len(slot.path) <= _OUTERMOST and _is_vague(own_name[-1]):
            for thing in _asked(own_name, subject):
                asked.setdefault((own_name[-1], thing), []).append(at)
        if is_needed:
            needed.append(at)
    for key in _beside([ports.slots[at].path for at in needed], [wheres[at] for at in needed]):
        _hold(takes, key, 0)
    return takes, asked


def _typed(server: str, seen: Where, form: Form) -> Iterator[str]:
    """Give the keys of what a place is by its type: its format, its fields, the few values that it may have."""
    if form.format in _FORMATS:
        yield f"={form.format}"
    for name, _, _ in form.fields:
        yield f"{{{name}}}"
    if form.values:
        yield _choice(server, seen.own, form)


def _typed_slot(server: str, seen: Where, form: Form, *, is_needed: bool) -> Iterator[str]:
    """Give the keys of what a slot takes by its type; of its fields, the one that tells most finds the objects."""
    if form.format in _FORMATS:
        yield f"={form.format}"
    required = [name for name, needed, _ in form.fields if needed]
    if form.kinds == _OBJECT and len(required) >= _FEWEST_FIELDS:
        yield f"{{{max(required, key=lambda name: (telling(words_of(name)), len(name), name))}}}"
    if form.values and is_needed:
        yield _choice(server, seen.own, form)


def _asked(own: Words, subject: Subject) -> Words:
    """Give of what a slot takes an id or a name, in a word; an empty one where the names leave it open."""
    if len(own) > 1:
        return own[-2:-1]
    if subject.creates:
        return ()
    return (*subject.thing[-1:], "") if subject.is_vague else subject.thing[-1:]


def _thing(seen: Where, subject: Subject) -> Words:
    """Give what a place is of, in a word."""
    inside = (words[-1:] for words in reversed(seen.parents) if not CONTAINERS.issuperset(words))
    return next(inside, subject.thing[-1:])


def _is_open(seen: Where, subject: Subject) -> bool:
    """Say whether it is open of what a place is: an id of what the tool is about, whatever that may be."""
    if not subject.is_vague and seen.own[0] not in KINDS:
        return False
    return all(CONTAINERS.issuperset(words) for words in seen.parents)


def _choice(server: str, own: Words, form: Form) -> str:
    """Give the key of one of a few values, under one name, of one server."""
    values = sorted(map(repr, form.values or ()))
    return f"#{server}\0{own[-1:]}\0{values}"


def _beside(paths: Sequence[Path], wheres: Sequence[Where]) -> Iterator[str]:
    """Give the keys of names that say little alone, two by two, where they stand side by side."""
    inside: dict[Path, list[str]] = {}
    for path, seen in zip(paths, wheres, strict=True):
        if seen.is_named and _LITTLE <= telling(seen.own) < _GENERIC:
            inside.setdefault(path[:-1], []).append(phrase(seen.own))
    for found in inside.values():
        few = sorted(found)[:_MOST_BESIDE]
        for at, name in enumerate(few):
            for other in few[at + 1 :]:
                yield f"+{name}+{other}"


def _is_vague(name: str) -> bool:
    """Say whether a name is that of an attribute by which things are known, but not of which."""
    return (name in IDENTIFYING or name in KINDS) and telling((name,)) < _GENERIC
