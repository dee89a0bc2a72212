"""Why a server could not be started or reached, in words that say what to do."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

import httpx2
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from halflap.errors import UpstreamError

if TYPE_CHECKING:
    from halflap.config import ServerConfig
    from halflap.upstream.log import ServerLog
    from halflap.upstream.wire import Wire

__all__ = ["explain", "explain_timeout"]


def explain(error: BaseException, server: ServerConfig, wire: Wire, log: ServerLog) -> str:
    """Find the telling one among what was raised, and put it into words."""
    leaf = _leaf(error)
    if isinstance(leaf, UpstreamError):
        return leaf.reason
    # It was its answer, and not that its process ended: that came after, and was our doing.
    answered = isinstance(leaf, ValueError | RuntimeError | TypeError | LookupError)
    words = _explain_leaf(leaf) if answered else wire.trouble or _explain_leaf(leaf)
    return words + _last_words(server, log)


def _explain_leaf(leaf: BaseException) -> str:
    if isinstance(leaf, httpx2.HTTPStatusError):
        return f"it answered {leaf.response.status_code} {leaf.response.reason_phrase}. Check `url`."
    if isinstance(leaf, httpx2.HTTPError | httpx2.InvalidURL | ssl.SSLError):
        return f"it cannot be reached: {_words(leaf)}. Check `url`, and that it is running."
    if isinstance(leaf, MCPError):
        return f"it did not agree to talk: {leaf.message} (code {leaf.code})."
    if isinstance(leaf, ValidationError):
        return (
            f"it answered something that is not the protocol: {leaf.error_count()} problems in its greeting."
        )
    if isinstance(leaf, ValueError | RuntimeError | TypeError | LookupError):
        return f"its answer cannot be used: {_words(leaf).rstrip('.')}."
    return f"{_words(leaf)}."


def explain_timeout(server: ServerConfig, log: ServerLog) -> str:
    """Say that it took too long to start."""
    return (
        f"it did not get ready within {server.start_timeout_seconds:g} s. If it needs longer, "
        f"set `start_timeout_seconds` for it.{_last_words(server, log)}"
    )


def _last_words(server: ServerConfig, log: ServerLog) -> str:
    if server.command is None:
        return ""
    lines = [line for line in log.tail(8) if line.strip()]
    return f" Its last words: {' | '.join(lines[-3:])}" if lines else " It said nothing on stderr."


def _words(error: BaseException) -> str:
    return str(error) or type(error).__name__


def _leaf(error: BaseException) -> BaseException:
    """Look through groups of exceptions for the one that came first and is not a mere cancellation."""
    while isinstance(error, BaseExceptionGroup):
        inner = [one for one in error.exceptions if isinstance(one, Exception)]
        error = inner[0] if inner else error.exceptions[0]
    return error
