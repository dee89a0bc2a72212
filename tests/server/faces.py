"""What the tests of both faces share: `halflap serve`, and who talks to it."""

from __future__ import annotations

import json
import re
import subprocess
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from cli.program import configure, environment
from support import HALFLAP

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

HANDSHAKE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}

FACES: list[Any] = [
    ("stdio", "auto"),
    ("http", "legacy"),
    # Each transport and each era is there once above; the other two pairs run with `make test-all`.
    pytest.param(("stdio", "legacy"), marks=pytest.mark.slow),
    pytest.param(("http", "auto"), marks=pytest.mark.slow),
]

ONE_FACE = [FACES[0], *(pytest.param(face, marks=pytest.mark.slow) for face in [FACES[1]]), *FACES[2:]]
"""For what is the same whoever asks: that every face passes answers on is tested with FACES."""


def face_id(face: tuple[str, str]) -> str:
    """Name a face in a test's name."""
    return "-".join(face)


@asynccontextmanager
async def stdio_face(
    config: str, home: Path, *, mode: str, errors: TextIO, **options: Any
) -> AsyncIterator[Client]:
    """Give a client of `halflap serve` over stdio."""
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
        """Send a request and give its answer, whatever else comes before it."""
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

    def ask(self, path: str = "/mcp", method: str = "POST", **headers: str) -> httpx2.Response:
        given = {"Authorization": f"Bearer {self.token}"} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HANDSHAKE}
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
def served(home: Path, *servers: dict[str, Any], address: str = ":0", **more: Any) -> Iterator[Served]:
    with subprocess.Popen(
        [HALFLAP, "serve", "-c", configure(home, *servers, **more), "--http", address],
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
                if "oken is in" in line or line.startswith(("  ", "Let in")):
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
