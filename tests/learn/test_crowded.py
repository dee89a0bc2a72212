"""Shapes that are crowded, or rest on very many results, are told like any other."""

from __future__ import annotations

import time
from itertools import product
from string import ascii_lowercase
from typing import Any

import jsonschema_rs

from halflap.learn import infer, merge, render


def test_variants_that_are_crowded_together_are_rendered_and_hold() -> None:
    names = ["".join(letters) for letters in product(ascii_lowercase, repeat=2)]
    rows: list[dict[str, Any]] = [
        {"type": "a" if number < 60 else "b", "id": number, f"name_{names[number]}": number}
        for number in range(120)
    ]
    rows += [{"type": "c", "other": [1], "more": "x"} for _ in range(10)]
    rows += [{"type": "d", "else": 1, "thing": None} for _ in range(10)]
    schema = render(infer([rows]))
    jsonschema_rs.validator_for(schema).validate(rows)


def test_a_schema_of_very_many_results_is_rendered_at_once() -> None:
    shape = infer([{"status": "open", "id": 1}, {"status": "closed", "name": "x"}])
    for _ in range(40):
        shape = merge(shape, shape)
    began = time.process_time()
    render(shape)
    assert time.process_time() - began < 1
