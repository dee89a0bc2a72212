from __future__ import annotations

import asyncio
import http.server
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from halflap import Gateway
from halflap.errors import CallTimeoutError, ToolFailedError, ToolNotFoundError, UpstreamLostError
from support import SERVERS, answering, eventually, listening, open_descriptors

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

pytestmark = pytest.mark.slow
"""It takes long, and runs with `make test-all`."""


def config(url: str, **settings: Any) -> dict[str, Any]:
    return {"servers": [{"name": "web", "url": url, **settings}]}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def echo_at(port: int) -> Iterator[subprocess.Popen[str]]:
    """Run echo.py over HTTP at a fixed port, so that it can be restarted there."""
    command = [sys.executable, str(SERVERS / "echo.py"), "--http", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().startswith("http")
            yield process
        finally:
            process.kill()


@pytest.fixture(scope="module")
def web() -> Iterator[str]:
    """One server for all tests that leave it as it was; gives its URL."""
    with listening("http") as url:
        yield url


@pytest.mark.parametrize("protocol", ["legacy", "modern"])
def test_streamable_http_is_spoken_in_both_eras(run: Run, web: str, protocol: str) -> None:
    async def scenario(url: str) -> None:
        async with Gateway.open(config(url, transport="http", protocol=protocol)) as gateway:
            assert (await gateway.call("mcp__web__add", a=20, b=22)).structured_content == {"result": 42}

    run(scenario(web))


def test_the_older_http_with_sse_is_spoken(run: Run) -> None:
    async def scenario(url: str) -> None:
        async with Gateway.open(config(url, transport="sse")) as gateway:
            assert (await gateway.call("mcp__web__add", a=20, b=22)).structured_content == {"result": 42}

    with listening("sse") as url:
        run(scenario(url))


@pytest.mark.parametrize("kind", ["http", "sse"])
def test_a_url_without_transport_finds_the_one_that_the_server_speaks(run: Run, kind: str) -> None:
    async def scenario(url: str) -> None:
        async with Gateway.open(config(url)) as gateway:
            assert (await gateway.call("mcp__web__echo", text="found")).text == "found"

    with listening(kind) as url:
        run(scenario(url))


def test_cancelling_reaches_a_server_over_http(run: Run, web: str) -> None:
    async def scenario(url: str) -> None:
        async with Gateway.open(config(url, call_timeout_seconds=0.5)) as gateway:
            with pytest.raises(CallTimeoutError):
                await gateway.call("mcp__web__sleep", seconds=30)
            await asyncio.sleep(0.3)
            assert (await gateway.call("mcp__web__cancelled_count")).text == "1"

    run(scenario(web))


@pytest.mark.parametrize("protocol", [pytest.param("legacy", marks=pytest.mark.slow), "modern"])
def test_a_server_that_was_restarted_is_found_again_and_the_call_succeeds(protocol: str) -> None:
    port = free_port()

    async def scenario() -> None:
        async with Gateway.open(config(f"http://127.0.0.1:{port}/mcp", protocol=protocol)) as gateway:
            with echo_at(port):
                first = (await gateway.call("mcp__web__pid")).text
            with echo_at(port):
                second = (await gateway.call("mcp__web__pid")).text
            assert first != second

    asyncio.run(scenario())


def test_a_call_is_not_repeated_when_the_server_dies_during_it(run: Run) -> None:
    port = free_port()

    async def scenario(process: subprocess.Popen[str]) -> None:
        async with Gateway.open(config(f"http://127.0.0.1:{port}/mcp")) as gateway:
            await gateway.call("mcp__web__pid")
            call = asyncio.create_task(gateway.call("mcp__web__sleep", seconds=30))
            await asyncio.sleep(0.4)
            os.kill(process.pid, signal.SIGKILL)
            with pytest.raises(UpstreamLostError, match="may have taken effect"):
                await call

    with echo_at(port) as process:
        run(scenario(process))


def test_an_address_where_nobody_listens_is_reported_with_what_to_do(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(config(f"http://127.0.0.1:{free_port()}/mcp?token=secret")) as gateway:
            with pytest.raises(ToolNotFoundError, match="cannot be reached") as caught:
                await gateway.call("mcp__web__x")
            assert "secret" not in str(caught.value)

    run(scenario())


def test_a_server_that_wants_credentials_is_reported_as_such(run: Run) -> None:
    async def scenario(url: str) -> None:
        async with Gateway.open(config(url, transport="http")) as gateway:
            await gateway.refresh()
            assert "it wants credentials" in gateway.unavailable()["web"]
            assert "headers:" in gateway.unavailable()["web"]

    with answering(401, www_authenticate="Bearer") as url:
        run(scenario(url))


def test_something_that_is_not_mcp_at_all_is_reported(run: Run) -> None:
    async def scenario(url: str) -> None:
        async with Gateway.open(config(url, transport="http", start_timeout_seconds=8)) as gateway:
            await gateway.refresh()
            assert gateway.unavailable()["web"]

    with answering(200, b"<html>hello</html>", content_type="text/html") as url:
        run(scenario(url))


def test_headers_are_sent_to_the_server(run: Run) -> None:
    seen: list[str | None] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            seen.append(self.headers.get("authorization"))
            self.send_response(403)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    async def scenario(url: str) -> None:
        settings = config(url, transport="http", headers={"Authorization": "Bearer abc"})
        async with Gateway.open(settings) as gateway:
            await gateway.refresh()

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        run(scenario(f"http://127.0.0.1:{server.server_port}/mcp"))
        server.shutdown()
    assert seen
    assert set(seen) == {"Bearer abc"}


def test_a_big_result_comes_through_whole(run: Run, web: str) -> None:
    async def scenario(url: str) -> None:
        async with Gateway.open(config(url)) as gateway:
            assert len((await gateway.call("mcp__web__big", bytes=3_000_000)).text) == 3_000_000

    run(scenario(web))


def test_closing_leaves_no_connection_behind(run: Run, web: str) -> None:
    async def scenario(url: str) -> None:
        async with Gateway.open(config(url)) as gateway:
            await gateway.call("mcp__web__pid")
        assert all(task is asyncio.current_task() for task in asyncio.all_tasks())

    before = open_descriptors()
    run(scenario(web))
    assert eventually(lambda: open_descriptors() <= before + 1, 3)


class OddServer(http.server.BaseHTTPRequestHandler):
    """A server of the older era, by hand: `ok`, `slow`, `abort` (cuts its connection), `busy` (503); no farewell."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        method, params = request["method"], request.get("params") or {}
        if "id" not in request:
            self.reply(202, None)
        elif method == "initialize":
            capabilities: dict[str, Any] = {"tools": {}}
            info = {"name": "odd", "version": "1"}
            self.reply(
                200,
                {"protocolVersion": "2025-06-18", "capabilities": capabilities, "serverInfo": info},
                request,
            )
        elif method == "tools/list":
            tools = [
                {"name": name, "inputSchema": {"type": "object"}} for name in ("ok", "slow", "abort", "busy")
            ]
            self.reply(200, {"tools": tools}, request)
        elif method != "tools/call":
            self.reply(200, None, request)
        elif params["name"] == "abort":
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
        elif params["name"] == "busy":
            self.reply(503, None)
        else:
            time.sleep(1.0 if params["name"] == "slow" else 0)
            self.reply(200, {"content": [{"type": "text", "text": params["name"]}]}, request)

    def reply(self, status: int, result: Any, request: dict[str, Any] | None = None) -> None:
        body = b""
        if request is not None:
            answer = (
                {"result": result} if result is not None else {"error": {"code": -32601, "message": "no"}}
            )
            body = json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json" if body else "text/plain")
        self.send_header("mcp-session-id", "session")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self.reply(405, None)

    def do_DELETE(self) -> None:
        time.sleep(30)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def odd() -> Iterator[dict[str, Any]]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), OddServer)
    server.daemon_threads = True
    server.block_on_close = False
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield config(f"http://127.0.0.1:{server.server_port}/mcp", transport="http", protocol="legacy")
    finally:
        server.shutdown()
        server.server_close()


def test_a_server_that_does_not_answer_our_farewell_does_not_hold_us_up(
    run: Run, odd: dict[str, Any]
) -> None:
    async def scenario() -> None:
        async with Gateway.open(odd) as gateway:
            assert (await gateway.call("mcp__web__ok")).text == "ok"

    began = time.perf_counter()
    run(scenario())
    assert time.perf_counter() - began < 6.0


def test_one_calls_broken_connection_leaves_the_others_alone(run: Run, odd: dict[str, Any]) -> None:
    async def scenario() -> None:
        async with Gateway.open(odd) as gateway:
            await gateway.call("mcp__web__ok")
            slow = asyncio.create_task(gateway.call("mcp__web__slow"))
            await asyncio.sleep(0.2)
            with pytest.raises(UpstreamLostError, match="may have taken effect"):
                await gateway.call("mcp__web__abort")
            assert (await slow).text == "slow"

    run(scenario())


def test_an_http_error_is_told_with_its_status(run: Run, odd: dict[str, Any]) -> None:
    async def scenario() -> None:
        async with Gateway.open(odd) as gateway:
            with pytest.raises(ToolFailedError, match="503 Service Unavailable"):
                await gateway.call("mcp__web__busy")

    run(scenario())
