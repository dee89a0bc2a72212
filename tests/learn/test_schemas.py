"""Schemas inferred from single values and merged."""

from __future__ import annotations

from functools import reduce
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halflap.learn import infer_schema_from_value, merge_schemas
from learn.anything import ANYTHING
from support import examples

SOME = st.lists(ANYTHING, min_size=1, max_size=5)


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        (None, {"type": "null"}),
        ("x", {"type": "string"}),
        (255, {"type": "integer"}),
        (255.0, {"type": "number"}),
        (True, {"type": "boolean"}),
        ([], {"type": "array"}),
        ([1, 2], {"type": "array", "items": {"type": "integer"}}),
        ([1, "x"], {"type": "array", "items": {"type": ["integer", "string"]}}),
        ({"a": 1}, {"type": "object", "properties": {"a": {"type": "integer"}}}),
        ({}, {"type": "object", "properties": {}}),
        (object(), {}),
    ],
)
def test_the_schema_of_a_value(value: Any, schema: dict[str, Any]) -> None:
    assert infer_schema_from_value(value) == schema


def merged(*values: Any) -> dict[str, Any]:
    return reduce(merge_schemas, map(infer_schema_from_value, values))


@pytest.mark.parametrize(
    ("one", "other", "schema"),
    [
        (1, 1.5, {"type": "number"}),
        (1, "x", {"type": ["integer", "string"]}),
        (None, "x", {"type": ["null", "string"]}),
        ([], [1], {"type": "array", "items": {"type": "integer"}}),
        ([1], ["x"], {"type": "array", "items": {"type": ["integer", "string"]}}),
        (1, object(), {}),
    ],
)
def test_merged_types_are_the_more_general(one: Any, other: Any, schema: dict[str, Any]) -> None:
    assert merged(one, other) == schema
    assert merged(other, one) == schema


@settings(max_examples=examples(60))
@given(SOME)
def test_every_value_fits_the_merged_schema(values: list[Any]) -> None:
    schema = merged(*values)
    assert all(jsonschema_rs.is_valid(schema, value) for value in values)


@settings(max_examples=examples(60))
@given(SOME, st.randoms(use_true_random=False))
def test_the_order_does_not_matter(values: list[Any], chance: Any) -> None:
    other = list(values)
    chance.shuffle(other)
    assert merged(*values) == merged(*other)
