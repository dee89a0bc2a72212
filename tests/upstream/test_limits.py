"""Servers that send more than fits in memory: the call or listing fails or is cut, and the error names the server."""

from __future__ import annotations

import asyncio
import gzip
import json
import time
from contextlib import contextmanager, suppress
from io import BytesIO
from typing import TYPE_CHECKING, Any

import pytest

from halflap import Gateway
from halflap.core.errors import ToolFailedError, UpstreamError, UpstreamLostError
from servers.web import Handler, serving
from support import eventually, python_server

if TYPE_CHECKING:
    from collections.abc import Iterator

MEGABYTE = b"a" * 1024 * 1024
LIMIT_MEGABYTES = 32


class Flooding(Handler):
    """The tools are named after how they answer."""

    tools = ("fine", "bomb", "endless", "event")

    def call(self, name: str, identifier: Any) -> None:
        start = json.dumps({"jsonrpc": "2.0", "id": identifier})[:-1].encode() + b', "result": {"x": "'
        if name == "fine":
            super().call(name, identifier)
        elif name == "bomb":
            once = gzip.compress(start + MEGABYTE * (LIMIT_MEGABYTES + 1) + b'", "content": []}}', 1)
            twice = gzip.compress(once)
            self.send(200, twice, content_type="application/json", content_encoding="gzip, gzip")
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
    """Its listing does not end: it has ever more tools."""

    def page(self, cursor: str | None) -> dict[str, Any]:
        tool = {"name": f"tool{cursor}", "inputSchema": {"type": "object"}, "x": [MEGABYTE.decode()] * 8}
        return {"tools": [tool], "nextCursor": str(int(cursor or 0) + 1)}


class Empty(Handler):
    """Its listing does not end either: its pages have no tools, and large cursors."""

    def page(self, cursor: str | None) -> dict[str, Any]:
        return {"tools": [], "nextCursor": f"{int((cursor or '0')[:8]) + 1:08}{MEGABYTE.decode()}"}


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


@pytest.mark.parametrize(("handler", "most"), [(Endless, 4), (Empty, 0)])
async def test_an_endless_listing_is_cut_and_the_server_stays_usable(
    handler: type[Handler], most: int
) -> None:
    with flooding(handler) as config:
        async with Gateway.open(config) as gateway:
            await gateway.refresh()
            (status,) = await gateway.statuses()
            assert status.state == "ready"
            assert any("32 MiB" in warning for warning in status.warnings)
            assert most // 2 <= len(gateway.snapshot.tools) <= most


class Asking(Handler):
    """Asks ever more questions, and accepts no answers."""

    tools = ("fine",)
    asked = 0

    def do_GET(self) -> None:  # noqa: N802 -- the library's name
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        with suppress(OSError):
            while True:
                Asking.asked += 1
                question = {"jsonrpc": "2.0", "id": Asking.asked, "method": "sampling/createMessage"}
                self.wfile.write(f"data: {json.dumps(question)}\n\n".encode())

    def post(self) -> None:
        message = json.loads(body := self.body())
        if "method" not in message:
            time.sleep(1_000)
        self.rfile = BytesIO(body)
        super().post()


async def test_a_server_with_endless_questions_that_reads_no_answers_does_not_fill_the_memory() -> None:
    with flooding(Asking) as config:
        async with Gateway.open(config) as gateway:
            await gateway.refresh()
            assert await asyncio.to_thread(eventually, lambda: Asking.asked > 20_000)
            assert len(asyncio.all_tasks()) < 500


async def test_endless_blank_lines_do_not_block_the_loop() -> None:
    command = {"command": "sh", "args": ["-c", "yes '' | head -c 3000000; sleep 1000"]}
    server = {"name": "blank", **command, "protocol": "legacy", "start_timeout_seconds": 2}
    longest = 0.0
    async with Gateway.open({"servers": [server]}) as gateway:
        refreshing = asyncio.create_task(gateway.refresh())
        while not refreshing.done():
            before = time.process_time()
            await asyncio.sleep(0.001)
            longest = max(longest, time.process_time() - before)
    assert longest < 0.5


async def test_over_stdio_a_line_that_is_too_large_ends_the_connection_and_the_next_call_starts_anew() -> (
    None
):
    server = python_server("flood", "swift.py", protocol="legacy")
    async with Gateway.open({"servers": [server]}) as gateway:
        with pytest.raises(UpstreamLostError, match=r"flood.*more than 32 MiB"):
            await gateway.call("mcp__flood__big", bytes=len(MEGABYTE) * LIMIT_MEGABYTES)
        assert (await gateway.call("mcp__flood__echo", text="back")).text == "back"
