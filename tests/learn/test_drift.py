"""Changes of what a tool returns."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from halflap.learn import Change, changes, infer, merge
from learn.anything import OBSERVED

STEADY = {
    "id": 1,
    "day": "2026-01-10",
    "rows": [{"price": 1.5, "by": {"k_12345": 1}}],
    "name": {"first": "Ada"},
}


def of(value: Any) -> tuple[Change, ...]:
    return changes(infer([STEADY] * 3), infer([value]))


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in STEADY.items() if name != key}


@pytest.mark.parametrize(
    ("value", "change"),
    [
        ({**STEADY, "extra": 1}, Change("extra", "new-key", "never there", "integer")),
        (without("id"), Change("id", "missing-key", "always there", "missing")),
        ({**STEADY, "id": "1"}, Change("id", "new-type", "integer", "string")),
        ({**STEADY, "day": "soon"}, Change("day", "lost-format", "date", "another text")),
        (
            {**STEADY, "rows": [{"price": 1.5, "by": {"k_12345": "x"}}]},
            Change("rows[].by[key]", "new-type", "integer", "string"),
        ),
        ([], Change("", "new-type", "object", "array")),
        ({**STEADY, "k_12345": 1}, Change("[key]", "new-key", "never there", "integer")),
    ],
    ids=str,
)
def test_each_change_has_its_path(value: Any, change: Change) -> None:
    assert of(value) == (change,)


def test_what_a_shape_allows_is_no_change() -> None:
    assert of({**STEADY, "rows": [{"price": 2, "by": {"k_67890": 1}}, {"price": 2.5, "by": {}}]}) == ()


def test_a_new_variant_is_a_change() -> None:
    before = infer([{"type": "a", "x": 1}, {"type": "b", "y": 1}])
    assert changes(before, infer([{"type": "c", "z": 1}])) == (
        Change("", "new-variant", "one of a, b", "type c"),
    )
    assert changes(before, infer([{"type": "a", "x": 1}])) == ()


@given(OBSERVED)
def test_observed_values_never_contradict_their_shape(observed: list[tuple[Any, int]]) -> None:
    shape = merge(*(infer([value]) for value, _ in observed))
    for value, _ in observed:
        assert changes(shape, infer([value])) == ()
