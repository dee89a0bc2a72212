"""What a tool takes is shown whole: all choices of a union, any key of a map, what is only required."""

from __future__ import annotations

from typing import Any

import pytest

from halflap.schema import Parameter, ToolSchema, is_wrapped, parse_schema
from halflap.values import Tool


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


def test_the_keys_of_all_choices_are_shown_within_a_parameter() -> None:
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


def test_the_keys_of_all_choices_are_shown_within_an_array() -> None:
    assert lines(of(f={"type": "array", "items": {"anyOf": [A, B]}}))[2:] == [f"  {one}" for one in INNER]


def test_the_keys_of_all_choices_are_shown_where_there_may_be_nothing() -> None:
    choices = {"anyOf": [{"oneOf": [A, B]}, {"type": "null"}]}
    assert lines(of(f=choices))[1:] == ["- f (object | null, optional)", *(f"  {one}" for one in INNER)]


def test_which_choice_a_key_belongs_to_is_told_at_the_root_too() -> None:
    assert lines({"type": "object", "oneOf": [A, B]})[1:] == INNER


ONE_OF_TWO = {
    **of(id={"type": "string"}, email={"type": "string"}),
    "oneOf": [{"required": ["id"]}, {"required": ["email"]}],
}


def test_what_is_required_in_one_choice_alone_is_not_said_to_be_required() -> None:
    assert lines(of(who=ONE_OF_TWO))[2:] == [
        "  - id (string, optional, one of id, email is required)",
        "  - email (string, optional, one of id, email is required)",
    ]


def test_choices_beside_an_object_that_may_be_null_count() -> None:
    assert lines(of(who={**ONE_OF_TWO, "type": ["object", "null"]}))[1:3] == [
        "- who (object | null, optional)",
        "  - id (string, optional, one of id, email is required)",
    ]


def test_a_tool_that_takes_any_key_says_so() -> None:
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


def test_what_is_required_and_not_described_is_shown() -> None:
    schema = {"type": "object", "required": ["a", "b"]}
    assert line(schema) == "t(a: any, b: any)"
    assert lines(schema)[1:] == ["- a (any, required)", "- b (any, required)"]
    assert line(of(f=schema)) == "t(f?: {a: any, b: any})"
    assert parse_schema(tool(schema)).required_params == ["a", "b"]


def chain(length: int) -> dict[str, Any]:
    parts: dict[str, Any] = {f"d{number}": {"$ref": f"#/$defs/d{number + 1}"} for number in range(length)}
    return {"$ref": "#/$defs/d0", "$defs": {**parts, f"d{length}": of(a={"type": "integer"})}}


def test_a_chain_of_references_is_followed_to_its_end() -> None:
    assert line(chain(50)) == "t(a?: integer)"
    assert line(chain(2_000)) == "t(a?: integer)"


def test_what_is_too_deep_to_be_shown_is_marked() -> None:
    deep = of(a={"type": "integer"})
    for _ in range(60):
        deep = {"allOf": [deep]}
    assert line(deep) == "t(…)"
    assert lines(deep) == ["Parameters:", "- … (too deep or too large to be shown)"]


def test_null_comes_last() -> None:
    assert line(of(a={"type": ["null", "string"]})) == "t(a?: string | null)"


def test_what_may_not_be_given_is_not_shown_as_anything() -> None:
    assert line(of(a=False, b=True)) == "t(a?: never, b?: any)"
    assert lines(of(a=False))[1:] == ["- a (never, optional)"]


@pytest.mark.parametrize(
    ("described", "text"),
    [
        ("Plain.", "Plain. Default: x"),
        ("Wait...", "Wait... Default: x"),
        ("Question?", "Question? Default: x"),
        ("Plain", "Plain. Default: x"),
        ("", "Default: x"),
    ],
)
def test_a_description_keeps_its_end(described: str, text: str) -> None:
    assert lines(of(a={"type": "string", "description": described, "default": "x"}))[1] == (
        f"- a (string, optional): {text}"
    )


def test_a_description_with_dots_keeps_them_where_nothing_follows() -> None:
    assert lines(of(a={"type": "string", "description": "And so on..."}))[1].endswith(": And so on...")


def test_values_that_could_be_misread_are_in_quotes() -> None:
    values = [1, "1", "a,b", "a b", "true", True, "utf-8", "1.5e3", None]
    assert lines(of(a={"enum": values}))[1].endswith(
        'Values: 1, "1", "a,b", a b, "true", true, utf-8, "1.5e3", null'
    )


def test_a_schema_made_of_its_own_fields_alone_is_written_whole() -> None:
    made = ToolSchema(
        "read_file",
        "Read contents of a file",
        [
            Parameter("encoding", "string", "File encoding", required=False, default="utf-8"),
            Parameter("path", "string", "File path to read", required=True),
            Parameter("tags", "array of string", "", required=False),
            Parameter("mode", "string | null", "", required=False, enum=["r", None]),
        ],
        ["path"],
        {},
    )
    assert made.format_compact() == (
        'read_file(path: string, encoding?: string = "utf-8", tags?: [string], mode?: "r" | null)'
    )
    assert "- encoding (string, optional): File encoding. Default: utf-8\n" in made.format_for_llm()


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
def test_what_is_a_wrapper_is_one_everywhere(
    output: dict[str, Any], wrapped: bool, shown: str | None
) -> None:
    assert is_wrapped(output) is wrapped
    assert parse_schema(tool({}, output)).format_compact() == ("t()" if shown is None else f"t() -> {shown}")


def test_references_in_a_circle_take_nothing_from_what_stands_beside_them() -> None:
    parts = {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}
    schema = of(n={"$ref": "#/properties/n"}, a={"$ref": "#/$defs/a"}, m={"type": "integer"})
    assert line({**schema, "$defs": parts}) == "t(n?: …, a?: …, m?: integer)"
