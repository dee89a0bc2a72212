"""On how many different calls something rests: repeating one call is no further evidence."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from halflap.learn.limits import MOST_DIGESTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["NEVER", "Sample", "Tally", "add", "digest_of"]

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=str, skipkeys=True)
"""Made once: to make it takes as long as to use it."""
_BITS = 64
_SPACE = 1 << _BITS


class Tally(NamedTuple):
    """How often something was seen, and whether with one set of arguments alone."""

    times: int
    once: int | None
    """The digest of those arguments; None where there were several, or where it was not seen at all."""


NEVER = Tally(0, None)


def add(one: Tally, other: Tally) -> Tally:
    """Add up two tallies of the same thing."""
    if not one.times:
        return other
    if not other.times:
        return one
    return Tally(one.times + other.times, one.once if one.once == other.once else None)


@dataclass(frozen=True, slots=True)
class Sample:
    """The smallest digests of arguments that were seen: exact while there are few, else enough to estimate."""

    digests: tuple[int, ...] = ()

    @classmethod
    def of(cls, digests: Iterable[int]) -> Sample:
        return cls(tuple(sorted(set(digests))[:MOST_DIGESTS]))

    def union(self, other: Sample) -> Sample:
        return Sample.of((*self.digests, *other.digests))

    def size(self) -> float:
        """Say how many different arguments there were."""
        if len(self.digests) < MOST_DIGESTS:
            return len(self.digests)
        # Of digests spread evenly, the k-th smallest tells how dense they lie.
        return max(MOST_DIGESTS, (MOST_DIGESTS - 1) * _SPACE / (self.digests[-1] + 1))


def digest_of(arguments: Mapping[str, Any], salt: bytes = b"") -> int:
    """Give a number that stands for a call's arguments.

    With a salt that only its owner knows, nobody else can find out what they were by trying.
    """
    text = _ENCODER.encode(arguments)
    sealed = hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=_BITS // 8, key=salt[:64])
    return int.from_bytes(sealed.digest())
