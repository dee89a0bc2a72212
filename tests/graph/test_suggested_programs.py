"""Suggested programs, from the gateway's face: they pass the check, run in the sandbox and print what was asked for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from mcp.server.mcpserver import MCPServer
from typing_extensions import TypedDict

from halflap import Gateway

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    Run = Callable[[Coroutine[Any, Any, Any]], Any]


class Customer(TypedDict):
    customer_id: str


class Customers(TypedDict):
    customers: list[Customer]


class OrderRow(TypedDict):
    order_id: str


class Orders(TypedDict):
    orders: list[OrderRow]
    next_cursor: str | None


class Order(TypedDict):
    order_id: str
    courier_email: str | None


def shop() -> MCPServer:
    server = MCPServer("shop")

    @server.tool()
    def list_customers() -> Customers:
        """List the customers."""
        return {"customers": [{"customer_id": "c1"}, {"customer_id": "c2"}]}

    @server.tool()
    def list_orders(customer_id: str, cursor: str | None = None) -> Orders:
        """List the orders of a customer, page by page."""
        at = int(cursor or 0)
        return {
            "orders": [{"order_id": f"{customer_id}-{at}"}],
            "next_cursor": str(at + 1) if at < 2 else None,
        }

    @server.tool()
    def get_order(order_id: str) -> Order:
        """Get an order."""
        return {
            "order_id": order_id,
            "courier_email": None if order_id.endswith("0") else f"{order_id}@x.org",
        }

    return server


@pytest.mark.parametrize("sandbox", ["auto", pytest.param("monty", marks=pytest.mark.slow)])
def test_suggestions_pass_the_check_and_print_what_was_asked_for(run: Run, sandbox: str) -> None:
    if sandbox == "monty":
        pytest.importorskip("pydantic_monty", reason="monty is not installed: pip install 'halflap[monty]'")

    async def story() -> None:
        config = {"execution": {"sandbox": sandbox}}
        async with Gateway.open(config, servers={"shop": shop()}) as gateway:
            await gateway.tools()

            async def printed(want: str, **have: Any) -> Any:
                (first, *_) = (await gateway.suggest_workflow(want=want, have=have))["suggestions"]
                assert first["missing"] == []
                checked = await gateway.check(first["program"])
                assert not checked.mistakes, first["program"]
                assert not checked.skipped
                execution = await gateway.execute(first["program"])
                assert execution.ok, f"{first['program']}\n{execution.text}"
                return json.loads(execution.output)

            assert [one["order_id"] for one in await printed("get_order")] == [
                f"{customer}-{at}" for customer in ("c1", "c2") for at in range(3)
            ]
            orders = await printed("list_orders", customer_id="c2")
            assert [one["order_id"] for one in orders["orders"]] == ["c2-0", "c2-1", "c2-2"]
            assert await printed("courier_email", customer_id="c1") == [None, "c1-1@x.org", "c1-2@x.org"]

            found = await gateway.suggest_workflow(want="list_orders", have={"customer_id": None})
            unfilled = await gateway.execute(found["suggestions"][0]["program"])
            assert not unfilled.ok
            assert "customer_id" in unfilled.text
            assert list(unfilled.calls) == []

    run(story())
