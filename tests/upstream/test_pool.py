"""Upstreams used without a gateway: protocol versions, delivery, reconnecting, closing."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from unittest.mock import AsyncMock, Mock

import pytest
from mcp.client import session as client_session

from halflap.config import ServerConfig
from halflap.core.errors import UpstreamUnavailableError
from halflap.core.values import CallContext
from halflap.upstream import CredentialStore, Hooks, Pool, Upstream
from halflap.upstream.connection import Connection
from support import SERVERS, alive, comes, eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@asynccontextmanager
async def upstream(
    script: str,
    *args: str,
    last_version: str | None = None,
    protocol: Literal["auto", "legacy", "modern"] = "auto",
) -> AsyncIterator[Upstream]:
    command = (str(SERVERS / script), *args)
    server = ServerConfig("x", "stdio", command=sys.executable, args=command, protocol=protocol)
    hooks = Hooks(
        version="1",
        log_folder=None,
        redact=str,
        credentials=CredentialStore(Path("none")),
        last_versions={"x": last_version},
        in_process={},
        list_roots=AsyncMock(return_value=[]),
        on_listing=AsyncMock(),
        on_features=AsyncMock(return_value=False),
        on_event=Mock(),
    )
    pool = Pool((server,), hooks)
    complaints: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: complaints.append(context))
    try:
        yield pool["x"]
    finally:
        await pool.close()
    assert complaints == []


@pytest.mark.parametrize(
    ("kind", "last_version", "spoken"),
    [
        ("future", None, "2025-06-18"),
        ("newer", None, "2026-07-28"),
        ("newer", "2025-11-25", "2026-07-28"),
    ],
)
async def test_a_version_that_both_sides_know_is_found(
    kind: str, last_version: str | None, spoken: str
) -> None:
    async with upstream("unwilling.py", kind, last_version=last_version) as server:
        listing = await server.list()
        assert (listing.protocol_version, [tool["name"] for tool in listing.tools]) == (spoken, ["use"])


async def test_a_server_of_the_newer_era_may_take_longer_to_start_than_to_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(client_session, "DISCOVER_TIMEOUT_SECONDS", 0.01)
    async with upstream("unwilling.py", "newer", protocol="modern") as server:
        assert (await server.list()).protocol_version == "2026-07-28"


def test_a_request_that_the_server_left_unread_did_not_arrive() -> None:
    connection = Connection(sent={1: 100, 2: 150}, written=150, unread=1)
    assert [connection.may_have_arrived(one) for one in (1, 2, 3)] == [True, False, False]
    connection.unread = 0
    assert connection.may_have_arrived(2)
    assert Connection().may_have_arrived(1)


async def test_a_server_that_is_killed_while_idle_is_reconnected_and_none_is_left_after_closing() -> None:
    async with upstream("swift.py") as server:

        async def pid() -> int:
            return int((await server.call("pid", {}, CallContext(), repeatable=True, admit=AsyncMock())).text)

        os.kill(await pid(), signal.SIGKILL)

        async def is_back() -> bool:
            status = server.status()
            return (status.state, status.starts, status.reason) == ("ready", 2, None)

        assert await comes(is_back)
        running = await pid()
        await server.close()
        assert eventually(lambda: not alive(running))
        assert server.status().state == "idle"
        with pytest.raises(UpstreamUnavailableError, match="shutting down"):
            await pid()
