"""Parameters of one call that take two things of a kind: `hive_a` and `hive_b` do not mean the same one."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from halflap.graph.subject import subject_of
from halflap.graph.vocabulary import IDENTIFYING
from halflap.graph.words import words_of

if TYPE_CHECKING:
    from halflap.graph.edge import Path, Ports

__all__ = ["are_twins", "role_of"]

_WHICH = frozenset(
    {
        "1", "2", "3", "a", "b", "c", "another", "base", "destination", "dst", "first", "from", "head", "left", "new", "old",
        "one", "original", "other", "right", "second", "source", "target", "third", "to", "two", "x", "y",
    }
)  # fmt: skip
"""What tells one of two from the other."""


def are_twins(ports: Ports, one: Path, other: Path) -> bool:
    """Say whether two slots of a tool take two of the same kind of things, by their names: but for which, they are the same."""
    kind, second = _read(one), _read(other)
    if not kind[0] or kind[0] != second[0] or kind[1] == second[1]:
        return False
    thing = subject_of(ports.original_name or ports.tool, ports.server).thing
    return kind[0][-1] in IDENTIFYING or kind[0] == thing or kind[0] == thing[-1:]


def role_of(slot: Path) -> tuple[str, ...]:
    """Give what a slot is to its call: its own words, and which of two the object is that it is in, if it is one of two."""
    own = next((words_of(step.key) for step in reversed(slot) if step.kind == "key"), ())
    return (*_read(slot)[1], *own)


@lru_cache(maxsize=1 << 12)
def _read(slot: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Tell what a slot takes one of from which that is."""
    words = [word for step in slot if step.kind == "key" for word in words_of(step.key)]
    kind = tuple(word for word in words if word not in _WHICH)
    return kind, tuple(word for word in words if word in _WHICH)
