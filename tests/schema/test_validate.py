"""Validation against schemas that may be wrong or hostile."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

import pytest

from halflap.schema import compile_schema
from support import little_work

if TYPE_CHECKING:
    from halflap.core.errors import ArgumentProblem


def problems(schema: dict[str, Any], value: Any) -> list[ArgumentProblem]:
    with little_work():
        validator = compile_schema(schema)
        return [] if validator is None else validator.problems(value)


def of_type(kind: str) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": {"type": kind}}}


def branching(levels: int, leaf: dict[str, Any]) -> dict[str, Any]:
    """Make a small schema whose last part is reached in 2 ** levels ways."""
    parts: dict[str, Any] = {"d0": leaf}
    for level in range(1, levels + 1):
        below = {"$ref": f"#/$defs/d{level - 1}"}
        parts[f"d{level}"] = {"allOf": [below, dict(below)]}
    return {"$defs": parts, "properties": {"a": {"$ref": f"#/$defs/d{levels}"}, "b": {"type": "string"}}}


def nested(levels: int, value: Any = 1) -> Any:
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("place", ["properties", "$defs", "items"])
@pytest.mark.parametrize("scheme", ["http", "file"])
def test_an_external_reference_is_never_fetched(place: str, scheme: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.05)
        port = listener.getsockname()[1]
        target = "file:///etc/hostname" if scheme == "file" else f"http://127.0.0.1:{port}/x.json"
        reference = {"$ref": target}
        part: Any = reference if place == "items" else {"a": reference}
        assert problems({"type": "object", place: part}, {"a": 1}) == []
        with pytest.raises(TimeoutError):
            listener.accept()


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "nonsense"},
        {"properties": [1, 2]},
        {"properties": {"a": 5}},
        {"required": "a"},
        {"$ref": 7},
        {"$ref": "#/nowhere"},
        {"pattern": "("},
        {"properties": {"a": {"pattern": "(?<=a+)("}}},
        {"$schema": "http://127.0.0.1:9/unknown"},
        {"$id": "::"},
        {"properties": {"\ud800": {"const": "\ud800"}}},
        {"minimum": "three"},
        {"properties": {"a": {"pattern": "((a{100}){100}){100}"}}},
    ],
)
def test_an_invalid_schema_refuses_nothing(schema: dict[str, Any]) -> None:
    assert problems(schema, {"a": 1}) == []


@pytest.mark.parametrize(
    "pattern", ["^(a+)+$", r"^(a|a)*\1$", r"^(a|aa)+(?!x)\1$", r"(?=(a+)+b)\1", "(x+x+)+y"]
)
def test_a_pathological_pattern_is_bounded(pattern: str) -> None:
    value = {"a": "a" * 5_000 + "!", "b": "x" * 5_000}
    problems({"properties": {"a": {"pattern": pattern}, "b": {"pattern": pattern}}}, value)


def test_an_abandoned_pattern_refuses_nothing() -> None:
    schema = {"properties": {"a": {"pattern": r"^(a|a)*\1$"}}}
    assert problems(schema, {"a": "a" * 100 + "!"}) == []


def test_other_problems_beside_an_abandoned_pattern_are_listed() -> None:
    schema = {"properties": {"a": {"pattern": r"^(a|a)*\1$"}, "b": {"type": "string"}}}
    assert [problem.path for problem in problems(schema, {"a": "a" * 100 + "!", "b": 1})] == ["b"]


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}, {"$ref": "#"}]},
        {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
        {"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "string"}]}}, "$ref": "#/$defs/a"},
        {"$defs": {"a": {"not": {"$ref": "#/$defs/a"}}}, "$ref": "#/$defs/a"},
        {
            "$defs": {
                f"d{one}": {"oneOf": [{"$ref": f"#/$defs/d{other}"} for other in range(14) if other != one]}
                for one in range(14)
            },
            "$ref": "#/$defs/d0",
        },
    ],
)
def test_circular_references_end(schema: dict[str, Any]) -> None:
    assert problems(schema, {"a": 1}) == []


@pytest.mark.parametrize("levels", [10, 16, 20, 30, 60])
@pytest.mark.parametrize("value", [1, "x"])
def test_exponential_schemas_are_bounded(levels: int, value: Any) -> None:
    problems(branching(levels, {"type": "string"}), {"a": value})


def test_an_exponential_part_does_not_stop_validation_of_the_rest() -> None:
    assert [problem.path for problem in problems(branching(60, {}), {"b": 1})] == ["b"]


@pytest.mark.parametrize("items", ["items", "prefixItems", "contains"])
def test_exponential_work_in_the_depth_of_a_value_is_bounded(items: str) -> None:
    inner: Any = [{"$ref": "#"}] if items == "prefixItems" else {"$ref": "#"}
    problems({"allOf": [{items: inner}, {items: inner}], "not": {"type": "string"}}, nested(60))


def test_unevaluated_properties_at_each_level_are_bounded() -> None:
    schema: dict[str, Any] = {"properties": {"z": {"type": "string"}}}
    for _ in range(40):
        schema = {"allOf": [schema], "unevaluatedProperties": {"type": "integer"}}
    problems(schema, {"z": "x"})


def test_a_long_chain_of_references_ends() -> None:
    parts: dict[str, Any] = {f"d{number}": {"$ref": f"#/$defs/d{number + 1}"} for number in range(5_000)}
    problems({"$defs": {**parts, "d5000": {"type": "string"}}, "$ref": "#/$defs/d0"}, {"a": 1})


TREE = {
    "$defs": {
        "node": {
            "type": "object",
            "properties": {
                "value": {"type": "integer"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
            },
            "required": ["value"],
        }
    },
    "properties": {"root": {"$ref": "#/$defs/node"}},
}


def test_a_schema_that_refers_to_itself_is_followed_down_the_value() -> None:
    value = {"root": {"value": 1, "children": [{"value": 2}, {"value": 3, "children": [{"value": "x"}]}]}}
    (problem,) = problems(TREE, value)
    assert problem.path == "root.children[1].children[0].value"


def test_a_big_value_with_many_mistakes_is_refused_quickly() -> None:
    first, more = problems({"items": {"type": "string"}}, [1] * 200_000)
    assert first.path == "[0]"
    assert more.what == "more"


def test_the_number_of_further_problems_is_reported() -> None:
    strings = {"items": {"type": "string"}}
    assert len(problems(strings, [1] * 50)) == 50
    told = problems(strings, [1] * 100)
    assert (len(told), told[-1].what) == (51, "more")
    assert "50" in str(told[-1])


@pytest.mark.parametrize("nullable", [{"type": "string"}, {"type": "string", "enum": ["a"]}, {"enum": ["a"]}])
def test_nullable_allows_null(nullable: dict[str, Any]) -> None:
    schema = {"properties": {"a": {**nullable, "nullable": True}}}
    assert problems(schema, {"a": None}) == []
    assert problems(schema, {"a": 7})


def chain(length: int) -> dict[str, Any]:
    parts: dict[str, Any] = {f"d{number}": {"$ref": f"#/$defs/d{number + 1}"} for number in range(length)}
    return {"$defs": {**parts, f"d{length}": {"type": "string"}}, "$ref": "#/$defs/d0"}


def test_many_pathological_patterns_are_bounded() -> None:
    schema = {"properties": {"a": {"items": {"pattern": r"^(a|aa)+(?!x)\1$"}}}}
    problems(schema, {"a": ["a" * 1_000 + "!"] * 20_000})
