"""The ways to reach a server. Each yields a pair of message streams, and records failures in the `Connection`."""

from halflap.upstream.transports.http import http_streams, sse_streams
from halflap.upstream.transports.stdio import stdio_streams

__all__ = ["http_streams", "sse_streams", "stdio_streams"]
