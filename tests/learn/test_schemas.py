"""Schemas inferred from single values and merged."""

from __future__ import annotations

from functools import reduce
from typing import Any

import jsonschema_rs
from hypothesis import given, settings
from hypothesis import strategies as st

from halflap.learn import infer_schema_from_value, merge_schemas
from learn.anything import ANYTHING
from support import examples

SOME = st.lists(ANYTHING, min_size=1, max_size=5)


def merged(*values: Any) -> dict[str, Any]:
    return reduce(merge_schemas, map(infer_schema_from_value, values))


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
