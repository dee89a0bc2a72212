"""Imported knowledge: whatever was observed is taken as it is; a damaged export is refused."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given

from halflap.core.errors import ShapeBrokenError
from halflap.learn import Learned, Observer, digest_of, infer, merge, outcome_of
from halflap.observe import exported, read_export
from halflap.observe.vetting import vetted
from halflap.store import StoredShape, ToolKey
from learn.anything import OBSERVED

if TYPE_CHECKING:
    from collections.abc import Callable

HERE, THERE = "a" * 32, "b" * 32
NOW = 1_800_000_000.0
VALUES: list[Any] = [
    {
        "type": "card",
        "id": 7,
        "day": "2026-03-02",
        "rows": [{"a": 1}, {"a": 2, "b": None}],
        "by": {"x_4421486": 1},
    },
    {"type": "cash", "id": 8, "day": "2026-03-03", "rows": [], "ok": True},
    {"id": 9, "day": "2026-03-04", "rows": [{"a": 3}]},
]


def learned(values: list[Any], *, keep: bool = False) -> Learned:
    whole = Learned()
    for number, value in enumerate(values):
        watching = Observer(values=keep)
        # As spread as those of real arguments.
        watching.observe(value, digest_of({"n": number}), NOW - 1_000 + number)
        whole = whole.merge(Learned.of(outcome_of(value, is_error=False), watching.shape()))
    return whole


def file(one: Learned, **more: Any) -> dict[str, Any]:
    """Return an export as it is read from a disk."""
    data = exported([StoredShape("shop", "get", "h", "live", one)], THERE, None, values=True)
    return json.loads(json.dumps({**data, **more}))  # type: ignore[no-any-return]


def taken(data: Any, **options: Any) -> Learned:
    found = read_export(data, HERE, now=NOW, **options)
    ((key, one),) = (item for shapes in found.shapes.values() for item in shapes.items())
    assert key == ToolKey("shop", "get", "h")
    return one


@given(OBSERVED)
def test_whatever_was_observed_is_taken_as_it_is(observed: list[tuple[Any, int]]) -> None:
    for keep in (False, True):
        shapes = [infer([value], [digest], keep_values=keep) for value, digest in observed]
        if shapes:
            one = Learned(error=merge(*shapes))
            assert vetted(one, values=keep, now=NOW) == one


def _nested(depth: int) -> Any:
    value: Any = {"end": [{}]}
    for _ in range(depth):
        value = {"a": [value], "b": {}}
    return value


@pytest.mark.parametrize(
    "values",
    [
        [_nested(40), _nested(3), {"a": []}],
        [
            {f"name_{chr(97 + number % 26)}{chr(97 + number // 26)}": 1 for number in range(200)},
            {"type": "x"},
        ],
        [{"type": f"kind_{chr(97 + number)}", "n": number} for number in range(26)],
    ],
    ids=["cut", "crowded", "mixed"],
)
def test_what_was_cut_crowded_or_mixed_is_taken_as_it_is(values: list[Any]) -> None:
    for keep in (False, True):
        one = learned(values, keep=keep)
        assert taken(file(one), values=keep) == one


def test_a_key_that_is_data_goes_where_such_keys_go() -> None:
    data = file(learned([{"by": {"name": 1}}, {"by": {"name": 2, "total": "x"}}]))
    text = json.dumps(data).replace('"name"', '"john.doe@example.com"')
    assert taken(json.loads(text)) == learned([{"by": {"j@x.de": 1}}, {"by": {"j@x.de": 2, "total": "x"}}])
    long = json.dumps(data).replace('"name"', f'"{"x" * 2_000}"')
    assert taken(json.loads(long)) == taken(json.loads(text))


def test_values_are_taken_only_where_they_are_kept() -> None:
    values = [{"colour": "crimson", "status": "in the post", "type": "card"}] * 3
    data = file(learned(values, keep=True))
    assert taken(data, values=True) == learned(values, keep=True)
    assert taken(data) == learned(values)


def root(data: dict[str, Any]) -> Any:
    return data["learned"][0]["shapes"]["structured"]["root"]


def _set(*path: Any) -> Callable[[dict[str, Any]], None]:
    *way, last, value = path

    def change(data: dict[str, Any]) -> None:
        holder: Any = data["learned"][0]["shapes"]["structured"]
        for step in way:
            holder = holder[step]
        holder[last] = value

    return change


def _drop(*path: Any) -> Callable[[dict[str, Any]], None]:
    def change(data: dict[str, Any]) -> None:
        holder: Any = data["learned"][0]["shapes"]["structured"]
        for step in path[:-1]:
            holder = holder[step]
        del holder[path[-1]]

    return change


def _deep(data: dict[str, Any]) -> None:
    place = root(data)
    for _ in range(200):
        place["items"] = {"kinds": {"array": 3}, "lengths": [1, 1]}
        place = place["items"]


CASES: dict[str, Callable[[dict[str, Any]], None]] = {
    "a count that is too large": _set("observations", 10**30),
    "a negative count": _set("observations", -3),
    "a count that is true": _set("observations", True),
    "no time": _set("first", "yesterday"),
    "a version that there is not": _set("version", 0),
    "a version that is a text": _set("version", "1"),
    "nested without end": _deep,
    "a depth without end": _set("depth", 10**6),
    "no root": _drop("root"),
    "no kinds": _drop("root", "kinds"),
    "kinds that are a list": _set("root", "kinds", []),
    "an unknown kind": _set("root", "kinds", {"banana": 3}),
    "an odd sample": _set("sample", ["0x12"]),
    "a sample out of order": _set("sample", ["1" * 16, "0" * 16]),
    "records that are no list": _set("root", "records", 7),
    "a tag twice": lambda data: root(data)["records"].append(root(data)["records"][0]),
    "a tag that is a number": _set("root", "records", 1, "tag", ["type", 7]),
    "an unknown format": _set("root", "formats", ["shoe size"]),
    "an unknown outcome": lambda data: data["learned"][0]["shapes"].update(other=1),
    "nothing": lambda data: data["learned"][0].update(shapes={}),
}


@pytest.mark.parametrize("name", CASES)
def test_a_damaged_export_is_refused_and_names_its_entry(name: str) -> None:
    good = learned(VALUES)
    data = file(good, values=False)
    assert taken(copy.deepcopy(data)) == good
    CASES[name](data)
    with pytest.raises(ShapeBrokenError, match=r"shop\.get"):
        read_export(data, HERE, now=NOW)


@pytest.mark.parametrize("tag", ["j@x.de", "in the post", "cus_NffrFeUfNV2Hib"])
def test_a_tag_that_is_data_is_not_kept(tag: str) -> None:
    data = file(learned(VALUES))
    root(data)["records"][1]["tag"] = ["type", tag]
    assert tag not in repr(taken(data))
