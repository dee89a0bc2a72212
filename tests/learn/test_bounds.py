"""Results made to be expensive: time, memory and the shape itself stay bounded."""

from __future__ import annotations

import string
import sys
import tracemalloc
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halflap.learn import Shape, infer, schema_of
from learn.anything import ODD

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = ["".join(letters) for letters in product(string.ascii_lowercase, repeat=2)]
BYTES_OF_A_PLACE = 3_000
"""More than one takes, both while it grows and in the shape that is made of it."""


def nested(width: int, depth: int) -> Any:
    return {name: nested(width, depth - 1) for name in NAMES[:width]} if depth else 1


def of_kinds(depth: int) -> Any:
    """Make objects of many kinds, each with objects of many kinds."""
    if not depth:
        return 1
    return [{"type": f"kind_{name}", f"of_{name}": of_kinds(depth - 1)} for name in NAMES[:14]]


HOSTILE: dict[str, Callable[[], Any]] = {
    "wide and deep": lambda: nested(36, 3),
    "names that never repeat": lambda: [
        {first: {second: {first: 1}}} for first in NAMES[:90] for second in NAMES[95:300]
    ],
    "crowds of crowds": lambda: [nested(8, 4), {name: nested(8, 3) for name in NAMES[:300]}] * 2,
    "variants of variants": lambda: of_kinds(4),
}
WIDE = dict.fromkeys(NAMES[:96], 1)
ITEMS: dict[str, Callable[[int], Any]] = {
    "empty objects": lambda count: [WIDE, *({} for _ in range(count))],
    "pairs of names": lambda count: [
        WIDE, *({NAMES[at % 96]: 1, NAMES[at // 96 % 96]: 1} for at in range(count))
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


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_result_takes_bounded_memory_and_its_shape_says_what_was_cut(
    name: str, few_places: int
) -> None:
    value = HOSTILE[name]()
    assert peak_of(value) < few_places * BYTES_OF_A_PLACE
    shape = infer([value])
    assert few_places / 100 < places(shape.root) <= few_places
    assert 0 < shape.depth < 32
    assert deepest_are_cut(shape)


def peak_of(value: Any) -> int:
    """Return the most memory in use at once while a value was observed, beyond the value itself."""
    tracemalloc.start()
    try:
        infer([value])
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def places(place: Any) -> int:
    return 1 + sum(map(places, place.below()))


def deepest_are_cut(shape: Shape) -> bool:
    here = [shape.root]
    for _ in range(shape.depth):
        here = [inner for place in here for inner in place.below()]
    return any(place.cut for place in here) and not any(place.records or place.items for place in here)


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
