"""Lineage from logs: in every form, and counted once."""

from __future__ import annotations

import json
from typing import Any

import pytest

from backfill.logs import backfill, found_in, lines, opened
from halflap.backfill import Rules
from halflap.graph.lineage import Count, Flow, Lineage
from halflap.store import ToolKey
from store.rows import call

SHOP = Rules(server="shop", salt=b"s" * 32)
FIND, GET = ToolKey("shop", "find", ""), ToolKey("shop", "get", "")
ONCE = Lineage({Flow(FIND, "orders[].id", GET, "order_id"): Count(1, 1)})
NEVER = Lineage()
ORDER = "QW7T2B"
FOUND: dict[str, Any] = {"orders": [{"id": ORDER}]}
TOLD, ASKS = json.dumps(FOUND), {"order_id": ORDER}


def trace(run: Any, tool: str, **more: Any) -> dict[str, Any]:
    arguments, result = ({}, FOUND) if tool == "find" else (ASKS, {"total": 1})
    return {"run": run, "tool": tool, "arguments": arguments, "result": result, **more}


def function(identifier: str, name: str, arguments: Any) -> dict[str, Any]:
    about = {"name": name, "arguments": json.dumps(arguments)}
    return {"id": identifier, "type": "function", "function": about}


def rpc(identifier: int, name: str, arguments: Any) -> dict[str, Any]:
    params = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": identifier, "method": "tools/call", "params": params}


OPENAI: list[dict[str, Any]] = [
    {"role": "assistant", "tool_calls": [function("c1", "find", {"who": 1})]},
    {"role": "tool", "tool_call_id": "c1", "content": TOLD},
    {"role": "assistant", "tool_calls": [function("c2", "get", ASKS)]},
    {"role": "tool", "tool_call_id": "c2", "content": "{}"},
]
ANTHROPIC: list[dict[str, Any]] = [
    {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "find", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": TOLD}]},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "b", "name": "get", "input": ASKS}]},
]
PARALLEL = [
    {"role": "assistant", "tool_calls": [function("c1", "find", {}), function("c2", "get", ASKS)]},
    *OPENAI[1::2],
]
WIRE: list[dict[str, Any]] = [
    rpc(1, "find", {}),
    {"jsonrpc": "2.0", "id": 1, "result": {"content": [], "structuredContent": FOUND}},
    rpc(2, "get", ASKS),
]


@pytest.mark.parametrize(
    "data",
    [
        lines(trace("r", "find"), trace("r", "get")),
        lines(trace("r", "find", seq=1), trace("r", "get", seq=2)),
        lines({"messages": OPENAI}),
        lines(*OPENAI),
        json.dumps(OPENAI, indent=1).encode(),
        lines({"messages": ANTHROPIC}),
        lines(*({"sessionId": "s", "type": one["role"], "message": one} for one in ANTHROPIC)),
        lines(*WIRE),
        lines(*({"server": "shop", "session": "s", "message": one} for one in WIRE)),
    ],
    ids=["run", "numbered", "conversation", "messages", "document", "blocks", "sessions", "wire", "wrapped"],
)
def test_calls_of_one_run_or_conversation_are_connected(data: bytes) -> None:
    assert found_in(data, SHOP).knowledge.lineage == ONCE


@pytest.mark.parametrize(
    "data",
    [
        lines(trace("r", "find"), trace("s", "get")),
        lines(trace(None, "find"), trace(None, "get")),
        lines(trace("r", "find", is_error=True), trace("r", "get")),
        lines({"messages": OPENAI[:2]}, {"messages": OPENAI[2:]}),
        lines({"messages": PARALLEL}),
        lines(*({"session": "s", "message": one} for one in WIRE[:2]), {"session": "t", "message": WIRE[2]}),
    ],
    ids=["runs", "no run", "error", "conversations", "at once", "connections"],
)
def test_calls_of_others_parallel_calls_and_errors_are_not(data: bytes) -> None:
    assert found_in(data, SHOP).knowledge.lineage == NEVER


async def test_recorded_calls_count_too_and_once() -> None:
    result = json.dumps({"content": [], "structuredContent": FOUND})
    more: dict[str, Any] = {"server": "shop", "definition_hash": "", "run": "r"}
    async with opened() as store:
        await store.record(
            calls=[
                call(1, tool="find", arguments="{}", result=result, **more),
                call(2, tool="get", arguments=json.dumps(ASKS), result="{}", **more),
                # What was redacted may have been different.
                call(3, tool="find", arguments="{}", result='{"content": ["[redacted]"]}', **more),
                call(4, tool="get", arguments='{"order_id": "[redacted]"}', result="{}", **more),
            ]
        )
        for _ in range(2):
            await backfill(store, "store", rules=SHOP)
        assert (await store.lineage())["backfill"] == ONCE
