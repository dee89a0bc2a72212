"""Arguments that are not JSON."""

from __future__ import annotations

import decimal
import math
from types import MappingProxyType
from typing import Any

import pytest

from halflap.core.values import Tool
from halflap.schema import parse_schema
from support import little_work

SCHEMA: dict[str, Any] = {"properties": {"a": {"type": "string"}, "any": {}}}
WRONG = "a: expected string, received 5"


def problems(arguments: Any) -> list[str]:
    with little_work():
        found = parse_schema(Tool("t", "s", "t", "", SCHEMA)).validate_arguments(arguments)
    return [str(problem) for problem in found]


def circle() -> list[Any]:
    made: list[Any] = []
    made.append(made)
    return made


def deep() -> list[Any]:
    made: list[Any] = []
    for _ in range(10_000):
        made = [made]
    return made


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({1, 2}, "any"),
        ([b"x"], "any[0]"),
        (decimal.Decimal(1), "any"),
        ("\ud800", "any"),
        ({"\ud800": 1}, 'any["\\ud800"]'),
        ({(1, 2): 2}, 'any["(1, 2)"]'),
        ([{"b": math.nan}], "any[0].b"),
        (-math.inf, "any"),
        pytest.param(10**5_000, "any", id="too many digits"),
        pytest.param(circle(), "any", id="circle"),
        pytest.param(deep(), "any", id="too deep"),
    ],
)
def test_a_value_that_is_not_json_is_reported_with_its_path(value: Any, path: str) -> None:
    (problem,) = problems({"any": value, "a": 5})
    assert problem.startswith(f"{path}: expected a JSON value, ")


def test_arguments_may_be_any_mapping_and_nothing_else() -> None:
    assert problems(MappingProxyType({"a": 5})) == [WRONG]
    for arguments in (None, [1], "x"):
        assert len(problems(arguments)) == 1
