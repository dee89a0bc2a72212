"""What we know of the wire under a session: what left us, and why it broke."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from halflap.upstream.status import Trouble

__all__ = ["CLOSED", "LOST", "NOT_SENT", "REFUSED", "SESSION_CLOSED", "RequestFailedError", "Wire"]

SESSION_CLOSED = "Connection closed"
CLOSED = (SESSION_CLOSED, "SSE stream")
"""How the library's own errors begin when no answer can come any more."""

# JSON-RPC error codes of our own, put in place of an answer that can no longer come. They never leave
# this package.
NOT_SENT = -32950
"""The request did not reach the server: repeating it cannot do anything twice."""
LOST = -32951
"""The connection broke after the request left us: nobody knows whether it took effect."""
REFUSED = -32952
"""The server turned the request away unread, for want of credentials."""


@dataclass(slots=True)
class Wire:
    """One connection's record, written by its transport and read by its owner."""

    sent: dict[int | str, int] | None = None
    """The unanswered requests that the operating system took, each with how much went before it.

    None where a transport cannot tell."""
    written: int = 0
    """How many bytes the operating system took in all."""
    unread: int = 0
    """How many of them were never read by the server, known once it has ended."""
    broken: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the transport knows that nothing will come any more."""
    trouble: str | None = None
    """Why it broke or was refused, in words for the user."""
    kind: Trouble | None = None
    """What kind of trouble that is, where the transport knows."""
    noise: list[str] = field(default_factory=list)
    """The first lines on a server's stdout that are no messages."""
    heard: bool = False
    """A message came from the server."""
    greeted: bool = False
    """It agreed on a version of the protocol."""
    pid: int | None = None
    ready: bool = False
    """The server answered its greeting: it is owed time to end by itself."""
    wants_sign_in: bool = False
    """The server turned the last request away for want of credentials, or of better ones."""
    foreign: str | None = None
    """What answered last was no MCP server, in words for the user."""
    fallback_to_sse: bool = False
    """The server answered in a way that only a server of the older HTTP transport does."""

    def may_have_arrived(self, request_id: int | str) -> bool:
        """Say whether the server can have read any of a request."""
        if self.sent is None:
            return True
        start = self.sent.get(request_id)
        return start is not None and start < self.written - self.unread


class RequestFailedError(Exception):
    """A request got an error, or no answer. Stays within this package."""

    def __init__(
        self, code: int, message: str, *, lost: bool = False, gone: bool = False, sent: bool = True
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.lost = lost
        """No answer will come."""
        self.gone = gone
        """The session is of no more use, to anybody."""
        self.sent = sent
        """The server may have acted on the request."""
