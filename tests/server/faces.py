"""Clients of our MCP server: in this process, and of `halflap serve` over stdio and HTTP."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TextIO

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from cli.program import configure, environment
from halflap.config import Config
from halflap.gateway import Gateway
from halflap.server import Front
from support import HALFLAP

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
    from pathlib import Path

HANDSHAKE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


@asynccontextmanager
async def in_memory(
    home: Path,
    servers: Mapping[str, Any],
    settings: Mapping[str, Any] | None = None,
    *,
    mode: str = "auto",
    **options: Any,
) -> AsyncIterator[Client]:
    """Connect a client to our MCP server in this process, in front of servers that are in it, too."""
    config = await asyncio.to_thread(Config.from_mapping, settings or {})
    own = replace(config, data_dir=home / "data")
    async with Gateway.open(own, servers=servers) as gateway:
        front = Front(gateway)
        async with Client(front.server, mode=mode, **options) as client:
            yield client


def write_script(home: Path, name: str, code: str) -> None:
    folder = home / "data" / "scripts"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.py").write_text(code)


@asynccontextmanager
async def stdio_face(
    config: str, home: Path, *, mode: str, errors: TextIO, **options: Any
) -> AsyncIterator[Client]:
    """Connect a client to `halflap serve` over stdio."""
    parameters = StdioServerParameters(
        command=HALFLAP, args=["serve", "-c", config], env=environment(home), cwd=home
    )
    async with Client(stdio_client(parameters, errlog=errors), mode=mode, **options) as client:
        yield client


class Wire:
    """`halflap serve` over stdio with nothing in between, for what a well-behaved client never does."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._last = 0

    def send(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request and return its answer, whatever else comes before it."""
        assert self.process.stdout is not None
        self._last += 1
        request = {"jsonrpc": "2.0", "id": f"test-{self._last}", "method": method, "params": params}
        self.send(json.dumps(request).encode())
        for line in self.process.stdout:
            message: dict[str, Any] = json.loads(line)
            if message.get("id") == request["id"]:
                return message
        raise AssertionError(f"the program ended without an answer to {method}")

    def greet(self) -> None:
        assert "result" in self.ask("initialize", **HANDSHAKE)
        self.send(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')


@contextmanager
def wired(config: str, home: Path) -> Iterator[Wire]:
    """Start `halflap serve` over stdio."""
    with subprocess.Popen(
        [HALFLAP, "serve", "-c", config],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(home),
        cwd=home,
    ) as process:
        try:
            yield Wire(process)
        finally:
            process.kill()


@dataclass(frozen=True)
class Served:
    process: subprocess.Popen[str]
    url: str
    said: str
    """What it said when it started."""
    token: str

    @property
    def port(self) -> int:
        return int(self.url.split(":")[2].split("/", maxsplit=1)[0])

    def ask(
        self, path: str = "/mcp", method: str = "POST", parameters: Any = HANDSHAKE, **headers: str
    ) -> httpx2.Response:
        given = {"Authorization": f"Bearer {self.token}"} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": parameters}
        return httpx2.request(
            method,
            f"http://127.0.0.1:{self.port}{path}",
            headers={"Accept": "application/json, text/event-stream", **given},
            json=request if method == "POST" else None,
            timeout=60,
            trust_env=False,
            verify=False,
        )


@contextmanager
def served(
    home: Path,
    *servers: dict[str, Any],
    address: str = ":0",
    arguments: Sequence[str] = (),
    **more: Any,
) -> Iterator[Served]:
    with subprocess.Popen(
        [HALFLAP, "serve", "-c", configure(home, *servers, **more), "--http", address, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=environment(home),
        cwd=home,
        text=True,
    ) as process:
        try:
            assert process.stderr is not None
            said = ""
            for line in process.stderr:
                said += line
                if "oken is in" in line or line.startswith(("  ", "Tokens are")):
                    break
            found = re.search(r"Serving at (http://\S+)", said)
            assert found is not None, said
            kept = home / "data" / "http_token"
            yield Served(process, found[1], said, kept.read_text().strip() if kept.exists() else "")
        finally:
            process.kill()


@asynccontextmanager
async def client_of(
    face: Served, mode: str, scheme: str = "Bearer ", **options: Any
) -> AsyncIterator[Client]:
    headers = {"Authorization": f"{scheme}{face.token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False, verify=False) as http,
        Client(streamable_http_client(face.url, http_client=http), mode=mode, **options) as client,
    ):
        yield client
