"""The audit log: a line of JSON for each request over HTTP, with who sent it, what it asked for, and the outcome.

Values of arguments and results are not in it; the trace has them, under the run that a line names. It is kept in a file
of bounded size, which a thread writes.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from collections.abc import Mapping
from logging.handlers import QueueListener, RotatingFileHandler
from queue import Queue
from typing import TYPE_CHECKING, Any

from mcp.shared.exceptions import MCPError

from halflap.core.text import visible
from halflap.core.values import person_of
from halflap.server.tokens import principal_of

if TYPE_CHECKING:
    from pathlib import Path

    from mcp.server import ServerRequestContext
    from mcp.server.context import CallNext, HandlerResult

logger = logging.getLogger(__name__)

_MAX_BYTES = 16 * 1024 * 1024
_KEPT_FILES = 4
_MAX_NAME = 200
_MAX_CALLS = 50
_ABOUT = ("name", "tool_name", "program")
"""Arguments of Halflap's own tools that say what they are about."""


class _File(RotatingFileHandler):
    """A file that only its owner can read."""

    _failed = False

    def _open(self) -> Any:
        return open(self.baseFilename, self.mode, encoding="utf-8", opener=_private)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: ARG002, N802 -- as the library has it
        if not self._failed:
            message = "The audit log %s can't be written: %s. Requests are answered without it."
            logger.error(message, self.baseFilename, sys.exc_info()[1])
        self._failed = True


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


class Audit:
    """Writes the lines; without a file, none."""

    def __init__(self, file: Path | None = None) -> None:
        self._queue: Queue[Any] = Queue()
        self._writer: QueueListener | None = None
        if file is not None:
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            target = _File(file, maxBytes=_MAX_BYTES, backupCount=_KEPT_FILES, delay=True)
            self._writer = QueueListener(self._queue, target)
            self._writer.start()

    def write(self, **fields: Any) -> None:
        if self._writer is not None:
            line = json.dumps({"at": round(time.time(), 3), **fields}, ensure_ascii=False)
            self._queue.put_nowait(logging.LogRecord("audit", logging.INFO, "", 0, line, None, None))

    def close(self) -> None:
        """Write what waits."""
        if self._writer is not None:
            self._writer.stop()

    async def note(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Note a request and its outcome; a middleware of the MCP server."""
        if self._writer is None or ctx.request is None or ctx.request_id is None:
            return await call_next(ctx)
        began, done = time.perf_counter(), {"outcome": "cancelled"}
        try:
            result = await call_next(ctx)
            done = _outcome(result if isinstance(result, dict) else {})
        except MCPError as error:
            code = error.error.data.get("code") if isinstance(error.error.data, dict) else None
            done = {"outcome": str(code or error.error.code)}
            raise
        except Exception:
            done = {"outcome": "crash"}
            raise
        else:
            return result
        finally:
            principal = principal_of(ctx)
            took = round((time.perf_counter() - began) * 1000, 1)
            self.write(
                who=person_of(principal) or principal,
                address=(ctx.request.scope.get("client") or ["unknown"])[0],
                method=ctx.method,
                **_about(ctx.params or {}),
                **done,
                ms=took,
            )


def _about(params: Mapping[str, Any]) -> dict[str, str]:
    """Return the tool, prompt or resource that a request names, and what a tool of ours is asked about."""
    named = params.get("name", params.get("uri"))
    arguments = params.get("arguments")
    given = arguments if isinstance(arguments, dict) else {}
    about = next((given[key] for key in _ABOUT if isinstance(given.get(key), str)), None)
    found = {"name": named, "about": about}
    return {key: visible(one, _MAX_NAME) for key, one in found.items() if isinstance(one, str)}


def _outcome(result: Mapping[str, Any]) -> dict[str, Any]:
    meta = result.get("_meta")
    ours = meta.get("halflap") if isinstance(meta, dict) else None
    told = ours if isinstance(ours, dict) else {}
    failed = told.get("code") or ("tool-error" if result.get("isError") is True else None)
    waits = "input-required" if result.get("resultType") == "input_required" else None
    outcome: dict[str, Any] = {"outcome": str(failed or waits or "ok")}
    if "run" in told:
        outcome["run"] = told["run"]
    calls = told.get("calls")
    if isinstance(calls, list):
        outcome["calls"] = [f"{one['tool']}: {one['outcome']}" for one in calls[:_MAX_CALLS]]
    return outcome
