"""What is written down of one call as it goes along."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from halflap.calls.keep import Raw, raw, size
from halflap.calls.record import new_id
from halflap.store import SENT, CallRecord

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.calls.record import Recorder
    from halflap.core.values import CallContext, Result, Tool

__all__ = ["Answered", "CallTrace", "Observe"]

_LARGE = 200_000


@dataclass(frozen=True, slots=True)
class Answered:
    """A call that its tool answered, for whoever learns from it: texts, which nobody can change any more.

    What is large is not written out, and still in the hands of others.
    """

    call: str
    """Its identifier in the trace."""
    tool: Tool
    """As it was defined when the call was sent."""
    arguments: Raw
    result: Raw
    at: float
    """When it began."""
    run: str | None = None
    """Within which it was made, if any."""
    principal: str = "local"
    ended: float | None = None
    """When the answer was there; not known is as it began."""


Observe = Callable[[Answered], None]
"""Takes what was answered. It is on the path of every call: it may neither wait nor fail."""


class CallTrace:
    """Begun when a call is asked for, committed before it is sent, ended when its outcome is known."""

    def __init__(
        self, recorder: Recorder, tool: Tool, context: CallContext, observe: Observe | None = None
    ) -> None:
        self._recorder = recorder
        self._observe = observe
        self._began = time.perf_counter()
        self._arguments: Raw = None
        self._sent: CallRecord | None = None
        self.is_committed = False
        """Whether nothing is left to be done before it is sent again."""
        self._record = CallRecord(
            id=new_id(),
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

    def passed(self, arguments: Mapping[str, Any], text: str) -> None:
        """Note the arguments, and their text as JSON."""
        self._arguments = arguments if len(text) > _LARGE else text
        self._record = replace(self._record, argument_bytes=len(text.encode(errors="replace")))

    def given(self, arguments: Mapping[str, Any]) -> None:
        """Note the arguments of a call that did not come to be sent, if they are JSON and not large."""
        if self._arguments is not None or size(arguments, most=_LARGE) > _LARGE:
            return
        with suppress(TypeError, ValueError, RecursionError):
            self.passed(arguments, json.dumps(dict(arguments), allow_nan=False, ensure_ascii=False))

    async def commit(self, tool: Tool) -> None:
        """Have on disk that the call is about to be sent."""
        self.is_committed = True
        level = self._recorder.level(tool)
        if level != "off":
            record = replace(self._record, definition_hash=tool.hash)
            self._sent = await self._recorder.commit(record, arguments=self._arguments, level=level)

    def end(
        self, tool: Tool, outcome: str, result: Result | None, breach: str | None, error: str | None
    ) -> None:
        """Note how it ended."""
        level = self._recorder.level(tool)
        if level == "off" and self._observe is None:
            return
        wire = None if result is None else raw(result.to_wire())
        if self._observe is not None and wire is not None:
            record = self._record
            took = time.perf_counter() - self._began
            self._observe(
                Answered(
                    record.id,
                    tool,
                    self._arguments,
                    wire,
                    record.started_at,
                    record.run,
                    record.principal,
                    record.started_at + took,
                )
            )
        if level == "off":
            return
        record = replace(
            self._record if self._sent is None else self._sent,
            server=tool.server,
            tool=tool.original_name,
            definition_hash=tool.hash,
            duration_ms=(time.perf_counter() - self._began) * 1000,
            outcome=outcome,
            result_bytes=len(wire.encode(errors="replace")) if isinstance(wire, str) else 0,
            breach=breach,
            error=error,
        )
        arguments = self._arguments if self._sent is None else None
        self._recorder.add(record, arguments=arguments, result=wire, level=level)
