"""What a value at hand is to a change: it says which thing is meant, or it is what that thing gets."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from halflap.graph.effects import seems_to_change, verbs_of
from halflap.graph.subject import subject_of
from halflap.graph.verbs import DESTROYING
from halflap.graph.vocabulary import UPDATING
from halflap.graph.words import pieces_of, words_of
from halflap.graph.written import IDS, PUTTING, REPLACING, Written

if TYPE_CHECKING:
    from collections.abc import Collection

    from halflap.graph.edge import Path, Ports

__all__ = ["Bearing", "bearing_of", "is_got"]

Bearing = Literal["which", "new", "open"]
"""It says which are meant; it is what they get; or nobody can tell."""
_MOVING = (PUTTING - {"include"}) | REPLACING
_MOVING |= {"deliver", "dispatch", "forward", "give", "migrate", "relocate", "route", "send", "ship"}
_WRITING = UPDATING | {"adjust", "configure", "mark", "save", "store", "upsert", "write"}
_NEW = frozenset({"new", "to", "target", "destination", "dest", "dst", "into"})
_OLD = frozenset({"from", "source", "old", "current", "src", "existing", "original"})
_LONGEST = 300
_SENTENCE = re.compile(r"[.!?](?:\s|$)|\n")
_TO, _OF = frozenset({"to", "into", "onto"}), frozenset({"of", "from", "within"})
_BETWEEN = frozenset(
    {"a", "an", "the", "another", "other", "new", "its", "their", "one", "given", "this", "that", "different", "specified"}
)  # fmt: skip
"""What may stand between a preposition and its noun."""


def bearing_of(ports: Ports, parameter: str, source: Ports, path: Path, taken: Collection[Path]) -> Bearing:
    """Say what a value at hand for a parameter is to a call for each of the items that another tool returned.

    `path` is where those items have such a value, none where they have not; `taken` is what the call takes of them.
    """
    around = bool(path) and _is_around(path, taken)
    if path and not around and _is_itself(source, path, parameter):
        return "which"
    got = is_got(ports, parameter)
    if got is not None:
        return "new" if got else "which"
    said, writes = words_of(parameter), _writes(ports, parameter)
    if writes and not verbs_of(ports).isdisjoint(_MOVING):
        return "new"
    if around or said in {words_of(one) for one in source.required}:
        return "which"
    if writes is not None:
        return "new" if writes else "open"
    return "which" if said in {words_of(one.parameter) for one in source.slots} else "open"


def is_got(ports: Ports, parameter: str) -> bool | None:
    """Say whether what a parameter takes is what something gets, or says which thing that is, if the tool itself tells."""
    return _is_got(ports, parameter) if seems_to_change(ports) else False


def _is_got(ports: Ports, parameter: str) -> bool | None:
    verbs, said = verbs_of(ports), words_of(parameter)
    if not said or not verbs.isdisjoint(DESTROYING):
        # What is taken away is what is there.
        return False
    if said[0] in _NEW | _OLD and len(said) > 1:
        return said[0] in _NEW
    if parameter in Written(ports).parameters:
        return True
    thing = _thing(said)
    told = _told(ports.description, thing) if thing else None
    if told is None and "to" in pieces_of(ports.original_name or ports.tool):
        owner = subject_of(ports.original_name or ports.tool, ports.server).owner
        told = True if thing and owner == thing else None
    if (
        told is None
        and parameter not in ports.required
        and (said[-1] not in IDS or verbs & (_WRITING | _MOVING))
    ):
        # What may be left out does not name the thing.
        return True
    return told


def _writes(ports: Ports, parameter: str) -> bool | None:
    """Say whether a change writes what a required parameter takes: None where its verb says nothing of writing."""
    verbs, said = verbs_of(ports), words_of(parameter)
    own = subject_of(ports.original_name or ports.tool, ports.server)
    others = [words for one in ports.required if (words := words_of(one)) != said and words]
    if not verbs.isdisjoint(_MOVING):
        # Of two things, the one comes to the other; of three, one may say where the first is.
        return len(others) <= 1 or not any(
            words[-1] in IDS and _thing(words) not in (own.thing, ()) for words in others
        )
    if not verbs.isdisjoint(_WRITING):
        thing = _thing(said)
        return len(others) <= 1 and (not others or others[0][-1] in IDS) if thing else True
    return None


def _thing(said: tuple[str, ...]) -> tuple[str, ...]:
    return said[:-1] if said[-1] in IDS else said


@lru_cache(maxsize=1 << 12)
def _told(description: str, thing: tuple[str, ...]) -> bool | None:
    """Say whether a description says that something comes `to` a thing, or is `of` one, in its first sentence."""
    sentence = _SENTENCE.split(description[:_LONGEST], maxsplit=1)[0]
    words = [one for piece in re.findall(r"[\w-]+", sentence.lower()) for one in words_of(piece)]
    size = len(thing)
    for at in range(1, len(words) - size + 1):
        if tuple(words[at : at + size]) != thing:
            continue
        before = at - 1
        while before > 0 and words[before] in _BETWEEN:
            before -= 1
        if words[before] in _TO:
            return True
        if words[before] in _OF:
            return False
    return None


def _is_around(path: Path, taken: Collection[Path]) -> bool:
    """Say whether a place is around the items that are taken: they are inside of what it names."""
    return any(_loops(path) < _loops(one) for one in taken)


def _loops(path: Path) -> int:
    return sum(step.kind != "key" for step in path)


def _is_itself(source: Ports, path: Path, parameter: str) -> bool:
    """Say whether a place names the very items that it is in, and not something that they have."""
    ends = [at for at, step in enumerate(path) if step.kind != "key"]
    if not ends or len(path) > ends[-1] + 2:
        return False
    thing = _thing(words_of(parameter))
    around = next((words_of(step.key) for step in reversed(path[: ends[-1]]) if step.kind == "key"), ())
    own = subject_of(source.original_name or source.tool, source.server).thing
    return thing in (around, around[-1:]) or (thing == own and len(ends) == 1)
