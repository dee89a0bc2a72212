"""Hostile names and values, where they are shown."""

from __future__ import annotations

import math
from typing import Any

import pytest

from halflap.calls import Policy, describe
from halflap.catalog import Snapshot
from halflap.config import Config
from halflap.core.values import Tool
from halflap.schema import parse_schema

HIDDEN = "a\u200bb"
SHOWN = r"a\u200bb"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {HIDDEN: {"enum": ["x\u202ey", "z"], "default": "x\u202ey", "description": "d\u200b"}},
    "required": [HIDDEN],
    "additionalProperties": False,
}


def tool(schema: dict[str, Any] = SCHEMA, original_name: str = "t") -> Tool:
    return Tool("mcp__s__t", "s", original_name, "A tool.", schema)


def described(one: Tool) -> dict[str, Any]:
    policy = Policy(Config.from_mapping({"servers": []}))
    return describe(one, Snapshot(), policy, None)


def problems(schema: dict[str, Any], arguments: dict[str, Any]) -> list[str]:
    return [str(problem) for problem in parse_schema(tool(schema)).validate_arguments(arguments)]


def test_an_invisible_letter_in_a_name_is_escaped_everywhere() -> None:
    schema = described(tool())["inputSchema"]
    assert list(schema["properties"]) == schema["required"] == [SHOWN]
    parsed = parse_schema(tool())
    assert f'- "{SHOWN}" (string, required): d. ' in parsed.format_for_llm()
    assert parsed.format_compact().startswith(f'mcp__s__t("{SHOWN}": "x\\u202ey" | "z"')
    assert problems(SCHEMA, {}) == [f'["{SHOWN}"]: missing; expected "x\\u202ey" | "z"']


def test_values_that_differ_invisibly_are_shown_to_differ() -> None:
    schema = {
        "properties": {"a": {"enum": [HIDDEN]}, "b": {"const": "x\u00a0y"}, "c": {"pattern": "^\u200b$"}}
    }
    assert sorted(problems(schema, {"a": "ab", "b": "x y", "c": "\u200b\u200b"})) == [
        f'a: expected one of "{SHOWN}", received "ab"',
        'b: expected "x\\u00a0y", received "x y"',
        'c: expected text that matches ^\\u200b$, received "\\u200b\\u200b"',
    ]
    assert described(tool(schema))["inputSchema"]["properties"]["a"]["enum"] == [SHOWN]


def test_two_names_that_are_shown_alike_are_both_shown() -> None:
    schema = {
        "properties": {HIDDEN: {"type": "string"}, SHOWN: {"type": "integer"}, "n" * 300: {}, "n" * 400: {}}
    }
    assert len(described(tool(schema))["inputSchema"]["properties"]) == 4


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"a": {"1": "x"}}, 'a["1"]'),
        ({"a": ["x"]}, "a[0]"),
        ({"a": {"b-c": "x"}}, "a.b-c"),
        ({"a": {"b.c": "x"}}, 'a["b.c"]'),
        ({"a": {'"]': "x"}}, 'a["\\"]"]'),
        ({"1": "x"}, '["1"]'),
    ],
)
def test_a_key_in_a_path_is_never_ambiguous(value: dict[str, Any], path: str) -> None:
    number = {"type": ["integer", "object", "array"]}
    schema = {
        "additionalProperties": {**number, "additionalProperties": number, "items": number},
    }
    (problem,) = parse_schema(tool(schema)).validate_arguments(value)
    assert problem.path == path


@pytest.mark.parametrize(
    ("value", "said"), [(math.nan, "NaN"), (math.inf, "Infinity"), (-math.inf, "-Infinity")]
)
def test_nan_and_infinity_are_reported(value: float, said: str) -> None:
    (problem,) = problems({"properties": {"a": {"type": "number"}}}, {"a": value})
    assert problem.startswith("a: ")
    assert said in problem
    anything: dict[str, Any] = {"properties": {"a": {}}}
    found = problems(anything, {"a": [{"b": value}], "c": [1, {}, []], "d": value})
    assert [one.partition(":")[0] for one in found] == ["a[0].b"]


def test_a_name_that_looks_like_several_is_quoted() -> None:
    forged = tool({"properties": {"a: string, b": {"type": "integer"}}})
    assert parse_schema(forged).format_compact() == 'mcp__s__t("a: string, b"?: integer)'
