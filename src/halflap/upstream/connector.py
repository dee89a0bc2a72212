"""Open sessions with one server: start or reach it, and agree on a protocol version in either era."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal

import anyio
import mcp_types as types

# The SDK offers its in-memory transport only through its own `Client`, which validates results as a whole.
from mcp.client._memory import InMemoryTransport
from mcp.shared.exceptions import MCPError
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import ValidationError

from halflap.upstream.connection import LOST, NOT_SENT, REFUSED
from halflap.upstream.session import Session
from halflap.upstream.transports import http_streams, sse_streams, stdio_streams

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from contextlib import AbstractAsyncContextManager

    from mcp.client.session import ClientSession

    from halflap.config import ServerConfig
    from halflap.upstream.connection import Connection
    from halflap.upstream.guardian import Guardian
    from halflap.upstream.log import ServerLog

__all__ = ["Connector"]

_PROBE_SECONDS = 3.0
"""How long a server may take to answer `server/discover` before `initialize` is tried as well.

Some servers of the older era do not answer a method that they don't know. A slow one of the newer era answers
`initialize` with an error that names the versions it speaks.
"""


class Connector:
    def __init__(
        self,
        server: ServerConfig,
        *,
        guardian: Guardian,
        log: ServerLog,
        version: str,
        list_roots: Callable[[], Awaitable[list[dict[str, Any]]]],
        in_process: Any,
    ) -> None:
        self._server = server
        self._guardian = guardian
        self._log = log
        self._version = version
        self._list_roots = list_roots
        self._in_process = in_process
        """The server object, where `transport` is `memory`."""
        self._transport = server.transport

    @asynccontextmanager
    async def open(
        self, connection: Connection, last_version: str | None, on_tools_changed: Callable[[], None]
    ) -> AsyncIterator[Session]:
        """Open a session. A `url` without a transport is tried as streamable HTTP, then as SSE."""
        if self._transport == "auto":
            try:
                async with self._open("http", connection, last_version, on_tools_changed) as session:
                    self._transport = "http"
                    yield session
                    return
            except Exception:
                if self._transport == "http" or not connection.only_sse:
                    raise
                connection.failure = None
                connection.closed.clear()
                self._transport = "sse"
        async with self._open(self._transport, connection, last_version, on_tools_changed) as session:
            yield session

    @asynccontextmanager
    async def _open(
        self,
        transport: str,
        connection: Connection,
        last_version: str | None,
        on_tools_changed: Callable[[], None],
    ) -> AsyncIterator[Session]:
        async with self._streams(transport, connection) as streams:
            session = Session(
                streams,
                connection,
                version=self._version,
                list_roots=self._list_roots,
                on_tools_changed=on_tools_changed,
            )
            async with session.client:
                await _agree_on_version(session.client, self._server.protocol, last_version)
                connection.agreed = True
                yield session

    def _streams(self, transport: str, connection: Connection) -> AbstractAsyncContextManager[Any]:
        if transport == "stdio":
            return stdio_streams(self._guardian, self._server, connection, self._log)
        if transport == "memory":
            return InMemoryTransport(self._in_process)
        if transport == "sse":
            return sse_streams(self._server, connection)
        return http_streams(self._server, connection)


async def _agree_on_version(
    session: ClientSession, protocol: Literal["auto", "legacy", "modern"], last_version: str | None
) -> None:
    """Settle the version, trying the era of `last_version` first: the one the server spoke last time."""
    if protocol == "modern":
        await session.discover()
        return
    if protocol == "auto" and last_version not in HANDSHAKE_PROTOCOL_VERSIONS and await _probe(session):
        return
    try:
        await session.initialize()
    except MCPError as error:
        if protocol == "legacy" or error.code != types.UNSUPPORTED_PROTOCOL_VERSION:
            raise
        await session.discover()


async def _probe(session: ClientSession) -> bool:
    """Return whether the server speaks the newer era in a version that we know, and settle on it if so."""
    try:
        with anyio.move_on_after(_PROBE_SECONDS):
            await session.discover()
            return True
    except MCPError as error:
        if error.code in {NOT_SENT, LOST, REFUSED}:
            raise
    except (ValidationError, RuntimeError):
        # Not an answer to `server/discover`, or one with other versions only.
        pass
    return False
