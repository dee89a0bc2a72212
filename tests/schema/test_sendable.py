"""Arguments that are no JSON."""

from __future__ import annotations

import collections
import decimal
import enum
import math
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from halflap.core.values import Tool
from halflap.schema import parse_schema
from support import little_work

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "string"}, "arr": {"type": "array"}, "any": {}},
}
WRONG = "a: expected string, received 5"


def told(arguments: Any, schema: dict[str, Any] = SCHEMA) -> list[str]:
    with little_work():
        problems = parse_schema(Tool("t", "s", "t", "", schema)).validate_arguments(arguments)
    return [str(problem) for problem in problems]


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ({"arr": {1, 2}}, "arr"),
        ({"any": [b"x"]}, "any[0]"),
        ({"any": decimal.Decimal(1)}, "any"),
        ({"any": "\ud800"}, "any"),
        ({"any": {"\ud800": 1}}, 'any["\\ud800"]'),
        ({1: 2}, '["1"]'),
        ({"any": {None: 2}}, "any.null"),
        ({"any": math.nan}, "any"),
        ({"any": 10**5_000}, "any"),
    ],
)
def test_a_value_that_is_no_json_is_reported_with_its_path(arguments: dict[Any, Any], path: str) -> None:
    (problem,) = told({**arguments, "a": 5})
    assert problem.startswith(f"{path}: ")


class Word(str):
    __slots__ = ()


class Kind(str, enum.Enum):  # noqa: UP042 -- written as many write it
    A = "a"


class Number(enum.IntEnum):
    B = 1


class Pair(NamedTuple):
    x: int
    y: int


def test_values_are_validated_as_they_are_serialised() -> None:
    for value in (
        Word("x"),
        Kind.A,
        (1, 2),
        Pair(1, 2),
        collections.OrderedDict(b=1),
        Number.B,
    ):
        assert told({"any": value}) == []
        assert told({"any": value, "a": 5}) == [WRONG]
    assert told({"a": Word("x")}, {"properties": {"a": {"const": "x"}}}) == []
    assert told({Word("a"): 5}) == [WRONG]


def test_arguments_may_be_any_mapping() -> None:
    assert told(MappingProxyType({"a": 5})) == [WRONG]


@pytest.mark.parametrize("arguments", [None, [1], "x"])
def test_arguments_that_are_no_mapping_are_reported(arguments: Any) -> None:
    assert len(told(arguments)) == 1


def test_a_circular_value_is_reported() -> None:
    circle: dict[str, Any] = {"a": 5}
    circle["any"] = [circle]
    (problem,) = told(circle)
    assert problem.startswith("any: ")


def test_a_value_that_expands_exponentially_is_too_large() -> None:
    shared: list[Any] = []
    for _ in range(40):
        shared = [shared, shared]
    assert len(told({"any": shared})) == 1
    text = "x" * 1_000_000
    assert len(told({"any": [text] * 100})) == 1


def test_nesting_that_is_too_deep_is_reported_at_its_argument() -> None:
    deep: list[Any] = []
    for _ in range(200):
        deep = [deep, deep]
    (problem,) = told({"any": deep, "a": 5})
    assert problem.startswith("any: ")
