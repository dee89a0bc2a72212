"""One run of a program: its check, limits, permissions, calls, output, record and report."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from halflap.calls import new_id
from halflap.core.errors import (
    HalflapError,
    SandboxError,
    ToolBlockedError,
    ToolNotFoundError,
    ToolRefusedError,
)
from halflap.core.json_bounds import TooManyPartsError, check_parts
from halflap.core.values import SCRIPTS, CallContext, CallJournal, Result, Tool
from halflap.sandbox.check.finding import Checked, Finding, doubts_text, mistakes_text
from halflap.sandbox.functions import ToolError
from halflap.sandbox.media import Media
from halflap.sandbox.named import PREFIXES, names_in
from halflap.sandbox.run.output import Output
from halflap.sandbox.run.report import CallMade, Execution, Kept, failure_text, report_text
from halflap.sandbox.sandbox import DEEPEST, Ending, Host, Program, ToolHelp
from halflap.schema import Reading, parse_schema, read_result, reading_of
from halflap.store import TOOL_ERROR, RunRecord

if TYPE_CHECKING:
    from halflap.calls import Policy, Recorder
    from halflap.catalog import Snapshot
    from halflap.config import ExecutionConfig
    from halflap.core.codes import OtherCode
    from halflap.sandbox.check.checker import Checker
    from halflap.sandbox.choose import Sandbox
    from halflap.schema import ToolSchema

__all__ = ["Permissions", "Run", "Services", "check_depth", "stopping"]

_PROGRESS_SECONDS = 2.0
_GRACE_SECONDS = 1.0
_TOO_MANY: OtherCode = "call-limit"
_RECALLED = "known from before"
_LARGE = 262_144
_LONGEST_NAME = 1_000
"""Far longer than any tool's: suggestions for an endless name would take endlessly long."""
_LONGEST_MESSAGE = 20_000
_NO_TOOL = "is not available in execute_program"


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
    settle: Callable[[], Awaitable[None]]
    """Waits until the catalogue is as complete as it gets soon."""
    keeps: Kept = "stored"
    schema_of: Callable[[Tool], Awaitable[ToolSchema]] | None = None
    """Returns a tool's schema with what was learned about it."""


def check_depth(context: CallContext) -> None:
    """Raise if this run would be nested too deeply."""
    if context.depth > DEEPEST:
        raise SandboxError(
            f"It was not run: scripts and DSPy programs can call each other {DEEPEST} deep, and this one would be "
            "one more. Do they call each other in a circle?",
            code="scripts-too-deep",
        )


class Permissions:
    """Raises for tools that a program, or the one that called it, may not call."""

    def __init__(self, policy: Policy, config: ExecutionConfig, context: CallContext) -> None:
        self._policy = policy
        self._config = config
        self._outer = context.rule
        self._confirmed = context.confirmations
        self._unconfirmed = context.unconfirmed

    def __call__(self, tool: Tool) -> None:
        if self._outer is not None:
            self._outer(tool)
        if (why := self._policy.kept_out_of_programs(tool)) is not None:
            raise ToolRefusedError(f"{tool.name!r} {why}")
        needs_confirmation = self._config.confirm_destructive and self._policy.is_destructive(tool)
        if needs_confirmation and tool.name not in self._confirmed:
            why = self._unconfirmed or "it was not asked about, because the program does not name it"
            raise ToolRefusedError(
                f"{tool.name!r} destroys something and was not confirmed by the person: {why}. It was not called."
            )


class Run(Host):
    """A program that is run once. The sandbox asks it for calls, and hands it output and pictures."""

    def __init__(
        self,
        services: Services,
        code: str,
        context: CallContext,
        *,
        kind: str = "program",
        name: str | None = None,
        arguments: Mapping[str, Any] | None = None,
    ) -> None:
        self._services = services
        self._config = config = services.config
        self._code = code
        self._arguments = arguments
        self._outer = context
        self._journal = context.journal
        self._began = time.perf_counter()
        self._record = RunRecord(
            id=new_id() if context.journal is None else context.journal.run,
            principal=context.principal,
            kind=kind,
            name=name,
            code=code,
            code_hash=sha256(code.encode(errors="replace")).hexdigest(),
            started_at=time.time(),
            sandbox=services.sandbox.name,
        )
        self._context = replace(
            context,
            run=self._record.id,
            parent=context.run,
            depth=context.depth + 1,
            cancelled=None,
            rule=Permissions(services.policy, config, context),
            journal=None,
        )
        self._checked = Checked()
        self._readings: dict[str, Reading] = {}
        self._output = Output(config)
        self._calls: list[CallMade] = []
        self._begun = 0

    async def execute(self) -> Execution:
        """Check and run the program; its own failure is an answer, not an exception."""
        config, recorder = self._config, self._services.recorder
        checker = self._services.checker
        # A workflow was checked as such; the lines generated from it mean nothing to its author. In a program without
        # tools, nothing can happen before Python itself reports what is wrong.
        if (
            config.check != "off"
            and self._journal is None
            and checker.may_call(self._code, self._outer.principal)
        ):
            self._checked = await checker.check(self._code, self._outer.principal)
        if config.check == "on" and (mistakes := stopping(self._checked)):
            return await self._finish(Ending("mistaken", mistakes_text(mistakes)))
        if self._journal is None and not recorder.is_required:
            recorder.add(self._record)
        else:
            # A workflow can be resumed after a crash, so it must be found then.
            await recorder.commit(self._record)
        return await self._finish(await self._in_sandbox())

    async def _in_sandbox(self) -> Ending:
        """Run the program within its time limit."""
        limit = asyncio.get_running_loop().time() + self._config.timeout_seconds
        deadline = limit if self._outer.deadline is None else min(limit, self._outer.deadline)
        # At the deadline this run cancels its calls. They have a little longer, so that nothing else cancels them then, too,
        # while they notify their servers.
        self._context = replace(self._context, deadline=deadline + _GRACE_SECONDS)
        progress = None
        # For a script that a program called, the program reports.
        if self._outer.progress is not None and not self._outer.depth:
            progress = asyncio.create_task(
                self._report_progress(self._outer.progress), name="report progress"
            )
        try:
            async with asyncio.timeout_at(deadline) as clock:
                program = Program(self._code, await self._tools(), self._arguments)
                return await self._services.sandbox.run(program, self)
        except BaseException as error:
            if isinstance(error, TimeoutError) and clock.expired():
                return Ending("timeout")
            cancelled = Ending("cancelled")
            execution, record = self._report(cancelled, failure_text(cancelled, self._config))
            self._services.recorder.add(record)
            if self._outer.cancelled is not None:
                self._outer.cancelled(execution)
            raise
        finally:
            if progress is not None:
                progress.cancel()

    async def _finish(self, ending: Ending) -> Execution:
        services, config = self._services, self._config
        hint = ending.hint or await self._suggestion(ending.undefined)
        doubts = ""
        if ending.outcome == "failed" and hint is None:
            doubts = doubts_text([*stopping(self._checked), *self._checked.doubts], ending.error)
        execution, record = self._report(ending, failure_text(ending, config, hint, doubts))
        printed, shown, whole = self._output.fit()
        kept = services.keeps
        if whole is None and not services.recorder.is_required:
            services.recorder.add(record)
        elif not await services.recorder.end_run(record) and kept != "off":
            # The answer says where the whole output is, so it has to be stored before.
            kept = "failed"
        text = report_text(execution, printed, whole, kept, config)
        return replace(execution, text=text, is_truncated=whole is not None, shown=tuple(shown))

    def _report(self, ending: Ending, error: str) -> tuple[Execution, RunRecord]:
        """Return the report, but for its text, and the record."""
        output = self._output.recorded
        execution = Execution(
            run=self._record.id,
            outcome=ending.outcome,
            text="",
            output=self._output.text,
            error=error,
            value=None if self._arguments is None else ending.value,
            shown=tuple(self._output.shown),
            calls=tuple(self._calls),
            duration_ms=(time.perf_counter() - self._began) * 1000,
            cpu_ms=None if ending.cpu_seconds is None else ending.cpu_seconds * 1000,
            memory_bytes=ending.memory_bytes,
            sandbox=self._record.sandbox or "",
            check_skipped=self._checked.skipped,
        )
        return execution, replace(
            self._record,
            duration_ms=execution.duration_ms,
            outcome=ending.outcome,
            error=error or None,
            output=output,
            output_bytes=len(output.encode()),
            calls=len(self._calls),
            cpu_ms=execution.cpu_ms,
            memory_bytes=ending.memory_bytes,
        )

    async def _tools(self) -> dict[str, ToolHelp]:
        """Return the tools that the program names; names that only look like tools get an answer, too."""
        tools = self._services.snapshot(self._outer.principal).tools
        schema_of = self._services.schema_of
        found = {}
        for name in names_in(self._code):
            if name in tools:
                tool = tools[name]
                schema = parse_schema(tool) if schema_of is None else await schema_of(tool)
                found[name] = ToolHelp(schema.format_compact(), schema.positional)
            elif name.startswith(PREFIXES) and name not in PREFIXES:
                found[name] = ToolHelp()
        return found

    async def _suggestion(self, undefined: str | None) -> str | None:
        """Return which tool was probably meant by a name that is not defined."""
        if undefined is None:
            return None
        # Of `mcp.time.get_time`, Python names only the first part.
        dotted = re.search(rf"\b{re.escape(undefined)}((?:\.\w+)+)", self._code)
        name = undefined + (dotted[1].replace(".", "__") if dotted else "")
        await self._services.settle()
        try:
            return (
                f"Write {self._services.snapshot(self._outer.principal).find(name[:_LONGEST_NAME]).name}(…)."
            )
        except ToolNotFoundError as error:
            return "Did you mean " + " or ".join(error.suggestions) + "?" if error.suggestions else None

    async def _report_progress(self, report: Callable[..., Awaitable[None]]) -> None:
        seconds = 0.0
        while True:
            await asyncio.sleep(_PROGRESS_SECONDS)
            seconds += _PROGRESS_SECONDS
            made = sum(call.outcome != "under way" for call in self._calls)
            text = f"running for {seconds:.0f} s; {made} calls made, {len(self._calls) - made} under way"
            with contextlib.suppress(Exception):
                await report(seconds, None, text)

    # What the sandbox asks for -------------------------------------------------------------------------

    async def call(self, name: str, arguments: Mapping[str, Any], line: int | None = None) -> Any:
        """Make a call for the program and return its value."""
        most = self._config.max_calls
        if self._begun >= most:
            raise ToolError(
                f"Execution exceeded {most:,} calls limit (`execution.max_calls`); {name!r} was not called [{_TOO_MANY}]."
            )
        self._begun += 1
        name = name if len(name) <= _LONGEST_NAME else f"{name[:60]}…"
        if self._journal is None:
            context = replace(self._context, line=line)
            return await self._make(name, partial(self._services.call, name, arguments, context))
        return await self._call_in_journal(self._journal, name, arguments)

    async def _call_in_journal(self, journal: CallJournal, marked: str, arguments: Mapping[str, Any]) -> Any:
        """Return what a workflow's call returned before, or make it."""
        name = journal.tool(marked)
        if name is None:
            raise ToolError(f"{marked!r} is not a call of this workflow.")
        try:
            known = journal.recall(marked, arguments)
        except HalflapError as error:
            raise ToolError(str(error)) from error
        if known is not None:
            return await self._make(name, partial(_at_once, known), outcome_if_ok=_RECALLED)
        context = replace(self._context, mark=marked.removeprefix(name))
        call = partial(self._services.call, name, arguments, context)
        return await self._make(name, partial(journal.make, marked, call))

    async def _make(self, name: str, call: Callable[[], Awaitable[Result]], outcome_if_ok: str = "ok") -> Any:
        place = len(self._calls)
        self._calls.append(CallMade(name, "under way", 0.0))
        began = time.perf_counter()
        outcome, detail = "cancelled", ""
        try:
            result = await call()
            outcome = TOOL_ERROR if result.is_error else outcome_if_ok
            if name.startswith(f"{SCRIPTS}__") and (result.is_error or result.has_structured_content):
                # A script's value, or its failure, replaces what it showed, which was meant for the model.
                for block in result.content:
                    self._output.show(block)
            if result.is_error:
                detail = _error_text(result)
                raise ToolError(detail)
            return await self._value(name, result)
        except HalflapError as error:
            outcome, detail = error.code, str(error)
            raise ToolError(_refusal(name, error)) from error
        finally:
            took = (time.perf_counter() - began) * 1000
            self._calls[place] = CallMade(name, outcome, took, detail.partition("\n")[0])

    async def _value(self, name: str, result: Result) -> Any:
        if name not in self._readings:
            tool = self._services.snapshot(self._outer.principal).tools.get(name)
            self._readings[name] = Reading() if tool is None else reading_of(tool)
        read = partial(read_result, result, self._readings[name], Media)
        if sum(len(str(block.get("text", ""))) for block in result.content) <= _LARGE:
            return read()
        try:
            return await asyncio.to_thread(_read_large, result, read)
        except TooManyPartsError as error:
            raise ToolError(
                f"The call was made, but the result of {name!r} cannot be read: {error}. Ask the tool for less, or for a part."
            ) from None

    def output(self, data: bytes) -> bool:
        return self._output.write(data)

    def show(self, block: Mapping[str, Any]) -> bool:
        return self._output.show(block)


def stopping(checked: Checked) -> list[Finding]:
    """Return the mistakes that stop a run; a syntax error is reported by Python itself."""
    return [one for one in checked.mistakes if one.rule != "syntax"]


def _read_large(result: Result, read: Callable[[], Any]) -> Any:
    if result.structured_content is None:
        for block in result.content:
            if (text := str(block.get("text", ""))).lstrip().startswith(("{", "[")):
                check_parts(text)
    return read()


async def _at_once(result: Result) -> Result:
    return result


def _error_text(result: Result) -> str:
    text = result.text
    if not text and result.structured_content is not None:
        text = json.dumps(result.structured_content, ensure_ascii=False, default=str)
    return text[:_LONGEST_MESSAGE] or "The tool reported an error without a message."


def _refusal(name: str, error: HalflapError) -> str:
    if isinstance(error, ToolBlockedError):
        return f"{name!r} {_NO_TOOL}"
    if isinstance(error, ToolNotFoundError):
        more = str(error).partition("\n")[2]
        return f"{name!r} {_NO_TOOL}" + (f"\n{more}" if more else "")
    return str(error)
