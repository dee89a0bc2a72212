"""What is known about one connection: which requests were delivered, and why it failed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import mcp_types as types

if TYPE_CHECKING:
    from mcp.shared.exceptions import MCPError

    from halflap.core.values import Features, Listing, ServerEvent
    from halflap.upstream.questions import ListRoots

# JSON-RPC error codes of our own, put in place of an answer that cannot come. They never leave this package.
NOT_SENT = -32950
"""The request did not reach the server: repeating it cannot do anything twice."""
LOST = -32951
"""The connection broke after the request was sent: it may have taken effect."""
REFUSED = -32952
"""The server wants credentials, and did not look at the request."""
UNUSABLE = -32953
"""Something answered that cannot be used, such as a web page, or more than `MAX_MESSAGE_BYTES`."""
OWN_CODES = frozenset({NOT_SENT, LOST, REFUSED, UNUSABLE})

MAX_MESSAGE_BYTES = 32 * 1024 * 1024
"""Of one message, and of one listing: they have to fit in memory."""
TOO_LARGE = f"it answered with more than {MAX_MESSAGE_BYTES >> 20} MiB."

Trouble = Literal[
    "misconfigured",
    "command-not-found",
    "command-not-run",
    "process-ended",
    "answered-an-error",
    "not-mcp",
    "answer-unusable",
    "start-timeout",
    "not-reached",
    "certificate-not-accepted",
    "proxy-failed",
    "sign-in-needed",
]
"""Why a server is not ready; each is also the code of a finding of `halflap doctor`."""


class Failure(NamedTuple):
    trouble: Trouble
    message: str


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
    data: Any = None
    """What the server said besides the message."""


@dataclass(frozen=True, slots=True)
class Hooks:
    """What the gateway does for its servers."""

    version: str
    """Halflap's own."""
    list_roots: ListRoots
    on_listing: Callable[[Listing], Awaitable[None]]
    on_features: Callable[[str, Features], Awaitable[bool]]
    """Returns whether they are others than before."""
    on_event: Callable[[ServerEvent], None]


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
    """The first lines on a server's stdout that are not messages, as long as there are no messages."""
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

    def request_failed(self, error: MCPError, request_id: int) -> RequestFailedError:
        """Translate the SDK's error: whether an answer can still come, and whether the request was delivered."""
        if error.code == UNUSABLE:
            return RequestFailedError(types.INTERNAL_ERROR, error.message)
        if error.code == types.CONNECTION_CLOSED and error.message.startswith(_EVENT_TOO_LARGE):
            return RequestFailedError(types.INTERNAL_ERROR, TOO_LARGE)
        if is_closed(error):
            # Over HTTP, a single request's stream can close alone.
            session_lost = error.message.startswith(_SESSION_CLOSED)
            arrived = self.may_have_arrived(request_id)
            return RequestFailedError(error.code, error.message, True, session_lost, arrived)
        return RequestFailedError(
            error.code,
            error.message,
            lost=error.code in {NOT_SENT, LOST},
            session_lost=error.code == NOT_SENT,
            may_have_arrived=error.code not in {NOT_SENT, REFUSED},
            data=error.error.data,
        )


_SESSION_CLOSED = "Connection closed"
_STREAM_CLOSED = "SSE stream"
_EVENT_TOO_LARGE = "SSE stream failed"
"""How the SDK's messages begin when no answer can come any more; servers use the same code for their own errors."""


def is_closed(error: MCPError) -> bool:
    """Return whether the SDK reports a closed connection, as opposed to an error that the server answered."""
    is_ours = error.message.startswith((_SESSION_CLOSED, _STREAM_CLOSED))
    return error.code == types.CONNECTION_CLOSED and is_ours
