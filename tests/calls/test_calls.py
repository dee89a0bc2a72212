"""The one path to a tool: what is refused, what is recorded, and when."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from halflap import CallContext, Gateway, Result
from halflap.core.errors import (
    CallTimeoutError,
    HalflapError,
    InvalidArgumentsError,
    ToolFailedError,
    ToolNotFoundError,
    UpstreamLostError,
)
from servers.memory import Memory, RefusedError, definition, text
from support import little_work, python_server


class Odd(Memory):
    """Has one tool `t` with a given behaviour."""

    def __init__(self, behaviour: str = "ok") -> None:
        super().__init__(definition("t", "text?"), answer=lambda *_: self.behave(behaviour))
        self.reached = asyncio.Event()

    async def behave(self, behaviour: str) -> Any:
        self.reached.set()
        if behaviour == "refuse":
            raise RefusedError(-32602, "I would rather not.")
        if behaviour == "hang":
            await asyncio.Event().wait()
        return text("done", isError=behaviour == "fail")


@pytest.mark.parametrize(
    ("behaviour", "arguments", "error", "outcome"),
    [
        ("ok", {"text": "x"}, None, "ok"),
        ("fail", {}, None, "tool_error"),
        ("ok", {"text": 1}, InvalidArgumentsError, "invalid-arguments"),
        ("refuse", {}, ToolFailedError, "tool-failed"),
        ("hang", {}, CallTimeoutError, "call-timeout"),
    ],
)
async def test_every_outcome_is_recorded(
    home: Path, *, behaviour: str, arguments: dict[str, Any], error: type[HalflapError] | None, outcome: str
) -> None:
    server = Odd(behaviour)
    async with Gateway.open({}, servers={"s": server}) as gateway:
        await gateway.refresh()
        limit = asyncio.get_running_loop().time() + (0.2 if behaviour == "hang" else 1_000)
        context = CallContext(principal="ann", run="run-1", parent="call-0", deadline=limit)
        result = None
        with pytest.raises(error) if error is not None else contextlib.nullcontext():
            result = await gateway.call_tool("mcp__s__t", arguments, context)
        if outcome == "invalid-arguments":
            assert await asyncio.to_thread(on_disk, home) == [], "It was never sent."
        (record,) = await gateway.recent_calls(1)
        assert record.outcome == outcome
        assert (record.principal, record.run, record.parent) == ("ann", "run-1", "call-0")
        assert (record.server, record.tool) == ("s", "t")
        assert json.loads(record.arguments or "") == arguments
        assert (record.result and Result.from_wire(json.loads(record.result))) == result
        assert behaviour != "refuse" or "I would rather" in (record.error or "")
        assert record.definition_hash == gateway.snapshot.tools["mcp__s__t"].hash
    assert len(server.calls) == (0 if outcome == "invalid-arguments" else 1)


async def test_a_call_of_an_unknown_tool_is_recorded_without_secrets() -> None:
    traces = {"per_tool": {"mcp__s__hush*": "off"}}
    token = "ghp_" + "a1" * 18
    async with Gateway.open({"traces": traces}, servers={"s": Odd()}) as gateway:
        await gateway.refresh()
        for name in ("mcp__s__tt", token, "mcp__s__hush_hush"):
            with pytest.raises(ToolNotFoundError):
                await gateway.call(name, password="hunter2")
        unknown, misspelled = await gateway.recent_calls()
        assert (unknown.tool, unknown.outcome) == ("[redacted]", "tool-not-found")
        assert (misspelled.server, misspelled.tool, misspelled.definition_hash) == ("s", "tt", "")
        assert misspelled.arguments == '{"password": "[redacted]"}'


PRIVATE = b"a very private matter"


@pytest.mark.parametrize(
    ("traces", "records"),
    [
        ({"record": "off"}, 0),
        ({"per_tool": {"mcp__s__*": "metadata", "mcp__*": "full"}}, 1),
    ],
)
async def test_neither_arguments_nor_results_reach_a_file_if_they_should_not(
    home: Path, traces: dict[str, Any], records: int
) -> None:
    count = {"type": "object", "properties": {"count": {"type": "integer"}}}
    broken = {"content": [], "structuredContent": {"count": PRIVATE.decode()}}
    server = Memory(definition("t", "text", outputSchema=count), answer=lambda *_: broken)
    async with Gateway.open({"traces": traces}, servers={"s": server}) as gateway:
        await gateway.call("mcp__s__t", text=PRIVATE.decode())
        # A broken declaration is kept by its place alone.
        assert [(one.breach or "")[:6] for one in await gateway.recent_calls()] == ["count:"] * records
        # While it is open, there is a log of changes beside the file.
        files = await asyncio.to_thread(lambda: [path.read_bytes() for path in home.rglob("*.db*")])
        assert len(files) > 1
        assert not any(PRIVATE in content for content in files)


async def test_a_secret_of_the_configuration_reaches_no_file(home: Path) -> None:
    holder = {"name": "off", "command": "x", "env": {"TRACKER_TOKEN": "zq81kfhs62kd"}, "disabled": True}
    async with Gateway.open({"servers": [holder]}, servers={"s": Odd()}) as gateway:
        await gateway.call("mcp__s__t", text="I say zq81kfhs62kd here")
        (record,) = await gateway.recent_calls(1)
        assert json.loads(record.arguments or "") == {"text": "I say [redacted] here"}
        files = await asyncio.to_thread(lambda: [path.read_bytes() for path in home.rglob("*.db*")])
        assert not any(b"zq81kfhs62kd" in content for content in files)


def on_disk(home: Path) -> list[tuple[Any, ...]]:
    (file,) = home.rglob("*.db")
    with contextlib.closing(sqlite3.connect(file)) as connection:
        return connection.execute("SELECT outcome, duration_ms, arguments FROM calls").fetchall()


@pytest.mark.parametrize(
    ("read_only", "written"), [(False, [("sent", None, '{"text": "hello"}')]), (True, [])]
)
async def test_a_call_that_may_change_something_is_on_disk_before_it_is_sent(
    home: Path, *, read_only: bool, written: list[Any]
) -> None:
    rules = {"read_only": ["mcp__s__*"] if read_only else []}
    server = Odd("hang")
    async with Gateway.open({"tools": rules}, servers={"s": server}) as gateway:
        call = asyncio.create_task(gateway.call("mcp__s__t", text="hello"))
        await server.reached.wait()
        assert await asyncio.to_thread(on_disk, home) == written
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        await gateway.recent_calls()
        ((outcome, took, arguments),) = await asyncio.to_thread(on_disk, home)
        assert (outcome, arguments) == ("cancelled", '{"text": "hello"}')
        assert took > 0


@pytest.mark.parametrize(
    ("trusted", "sent"), [pytest.param(False, 1, id="untrusted"), pytest.param(True, 3, id="trusted")]
)
async def test_a_lost_call_is_repeated_on_a_servers_word_only_if_it_is_trusted(
    tmp_path: Path, *, trusted: bool, sent: int
) -> None:
    notes = tmp_path / "notes"
    server = python_server("s", "noting.py", "die", str(notes), protocol="legacy", trust_annotations=trusted)
    async with Gateway.open({"servers": [server]}) as gateway:
        with pytest.raises(UpstreamLostError):
            await gateway.call("mcp__s__t")
        (record,) = await gateway.recent_calls(1)
        assert record.outcome == "upstream-lost"
    assert notes.read_text().count("call") == sent


HOSTILE: dict[str, Any] = {
    "network": {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/x.json"}}},
    "bomb": {"type": "object", "properties": {"a": {"type": "string", "pattern": r"^(a|a)*\1$"}}},
    "circle": {"type": "object", "$ref": "#"},
    "nonsense": {"type": "nonsense", "properties": [1]},
    "wide": {"type": "object", "properties": {f"p{one}": {"pattern": "^a$"} for one in range(3_000)}},
    "list": [1, 2],
}


async def test_no_hostile_schema_keeps_a_tool_from_being_called() -> None:
    inputs = [definition(name, inputSchema=schema) for name, schema in HOSTILE.items()]
    outputs = [definition(f"{name}_out", outputSchema=schema) for name, schema in HOSTILE.items()]
    server = Memory(*inputs, *outputs)
    async with Gateway.open({}, servers={"s": server}) as gateway:
        await gateway.refresh()
        with little_work(40):
            for name in (*HOSTILE, *(f"{name}_out" for name in HOSTILE)):
                arguments = {} if name.endswith("_out") else {"a": "a" * 5_000 + "!"}
                assert (await gateway.call(f"mcp__s__{name}", **arguments)).text == f"called {name}"


@pytest.mark.parametrize(
    ("result", "breach"),
    [
        ({"structuredContent": {"count": "many"}}, "count:"),
        ({}, "expected structured content"),
        ({"structuredContent": {"count": 3}}, None),
    ],
)
async def test_a_result_that_breaks_its_declared_schema_is_delivered_and_recorded(
    result: dict[str, Any], breach: str | None
) -> None:
    count = {"type": "object", "properties": {"count": {"type": "integer"}}}
    server = Memory(definition("t", outputSchema=count), answer=lambda *_: {"content": [], **result})
    async with Gateway.open({}, servers={"s": server}) as gateway:
        assert (await gateway.call("mcp__s__t")).structured_content == result.get("structuredContent")
        (record,) = await gateway.recent_calls(1)
        assert record.outcome == "ok"
        assert (record.breach or "").startswith(breach or "")
        assert (record.breach is None) == (breach is None)
