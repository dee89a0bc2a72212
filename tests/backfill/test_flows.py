"""Lineage from logs: in every form, and counted once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from backfill.logs import backfill, found_in, lines
from halflap.backfill import Rules
from halflap.graph.lineage import Count, Flow, Lineage
from halflap.store import ToolKey, open_store
from store.rows import call

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from halflap.store import Store

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

SHOP = Rules(server="shop", salt=b"s" * 32)
FIND, GET = ToolKey("shop", "find", ""), ToolKey("shop", "get", "")
FLOW = Flow(FIND, "orders[].id", GET, "order_id")
ONCE = Lineage({FLOW: Count(1, 1)})
ORDER = "QW7T2B"


def found(run: Any, seq: int | None, order: str = ORDER, **more: Any) -> dict[str, Any]:
    return _trace(run, seq, "find", {"who": 1}, {"orders": [{"id": order}]}, **more)


def got(run: Any, seq: int | None, order: str = ORDER, **more: Any) -> dict[str, Any]:
    return _trace(run, seq, "get", {"order_id": order}, {"total": 1}, **more)


def _trace(
    run: Any, seq: int | None, tool: str, arguments: dict[str, Any], result: Any, **more: Any
) -> dict[str, Any]:
    numbered = {} if seq is None else {"seq": seq}
    return {"run": run, **numbered, "tool": tool, "arguments": arguments, "result": result, **more}


@pytest.mark.parametrize("numbered", [True, False])
def test_calls_of_one_run_are_connected(numbered: bool) -> None:
    data = lines(found("r", 1 if numbered else None), got("r", 2 if numbered else None))
    assert found_in(data, SHOP).knowledge.lineage == ONCE


def test_calls_of_different_runs_or_of_none_are_not() -> None:
    assert not found_in(lines(found("r", 1), got("s", 2)), SHOP).knowledge.lineage.counts
    assert not found_in(lines(found(None, 1), got(None, 2)), SHOP).knowledge.lineage.counts


def test_an_error_is_no_source() -> None:
    assert not found_in(lines(found("r", 1, is_error=True), got("r", 2)), SHOP).knowledge.lineage.counts


ASKED = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"who": 1}'}}
THEN = {
    "id": "c2",
    "type": "function",
    "function": {"name": "get", "arguments": json.dumps({"order_id": ORDER})},
}
TOLD = json.dumps({"orders": [{"id": ORDER}]})
OPENAI: list[dict[str, Any]] = [
    {"role": "assistant", "tool_calls": [ASKED]},
    {"role": "tool", "tool_call_id": "c1", "content": TOLD},
    {"role": "assistant", "tool_calls": [THEN]},
    {"role": "tool", "tool_call_id": "c2", "content": "{}"},
]
ANTHROPIC: list[dict[str, Any]] = [
    {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "find", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": TOLD}]},
    {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "b", "name": "get", "input": {"order_id": ORDER}}],
    },
]
PARALLEL = [
    {"role": "assistant", "tool_calls": [ASKED, THEN]},
    {"role": "tool", "tool_call_id": "c1", "content": TOLD},
    {"role": "tool", "tool_call_id": "c2", "content": "{}"},
]
WIRE: list[dict[str, Any]] = [
    {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "find", "arguments": {}}},
    {
        "jsonrpc": "2.0",
        "id": 1,
        "result": {"content": [], "structuredContent": {"orders": [{"id": ORDER}]}},
    },
    {
        "jsonrpc": "2.0",
        "id": 2,
        "method": "tools/call",
        "params": {"name": "get", "arguments": {"order_id": ORDER}},
    },
]


@pytest.mark.parametrize(
    "data",
    [
        lines({"messages": OPENAI}),
        lines(*OPENAI),
        json.dumps(OPENAI, indent=1).encode(),
        lines({"messages": ANTHROPIC}),
        lines(*({"sessionId": "s", "type": one["role"], "message": one} for one in ANTHROPIC)),
        lines(*WIRE),
        lines(*({"server": "shop", "session": "s", "message": one} for one in WIRE)),
    ],
    ids=["conversation", "messages", "document", "blocks", "sessions", "wire", "wrapped"],
)
def test_a_conversation_is_a_run(data: bytes) -> None:
    assert found_in(data, SHOP).knowledge.lineage == ONCE


@pytest.mark.parametrize(
    "data",
    [
        lines({"messages": OPENAI[:2]}, {"messages": OPENAI[2:]}),
        lines({"messages": PARALLEL}),
        lines(
            *({"sessionId": "s", "message": one} for one in ANTHROPIC[:2]),
            {"sessionId": "t", "message": ANTHROPIC[2]},
        ),
        lines(*({"session": "s", "message": one} for one in WIRE[:2]), {"session": "t", "message": WIRE[2]}),
    ],
    ids=["two", "at once", "sessions", "connections"],
)
def test_other_conversations_and_parallel_calls_are_not_connected(data: bytes) -> None:
    assert not found_in(data, SHOP).knowledge.lineage.counts


async def stored(store: Store) -> Lineage:
    return (await store.lineage()).get("backfill", Lineage())


def test_recorded_calls_count_too_and_once(run: Run) -> None:
    async def main() -> None:
        store = await open_store(None)
        result = {"content": [], "structuredContent": {"orders": [{"id": ORDER}]}}
        asked = json.dumps({"order_id": ORDER})
        more: dict[str, Any] = {"server": "shop", "definition_hash": "", "run": "r"}
        await store.record(
            calls=[
                call(1, tool="find", arguments="{}", result=json.dumps(result), **more),
                call(2, tool="get", arguments=asked, result="{}", **more),
                # Of what was taken out nobody knows that it was the same.
                call(3, tool="find", arguments="{}", result='{"content": ["[redacted]"]}', **more),
                call(4, tool="get", arguments='{"order_id": "[redacted]"}', result="{}", **more),
            ]
        )
        for _ in range(2):
            await backfill(store, "store", rules=SHOP)
        assert await stored(store) == ONCE
        await store.close()

    run(main())
