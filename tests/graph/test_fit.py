from __future__ import annotations

from typing import Any

import pytest

from halflap.graph.fit import conflict, form_of
from halflap.schema.types import read_type

STRING = {"type": "string"}
INTEGER = {"type": "integer"}


def fits(given: dict[str, Any], asked: dict[str, Any]) -> bool:
    return not conflict(form_of(read_type(given)), form_of(read_type(asked)))


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        (INTEGER, {"type": "number"}),
        (STRING, STRING),
        (STRING, {}),
        ({}, STRING),
        ({"type": ["string", "null"]}, STRING),
        ({"type": ["string", "integer"]}, INTEGER),
        (STRING, {"type": ["integer", "string"]}),
        (STRING, {"type": "string", "format": "uuid"}),
        ({"type": "string", "format": "uuid"}, STRING),
        ({"type": "string", "format": "uri"}, {"type": "string", "format": "url"}),
        (STRING, {"enum": ["a", "b"]}),
        ({"enum": ["a", "b"]}, {"enum": ["a", "b", "c"]}),
        ({"const": "a"}, {"type": "string", "enum": ["a"]}),
        ({"enum": [1, 2]}, {"type": "number"}),
        ({"enum": ["2024-01-01"]}, {"type": "string", "format": "date"}),
        ({"type": "object"}, {"type": "object"}),
        (
            {"type": "object", "properties": {"a": STRING, "b": INTEGER}},
            {"type": "object", "properties": {"a": STRING}, "required": ["a"]},
        ),
    ],
)
def test_values_that_can_go(given: dict[str, Any], asked: dict[str, Any]) -> None:
    assert fits(given, asked)


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ({"type": "number"}, INTEGER),
        (INTEGER, STRING),
        (STRING, INTEGER),
        ({"type": "object"}, STRING),
        (STRING, {"type": "object"}),
        ({"type": "boolean"}, INTEGER),
        ({"type": "null"}, STRING),
        ({"type": "string", "format": "date"}, {"type": "string", "format": "date-time"}),
        ({"type": "string", "format": "email"}, {"type": "string", "format": "uuid"}),
        ({"enum": ["a", "b"]}, {"enum": ["c"]}),
        ({"enum": [1]}, {"enum": ["1"]}),
        (INTEGER, {"enum": ["a"]}),
        ({"type": "string", "format": "date"}, {"enum": ["open", "closed"]}),
        ({"enum": ["open"]}, {"type": "string", "format": "date"}),
        ({"enum": [True]}, {"enum": [1]}),
        (
            {"type": "object", "properties": {"a": STRING}},
            {"type": "object", "properties": {"b": STRING}, "required": ["b"]},
        ),
        (
            {"type": "object", "properties": {"a": STRING}},
            {"type": "object", "properties": {"a": INTEGER}},
        ),
        (
            {"type": "object", "properties": {"a": STRING, "z": STRING}},
            {"type": "object", "properties": {"a": STRING}, "additionalProperties": False},
        ),
        (
            {"type": "object", "additionalProperties": STRING},
            {"type": "object", "properties": {"a": STRING}, "required": ["a"]},
        ),
    ],
)
def test_values_that_cannot(given: dict[str, Any], asked: dict[str, Any]) -> None:
    assert not fits(given, asked)


def text(**said: Any) -> dict[str, Any]:
    return {"type": "string", **said}


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        (text(minLength=20), text(maxLength=10)),
        (text(maxLength=3), text(minLength=5)),
        (text(format="uuid"), text(maxLength=20)),
        (text(maxLength=8), text(format="uuid")),
        (text(minLength=60), text(format="uuid")),
        (text(format="date"), text(minLength=12)),
        ({"enum": ["open", "closed"]}, text(maxLength=3)),
        ({"enum": ["open", "closed"]}, text(pattern="^[A-Z]{3}$")),
        ({"anyOf": [text(minLength=20), {"type": "null"}]}, text(maxLength=10)),
    ],
)
def test_what_is_known_to_be_too_long_too_short_or_of_other_letters_does_not_fit(
    given: Any, asked: Any
) -> None:
    assert not fits(given, asked)


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        (STRING, text(maxLength=3, pattern="^[A-Z]{3}$")),
        (text(maxLength=40), text(maxLength=3)),
        (text(format="uuid"), text(maxLength=36)),
        (text(pattern="^[a-z]+$"), text(pattern="^[A-Z]+$")),
        ({"enum": ["open", "USD"]}, text(pattern="^[A-Z]{3}$")),
        ({"enum": ["open"]}, text(pattern="(")),
        ({"anyOf": [text(minLength=20), text(maxLength=2)]}, text(maxLength=10)),
        ({"type": ["string", "integer"], "minLength": 20}, {"type": ["string", "integer"], "maxLength": 3}),
        (text(minLength="20"), text(maxLength=-1)),
    ],
)
def test_what_is_not_known_is_no_obstacle(given: Any, asked: Any) -> None:
    assert fits(given, asked)


def test_a_pattern_that_would_run_for_ever_is_given_up() -> None:
    assert fits({"enum": ["a" * 200 + "b"] * 2}, text(pattern="^(a|a|aa)+(?=$)$"))
