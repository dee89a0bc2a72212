"""The one path to a tool, walked with real servers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from halflap import CallContext, Gateway, Result
from halflap.errors import (
    CallTimeoutError,
    HalflapError,
    InvalidArgumentsError,
    ToolBlockedError,
    ToolFailedError,
    UpstreamLostError,
)
from support import comes, eventually, little_work, python_server

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

ECHO = python_server("echo", "swift.py", protocol="legacy")


def served(folder: Path, *tools: dict[str, Any], **settings: Any) -> dict[str, Any]:
    """Configure a server `s` that has these tools, to the letter."""
    file = folder / "tools.json"
    file.write_text(json.dumps({"s": {"tools": tools}}))
    return {"servers": [python_server("s", "replay.py", str(file), protocol="legacy")], **settings}


def with_schema(name: str, schema: Any) -> dict[str, Any]:
    return {"name": name, "description": "", "inputSchema": schema}


def odd(behaviour: str, notes: Path) -> dict[str, Any]:
    return python_server(
        "s", str(Path(__file__).with_name("odd_server.py")), behaviour, str(notes), protocol="legacy"
    )


async def outcome_of(gateway: Gateway) -> str:
    (record, *_) = await gateway.recent_calls(1)
    return record.outcome


@pytest.mark.parametrize(
    ("behaviour", "arguments", "error", "outcome"),
    [
        ("ok", {"text": "x"}, None, "ok"),
        ("fail", {}, None, "tool_error"),
        ("ok", {"text": 1}, InvalidArgumentsError, "invalid-arguments"),
        ("ok", {"text": float("nan")}, InvalidArgumentsError, "invalid-arguments"),
        ("refuse", {}, ToolFailedError, "tool-failed"),
        ("die", {}, UpstreamLostError, "upstream-lost"),
        ("hang", {}, CallTimeoutError, "call-timeout"),
    ],
)
def test_every_outcome_is_recorded(
    run: Run,
    tmp_path: Path,
    *,
    behaviour: str,
    arguments: dict[str, Any],
    error: type[HalflapError] | None,
    outcome: str,
) -> None:
    async def scenario() -> None:
        limit = 0.3 if behaviour == "hang" else 60
        server = {**odd(behaviour, tmp_path / "notes"), "call_timeout_seconds": limit}
        async with Gateway.open({"servers": [server]}) as gateway:
            with pytest.raises(error) if error is not None else contextlib.nullcontext():
                await gateway.call_tool("mcp__s__t", arguments)
            assert await outcome_of(gateway) == outcome

    run(scenario())


def test_a_call_of_a_blocked_tool_is_recorded_and_not_sent(run: Run, tmp_path: Path) -> None:
    notes = tmp_path / "notes"

    async def scenario() -> None:
        settings = {"servers": [odd("ok", notes)], "tools": {"block": ["mcp__s__*"]}}
        async with Gateway.open(settings) as gateway:
            with pytest.raises(ToolBlockedError):
                await gateway.call("mcp__s__t")
            assert await outcome_of(gateway) == "tool-blocked"

    run(scenario())
    assert not notes.exists()


def test_a_protocol_error_is_recorded_and_told_under_our_name(run: Run, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Gateway.open({"servers": [odd("refuse", tmp_path / "notes")]}) as gateway:
            with pytest.raises(
                ToolFailedError, match=r"call of 'mcp__s__t' with error -32602: I would rather"
            ):
                await gateway.call("mcp__s__t")
            assert await outcome_of(gateway) == "tool-failed"

    run(scenario())


def test_who_called_and_within_what_is_recorded(run: Run, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Gateway.open({"servers": [odd("ok", tmp_path / "notes")]}) as gateway:
            context = CallContext(principal="ann", run="run-1", parent="call-0")
            await gateway.call_tool("mcp__s__t", {"text": "x"}, context)
            (record,) = await gateway.recent_calls(1)
            assert (record.principal, record.run, record.parent) == ("ann", "run-1", "call-0")
            assert (record.server, record.tool) == ("s", "t")
            assert record.definition_hash == gateway.snapshot.tools["mcp__s__t"].hash

    run(scenario())


PRIVATE = b"a very private matter"


@pytest.mark.parametrize(
    "traces",
    [{"record": "metadata"}, {"record": "off"}, {"per_tool": {"mcp__s__*": "metadata", "mcp__*": "full"}}],
    ids=["metadata", "off", "per tool"],
)
def test_neither_arguments_nor_results_are_recorded_if_they_should_not_be(
    run: Run, home: Path, tmp_path: Path, traces: dict[str, Any]
) -> None:
    async def scenario() -> None:
        settings = {"servers": [odd("ok", tmp_path / "notes")], "traces": traces}
        async with Gateway.open(settings) as gateway:
            await gateway.call("mcp__s__t", text=PRIVATE.decode())
            # While it is open, there is a log of changes beside the file.
            await gateway.recent_calls()
            files = await asyncio.to_thread(lambda: [path.read_bytes() for path in home.rglob("*.db*")])
            assert len(files) > 1
            assert not any(PRIVATE in content for content in files)

    run(scenario())


def test_a_call_of_a_tool_that_is_off_is_not_recorded_at_all(run: Run, tmp_path: Path) -> None:
    async def scenario() -> None:
        settings = {"servers": [odd("ok", tmp_path / "notes")], "traces": {"per_tool": {"mcp__s__t": "off"}}}
        async with Gateway.open(settings) as gateway:
            await gateway.call("mcp__s__t", text="x")
            assert await gateway.recent_calls() == []

    run(scenario())


def test_what_was_passed_and_returned_is_recorded(run: Run, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Gateway.open({"servers": [odd("ok", tmp_path / "notes")]}) as gateway:
            result = await gateway.call("mcp__s__t", text="hello")
            (record,) = await gateway.recent_calls(1)
            assert json.loads(record.arguments or "") == {"text": "hello"}
            assert Result.from_wire(json.loads(record.result or "")) == result
            assert not (record.arguments_cut)
            assert not (record.result_cut)

    run(scenario())


def test_what_an_error_said_is_recorded(run: Run, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Gateway.open({"servers": [odd("refuse", tmp_path / "notes")]}) as gateway:
            with pytest.raises(ToolFailedError):
                await gateway.call("mcp__s__t")
            (record,) = await gateway.recent_calls(1)
            assert "I would rather" in (record.error or "")
            assert record.result is None

    run(scenario())


def test_a_secret_of_the_configuration_reaches_no_file(run: Run, home: Path, tmp_path: Path) -> None:
    server = {**odd("ok", tmp_path / "notes"), "env": {"TRACKER_TOKEN": "zq81kfhs62kd"}}

    async def scenario() -> None:
        async with Gateway.open({"servers": [server]}) as gateway:
            await gateway.call("mcp__s__t", text="I say zq81kfhs62kd here")
            (record,) = await gateway.recent_calls(1)
            assert json.loads(record.arguments or "") == {"text": "I say [redacted] here"}
            files = await asyncio.to_thread(lambda: [path.read_bytes() for path in home.rglob("*.db*")])
            assert not any(b"zq81kfhs62kd" in content for content in files)

    run(scenario())


def test_a_call_that_may_change_something_is_on_disk_before_it_is_answered(
    run: Run, home: Path, tmp_path: Path
) -> None:
    async def scenario() -> None:
        async with Gateway.open({"servers": [odd("hang", tmp_path / "notes")]}) as gateway:
            call = asyncio.create_task(gateway.call("mcp__s__t", text="hello"))
            assert await asyncio.to_thread(eventually, (tmp_path / "notes").exists)
            assert await asyncio.to_thread(on_disk, home) == [("sent", None, '{"text": "hello"}')]
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
            await gateway.recent_calls()
            ((outcome, took, arguments),) = await asyncio.to_thread(on_disk, home)
            assert (outcome, arguments) == ("cancelled", '{"text": "hello"}')
            assert took > 0

    run(scenario())


def on_disk(home: Path) -> list[tuple[Any, ...]]:
    (file,) = home.rglob("*.db")
    with contextlib.closing(sqlite3.connect(file)) as connection:
        return connection.execute("SELECT outcome, duration_ms, arguments FROM calls").fetchall()


def test_a_call_that_is_known_to_change_nothing_is_not_waited_for(
    run: Run, home: Path, tmp_path: Path
) -> None:
    settings = {"servers": [odd("hang", tmp_path / "notes")], "tools": {"read_only": ["mcp__s__*"]}}

    async def scenario() -> None:
        async with Gateway.open(settings) as gateway:
            call = asyncio.create_task(gateway.call("mcp__s__t", text="hello"))
            assert await asyncio.to_thread(eventually, (tmp_path / "notes").exists)
            assert await asyncio.to_thread(on_disk, home) == []
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)

    run(scenario())


@pytest.mark.parametrize("arguments", [{"text": 1}, {"text": float("nan")}])
def test_a_call_that_is_refused_is_never_said_to_be_sent(
    run: Run, home: Path, tmp_path: Path, arguments: dict[str, Any]
) -> None:
    async def scenario() -> None:
        async with Gateway.open({"servers": [odd("ok", tmp_path / "notes")]}) as gateway:
            with pytest.raises(InvalidArgumentsError):
                await gateway.call_tool("mcp__s__t", arguments)
            assert await asyncio.to_thread(on_disk, home) == []
            assert await outcome_of(gateway) == "invalid-arguments"

    run(scenario())


def laughs(levels: int) -> dict[str, Any]:
    parts: dict[str, Any] = {"d0": {"type": "string"}}
    for level in range(1, levels + 1):
        parts[f"d{level}"] = {"allOf": [{"$ref": f"#/$defs/d{level - 1}"}, {"$ref": f"#/$defs/d{level - 1}"}]}
    return {"type": "object", "$defs": parts, "properties": {"a": {"$ref": f"#/$defs/d{levels}"}}}


HOSTILE = {
    "network": {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/x.json"}}},
    "bomb": {"type": "object", "properties": {"a": {"type": "string", "pattern": r"^(a|a)*\1$"}}},
    "circle": {"type": "object", "$ref": "#"},
    "nonsense": {"type": "nonsense", "properties": [1]},
    "nowhere": {"type": "object", "properties": {"a": {"$ref": "#/$defs/gone"}}},
    "laughs": laughs(60),
    "foreign": {"$schema": "http://127.0.0.1:9/draft-99", "type": "object"},
    "wide": {"type": "object", "properties": {f"p{one}": {"pattern": "^a$"} for one in range(20_000)}},
    "list": [1, 2],
    "text": "string",
    "nothing": None,
}


def test_no_schema_however_hostile_keeps_a_tool_from_being_called(run: Run, tmp_path: Path) -> None:
    settings = served(tmp_path, *(with_schema(name, schema) for name, schema in HOSTILE.items()))

    async def scenario() -> None:
        async with Gateway.open(settings) as gateway:
            await gateway.refresh()
            with little_work(20):
                for name in HOSTILE:
                    result = await gateway.call(f"mcp__s__{name}", a="a" * 5_000 + "!")
                    assert result.text == f"called {name}"

    run(scenario())


def test_an_output_schema_however_hostile_does_not_lose_the_result(run: Run, tmp_path: Path) -> None:
    tools = (
        {**with_schema(name, {"type": "object"}), "outputSchema": schema} for name, schema in HOSTILE.items()
    )
    settings = served(tmp_path, *tools)

    async def scenario() -> None:
        async with Gateway.open(settings) as gateway:
            await gateway.refresh()
            for name in HOSTILE:
                assert (await gateway.call(f"mcp__s__{name}")).text == f"called {name}"

    run(scenario())


def test_true_is_not_an_integer(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open({"servers": [ECHO]}) as gateway:
            with pytest.raises(InvalidArgumentsError, match="a: expected integer, received true"):
                await gateway.call("mcp__echo__add", a=True, b=1)

    run(scenario())


def test_a_number_that_json_has_not_is_told_with_its_place(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open({"servers": [ECHO]}) as gateway:
            with pytest.raises(
                InvalidArgumentsError, match="a: expected integer, received NaN, which is not JSON"
            ):
                await gateway.call("mcp__echo__add", a=float("nan"), b=1)

    run(scenario())


def test_arguments_nested_without_end_are_refused(run: Run, tmp_path: Path) -> None:
    async def scenario() -> None:
        value: Any = 1
        for _ in range(100_000):
            value = [value]
        async with Gateway.open({"servers": [odd("ok", tmp_path / "notes")]}) as gateway:
            with pytest.raises(InvalidArgumentsError, match="text: expected at most 100 levels"):
                await gateway.call("mcp__s__t", text=value)

    run(scenario())


def test_a_result_without_the_structure_that_was_declared_is_a_breach(run: Run, tmp_path: Path) -> None:
    declared = {**with_schema("t", {"type": "object"}), "outputSchema": {"type": "object"}}
    settings = served(tmp_path, declared)

    async def scenario() -> None:
        async with Gateway.open(settings) as gateway:
            await gateway.call("mcp__s__t")
            (record,) = await gateway.recent_calls(1)
            assert (record.outcome, record.breach) == ("ok", "expected structured content, received none")

    run(scenario())


def test_a_tool_is_called_by_its_original_name(run: Run, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Gateway.open(served(tmp_path, with_schema("größe/x.y", {"type": "object"}))) as gateway:
            assert (await gateway.call("mcp__s__gr__e_x_y")).text == "called größe/x.y"

    run(scenario())


@pytest.mark.parametrize(
    ("trusted", "sent"), [pytest.param(False, 1, id="untrusted"), pytest.param(True, 3, id="trusted")]
)
def test_a_call_is_repeated_on_a_servers_word_only_if_it_is_trusted(
    run: Run, tmp_path: Path, *, trusted: bool, sent: int
) -> None:
    notes = tmp_path / "notes"
    server = {**odd("die", notes), "trust_annotations": trusted}

    async def scenario() -> None:
        async with Gateway.open({"servers": [server]}) as gateway:
            with pytest.raises(UpstreamLostError):
                await gateway.call("mcp__s__t")

    run(scenario())
    assert notes.read_text().count("call") == sent


def test_a_call_that_is_cancelled_is_recorded(run: Run, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Gateway.open({"servers": [odd("hang", tmp_path / "notes")]}) as gateway:
            await gateway.refresh()
            call = asyncio.create_task(gateway.call("mcp__s__t"))
            assert await comes(lambda: asyncio.to_thread((tmp_path / "notes").exists))
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            assert await outcome_of(gateway) == "cancelled"

    run(scenario())
