"""Servers that send more than fits in memory: the call or listing fails or is cut, and the error names the server."""

from __future__ import annotations

import gzip
import http.server
import json
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest

from halflap import Gateway
from halflap.core.errors import ToolFailedError, UpstreamError

if TYPE_CHECKING:
    from collections.abc import Iterator

MEGABYTE = b"a" * 1024 * 1024
LIMIT_MEGABYTES = 32
TOOLS = ("fine", "bomb", "endless", "event")


class Flooding(http.server.BaseHTTPRequestHandler):
    """A server of the older era; its tools are named after how they answer."""

    protocol_version = "HTTP/1.1"
    endless_list = False

    def do_POST(self) -> None:
        if self.path.endswith("/"):
            self.send(307, {"location": self.path.rstrip("/")})
            return
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        method, identifier = request["method"], request.get("id")
        if method == "initialize":
            server = {"serverInfo": {"name": "flood", "version": "1"}, "capabilities": {"tools": {}}}
            self.answer(identifier, {"protocolVersion": "2025-06-18", **server})
        elif method == "tools/list":
            self.answer(identifier, self.page((request.get("params") or {}).get("cursor")))
        elif method == "tools/call":
            self.flood(request["params"]["name"], identifier)
        else:
            self.send(202, {})

    def page(self, cursor: str | None) -> dict[str, Any]:
        names = TOOLS if not self.endless_list else (f"tool{cursor}",)
        tools = [{"name": name, "inputSchema": {"type": "object"}} for name in names]
        if self.endless_list:
            tools[0]["x"] = [MEGABYTE.decode()] * 8
            return {"tools": tools, "nextCursor": str(int(cursor or 0) + 1)}
        return {"tools": tools}

    def flood(self, name: str, identifier: int) -> None:
        start = json.dumps({"jsonrpc": "2.0", "id": identifier})[:-1].encode() + b', "result": {"x": "'
        kind = {"content-type": "application/json"}
        if name == "fine":
            self.answer(identifier, {"content": [{"type": "text", "text": "fine"}]})
        elif name == "bomb":
            body = gzip.compress(start + MEGABYTE * (LIMIT_MEGABYTES + 1) + b'", "content": []}}', 1)
            self.send(200, {**kind, "content-encoding": "gzip"}, body)
        else:
            is_event = name == "event"
            self.send_response(200)
            self.send_header("content-type", "text/event-stream" if is_event else "application/json")
            self.send_header("connection", "close")
            self.end_headers()
            with suppress(OSError):
                self.wfile.write(b"data: " + start if is_event else start)
                while True:
                    self.wfile.write(MEGABYTE)
            self.close_connection = True

    def answer(self, identifier: Any, result: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", "id": identifier, "result": result}).encode()
        self.send(200, {"content-type": "application/json"}, body)

    def send(self, status: int, headers: dict[str, str], body: bytes = b"") -> None:
        self.send_response(status)
        for name, value in {**headers, "content-length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self.send(405, {})

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def flooding(*, endless_list: bool = False) -> Iterator[dict[str, Any]]:
    handler = type("Handler", (Flooding,), {"endless_list": endless_list})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/mcp"
    try:
        yield {"servers": [{"name": "flood", "url": url, "transport": "http", "protocol": "legacy"}]}
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("tool", ["bomb", "endless", "event"])
async def test_an_answer_that_is_too_large_fails_its_call_alone(tool: str) -> None:
    with flooding() as config:
        async with Gateway.open(config) as gateway:
            with pytest.raises((ToolFailedError, UpstreamError), match=r"flood.*more than 32 MiB"):
                await gateway.call(f"mcp__flood__{tool}")
            assert (await gateway.call("mcp__flood__fine")).text == "fine"
            (status,) = await gateway.statuses()
            assert status.starts == 1


async def test_an_endless_listing_is_cut_and_the_server_stays_usable() -> None:
    with flooding(endless_list=True) as config:
        async with Gateway.open(config) as gateway:
            await gateway.refresh()
            (status,) = await gateway.statuses()
            assert status.state == "ready"
            assert any("32 MiB" in warning for warning in status.warnings)
            assert 1 < len(gateway.snapshot.tools) < 5


async def test_a_redirect_within_the_server_is_followed() -> None:
    with flooding() as config:
        config["servers"][0]["url"] += "/"
        async with Gateway.open(config) as gateway:
            assert (await gateway.call("mcp__flood__fine")).text == "fine"
