"""Invariants on results."""

from __future__ import annotations

import asyncio
import functools
import json
from dataclasses import dataclass, field
from typing import Any

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
        (Customer, "by_day.*.cents"),
        (Customer, "extra.anything[].at.all"),
        (Customer, "pair[].cents"),
        (Customer, "children[].children[].lines[].cents"),
        (Customer, "$.data.total_revenue"),
        (Customer | Line, "cents"),
        (list[Customer], "[].total_revenue"),
        (Page[Customer], "results[].total_revenue"),
        (Wrapped, "data.data.total_revenue"),
        (Open, "whatever.it[].is"),
        (Renamed, "totalRevenue"),
        (Typed, "total"),
        (Any, "a.b[]"),
        (int, "$"),
    ],
    ids=str,
)
def test_a_path_of_the_data_is_accepted(kind: Any, path: str) -> None:
    tool_with(path, kind)


@pytest.mark.parametrize(
    ("kind", "path", "meant"),
    [
        (Customer, "total_revenu", "'total_revenue'"),
        (Customer, "lines[].cent", "'lines[].cents'"),
        (Customer, "lines.cents", "'lines[].cents'"),
        (Customer, "total_revenue[]", ""),
        (Customer, "total_revenue.cents", ""),
        (Customer, "by_day[].cents", "'by_day.*.cents'"),
        (Customer, "lines.*.cents", ""),
        (list[Customer], "total_revenue", "'[].total_revenue'"),
        (Renamed, "total", "totalRevenue"),
        (None, "a", ""),
        (dict[str, int], "a.b", ""),
    ],
    ids=str,
)
def test_a_path_that_the_data_cannot_have_is_refused(kind: Any, path: str, meant: str) -> None:
    with pytest.raises(ValueError, match="The tool tool") as raised:
        tool_with(path, kind)
    assert repr(path) in str(raised.value)
    assert meant in str(raised.value)


@pytest.mark.parametrize("path", ["total_revenue", "data.total_revenue", "$.total_revenue"])
def test_every_spelling_of_a_path_is_enforced(path: str) -> None:
    call = tool_with(path, holds=lambda cents: cents >= 0, value=Customer("C1", -5))
    assert asyncio.run(call({})).structured["error"]["details"] == {"path": "data.total_revenue"}


def test_null_is_a_value_and_a_missing_one_is_not() -> None:
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
def test_a_rule_cannot_change_what_is_sent(path: str, rule: Any) -> None:
    answer = asyncio.run(tool_with(path, holds=rule, value=Customer("C1", 5, [Line(1), Line(2)]))({}))
    assert answer.structured["data"]["lines"] == [{"cents": 1}, {"cents": 2}]
    assert json.loads(answer.text) == answer.structured


def test_every_value_of_a_map_is_checked() -> None:
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
def test_an_async_rule_is_refused(rule: Any) -> None:
    with pytest.raises(TypeError, match="always true"):
        invariant("total_revenue", rule)


def test_a_hidden_async_rule_fails(caplog: pytest.LogCaptureFixture) -> None:
    call = tool_with("total_revenue", holds=lambda value: later(value + 1), value=Customer("C1", 5))
    error = asyncio.run(call({})).structured["error"]
    assert error["details"] == {"path": "data.total_revenue"}
    assert "has to be awaited" in caplog.text
