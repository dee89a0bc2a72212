"""Where values went in the runs that logs tell of: in every form, however a log is cut, and counted once."""

from __future__ import annotations

import gzip
import json
import tempfile
from functools import reduce
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backfill.logs import backfill, found_in, lines
from halflap.backfill import Rules, following
from halflap.backfill import rules as at_rules
from halflap.backfill.found import NOTHING_FOUND, Found
from halflap.backfill.kernel import learn_range
from halflap.backfill.opening import ranges
from halflap.graph.lineage import Count, Flow, Lineage
from halflap.store import ToolKey, open_store
from store.rows import call
from support import examples

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    from halflap.store import Store

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

SHOP = Rules(server="shop", salt=b"s" * 32)
FIND, GET = ToolKey("shop", "find", ""), ToolKey("shop", "get", "")
FLOW = Flow(FIND, "orders[].id", GET, "order_id")
ONCE = Lineage({FLOW: Count(1, 1)})
ORDER = "NO6JO3"


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
def test_calls_of_one_run_are_put_together(numbered: bool) -> None:
    data = lines(found("r", 1 if numbered else None), got("r", 2 if numbered else None))
    assert found_in(data, SHOP).lineage == ONCE


def test_calls_of_different_runs_or_of_none_are_not() -> None:
    assert not found_in(lines(found("r", 1), got("s", 2)), SHOP).lineage.counts
    assert not found_in(lines(found(None, 1), got(None, 2)), SHOP).lineage.counts


def test_a_call_that_came_before_got_nothing_wherever_it_stands() -> None:
    assert not found_in(lines(found("r", 2), got("r", 1)), SHOP).lineage.counts


def test_an_error_told_nothing() -> None:
    assert not found_in(lines(found("r", 1, is_error=True), got("r", 2)), SHOP).lineage.counts


def test_turned_off_nothing_is_followed() -> None:
    rules = Rules(server="shop", lineage=False)
    assert not found_in(lines(found("r", 1), got("r", 2)), rules).lineage.counts


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
    assert found_in(data, SHOP).lineage == ONCE


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
def test_what_another_conversation_told_or_what_was_asked_at_once_is_none(data: bytes) -> None:
    assert not found_in(data, SHOP).lineage.counts


RUNS: Any = st.lists(
    st.lists(st.tuples(st.booleans(), st.integers(0, 3)), min_size=1, max_size=6), max_size=6
)


def _log(runs: list[list[tuple[bool, int]]]) -> bytes:
    return lines(
        *(
            (found if is_found else got)(f"run {name}", seq, f"ORDER{order}", padding="x" * (40 * seq))
            for name, calls in enumerate(runs)
            for seq, (is_found, order) in enumerate(calls)
        )
    )


def in_ranges(data: bytes, step: int, start: int = 0, rules: Rules = SHOP) -> Lineage:
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        cuts = ranges(file.name, start, len(data), step)
        parts = [learn_range(file.name, begin, end, rules) for begin, end in cuts]
    return reduce(Found.merge, parts, NOTHING_FOUND).lineage


@given(RUNS, st.integers(1, 600))
@settings(max_examples=examples(150))
def test_any_cut_into_ranges_gives_what_one_pass_gives(runs: list[list[tuple[bool, int]]], step: int) -> None:
    data = _log(runs)
    assert in_ranges(data, step) == found_in(data, SHOP, document=False).lineage


def test_a_run_that_began_far_before_a_cut_is_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "_NEAR", 100)
    monkeypatch.setattr(following, "_BLOCK", 50)
    between = [_trace("r", seq, "other", {}, {"text": "x" * 3_000}) for seq in range(2, 50)]
    data = lines(found("before", 1), found("r", 1), *between, got("r", 99))
    assert in_ranges(data, 5_000) == ONCE


def test_runs_that_are_told_by_turns_are_followed_over_a_cut_as_far_as_is_looked() -> None:
    noise = [_trace(f"n{number}", 1, "other", {}, {"text": "x" * 100}) for number in range(50)]
    data = lines(found("r", 1), found("s", 1), *noise, got("r", 2), got("s", 2))
    assert in_ranges(data, 3_000) == Lineage({FLOW: Count(2, 2)})


def test_of_a_very_large_log_some_runs_are_followed_the_same_however_it_is_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(at_rules, "FOLLOWED", 5_000)
    data = lines(*(one for number in range(200) for one in (found(f"r{number}", 1), got(f"r{number}", 2))))
    rules = SHOP.of_size(len(data))
    assert rules.every == len(data) // 5_000 + 1
    whole = found_in(data, rules, document=False).lineage
    (count,) = whole.counts.values()
    assert count.times == count.runs
    assert 200 / rules.every / 3 < count.runs < 3 * 200 / rules.every
    assert in_ranges(data, 700, rules=rules) == whole


async def stored(store: Store) -> Lineage:
    return (await store.lineage()).get("backfill", Lineage())


def test_a_log_is_counted_once_also_when_it_has_grown(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        store = await open_store(None)
        file = tmp_path / "a.jsonl"
        for data in (lines(found("r", 1)), lines(got("r", 2)), b"", lines(got("r", 3))):
            with file.open("ab") as log:
                log.write(data)
            await backfill(store, file, rules=SHOP)
        assert await stored(store) == Lineage({FLOW: Count(2, 1)})
        (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(file.read_bytes()))
        await backfill(store, tmp_path, rules=SHOP)
        assert await stored(store) == Lineage({FLOW: Count(2, 1)})
        await store.close()

    run(main())


def test_a_log_of_messages_that_has_grown_is_counted_once(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        store = await open_store(None)
        file = tmp_path / "a.jsonl"
        for part in (OPENAI[:2], OPENAI[2:], [], [THEN | {"role": "user"}]):
            with file.open("ab") as log:
                log.write(lines(*part))
            await backfill(store, file, rules=SHOP)
        assert await stored(store) == ONCE
        await store.close()

    run(main())


def test_small_files_are_runs_of_their_own(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(lines(found("r", 1)))
    (tmp_path / "b.jsonl").write_bytes(lines(got("r", 2)))
    (tmp_path / "c.jsonl").write_bytes(lines(found("r", 1, "AIXC49"), got("r", 2, "AIXC49")))

    async def main() -> None:
        store = await open_store(None)
        await backfill(store, tmp_path, rules=SHOP)
        assert await stored(store) == ONCE
        await store.close()

    run(main())


def test_a_dry_run_keeps_nothing(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(lines(found("r", 1), got("r", 2)))

    async def main() -> None:
        store = await open_store(None)
        await backfill(store, tmp_path, rules=SHOP, dry_run=True)
        assert await store.lineage() == {}
        await store.close()

    run(main())


def test_our_own_records_tell_it_too_and_once(run: Run) -> None:
    async def main() -> None:
        store = await open_store(None)
        result = {"content": [], "structuredContent": {"orders": [{"id": ORDER}]}}
        asked = json.dumps({"order_id": ORDER})
        more: dict[str, Any] = {"server": "shop", "definition_hash": "", "run": "r"}
        await store.record_calls(
            [
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
