"""Reading schemas as types, level by level within a budget."""

from __future__ import annotations

from typing import Any

import pytest

from halflap.schema import read_type
from halflap.schema.text import compact
from support import little_work


def written(schema: Any) -> str:
    return compact(read_type(schema))


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "string"}, "string"),
        ({"type": ["string", "null"]}, "string | null"),
        ({"type": "string", "nullable": True}, "string | null"),
        ({"enum": ["a", 1, None]}, '"a" | 1 | null'),
        ({"anyOf": [{"const": "a"}, {"const": "b"}]}, '"a" | "b"'),
        (
            {"oneOf": [{"type": "integer"}, {"type": "array", "items": {"type": "integer"}}]},
            "integer | [integer]",
        ),
        (
            {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "number"}}}},
            "[{a: number}]",
        ),
        ({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]}, "[string | integer]"),
        (
            {"type": "array", "items": [{"type": "string"}], "additionalItems": {"type": "null"}},
            "[string | null]",
        ),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "{[key]: integer}"),
        ({"type": "object", "patternProperties": {"^x": {"type": "string"}}}, "{[key]: string}"),
        ({"properties": {"a": {}, "b": {"type": "string"}}, "required": ["b"]}, "{a?: any, b: string}"),
        ({"properties": {"odd name": {"type": "string"}}}, '{"odd name": string}'),
        (True, "any"),
        ({"type": "nonsense"}, "any"),
        (
            {"allOf": [{"properties": {"a": {"type": "string"}}}, {"properties": {"b": {"type": "null"}}}]},
            "{a: string, b: null}",
        ),
        ({"$ref": "#/$defs/id", "$defs": {"id": {"type": "string", "format": "uuid"}}}, "string"),
        ({"$ref": "#/definitions/id", "definitions": {"id": {"type": "integer"}}}, "integer"),
        ({"$ref": "#/$defs/a%20b", "$defs": {"a b": {"type": "integer"}}}, "integer"),
        ({"$ref": "https://example.com/schema.json"}, "any"),
        ({"$ref": "#/nowhere"}, "any"),
    ],
)
def test_a_schema_is_read_as_a_type(schema: Any, text: str) -> None:
    assert written(schema) == text


def test_a_type_that_contains_itself_ends() -> None:
    tree = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#"}}},
    }
    assert written(tree) == "{name: string, children: [{…}]}"


def test_a_wide_schema_is_cut_with_a_mark() -> None:
    wide = {"type": "object", "properties": {f"p{number}": {"type": "string"} for number in range(100_000)}}
    with little_work():
        read = read_type(wide)
    assert len(read.fields) < 5_000
    assert read.partial
    assert written(wide).endswith("…}")


def large_api() -> dict[str, Any]:
    """Make an object with many keys, the first of which lead through references to very many parts."""
    defs: dict[str, Any] = {}
    for number in range(30):
        deep = [
            {"anyOf": [{"$ref": f"#/$defs/d{(number * 3 + step) % 30}"}, {"type": "null"}]}
            for step in range(1, 9)
        ]
        defs[f"d{number}"] = {
            "allOf": [{"properties": {f"deep{at}": part for at, part in enumerate(deep)}}],
            "properties": {f"plain{at}": {"type": "string"} for at in range(12)},
        }
    first = {f"first{at}": {"type": "array", "items": {"$ref": f"#/$defs/d{at}"}} for at in range(10)}
    last = {f"last{at}": {"type": "string"} for at in range(30)}
    return {"type": "object", "properties": {**first, **last, "id": {"type": "string"}}, "$defs": defs}


def test_a_large_schema_keeps_its_upper_levels() -> None:
    schema = large_api()
    with little_work():
        read = read_type(schema)
    assert [one.name for one in read.fields] == list(schema["properties"])
    assert not read.partial
    items = [one.type.items for one in read.fields[:10]]
    assert all(one is not None and len(one.fields) == 20 and not one.partial for one in items)
