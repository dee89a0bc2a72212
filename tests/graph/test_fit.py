from __future__ import annotations

from typing import Any

import pytest

from halflap.graph.types import conflict, form_of
from halflap.schema import read_type

STRING = {"type": "string"}
INTEGER = {"type": "integer"}


def fits(given: dict[str, Any], asked: dict[str, Any]) -> bool:
    return not conflict(form_of(read_type(given)), form_of(read_type(asked)))


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        (INTEGER, {"type": "number"}),
        ({}, STRING),
        ({"type": ["string", "null"]}, STRING),
        (STRING, {"type": ["integer", "string"]}),
        (STRING, {"type": "string", "format": "uuid"}),
        ({"type": "string", "format": "uuid"}, STRING),
        ({"type": "string", "format": "uri"}, {"type": "string", "format": "url"}),
        (STRING, {"enum": ["a", "b"]}),
        ({"enum": ["a", "b"]}, {"enum": ["a", "b", "c"]}),
        ({"enum": ["2024-01-01"]}, {"type": "string", "format": "date"}),
        (
            {"type": "object", "properties": {"a": STRING, "b": INTEGER}},
            {"type": "object", "properties": {"a": STRING}, "required": ["a"]},
        ),
    ],
)
def test_compatible(given: dict[str, Any], asked: dict[str, Any]) -> None:
    assert fits(given, asked)


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ({"type": "number"}, INTEGER),
        (INTEGER, STRING),
        ({"type": "object"}, STRING),
        ({"type": "boolean"}, INTEGER),
        ({"type": "null"}, STRING),
        ({"type": "string", "format": "date"}, {"type": "string", "format": "date-time"}),
        ({"type": "string", "format": "email"}, {"type": "string", "format": "uuid"}),
        ({"enum": ["a", "b"]}, {"enum": ["c"]}),
        ({"enum": [1]}, {"enum": ["1"]}),
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
    ],
)
def test_incompatible(given: dict[str, Any], asked: dict[str, Any]) -> None:
    assert not fits(given, asked)
