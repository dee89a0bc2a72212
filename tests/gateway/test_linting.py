"""The linter over live servers: it uses what is on record, and reports servers that are down."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from halflap import Gateway
from halflap.core.errors import ServerNotFoundError
from halflap.lint import drafts_of
from lint.shop import TOOLS, call
from servers.memory import Memory

if TYPE_CHECKING:
    from halflap.lint.live import Linted

GONE = {"name": "gone", "command": "/nowhere/at/all", "args": []}


def shop() -> Memory:
    return Memory(*TOOLS, answer=call)


def told(linted: Linted) -> dict[str, set[tuple[str, str]]]:
    found: dict[str, set[tuple[str, str]]] = {}
    for server in linted.report.servers:
        for one in server.findings:
            found.setdefault(one.rule, set()).add((one.tool.rpartition("__")[2], one.path))
    return found


async def test_recorded_results_are_used_as_evidence() -> None:
    async with Gateway.open({}, servers={"shop": shop()}) as gateway:
        before = await gateway.lint()
        assert not told(before).keys() & {"results-break-schema", "error-as-text"}
        unjudged = {rule for one in before.report.servers[0].not_judged for rule in one.rules}
        assert {"results-break-schema", "error-as-text", "id-not-produced"} <= unjudged
        for number in range(4):
            for name in ("get_order", "find_order", "track_order"):
                await gateway.call(f"mcp__shop__{name}", order_id=f"o{number}")
        await gateway.call("mcp__shop__find_order", order_id="none")
        after = await gateway.lint(["shop"])
        found = told(after)
        assert found["results-break-schema"] == {("get_order", "output.total")}
        assert found["error-as-text"] == {("track_order", ""), ("find_order", "")}
        assert [
            one.original_name for one in after.report.servers[0].findings if one.rule == "duplicate-name"
        ] == [
            "track_order",
            "track_order",
        ]
        assert "Track it again." in {one.tool.description for one in after.servers[0].tools}
        assert ("print_order", "") not in found["no-output-schema"]
        (server,) = after.report.servers
        assert [(one.rule, one.reason) for one in server.ignored] == [("no-output-schema", "It is paper.")]
        drafts = {one.original_name: one for one in drafts_of(after.servers[0])}
        assert drafts["find_order"].observations == 5
        assert "class FindOrderResult" in drafts["find_order"].python
        assert drafts["print_order"].schema is None


async def test_a_server_that_is_down_is_reported_and_the_others_are_linted() -> None:
    async with Gateway.open({"servers": [GONE]}, servers={"shop": shop()}) as gateway:
        linted = await gateway.lint()
        assert list(linted.unavailable) == ["gone"]
        assert [one.server for one in linted.report.servers] == ["shop"]
        with pytest.raises(ServerNotFoundError, match="'shop'"):
            await gateway.lint(["shoop"])
