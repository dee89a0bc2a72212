"""Tasks on the bundled servers: the suggested program is run, and returns what calls made by hand return."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from halflap.gateway import Gateway
from servers.memory import bundled

if TYPE_CHECKING:
    from collections.abc import Callable


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


TASKS: list[tuple[dict[str, Any], list[str], Callable[[Any], Any]]] = [
    (
        {"want": "order_history", "have": {"customer_id": "CUST-001"}},
        ["order_history"],
        lambda call: _all_orders(call, "CUST-001"),
    ),
    (
        {"want": "customer_details", "have": {"query": "enterprise"}},
        ["customer_search", "customer_details"],
        lambda call: _details(call, "enterprise"),
    ),
    (
        {"want": "update_customer_segment", "have": {"customer_id": "CUST-003", "segment": "smb"}},
        ["update_customer_segment"],
        lambda call: call("update_customer_segment", customer_id="CUST-003", segment="smb"),
    ),
    # What these two return is declared nowhere: it is learned.
    (
        {"want": "get_doc", "have": {"query": "expenses"}},
        ["search_docs", "get_doc"],
        lambda call: _documents(call, "expenses"),
    ),
]


async def test_suggested_programs_return_what_was_asked_for() -> None:
    async with Gateway.open({}, servers=bundled("sales", "doc_retrieval")) as gateway:
        await gateway.refresh()
        servers = {tool.original_name: tool.server for tool in gateway.snapshot.tools.values()}

        async def by_hand(tool: str, **arguments: Any) -> Any:
            result = await gateway.call(f"mcp__{servers[tool]}__{tool}", **arguments)
            if result.has_structured_content:
                return result.structured_content
            return json.loads(result.text) if result.text[:1] in "[{" else result.text

        for query in ("expenses", "security", "travel"):
            await _documents(by_hand, query)
        for question, tools, right in TASKS:
            expected = await right(by_hand)
            best = (await gateway.suggest_workflow(**question))["suggestions"][0]
            assert [tool.rpartition("__")[2] for tool in best["tools"]] == tools
            assert best["missing"] == []
            assert not (await gateway.check(best["program"])).mistakes
            ran = await gateway.execute(best["program"])
            assert ran.outcome == "ok", ran.text
            assert json.loads(ran.output) == expected
