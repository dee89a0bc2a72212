"""The cost of regular expressions."""

from __future__ import annotations

import pytest

from halflap.schema import Validator, compile_or_say
from halflap.schema.patterns import cost_of_pattern, weight_of_pattern
from support import little_work

PLAIN = [
    r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$",
    r"^\d{4}-\d{2}-\d{2}$",
    r"^[A-Za-z0-9_.+-]+@[A-Za-z0-9-]+\.[A-Za-z0-9.-]+$",
    r"^(?:https?|ftp)://\S+$",
    r"^(?!-)[a-z0-9-]{1,63}$",
]
LARGE = [r"(a{100}){90}", r"((a{20}){20}){20}", r"[a-z]{5000}", r"(?=a)\w{10}", r"\p{L}{5}", "ab" * 5_000]


@pytest.mark.parametrize("pattern", PLAIN)
def test_ordinary_patterns_cost_little(pattern: str) -> None:
    assert cost_of_pattern(pattern) < 200
    parts = {f"p{number}": {"type": "string", "pattern": pattern} for number in range(40)}
    assert isinstance(compile_or_say({"properties": parts}), Validator)


@pytest.mark.parametrize("pattern", LARGE)
def test_expanding_patterns_cost_much(pattern: str) -> None:
    assert cost_of_pattern(pattern) > 400


@pytest.mark.parametrize("pattern", LARGE)
def test_accepted_patterns_compile_quickly(pattern: str) -> None:
    count = 10_000 // (cost_of_pattern(f"{pattern}00") + 5)
    schema = {"properties": {f"p{number}": {"pattern": f"{pattern}{number}"} for number in range(count)}}
    with little_work(5):
        compile_or_say(schema)


@pytest.mark.parametrize(
    "pattern", ["", "(", ")", "{", "}", "{3}", "a{,}", "[", "[]", "\\", "a{99999999999}", "(" * 500]
)
def test_invalid_patterns_have_a_cost(pattern: str) -> None:
    assert cost_of_pattern(pattern) >= 20


def test_lookaround_weighs_more() -> None:
    assert weight_of_pattern(r"(?=a)b") == weight_of_pattern(r"(a)\1") > weight_of_pattern(r"(?:a|b)+\d")


@pytest.mark.parametrize("part", ["[", "(", "{", r"\p{", "[\\", "a{9}", "(?="])
def test_unclosed_patterns_are_measured_quickly(part: str) -> None:
    with little_work():
        cost_of_pattern(part * 30_000)
