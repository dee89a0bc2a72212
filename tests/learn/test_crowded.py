"""Crowded shapes, and shapes of very many results."""

from __future__ import annotations

from itertools import product
from string import ascii_lowercase
from typing import Any

import jsonschema_rs

from halflap.learn import infer, merge, schema_of
from halflap.learn.kept_values import has_values
from support import little_work


def test_crowded_variants_fit_their_schema() -> None:
    names = ["".join(letters) for letters in product(ascii_lowercase, repeat=2)]
    rows: list[dict[str, Any]] = [
        {"type": "a" if number < 60 else "b", "id": number, f"name_{names[number]}": number}
        for number in range(120)
    ]
    rows += [{"type": "c", "other": [1], "more": "x"} for _ in range(10)]
    rows += [{"type": "d", "else": 1, "thing": None} for _ in range(10)]
    schema = schema_of(infer([rows]))
    jsonschema_rs.validator_for(schema).validate(rows)


def test_a_shape_of_very_many_results_is_rendered_quickly() -> None:
    shape = infer([{"status": "open", "id": 1}, {"status": "closed", "name": "x"}])
    for _ in range(40):
        shape = merge(shape, shape)
    with little_work(2):
        schema_of(shape)


def test_of_keys_that_turn_out_to_be_data_no_values_are_kept() -> None:
    names = ["".join(letters) for letters in product(ascii_lowercase, repeat=2)]
    few, others = dict.fromkeys(names[:60], "paid by hand"), dict.fromkeys(names[60:120], "paid by hand")
    merged = merge(infer([few], [1], keep_values=True), infer([others], [2], keep_values=True))
    assert merged == infer([few, others], [1, 2], keep_values=True)
    assert not has_values(merged)
