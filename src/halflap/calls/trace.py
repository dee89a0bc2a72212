"""The record of one call while it is made."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from halflap.calls.recorder import Recorder, new_id
from halflap.calls.validation import aside
from halflap.core.errors import ArgumentProblem, HalflapError
from halflap.schema import is_small
from halflap.store import SENT, TOOL_ERROR, CallRecord

if TYPE_CHECKING:
    from halflap.core.values import CallContext, Result, Tool

__all__ = ["Answered", "CallTrace", "Observe"]

_MAX_BREACH = 500


@dataclass(frozen=True, slots=True)
class Answered:
    """A call that its tool answered, for learning."""

    call: str
    """Its identifier in the trace."""
    tool: Tool
    """As it was defined when the call was sent."""
    arguments: str
    """As JSON."""
    result: str
    """As JSON, in the form that `Result.from_wire` reads."""
    at: float
    run: str | None = None
    principal: str = "local"
    ended: float | None = None
    """When the answer arrived; unknown means as it began."""


Observe = Callable[[Answered], None]
"""Receives every answered call. It is on the path of the call, so it must neither wait nor fail."""


class CallTrace:
    """Committed before the call is sent; on leaving its block, the outcome is recorded, whatever it is."""

    def __init__(
        self,
        recorder: Recorder,
        tool: Tool,
        arguments: Mapping[str, Any],
        context: CallContext,
        observe: Observe | None = None,
    ) -> None:
        self.tool = tool
        """As it is defined now."""
        self._recorder = recorder
        self._observe = observe
        self._began = time.perf_counter()
        self._given = arguments
        self._arguments: str | None = None
        self._result: str | None = None
        self._outcome = "ok"
        self._breach: str | None = None
        self._stored: CallRecord | None = None
        self.is_committed = False
        self._begun = CallRecord(
            id=new_id() + context.mark,
            run=context.run,
            parent=context.parent,
            principal=context.principal,
            server=tool.server,
            tool=tool.original_name,
            definition_hash=tool.hash,
            started_at=time.time(),
            duration_ms=None,
            outcome=SENT,
            argument_bytes=0,
            result_bytes=0,
        )

    async def set_arguments(self, arguments: dict[str, Any]) -> None:
        """Note the arguments as they are sent."""
        self._arguments = await aside(lambda: _json(arguments), arguments)

    async def commit(self) -> None:
        """Write to disk that the call is about to be sent."""
        self.is_committed = True
        level = self._recorder.level(self.tool)
        if level != "off":
            begun = replace(self._begun, definition_hash=self.tool.hash)
            self._stored = await self._recorder.commit(begun, arguments=self._arguments, level=level)

    async def set_result(self, result: Result) -> None:
        self._outcome = TOOL_ERROR if result.is_error else "ok"
        wire = result.to_wire()
        self._result = await aside(lambda: json.dumps(wire, ensure_ascii=False, default=str), wire)

    def set_breach(self, breach: ArgumentProblem) -> None:
        self._breach = str(breach)[:_MAX_BREACH]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if isinstance(error, HalflapError):
            self._end(error.code, str(error))
        elif isinstance(error, asyncio.CancelledError):
            self._end("cancelled", None)
        elif error is not None:
            self._end("crash", f"{type(error).__name__}: {error}")
        else:
            self._end(self._outcome, None)

    def _end(self, outcome: str, error: str | None) -> None:
        tool, begun = self.tool, self._begun
        took = time.perf_counter() - self._began
        if self._arguments is None and is_small(self._given):
            # They were not sent, so they may be anything.
            with suppress(TypeError, ValueError, RecursionError):
                self._arguments = _json(dict(self._given))
        if self._observe is not None and self._result is not None:
            times = (begun.started_at, begun.run, begun.principal, begun.started_at + took)
            self._observe(Answered(begun.id, tool, self._arguments or "{}", self._result, *times))
        level = self._recorder.level(tool)
        if level == "off":
            return
        record = replace(
            self._stored or begun,
            server=tool.server,
            tool=tool.original_name,
            definition_hash=tool.hash,
            duration_ms=took * 1000,
            outcome=outcome,
            breach=self._breach,
            error=error,
        )
        # What was committed is redacted already.
        arguments = self._arguments if self._stored is None else None
        self._recorder.add(record, arguments=arguments, result=self._result, level=level)


def _json(arguments: dict[str, Any]) -> str:
    return json.dumps(arguments, allow_nan=False, ensure_ascii=False)
