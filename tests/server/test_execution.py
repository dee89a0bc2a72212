"""`execute_program` as a client sees it: output, resources, cancelling, and asking the person."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from server.faces import in_memory, write_script
from servers.memory import Memory, definition, echo, text
from support import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

    from mcp import Client

DESTRUCTIVE: dict[str, Any] = {
    "tools": {"destructive": ["mcp__echo__pid"]},
    "execution": {"confirm_destructive": True},
}
RAW = """import os, sys
print('{"jsonrpc": "2.0", "id": 1, "result": {}}')
sys.__stdout__.write("x\\n")
try:
    os.write(1, b"raw\\n")
except OSError:
    print("refused")
"""
PID = "print(int(await mcp__echo__pid()) > 0)"


async def execute(client: Client, code: str, **options: Any) -> types.CallToolResult:
    return await client.call_tool("execute_program", {"code": code}, **options)


def text_of(result: types.CallToolResult) -> str:
    (first, *_) = result.content
    assert isinstance(first, types.TextContent)
    return first.text


async def test_only_whole_identifiers_of_runs_are_resources_and_nothing_raw_reaches_the_protocol(
    home: Path,
) -> None:
    async with in_memory(home, {}) as client:
        raw = await execute(client, RAW)
        assert text_of(raw).endswith("x\nrefused")
        assert raw.meta is not None
        run = raw.meta["halflap"]["run"]
        assert (await client.list_resources()).resources == []
        for uri in ("halflap://runs/00000000ff/output", "file:///etc/passwd", *(
            f"halflap://runs/{run[:length]}/output" for length in (8, 27)
        )):  # fmt: skip
            with pytest.raises(MCPError, match=r"no resource|not found") as refused:
                await client.read_resource(uri)
            assert run not in str(refused.value)


async def test_an_output_that_was_not_kept_has_a_code_in_the_error(home: Path) -> None:
    async with in_memory(home, {}, {"traces": {"record": "metadata"}}) as client:
        ran = await execute(client, "print(1)")
        assert ran.meta is not None
        with pytest.raises(MCPError) as refused:
            await client.read_resource(f"halflap://runs/{ran.meta['halflap']['run']}/output")
    assert refused.value.error.data == {"code": "output-not-kept"}


async def test_progress_is_reported_and_cancelling_the_request_ends_the_program_and_its_calls(
    home: Path,
) -> None:
    heard, cancelled = asyncio.Event(), asyncio.Event()

    async def hear(_progress: float, _total: float | None, _message: str | None) -> None:
        heard.set()

    async def hang(_name: str, _arguments: Any) -> Any:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    async with in_memory(home, {"slow": Memory("hang", answer=hang)}) as client, asyncio.timeout(PATIENCE):
        program = asyncio.create_task(execute(client, "await mcp__slow__hang()", progress_callback=hear))
        await heard.wait()
        program.cancel()
        await cancelled.wait()


# Asking the person --------------------------------------------------------------------------------------


async def _confirmed(client: Client, answers: list[types.ElicitResult]) -> dict[str, str]:
    """Execute a destructive program; the person answers differently each time."""
    got = {}
    for name, action, content in (
        ("yes", "accept", {"confirm": True}),
        ("yes again", "accept", {"confirm": True}),
        ("declined", "decline", None),
        ("dismissed", "cancel", None),
        ("unticked", "accept", {"confirm": False}),
    ):
        answers.append(types.ElicitResult(action=action, content=content))  # type: ignore[arg-type]
        got[name] = text_of(await execute(client, PID))
    got["harmless"] = text_of(await execute(client, "print(await mcp__echo__echo(text='a'))"))
    return got


async def test_a_destructive_call_needs_a_yes_each_time(home: Path) -> None:
    questions: list[str] = []
    answers: list[types.ElicitResult] = []

    async def answer(_context: Any, params: Any) -> types.ElicitResult:
        questions.append(params.message)
        return answers.pop()

    async with in_memory(home, {"echo": echo()}, DESTRUCTIVE, elicitation_callback=answer) as client:
        got = await _confirmed(client, answers)
    assert (got["yes"][-4:], got["yes again"][-4:], got["harmless"][-2:]) == ("True", "True", "\na")
    for name in ("declined", "dismissed", "unticked"):
        assert "not confirmed" in got[name]
    assert len(questions) == 5
    assert "mcp__echo__pid" in questions[0]
    assert PID in questions[0]


async def test_without_a_way_to_ask_a_destructive_call_is_refused(home: Path) -> None:
    server = Memory("pid")
    async with in_memory(home, {"echo": server}, DESTRUCTIVE) as client:
        assert "elicitation" in text_of(await execute(client, PID))
    assert server.calls == []


async def test_the_person_is_asked_about_what_a_called_script_destroys(home: Path) -> None:
    write_script(home, "shout", "async def main(text: str): return (await mcp__s__say(text=text)).upper()")
    settings = {"execution": {"confirm_destructive": True}, "tools": {"destructive": ["mcp__s__say"]}}
    asked: list[str] = []

    async def answer(_context: Any, params: Any) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"confirm": True})

    server = Memory(definition("say", "text"), answer=lambda _, given: text(given["text"]))
    async with in_memory(home, {"s": server}, settings, elicitation_callback=answer) as client:
        ran = await execute(client, "print(await script__shout(text='hey'))")
    assert text_of(ran).endswith("\nHEY")
    (question,) = asked
    assert "mcp__s__say" in question
