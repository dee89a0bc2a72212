"""Tasks on the bundled servers: the suggested program is run, and returns what calls made by hand return."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from halflap.gateway import Gateway
from servers.memory import bundled

if TYPE_CHECKING:
    from collections.abc import Callable

Task = tuple[dict[str, Any], list[str], "Callable[[Any], Any]"]


async def _all_orders(call: Any, customer: str) -> Any:
    whole = await call("order_history", customer_id=customer)
    page = whole
    while page["pagination"]["has_more"]:
        page = await call("order_history", customer_id=customer, cursor=page["pagination"]["next_cursor"])
        whole["orders"] += page["orders"]
    return page | {"orders": whole["orders"]}


async def _details(call: Any, query: str) -> list[Any]:
    found = await call("customer_search", query=query)
    return [await call("customer_details", customer_id=one["customer_id"]) for one in found["customers"]]


async def _documents(call: Any, query: str) -> list[Any]:
    return [await call("get_doc", doc_id=one["doc_id"]) for one in await call("search_docs", query=query)]


async def _email(call: Any, customer: str) -> Any:
    return (await call("customer_details", customer_id=customer))["email"]


TASKS: dict[str, Task] = {
    "all orders of one customer, page by page": (
        {"want": "order_history", "have": {"customer_id": "CUST-001"}},
        ["order_history"],
        lambda call: _all_orders(call, "CUST-001"),
    ),
    "everything about the customers that a word finds": (
        {"want": "customer_details", "have": {"query": "enterprise"}},
        ["customer_search", "customer_details"],
        lambda call: _details(call, "enterprise"),
    ),
    "the mail address of one customer": (
        {"want": "email", "have": {"customer_id": "CUST-002"}},
        ["customer_details"],
        lambda call: _email(call, "CUST-002"),
    ),
    "move a customer to another segment": (
        {"want": "update_customer_segment", "have": {"customer_id": "CUST-003", "segment": "smb"}},
        ["update_customer_segment"],
        lambda call: call("update_customer_segment", customer_id="CUST-003", segment="smb"),
    ),
    # What these two return is declared nowhere: it is learned.
    "every document that a word finds": (
        {"want": "get_doc", "have": {"query": "expenses"}},
        ["search_docs", "get_doc"],
        lambda call: _documents(call, "expenses"),
    ),
}


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Any, ...]]:
    """Do all tasks; return the suggestion, the mistakes the check found, the run, and the right output of each."""
    store = {"path": str(tmp_path_factory.mktemp("tasks") / "store.db")}

    async def main() -> dict[str, tuple[Any, ...]]:
        done = {}
        async with Gateway.open({"store": store}, servers=bundled("sales", "doc_retrieval")) as gateway:
            await gateway.refresh()
            servers = {tool.original_name: tool.server for tool in gateway.snapshot.tools.values()}

            async def by_hand(tool: str, **arguments: Any) -> Any:
                result = await gateway.call(f"mcp__{servers[tool]}__{tool}", **arguments)
                if result.has_structured_content:
                    return result.structured_content
                return json.loads(result.text) if result.text[:1] in "[{" else result.text

            for query in ("expenses", "security", "travel"):
                await _documents(by_hand, query)
            for name, (ask, _, right) in TASKS.items():
                expected = await right(by_hand)
                found = await gateway.suggest_workflow(**ask)
                best = found["suggestions"][0]
                checked = await gateway.check(best["program"])
                done[name] = best, checked.mistakes, await gateway.execute(best["program"]), expected
        return done

    return asyncio.run(main())


@pytest.mark.parametrize("name", TASKS)
def test_the_suggested_program_returns_what_was_asked_for(
    done: dict[str, tuple[Any, ...]], name: str
) -> None:
    suggestion, mistakes, ran, right = done[name]
    assert [tool.rpartition("__")[2] for tool in suggestion["tools"]] == TASKS[name][1]
    assert suggestion["missing"] == []
    assert list(mistakes) == []
    assert ran.outcome == "ok", ran.text
    assert json.loads(ran.output) == right
