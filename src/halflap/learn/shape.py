"""The shape of a tool's results: counts of what was seen at every place, never the results themselves.

Shapes are immutable; places and records change only while an observer builds them. Limits depend on the set of everything
seen, never on its order, so that merging stays associative and commutative.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any, NamedTuple

MOST_KEYS = 256
"""Distinct keys of a record; with more it is a map. Well-known services have records of up to about 200."""
MOST_VARIANTS = 16
"""Distinct tags at a place; with more, its objects are one record."""
MOST_VALUES = 16
"""Distinct values kept at a place; with more, none is kept."""
DEEPEST = 32
"""Levels observed. The root is level 0."""
MOST_PLACES = 50_000
"""Places of a shape; with more, its deepest levels are cut off. Doubling it doubles the memory a hostile tool takes."""
MOST_DIGESTS = 256
"""Distinct arguments counted exactly; beyond that, their number is estimated with an error of about 6 %."""
LONGEST_TEXT = 64
"""Characters of a key or a value that is kept."""

KINDS = ("null", "boolean", "integer", "number", "string", "array", "object", "other")
"""`other` is for Python values that JSON does not have."""

Scalar = str | bool

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=str, skipkeys=True)
_DIGEST_BYTES = 8
_DIGESTS = 1 << 64


@dataclass(slots=True)
class Tally:
    """How often something was seen, and whether only for one set of arguments."""

    times: int = 0
    once: int | None = None
    """The digest of those arguments; None if there were several, or if it was never seen."""

    def count(self, times: int, digests: int | Callable[[], Iterable[int]]) -> None:
        """Count it for one digest of arguments, or for several, which are looked up only if they can matter."""
        if self.once is not None or not self.times:
            whose = repeat(digests, 1) if isinstance(digests, int) else iter(digests())
            one = next(whose) if self.once is None else self.once
            self.once = one if all(map(one.__eq__, whose)) else None
        self.times += times


NEVER = Tally()


def add(one: Tally, other: Tally) -> Tally:
    if one.times and other.times:
        return Tally(one.times + other.times, one.once if one.once == other.once else None)
    return Tally(one.times + other.times, one.once if one.times else other.once)


@dataclass(frozen=True, slots=True)
class Sample:
    """The smallest digests of the arguments seen: all while they are few, else enough for an estimate."""

    digests: tuple[int, ...] = ()

    @classmethod
    def of(cls, digests: Iterable[int]) -> Sample:
        return cls(tuple(sorted(set(digests))[:MOST_DIGESTS]))

    def union(self, other: Sample) -> Sample:
        return Sample.of((*self.digests, *other.digests))

    def size(self) -> float:
        """Return how many different arguments there were."""
        if len(self.digests) < MOST_DIGESTS:
            return len(self.digests)
        # The k-th smallest of evenly spread digests shows how dense they are.
        return max(MOST_DIGESTS, (MOST_DIGESTS - 1) * _DIGESTS / (self.digests[-1] + 1))


def digest_of(arguments: Mapping[str, Any], salt: bytes = b"") -> int:
    """Hash a call's arguments. A secret salt prevents finding them by trial."""
    text = _ENCODER.encode(arguments).encode(errors="surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=_DIGEST_BYTES, key=salt[:64]).digest())


class Tag(NamedTuple):
    """A key whose value tells the kind of an object, and that value: `("type", "invoice")`."""

    key: str
    value: Scalar


@dataclass(slots=True)
class Place:
    """What was seen at one place in the results."""

    kinds: dict[str, Tally] = field(default_factory=dict)
    format: str | None = None
    """The format that every string had, or empty; None if there was no string."""
    values: dict[str, Tally] | None = field(default_factory=dict)
    """The distinct strings, if they may be stored and are few; else None."""
    items: Place | None = None
    records: dict[Tag | None, Record] = field(default_factory=dict)
    """The objects by tag; None is for those without."""
    mixed: bool = False
    """There were too many tags, so all objects are one record."""
    cut: bool = False
    """Deeper levels were left out."""

    @property
    def count(self) -> int:
        return sum(tally.times for tally in self.kinds.values())

    def below(self) -> list[Place]:
        """Return the places one level deeper."""
        items = [] if self.items is None else [self.items]
        return items + [place for record in self.records.values() for place in record.places()]


class Key(NamedTuple):
    """What was seen under a key, and how many objects of the record did not have it."""

    place: Place
    missing: Tally


@dataclass(slots=True)
class Record:
    """What was seen of objects with the same tag."""

    seen: Tally = field(default_factory=Tally)
    keys: dict[str, Key] = field(default_factory=dict)
    rest: Place | None = None
    """What was seen under keys that are data."""
    crowded: bool = False
    """There were too many keys, so all of them are data."""

    def places(self) -> list[Place]:
        rest = [] if self.rest is None else [self.rest]
        return [key.place for key in self.keys.values()] + rest


@dataclass(frozen=True, slots=True)
class Shape:
    """What was seen of one tool's results. `NOTHING` is the unit of merging."""

    root: Place = field(default_factory=Place)
    observations: int = 0
    sample: Sample = field(default_factory=Sample)
    """The arguments seen."""
    first: float | None = None
    """When the first result was seen, in seconds, if known."""
    last: float | None = None
    depth: int = DEEPEST
    """The deepest level."""


NOTHING = Shape()
