"""The record of one call while it is made."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from halflap.calls.payload import LARGE, Payload, payload, size
from halflap.calls.recorder import new_id
from halflap.store import SENT, CallRecord

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.calls.recorder import Recorder
    from halflap.core.values import CallContext, Result, Tool

__all__ = ["Answered", "CallTrace", "Observe"]


@dataclass(frozen=True, slots=True)
class Answered:
    """A call that its tool answered, for learning; a large payload may still be in use by others."""

    call: str
    """Its identifier in the trace."""
    tool: Tool
    """As it was defined when the call was sent."""
    arguments: Payload
    result: Payload
    at: float
    run: str | None = None
    principal: str = "local"
    ended: float | None = None
    """When the answer arrived; unknown means as it began."""


Observe = Callable[[Answered], None]
"""Receives every answered call. It is on the path of the call, so it must neither wait nor fail."""


class CallTrace:
    """Begun when a call is requested, committed before it is sent, ended when its outcome is known."""

    def __init__(
        self, recorder: Recorder, tool: Tool, context: CallContext, observe: Observe | None = None
    ) -> None:
        self._recorder = recorder
        self._observe = observe
        self._began = time.perf_counter()
        self._arguments: Payload = None
        self._sent: CallRecord | None = None
        self.is_committed = False
        self._record = CallRecord(
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

    def set_arguments(self, arguments: Mapping[str, Any], text: str) -> None:
        """Note the arguments, and their text as JSON."""
        self._arguments = arguments if len(text) > LARGE else text
        self._record = replace(self._record, argument_bytes=len(text.encode(errors="replace")))

    def set_unsent_arguments(self, arguments: Mapping[str, Any]) -> None:
        """Note the arguments of a call that was not sent, if they are JSON and not large."""
        if self._arguments is not None or size(arguments, most=LARGE) > LARGE:
            return
        with suppress(TypeError, ValueError, RecursionError):
            self.set_arguments(arguments, json.dumps(dict(arguments), allow_nan=False, ensure_ascii=False))

    async def commit(self, tool: Tool) -> None:
        """Write to disk that the call is about to be sent."""
        self.is_committed = True
        level = self._recorder.level(tool)
        if level != "off":
            record = replace(self._record, definition_hash=tool.hash)
            self._sent = await self._recorder.commit(record, arguments=self._arguments, level=level)

    def end(
        self, tool: Tool, outcome: str, result: Result | None, breach: str | None, error: str | None
    ) -> None:
        """Record the outcome."""
        level = self._recorder.level(tool)
        if level == "off" and self._observe is None:
            return
        wire = None if result is None else payload(result.to_wire())
        took = time.perf_counter() - self._began
        begun = self._record
        if self._observe is not None and wire is not None:
            self._observe(
                Answered(
                    begun.id,
                    tool,
                    self._arguments,
                    wire,
                    begun.started_at,
                    begun.run,
                    begun.principal,
                    begun.started_at + took,
                )
            )
        if level == "off":
            return
        record = replace(
            begun if self._sent is None else self._sent,
            server=tool.server,
            tool=tool.original_name,
            definition_hash=tool.hash,
            duration_ms=took * 1000,
            outcome=outcome,
            result_bytes=len(wire.encode(errors="replace")) if isinstance(wire, str) else 0,
            breach=breach,
            error=error,
        )
        arguments = self._arguments if self._sent is None else None
        self._recorder.add(record, arguments=arguments, result=wire, level=level)
