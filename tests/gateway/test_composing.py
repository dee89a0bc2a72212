"""Suggested workflows, edges and counts: what can be asked of a gateway about how tools fit together."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from cli.program import definitions
from halflap.core.errors import UsageError
from halflap.gateway import Gateway
from servers.memory import Memory, definition, structured

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

TOOLS = (
    definition("find_customer", "phone", "customer_id", "Find a customer by phone."),
    definition("customer_invoices", "customer_id", "invoice_id", "The invoices of a customer."),
    definition("read_invoice", "invoice_id", "total currency", "Read an invoice."),
    definition(
        "void_invoice",
        "invoice_id",
        "credit_note_id",
        "Void an invoice.",
        annotations={"destructiveHint": True},
    ),
    definition("print_credit_note", "credit_note_id", "page", "Print a credit note."),
)
READING = {
    "read_only": ["mcp__shop__find_customer", "mcp__shop__customer_invoices", "mcp__shop__read_invoice"]
}
LIST = definition("list_invoices", "", "invoices: invoice_id", "All invoices.")


@asynccontextmanager
async def shop(
    *more: dict[str, Any], server: Memory | None = None, **settings: Any
) -> AsyncIterator[Gateway]:
    """Open a gateway whose server `shop` has the tools above, and more."""
    given = {"tools": READING, **settings}
    async with Gateway.open(given, servers={"shop": server or Memory(*TOOLS, *more)}) as gateway:
        yield gateway


def plans(found: dict[str, Any]) -> list[list[str]]:
    return [[name.rpartition("__")[2] for name in one["tools"]] for one in found["suggestions"]]


async def test_a_tool_is_wanted_by_its_own_name_or_by_ours() -> None:
    async with shop() as gateway:
        one, other = [
            await gateway.suggest_workflow(want=name, have={"phone": "1"})
            for name in ("read_invoice", "mcp__shop__read_invoice")
        ]
    assert one == other
    assert plans(one)[0] == ["find_customer", "customer_invoices", "read_invoice"]
    assert one["missing"] == []


async def test_the_name_of_tools_on_several_servers_is_refused() -> None:
    async with Gateway.open({}, servers={name: Memory(*TOOLS) for name in ("shop", "store")}) as gateway:
        with pytest.raises(UsageError, match="mcp__shop__read_invoice, mcp__store__read_invoice"):
            await gateway.suggest_workflow(want="read_invoice")


async def test_a_plan_that_goes_beyond_a_better_hit_to_what_the_goal_names_comes_first() -> None:
    tops = definition("sales_top_customers", "", "customers: customer_id", "Get the top customers by orders.")
    orders = definition("order_history", "customer_id", "orders: order_id", "The purchases of one customer.")
    async with shop(server=Memory(tops, orders), tools={"read_only": ["mcp__shop__*"]}) as gateway:
        beyond = await gateway.suggest_workflow(goal="orders of the top customers", limit=1)
        alone = await gateway.suggest_workflow(goal="top customers", limit=1)
    assert plans(beyond) == [["sales_top_customers", "order_history"]]
    assert plans(alone) == [["sales_top_customers"]]


async def test_no_plan_passes_through_a_destructive_tool_unless_it_is_wanted() -> None:
    have = {"invoice_id": "1"}
    async with shop() as gateway:
        through = await gateway.suggest_workflow(want="print_credit_note", have=have)
        wanted = await gateway.suggest_workflow(want="void_invoice", have=have)
    assert all("void_invoice" not in plan for plan in plans(through))
    assert [one["parameter"] for one in through["missing"]] == ["credit_note_id"]
    assert plans(wanted) == [["void_invoice"]]
    assert wanted["suggestions"][0]["steps"][0]["may_change_something"]


async def test_a_tool_that_changes_something_is_not_done_to_all_that_is_found() -> None:
    """Whether it is known to change something, or nothing is known of it."""
    async with shop(LIST, definition("frob_invoice", "invoice_id", "done", "Frob it.")) as gateway:
        for want in ("void_invoice", "frob_invoice"):
            found = await gateway.suggest_workflow(want=want)
            assert not any(step["fan_out"] for one in found["suggestions"] for step in one["steps"])
            assert [one["parameter"] for one in found["missing"]] == ["invoice_id"]


async def test_a_blocked_tool_is_in_no_plan() -> None:
    async with shop(tools={**READING, "block": ["mcp__shop__customer_invoices"]}) as gateway:
        found = await gateway.suggest_workflow(want="read_invoice", have={"phone": "1"})
    assert all("customer_invoices" not in plan for plan in plans(found))
    assert found["missing"][0]["parameter"] == "invoice_id"


async def test_a_tool_that_only_a_setting_keeps_out_is_named_with_that_setting() -> None:
    async with shop(execution={"read_only": True}, tools={}) as gateway:
        tool = await gateway.suggest_workflow(want="read_invoice")
        field = await gateway.suggest_workflow(want="currency", have={"invoice_id": "1"})
    assert tool["suggestions"] == field["suggestions"] == []
    assert "tools.read_only" in tool["missing"][0]["note"]
    (could,) = field["missing"][0]["could_provide"]
    assert could["tool"] == "mcp__shop__read_invoice"
    assert "tools.read_only" in could["why"]


async def test_metrics_agree_with_the_graph_and_can_be_written_as_json() -> None:
    server = Memory(*TOOLS, answer=lambda *_: structured({"customer_id": "1"}))
    async with shop(server=server) as gateway:
        for number in range(3):
            await gateway.call("mcp__shop__find_customer", phone=str(number))
        edges = list((await gateway.graph()).edges())
        counted = await gateway.metrics()
        assert await (await gateway.parts.composer()).edges() == edges
    json.dumps(counted)
    assert (counted["tools"], counted["callable"], counted["servers"]) == (5, 5, {"shop": 5})
    assert counted["outputs"] == {"declared": 5, "learned": 0, "unknown": 0}
    assert counted["edges"]["total"] == len(edges) == sum(counted["edges"]["coverage"].values())
    assert counted["edges"]["coverage"]["strict"] >= 4
    assert sum(counted["edges"]["evidence"]["entity"].values()) >= 4
    learning = counted["learning"]
    assert (learning["results"], learning["dropped"]) == (3.0, 0.0)
    assert learning["writes"] >= 1
    assert learning["look_seconds"] > 0
    assert learning["lag_seconds"] >= 0


@pytest.mark.parametrize("trusted", [True, False])
async def test_annotations_of_harm_always_count_and_those_of_harmlessness_if_the_server_is_trusted(
    tmp_path: Path, *, trusted: bool
) -> None:
    tools = (
        definition("get_lease", "phone", "lease_id", "Get a lease.", annotations={"destructiveHint": True}),
        definition("get_seal", "phone", "seal_id", "Get a seal.", annotations={"readOnlyHint": False}),
        definition("frob", "phone", "deed_id", "Frob.", annotations={"readOnlyHint": True}),
        *(
            definition(f"read_{one}", f"{one}_id", "text", f"Read a {one}.")
            for one in ("lease", "seal", "deed")
        ),
    )
    server = definitions(tmp_path, *tools, name="shop") | {"trust_annotations": trusted}

    async with Gateway.open({"servers": [server]}) as gateway:
        wants = ("read_lease", "read_seal", "read_deed", "get_lease")
        lease, seal, deed, wanted = [
            await gateway.suggest_workflow(want=one, have={"phone": "1"}) for one in wants
        ]
    assert plans(lease) == [["read_lease"]]
    assert plans(seal) == [["read_seal"]]
    assert plans(deed) == [["frob", "read_deed"] if trusted else ["read_deed"]]
    assert lease["missing"][0]["could_provide"][0]["tool"] == "mcp__shop__get_lease"
    assert [one["may_change_something"] for one in wanted["suggestions"][0]["steps"]] == [True]
