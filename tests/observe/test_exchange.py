"""Export and import: nothing counts twice, and a damaged file is refused."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import Any

import pytest

from halflap.core.errors import ShapeError, ShapeTooNewError
from halflap.gateway import Gateway
from halflap.graph.lineage import Count, Flow, Lineage
from halflap.learn import Learned, infer
from halflap.observe import Imported, exported, read_export
from halflap.store import StoredShape, ToolKey

HERE, THERE = "a" * 32, "b" * 32
KEY = ToolKey("one", "t", "hash")
LEARNED = Learned(infer([{"a": 1, "b": "x"}, {"a": 2}], [1, 2]))
ROW = StoredShape(*KEY, "live", LEARNED)


def test_an_export_is_read_as_it_was_written() -> None:
    data = exported([ROW, replace(ROW, definition_hash="", origin="logs")], THERE, None)
    found = read_export(data, HERE)
    assert found.own == 0
    assert sorted(key for shapes in found.shapes.values() for key in shapes) == [
        ToolKey("one", "t", ""),
        KEY,
    ]
    assert all(one == LEARNED for shapes in found.shapes.values() for one in shapes.values())


def test_local_origins_are_not_exported() -> None:
    data = exported([replace(ROW, origin="backfill:secret/place")], THERE, None)
    assert "secret" not in str(data)


def test_an_export_that_returns_to_its_origin_adds_nothing() -> None:
    first = exported([ROW], HERE, None)
    ((origin, shapes),) = read_export(first, THERE).shapes.items()
    again = exported([StoredShape(*key, origin, one) for key, one in shapes.items()], THERE, None)
    assert again["learned"] == first["learned"]
    assert read_export(again, HERE) == Imported({}, 1, {})


FLOWS = Lineage({Flow(KEY, "a", ToolKey("two", "u", ""), "b[]"): Count(3, 2)})


def test_lineage_is_exported_and_adds_nothing_at_its_origin() -> None:
    data = json.loads(json.dumps(exported([], THERE, None, {"live": FLOWS})))
    found = read_export(data, HERE)
    ((origin, lineage),) = found.lineage.items()
    assert lineage == FLOWS
    again = exported([], HERE, None, {origin: lineage})
    assert again["lineage"] == data["lineage"]
    assert read_export(again, THERE) == Imported({}, 1, {})


def flows_of(*rows: Any) -> list[Any]:
    return [{"origin": f"{THERE}/{'0' * 16}", "flows": [*rows]}]


ONE, TWO = ["s", "a", ""], ["s", "b", ""]


@pytest.mark.parametrize(
    "wrong",
    [
        7,
        [{"origin": "x", "flows": []}],
        flows_of() * 2,
        flows_of([["s", "a"], "x", TWO, "y", 1, 1]),
        flows_of([ONE, "x" * 2_000, TWO, "y", 1, 1]),
        flows_of([ONE, "x", TWO, "y", 1]),
        flows_of([ONE, "x", TWO, "y", 1, 2]),
        flows_of([ONE, "x", TWO, "y", 0, 0]),
        flows_of([ONE, "x", TWO, "y", 10**400, 1]),
        flows_of([ONE, "x", TWO, "y", True, 1]),
        flows_of(*[[ONE, "x", TWO, "y", 1, 1]] * 2),
    ],
)
def test_damaged_lineage_is_refused(wrong: Any) -> None:
    data = {**exported([ROW], THERE, None), "lineage": wrong}
    with pytest.raises(ShapeError):
        read_export(data, HERE)


async def test_importing_twice_counts_once() -> None:

    async with Gateway.open({}) as gateway:
        for _ in range(2):
            await gateway.learned.import_from(exported([ROW], HERE, None))
        (row,) = await gateway.learned.rows()
        assert row.learned == LEARNED
        more = Learned(infer([{"a": 1}] * 3, [1, 2, 3]))
        await gateway.learned.import_from(exported([replace(ROW, learned=more)], HERE, None))
        (row,) = await gateway.learned.rows()
        assert row.learned == more
        data = await gateway.learned.export()
        assert (await gateway.learned.import_from(data)).own == 0
        assert [one["origin"][:32] for one in data["learned"]] == [HERE]


def _with(**changes: Any) -> dict[str, Any]:
    data = copy.deepcopy(exported([ROW], THERE, None))
    data["learned"][0] |= changes
    return data


def _with_counts(count: Any) -> dict[str, Any]:
    shapes = copy.deepcopy(LEARNED.to_json())
    shapes["results"]["root"]["records"][0]["keys"]["a"][0]["kinds"]["integer"] = count
    return _with(shapes=shapes)


GOOD = exported([ROW], THERE, None)


@pytest.mark.parametrize(
    "data",
    [
        None,
        {**GOOD, "format": "other"},
        {**GOOD, "learned": [7]},
        {**GOOD, "learned": [GOOD["learned"][0]] * 2},
        _with(origin="../x"),
        _with(tool="x" * 2_000),
        _with(shapes={"results": {"version": 1, "root": {}}}),
        _with_counts(-1),
        _with_counts(10**400),
    ],
)
def test_a_damaged_file_is_refused(data: Any) -> None:
    with pytest.raises(ShapeError):
        read_export(data, HERE)


def test_hostile_names_are_escaped_in_the_error() -> None:
    with pytest.raises(ShapeError) as refused:
        read_export(_with(shapes=[], server="x\n", tool="one\x1b[31m"), HERE)
    assert str(refused.value).isprintable()


def test_an_export_of_a_newer_version_is_refused() -> None:
    newer = {**LEARNED.to_json(), "results": {**LEARNED.to_json()["results"], "version": 99}}
    for data in ({**GOOD, "version": 99}, _with(shapes=newer)):
        with pytest.raises(ShapeTooNewError):
            read_export(data, HERE)
