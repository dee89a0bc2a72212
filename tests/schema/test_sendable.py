"""What is not JSON is told as such, and hides nothing of what else is wrong."""

from __future__ import annotations

import collections
import decimal
import enum
import math
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from halflap.schema import parse_schema
from halflap.values import Tool
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
    ("arguments", "problem"),
    [
        ({"arr": {1, 2}}, "arr: expected a JSON value, received a value of the Python type set, which is not JSON"),
        ({"any": [b"x"]}, "any[0]: expected a JSON value, received a value of the Python type bytes, which is not JSON"),
        ({"any": decimal.Decimal(1)}, "any: expected a JSON value, received a value of the Python type Decimal, which is not JSON"),
        ({"any": "\ud800"}, 'any: expected text that can be sent, received "\\ud800", which is not JSON: it has half of a letter'),
        ({"any": {"\ud800": 1}}, 'any["\\ud800"]: expected text that can be sent, received "\\ud800", which is not JSON: it has half of a letter'),
        ({1: 2}, '["1"]: expected a key that is text, received 1'),
        ({"any": {None: 2}}, "any.null: expected a key that is text, received null"),
        ({"any": math.nan}, "any: expected a number, received NaN, which is not JSON"),
        ({"any": 10**5_000}, "any: expected fewer digits, received a number with more than can be written"),
    ],
)  # fmt: skip
def test_what_is_not_json_is_told_with_its_place_and_hides_nothing(
    arguments: dict[Any, Any], problem: str
) -> None:
    assert told(arguments) == [problem]
    assert told({**arguments, "a": 5}) == [WRONG, problem]


class Word(str):
    __slots__ = ()


class Kind(str, enum.Enum):  # noqa: UP042 -- written as many write it
    A = "a"


class Number(enum.IntEnum):
    B = 1


class Pair(NamedTuple):
    x: int
    y: int


def test_what_json_can_write_is_checked_as_what_it_is_written_as() -> None:
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


@pytest.mark.parametrize(("arguments", "shown"), [(None, "null"), ([1], "an array of 1"), ("x", '"x"')])
def test_what_are_no_arguments_is_told(arguments: Any, shown: str) -> None:
    assert told(arguments) == [f"expected an object with the arguments, received {shown}"]


def test_what_contains_itself_is_told_so() -> None:
    circle: dict[str, Any] = {"a": 5}
    circle["any"] = [circle]
    assert told(circle) == [WRONG, "any[0]: expected a JSON value, received one that contains itself"]


def test_what_contains_one_part_very_many_times_is_too_large() -> None:
    shared: list[Any] = []
    for _ in range(40):
        shared = [shared, shared]
    assert told({"any": shared}) == ["expected at most 64 MB, received more than that, written out"]
    text = "x" * 1_000_000
    assert told({"any": [text] * 100}) == ["expected at most 64 MB, received more than that, written out"]


def test_what_contains_one_wrong_part_very_many_times_is_told_within_bounds() -> None:
    shared: list[Any] = [{1}]
    for _ in range(40):
        shared = [shared, shared]
    problems = told({"any": shared})
    assert len(problems) == 51
    assert problems[-1] == "there may be more"


def test_what_is_nested_too_deep_is_told_at_the_argument_that_it_is_in() -> None:
    deep: list[Any] = []
    for _ in range(200):
        deep = [deep, deep]
    assert told({"any": deep, "a": 5})[0] == "any: expected at most 100 levels, received more, one in another"
    shallow: list[Any] = []
    for _ in range(60):
        shallow = [shallow]
    twice: Any = shallow
    for _ in range(60):
        twice = [twice]
    assert told({"any": twice, "arr": shallow, "a": 5}) == [
        WRONG,
        "any: expected at most 100 levels, received more, one in another",
    ]


def test_a_problem_is_not_told_of_what_only_stands_for_what_cannot_be_sent() -> None:
    schema = {"properties": {"x": {"anyOf": [{"required": ["y"], "properties": {"y": {"type": "string"}}}]}}}
    assert len(told({"x": {"y": {1}}}, schema)) == 1
    assert (
        len(told({"x": {"y": b"1"}}, {"properties": {"x": {"not": {"properties": {"y": {"type": "null"}}}}}}))
        == 1
    )
