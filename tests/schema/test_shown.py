"""Names and values of somebody else's, where they are shown: harmless, the same everywhere, and usable."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from halflap.calls import Policy, describe
from halflap.catalog import Snapshot
from halflap.config import Config
from halflap.schema import parse_schema, visible
from halflap.values import Tool

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


def test_a_hidden_letter_in_a_name_is_shown_alike_wherever_the_name_is() -> None:
    schema = described(tool())["inputSchema"]
    assert list(schema["properties"]) == schema["required"] == [SHOWN]
    parsed = parse_schema(tool())
    assert f'- "{SHOWN}" (string, required): d. ' in parsed.format_for_llm()
    assert parsed.format_compact().startswith(f'mcp__s__t("{SHOWN}": "x\\u202ey" | "z"')
    assert problems(SCHEMA, {}) == [f'["{SHOWN}"]: missing; expected "x\\u202ey" | "z"']


def test_what_is_shown_in_quotes_can_be_written_so_in_a_call() -> None:
    written = parse_schema(tool()).format_compact().partition("(")[2].partition(":")[0]
    assert json.loads(written) == HIDDEN
    assert problems(SCHEMA, {json.loads(written): "z"}) == []


def test_how_hidden_letters_are_written_is_told_where_there_are_some() -> None:
    assert "write the letter itself" in described(tool())["spelling"]
    assert "spelling" not in described(tool({"properties": {"a": {"description": "x\u200b" * 3_000}}}))


def test_who_writes_the_number_as_letters_is_told_so() -> None:
    schema = {**SCHEMA, "required": []}
    (problem,) = problems(schema, {SHOWN: "z"})
    assert problem.endswith(f'no such key; write the letter itself where "{SHOWN}" has its number')


def test_a_value_that_differs_in_what_cannot_be_seen_is_shown_to_differ() -> None:
    schema = {
        "properties": {"a": {"enum": [HIDDEN]}, "b": {"const": "x\u00a0y"}, "c": {"pattern": "^\u200b$"}}
    }
    assert sorted(problems(schema, {"a": "ab", "b": "x y", "c": "\u200b\u200b"})) == [
        f'a: expected one of "{SHOWN}", received "ab"',
        'b: expected "x\\u00a0y", received "x y"',
        'c: expected text that matches ^\\u200b$, received "\\u200b\\u200b"',
    ]
    assert described(tool(schema))["inputSchema"]["properties"]["a"]["enum"] == [SHOWN]


def test_prose_is_shown_without_what_cannot_be_seen() -> None:
    shown = described(tool())["inputSchema"]["properties"][SHOWN]
    assert shown["description"] == "d"


def test_the_name_that_a_server_gave_is_shown_whole() -> None:
    assert described(tool(original_name="t\u200b"))["originalName"] == r"t\u200b"


def test_two_names_that_are_shown_alike_are_both_shown() -> None:
    schema = {
        "properties": {HIDDEN: {"type": "string"}, SHOWN: {"type": "integer"}, "n" * 300: {}, "n" * 400: {}}
    }
    assert len(described(tool(schema))["inputSchema"]["properties"]) == 4


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("größe", "größe"),
        ("日本", "日本"),
        ("a\nb\t", r"a\nb\t"),
        ("\U000e0041", r"\U000e0041"),
        ("\ud800", r"\ud800"),
        ("\x1b[31m", r"\u001b[31m"),
        ("\u3164", r"\u3164"),
    ],
)
def test_only_what_cannot_be_seen_is_written_as_its_number(text: str, shown: str) -> None:
    assert visible(text, 100) == shown


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"a": {"1": "x"}}, 'a["1"]'),
        ({"a": ["x"]}, "a[0]"),
        ({"a": {"b-c": "x"}}, "a.b-c"),
        ({"a": {"b.c": "x"}}, 'a["b.c"]'),
        ({"a": {"": "x"}}, 'a[""]'),
        ({"a": {'"]': "x"}}, 'a["\\"]"]'),
        ({"1": "x"}, '["1"]'),
        ({"a": {"01": "x"}}, 'a["01"]'),
        ({"": {"": "x"}}, '[""][""]'),
    ],
)
def test_a_key_in_a_path_cannot_be_taken_for_a_place_in_an_array(value: dict[str, Any], path: str) -> None:
    number = {"type": ["integer", "object", "array"]}
    schema = {
        "additionalProperties": {**number, "additionalProperties": number, "items": number},
    }
    (problem,) = parse_schema(tool(schema)).validate_arguments(value)
    assert problem.path == path


@pytest.mark.parametrize(
    ("value", "said"), [(math.nan, "NaN"), (math.inf, "Infinity"), (-math.inf, "-Infinity")]
)
def test_what_is_no_number_of_jsons_is_told_as_what_it_is(value: float, said: str) -> None:
    assert problems({"properties": {"a": {"type": "number"}}}, {"a": value}) == [
        f"a: expected number, received {said}, which is not JSON"
    ]
    anything: dict[str, Any] = {"properties": {"a": {}}}
    assert problems(anything, {"a": [{"b": value}], "c": [1, {}, []], "d": value}) == [
        f"a[0].b: expected a number, received {said}, which is not JSON",
        f"d: expected a number, received {said}, which is not JSON",
    ]


def test_null_is_still_told_as_null() -> None:
    assert problems({"properties": {"a": {"type": "number"}}}, {"a": None}) == [
        "a: expected number, received null"
    ]


def test_what_is_missing_is_told_with_what_its_reference_means() -> None:
    schema = {
        "properties": {"a": {"$ref": "#/$defs/n"}},
        "$defs": {"n": {"type": "integer"}},
        "required": ["a"],
    }
    assert problems(schema, {}) == ["a: missing; expected integer"]


def test_a_name_that_looks_like_more_than_one_is_in_quotes() -> None:
    forged = tool({"properties": {"a: string, b": {"type": "integer"}}})
    assert parse_schema(forged).format_compact() == 'mcp__s__t("a: string, b"?: integer)'
