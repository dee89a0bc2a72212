"""The example server behind a gateway in one process; its page has the commands."""

from __future__ import annotations

import asyncio
import runpy
import sys
from typing import Any

import pytest

from halflap.config import Config
from halflap.gateway import Gateway
from support import ROOT

FOLDER = ROOT / "examples" / "sales-server"
WRONG_KEY = """
found = await mcp__sales__customer_details(customer_id="CUST-001")
if found["success"]:
    print(found["data"]["nmae"])
"""
WRONG_BRANCH = WRONG_KEY.replace("if found", "if not found").replace("nmae", "name")


async def story(server: Any) -> None:
    async with Gateway.open(Config.from_mapping({}), servers={"sales": server}) as gateway:
        (mistake,) = (await gateway.check(WRONG_KEY)).mistakes
        assert mistake.code == "check-unknown-key"
        assert len((await gateway.check(WRONG_BRANCH)).doubts) == 1
        edges = {(edge.source, edge.target): edge for edge in (await gateway.graph()).edges()}
        for source in ("sales_top_customers", "customer_search"):
            for target in ("order_history", "customer_details"):
                edge = edges[f"mcp__sales__{source}", f"mcp__sales__{target}"].to_json()
                assert (edge["coverage"], "declared" in edge["evidence"]) == ("strict", True)
        best = (await gateway.suggest_workflow(want="order_history", have={"query": "enterprise"}))[
            "suggestions"
        ][0]
        assert best["tools"] == ["mcp__sales__customer_search", "mcp__sales__order_history"]
        assert (await gateway.execute(best["program"])).output.count('"success":true') == 4
        (linted,) = (await gateway.lint(["sales"])).report.servers
        assert (linted.findings, linted.score) == ((), 100)
        assert all(one.ignored_by == "author" and one.reason for one in linted.ignored)
        assert [one for one in await gateway.recent_calls(100) if one.breach] == []


@pytest.mark.slow
def test_the_example_server_composes_as_its_page_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(FOLDER)
    server = runpy.run_path(str(FOLDER / "server.py"))["server"]
    try:
        asyncio.run(story(server))
    finally:
        sys.modules.pop("book", None)
