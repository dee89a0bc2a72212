"""`halflap serve` over stdio: real processes, bad lines, noise, and how it ends."""

from __future__ import annotations

import json
import signal
from pathlib import Path

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


async def test_a_client_learns_how_to_use_the_tools_and_stderr_stays_quiet(tmp_path: Path) -> None:
    with (tmp_path / "stderr").open("w+") as errors:
        config = configure(tmp_path, OLD)
        async with stdio_face(config, tmp_path, mode="auto", errors=errors) as client:
            tools = {tool.name for tool in (await client.list_tools()).tools}
            assert all(name in (client.instructions or "") for name in tools - {"list_callable_tools"})
            with pytest.raises(MCPError) as unknown:
                await client.call_tool("list_calable_tools", {})
        assert (unknown.value.code, all(name in unknown.value.message for name in tools)) == (-32602, True)
        errors.seek(0)
        # What the sloppy server does wrong is said once.
        assert [line for line in errors if "a tool without a name" not in line] == []


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
