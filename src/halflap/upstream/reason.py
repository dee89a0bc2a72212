"""Why a server could not be started or reached, in words that say what to do."""

from __future__ import annotations

import re
import ssl
from typing import TYPE_CHECKING, NamedTuple

import httpx2
import mcp_types as types
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from halflap.core.errors import UpstreamError, UpstreamLostError, UpstreamUnavailableError
from halflap.core.text import visible
from halflap.upstream.message import NOT_THE_PROTOCOL
from halflap.upstream.wire import CLOSED, LOST, NOT_SENT, REFUSED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halflap.config import ServerConfig
    from halflap.upstream.log import ServerLog
    from halflap.upstream.status import Trouble
    from halflap.upstream.wire import Wire

__all__ = ["Reason", "explain", "explain_timeout", "is_answer", "lost", "telling"]

_LONGEST_SHOWN = 500
_LONGEST_NAME = 200
_LONGEST_READ = 8_000
_LINES_SHOWN = 3
_LINES_READ = 60
_BESIDE = re.compile(
    r"^npm (?:notice|warn\b)|^npm (?:error|ERR!)(?: [A-Z0-9]+)?\s*$|A complete log of this run"
    r"|Note that you can also install from|tarball, folder, http url|^\s*(?:at .*:\d+:\d+\)?|[\^~]+|[{}]|Node\.js v\S+)\s*$",
    re.IGNORECASE,
)
"""What stands in nearly every log, and says nothing of why: notices, stacks, where more can be read."""
_NPM = re.compile(r"^npm (?:error|ERR!)\s*")
"""It stands before every line of npm's, and is no sign of one that tells."""
_FAILURE = re.compile(
    r"error|exception|\bfail|\bfatal|\bpanic|not found|\b40[134]\b|no such|denied|refused|cannot|can't|unable|missing"
    r"|\binvalid|\brequired|is not\b|must be",
    re.IGNORECASE,
)


class Reason(NamedTuple):
    """What kind of trouble it is, and the words for it."""

    trouble: Trouble
    words: str


def explain(error: BaseException, server: ServerConfig, wire: Wire, log: ServerLog) -> Reason:
    """Find the telling one among what was raised, and put it into words."""
    leaf = _leaf(error)
    if isinstance(leaf, UpstreamError):
        return Reason(wire.kind or "not-reached", leaf.reason)
    # It was its answer, and not that its process ended: that came after, and was our doing.
    if is_answer(leaf):
        assert isinstance(leaf, MCPError)
        if wire.foreign is not None and not wire.greeted:
            return Reason("not-reached", wire.foreign)
        if leaf.message == NOT_THE_PROTOCOL:
            return Reason("answer-unusable", f"{NOT_THE_PROTOCOL}.{_last_words(server, log)}")
        what = "did not list its tools" if wire.greeted else "did not agree to talk"
        # Redacted before it is cut: half of a secret would not be known for one.
        said = visible(log.redact(leaf.message[:_LONGEST_READ]), _LONGEST_SHOWN).rstrip(".")
        words = f"it {what}: {said} (code {leaf.code})."
        return Reason("answered-an-error", words + _last_words(server, log, silent=""))
    if isinstance(leaf, ValueError | RuntimeError | TypeError | LookupError):
        return Reason("answer-unusable", _explain_leaf(leaf) + _last_words(server, log))
    kind = wire.kind or ("process-ended" if server.command is not None else "not-reached")
    # Where it is told what the server wrote, nothing has to be told of what it did not write.
    silent = "" if kind == "not-mcp" else _SILENT
    return Reason(kind, (wire.trouble or _explain_leaf(leaf)) + _last_words(server, log, silent=silent))


def is_answer(error: BaseException) -> bool:
    """Say whether it is an error that the server itself answered, and not one that stands for no answer."""
    if not isinstance(error, MCPError) or error.code in {NOT_SENT, LOST, REFUSED}:
        return False
    # The library's code for a closed connection is one that servers use for errors of their own.
    return not (error.code == types.CONNECTION_CLOSED and error.message.startswith(CLOSED))


def _explain_leaf(leaf: BaseException) -> str:
    if isinstance(leaf, httpx2.HTTPStatusError):
        return f"it answered {leaf.response.status_code} {leaf.response.reason_phrase}. Check `url`."
    if isinstance(leaf, httpx2.HTTPError | httpx2.InvalidURL | ssl.SSLError):
        return f"it cannot be reached: {_words(leaf)}. Check `url`, and that it is running."
    if isinstance(leaf, MCPError):
        return f"it did not agree to talk: {leaf.message} (code {leaf.code})."
    if isinstance(leaf, ValidationError):
        return f"{NOT_THE_PROTOCOL}: {leaf.error_count()} problems in its greeting."
    if isinstance(leaf, ValueError | RuntimeError | TypeError | LookupError):
        return f"its answer cannot be used: {_words(leaf).rstrip('.')}."
    return f"{_words(leaf)}."


def explain_timeout(server: ServerConfig, wire: Wire, log: ServerLog) -> Reason:
    """Say that it took too long to start, or that it will never be ready."""
    if wire.noise and not wire.heard:
        shown = " | ".join(wire.noise)
        return Reason(
            "not-mcp",
            f"it does not seem to speak MCP over stdio: within {server.start_timeout_seconds:g} s it answered "
            f"nothing, and wrote to its stdout: {shown}",
        )
    return Reason(
        "start-timeout",
        f"it did not get ready within {server.start_timeout_seconds:g} s. If it needs longer, "
        f"set `start_timeout_seconds` for it.{_last_words(server, log)}",
    )


def lost(server: str, tool: str, why: str, *, sent: bool) -> UpstreamError:
    """Say that a call got no answer, and whether it may have taken effect."""
    why, tool = why.rstrip("."), visible(tool, _LONGEST_NAME)
    if not sent:
        return UpstreamUnavailableError(server, f"{why}. The call of {tool!r} was not sent.")
    return UpstreamLostError(
        server,
        f"the connection was lost during the call of {tool!r} ({why}). It may have taken effect; it was "
        "not repeated, because the tool is not known to be read-only or idempotent.",
    )


_SILENT = " It said nothing on stderr."


def _last_words(server: ServerConfig, log: ServerLog, *, silent: str = _SILENT) -> str:
    if server.command is None:
        return ""
    lines = telling(log.tail(_LINES_READ))
    return f" Its last words: {' | '.join(lines)}" if lines else silent


def telling(lines: Sequence[str]) -> list[str]:
    """Choose the few lines that say most of why it ended: first those that name a failure, then the last ones."""
    said = [line for line in lines if line.strip()]
    if len(said) <= _LINES_SHOWN:
        return said
    matter = [number for number, line in enumerate(said) if not _BESIDE.search(line)]
    failures = [number for number in matter if _FAILURE.search(_NPM.sub("", said[number]))]
    chosen = failures[-_LINES_SHOWN:]
    others = [number for number in matter if number not in failures]
    chosen += others[len(others) - max(0, _LINES_SHOWN - len(chosen)) :]
    return [said[number] for number in sorted(chosen)] or said[-_LINES_SHOWN:]


def _words(error: BaseException) -> str:
    return str(error) or type(error).__name__


def _leaf(error: BaseException) -> BaseException:
    """Look through groups of exceptions for the one that came first and is not a mere cancellation."""
    while isinstance(error, BaseExceptionGroup):
        inner = [one for one in error.exceptions if isinstance(one, Exception)]
        error = inner[0] if inner else error.exceptions[0]
    return error
