"""Regular expressions in schemas: ordinary ones are used, large ones are not compiled."""

from __future__ import annotations

import pytest

from halflap.schema import Validator, try_compile
from support import little_work

ORDINARY = [
    r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$",
    r"^\d{4}-\d{2}-\d{2}$",
    r"^[A-Za-z0-9_.+-]+@[A-Za-z0-9-]+\.[A-Za-z0-9.-]+$",
    r"^(?:https?|ftp)://\S+$",
    r"^(?!-)[a-z0-9-]{1,63}$",
]
LARGE = [r"(a{100}){90}", r"((a{20}){20}){20}", r"[a-z]{5000}", r"(?=a)\w{10}", "ab" * 5_000]


@pytest.mark.parametrize("pattern", ORDINARY)
def test_many_ordinary_patterns_are_compiled(pattern: str) -> None:
    parts = {f"p{number}": {"type": "string", "pattern": pattern} for number in range(40)}
    assert isinstance(try_compile({"properties": parts}), Validator)


@pytest.mark.parametrize("pattern", LARGE)
def test_many_large_patterns_are_refused_quickly(pattern: str) -> None:
    with little_work(5):
        refused = try_compile({"properties": {f"p{n}": {"pattern": f"{pattern}{n}"} for n in range(400)}})
    assert isinstance(refused, str)
    assert isinstance(try_compile({"pattern": pattern}), Validator)
