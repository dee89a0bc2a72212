"""Drafts of JSON Schema; most servers do not say which they use."""

from __future__ import annotations

from typing import Any

import pytest

from halflap.schema import compact, compile_schema, read_type, try_compile

NEW = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
OLD = {"$schema": "http://json-schema.org/draft-07/schema#"}
TUPLE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "point": {
            "type": "array",
            "items": [{"type": "number"}, {"type": "string"}],
            "additionalItems": False,
        },
        "name": {"type": "string"},
    },
    "required": ["name"],
}


def paths(schema: dict[str, Any], value: Any) -> list[str]:
    validator = compile_schema(schema)
    assert validator is not None
    return sorted(problem.path for problem in validator.problems(value))


@pytest.mark.parametrize("said", [{}, NEW, OLD])
def test_a_list_of_items_is_a_tuple_in_every_draft(said: dict[str, str]) -> None:
    assert paths({**said, **TUPLE}, {"point": ["x", "y", 3]}) == ["name", "point", "point[0]"]
    assert paths({**said, **TUPLE}, {"point": [1, "y"], "name": "n"}) == []


def test_draft_4_is_understood() -> None:
    assert paths({"properties": {"a": {"minimum": 0, "exclusiveMinimum": True}}}, {"a": 0}) == ["a"]


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"properties": {"a": {"type": "nonsense"}}}, "at properties.a.type: "),
        ({"properties": {"a": {"$ref": "https://example.com/x.json"}}}, "https://example.com/x.json"),
        ({"properties": {"a": {"$ref": "#/nowhere"}}}, "/nowhere"),
        ({"$schema": "https://example.com/own"}, "https://example.com/own"),
        ({"properties": {f"p{number}": {} for number in range(20_000)}}, "10,000"),
        ([1], "object"),
        ({"properties": {"a\u200b": 5}}, r'properties["a\u200b"]'),
    ],
)
def test_an_unusable_schema_gives_a_reason(schema: Any, said: str) -> None:
    reason = try_compile(schema)
    assert isinstance(reason, str)
    assert said in reason


SIBLINGS: dict[str, Any] = {
    "$ref": "#/$defs/base",
    "properties": {"b": {"type": "string"}},
    "$defs": {"base": {"properties": {"a": {"type": "integer"}}}},
}


@pytest.mark.parametrize(
    ("schema", "shown"),
    [
        ({**NEW, **SIBLINGS}, "{a: integer, b: string}"),
        ({**OLD, **SIBLINGS}, "{a: integer}"),
    ],
)
def test_what_is_shown_is_what_is_validated(schema: dict[str, Any], shown: str) -> None:
    assert compact(read_type(schema)) == shown
    assert bool(paths(schema, {"b": 1})) == ("b: string" in shown)
