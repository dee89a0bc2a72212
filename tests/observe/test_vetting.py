"""What came from elsewhere: whatever was observed is taken, and nothing that cannot have been."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given

from halflap.errors import ShapeBrokenError
from halflap.learn import Learned, digest_of, infer, merge, observer, outcome_of
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
        watching = observer(values=keep)
        # As spread as those of real arguments.
        watching.observe(value, digest_of({"n": number}), NOW - 1_000 + number)
        whole = whole.merge(Learned.of(outcome_of(value, is_error=False), watching.shape()))
    return whole


def file(one: Learned, **more: Any) -> dict[str, Any]:
    """Give an export, as it is read from a disk."""
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
            {f"name_{chr(97 + number % 26)}{chr(97 + number // 26)}": number for number in range(200)},
            {"type": "x"},
        ],
        [{"type": f"kind_{chr(97 + number)}", "n": number} for number in range(26)],
        [{"status": f"at {number}"} for number in range(30)],
        [{"a": {f"k_{number}_4421486": {"x": 1} for number in range(30)}}, {"a": {}}],
        [[1, "a", None, [[]], {}], [], [[]]],
        [{"id": number} for number in range(1_000)],
    ],
)
@pytest.mark.parametrize("keep", [False, True])
def test_what_was_cut_crowded_or_mixed_is_taken_as_it_is(values: list[Any], keep: bool) -> None:
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
    # One that says it has none is a lie.
    with pytest.raises(ShapeBrokenError, match=r"structured\.root\.(colour|status)\.values"):
        read_export({**data, "values": False}, HERE, now=NOW)


def root(data: dict[str, Any]) -> Any:
    return data["learned"][0]["shapes"]["structured"]["root"]


def keys(data: dict[str, Any], tag: str = "card") -> Any:
    return next(one for one in root(data)["records"] if one.get("tag", ["", ""])[1] == tag)["keys"]


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


def _tag(value: Any) -> Callable[[dict[str, Any]], None]:
    def change(data: dict[str, Any]) -> None:
        root(data)["records"][1]["tag"] = value

    return change


def _key(name: str, tag: str = "card", **changes: Any) -> Callable[[dict[str, Any]], None]:
    def change(data: dict[str, Any]) -> None:
        pair = keys(data, tag)[name]
        pair[0] |= changes

    return change


def _missing(name: str, times: Any) -> Callable[[dict[str, Any]], None]:
    def change(data: dict[str, Any]) -> None:
        keys(data)[name][1] = times

    return change


def _crowd(**record: Any) -> Callable[[dict[str, Any]], None]:
    def change(data: dict[str, Any]) -> None:
        del root(data)["records"][0]["keys"]
        root(data)["records"][0] |= {"crowded": True, **record}

    return change


CASES: dict[str, tuple[Callable[[dict[str, Any]], None], str]] = {
    "count too large": (_set("observations", 10**30), r"structured\.observations is no count"),
    "count negative": (_set("observations", -3), r"structured\.observations is no count"),
    "count true": (_set("observations", True), r"structured\.observations is no count"),
    "none observed": (_set("observations", 0), r"structured\.observations are none"),
    "root and observations": (_set("observations", 5), r"structured\.root was seen 3 times, in 5 results"),
    "kind too often": (_set("root", "kinds", "object", 4), r"structured\.root was seen 4 times, in 3"),
    "kind huge": (_key("id", kinds={"integer": 10**30}), r'keys\["id"\]\.kinds\.integer is no count'),
    "key too often": (
        _key("id", kinds={"integer": 2}),
        r"structured\.root\.id was seen 2 times and missing 0",
    ),
    "missing too often": (
        _missing("id", 7),
        r"structured\.root\.id was seen 1 times and missing 7 times, in 1",
    ),
    "missing negative": (_missing("id", -1), r'keys\["id"\] missing is no count'),
    "types and total": (
        _key("id", kinds={"integer": 1, "null": 1}),
        r"structured\.root\.id was seen 2 times and missing 0 times, in 1",
    ),
    "never seen": (_key("id", kinds={}), r"structured\.root\.id was seen 0 times"),
    "items and lengths": (_key("rows", lengths=[5, 5]), r"rows\[\] was seen 2 times, in 1 arrays of 5 to 5"),
    "lengths crossed": (_key("rows", lengths=[3, 1]), r"root\.rows\.lengths do not fit"),
    "lengths odd": (_key("rows", lengths=[3]), r'keys\["rows"\]\.lengths is no list of 2'),
    "lengths gone": (_key("rows", lengths=None), r"root\.rows\.lengths are there without"),
    "items of nothing": (_key("id", items={"kinds": {"integer": 1}}), r"root\.id\.lengths"),
    "records and objects": (_set("root", "records", []), r"root\.records were seen 0 times, among 3 objects"),
    "formats gone": (_key("day", formats=None), r'keys\["day"\]\.formats is no list'),
    "formats several": (_key("day", formats=["date", "uuid"], lost={}), r"root\.day\.formats are several"),
    "format unknown": (_key("day", formats=["shoe size"]), r"has a format that there is not"),
    "tag under another key": (_tag(["email", "card"]), r"has a tag under a key that is no tag key"),
    "tag is a number": (_tag(["type", 7]), r"records\[1\]\.tag has something that is no value"),
    "tag not there": (_tag(["kind", "card"]), r"with the tag kind that lack it"),
    "values are data": (
        _key("ok", "cash", values=[["j@x.de", 1]]),
        r"root\.ok\.values has a value that is not kept",
    ),
    "values too many": (_key("type", values=[[f"w{n}", 1] for n in range(17)]), r"values are more than 16"),
    "values too often": (
        _key("type", values=[["card", 9]]),
        r"root\.type\.values were seen 9 times, among 1",
    ),
    "values elsewhere": (_key("day", values=[["2026-03-02", 1]]), r"root\.day\.values has a value"),
    "first later": (_set("first", NOW), r"structured\.first is later than the last"),
    "future": (_set("last", NOW + 10**7), r"structured\.last is in the future"),
    "before": (_set("first", -5.0), r"structured\.first is before 1970"),
    "no time": (_set("first", "yesterday"), r"structured\.first is no time"),
    "times": (_set("first", 1e300), r"structured\.first is no time"),
    "one time": (_set("first", None), r"structured has a first time and no last"),
    "version 0": (_set("version", 0), r"structured is no learned shape"),
    "version text": (_set("version", "1"), r"structured is no learned shape"),
    "deep": (_deep, r"items is deeper than the shape says"),
    "depth": (_set("depth", 10**6), r"structured\.depth is more than 32"),
    "depth none": (_set("depth", 0), r"structured\.root\.records\[0\].* is deeper than the shape says"),
    "depth none, cut": (
        lambda data: data["learned"][0]["shapes"]["structured"].update(
            root={"kinds": {"object": 3}, "cut": True}, depth=0
        ),
        r"structured\.depth is none",
    ),
    "depth without a cut": (_set("depth", 9), r"structured\.depth is 9, but nothing was cut off there"),
    "cut without need": (
        _key("rows", cut=True),
        r"root\.rows is cut where it need not be",
    ),
    "crowded with nothing": (_crowd(), r"root has too many keys to tell them apart, but not 97"),
    "crowded with few": (
        _crowd(rest={"kinds": {"integer": 96}}),
        r"root has too many keys to tell them apart, but not 97",
    ),
    "mixed with nothing": (
        lambda data: root(data).update(records=[{"seen": 3}], mixed=True),
        r"root\.records are mixed, but do not have more than 16 tags",
    ),
    "tag of another word": (
        lambda data: keys(data)["type"][0].update(
            values=[["cash", keys(data)["type"][0]["kinds"]["string"]]]
        ),
        r"with the tag type that say something else there",
    ),
    "tag of another kind": (_tag(["type", True]), r"with the tag type that say something else there"),
    "once with several": (
        _key("id", kinds={"integer": 1}),
        r"root\.id\.kinds\.integer was seen once, or with one set",
    ),
    "sample": (_set("sample", ["0" * 16] * 2), r"structured\.sample is not in order"),
    "sample odd": (_set("sample", ["0x12"]), r"structured\.sample has no digest"),
    "sample large": (
        _set("sample", [f"{n:016x}" for n in range(9)]),
        r"structured\.sample has more arguments",
    ),
    "digest unknown": (
        _set("root", "kinds", "object", [3, "f" * 16]),
        r"root\.kinds\.object was seen with arguments that there were not",
    ),
    "no root": (_drop("root"), r"structured has no `root`"),
    "no kinds": (_drop("root", "kinds"), r"structured\.root has no `kinds`"),
    "no sample": (_drop("sample"), r"structured has no `sample`"),
    "no seen": (_drop("root", "records", 0, "seen"), r"structured\.root\.records\[0\] has no `seen`"),
    "kinds odd": (_set("root", "kinds", []), r"structured\.root\.kinds is no object"),
    "kind unknown": (_set("root", "kinds", {"banana": 3}), r"has a kind that there is not"),
    "twice": (
        lambda data: root(data)["records"].append(root(data)["records"][0]),
        r"records has a tag twice",
    ),
    "outcome": (_set("root", "kinds", {"string": 3}), r"structured\.root is of another outcome"),
    "entry": (lambda data: data["learned"][0]["shapes"].update(other=1), r"no outcomes but structured"),
    "nothing": (lambda data: data["learned"][0].update(shapes={}), r"nothing in it that was observed"),
}


@pytest.mark.parametrize("name", CASES)
def test_what_cannot_have_been_observed_is_refused_with_where(name: str) -> None:
    change, told = CASES[name]
    good = learned(VALUES)
    data = file(good, values=False)
    assert taken(copy.deepcopy(data)) == good
    change(data)
    with pytest.raises(ShapeBrokenError, match=told) as refused:
        read_export(data, HERE, now=NOW)
    assert "Entry 0 of what was learned, shop.get," in str(refused.value)
    assert "Nothing was imported" in str(refused.value)


def test_more_arguments_than_results_are_refused_also_where_they_are_estimated() -> None:
    data = file(learned([{"id": number} for number in range(1_000)]))
    data["learned"][0]["shapes"]["structured"]["sample"] = [f"{number:016x}" for number in range(256)]
    with pytest.raises(ShapeBrokenError, match=r"structured\.sample stands for far more arguments"):
        read_export(data, HERE, now=NOW)


@pytest.mark.parametrize("tag", ["j@x.de", "in the post", "cus_NffrFeUfNV2Hib"])
def test_a_tag_that_is_data_tells_nothing_apart_and_is_not_kept(tag: str) -> None:
    data = file(learned(VALUES))
    _tag(["type", tag])(data)
    assert tag not in repr(taken(data))


@pytest.mark.parametrize("version", [0, -1])
def test_a_version_that_there_is_not_is_refused(version: int) -> None:
    with pytest.raises(ShapeBrokenError, match=f"no version {version}"):
        read_export(file(learned(VALUES), version=version), HERE, now=NOW)
