"""Parameters are shown completely: unions, maps, required keys."""

from __future__ import annotations

from typing import Any

import pytest

from halflap.core.values import Tool
from halflap.schema import is_wrapped, parse_schema


def tool(schema: dict[str, Any], output: dict[str, Any] | None = None) -> Tool:
    return Tool("t", "s", "t", "A tool", schema, output)


def lines(schema: dict[str, Any]) -> list[str]:
    return parse_schema(tool(schema)).format_for_llm().splitlines()[3:]


def line(schema: dict[str, Any]) -> str:
    return parse_schema(tool(schema)).format_compact()


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


A = {**of(t={"const": "a"}, x={"type": "integer"}), "required": ["t", "x"]}
B = {**of(t={"const": "b"}, y={"type": "string"}, z={"type": "string"}), "required": ["t", "y"]}
INNER = [
    "- t (string, required): Values: a, b",
    '- x (integer, required if t is "a")',
    '- y (string, required if t is "b")',
    '- z (string, optional, only if t is "b")',
]


def test_keys_of_all_union_members_are_shown() -> None:
    assert lines(of(f={"oneOf": [A, B], "description": "What"}))[1:] == [
        "- f (object, optional): What",
        *(f"  {one}" for one in INNER),
    ]
    (f,) = parse_schema(tool(of(f={"oneOf": [A, B]}))).parameters
    assert [(one.name, one.required) for one in f.parameters] == [
        ("t", True),
        ("x", False),
        ("y", False),
        ("z", False),
    ]


ONE_OF_TWO = {
    **of(id={"type": "string"}, email={"type": "string"}),
    "oneOf": [{"required": ["id"]}, {"required": ["email"]}],
}


def test_a_key_required_by_one_member_alone_is_not_shown_as_required() -> None:
    assert lines(of(who=ONE_OF_TWO))[2:] == [
        "  - id (string, optional, one of id, email is required)",
        "  - email (string, optional, one of id, email is required)",
    ]


def test_a_map_is_shown_as_any_key() -> None:
    for schema in (
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {"type": "object", "patternProperties": {"^x": {"type": "integer"}}},
    ):
        assert line(schema) == "t(**{[key]: integer})"
        assert lines(schema) == ["Parameters:", "- [key] (integer, optional)"]
    more = {**of(a={"type": "string"}), "additionalProperties": {"type": "integer"}}
    assert line(more) == "t(a?: string, **{[key]: integer})"
    assert lines(of(f=more))[1:] == [
        "- f (object, optional)",
        "  - a (string, optional)",
        "  - [key] (integer, optional)",
    ]


def test_a_schema_that_is_too_deep_is_marked() -> None:
    deep = of(a={"type": "integer"})
    for _ in range(60):
        deep = {"allOf": [deep]}
    assert line(deep) == "t(…)"
    assert lines(deep) == ["Parameters:", "- … (too deep or too large to be shown)"]


def test_ambiguous_values_are_quoted() -> None:
    values = [1, "1", "a,b", "a b", "true", True, "utf-8", "1.5e3", None]
    assert lines(of(a={"enum": values}))[1].endswith(
        'Values: 1, "1", "a,b", a b, "true", true, utf-8, "1.5e3", null'
    )


RESULT = of(result={"type": "string"})


@pytest.mark.parametrize(
    ("output", "wrapped", "shown"),
    [
        ({**RESULT, "type": ["object", "null"]}, True, "string | null"),
        ({**RESULT, "allOf": [of(y={"type": "string"})]}, False, "{result: string, y: string}"),
        ({**RESULT, "required": ["result", "y"]}, False, "{result: string, y: any}"),
        ({**RESULT, "anyOf": [{"required": ["result"]}, {}]}, True, "string"),
        ({"type": "array", "properties": RESULT["properties"]}, False, None),
    ],
)
def test_wrappers_are_recognised(output: dict[str, Any], wrapped: bool, shown: str | None) -> None:
    assert is_wrapped(output) is wrapped
    assert parse_schema(tool({}, output)).format_compact() == ("t()" if shown is None else f"t() -> {shown}")


def test_circular_references_do_not_hide_their_siblings() -> None:
    parts = {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}
    schema = of(n={"$ref": "#/properties/n"}, a={"$ref": "#/$defs/a"}, m={"type": "integer"})
    assert line({**schema, "$defs": parts}) == "t(n?: …, a?: …, m?: integer)"
