"""Most servers do not say which draft they write in."""

from __future__ import annotations

from typing import Any

import pytest

from halflap.schema import Validator, compile_or_say, compile_schema
from halflap.schema.types import read_type
from halflap.schema.write import compact

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
def test_a_list_under_items_is_a_tuple_whatever_draft_is_said(said: dict[str, str]) -> None:
    assert paths({**said, **TUPLE}, {"point": ["x", "y", 3]}) == ["name", "point", "point[0]"]
    assert paths({**said, **TUPLE}, {"point": [1, "y"], "name": "n"}) == []


def test_the_fallback_does_not_insist_on_formats() -> None:
    schema = {"items": [{"type": "string", "format": "email"}]}
    assert paths(schema, ["not an address"]) == []


def test_draft_04_is_understood_where_the_newer_are_not() -> None:
    assert paths({"properties": {"a": {"minimum": 0, "exclusiveMinimum": True}}}, {"a": 0}) == ["a"]


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"properties": {"a": {"type": "nonsense"}}}, "at properties.a.type: "),
        ({"properties": {"a": {"$ref": "https://example.com/x.json"}}}, "https://example.com/x.json"),
        ({"properties": {"a": {"$ref": "#/nowhere"}}}, "/nowhere"),
        ({"$schema": "https://example.com/own"}, "https://example.com/own"),
        ({"properties": {f"p{number}": {} for number in range(20_000)}}, "more than 10,000 parts"),
        ([1], "not an object"),
        ({"properties": {"a\u200b": 5}}, r'properties["a\u200b"]'),
    ],
)
def test_why_a_schema_cannot_be_used_is_said(schema: Any, said: str) -> None:
    reason = compile_or_say(schema)
    assert isinstance(reason, str)
    assert said in reason


def test_a_schema_that_can_be_used_gives_no_reason() -> None:
    assert isinstance(compile_or_say(TUPLE), Validator)


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
        ({**SIBLINGS, "$defs": {**SIBLINGS["$defs"], "t": {"items": [{}]}}}, "{a: integer}"),
    ],
)
def test_what_is_shown_is_what_is_checked(schema: dict[str, Any], shown: str) -> None:
    assert compact(read_type(schema)) == shown
    assert bool(paths(schema, {"b": 1})) == ("b: string" in shown)


def test_items_before_others_are_read_only_where_they_count() -> None:
    schema = {"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "integer"}}
    assert compact(read_type({**NEW, **schema})) == "[string | integer]"
    assert compact(read_type({**OLD, **schema})) == "[integer]"
