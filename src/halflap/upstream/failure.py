"""Why a server is not ready or a call was lost: the kind of trouble, and a message that says what to do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import httpx2
from mcp.shared.exceptions import MCPError

from halflap.core.errors import UpstreamError
from halflap.upstream.connection import OWN_CODES, Connection, Failure, is_closed
from halflap.upstream.json_rpc import MALFORMED

if TYPE_CHECKING:
    from halflap.config import ServerConfig
    from halflap.upstream.log import ServerLog

_MAX_MESSAGE = 500
_LINES_READ = 60
_LINES_SHOWN = 3
_ERROR_LINE = re.compile(r"error|exception|fatal|panic", re.IGNORECASE)


def explain(error: BaseException, server: ServerConfig, connection: Connection, log: ServerLog) -> Failure:
    """Return why a server could not be started, connected to or listed."""
    cause = _first_cause(error)
    if isinstance(cause, UpstreamError):
        return connection.failure or Failure("not-reached", cause.reason)
    # What the server answered comes first: that its process ended after that was our doing.
    if isinstance(cause, MCPError) and cause.code not in OWN_CODES and not is_closed(cause):
        answer = log.show(cause.message, _MAX_MESSAGE).rstrip(".")
        failure = Failure("answered-an-error", f"it answered with an error: {answer} (code {cause.code}).")
        if cause.message.startswith(MALFORMED):
            failure = Failure("answer-unusable", f"{answer}.")
    elif isinstance(cause, ValueError | RuntimeError | TypeError | LookupError):
        # Of a failed validation, the first line counts the problems.
        first_line = _text(cause).splitlines()[0].rstrip(".")
        failure = Failure("answer-unusable", f"its answer cannot be used: {first_line}.")
    else:
        failure = connection.failure or _unreachable(cause, server)
    return _with_log(failure, server, log)


def explain_timeout(server: ServerConfig, connection: Connection, log: ServerLog) -> Failure:
    """Return why a server was not ready in time."""
    seconds = f"{server.start_timeout_seconds:g} s"
    if connection.noise:
        return Failure(
            "not-mcp",
            f"it does not seem to speak MCP over stdio: within {seconds} it answered nothing, and wrote to its "
            f"stdout: {' | '.join(connection.noise)}",
        )
    message = f"it was not ready within {seconds}. If it needs longer, set `start_timeout_seconds` for it."
    return _with_log(Failure("start-timeout", message), server, log)


def _unreachable(cause: BaseException, server: ServerConfig) -> Failure:
    if server.command is not None:
        return Failure("process-ended", f"{_text(cause)}.")
    if isinstance(cause, httpx2.HTTPStatusError):
        # Its own text has the whole address, and that may have a secret in it.
        status = f"{cause.response.status_code} {cause.response.reason_phrase}"
        return Failure("not-reached", f"it answered {status}. Check `url`.")
    return Failure(
        "not-reached", f"it cannot be reached: {_text(cause)}. Check `url`, and that it is running."
    )


def _with_log(failure: Failure, server: ServerConfig, log: ServerLog) -> Failure:
    """Add what the process wrote."""
    if server.command is None:
        return failure
    shown = telling_lines(log.recent(_LINES_READ))
    end = f"Its log: {' | '.join(shown)}" if shown else "It wrote nothing to stderr."
    return Failure(failure.trouble, f"{failure.message} {end}")


def telling_lines(lines: Sequence[str]) -> list[str]:
    """Return the few lines that tell most about why a process ended: the first ones with an error, and the last."""
    written = [line for line in lines if line.strip()]
    errors = [line for line in written if _ERROR_LINE.search(line)][: _LINES_SHOWN - 1]
    if len(written) <= _LINES_SHOWN or not errors:
        return written[-_LINES_SHOWN:]
    return errors if written[-1] in errors else [*errors, written[-1]]


def _text(error: BaseException) -> str:
    return str(error) or type(error).__name__


def _first_cause(error: BaseException) -> BaseException:
    """Return the first exception of a group that is not a mere cancellation."""
    while isinstance(error, BaseExceptionGroup):
        inner = [one for one in error.exceptions if isinstance(one, Exception)]
        error = inner[0] if inner else error.exceptions[0]
    return error
