"""The example server behind a gateway, in one process: one story, seen from all sides."""

from __future__ import annotations

import asyncio
import json
import runpy
import sys
from typing import Any

import pytest

from halflap.config import Config
from halflap.gateway import Gateway
from support import ROOT

FOLDER = ROOT / "examples" / "sales-server"
PROGRAM = """
import json

rows = []
top = await mcp__sales__sales_top_customers(period="quarter", limit=3)
if not top["success"]:
    raise ValueError(top["error"]["message"])
for customer in top["data"]["customers"]:
    orders, cursor = [], None
    while True:
        page = await mcp__sales__order_history(customer_id=customer["customer_id"], limit=20, cursor=cursor)
        if not page["success"]:
            raise ValueError(page["error"]["message"])
        orders += [one["order_id"] for one in page["data"]["results"]]
        if not page["data"]["pagination"]["has_more"]:
            break
        cursor = page["data"]["pagination"]["next_cursor"]
    rows.append([customer["name"], len(set(orders)), page["data"]["pagination"]["total_count"]])
print(json.dumps(rows))
"""
WRONG_KEY = """
found = await mcp__sales__customer_details(customer_id="CUST-001")
if found["success"]:
    print(found["data"]["nmae"])
"""
WRONG_BRANCH = WRONG_KEY.replace("if found", "if not found").replace("nmae", "name")


def printed(execution: Any) -> Any:
    assert execution.ok, execution.text
    return json.loads(execution.output)


async def story(server: Any) -> None:
    config = Config.from_mapping({})
    async with Gateway.open(config, servers={"sales": server}) as gateway:
        schema = await gateway.get_schema("mcp__sales__order_history")
        assert schema.format_compact().startswith(
            "mcp__sales__order_history(customer_id: string, limit?: integer = 10, cursor?: string | null) -> "
            "{success: true, data: {results: [{order_id: string, customer_id: string, total_cents: integer, "
        )
        await _checked_and_run(gateway)
        await _linked(gateway)
        (linted,) = (await gateway.lint(["sales"])).report.servers
        assert (linted.findings, linted.score) == ((), 100)
        assert {one.path for one in linted.ignored} == {
            "output.data.results[].order_id",
            "output.data.report_id",
        }
        assert all(one.ignored_by == "author" and one.reason for one in linted.ignored)
        assert [one for one in await gateway.recent_calls(100) if one.breach] == []


async def _checked_and_run(gateway: Gateway) -> None:
    (mistake,) = (await gateway.check(WRONG_KEY)).mistakes
    assert mistake.code == "check-unknown-key"
    assert len((await gateway.check(WRONG_BRANCH)).doubts) == 1
    right = await gateway.check(PROGRAM)
    assert (*right.mistakes, *right.doubts) == ()
    rows = printed(await gateway.execute(PROGRAM))
    assert [row[0] for row in rows] == ["Acme Corp", "Harbor Medical", "Globex Logistics"]
    assert all(count == total > 20 for _, count, total in rows)


async def _linked(gateway: Gateway) -> None:
    edges = {
        (edge["from"], edge["to"]): edge
        for edge in (one.to_json() for one in (await gateway.graph()).edges())
    }
    for source in ("sales_top_customers", "customer_search"):
        for target in ("order_history", "customer_details"):
            edge = edges[f"mcp__sales__{source}", f"mcp__sales__{target}"]
            ends = [(one["from"], one["to"]) for one in edge["mappings"]]
            assert ends == [("data.customers[].customer_id", "customer_id")]
            assert (edge["coverage"], "declared" in edge["evidence"]) == ("strict", True)
    assert all(one["from"].startswith("data.") for edge in edges.values() for one in edge["mappings"])
    found = await gateway.suggest_workflow(want="order_history", have={"query": "enterprise"})
    best = found["suggestions"][0]
    assert best["tools"] == ["mcp__sales__customer_search", "mcp__sales__order_history"]
    answers = printed(await gateway.execute(best["program"]))
    assert [one["success"] for one in answers] == [True] * 4


@pytest.mark.slow
def test_the_example_server_composes_as_its_page_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(FOLDER)
    server = runpy.run_path(str(FOLDER / "server.py"))["server"]
    try:
        asyncio.run(story(server))
    finally:
        sys.modules.pop("book", None)
