"""How certain a shape is: the chance that the next result brings nothing new."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from halflap.learn.shape import NEVER, add
from halflap.learn.variants import repeated_values, variants_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.learn.shape import Place, Record, Shape

__all__ = ["confidence", "news"]

_DEVIATIONS = 1.645
"""Standard deviations: the bound holds in 95 of 100 cases."""


def confidence(shape: Shape, *, enums: bool = False) -> float:
    """Return a lower bound of the chance that the next result, for arguments not seen yet, brings nothing new.

    Of n different calls, take those that alone showed something: had they come last, they would have been news.
    Their share estimates how often news comes (Good-Turing). Wilson's upper bound of that share makes few calls
    count for little: with no news at all, it takes 52 calls to reach 0.95.
    """
    calls = shape.sample.size()
    if not calls:
        return 0.0
    share = min(1.0, len(news(shape, enums=enums)) / calls)
    square = _DEVIATIONS**2
    spread = _DEVIATIONS * math.sqrt(share * (1 - share) / calls + square / (4 * calls**2))
    upper = (share + square / (2 * calls) + spread) / (1 + square / calls)
    return max(0.0, 1.0 - min(1.0, upper))


def news(shape: Shape, *, enums: bool = False) -> frozenset[int]:
    """Return the digests of the arguments whose results alone showed something that is in the shape."""
    return frozenset(_of_place(shape.root, enums=enums))


def _of_place(place: Place, *, enums: bool) -> Iterator[int]:
    kinds = dict(place.kinds)
    if "number" in kinds and "integer" in kinds:
        # Integers are numbers: they are news only where there are no others.
        kinds["integer"] = add(kinds["integer"], kinds["number"])
    yield from (tally.once for tally in kinds.values() if tally.once is not None)
    strings = place.kinds.get("string", NEVER).once
    if place.formats is not None:
        # Without those who alone lost a format it would still be there.
        yield from (digest for digest in place.formats.once if digest != strings)
    if enums and repeated_values(place):
        yield from (tally.once for tally in (place.values or {}).values() if tally.once is not None)
    if place.items is not None:
        yield from _of_place(place.items, enums=enums)
    variants = variants_of(place)
    for variant in variants:
        if len(variants) > 1:
            yield from (tally.once for tally in variant.values.values() if tally.once is not None)
        yield from _of_record(variant.record, enums=enums)


def _of_record(record: Record, *, enums: bool) -> Iterator[int]:
    for key in record.keys.values():
        if key.missing.once is not None:
            yield key.missing.once
        yield from _of_place(key.place, enums=enums)
    if record.rest is not None:
        yield from _of_place(record.rest, enums=enums)
