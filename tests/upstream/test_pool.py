"""Upstreams used without a gateway: protocol versions, reconnecting, closing."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from halflap.config import ServerConfig
from halflap.core.errors import UpstreamUnavailableError
from halflap.core.values import CallContext, Features, Listing
from halflap.upstream import CredentialStore, Hooks, Pool, Upstream
from support import SERVERS, alive, comes, eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine

    Run = Callable[[Coroutine[Any, Any, Any]], Any]


@asynccontextmanager
async def upstream(script: str, *args: str, last_version: str | None = None) -> AsyncIterator[Upstream]:
    async def no_roots(client: object) -> list[dict[str, Any]]:
        del client
        return []

    async def on_features(server: str, features: Features) -> bool:
        del server, features
        return False

    async def on_listing(listing: Listing) -> None:
        del listing

    server = ServerConfig(
        name="x", transport="stdio", command=sys.executable, args=(str(SERVERS / script), *args)
    )
    pool = Pool(
        (server,),
        Hooks("1", no_roots, on_listing, on_features, on_event=lambda _event: None),
        log_folder=None,
        redact=str,
        last_versions={"x": last_version},
        in_process={},
        credentials=CredentialStore(Path("none")),
    )
    complaints: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: complaints.append(context))
    try:
        yield pool["x"]
    finally:
        await pool.close()
    assert complaints == []


async def admit() -> None:
    pass


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


async def test_a_server_that_is_killed_while_idle_is_reconnected() -> None:
    async with upstream("swift.py") as server:
        await server.list()
        pid = server.status().pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)

        async def is_back() -> bool:
            return server.status().pid not in {None, pid}

        assert await comes(is_back)
        status = server.status()
        assert (status.state, status.starts, status.reason) == ("ready", 2, None)


async def test_a_closed_upstream_refuses_calls_and_leaves_no_process() -> None:
    async with upstream("swift.py") as server:
        await server.list()
        pid = server.status().pid
        assert pid is not None
        await server.close()
        assert eventually(lambda: not alive(pid))
        assert server.status().state == "idle"
        with pytest.raises(UpstreamUnavailableError, match="shutting down"):
            await server.call("pid", {}, CallContext(), repeatable=True, admit=admit)
