"""Shapes as JSON."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halflap.core.errors import HalflapError, ShapeError, ShapeTooNewError
from halflap.learn import (
    NOTHING,
    Learned,
    Observations,
    confidence,
    from_json,
    infer,
    merge,
    schema_of,
    to_json,
)
from learn.anything import ANYTHING, OBSERVED

RICH = infer(
    [{"type": "a", "b": [1, "2024-01-01"], "c_12345": {"d": None}}, {"type": "b"}, {"e": True}], [1, 2, 3]
)


@given(OBSERVED)
def test_shapes_round_trip_and_equal_ones_have_equal_json(observed: list[tuple[Any, int]]) -> None:
    shape = infer(*zip(*observed, strict=True), keep_values=True) if observed else NOTHING
    written = json.dumps(to_json(shape))
    assert from_json(json.loads(written)) == shape
    other = merge(*(infer([value], [digest], keep_values=True) for value, digest in reversed(observed)))
    assert json.dumps(to_json(other)) == written


def test_a_newer_version_is_refused() -> None:
    with pytest.raises(ShapeTooNewError, match="Update Halflap"):
        from_json({**to_json(RICH), "version": 2})


@pytest.mark.parametrize("data", [None, [], {}, {"version": "1"}, {"version": 1}, {"version": True}, 5])
def test_other_json_is_refused(data: Any) -> None:
    with pytest.raises(ShapeError):
        from_json(data)


def test_keys_and_tags_that_are_data_are_dropped_on_reading() -> None:
    value = {"type": "aa", "bb": {"count": 1}, "cc": "x", "12": 2}
    text = json.dumps(to_json(infer([value, {"cc": "y"}], [1, 2])))
    older = (
        text.replace('"aa"', '"usr_ab1234"')
        .replace('"bb"', '"cus_NffrFeUfNV2Hib"')
        .replace('"cc"', '"user_42424"')
    )
    shape = from_json(json.loads(older))
    written = json.dumps([to_json(shape), schema_of(shape)])
    assert not any(data in written for data in ("cus_", "user_42424"))
    (record,) = shape.root.records.values()
    assert record.seen.times == 2
    assert record.keys.keys() == {"type"}
    assert record.rest is not None
    assert record.rest.count == 4
    assert from_json(json.loads(json.dumps(to_json(shape)))) == shape


def spots(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [path, *(spot for key, value in inner for spot in spots(value, (*path, key)))]


@given(
    st.sampled_from(spots(to_json(RICH))[1:]), st.one_of(ANYTHING, st.just(-1), st.just("zz"), st.just([[]]))
)
def test_damage_is_refused_or_harmless(path: tuple[Any, ...], other: Any) -> None:
    data = copy.deepcopy(to_json(RICH))
    holder: Any = data
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = other
    try:
        shape = from_json(data)
    except HalflapError:
        return
    schema_of(merge(shape, RICH))
    confidence(shape)


def test_impossible_nesting_is_refused() -> None:
    data = to_json(infer([1]))
    place = data["root"]
    for _ in range(100):
        place["items"] = {"kinds": {"array": 1}}
        place = place["items"]
    with pytest.raises(ShapeError):
        from_json(data)


def test_results_are_learned_in_batches_and_errors_are_counted() -> None:
    results: list[tuple[Any, bool]] = [
        ({"a": 1}, False),
        ("done", False),
        ("Error: no", True),
        ({"e": 1}, True),
    ]
    observations: Observations[str] = Observations(values=False, most_bytes=150)
    for value, is_error in results:
        observations.add("tool", value, 0, None, is_error=is_error, size=100)
    learned = observations.learned()["tool"]
    assert learned == Learned(infer([{"a": 1}, "done"]), errors=2)
    assert (learned.observations, learned.texts) == (4, 1)
    assert Learned.from_json(json.loads(json.dumps(learned.to_json()))) == learned
    damaged: Any
    for damaged in ([], {**learned.to_json(), "errors": "2"}, {"results": {}}):
        with pytest.raises(ShapeError):
            Learned.from_json(damaged)
