"""What a transport knows about one connection: which requests were delivered, and why it failed."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import mcp_types as types

if TYPE_CHECKING:
    from mcp.shared.exceptions import MCPError

    from halflap.upstream.status import Trouble

__all__ = [
    "LOST",
    "NOT_MCP",
    "NOT_SENT",
    "OWN_CODES",
    "REFUSED",
    "Connection",
    "Failure",
    "RequestFailedError",
    "is_closed",
    "is_session_closed",
]

# JSON-RPC error codes of our own, put in place of an answer that cannot come. They never leave this package.
NOT_SENT = -32950
"""The request did not reach the server: repeating it cannot do anything twice."""
LOST = -32951
"""The connection broke after the request was sent: it may have taken effect."""
REFUSED = -32952
"""The server wants credentials, and did not look at the request."""
NOT_MCP = -32953
"""Something answered that does not speak MCP, such as a web page or a gateway error."""
OWN_CODES = frozenset({NOT_SENT, LOST, REFUSED, NOT_MCP})

_SESSION_CLOSED = "Connection closed"
_STREAM_CLOSED = "SSE stream"
"""How the SDK's messages begin when no answer can come any more; servers use the same code for their own errors."""


def is_closed(error: MCPError) -> bool:
    """Return whether the SDK reports a closed connection, as opposed to an error that the server answered."""
    return error.code == types.CONNECTION_CLOSED and error.message.startswith(
        (_SESSION_CLOSED, _STREAM_CLOSED)
    )


def is_session_closed(error: MCPError) -> bool:
    """Return whether the whole session is closed: over HTTP a single request's stream can close alone."""
    return is_closed(error) and error.message.startswith(_SESSION_CLOSED)


class Failure(NamedTuple):
    trouble: Trouble
    message: str


@dataclass(slots=True)
class Connection:
    """The record of one connection: the transport writes it, the upstream reads it."""

    sent: dict[int | str, int] | None = None
    """Unanswered requests that were written, each with the number of bytes written before it.

    None where the transport cannot know."""
    written: int = 0
    """Bytes written in all."""
    unread: int = 0
    """Bytes that the server had not read when it exited."""
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when no further message can come."""
    failure: Failure | None = None
    """What went wrong last."""
    noise: list[str] = field(default_factory=list)
    """The first lines on a server's stdout that are not messages."""
    heard: bool = False
    """A message came from the server."""
    agreed: bool = False
    """Client and server agreed on a protocol version."""
    ready: bool = False
    """The server listed its tools; when it is stopped, it gets time to exit by itself."""
    pid: int | None = None
    only_sse: bool = False
    """The answer to a POST is one that only the older HTTP transport gives."""

    def may_have_arrived(self, request_id: int | str) -> bool:
        """Return whether the server can have read any part of a request."""
        if self.sent is None:
            return True
        start = self.sent.get(request_id)
        return start is not None and start < self.written - self.unread


@dataclass(eq=False)
class RequestFailedError(Exception):
    """A request was answered with an error, or not at all. Never leaves this package."""

    code: int
    message: str
    lost: bool = False
    """No answer will come."""
    session_lost: bool = False
    """No other request can be sent on this session either."""
    may_have_arrived: bool = True
