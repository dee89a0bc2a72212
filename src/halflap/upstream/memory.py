"""Talk to a server object in this process."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

# The SDK offers this transport only through its own `Client`, which reads results in a way that we must not.
from mcp.client._memory import InMemoryTransport

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp.server import Server
    from mcp.server.mcpserver import MCPServer

__all__ = ["memory_streams"]


@asynccontextmanager
async def memory_streams(server: Server[Any] | MCPServer) -> AsyncIterator[Any]:
    """Run the server in a task and yield the client's streams."""
    async with InMemoryTransport(server) as streams:
        yield streams
