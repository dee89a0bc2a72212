"""One connection to a server: which requests it received, and why the connection failed."""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import mcp_types as types
from mcp.shared.exceptions import MCPError

from halflap.upstream.json_rpc import MALFORMED

if TYPE_CHECKING:
    from pathlib import Path

    from halflap.config import ServerConfig
    from halflap.core.values import Features, Listing, ServerEvent
    from halflap.upstream.log import ServerLog
    from halflap.upstream.questions import ListRoots
    from halflap.upstream.signin import CredentialStore

# JSON-RPC error codes of our own, used when no answer can come. They never leave this package. They are random, because a
# server that knew them could have a call repeated, or claim that a call did not reach it.
_CODES = -(1 << 32) - 8 * secrets.randbelow(1 << 40)
NOT_SENT = _CODES
"""The request did not reach the server: repeating it cannot do anything twice."""
LOST = _CODES - 1
"""The connection broke after the request was sent: it may have taken effect."""
REFUSED = _CODES - 2
"""The server wants credentials; it did not process the request."""
UNUSABLE = _CODES - 3
"""The answer cannot be used: it is a web page, for example, or larger than `MAX_MESSAGE_BYTES`."""

MAX_MESSAGE_BYTES = 32 * 1024 * 1024
"""Limit for one message, and for one listing."""
TOO_LARGE = f"it answered with more than {MAX_MESSAGE_BYTES >> 20} MiB."
_SESSION_CLOSED = "Connection closed"
_STREAM_CLOSED = "SSE stream"
_EVENT_TOO_LARGE = "SSE stream failed"
"""Prefixes of the SDK's errors for a lost connection; servers use the same code for errors of their own."""
_MAX_MESSAGE = 500
_LINES_READ = 60
_LINES_SHOWN = 3
_ERROR_LINE = re.compile(r"error|exception|fatal|panic", re.IGNORECASE)

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


@dataclass(frozen=True, slots=True)
class Hooks:
    """What the gateway provides for its servers."""

    version: str
    """Halflap's version."""
    log_folder: Path | None
    redact: Callable[[str], str]
    credentials: CredentialStore
    last_versions: Mapping[str, str | None]
    """The protocol version agreed on with each server last time."""
    in_process: Mapping[str, Any]
    """Server objects for the transport `memory`."""
    list_roots: ListRoots
    on_listing: Callable[[Listing], Awaitable[None]]
    on_features: Callable[[str, Features], Awaitable[bool]]
    """Returns whether the features changed."""
    on_event: Callable[[ServerEvent], None]


@dataclass(slots=True)
class Connection:
    """State of one connection, shared by the transport and the session."""

    sent: dict[int | str, int] | None = None
    """Unanswered requests, each with the value of `written` after it. None if the transport cannot tell."""
    written: int = 0
    """Bytes written so far, or about to be."""
    unread: int = 0
    """Bytes that the server had not read when it exited."""
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when no further message can arrive."""
    failure: Failure | None = None
    """The most recent failure."""
    only_noise: bool = False
    """The last lines on the server's stdout were not messages."""
    ready: bool = False
    """The server listed its tools. Only then does it get time to exit when it is stopped."""
    only_sse: bool = False
    """The answer to a POST is typical of the older HTTP transport."""

    def may_have_arrived(self, request_id: int | str) -> bool:
        """Return whether the server may have read the whole request."""
        if self.sent is None:
            return True
        return request_id in self.sent and self.sent[request_id] <= self.written - self.unread

    def translate(self, error: MCPError, request_id: int | str) -> MCPError:
        """Return a request's error, with one of our own codes if the SDK reports a lost connection."""
        if error.code == types.CONNECTION_CLOSED and error.message.startswith(_EVENT_TOO_LARGE):
            return MCPError(UNUSABLE, TOO_LARGE)
        if error.code == types.CONNECTION_CLOSED and not _is_answer(error):
            # Over HTTP, the stream of a single request can end without the session.
            if error.message.startswith(_SESSION_CLOSED):
                self.closed.set()
            message = error.message if self.failure is None else self.failure.message
            return MCPError(LOST if self.may_have_arrived(request_id) else NOT_SENT, message)
        if error.code == NOT_SENT:
            self.closed.set()
        return error


def _is_answer(error: MCPError) -> bool:
    """Return whether the error is the server's, not one of the SDK's or ours for a lost connection."""
    if error.code == types.CONNECTION_CLOSED:
        return not error.message.startswith((_SESSION_CLOSED, _STREAM_CLOSED))
    return error.code not in {NOT_SENT, LOST, REFUSED, UNUSABLE}


def explain(error: BaseException, server: ServerConfig, connection: Connection, log: ServerLog) -> Failure:
    """Return why a server could not be started, connected to or listed."""
    cause = _first_cause(error)
    text = str(cause) or type(cause).__name__
    seconds = f"{server.start_timeout_seconds:g} s"
    # A server that refused us may answer other requests with other errors.
    is_refused = connection.failure is not None and connection.failure.trouble == "sign-in-needed"
    # What the server answered comes first: its process only ended because we stopped it.
    if isinstance(cause, TimeoutError) and connection.only_noise:
        message = f"it does not seem to speak MCP over stdio: it wrote something else, and did not answer within {seconds}."
        failure = Failure("not-mcp", message)
    elif isinstance(cause, TimeoutError):
        hint = "If it needs longer, set `start_timeout_seconds` for it."
        failure = Failure("start-timeout", f"it was not ready within {seconds}. {hint}")
    elif isinstance(cause, MCPError) and _is_answer(cause) and not is_refused:
        answer = log.show(text, _MAX_MESSAGE).rstrip(".")
        failure = Failure("answered-an-error", f"it answered with an error: {answer} (code {cause.code}).")
        if text.startswith(MALFORMED):
            failure = Failure("answer-unusable", f"{answer}.")
    elif isinstance(cause, ValueError | RuntimeError | TypeError | LookupError):
        # The first line of a validation error counts the problems.
        first_line = text.splitlines()[0].rstrip(".")
        failure = Failure("answer-unusable", f"its answer cannot be used: {first_line}.")
    else:
        trouble: Trouble = "not-reached" if server.command is None else "process-ended"
        failure = connection.failure or Failure(trouble, f"{text}.")
    return _with_log(failure, server, log)


def _with_log(failure: Failure, server: ServerConfig, log: ServerLog) -> Failure:
    """Add the telling lines of the server's log."""
    if server.command is None or failure.trouble in {"command-not-found", "command-not-run"}:
        return failure
    shown = explaining_lines(log.recent(_LINES_READ))
    end = "It wrote nothing to stderr."
    if shown:
        end = f"Its log (`halflap doctor --log` shows more): {' | '.join(shown)}"
    return Failure(failure.trouble, f"{failure.message} {end}")


def explaining_lines(lines: Sequence[str]) -> list[str]:
    """Return the lines most likely to explain why a process ended: the first errors, and the last line."""
    written = [line for line in lines if line.strip()]
    errors = [line for line in written if _ERROR_LINE.search(line)][: _LINES_SHOWN - 1]
    if len(written) <= _LINES_SHOWN or not errors:
        return written[-_LINES_SHOWN:]
    return errors if written[-1] in errors else [*errors, written[-1]]


def _first_cause(error: BaseException) -> BaseException:
    """Return the first exception of a group that is not a cancellation."""
    while isinstance(error, BaseExceptionGroup):
        inner = [one for one in error.exceptions if isinstance(one, Exception)]
        error = inner[0] if inner else error.exceptions[0]
    return error
