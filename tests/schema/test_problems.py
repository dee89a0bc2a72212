"""Problems of arguments."""

from __future__ import annotations

from typing import Any

import pytest

from halflap.schema import compile_schema


def told(schema: dict[str, Any], value: Any) -> list[str]:
    validator = compile_schema(schema)
    assert validator is not None
    return [str(problem) for problem in validator.problems(value)]


TEXT = {
    "type": "object",
    "properties": {"type": {"const": "text"}, "text": {"type": "string"}},
    "required": ["type", "text"],
}
IMAGE = {
    "type": "object",
    "properties": {"type": {"const": "image"}, "url": {"type": "string"}},
    "required": ["type", "url"],
}
TAGGED: dict[str, Any] = {
    "there": {"properties": {"x": {"oneOf": [TEXT, IMAGE]}}},
    "behind references": {
        "properties": {"x": {"anyOf": [{"$ref": "#/$defs/T"}, {"$ref": "#/$defs/I"}]}},
        "$defs": {"T": TEXT, "I": IMAGE},
    },
    "or nothing": {"properties": {"x": {"anyOf": [{"oneOf": [TEXT, IMAGE]}, {"type": "null"}]}}},
    "with a shared base": {
        "properties": {
            "x": {
                "oneOf": [
                    {"allOf": [{"properties": {"n": {"type": "integer"}}}, one]} for one in (TEXT, IMAGE)
                ]
            }
        }
    },
}


@pytest.mark.parametrize("name", TAGGED)
@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"type": "image", "url": 5}, "x.url"),
        ({"type": "image"}, "x.url"),
        ({"type": "sound"}, "x.type"),
        ({"url": "u"}, "x.type"),
    ],
)
def test_problems_are_reported_for_the_member_that_the_tag_selects(name: str, value: Any, path: str) -> None:
    assert [one.partition(":")[0] for one in told(TAGGED[name], {"x": value})] == [path]


def test_a_problem_of_every_member_is_reported_once() -> None:
    choices = [
        {"properties": {"n": {"type": "integer"}, key: {"type": "string"}}, "required": [key]} for key in "ab"
    ]
    assert told({"oneOf": choices}, {"n": "x", "a": "y"}) == ['n: expected integer, received "x"']
    assert told({"oneOf": choices}, {"n": "x"}) == [
        'n: expected integer, received "x"',
        "expected one of the keys a, b, received an object with n",
    ]


@pytest.mark.parametrize("word", ["anyOf", "oneOf"])
def test_one_of_several_keys_is_required(word: str) -> None:
    schema = {word: [{"required": ["a"]}, {"required": ["b", "c"]}]}
    assert told(schema, {}) == ["expected one of the keys a, b and c, received an object with no keys"]


def test_only_one_of_several_keys_is_allowed() -> None:
    schema = {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}
    (problem,) = told(schema, {"a": 1, "b": 1})
    assert "one choice alone, not 2 of them" in problem


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"contains": {"type": "integer"}}, ["x"]),
        ({"contains": {"type": "integer"}, "minContains": 2}, [1]),
        ({"contains": {"type": "integer"}, "maxContains": 1}, [1, 2]),
        ({"not": {"type": "string"}}, "x"),
        ({"not": {"required": ["k"]}}, {"k": 1}),
        ({"allOf": [False]}, 7),
        ({"prefixItems": [{}], "unevaluatedItems": False}, [1, 2]),
        ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, 3),
        ({"type": ["string", "null"]}, 3),
        ({"propertyNames": {"pattern": "^x"}}, {"y": 1}),
    ],
)
def test_every_keyword_has_a_problem(schema: dict[str, Any], value: Any) -> None:
    (text,) = told({"properties": {"a": schema}}, {"a": value})
    assert text.startswith("a")


def test_known_keys_come_from_every_part_of_the_schema() -> None:
    patterned = {"patternProperties": {"^s_": {"type": "string"}}, "additionalProperties": False}
    assert told(patterned, {"zz": 1}) == ["zz: no such key; there is what matches ^s_"]
    both = {**patterned, "properties": {"first": {}}}
    assert told(both, {"zz": 1}) == ["zz: no such key; there are: first, what matches ^s_"]
    unevaluated = {"allOf": [{"properties": {"name": {}}}], "unevaluatedProperties": False}
    assert told(unevaluated, {"nme": 1}) == ["nme: no such key; did you mean 'name'?"]


def properties(count: int, part: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {f"p{number}": part for number in range(count)}}


MUCH: dict[str, Any] = {
    "30 of a wrong type": (properties(30, {"type": "string"}), {f"p{one}": one for one in range(30)}, 30),
    "12 patterns that look ahead": (
        {**properties(12, {"pattern": "^(?=.*[0-9]).{8}$"}), "required": ["q"]},
        {f"p{one}": "short" for one in range(12)},
        13,
    ),
    "500 tags": (
        {"properties": {"tags": {"items": {"type": "string", "pattern": "^[a-z]+$"}}}},
        {"tags": ["A"] * 30 + ["a"] * 470},
        30,
    ),
    "110 items with a large enum": (
        {
            "properties": {
                "items": {"items": {"properties": {"unit": {"enum": [f"u{n}" for n in range(170)]}}}}
            }
        },
        {"items": [{"unit": "x", "name": "Item", "count": 3}] * 40 + [{"unit": "u1"}] * 70},
        40,
    ),
}


@pytest.mark.parametrize("name", MUCH)
def test_all_problems_of_a_moderate_value_are_reported(name: str) -> None:
    schema, value, count = MUCH[name]
    assert len(told(schema, value)) == count
