"""Suggested programs over real servers: they pass the check, run in the sandbox, and print what was wanted."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from execution.desk import Desk
from halflap.demo import demo_config
from halflap.graph.graph import Graph
from halflap.graph.plan import plan
from halflap.graph.ports import ports_of
from halflap.graph.want import target_of
from halflap.schema import parse_schema
from support import ROOT, THOROUGH, python_server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    servers = [
        *demo_config()["servers"],
        python_server("helpdesk", "helpdesk.py", env={"PYTHONPATH": str(ROOT / "tests")}),
        python_server("crm", "crm.py"),
    ]
    with Desk({"servers": servers}, tmp_path_factory.mktemp("suggested")) as opened:
        opened.do(opened.gateway.refresh())
        yield opened


@pytest.fixture(scope="module")
def graph(desk: Desk) -> Graph:
    snapshot = desk.gateway.snapshot
    tools = [snapshot.tools[name] for name in snapshot.callable]
    return Graph([ports_of(one, parse_schema(one)) for one in tools])


@pytest.fixture(scope="module")
def ask(desk: Desk, graph: Graph) -> Callable[..., Any]:
    """Ask for a workflow, run the first, and give what it printed."""

    def asked(want: str, /, **have: Any) -> Any:
        planned = plan(graph, want=[target_of(graph, one) for one in want.split()], have=have)
        told = planned.to_json()["suggestions"][0]
        assert told["missing"] == []
        execution = desk.run(told["program"])
        assert execution.ok, f"{told['program']}\n{execution.text}"
        return json.loads(execution.output)

    return asked


def test_the_orders_of_the_top_customers(ask: Callable[..., Any]) -> None:
    histories = ask("order_history", period="year")
    assert len(histories) > 1
    assert all(one["customer_id"] for history in histories for one in history["orders"])


def test_all_pages_of_one_customers_orders(ask: Callable[..., Any]) -> None:
    history = ask("order_history", customer_id="CUST-001", limit=2)
    assert len(history["orders"]) == history["pagination"]["total_count"]


def test_the_address_of_a_customer_whose_name_is_known(ask: Callable[..., Any]) -> None:
    found = ask("customer.email", query="Acme")
    assert found
    assert all("@" in one for one in found)


def test_the_details_of_every_account(ask: Callable[..., Any]) -> None:
    assert [one["name"] for one in ask("mcp__crm__get_account")] == ["Acme", "Bolt", "Cusp"]


def test_a_field_that_is_null_at_times(ask: Callable[..., Any]) -> None:
    assert ask("owner.email") == ["a@x.org", None, "c@x.org"]


def test_every_ticket_with_all_that_is_known_of_it(ask: Callable[..., Any]) -> None:
    tickets = ask("get_ticket")
    assert len(tickets) > 20
    assert all(one["customer"]["email"] for one in tickets)


def test_two_things_that_do_not_need_each_other(ask: Callable[..., Any]) -> None:
    both = ask("mcp__crm__get_account mcp__crm__count", account_id=1)
    assert both["mcp__crm__get_account"]["name"] == "Acme"
    assert "mcp__crm__count" in both


def test_what_is_only_known_to_exist_stops_the_program_before_any_call(desk: Desk, graph: Graph) -> None:
    planned = plan(graph, want=[target_of(graph, "order_history")], have={"customer_id": None})
    execution = desk.run(planned.to_json()["suggestions"][0]["program"])
    assert not execution.ok
    assert "Fill in customer_id: customer_id of mcp__sales__order_history" in execution.text
    assert list(execution.calls) == []


def test_every_suggestion_for_every_tool_passes_the_check(desk: Desk, graph: Graph) -> None:
    """As far as `check` goes: nothing is run."""

    async def mistakes() -> list[tuple[str, Any]]:
        found = []
        for name in [*graph.tools][:: 1 if THOROUGH else 6]:
            for one in plan(graph, want=[target_of(graph, name)], have={}).to_json()["suggestions"]:
                checked = await desk.gateway.check(one["program"])
                found += [(one["program"], checked.mistakes)] if checked.mistakes or checked.skipped else []
        return found

    assert desk.do(mistakes(), 110) == []
