"""Results made to be expensive: time, memory and the shape itself stay bounded."""

from __future__ import annotations

import string
import sys
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halflap.learn import infer, schema_of
from learn.anything import ODD

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = ["".join(letters) for letters in product(string.ascii_lowercase, repeat=2)]
"""More names than one record keeps."""


WIDE = dict.fromkeys(NAMES[:256], 1)
ITEMS: dict[str, Callable[[int], Any]] = {
    "empty objects": lambda count: [WIDE, *({} for _ in range(count))],
    "pairs of names": lambda count: [
        WIDE, *({NAMES[at % 256]: 1, NAMES[at // 256 % 256]: 1} for at in range(count))
    ],
    "maps": lambda count: [WIDE, *({f"id_{at + 10**6}": 1} for at in range(count))],
    "tags and values": lambda count: [{"type": f"word_{NAMES[at % 600]}", "a": [1]} for at in range(count)],
}  # fmt: skip


def work(value: Any) -> int:
    """Count the calls and returns, of Python and of C, that observing takes."""
    calls = 0

    def count(*_: Any) -> None:
        nonlocal calls
        calls += 1

    sys.setprofile(count)
    try:
        infer([value])
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize("name", ITEMS)
def test_the_work_for_hostile_items_is_linear_and_moderate(name: str) -> None:
    few, many = (work(ITEMS[name](count)) for count in (10_000, 20_000))
    assert many - few < 10_000 * 60
    assert many < 2.2 * few + 5_000


def test_very_deep_values_are_cut() -> None:
    value: Any = 1
    for depth in range(sys.getrecursionlimit() * 5):
        value = {"a": value} if depth % 2 else [value]
    schema: Any = schema_of(infer([value, value]))
    for _ in range(16):
        schema = schema["properties"]["a"]["items"]
    assert schema["x-halflap"]["cut"] == ["depth"]
    assert "properties" not in schema


@given(
    st.recursive(
        ODD, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.integers(), inner, max_size=3)
    )
)
def test_values_that_json_does_not_have_can_be_observed(value: Any) -> None:
    assert schema_of(infer([value, value], [1, 2]))["x-halflap"]["observations"] == 2
