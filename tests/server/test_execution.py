"""`execute_program` as a client sees it: output, resources, cancelling, and asking the person."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from server.faces import in_memory
from servers.memory import Memory, definition, echo, text
from support import comes

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


async def refusal(work: Any) -> str:
    try:
        await work
    except MCPError as error:
        return str(error)
    return "none"


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    progress: list[str | None] = []
    cancelled: list[str] = []

    async def hear(_progress: float, _total: float | None, message: str | None) -> None:
        progress.append(message)

    async def hang(name: str, _arguments: Any) -> Any:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.append(name)

    async def ask() -> dict[str, Any]:
        servers = {"echo": echo(), "slow": Memory("hang", answer=hang)}
        async with in_memory(tmp_path_factory.mktemp("execution"), servers) as client:
            told: dict[str, Any] = {"raw": await execute(client, RAW)}
            told["run"] = told["raw"].meta["halflap"]["run"]
            told["resources"] = (await client.list_resources()).resources
            told["refused"] = [
                await refusal(client.read_resource(uri))
                for uri in (
                    "halflap://runs/00000000ff/output",
                    "file:///etc/passwd",
                    f"halflap://runs/{told['run'][:8]}/output",
                    f"halflap://runs/{told['run'][:27]}/output",
                )
            ]
            program = asyncio.create_task(execute(client, "await mcp__slow__hang()", progress_callback=hear))
            while not progress:
                await asyncio.sleep(0.02)
            program.cancel()
            await asyncio.wait([program])

            async def counted() -> bool:
                return cancelled == ["hang"]

            told["cancelled"] = await comes(counted)
            told["progress"] = progress
        return told

    return asyncio.run(ask())


def test_what_a_program_prints_never_reaches_the_protocol(told: dict[str, Any]) -> None:
    assert text_of(told["raw"]).endswith("x\nrefused")


def test_outputs_of_runs_are_not_listed(told: dict[str, Any]) -> None:
    assert told["resources"] == []


def test_neither_a_strange_address_nor_part_of_an_identifier_is_a_resource(told: dict[str, Any]) -> None:
    for refused in told["refused"]:
        assert "no resource" in refused or "not found" in refused
        assert told["run"] not in refused


def test_cancelling_the_request_ends_the_program_and_its_calls(told: dict[str, Any]) -> None:
    assert told["cancelled"]


def test_progress_is_reported_while_a_program_runs(told: dict[str, Any]) -> None:
    assert told["progress"]


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


def test_a_destructive_call_needs_a_yes_each_time(home: Path) -> None:
    questions: list[str] = []
    answers: list[types.ElicitResult] = []

    async def answer(_context: Any, params: Any) -> types.ElicitResult:
        questions.append(params.message)
        return answers.pop()

    async def ask() -> dict[str, str]:
        async with in_memory(home, {"echo": echo()}, DESTRUCTIVE, elicitation_callback=answer) as client:
            return await _confirmed(client, answers)

    got = asyncio.run(ask())
    assert (got["yes"][-4:], got["yes again"][-4:], got["harmless"][-2:]) == ("True", "True", "\na")
    for name in ("declined", "dismissed", "unticked"):
        assert "not confirmed" in got[name]
    assert len(questions) == 5
    assert "mcp__echo__pid" in questions[0]
    assert PID in questions[0]


def test_without_a_way_to_ask_a_destructive_call_is_refused(home: Path) -> None:
    server = Memory("pid")

    async def ask() -> str:
        async with in_memory(home, {"echo": server}, DESTRUCTIVE) as client:
            return text_of(await execute(client, PID))

    assert "elicitation" in asyncio.run(ask())
    assert server.calls == []


def test_the_person_is_asked_about_what_a_called_script_destroys(home: Path) -> None:
    folder = home / "data" / "scripts"
    folder.mkdir(parents=True)
    (folder / "shout.py").write_text(
        "async def main(text: str): return (await mcp__s__say(text=text)).upper()"
    )
    settings = {"execution": {"confirm_destructive": True}, "tools": {"destructive": ["mcp__s__say"]}}
    asked: list[str] = []

    async def answer(_context: Any, params: Any) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"confirm": True})

    async def use() -> str:
        server = Memory(definition("say", "text"), answer=lambda _, given: text(given["text"]))
        async with in_memory(home, {"s": server}, settings, elicitation_callback=answer) as client:
            return text_of(await execute(client, "print(await script__shout(text='hey'))"))

    assert asyncio.run(use()).endswith("\nHEY")
    assert len(asked) == 1
    assert "mcp__s__say" in asked[0]
