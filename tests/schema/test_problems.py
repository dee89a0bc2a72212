"""What is wrong is told where it is, in our words, and all of it."""

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
    ("value", "problem"),
    [
        ({"type": "image", "url": 5}, "x.url: expected string, received 5"),
        ({"type": "image"}, "x.url: missing; expected string"),
        ({"type": "sound"}, 'x.type: expected one of "text", "image", received "sound"'),
        ({"url": "u"}, 'x.type: missing; expected "text" | "image"'),
    ],
)
def test_what_is_wrong_is_wrong_in_the_choice_that_the_tag_says(name: str, value: Any, problem: str) -> None:
    assert told(TAGGED[name], {"x": value}) == [problem]


def test_a_value_of_no_choices_kind_is_told_all_kinds() -> None:
    assert told(TAGGED["or nothing"], {"x": 7}) == ["x: expected object or null, received 7"]


def test_an_enum_that_only_one_choice_has_is_no_tag() -> None:
    choices = [
        {"properties": {"mode": {"enum": ["a", "b"]}}, "required": ["mode"]},
        {"properties": {"y": {"type": "string"}}, "required": ["y"]},
    ]
    assert told({"anyOf": choices}, {"mode": "c"}) == [
        'expected mode: one of "a", "b" or the key y, received an object with mode'
    ]


def test_what_is_wrong_in_every_choice_is_told_once() -> None:
    choices = [
        {"properties": {"n": {"type": "integer"}, key: {"type": "string"}}, "required": [key]} for key in "ab"
    ]
    assert told({"oneOf": choices}, {"n": "x", "a": "y"}) == ['n: expected integer, received "x"']
    assert told({"oneOf": choices}, {"n": "x"}) == [
        'n: expected integer, received "x"',
        "expected one of the keys a, b, received an object with n",
    ]


@pytest.mark.parametrize("word", ["anyOf", "oneOf"])
def test_of_several_keys_it_is_told_that_one_is_needed(word: str) -> None:
    schema = {word: [{"required": ["a"]}, {"required": ["b", "c"]}]}
    assert told(schema, {}) == ["expected one of the keys a, b and c, received an object with no keys"]


def test_of_several_keys_it_is_told_that_only_one_may_be_there() -> None:
    schema = {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}
    assert told(schema, {"a": 1, "b": 1}) == [
        "expected only one of the keys a, b, received an object with a, b"
    ]


@pytest.mark.parametrize(
    ("schema", "value", "problem"),
    [
        ({"contains": {"type": "integer"}}, ["x"], "at least 1 of its items to be integer"),
        ({"contains": {"type": "integer"}, "minContains": 2}, [1], "at least 2 of its items to be integer"),
        ({"contains": {"type": "integer"}, "maxContains": 1}, [1, 2], "at most 1 of its items to be integer"),
        ({"not": {"type": "string"}}, "x", "anything but string"),
        ({"not": {"required": ["k"]}}, {"k": 1}, "anything but {k: any}"),
        ({"not": {"minimum": 5}}, 7, 'anything but {"minimum": 5}'),
        ({"allOf": [False]}, 7, "nothing here"),
        ({"prefixItems": [{}], "unevaluatedItems": False}, [1, 2], "no further items"),
        (
            {"oneOf": [{"type": "integer"}, {"type": "number"}]},
            3,
            "what fits one choice alone, not 2 of them: integer, number",
        ),
        ({"type": ["string", "null"]}, 3, "string | null"),
        ({"type": ["null", "string", "integer"]}, [], "string | integer | null"),
        ({"propertyNames": {"pattern": "^x"}}, {"y": 1}, "a key that is text that matches ^x"),
    ],
)
def test_every_keyword_is_told_in_our_words(schema: dict[str, Any], value: Any, problem: str) -> None:
    (text,) = told({"properties": {"a": schema}}, {"a": value})
    assert text.partition(": ")[2].startswith(f"expected {problem}, received ")


def test_what_is_missing_is_told_with_what_is_said_of_it_elsewhere() -> None:
    schema = {
        "properties": {"k": {"type": "string"}},
        "allOf": [{"properties": {"z": {"type": "integer"}}}],
        "if": {"properties": {"k": {"const": "a"}}, "required": ["k"]},
        "then": {"required": ["z"]},
    }
    assert told(schema, {"k": "a"}) == ["z: missing; expected integer"]
    within = {"properties": {"o": {"$ref": "#/$defs/o"}}, "$defs": {"o": schema}}
    assert told(within, {"o": {"k": "a"}}) == ["o.z: missing; expected integer"]


def test_the_keys_that_there_are_come_from_wherever_they_are_said() -> None:
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
def test_all_problems_are_told_of_what_is_not_very_large(name: str) -> None:
    schema, value, count = MUCH[name]
    assert len(told(schema, value)) == count
