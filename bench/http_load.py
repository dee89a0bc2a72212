"""Load over HTTP: many clients, each with one connection, which send their next request when the last was answered."""

from __future__ import annotations

import asyncio
import json
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

VERSION = "2026-07-28"
_META = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "0"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


@dataclass(frozen=True)
class Request:
    """A method of MCP with its parameters."""

    method: str
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def body(self) -> bytes:
        params = {**self.params, "_meta": _META}
        return json.dumps({"jsonrpc": "2.0", "id": 1, "method": self.method, "params": params}).encode()


def call(tool: str, **arguments: Any) -> Request:
    return Request("tools/call", {"name": tool, "arguments": arguments})


class Connection:
    """One HTTP connection; the protocol library would cost as much as the server that is measured."""

    def __init__(self, port: int, token: str) -> None:
        self._port, self._token = port, token

    async def open(self) -> None:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port, limit=1 << 24)

    def close(self) -> None:
        self._writer.close()

    async def send(self, request: Request) -> dict[str, Any]:
        """Send a request and return its result. Raises `RuntimeError` for any other answer."""
        body = request.body
        name = request.params.get("name")
        head = [
            "POST /mcp HTTP/1.1",
            f"Host: 127.0.0.1:{self._port}",
            f"Authorization: Bearer {self._token}",
            "Accept: application/json, text/event-stream",
            "Content-Type: application/json",
            f"Mcp-Protocol-Version: {VERSION}",
            f"Mcp-Method: {request.method}",
            *([f"Mcp-Name: {name}"] if name else []),
            f"Content-Length: {len(body)}",
        ]
        self._writer.write("\r\n".join([*head, "", ""]).encode() + body)
        status, headers = await self._head()
        answer = await self._body(headers)
        if status != 200:
            raise RuntimeError(f"{status}: {answer[:200]!r}")
        if headers.get("content-type", "").startswith("text/event-stream"):
            # The last event is the answer; those before it report progress.
            answer = [
                line[5:] for line in answer.splitlines() if line.startswith(b"data:") and line[5:].strip()
            ][-1]
        message: dict[str, Any] = json.loads(answer)
        if "result" not in message:
            raise RuntimeError(str(message)[:300])
        result: dict[str, Any] = message["result"]
        return result

    async def _head(self) -> tuple[int, dict[str, str]]:
        first, *lines = (await self._reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        pairs = (line.partition(":") for line in lines if line)
        return int(first.split()[1]), {name.lower(): value.strip() for name, _, value in pairs}

    async def _body(self, headers: Mapping[str, str]) -> bytes:
        if "content-length" in headers:
            return await self._reader.readexactly(int(headers["content-length"]))
        parts = []
        while size := int(await self._reader.readline(), 16):
            parts.append(await self._reader.readexactly(size))
            await self._reader.readexactly(2)
        await self._reader.readline()
        return b"".join(parts)


async def times_of(port: int, token: str, request: Request, clients: int, seconds: float) -> list[float]:
    """Return how long each answer took, in milliseconds, with so many clients sending the same request."""
    took: list[float] = []
    until = time.perf_counter() + seconds

    async def repeat() -> None:
        connection = Connection(port, token)
        await connection.open()
        while (began := time.perf_counter()) < until:
            await connection.send(request)
            took.append((time.perf_counter() - began) * 1000)
        connection.close()

    await asyncio.gather(*(repeat() for _ in range(clients)))
    return sorted(took)


def quantile(values: Sequence[float], share: float) -> float:
    return values[min(len(values) - 1, int(len(values) * share))] if values else float("nan")


def median(values: Sequence[float]) -> float:
    return statistics.median(values)
