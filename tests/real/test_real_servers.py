"""Servers that other people wrote, from npm and PyPI."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from halflap import Gateway
from support import (
    HALFLAP,
    NODE_SERVERS,
    alive,
    children_of,
    comes,
    eventually,
    node_program,
    skip_missing,
    some,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

PYTHON_SERVERS = Path(sys.executable).parent


@contextmanager
def everything_over_http(kind: str) -> Iterator[int]:
    """Run the real `everything` server over HTTP; yields its port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {**os.environ, "PORT": str(port)}
    process = subprocess.Popen(
        [node_program("mcp-server-everything"), kind],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def listens() -> bool:
        with socket.socket() as attempt:
            return attempt.connect_ex(("127.0.0.1", port)) == 0

    try:
        assert eventually(listens)
        yield port
    finally:
        process.kill()
        process.wait()


def test_everything(run: Run) -> None:
    async def scenario() -> None:
        server = {"name": "everything", "command": node_program("mcp-server-everything")}
        async with Gateway.open({"servers": [server]}) as gateway:
            tools = await gateway.tools()
            assert len(tools) >= 13
            assert sum(1 for tool in tools if tool.output_schema) == 1
            assert (await gateway.call("mcp__everything__echo", message="hello")).text == "Echo: hello"
            weather = await gateway.call("mcp__everything__get_structured_content", location="Chicago")
            assert set(weather.structured_content) == {"temperature", "conditions", "humidity"}
            image = await gateway.call("mcp__everything__get_tiny_image")
            assert "image" in {block["type"] for block in image.content}

    run(scenario())


def test_filesystem_gets_the_configured_roots(run: Run, tmp_path: Path) -> None:
    first, other = tmp_path / "first", tmp_path / "other"
    first.mkdir()
    other.mkdir()
    (other / "note.txt").write_text("written before\n")

    async def scenario() -> None:
        server = {"name": "files", "command": node_program("mcp-server-filesystem"), "args": [str(first)]}
        async with Gateway.open({"servers": [server], "roots": [str(other)]}) as gateway:
            tools = await gateway.tools()
            assert len(tools) == 14
            assert all(tool.output_schema for tool in tools)

            async def allowed() -> bool:
                return str(other) in (await gateway.call("mcp__files__list_allowed_directories")).text

            assert await comes(allowed)
            read = await gateway.call("mcp__files__read_text_file", path=str(other / "note.txt"))
            assert read.structured_content == {"content": "written before\n"}
            assert (await gateway.call("mcp__files__read_text_file", path="/etc/passwd")).is_error

    run(scenario())


@pytest.mark.slow
def test_memory(run: Run, tmp_path: Path) -> None:
    async def scenario() -> None:
        server = {
            "name": "memory",
            "command": node_program("mcp-server-memory"),
            "env": {"MEMORY_FILE_PATH": str(tmp_path / "memory.json")},
        }
        async with Gateway.open({"servers": [server]}) as gateway:
            tools = await gateway.tools()
            assert len(tools) == 9
            assert all(tool.output_schema for tool in tools)
            entity = {"name": "Halflap", "entityType": "gateway", "observations": ["joins tools"]}
            await gateway.call("mcp__memory__create_entities", entities=[entity])
            found = await gateway.call("mcp__memory__search_nodes", query="joins")
            assert found.structured_content["entities"] == [entity]

    run(scenario())


@pytest.mark.slow
def test_time(run: Run) -> None:
    async def scenario() -> None:
        server = {"name": "time", "command": str(PYTHON_SERVERS / "mcp-server-time")}
        async with Gateway.open({"servers": [server]}) as gateway:
            tools = await gateway.tools()
            assert [tool.name for tool in tools] == ["mcp__time__convert_time", "mcp__time__get_current_time"]
            assert all(tool.output_schema for tool in tools)
            result = await gateway.call("mcp__time__get_current_time", timezone="Europe/Berlin")
            assert json.loads(result.text)["timezone"] == "Europe/Berlin"

    run(scenario())


@pytest.mark.slow
def test_git(run: Run, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "new.txt").write_text("new\n")

    async def scenario() -> None:
        server = {"name": "git", "command": str(PYTHON_SERVERS / "mcp-server-git")}
        async with Gateway.open({"servers": [server]}) as gateway:
            tools = await gateway.tools()
            assert len(tools) == 12
            assert not any(tool.output_schema for tool in tools)
            assert "new.txt" in (await gateway.call("mcp__git__git_status", repo_path=str(tmp_path))).text

    run(scenario())


@pytest.mark.parametrize(
    ("kind", "path", "transport"), some([("streamableHttp", "mcp", "http"), ("sse", "sse", "sse")], every=2)
)
def test_everything_over_http(run: Run, kind: str, path: str, transport: str) -> None:
    async def scenario(port: int) -> None:
        server = {"name": "everything", "url": f"http://127.0.0.1:{port}/{path}", "transport": transport}
        async with Gateway.open({"servers": [server]}) as gateway:
            assert len(await gateway.tools()) >= 13
            assert (await gateway.call("mcp__everything__echo", message="web")).text == "Echo: web"

    with everything_over_http(kind) as port:
        run(scenario(port))


@pytest.mark.slow
def test_killing_the_gateway_under_npx_servers_leaves_no_process(tmp_path: Path, home: Path) -> None:
    if shutil.which("npx") is None or not NODE_SERVERS.exists():
        skip_missing("npx and the npm servers; `make test` installs them where npm is there")
    npx = ["--prefix", str(NODE_SERVERS.parent.parent), "--no-install"]
    config = tmp_path / "servers.json"
    config.write_text(
        json.dumps(
            {
                "mcpServers": {
                    "everything": {"command": "npx", "args": [*npx, "mcp-server-everything"]},
                    "memory": {"command": "npx", "args": [*npx, "mcp-server-memory"]},
                    "files": {"command": "npx", "args": [*npx, "mcp-server-filesystem", str(tmp_path)]},
                }
            }
        )
    )
    environment = {**os.environ, "HALFLAP_DATA_DIR": str(home)}
    gateway = subprocess.Popen(
        [HALFLAP, "serve", "--config", str(config)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        env=environment,
    )
    try:
        # For each server a guardian, npx and node.
        assert eventually(lambda: len(children_of(gateway.pid)) >= 3 * 3)
        started = children_of(gateway.pid)
    finally:
        gateway.send_signal(signal.SIGKILL)
        gateway.wait()
        assert gateway.stdin is not None
        gateway.stdin.close()
    assert eventually(lambda: not any(alive(pid) for pid in started)), [pid for pid in started if alive(pid)]
