"""Which place and which slot a description means, where it says that one tool's result goes into another."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from halflap.graph.fit import conflict
from halflap.graph.vocabulary import CHOSEN, IDENTIFYING, KINDS, is_secret
from halflap.graph.words import words_in

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from halflap.graph.declared import Relation
    from halflap.graph.node import Node

__all__ = ["DECLARED", "At", "meant"]

_MOST = 5_000
"""So many places and slots are looked at for one relation: a text can be written to mean all of them."""
DECLARED = 0.8
"""What a server says of its own tools, where the names bear it out, or it says it outright."""
_MEANT = 0.75
"""What a description says, where no name shows which field it means."""
_SILENT = 0.15
_NEAR = 0.75
_UNTAKEN = frozenset({"object", "boolean"})

At = tuple[int, int]
"""The numbers of a place and of a slot."""


def meant(source: Node, target: Node, one: Relation, names: Mapping[At, float]) -> tuple[list[At], float]:
    """Give the places and slots that a description means, and how sure that makes.

    `names` is what the names of places and slots say for each other. Where they say nothing, it is the field that the text
    names, or the only one that it can be; of several that are as good, none.
    """
    pairs = [
        at
        for at in islice(_told(source, target, one), _MOST)
        if not conflict(source.place_forms[at[0]], target.slot_forms[at[1]])
        and not (is_secret(source.place_names[at[0]]) or is_secret(target.slot_names[at[1]]))
    ]
    best = max((names[at] for at in pairs if at in names), default=0.0)
    if best >= _SILENT:
        return [at for at in pairs if names.get(at, 0.0) >= best * _NEAR], DECLARED
    pairs = [at for at in pairs if not source.place_forms[at[0]].kinds & _UNTAKEN]
    # The words of a tool's own name say nothing of a field that is called the same.
    said = words_in(one.text.replace(source.name, " ").replace(target.name, " "))
    akin = [at for at in pairs if _is_akin(source, target, at, said)]
    if akin and (one.slot is not None or all(_is_named(source, at) for at in akin)):
        return akin, _MEANT
    return _only(source, target, one, pairs, said), _MEANT


def _told(source: Node, target: Node, one: Relation) -> Iterator[At]:
    """Give all places and slots that a text may be about."""
    fields = {at for at, name in enumerate(source.place_names) if name and name in one.names}
    for at, place in enumerate(source.ports.places):
        if (one.place is not None and place.path[: len(one.place)] != one.place) or (
            fields and at not in fields
        ):
            continue
        for to, slot in enumerate(target.ports.slots):
            if one.slot is None or slot.path[: len(one.slot)] == one.slot:
                yield at, to


def _is_named(source: Node, at: At) -> bool:
    path = source.ports.places[at[0]].path
    return bool(path) and path[-1].kind == "key"


def _is_akin(source: Node, target: Node, at: At, said: Collection[str]) -> bool:
    """Say whether a place may be what a description means, though its name is another."""
    if not _is_named(source, at):
        return True
    mine, theirs = source.place_names[at[0]], target.slot_names[at[1]]
    if not mine or not (mine[-1] in IDENTIFYING or mine[-1] in KINDS):
        return False
    return mine[-1:] == theirs[-1:] or mine[-1] in said


def _only(source: Node, target: Node, one: Relation, pairs: Sequence[At], said: Collection[str]) -> list[At]:
    """Give the one place and the one slot that can be meant, if there is one of each."""
    slots = _slots(source, target, one, pairs, said)
    if len(slots) != 1:
        return []
    mine, theirs = source.place_names, target.slot_names[slots[0]]
    places = [at for at, slot in pairs if slot in slots]
    if any(name == theirs and at not in places for at, name in enumerate(mine)):
        # What has the name is of another type: nothing else is put in its place.
        return []
    bare = [at for at in places if not _is_named(source, (at, 0))]
    named = [at for at in places if at not in bare and mine[at]]
    in_text = [at for at in named if set(mine[at]) <= set(said)]
    if not in_text and not one.is_told:
        # To name a tool is not to say that something comes from there.
        return []
    identifying = [at for at in named if mine[at][-1] in IDENTIFYING or mine[at][-1] in KINDS]
    numbered = [at for at in identifying if mine[at][-1] not in CHOSEN and mine[at][-1] not in KINDS]
    for found in (in_text, places, identifying, numbered):
        if len(found) == 1:
            return [(found[0], slots[0])]
    return []


def _slots(
    source: Node, target: Node, one: Relation, pairs: Sequence[At], said: Collection[str]
) -> list[int]:
    found = list(dict.fromkeys(slot for _, slot in pairs))
    slots, names = target.ports.slots, target.slot_names
    if one.slot is not None:
        # Of a parameter and what is inside of it, the parameter.
        least = min((len(slots[at].path) for at in found), default=0)
        return [at for at in found if len(slots[at].path) == least]
    about = {*said, *source.subject.phrase}
    in_text = [at for at in found if names[at] and about.issuperset(names[at])]
    needed: Callable[[int], bool] = lambda at: slots[at].required and len(slots[at].path) == 1  # noqa: E731
    is_bare = all(not _is_named(source, at) for at in pairs)
    # A bare text has no name that would say what it is: only a parameter that is named takes it.
    return in_text if in_text or is_bare else [at for at in found if needed(at)]
