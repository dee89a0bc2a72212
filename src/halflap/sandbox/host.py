"""What a program may ask of us while it runs: calls within its limits, a place for its output."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from halflap.core.errors import HalflapError, ToolBlockedError, ToolNotFoundError
from halflap.core.values import SCRIPTS
from halflap.sandbox.output import Output
from halflap.sandbox.report import CallMade
from halflap.sandbox.rule import Rule
from halflap.sandbox.sandbox import ToolRefusal
from halflap.sandbox.value import Reading, reading_of, value_of
from halflap.store import TOOL_ERROR

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from halflap.calls import Policy
    from halflap.catalog import Snapshot
    from halflap.config import ExecutionConfig
    from halflap.core.codes import OtherCode
    from halflap.core.values import CallContext, CallJournal, Result

__all__ = ["ProgramHost"]

_TOO_MANY: OtherCode = "call-limit"
_RECALLED = "known from before"
_LARGE = 262_144
_SCRIPT = f"{SCRIPTS}__"
_LONGEST_NAME = 1_000
"""Far longer than any tool's. Looking for what was meant by one without end would take without end."""
_LONGEST_MESSAGE = 20_000


class ProgramHost:
    """The `Host` of one run."""

    def __init__(
        self,
        call: Callable[[str, Mapping[str, Any], CallContext], Awaitable[Result]],
        snapshot: Callable[[], Snapshot],
        policy: Policy,
        config: ExecutionConfig,
        context: CallContext,
    ) -> None:
        self._call = call
        self._snapshot = snapshot
        self._config = config
        self._journal = context.journal
        self._context = replace(context, rule=Rule(policy, config, context), journal=None)
        self._places = asyncio.Semaphore(config.max_concurrent_calls)
        self._readings: dict[str, Reading] = {}
        self.kept = Output(config)
        self.calls: list[CallMade] = []
        self.begun = 0

    # What a sandbox asks ------------------------------------------------------------------------------

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Make a call, within the limits of this program."""
        if self.begun >= self._config.max_calls:
            raise ToolRefusal(
                f"Execution exceeded {self._config.max_calls:,} calls limit (`execution.max_calls`); {name!r} was "
                f"not called [{_TOO_MANY}]."
            )
        self.begun += 1
        # Cut, it is still no tool's, and the call is on the record like any other.
        name = name if len(name) <= _LONGEST_NAME else f"{name[:60]}…"
        if self._journal is not None:
            return await self._go_through(self._journal, name, arguments)
        async with self._places:
            return await self._make(name, partial(self._call, name, arguments, self._context))

    async def _go_through(self, journal: CallJournal, marked: str, arguments: Mapping[str, Any]) -> Any:
        """Give what the call returned before, or make it; what is only recalled takes no place."""
        name = journal.tool(marked)
        if name is None:
            raise ToolRefusal(f"{marked!r} is not a call of this workflow.")
        try:
            known = await journal.recall(marked, arguments)
        except HalflapError as error:
            raise ToolRefusal(str(error)) from error
        if known is not None:
            return await self._make(name, partial(_at_once, known), well=_RECALLED)
        context = replace(self._context, mark=marked.removeprefix(name))
        call = partial(self._call, name, arguments, context)
        async with self._places:
            return await self._make(name, partial(journal.make, marked, call))

    async def _make(self, name: str, made: Callable[[], Awaitable[Result]], well: str = "ok") -> Any:
        place = len(self.calls)
        self.calls.append(CallMade(name, "under way", 0.0))
        began = time.perf_counter()
        outcome, detail = "cancelled", ""
        try:
            result = await made()
            outcome = TOOL_ERROR if result.is_error else well
            if name.startswith(_SCRIPT) and (result.is_error or result.has_structured_content):
                # A script's value, or its failure, hides what it showed, and that was meant for the model.
                for block in result.content:
                    self.kept.show(block)
            if result.is_error:
                detail = _message(result)
                raise ToolRefusal(detail)
            return await self._value(name, result)
        except HalflapError as error:
            outcome, detail = error.code, str(error)
            raise ToolRefusal(_refusal(name, error)) from error
        finally:
            took = (time.perf_counter() - began) * 1000
            self.calls[place] = CallMade(name, outcome, took, detail.partition("\n")[0])

    async def _value(self, name: str, result: Result) -> Any:
        if name not in self._readings:
            tool = self._snapshot().tools.get(name)
            self._readings[name] = Reading() if tool is None else reading_of(tool)
        reading = self._readings[name]
        if sum(len(str(block.get("text", ""))) for block in result.content) > _LARGE:
            return await asyncio.to_thread(value_of, result, reading)
        return value_of(result, reading)

    def output(self, data: bytes) -> bool:
        """Keep what was printed, up to the limit."""
        return self.kept.write(data)

    def show(self, block: Mapping[str, Any]) -> bool:
        """Keep a content block for the model, if it is one."""
        return self.kept.show(block)


async def _at_once(result: Result) -> Result:
    return result


def _message(result: Result) -> str:
    """Give a server's own words about an error."""
    text = result.text
    if not text and result.structured_content is not None:
        text = json.dumps(result.structured_content, ensure_ascii=False, default=str)
    return text[:_LONGEST_MESSAGE] or "The tool reported an error without a message."


def _refusal(name: str, error: HalflapError) -> str:
    if isinstance(error, ToolBlockedError):
        return f"{name!r} is not available in execute_program"
    if isinstance(error, ToolNotFoundError):
        more = str(error).partition("\n")[2]
        return f"{name!r} is not available in execute_program" + (f"\n{more}" if more else "")
    return str(error)
