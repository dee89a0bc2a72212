"""Observing values."""

from __future__ import annotations

import enum
import random
import sys
from collections import OrderedDict
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halflap.learn import Observer, infer, schema_of
from halflap.learn.shape import MOST_PLACES, Tally
from learn.anything import ODD


@given(
    st.recursive(
        ODD, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.integers(), inner, max_size=3)
    )
)
def test_any_value_can_be_observed(value: Any) -> None:
    assert schema_of(infer([value, value], [1, 2]))["x-halflap"]["observations"] == 2


def test_very_deep_values_are_observed() -> None:
    value: Any = 1
    for depth in range(sys.getrecursionlimit() * 5):
        value = {"a": value} if depth % 2 else [value]
    assert infer([value]).root.kinds["object"].times == 1


def test_subclasses_count_as_what_json_makes_of_them() -> None:
    class Colour(enum.StrEnum):
        RED = "red"

    class Level(enum.IntEnum):
        LOW = 1

    values = [Colour.RED, Level.LOW, Decimal("1.5"), Decimal("sNaN"), OrderedDict(a=1), (1, 2), b"x"]
    kinds = infer(values).root.kinds
    assert {kind: tally.times for kind, tally in kinds.items()} == {
        "string": 1,
        "integer": 1,
        "number": 2,
        "object": 1,
        "array": 1,
        "other": 1,
    }


def test_counts_are_exact() -> None:
    root = infer([{"a": [1, 2, None]}, {"a": []}, {"b": 1}], [1, 2, 2]).root
    record = root.records[None]
    place = record.keys["a"].place
    assert record.seen.times == 3
    assert record.keys["a"].missing == Tally(1, 2)
    assert record.keys["b"].missing == Tally(2, None)
    assert place.items is not None
    assert {kind: tally.times for kind, tally in place.items.kinds.items()} == {"integer": 2, "null": 1}


def test_any_integer_is_a_digest() -> None:
    assert infer([1, 1], [-1, 2**64 - 1]).sample.size() == 1
    assert infer([1, 1], [-1, 2**70]).sample.size() == 2


def places(place: Any) -> int:
    below = [] if place.items is None else [place.items]
    for record in place.records.values():
        below += [key.place for key in record.keys.values()]
        below += [] if record.rest is None else [record.rest]
    return 1 + sum(map(places, below))


@pytest.mark.slow
def test_ever_changing_results_take_bounded_memory() -> None:
    chance = random.Random(1)
    letters = "abcdefghijklmnopqrstuvwxyz"

    def anything(depth: int) -> Any:
        if not depth:
            return 1
        return {"".join(chance.choices(letters, k=2)): anything(depth - 1) for _ in range(9)}

    inference = Observer()
    for number in range(8):
        inference.observe(anything(4), number)
    shape = inference.shape()
    assert places(shape.root) <= MOST_PLACES
    assert shape.depth < 32
    assert shape.observations == 8
