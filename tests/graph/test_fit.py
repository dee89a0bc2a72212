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
        ({"enum": ["b", "c"]}, {"enum": ["a", "b"]}),
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
