"""Invariants on results."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field

from halflap.contract import Contract, Page, invariant, tool_of


@dataclass
class Line:
    cents: int


@dataclass
class Customer:
    customer_id: str
    total_revenue: int
    lines: list[Line] | None = None
    by_day: dict[str, Line] = field(default_factory=dict)
    pair: tuple[int, Line] | None = None


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    at: int


class Renamed(BaseModel):
    total: int = Field(serialization_alias="totalRevenue")


def tool_with(path: str, kind: Any = Customer, holds: Any = bool, value: Any = None) -> Any:
    def tool() -> Any:
        return value

    tool.__annotations__["return"] = kind
    return tool_of(tool, Contract(source="crm"), invariants=[invariant(path, holds)])[1]


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        (Customer, "lines[].cents"),
        (Customer, "by_day.*.cents"),
        (Customer, "pair[].cents"),
        (Customer | Line, "cents"),
        (Page[Customer], "results[].total_revenue"),
        (Open, "whatever.it[].is"),
        (Renamed, "totalRevenue"),
        (Any, "a.b[]"),
    ],
    ids=str,
)
def test_a_path_of_the_data_is_accepted(kind: Any, path: str) -> None:
    tool_with(path, kind)


@pytest.mark.parametrize(
    ("kind", "path", "known"),
    [
        (Customer, "lines[].cent", "cents"),
        (Customer, "total_revenue[]", "total_revenue"),
        (list[Customer], "total_revenue", "the data"),
        (Renamed, "total", "totalRevenue"),
    ],
    ids=str,
)
def test_a_path_that_the_data_cannot_have_is_refused(kind: Any, path: str, known: str) -> None:
    with pytest.raises(ValueError, match="of the tool tool") as raised:
        tool_with(path, kind)
    assert repr(path) in str(raised.value)
    assert known in str(raised.value)


@pytest.mark.parametrize("path", ["", "a..b", "a[0]", "[", "a."])
def test_an_invalid_path_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="path"):
        invariant(path, bool)


CUSTOMER = Customer("C1", 5, by_day={"monday": Line(1), "tuesday": Line(-1)})


@pytest.mark.parametrize(
    ("path", "broken"),
    [
        ("by_day.*.cents", "data.by_day.tuesday.cents"),
        ("lines", "data.lines"),  # null is a value …
        ("lines[].cents", None),  # … with nothing in it
        ("by_day.sunday.cents", None),
    ],
)
def test_every_value_at_a_path_is_checked(path: str, broken: str | None) -> None:
    call = tool_with(path, holds=lambda value: value is not None and value > 0, value=CUSTOMER)
    found = asyncio.run(call({})).structured
    assert (None if found["success"] else found["error"]["details"]["path"]) == broken


async def later(value: Any) -> bool:
    return bool(value)


def test_an_async_rule_is_refused() -> None:
    with pytest.raises(TypeError, match="total_revenue"):
        invariant("total_revenue", later)  # type: ignore[arg-type]
