"""How certain a shape is: the chance that the next result brings nothing new."""

from __future__ import annotations

import math
from collections.abc import Iterator

from halflap.learn.shape import Place, Shape, Tally, add
from halflap.learn.variants import objects_of, repeated_values

_DEVIATIONS = 1.645
"""Standard deviations: the bound holds in 95 of 100 cases."""


def confidence(shape: Shape) -> float:
    """Return a lower bound of the chance that the next result, for arguments not seen yet, brings nothing new.

    A call whose result alone showed something would have brought news, had it come last. The share of such calls estimates
    how often the next one brings news (Good-Turing). Wilson's upper bound of that share makes few calls count for little:
    with no news at all, it takes 52 calls to reach 0.95.
    """
    calls = shape.sample.size()
    if not calls:
        return 0.0
    alone = {digest for digest in _news(shape.root) if digest is not None}
    share = min(1.0, len(alone) / calls)
    square = _DEVIATIONS**2
    spread = _DEVIATIONS * math.sqrt(share * (1 - share) / calls + square / (4 * calls**2))
    upper = (share + square / (2 * calls) + spread) / (1 + square / calls)
    return max(0.0, 1.0 - min(1.0, upper))


def _news(place: Place) -> Iterator[int | None]:
    """Yield the digests of arguments whose results alone showed something in the shape."""
    tallies: list[Tally] = []
    kinds = dict(place.kinds)
    if "number" in kinds and "integer" in kinds:
        # Integers are numbers: they are news only where there are no others.
        kinds["integer"] = add(kinds["integer"], kinds["number"])
    tallies += kinds.values()
    if repeated_values(place):
        tallies += (place.values or {}).values()
    objects = objects_of(place)
    keys = [*objects.shared.values()]
    for variant in objects.variants:
        tallies += variant.values.values()
        keys += (variant.record.keys[name] for name in variant.own)
    tallies += (key.missing for key in keys)
    inner = [key.place for key in keys] + ([] if objects.every.rest is None else [objects.every.rest])
    for one in inner:
        yield from _news(one)
    if place.items is not None:
        yield from _news(place.items)
    yield from (tally.once for tally in tallies)
