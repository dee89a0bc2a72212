"""Servers that send more than fits in memory: the call or listing fails or is cut, and the error names the server."""

from __future__ import annotations

import gzip
import json
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest

from halflap import Gateway
from halflap.core.errors import ToolFailedError, UpstreamError
from servers.web import Handler, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

MEGABYTE = b"a" * 1024 * 1024
LIMIT_MEGABYTES = 32


class Flooding(Handler):
    """The tools are named after how they answer."""

    tools = ("fine", "bomb", "endless", "event")

    def post(self) -> None:
        if self.path.endswith("/"):
            self.body()
            self.send(307, location=self.path.rstrip("/"))
        else:
            super().post()

    def call(self, name: str, identifier: Any) -> None:
        start = json.dumps({"jsonrpc": "2.0", "id": identifier})[:-1].encode() + b', "result": {"x": "'
        if name == "fine":
            super().call(name, identifier)
        elif name == "bomb":
            body = gzip.compress(start + MEGABYTE * (LIMIT_MEGABYTES + 1) + b'", "content": []}}', 1)
            self.send(200, body, content_type="application/json", content_encoding="gzip")
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


class Endless(Handler):
    """Its listing does not end."""

    def page(self, cursor: str | None) -> dict[str, Any]:
        tool = {"name": f"tool{cursor}", "inputSchema": {"type": "object"}, "x": [MEGABYTE.decode()] * 8}
        return {"tools": [tool], "nextCursor": str(int(cursor or 0) + 1)}


@contextmanager
def flooding(handler: type[Handler] = Flooding) -> Iterator[dict[str, Any]]:
    with serving(handler) as url:
        yield {"servers": [{"name": "flood", "url": url, "transport": "http", "protocol": "legacy"}]}


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
    with flooding(Endless) as config:
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
