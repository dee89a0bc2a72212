from __future__ import annotations

from typing import Any

import pytest

from halflap.schema import signature


def test_required_parameters_come_first_in_the_schemas_order() -> None:
    schema = {
        "properties": {"limit": {"type": "integer"}, "path": {"type": "string"}, "all": {"type": "boolean"}},
        "required": ["path"],
    }
    assert signature("find", schema) == "find(path: string, limit?: integer, all?: boolean)"


@pytest.mark.parametrize(
    ("schema", "line"),
    [
        ({}, "f()"),
        ({"properties": []}, "f()"),
        ({"properties": {"a": True}, "required": "a"}, "f(a?: any)"),
        ({"properties": {"a": {"type": ["string", "null"]}}}, "f(a?: string | null)"),
        ({"properties": {"a": {"type": 5}}, "required": [{"a": 1}]}, "f(a?: 5)"),
    ],
)
def test_a_schema_that_says_anything_at_all_has_a_signature(schema: dict[str, Any], line: str) -> None:
    assert signature("f", schema) == line


def test_a_long_signature_is_cut() -> None:
    line = signature("f", {"properties": {f"parameter_{number}": {} for number in range(100)}})
    assert len(line) == 400
    assert line.endswith("…")
