"""Servers over HTTP: both eras, broken connections, refusals."""

from __future__ import annotations

import asyncio
import http.server
import json
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from halflap import Gateway
from halflap.core.errors import ToolFailedError, ToolNotFoundError, UpstreamLostError
from support import PATIENCE, SERVERS, answering, comes, eventually, listening, open_descriptors, under_way

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    Run = Callable[[Coroutine[Any, Any, Any]], Any]


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
    """One server for all tests that leave it as it was; yields its URL."""
    with listening("http") as url:
        yield url


@pytest.mark.parametrize("protocol", [pytest.param("legacy", marks=pytest.mark.slow), "modern"])
def test_streamable_http_is_spoken_in_both_eras(run: Run, web: str, protocol: str) -> None:
    async def scenario(url: str) -> None:
        async with Gateway.open(config(url, transport="http", protocol=protocol)) as gateway:
            assert (await gateway.call("mcp__web__add", a=20, b=22)).structured_content == {"result": 42}
            assert len((await gateway.call("mcp__web__big", bytes=3_000_000)).text) == 3_000_000
            count = int((await gateway.call("mcp__web__cancelled_count")).text)
            call = await under_way(gateway, "mcp__web__sleep")
            call.cancel()
            await asyncio.wait([call])

            async def cancelled() -> bool:
                return int((await gateway.call("mcp__web__cancelled_count")).text) == count + 1

            assert await comes(cancelled)
        assert all(task is asyncio.current_task() for task in asyncio.all_tasks())

    before = open_descriptors()
    run(scenario(web))
    assert eventually(lambda: open_descriptors() <= before + 1)


@pytest.mark.parametrize("kind", [pytest.param("http", marks=pytest.mark.slow), "sse"])
def test_a_url_without_transport_finds_the_one_that_the_server_speaks(run: Run, kind: str) -> None:
    async def scenario(url: str) -> None:
        async with Gateway.open(config(url)) as gateway:
            assert (await gateway.call("mcp__web__echo", text="found")).text == "found"

    with listening(kind) as url:
        run(scenario(url))


@pytest.mark.slow
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


def test_servers_that_refuse_or_are_not_there_are_reported_without_secrets(run: Run) -> None:
    async def scenario(locked: str) -> None:
        servers = [
            {"name": "locked", "url": locked, "transport": "http"},
            {"name": "away", "url": f"http://127.0.0.1:{free_port()}/mcp?token=secret"},
        ]
        async with Gateway.open({"servers": servers}) as gateway:
            await gateway.refresh()
            status = {one.name: one for one in await gateway.statuses()}
            assert (status["locked"].state, status["away"].trouble) == ("needs-sign-in", "not-reached")
            with pytest.raises(ToolNotFoundError) as caught:
                await gateway.call("mcp__away__x")
            assert "secret" not in str(caught.value)

    with answering(401, www_authenticate="Bearer") as url:
        run(scenario(url))


@contextmanager
def serving(handler: type[http.server.BaseHTTPRequestHandler]) -> Iterator[str]:
    """Run a web server in a thread; yields its URL."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads, server.block_on_close = True, False
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/mcp"
        server.shutdown()


class Answering(http.server.BaseHTTPRequestHandler):
    """Base of servers of the older era, by hand."""

    protocol_version = "HTTP/1.1"

    def read(self) -> dict[str, Any]:
        request: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["content-length"])))
        return request

    def reply(self, status: int, request: dict[str, Any] | None = None, **answer: Any) -> None:
        body = b""
        if request is not None:
            body = json.dumps({"jsonrpc": "2.0", "id": request.get("id"), **answer}).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json" if body else "text/plain")
        self.send_header("mcp-session-id", "session")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


async def test_a_refusal_of_the_first_request_means_a_sign_in_and_headers_are_sent_each_time() -> None:
    seen = set()

    class Refusing(Answering):
        def do_POST(self) -> None:
            request = self.read()
            seen.add(self.headers["authorization"])
            error = {"code": -32600, "message": "no such version"}
            self.reply(401 if request["method"] == "server/discover" else 400, request, error=error)

    with serving(Refusing) as url:
        settings = config(url, transport="http", headers={"Authorization": "Bearer abc"})
        async with Gateway.open(settings) as gateway:
            await gateway.refresh()
            (status,) = await gateway.statuses()
    assert status.state == "needs-sign-in"
    assert seen == {"Bearer abc"}


class OddServer(Answering):
    """Has the tools `ok`, `slow`, `abort` (cuts its connection) and `busy` (503), and answers no farewell."""

    begun, let_go, leaving = threading.Event(), threading.Event(), threading.Event()

    def do_POST(self) -> None:
        request = self.read()
        method, params = request["method"], request.get("params") or {}
        if "id" not in request:
            self.reply(202)
        elif method == "initialize":
            about = {"capabilities": {"tools": {}}, "serverInfo": {"name": "odd", "version": "1"}}
            self.reply(200, request, result={"protocolVersion": "2025-06-18", **about})
        elif method == "tools/list":
            names = ("ok", "slow", "abort", "busy")
            tools = [{"name": name, "inputSchema": {"type": "object"}} for name in names]
            self.reply(200, request, result={"tools": tools})
        elif method != "tools/call":
            self.reply(200, request, error={"code": -32601, "message": "no"})
        elif params["name"] == "abort":
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
        elif params["name"] == "busy":
            self.reply(503)
        else:
            if params["name"] == "slow":
                self.begun.set()
                self.let_go.wait(PATIENCE)
            self.reply(200, request, result={"content": [{"type": "text", "text": params["name"]}]})

    def do_GET(self) -> None:
        self.reply(405)

    def do_DELETE(self) -> None:
        self.leaving.wait(PATIENCE)


@pytest.mark.slow
async def test_one_calls_broken_connection_leaves_the_others_alone() -> None:
    with serving(OddServer) as url:
        async with Gateway.open(config(url, transport="http", protocol="legacy")) as gateway:
            assert (await gateway.call("mcp__web__ok")).text == "ok"
            slow = asyncio.create_task(gateway.call("mcp__web__slow"))
            await asyncio.to_thread(OddServer.begun.wait, PATIENCE)
            with pytest.raises(UpstreamLostError):
                await gateway.call("mcp__web__abort")
            with pytest.raises(ToolFailedError, match="503"):
                await gateway.call("mcp__web__busy")
            OddServer.let_go.set()
            assert (await slow).text == "slow"
        # It does not answer our farewell, and we did not wait for that.
        assert not OddServer.leaving.is_set()
        OddServer.leaving.set()
