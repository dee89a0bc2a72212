"""The example server behind a real gateway: one story, seen from all sides."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from halflap.config import Config
from halflap.gateway import Gateway
from support import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

SERVER = ROOT / "examples" / "sales-server" / "server.py"
PROGRAM = """
import asyncio, json

top = await mcp__sales__sales_top_customers(period="quarter", limit=3)
if not top["success"]:
    raise ValueError(top["error"]["message"])
rows = []
for customer in top["data"]["customers"]:
    orders, cursor = [], None
    while True:
        page = await mcp__sales__order_history(customer_id=customer["customer_id"], limit=20, cursor=cursor)
        if not page["success"]:
            raise ValueError(page["error"]["message"])
        orders += page["data"]["results"]
        if not page["data"]["pagination"]["has_more"]:
            break
        cursor = page["data"]["pagination"]["next_cursor"]
    details = await mcp__sales__customer_details(customer_id=customer["customer_id"])
    if details["success"]:
        total = page["data"]["pagination"]["total_count"]
        rows.append([details["data"]["name"], details["data"]["segment"], len(orders), total, len({one["order_id"] for one in orders})])
print(json.dumps(rows))
"""
WRONG_KEY = """
found = await mcp__sales__customer_details(customer_id="CUST-001")
if found["success"]:
    print(found["data"]["nmae"])
"""
WRONG_BRANCH = WRONG_KEY.replace("if found", "if not found").replace("nmae", "name")
TOOLS = {
    "customer_details", "customer_search", "opportunity_activities", "opportunity_contacts", "opportunity_details",
    "order_history", "sales_pipeline", "sales_report", "sales_top_customers",
}  # fmt: skip


async def story() -> dict[str, Any]:
    config = Config.from_mapping(
        {
            "servers": [
                {
                    "name": "sales",
                    "command": sys.executable,
                    "args": [str(SERVER)],
                    "env": {"PYTHONPATH": str(ROOT / "src")},
                }
            ]
        }
    )
    seen: dict[str, Any] = {}
    async with Gateway.open(config) as gateway:

        async def call(name: str, **arguments: Any) -> Any:
            result = await gateway.call(f"mcp__sales__{name}", **arguments)
            assert not result.is_error
            assert json.loads(result.text) == result.structured_content
            return result.structured_content

        seen["tools"] = {tool.original_name: tool for tool in await gateway.tools()}
        seen["schema"] = await gateway.get_schema("mcp__sales__order_history")
        seen["program"] = await gateway.execute(PROGRAM)
        seen["wrong key"] = await gateway.check(WRONG_KEY)
        seen["wrong branch"] = await gateway.check(WRONG_BRANCH)
        seen["right"] = await gateway.check(PROGRAM)
        seen["suggested"] = await gateway.suggest_workflow(want="order_history", have={"query": "enterprise"})
        seen["suggested ran"] = await gateway.execute(seen["suggested"]["suggestions"][0]["program"])
        graph = await gateway.graph()
        seen["edges"] = [edge.to_json() for edge in graph.edges()]
        seen["not found"] = await call("order_history", customer_id="CUST-999")
        seen["empty"] = await call("customer_search", query=" ")
        first = await call("order_history", customer_id="CUST-001", limit=5)
        cursor = first["data"]["pagination"]["next_cursor"]
        seen["foreign"] = await call("order_history", customer_id="CUST-002", cursor=cursor)
        seen["forged"] = await call("order_history", customer_id="CUST-001", cursor=cursor[:-1] + "_")
        seen["most"] = await call("order_history", customer_id="CUST-001", limit=50)
        seen["lint"] = (await gateway.lint(["sales"])).report
        seen["breaches"] = [call for call in await gateway.recent_calls(100) if call.breach]
    return seen


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    with pytest.MonkeyPatch.context() as patch:
        home = tmp_path_factory.mktemp("sales")
        patch.setenv("HALFLAP_CONFIG_DIR", str(home / "config"))
        patch.setenv("HALFLAP_DATA_DIR", str(home / "data"))
        yield asyncio.run(story())


def printed(execution: Any) -> Any:
    """Read the JSON that a program printed, after the line that says how it went."""
    said, _, output = execution.text.partition("\n")
    assert said == "[Script executed successfully]"
    return json.loads(output)


@pytest.mark.slow
def test_the_tools_are_listed(seen: dict[str, Any]) -> None:
    assert set(seen["tools"]) == TOOLS


@pytest.mark.slow
def test_a_program_reads_all_orders_of_the_top_customers(seen: dict[str, Any]) -> None:
    rows = printed(seen["program"])
    assert [row[0] for row in rows] == ["Acme Corp", "Harbor Medical", "Globex Logistics"]
    for _, segment, count, total, different in rows:
        assert segment == "enterprise"
        assert count == total == different > 20


def test_the_check_knows_the_keys_of_a_successful_envelope(seen: dict[str, Any]) -> None:
    (mistake,) = seen["wrong key"].mistakes
    assert mistake.code == "check-unknown-key"
    assert len(seen["wrong branch"].doubts) == 1
    assert (*seen["right"].mistakes, *seen["right"].doubts, seen["right"].skipped) == (None,)


def test_edges_lead_from_the_data_of_the_envelope(seen: dict[str, Any]) -> None:
    edges = {
        (edge["from"].removeprefix("mcp__sales__"), edge["to"].removeprefix("mcp__sales__")): edge
        for edge in seen["edges"]
    }
    for source in ("sales_top_customers", "customer_search"):
        for target in ("order_history", "customer_details"):
            edge = edges[source, target]
            assert [(one["from"], one["to"]) for one in edge["mappings"]] == [
                ("data.customers[].customer_id", "customer_id")
            ]
            assert edge["coverage"] == "strict"
            assert "declared" in edge["evidence"]
    for target in ("opportunity_details", "opportunity_contacts", "opportunity_activities"):
        assert edges["sales_pipeline", target]["coverage"] == "strict"
    assert edges["order_history", "order_history"]["mappings"][0]["from"] == "data.pagination.next_cursor"
    assert all(one["from"].startswith("data.") for edge in edges.values() for one in edge["mappings"])


def test_a_suggested_program_runs(seen: dict[str, Any]) -> None:
    suggested = seen["suggested"]["suggestions"][0]
    assert suggested["tools"] == ["mcp__sales__customer_search", "mcp__sales__order_history"]
    answers = printed(seen["suggested ran"])
    assert len(answers) == 4
    assert all(one["success"] for one in answers)


def test_the_signature_is_readable(seen: dict[str, Any]) -> None:
    schema = seen["schema"]
    assert schema.format_compact().startswith(
        "mcp__sales__order_history(customer_id: string, limit?: integer = 10, cursor?: string | null) -> "
        "{success: true, data: {results: [{order_id: string, customer_id: string, total_cents: integer, "
    )


def test_errors_are_envelopes_with_a_code(seen: dict[str, Any]) -> None:
    assert seen["not found"]["success"] is False
    assert seen["not found"]["error"]["code"] == "NOT_FOUND"
    assert "sales_top_customers" in seen["not found"]["error"]["message"]
    assert seen["not found"]["metadata"]["source"] == "sales-book"
    for name in ("empty", "foreign", "forged"):
        assert seen[name]["error"]["code"] == "INVALID_QUERY"


def test_lint_finds_nothing_but_what_is_ignored_with_a_reason(seen: dict[str, Any]) -> None:
    (server,) = seen["lint"].servers
    assert [(one.rule, one.tool, one.path) for one in server.findings] == []
    assert server.score == 100
    ignored = {one.path: one for one in server.ignored}
    assert set(ignored) == {"output.data.results[].order_id", "output.data.report_id"}
    assert all(one.ignored_by == "author" and one.reason for one in ignored.values())


def test_a_page_holds_as_many_items_as_the_limit(seen: dict[str, Any]) -> None:
    assert seen["tools"]["order_history"].parameters["properties"]["limit"]["maximum"] == 50
    assert seen["most"]["data"]["pagination"]["page_size"] == 50


def test_no_answer_violates_its_schema(seen: dict[str, Any]) -> None:
    assert seen["breaches"] == []
