"""The audit log: one line of JSON for each request over HTTP, with its principal, its subject and its outcome.

It has no values of arguments or results; those are in the trace, under the run that a line names. A thread writes it to
a file of bounded size. `Refusals` counts the requests and connections that were refused before they had a principal.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from collections import Counter
from collections.abc import Mapping
from logging.handlers import QueueListener, RotatingFileHandler
from queue import Queue
from typing import TYPE_CHECKING, Any

from mcp.shared.exceptions import MCPError

from halflap.core.text import visible
from halflap.core.values import person_of
from halflap.server.tokens import PRINCIPAL

if TYPE_CHECKING:
    from pathlib import Path

    from mcp.server import ServerRequestContext
    from mcp.server.context import CallNext, HandlerResult
    from starlette.types import Message, Scope, Send

logger = logging.getLogger(__name__)

_MAX_BYTES = 16 * 1024 * 1024
_OLD_FILES = 4
_MAX_NAME = 200
_MAX_CALLS = 50
_REFUSED = 400
_SUBJECTS = ("name", "tool_name", "program")
"""Arguments of Halflap's own tools that name another tool or program."""
_LOGGED_SECONDS = 60.0
"""Refusals of one address are logged once in this time."""
_MAX_ADDRESSES = 1_000
_IS_LOGGED = "halflap.is_logged"
"""The key in the scope of an HTTP request that is in the log."""
_REASONS = {
    "host": "a request with a foreign Host header",
    "origin": "a request from a foreign origin",
    "token": "a request without a valid token",
    "many": "a connection above the limit",
    "slow": "a connection without a complete request",
}


class _File(RotatingFileHandler):
    """A log file that only its owner can read."""

    _failed = False

    def _open(self) -> Any:
        return open(self.baseFilename, self.mode, encoding="utf-8", opener=_private)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: ARG002, N802 -- overrides the library's
        if not self._failed:
            message = "The audit log %s can't be written: %s. Requests are answered without it."
            logger.error(message, self.baseFilename, sys.exc_info()[1])
        self._failed = True


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


class Audit:
    """Writes the lines; without a file, it does nothing."""

    def __init__(self, file: Path | None = None) -> None:
        self._queue: Queue[Any] = Queue()
        self._writer: QueueListener | None = None
        if file is not None:
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            target = _File(file, maxBytes=_MAX_BYTES, backupCount=_OLD_FILES, delay=True)
            self._writer = QueueListener(self._queue, target)
            self._writer.start()

    def write(self, **fields: Any) -> None:
        if self._writer is not None:
            line = json.dumps({"at": round(time.time(), 3), **fields}, ensure_ascii=False)
            self._queue.put_nowait(logging.LogRecord("audit", logging.INFO, "", 0, line, None, None))

    def close(self) -> None:
        """Write the queued lines, and close the file."""
        if self._writer is not None:
            self._writer.stop()
            for handler in self._writer.handlers:
                handler.close()

    def refusals_of(self, scope: Scope, send: Send) -> Send:
        """Return a `send` that also logs a refusal that the MCP server did not see, as of another person's session."""

        async def sending(message: Message) -> None:
            is_refusal = message["type"] == "http.response.start" and message["status"] >= _REFUSED
            if is_refusal and _IS_LOGGED not in scope:
                path = visible(scope["path"], _MAX_NAME)
                self.write(**_who(scope), path=path, outcome=f"refused: {message['status']}")
            await send(message)

        return sending

    async def middleware(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Log a request to the MCP server with its outcome."""
        if self._writer is None or ctx.request is None or ctx.request_id is None:
            return await call_next(ctx)
        ctx.request.scope[_IS_LOGGED] = True
        began, outcome = time.perf_counter(), {"outcome": "cancelled"}
        try:
            result = await call_next(ctx)
            outcome = _outcome(result if isinstance(result, dict) else {})
        except MCPError as error:
            code = error.error.data.get("code") if isinstance(error.error.data, dict) else None
            outcome = {"outcome": str(code or error.error.code)}
            raise
        except Exception:
            outcome = {"outcome": "crash"}
            raise
        else:
            return result
        finally:
            self.write(
                **_who(ctx.request.scope),
                method=ctx.method,
                **_subject(ctx.params or {}),
                **outcome,
                ms=round((time.perf_counter() - began) * 1000, 1),
            )


def _who(scope: Mapping[str, Any]) -> dict[str, str]:
    principal = scope[PRINCIPAL]
    return {
        "who": person_of(principal) or principal,
        "address": (scope.get("client") or ["unknown"])[0],
    }


def _subject(params: Mapping[str, Any]) -> dict[str, str]:
    """Return the tool, prompt or resource that a request names, and what its arguments name."""
    arguments = params.get("arguments")
    given = arguments if isinstance(arguments, dict) else {}
    about = next((given[key] for key in _SUBJECTS if isinstance(given.get(key), str)), None)
    found = {"name": params.get("name", params.get("uri")), "about": about}
    return {key: visible(one, _MAX_NAME) for key, one in found.items() if isinstance(one, str)}


def _outcome(result: Mapping[str, Any]) -> dict[str, Any]:
    meta = result.get("_meta")
    own = meta.get("halflap") if isinstance(meta, dict) else None
    about = own if isinstance(own, dict) else {}
    failed = about.get("code") or ("tool-error" if result.get("isError") is True else None)
    waits = "input-required" if result.get("resultType") == "input_required" else None
    outcome: dict[str, Any] = {"outcome": str(failed or waits or "ok")}
    if "run" in about:
        outcome["run"] = about["run"]
    calls = about.get("calls")
    if isinstance(calls, list):
        outcome["calls"] = [f"{one['tool']}: {one['outcome']}" for one in calls[:_MAX_CALLS]]
    return outcome


class Refusals:
    """Counts and logs what was refused before it had a principal."""

    def __init__(self, audit: Audit | None = None) -> None:
        self.counts: Counter[str] = Counter(dict.fromkeys(_REASONS, 0))
        self._audit = audit
        self._logged: dict[tuple[str, str], float] = {}

    def add(self, reason: str, address: str, path: str = "") -> None:
        self.counts[reason] += 1
        now = time.monotonic()
        if now - self._logged.get((reason, address), -_LOGGED_SECONDS) < _LOGGED_SECONDS:
            return
        if len(self._logged) >= _MAX_ADDRESSES:
            self._logged.clear()
        self._logged[reason, address] = now
        path = visible(path, _MAX_NAME)
        logger.warning("Refused %s from %s %s", _REASONS[reason], address, path)
        if self._audit is not None:
            self._audit.write(address=address, path=path, outcome=f"refused: {reason}")
