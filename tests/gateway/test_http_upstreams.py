"""Servers over HTTP: both eras, broken connections, refusals."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from halflap import Gateway
from halflap.core.errors import ToolNotFoundError
from servers.web import Handler, answering, serving
from support import SERVERS, comes, eventually, listening, open_descriptors, under_way

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


async def test_a_url_without_transport_finds_the_one_that_the_server_speaks() -> None:
    with listening("sse") as url:
        async with Gateway.open(config(url)) as gateway:
            assert (await gateway.call("mcp__web__echo", text="found")).text == "found"


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["legacy", "modern"])
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


async def test_servers_that_refuse_or_are_not_there_are_reported_without_secrets() -> None:
    with answering(401, www_authenticate="Bearer") as url:
        servers = [
            {"name": "locked", "url": url, "transport": "http"},
            {"name": "away", "url": f"http://127.0.0.1:{free_port()}/mcp?token=secret"},
            {"name": "unknown", "url": "http://mcp.invalid/mcp"},
        ]
        async with Gateway.open({"servers": servers}) as gateway:
            await gateway.refresh()
            status = {one.name: one for one in await gateway.statuses()}
            assert (status["locked"].state, status["away"].trouble) == ("needs-sign-in", "not-reached")
            assert status["unknown"].trouble == "not-reached"
            assert "mcp.invalid could not be resolved" in (status["unknown"].reason or "")
            with pytest.raises(ToolNotFoundError) as caught:
                await gateway.call("mcp__away__x")
            assert "secret" not in str(caught.value)


async def test_a_refusal_of_the_first_request_means_a_sign_in_and_headers_are_sent_each_time() -> None:
    seen = set()

    class Refusing(Handler):
        def post(self) -> None:
            request = json.loads(self.body())
            seen.add(self.headers["authorization"])
            error = {"code": -32600, "message": "no such version"}
            status = 401 if request["method"] == "server/discover" else 400
            self.reply(request.get("id"), status, error=error)

    with serving(Refusing) as url:
        settings = config(url, transport="http", headers={"Authorization": "Bearer abc"})
        async with Gateway.open(settings) as gateway:
            await gateway.refresh()
            (status,) = await gateway.statuses()
    assert status.state == "needs-sign-in"
    assert seen == {"Bearer abc"}
