"""Validation against schemas that may be wrong or hostile, and what is reported."""

from __future__ import annotations

import math
import socket
from typing import Any

import pytest

from halflap.schema import argument_problems, compile_schema, try_compile
from support import little_work


def problems(schema: dict[str, Any], value: Any) -> list[str]:
    with little_work():
        validator = compile_schema(schema)
        return [] if validator is None else [str(problem) for problem in validator.problems(value)]


def paths(schema: dict[str, Any], value: Any) -> list[str]:
    validator = compile_schema(schema)
    assert validator is not None
    return sorted(problem.path for problem in validator.problems(value))


# Problems


def tagged(kind: str, key: str) -> dict[str, Any]:
    properties = {"type": {"const": kind}, key: {"type": "string"}}
    return {"type": "object", "properties": properties, "required": ["type", key]}


TEXT, IMAGE = tagged("text", "text"), tagged("image", "url")
TAGGED: dict[str, Any] = {
    "plain": {"properties": {"x": {"oneOf": [TEXT, IMAGE]}}},
    "or null": {"properties": {"x": {"anyOf": [{"oneOf": [TEXT, IMAGE]}, {"type": "null"}]}}},
}


@pytest.mark.parametrize("name", TAGGED)
@pytest.mark.parametrize(
    ("value", "path"),
    [({"type": "image", "url": 5}, "x.url"), ({"type": "image"}, "x.url"), ({"url": "u"}, "x.type")],
)
def test_problems_are_reported_for_the_alternative_that_was_meant(name: str, value: Any, path: str) -> None:
    assert {one.partition(":")[0] for one in problems(TAGGED[name], {"x": value})} == {path}


def test_where_no_alternative_was_meant_all_are_named() -> None:
    (problem,) = problems(TAGGED["plain"], {"x": {"type": "sound"}})
    assert problem.startswith('x: expected type: "text" or type: "image", ')
    assert problems({"anyOf": [{"type": "string"}, {"type": "null"}]}, 7) == [
        "expected string or null, received 7"
    ]


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"a": {"1": "x"}}, 'a["1"]'),
        ({"a": ["x"]}, "a[0]"),
        ({"a": {"b.c": "x"}}, 'a["b.c"]'),
        ({"a": {'"]': "x"}}, 'a["\\"]"]'),
        ({"1": "x"}, '["1"]'),
    ],
)
def test_a_key_in_a_path_is_never_ambiguous(value: dict[str, Any], path: str) -> None:
    number = {"type": ["integer", "object", "array"]}
    assert paths(
        {"additionalProperties": {**number, "additionalProperties": number, "items": number}}, value
    ) == [path]


@pytest.mark.parametrize("nullable", [{"type": "string"}, {"type": "string", "enum": ["a"]}, {"enum": ["a"]}])
def test_nullable_allows_null(nullable: dict[str, Any]) -> None:
    schema = {"properties": {"a": {**nullable, "nullable": True}}}
    assert problems(schema, {"a": None}) == []
    assert problems(schema, {"a": 7})


# Unusable, hostile


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"properties": {"a": {"type": "nonsense"}}}, "at properties.a.type: "),
        ({"properties": {"a": {"$ref": "https://example.com/x.json"}}}, "https://example.com/x.json"),
        ({"$schema": "https://example.com/own"}, "https://example.com/own"),
        ({"properties": {f"p{number}": {} for number in range(20_000)}}, "10,000"),
        ([1], "object"),
        ({"properties": {"a\u200b": 5}}, r'properties["a\u200b"]'),
        ({"$ref": "#/nowhere"}, "/nowhere"),
        ({"properties": {"a": {"pattern": "(?<=a+)("}}}, "pattern"),
        ({"properties": {"a": {"pattern": "((a{100}){100}){100}"}}}, "pattern"),
    ],
)
def test_an_unusable_schema_refuses_nothing_and_gives_a_reason(schema: Any, reason: str) -> None:
    assert compile_schema(schema) is None
    assert reason in str(try_compile(schema))


@pytest.mark.parametrize("place", ["properties", "items"])
@pytest.mark.parametrize("scheme", ["http", "file"])
def test_an_external_reference_is_never_fetched(place: str, scheme: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.05)
        port = listener.getsockname()[1]
        target = "file:///etc/hostname" if scheme == "file" else f"http://127.0.0.1:{port}/x.json"
        part: Any = {"$ref": target} if place == "items" else {"a": {"$ref": target}}
        assert problems({"type": "object", place: part}, {"a": 1}) == []
        with pytest.raises(TimeoutError):
            listener.accept()


def test_an_abandoned_pattern_refuses_nothing_and_hides_no_other_problem() -> None:
    schema = {"properties": {"a": {"pattern": r"^(a|a)*\1$"}, "b": {"type": "string"}}}
    assert paths(schema, {"a": "a" * 100 + "!", "b": 1}) == ["b"]


def branching(levels: int, leaf: dict[str, Any]) -> dict[str, Any]:
    """Make a small schema whose last part is reached in 2 ** levels ways."""
    parts: dict[str, Any] = {"d0": leaf}
    for level in range(1, levels + 1):
        below = {"$ref": f"#/$defs/d{level - 1}"}
        parts[f"d{level}"] = {"allOf": [below, dict(below)]}
    return {"$defs": parts, "properties": {"a": {"$ref": f"#/$defs/d{levels}"}, "b": {"type": "string"}}}


@pytest.mark.parametrize("levels", [10, 60])
def test_exponential_schemas_are_bounded(levels: int) -> None:
    problems(branching(levels, {"type": "string"}), {"a": 1})
    assert paths(branching(levels, {}), {"b": 1}) == ["b"]


def test_a_big_value_with_many_mistakes_is_refused_quickly() -> None:
    first, more = problems({"items": {"type": "string"}}, [1] * 200_000)
    assert first.startswith("[0]: ")
    assert "more" in more


# Arguments


def circle() -> list[Any]:
    made: list[Any] = []
    made.append(made)
    return made


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({1, 2}, "type set"),
        ("\ud800", r"\ud800"),
        ([{"b": math.nan}], "Out of range"),
        pytest.param(10**5_000, "digits", id="too many digits"),
        pytest.param(circle(), "recursion", id="circle"),
    ],
)
def test_arguments_that_are_not_json_are_refused_with_the_reason(value: Any, reason: str) -> None:
    (problem,) = argument_problems({"any": value, "a": 5}, compile_schema({}))
    assert problem.expected == "JSON values"
    assert reason in problem.received
