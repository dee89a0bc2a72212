"""Memory bounds of learning from hostile results."""

from __future__ import annotations

import string
import tracemalloc
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from halflap.learn import Observer, Shape, infer, merge
from learn.test_infer import places
from support import examples

if TYPE_CHECKING:
    import random

pytestmark = pytest.mark.slow

NAMES = ["".join(letters) for letters in product(string.ascii_lowercase, repeat=2)]
BYTES_OF_A_PLACE = 3_000
"""More than one takes, both while it grows and in the shape that is made of it."""
LAWS = settings(
    max_examples=examples(150),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def nested(width: int, depth: int) -> Any:
    return {name: nested(width, depth - 1) for name in NAMES[:width]} if depth else 1


def of_kinds(depth: int) -> Any:
    """Make objects of many kinds, each with objects of many kinds."""
    if not depth:
        return 1
    return [{"type": f"kind_{name}", f"of_{name}": of_kinds(depth - 1)} for name in NAMES[:14]]


HOSTILE: dict[str, Any] = {
    "wide and deep": nested(36, 3),
    "names that never repeat": [
        {first: {second: {first: 1}}} for first in NAMES[:90] for second in NAMES[95:300]
    ],
    "crowds of crowds": [nested(8, 4), {name: nested(8, 3) for name in NAMES[:300]}] * 2,
    "variants of variants": of_kinds(4),
}


def peak_of(value: Any) -> int:
    """Give the most memory that was in use at once while a value was observed, beyond the value itself."""
    tracemalloc.start()
    try:
        infer([value])
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_result_takes_bounded_memory(name: str, few_places: int) -> None:
    assert peak_of(HOSTILE[name]) < few_places * BYTES_OF_A_PLACE


@pytest.mark.parametrize("item", [{}, [], "x", 1])
def test_a_long_array_takes_no_memory_beside_its_shape(item: Any) -> None:
    assert peak_of([item] * 300_000) < 4_000_000


@pytest.mark.parametrize("name", HOSTILE)
def test_what_was_cut_is_marked_and_the_rest_is_kept(name: str, few_places: int) -> None:
    shape = infer([HOSTILE[name]])
    assert few_places / 100 < places(shape.root) <= few_places
    assert 0 < shape.depth < 32
    assert deepest_are_cut(shape)


def deepest_are_cut(shape: Shape) -> bool:
    level, here = 0, [shape.root]
    while level < shape.depth:
        below = [place.items for place in here if place.items is not None]
        for record in (record for place in here for record in place.records.values()):
            below += [key.place for key in record.keys.values()]
            below += [] if record.rest is None else [record.rest]
        level, here = level + 1, below
    return any(place.cut for place in here) and not any(place.records or place.items for place in here)


TREES: st.SearchStrategy[Any] = st.recursive(
    st.sampled_from([1, "x", {}, []]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from([*NAMES[:9], "id_12345", "7", "type", "kind"]),
            st.one_of(inner, st.sampled_from(["red", "blue", "green", True])),
            max_size=7,
        ),
    ),
    max_leaves=40,
)
OBSERVED = st.lists(st.tuples(TREES, st.integers(0, 2)), min_size=1, max_size=4)


def assert_order_and_grouping_do_not_matter(observed: list[tuple[Any, int]], chance: random.Random) -> None:
    whole = infer(*zip(*observed, strict=True))
    shapes = [infer([value], [digest]) for value, digest in observed]
    chance.shuffle(shapes)
    while len(shapes) > 1:
        one, other = (shapes.pop(chance.randrange(len(shapes))) for _ in range(2))
        shapes.append(merge(one, other))
    assert shapes == [whole]


@pytest.mark.usefixtures("small_bounds")
@LAWS
@given(OBSERVED, st.randoms(use_true_random=False))
def test_cutting_does_not_depend_on_order(observed: list[tuple[Any, int]], chance: random.Random) -> None:
    assert_order_and_grouping_do_not_matter(observed, chance)


@pytest.mark.usefixtures("small_bounds")
def test_merged_variants_are_not_counted_twice() -> None:
    values: list[Any] = [
        {"type": "x", "a": {"q": 1}},
        {"type": "y", "b": {"q": 1}},
        {"type": "z"},
        {"c": 1, "d": 1, "e": 1, "f": 1},
    ]
    shape = infer(values)
    assert shape == merge(*(infer([value]) for value in values))
    assert shape.depth == 32


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("small_bounds")
@settings(LAWS, max_examples=examples(4_000))
@given(OBSERVED, st.randoms(use_true_random=False))
def test_cutting_in_thousands_of_cases(observed: list[tuple[Any, int]], chance: random.Random) -> None:
    assert_order_and_grouping_do_not_matter(observed, chance)


def test_more_can_be_observed_after_a_cut(few_places: int) -> None:
    watching = Observer()
    watching.observe(nested(36, 3), 1)
    before = watching.shape()
    watching.observe({"aa": {"zz": {"new": 1}}, "new": "x"}, 2)
    assert watching.shape() == merge(before, infer([{"aa": {"zz": {"new": 1}}, "new": "x"}], [2]))
    assert before.depth <= 2
    assert places(before.root) <= few_places
