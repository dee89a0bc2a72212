"""What was observed of a tool's results, without the results: one value, that merges with others of its kind."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from halflap.learn.evidence import NEVER, Sample, Tally
from halflap.learn.limits import DEEPEST

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "KINDS",
    "NOTHING",
    "NOWHERE",
    "Formats",
    "Key",
    "Lengths",
    "Place",
    "Record",
    "Scalar",
    "Shape",
    "Tag",
]

KINDS = ("null", "boolean", "integer", "number", "string", "array", "object", "other")
"""`other` is what JSON has not; it comes from values made in Python."""

Scalar = str | bool


class Tag(NamedTuple):
    """What kind of object it says it is: a tag key, and its value."""

    key: str
    value: Scalar


class Lengths(NamedTuple):
    """How many items the arrays had."""

    shortest: int
    longest: int


class Formats(NamedTuple):
    """What formats the strings at a place have, as bits."""

    kept: int
    """Those that every string had."""
    once: Mapping[int, int]
    """Those that were lost by what came with one set of arguments alone, each with its digest."""


@dataclass(frozen=True, slots=True)
class Place:
    """What was seen at one place in the results."""

    kinds: Mapping[str, Tally] = field(default_factory=dict)
    formats: Formats | None = None
    """None where there was no string."""
    values: Mapping[Scalar, Tally] | None = field(default_factory=dict)
    """The distinct values, where they may be kept and are few; None where they are not kept."""
    lengths: Lengths | None = None
    items: Place | None = None
    records: Mapping[Tag | None, Record] = field(default_factory=dict)
    """The objects, apart by their tags; None is for those without."""
    mixed: bool = False
    """There were too many tags: all objects are one record."""
    cut: bool = False
    """There was more below than is kept."""

    @property
    def count(self) -> int:
        return sum(tally.times for tally in self.kinds.values())


class Key(NamedTuple):
    """What was seen under one key, and how many objects had no such key."""

    place: Place
    missing: Tally


@dataclass(frozen=True, slots=True)
class Record:
    """What was seen of objects of one kind."""

    seen: Tally = NEVER
    keys: Mapping[str, Key] = field(default_factory=dict)
    rest: Place | None = None
    """What stands under keys that are data."""
    crowded: bool = False
    """There were too many keys: all of them are data."""


@dataclass(frozen=True, slots=True)
class Shape:
    """All that was observed of one tool's results. `NOTHING` is the unit, `merge` the operation."""

    root: Place = field(default_factory=Place)
    observations: int = 0
    sample: Sample = field(default_factory=Sample)
    """The arguments that there were."""
    first: float | None = None
    """When the first was seen, and the last, in seconds; None where nobody said."""
    last: float | None = None
    depth: int = DEEPEST
    """The deepest level that is kept."""


NOWHERE = Place()
NOTHING = Shape()
