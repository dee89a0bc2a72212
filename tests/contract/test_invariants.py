from __future__ import annotations

import asyncio
import functools
import json
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec
import pytest
import typing_extensions
from pydantic import BaseModel, ConfigDict, Field

from halflap.contract import Contract, Page, invariant, tool_of

CONTRACT = Contract(source="crm")


@dataclass
class Line:
    cents: int


@dataclass
class Customer:
    customer_id: str
    total_revenue: int
    lines: list[Line] | None = None
    by_day: dict[str, Line] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict)
    pair: tuple[int, Line] | None = None
    children: list[Customer] = field(default_factory=list)


class Wrapped(BaseModel):
    data: Customer


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    at: int


class Renamed(BaseModel):
    total: int = Field(serialization_alias="totalRevenue")


class Typed(typing_extensions.TypedDict):
    total: int


class Struct(msgspec.Struct, rename="camel"):
    total_revenue: int
    extra: dict[str, Any]


def tool_with(path: str, kind: Any = Customer, holds: Any = bool, value: Any = None) -> Any:
    def tool() -> Any:
        return value

    tool.__annotations__["return"] = kind
    return tool_of(tool, CONTRACT, invariants=[invariant(path, holds)])[1]


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        (Customer, "total_revenue"),
        (Customer, "lines[].cents"),
        (Customer, "by_day.monday.cents"),
        (Customer, "by_day.*.cents"),
        (dict[str, list[Line]], "*[].cents"),
        (Customer, "extra.anything[].at.all"),
        (Customer, "pair[].cents"),
        (Customer, "children[].children[].lines[].cents"),
        (Customer, "data.total_revenue"),
        (Customer, "$.total_revenue"),
        (Customer, "$.data.total_revenue"),
        (Customer | None, "total_revenue"),
        (Customer | Line, "cents"),
        (list[Customer], "[].total_revenue"),
        (list[Customer], "$[].total_revenue"),
        (list[Customer], "data[].total_revenue"),
        (Page[Customer], "results[].total_revenue"),
        (Page[Struct], "results[].totalRevenue"),
        (Wrapped, "data.total_revenue"),
        (Wrapped, "data.data.total_revenue"),
        (Open, "whatever.it[].is"),
        (Renamed, "totalRevenue"),
        (Typed, "total"),
        (Struct, "extra.a[]"),
        (Any, "a.b[]"),
        (dict, "a"),
        (list, "[].a"),
        (int, "$"),
        (int, "data"),
    ],
    ids=str,
)
def test_a_path_that_the_data_have_is_taken(kind: Any, path: str) -> None:
    tool_with(path, kind)


@pytest.mark.parametrize(
    ("kind", "path", "told"),
    [
        (Customer, "total_revenu", "Did you mean 'total_revenue'"),
        (Customer, "$.total_revenu", "Did you mean 'total_revenue'"),
        (Customer, "data.total_revenu", "Did you mean 'total_revenue'"),
        (Customer, "lines[].cent", r"'lines\[\]' has no 'cent'. Did you mean 'lines\[\].cents'"),
        (Customer, "total_revenue[]", "there is no list at 'total_revenue'"),
        (Customer, "total_revenue.cents", "'total_revenue' has no 'cents'"),
        (Customer, "lines.cents", r"Did you mean 'lines\[\].cents'"),
        (Customer, "children[].childrn[].lines", "'children"),
        (list[Customer], "total_revenue", r"Did you mean '\[\].total_revenue'"),
        (Page[Customer], "result[].total_revenue", r"Did you mean 'results\[\].total_revenue'"),
        (Struct, "total_revenue", "Did you mean 'totalRevenue'"),
        (Renamed, "total", "has only totalRevenue"),
        (Literal["a", "b"], "a", "has no 'a'"),
        (None, "a", "has no 'a'"),
        (dict[str, int], "a.b", "'a' has no 'b'"),
        (Customer, "by_day[].cents", r"there is no list at 'by_day'. Did you mean 'by_day.\*.cents'"),
        (Customer, "lines.*.cents", "there is no map at 'lines'"),
    ],
    ids=str,
)
def test_a_rule_that_could_never_be_broken_is_refused(kind: Any, path: str, told: str) -> None:
    with pytest.raises(ValueError, match=told) as raised:
        tool_with(path, kind)
    assert "The tool tool" in str(raised.value)
    assert repr(path) in str(raised.value)


@pytest.mark.parametrize("path", ["total_revenue", "data.total_revenue", "$.total_revenue"])
def test_however_the_path_is_written_the_rule_is_held(path: str) -> None:
    call = tool_with(path, holds=lambda cents: cents >= 0, value=Customer("C1", -5))
    assert asyncio.run(call({})).structured["error"]["details"] == {"path": "data.total_revenue"}


def test_a_null_is_a_value_and_what_is_missing_is_none() -> None:
    call = tool_with("lines", holds=lambda value: value is not None, value=Customer("C1", 5))
    assert asyncio.run(call({})).structured["error"]["details"] == {"path": "data.lines"}
    # On the way to nothing, there is nothing.
    call = tool_with("lines[].cents", holds=lambda _: False, value=Customer("C1", 5))
    assert asyncio.run(call({})).structured["success"]
    call = tool_with("missing", dict[str, int], holds=lambda _: False, value={"there": 1})
    assert asyncio.run(call({})).structured["success"]


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("$", lambda data: data["lines"].append("x") is None),
        ("lines", lambda lines: lines.pop() is not None),
        ("lines[]", lambda line: line.pop("cents") > 0),
    ],
    ids=["$", "lines", "lines[]"],
)
def test_what_a_rule_does_to_what_it_gets_is_not_sent(path: str, rule: Any) -> None:
    answer = asyncio.run(tool_with(path, holds=rule, value=Customer("C1", 5, [Line(1), Line(2)]))({}))
    assert answer.structured["data"]["lines"] == [{"cents": 1}, {"cents": 2}]
    assert json.loads(answer.text) == answer.structured


def test_every_value_of_a_map_is_looked_at() -> None:
    customer = Customer("C1", 5, by_day={"monday": Line(1), "tuesday": Line(-1)})
    call = tool_with("by_day.*.cents", holds=lambda cents: cents > 0, value=customer)
    assert asyncio.run(call({})).structured["error"]["details"] == {"path": "data.by_day.tuesday.cents"}


async def later(value: Any) -> bool:
    return bool(value)


class Later:
    async def __call__(self, value: Any) -> bool:
        return bool(value)


def steps(value: Any) -> Any:
    yield value


@pytest.mark.parametrize(
    "rule", [later, functools.partial(later), Later(), steps], ids=["async", "partial", "object", "generator"]
)
def test_a_rule_that_gives_no_answer_at_once_is_refused(rule: Any) -> None:
    with pytest.raises(TypeError, match="always true"):
        invariant("total_revenue", rule)


def test_one_that_hides_it_does_not_hold(caplog: pytest.LogCaptureFixture) -> None:
    call = tool_with("total_revenue", holds=lambda value: later(value + 1), value=Customer("C1", 5))
    error = asyncio.run(call({})).structured["error"]
    assert error["details"] == {"path": "data.total_revenue"}
    assert "has to be awaited" in caplog.text
