"""The ways to reach a server. Each yields a pair of message streams, and records failures in the `Connection`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

# The SDK offers its in-memory transport only through its own `Client`, which validates results as a whole.
from mcp.client._memory import InMemoryTransport

from halflap.upstream.transports.http import http_streams, sse_streams
from halflap.upstream.transports.stdio import stdio_streams

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from halflap.config import ServerConfig
    from halflap.upstream.connection import Connection
    from halflap.upstream.guardian import Guardian
    from halflap.upstream.log import ServerLog

__all__ = ["open_streams"]


def open_streams(
    transport: str,
    server: ServerConfig,
    connection: Connection,
    *,
    guardian: Guardian,
    log: ServerLog,
    in_process: Any,
) -> AbstractAsyncContextManager[Any]:
    """Connect to a server; `in_process` is the server object where the transport is `memory`."""
    if transport == "stdio":
        return stdio_streams(guardian, server, connection, log)
    if transport == "memory":
        return InMemoryTransport(in_process)
    if transport == "sse":
        return sse_streams(server, connection)
    return http_streams(server, connection)
