"""Laws of observing and merging: order and grouping do not matter, at any bound."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from halflap.learn import NOTHING, Observer, Shape, merge
from learn.anything import OBSERVED, TREES
from learn.plain import plain_shape
from support import examples

Observed = list[tuple[Any, int]]

LAWS = settings(
    max_examples=examples(80),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def seen(observed: Observed, *, values: bool = False, first: int = 0) -> Shape:
    """Observe all at once."""
    observer = Observer(values=values)
    results, digests = [value for value, _ in observed], [digest for _, digest in observed]
    observer.observe(results, digests, [float(first + number) for number in range(len(observed))])
    return observer.shape()


def in_any_order_and_grouping(observed: Observed, chance: random.Random, *, values: bool = False) -> Shape:
    shapes = [seen([one], values=values, first=number) for number, one in enumerate(observed)]
    chance.shuffle(shapes)
    while len(shapes) > 1:
        one, other = (shapes.pop(chance.randrange(len(shapes))) for _ in range(2))
        shapes.insert(chance.randrange(len(shapes) + 1), merge(one, other))
    return shapes[0] if shapes else NOTHING


@pytest.mark.usefixtures("small_bounds")
@LAWS
@given(st.one_of(OBSERVED, TREES), st.randoms(use_true_random=False), st.booleans())
def test_merging_in_any_order_equals_one_pass_at_every_bound(
    observed: Observed, chance: random.Random, values: bool
) -> None:
    assert in_any_order_and_grouping(observed, chance, values=values) == seen(observed, values=values)


@LAWS
@given(OBSERVED, st.booleans(), st.integers(0, 8))
def test_observing_in_any_batches_equals_the_definition(observed: Observed, values: bool, cut: int) -> None:
    defined = merge(*(plain_shape(value, digest, values=values) for value, digest in observed))
    observer = Observer(values=values)
    for batch in (observed[:cut], observed[cut:]):
        observer.observe([value for value, _ in batch], [digest for _, digest in batch])
    assert observer.shape() == defined


@pytest.mark.usefixtures("small_bounds")
@LAWS
@given(OBSERVED, OBSERVED, OBSERVED)
def test_merging_commutes_and_associates_and_has_a_unit(
    one: Observed, other: Observed, third: Observed
) -> None:
    a, b, c = seen(one), seen(other, values=True), seen(third)
    assert merge(a, b) == merge(b, a)
    assert merge(merge(a, b), c) == merge(a, merge(b, c))
    assert merge(a, NOTHING) == merge(NOTHING, a) == a
    assert merge() == NOTHING
