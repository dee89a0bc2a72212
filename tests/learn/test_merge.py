"""Laws of merging shapes."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from halflap.learn import NOTHING, Observer, Shape, infer, merge
from learn.anything import OBSERVED
from learn.plain import plain_shape
from support import examples

Observed = list[tuple[Any, int]]

LAWS = settings(
    max_examples=examples(80),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def seen(observed: Observed, *, values: bool = False) -> Shape:
    inference = Observer(values=values)
    for number, (value, digest) in enumerate(observed):
        inference.observe(value, digest, at=float(number))
    return inference.shape()


def single(number: int, value: Any, digest: int, *, values: bool = False) -> Shape:
    inference = Observer(values=values)
    inference.observe(value, digest, at=float(number))
    return inference.shape()


def in_any_order_and_grouping(observed: Observed, chance: random.Random, *, values: bool = False) -> Shape:
    shapes = [single(number, *one, values=values) for number, one in enumerate(observed)]
    chance.shuffle(shapes)
    while len(shapes) > 1:
        one, other = (shapes.pop(chance.randrange(len(shapes))) for _ in range(2))
        shapes.insert(chance.randrange(len(shapes) + 1), merge(one, other))
    return shapes[0] if shapes else NOTHING


@pytest.mark.usefixtures("small_bounds")
@LAWS
@given(OBSERVED, st.randoms(use_true_random=False), st.booleans())
def test_merging_in_any_order_equals_one_pass_at_every_bound(
    observed: Observed, chance: random.Random, values: bool
) -> None:
    assert in_any_order_and_grouping(observed, chance, values=values) == seen(observed, values=values)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("small_bounds")
@settings(LAWS, max_examples=examples(3_000))
@given(OBSERVED, st.randoms(use_true_random=False), st.booleans())
def test_merging_in_any_order_in_thousands_of_cases(
    observed: Observed, chance: random.Random, values: bool
) -> None:
    assert in_any_order_and_grouping(observed, chance, values=values) == seen(observed, values=values)


@LAWS
@given(OBSERVED, st.booleans())
def test_observing_equals_the_definition(observed: Observed, values: bool) -> None:
    defined = [plain_shape(value, digest, values=values) for value, digest in observed]
    observer = Observer(values=values)
    for value, digest in observed:
        observer.observe(value, digest)
    assert observer.shape() == merge(*defined)


@pytest.mark.usefixtures("small_bounds")
@LAWS
@given(OBSERVED, OBSERVED)
def test_merging_commutes(one: Observed, other: Observed) -> None:
    assert merge(seen(one), seen(other)) == merge(seen(other), seen(one))


@pytest.mark.usefixtures("small_bounds")
@LAWS
@given(OBSERVED, OBSERVED, OBSERVED)
def test_merging_associates(one: Observed, other: Observed, third: Observed) -> None:
    a, b, c = seen(one), seen(other, values=True), seen(third)
    assert merge(merge(a, b), c) == merge(a, merge(b, c))


@given(OBSERVED)
def test_the_empty_shape_is_the_unit(observed: Observed) -> None:
    shape = seen(observed)
    assert merge(shape, NOTHING) == merge(NOTHING, shape) == shape
    assert merge() == NOTHING


def test_a_shape_does_not_change_when_more_is_observed() -> None:
    inference = Observer()
    inference.observe({"a": 1})
    shape = inference.shape()
    inference.observe({"b": "x"})
    assert shape == infer([{"a": 1}])
    assert inference.shape() == infer([{"a": 1}, {"b": "x"}])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_large_heterogeneous_results_keep_the_law_under_the_real_bounds(seed: int) -> None:
    chance = random.Random(seed)

    def value(depth: int) -> Any:
        if depth == 0:
            return chance.choice([1, 1.5, "x", None, True, "2024-01-01"])
        keys = [f"key_{chance.choice('abcdefghijkl')}{chance.choice('abcdefghi')}" for _ in range(8)]
        kind = {"type": f"t_{chance.choice('abcdefghijklmnopqrst')}"} if chance.random() < 0.4 else {}
        return {**{key: value(depth - 1) for key in keys}, **kind}

    observed = [(value(3), chance.randrange(9)) for _ in range(12)]
    shape = seen(observed)
    assert in_any_order_and_grouping(observed, chance) == shape
    assert merge(seen(observed[:5]), seen(observed[5:])).root == shape.root


@pytest.mark.usefixtures("small_bounds")
@pytest.mark.parametrize(
    "values",
    [
        [{"type": "a"}, {"type": "b", "x": 1}, {"type": False}, {}],
        [{"type": kind, "x": 1} for kind in ("a", "b", "c", "d", "e")],
        [{"c": {}, "status": 1}, {"status": "open"}, {"b": {}, "ok": {}}, {"b": {}}, {"ok": "b"}],
    ],
    ids=["tags", "tags of one layout", "a crowd, then tags"],
)
def test_too_many_tags_in_an_array_merge_as_they_do_one_by_one(values: list[Any]) -> None:
    assert infer(values) == merge(*(infer([value]) for value in values))
    assert infer([values]).root.items == infer(values).root
