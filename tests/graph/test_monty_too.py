"""Where there is no jail, a suggested program runs in monty, which knows a part of Python."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from graph.made import Made, edge, link, ports
from halflap.config import ExecutionConfig
from halflap.execution.sandbox import Program
from halflap.graph.edge import Envelope
from halflap.graph.emit import program
from halflap.graph.graph import Graph
from halflap.graph.plan import plan
from halflap.graph.want import target_of
from halflap.schema import Type

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    from halflap.execution.sandbox import Ending

pytestmark = pytest.mark.slow
"""It takes long, and runs with `make test-all`."""

ENVELOPE = Envelope("success", is_sure=False)
ORDERS = ports("list_orders", "customer_id cursor?", "orders[].order_id next_cursor?")
GRAPH = Made.of(
    replace(ports("find_customers", "email", "data.customers[].customer_id"), envelope=ENVELOPE),
    ORDERS,
    replace(ports("get_order", "order_id customer_id", "data.sku data.note?"), envelope=ENVELOPE),
    ports("rate", "", "rates.{key}"),
    ports("quote_view", "sku note rate_id", "total"),
    edges=[
        edge(ORDERS, ORDERS, link("next_cursor", "cursor"), pages=True),
        edge(ports("rate"), ports("quote_view"), link("rates.{key}", "rate_id")),
    ],
)
ANSWERS: dict[str, Callable[..., Any]] = {
    "find_customers": lambda email: {"success": True, "data": {"customers": [{"customer_id": f"{email}{at}"} for at in "ab"]}},
    "list_orders": lambda customer_id, cursor="": {
        "orders": [{"order_id": f"{customer_id}{cursor}"}],
        **({} if cursor else {"next_cursor": "2"}),
    },
    "get_order": lambda order_id, customer_id: {"success": True, "data": {"sku": f"{customer_id}/{order_id}", "note": "n" if "2" in order_id else None}},
    "rate": lambda: {"rates": {"x": 1, "y": 2}},
    "quote_view": lambda **arguments: {"total": "-".join(arguments.values())},
}  # fmt: skip


class Shop:
    """Answers a program's calls, and hears what it prints."""

    def __init__(self) -> None:
        self.printed = b""

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        return ANSWERS[name.removeprefix("mcp__shop__")](**arguments)

    def output(self, data: bytes) -> bool:
        self.printed += data
        return True

    def show(self, block: Mapping[str, Any]) -> bool:
        raise AssertionError(block)


def ended_with(
    run: Callable[[Coroutine[Any, Any, Any]], Any],
    shop: Shop,
    graph: Any = GRAPH,
    want: str = "quote_view",
    **have: Any,
) -> Ending:
    pytest.importorskip("pydantic_monty", reason="monty is not installed: pip install 'halflap[monty]'")
    from halflap.execution.monty.monty import Monty  # noqa: PLC0415 -- where it is there

    found = plan(graph, want=[target_of(graph, want)], have=have or {"email": "e"}).suggestions[0]

    async def go() -> Ending:
        monty = Monty(ExecutionConfig())
        try:
            return await monty.run(Program(program(found), dict.fromkeys(graph.tools, "")), shop)
        finally:
            await monty.close()

    ended: Ending = run(go())
    return ended


def test_loops_pages_guards_and_parallel_calls(run: Callable[[Coroutine[Any, Any, Any]], Any]) -> None:
    shop = Shop()
    ended = ended_with(run, shop)
    assert ended.failure is None, ended.failure
    expected = [f"e{one}/e{one}2-n-{rate}" for one in "ab" for rate in "xy"]
    assert [one["total"] for one in json.loads(shop.printed)] == expected


def test_pages_that_are_counted_for_each_of_a_list_at_hand(
    run: Callable[[Coroutine[Any, Any, Any]], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = {"offset": Type("integer"), "total": Type("integer")}
    graph = Graph([ports("list_parts", "box_id offset?", "parts[].part_id total", types=whole)])
    monkeypatch.setitem(
        ANSWERS,
        "list_parts",
        lambda box_id, offset=0: {"parts": [{"part_id": f"{box_id}{offset}"}], "total": 3},
    )
    shop = Shop()
    ended = ended_with(run, shop, graph, "part_id", box_ids=["a", "b"])
    assert ended.failure is None, ended.failure
    assert json.loads(shop.printed) == ["a0", "a1", "a2", "b0", "b1", "b2"]


def test_pages_whose_addresses_have_a_cursor(
    run: Callable[[Coroutine[Any, Any, Any]], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = Graph([ports("list_parts", "cursor?", "parts[].part_id links.next?")])
    monkeypatch.setitem(
        ANSWERS,
        "list_parts",
        lambda cursor="a": {
            "parts": [{"part_id": cursor}],
            "links": {"next": "https://x.test/?size=1&cursor=%C3%A4+b%2F#top"} if cursor == "a" else {},
        },
    )
    shop = Shop()
    ended = ended_with(run, shop, graph, "part_id", nothing="x")
    assert ended.failure is None, ended.failure
    assert json.loads(shop.printed) == ["a", "ä b/"]


def test_a_failure_is_told_as_the_server_says_it(
    run: Callable[[Coroutine[Any, Any, Any]], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = {"success": False, "error": {"code": "E", "message": "no such order"}}
    monkeypatch.setitem(ANSWERS, "get_order", lambda **_: failed)
    ended = ended_with(run, Shop())
    assert ended.failure is not None
    assert "mcp__shop__get_order failed: no such order" in str(ended.failure)
