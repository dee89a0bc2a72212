"""The gateway's side of a running program: makes its calls, and keeps what it prints and shows."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from halflap.core.errors import HalflapError, ToolBlockedError, ToolNotFoundError
from halflap.core.json_bounds import TooManyPartsError, check_parts
from halflap.core.values import SCRIPTS, Result
from halflap.sandbox.functions import ToolError
from halflap.sandbox.media import Media
from halflap.sandbox.run.report import CallMade, Output
from halflap.sandbox.sandbox import Host
from halflap.schema import Reading, read_result, reading_of
from halflap.store import TOOL_ERROR

if TYPE_CHECKING:
    from halflap.calls import Policy, Recorder
    from halflap.catalog import Snapshot
    from halflap.config import ExecutionConfig
    from halflap.core.codes import OtherCode
    from halflap.core.values import CallContext, CallJournal
    from halflap.sandbox.check.checker import Checker
    from halflap.sandbox.choose import Sandbox
    from halflap.sandbox.run.report import OutputPlace

_TOO_MANY: OtherCode = "call-limit"
_MAX_NAME = 1_000
"""Far longer than any tool's name; bounds the search for similar names."""
_MAX_MESSAGE = 20_000
_NOT_AVAILABLE = "is not available in execute_program"


@dataclass(frozen=True, slots=True)
class Services:
    """What runs use of the gateway."""

    config: ExecutionConfig
    sandbox: Sandbox
    checker: Checker
    call: Callable[[str, Mapping[str, Any], CallContext], Awaitable[Result]]
    snapshot: Callable[[str], Snapshot]
    """Returns the tools that exist for a principal."""
    policy: Policy
    recorder: Recorder
    ensure_listed: Callable[[], Awaitable[None]]
    """Waits until the servers have listed their tools, but not long."""
    output_place: OutputPlace
    """Where whole outputs are kept."""


class ProgramHost(Host):
    """Serves one program within its limits. The sandbox calls it; what comes from there is untrusted."""

    def __init__(self, services: Services, context: CallContext, journal: CallJournal | None) -> None:
        """Create it; `context` is for the calls of the program, `journal` has those of an interrupted workflow."""
        self.context = context
        self.calls: list[CallMade] = []
        """In the order in which they were begun."""
        self.output = Output(services.config)
        self._services = services
        self._journal = journal
        self._readings: dict[str, Reading] = {}
        self._begun = 0

    @property
    def under_way(self) -> int:
        """The number of calls that have no result yet."""
        return sum(call.outcome == "under way" for call in self.calls)

    def write(self, data: bytes) -> bool:
        return self.output.write(data)

    def show(self, block: Mapping[str, Any]) -> bool:
        return self.output.show(block)

    async def call(self, name: str, arguments: Mapping[str, Any], line: int | None = None) -> Any:
        most = self._services.config.max_calls
        if self._begun >= most:
            raise ToolError(
                f"Execution exceeded {most:,} calls limit (`execution.max_calls`); {name!r} was not called [{_TOO_MANY}]."
            )
        self._begun += 1
        name = name if len(name) <= _MAX_NAME else f"{name[:60]}…"
        if self._journal is not None:
            return await self._call_in_workflow(self._journal, name, arguments)
        context = replace(self.context, line=line)
        return await self._make(name, partial(self._services.call, name, arguments, context))

    async def _call_in_workflow(self, journal: CallJournal, marked: str, arguments: Mapping[str, Any]) -> Any:
        """Return what the call returned before the interruption, or make it."""
        name = journal.tool(marked)
        if name is None:
            raise ToolError(f"{marked!r} is not a call of this workflow.")
        try:
            recorded = journal.recall(marked, arguments)
        except HalflapError as error:
            raise ToolError(str(error)) from error
        if recorded is not None:
            return self._value(name, recorded)
        context = replace(self.context, mark=marked.removeprefix(name))
        call = partial(self._services.call, name, arguments, context)
        return await self._make(name, partial(journal.make, marked, call))

    async def _make(self, name: str, call: Callable[[], Awaitable[Result]]) -> Any:
        """Make a call, list it with its outcome, and return the value for the program."""
        place = len(self.calls)
        self.calls.append(CallMade(name, "under way", 0.0))
        began = time.perf_counter()
        outcome, detail = "cancelled", ""
        try:
            result = await call()
            outcome = TOOL_ERROR if result.is_error else "ok"
            if name.startswith(f"{SCRIPTS}__") and (result.is_error or result.has_structured_content):
                # A script's value, or its failure, replaces what it showed, which was meant for the model.
                for block in result.content:
                    self.show(block)
            if result.is_error:
                detail = _error_text(result)
                raise ToolError(detail)
            return self._value(name, result)
        except HalflapError as error:
            outcome, detail = error.code, str(error)
            raise ToolError(_refusal(name, error)) from error
        finally:
            took = (time.perf_counter() - began) * 1000
            self.calls[place] = CallMade(name, outcome, took, detail.partition("\n")[0])

    def _value(self, name: str, result: Result) -> Any:
        if name not in self._readings:
            tool = self._services.snapshot(self.context.principal).tools.get(name)
            self._readings[name] = Reading() if tool is None else reading_of(tool)
        try:
            if result.structured_content is None:
                for block in result.content:
                    if (text := str(block.get("text", ""))).lstrip().startswith(("{", "[")):
                        check_parts(text)
            return read_result(result, self._readings[name], Media)
        except TooManyPartsError as error:
            raise ToolError(
                f"The call was made, but the result of {name!r} cannot be read: {error}. Ask the tool for less, or for a part."
            ) from None


def _error_text(result: Result) -> str:
    text = result.text
    if not text and result.structured_content is not None:
        text = json.dumps(result.structured_content, ensure_ascii=False, default=str)
    return text[:_MAX_MESSAGE] or "The tool reported an error without a message."


def _refusal(name: str, error: HalflapError) -> str:
    if isinstance(error, ToolBlockedError):
        return f"{name!r} {_NOT_AVAILABLE}\n{error.rule} blocks it."
    if isinstance(error, ToolNotFoundError):
        _, _, more = str(error).partition("\n")
        return f"{name!r} {_NOT_AVAILABLE}\n{more}".rstrip()
    return str(error)
