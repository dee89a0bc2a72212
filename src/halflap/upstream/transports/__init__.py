"""The ways to reach a server. Each yields a pair of message streams, and records failures in the `Connection`."""

# The SDK offers its in-memory transport only through its own `Client`, which validates results as a whole.
from mcp.client._memory import InMemoryTransport

from halflap.upstream.transports.http import http_streams
from halflap.upstream.transports.stdio import stdio_streams

__all__ = ["InMemoryTransport", "http_streams", "stdio_streams"]
