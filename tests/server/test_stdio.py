"""`halflap serve` over stdio: real processes, bad lines, noise, and how it ends."""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from cli.program import OLD, configure
from halflap.config import Config
from halflap.gateway import Gateway
from halflap.server import Front
from server.faces import stdio_face, wired
from support import PATIENCE, alive, children_of, eventually, python_server

NAMES = ["mcp__old__bare", "mcp__old__hello", "mcp__old__sloppy"]
FLOODING = python_server("flooding", "unwilling.py", "floods", protocol="legacy")


@pytest.mark.parametrize("mode", ["auto", pytest.param("legacy", marks=pytest.mark.slow)])
def test_a_client_of_either_era_is_served_and_stderr_stays_quiet(tmp_path: Path, mode: str) -> None:
    async def scenario() -> tuple[Any, ...]:
        with (tmp_path / "stderr").open("w+") as errors:
            config = configure(tmp_path, OLD)
            async with stdio_face(config, tmp_path, mode=mode, errors=errors) as client:
                tools = [tool.name for tool in (await client.list_tools()).tools]
                listed = await client.call_tool("list_callable_tools", {})
                wrong = await client.call_tool("list_callable_tools", {"server": "alpha"})
                with pytest.raises(MCPError) as unknown:
                    await client.call_tool("list_calable_tools", {})
                version, instructions = client.protocol_version, client.instructions or ""
            errors.seek(0)
            return version, instructions, tools, listed, wrong, unknown.value, errors.read()

    version, instructions, tools, listed, wrong, unknown, stderr = asyncio.run(scenario())
    assert version == {"auto": "2026-07-28", "legacy": "2025-11-25"}[mode]
    assert tools == [
        "search_tools",
        "list_callable_tools",
        "inspect_tool",
        "call_tool",
        "execute_program",
        "suggest_workflow",
    ]
    assert all(name in instructions for name in tools if name != "list_callable_tools")
    assert listed.structured_content == {"result": NAMES}
    assert [block.text for block in listed.content] == [json.dumps(NAMES, indent=2)]
    assert wrong.is_error
    assert unknown.code == -32602
    assert all(name in unknown.message for name in tools)
    # What the sloppy server does wrong is said once.
    assert [line for line in stderr.splitlines() if "a tool without a name" not in line] == []


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_hanging_server_delays_no_list_of_tools_and_no_signal(
    tmp_path: Path, number: signal.Signals
) -> None:
    hang = python_server("hang", "unwilling.py", "silent", start_timeout_seconds=1_000)
    with wired(configure(tmp_path, hang, OLD), tmp_path) as wire:
        wire.greet()
        assert wire.ask("tools/list")["result"]["tools"]
        wire.send(
            b'{"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": "list_callable_tools"}}'
        )
        assert eventually(lambda: len(children_of(wire.process.pid)) >= 3)
        children = children_of(wire.process.pid)
        wire.process.send_signal(number)
        assert wire.process.wait(PATIENCE) == 0
        assert eventually(lambda: not any(alive(pid) for pid in children))
        assert wire.process.stderr is not None
        assert b"Traceback" not in wire.process.stderr.read()


BAD_LINES = [
    b"garbage",
    b"",
    b'{"jsonrpc": "2.0", "id": 1, "method": ',
    b"[1, 2, 3]",
    b"null",
    b'{"jsonrpc": "2.0"}',
    b'{"jsonrpc": "2.0", "id": 2, "method": "no/such/method", "params": {}}',
    b'{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": [1]}',
    b'{"jsonrpc": "2.0", "id": 3, "result": {}}',
    b"\xff\xfe\x80\x00",
    b"x" * 10_000_000,
    b'{"jsonrpc": "2.0", "method": "notifications/x", "params": {"text": "' + b"x" * 10_000_000 + b'"}}',
    b"[" * 100_000,
]


def test_neither_noise_nor_a_broken_server_nor_bad_lines_disturb_it_and_the_end_of_input_ends_everything(
    tmp_path: Path,
) -> None:
    config = configure(tmp_path, OLD, FLOODING, python_server("dies", "unwilling.py", "dies"))
    with wired(config, tmp_path) as wire:
        wire.greet()

        def listed() -> list[str]:
            answer = wire.ask("tools/call", name="list_callable_tools", arguments={})
            return [block["text"] for block in answer["result"]["content"]]

        # Servers that take long to start are named in the note, and their tools follow.
        assert eventually(lambda: json.loads(listed()[0]) == ["mcp__flooding__use", *NAMES])
        assert "'dies'" in listed()[1]
        assert "exit code 7" in listed()[1]
        for line in BAD_LINES:
            wire.send(line)
            assert "result" in wire.ask("ping"), line[:30]
        children = children_of(wire.process.pid)
        assert len(children) >= 3
        assert wire.process.stdin is not None
        wire.process.stdin.close()
        assert wire.process.wait(PATIENCE) == 0
        assert eventually(lambda: not any(alive(pid) for pid in children))


async def test_a_damaged_store_is_an_error_of_each_call(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "halflap.db").write_bytes(b"this is no database" * 100)
    gateway = Gateway(Config(data_dir=tmp_path / "data"))
    async with Client(Front(gateway).server) as client:
        result = await client.call_tool("list_callable_tools", {})
    await gateway.close()
    assert result.is_error
    assert "halflap.db" in result.content[0].text  # type: ignore[union-attr]
