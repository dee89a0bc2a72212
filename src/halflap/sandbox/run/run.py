"""One run of a program: its check, permissions, time limit, record and report."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from halflap.calls import new_id
from halflap.core.errors import SandboxError, ToolRefusedError
from halflap.sandbox.check.finding import Checked, Finding, doubts_text, mistakes_text
from halflap.sandbox.functions import PREFIXES, names_in
from halflap.sandbox.run.host import ProgramHost, Services
from halflap.sandbox.run.report import Execution, failure_text, report_text
from halflap.sandbox.sandbox import MAX_DEPTH, Ending, Program, ToolHelp
from halflap.store import RunRecord

if TYPE_CHECKING:
    from halflap.calls import Policy
    from halflap.config import ExecutionConfig
    from halflap.core.values import CallContext, Tool

_PROGRESS_SECONDS = 2.0
_GRACE_SECONDS = 1.0


def check_depth(context: CallContext) -> None:
    """Raise if a script or DSPy program would be nested too deeply."""
    if context.depth > MAX_DEPTH:
        raise SandboxError(
            f"It was not run: scripts and DSPy programs can call each other at most {MAX_DEPTH} deep. Do they call each "
            "other in a circle?",
            code="scripts-too-deep",
        )


class Permissions:
    """A `CallContext.rule`: raises `ToolRefusedError` for tools that a program, or its caller, may not call."""

    def __init__(self, policy: Policy, config: ExecutionConfig, context: CallContext) -> None:
        self._policy = policy
        self._config = config
        self._context = context

    def __call__(self, tool: Tool) -> None:
        context = self._context
        if context.rule is not None:
            context.rule(tool)
        if (reason := self._policy.kept_out_of_programs(tool)) is not None:
            raise ToolRefusedError(f"{tool.name!r} {reason}")
        needs_confirmation = self._config.confirm_destructive and self._policy.is_destructive(tool)
        if needs_confirmation and tool.name not in context.confirmations:
            reason = context.unconfirmed or "the user was not asked, because the program does not name it"
            raise ToolRefusedError(
                f"{tool.name!r} is destructive and was not confirmed: {reason}. It was not called."
            )


class Run:
    """A program that is executed once."""

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
        self._config = services.config
        self._code = code
        self._arguments = arguments
        self._caller = context
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
        inner = replace(
            context,
            run=self._record.id,
            parent=context.run,
            depth=context.depth + 1,
            cancelled=None,
            rule=Permissions(services.policy, services.config, context),
            journal=None,
        )
        self._host = ProgramHost(services, inner, context.journal)
        self._checked = Checked()

    async def execute(self) -> Execution:
        """Check and run the program; its own failure is an answer, not an exception."""
        config, recorder, checker = self._config, self._services.recorder, self._services.checker
        is_workflow = self._caller.journal is not None
        # A workflow was checked as such; the lines generated from it mean nothing to its author. In a program without
        # tools, nothing can happen before Python itself reports what is wrong.
        if config.check != "off" and not is_workflow and checker.may_call(self._code, self._caller.principal):
            self._checked = await checker.check(self._code, self._caller.principal)
        if config.check == "on" and (mistakes := blocking_mistakes(self._checked)):
            return await self._finish(Ending("mistaken", mistakes_text(mistakes)))
        if is_workflow or recorder.is_required:
            # A workflow can be resumed after a crash, so it must be found then.
            await recorder.commit(self._record)
        else:
            recorder.add(self._record)
        return await self._finish(await self._in_sandbox())

    async def _in_sandbox(self) -> Ending:
        """Run the program within its time limit."""
        caller, host = self._caller, self._host
        limit = asyncio.get_running_loop().time() + self._config.timeout_seconds
        deadline = limit if caller.deadline is None else min(limit, caller.deadline)
        # At the deadline this run cancels its calls. They get a little longer, so that nothing else cancels them at the
        # same time, while they notify their servers.
        host.context = replace(host.context, deadline=deadline + _GRACE_SECONDS)
        progress = None
        # The program that called a script reports for it.
        if caller.progress is not None and not caller.depth:
            progress = asyncio.create_task(self._report_progress(caller.progress), name="report progress")
        try:
            async with asyncio.timeout_at(deadline) as clock:
                program = Program(self._code, await self._tools(), self._arguments)
                return await self._services.sandbox.run(program, host)
        except BaseException as error:
            if isinstance(error, TimeoutError) and clock.expired():
                return Ending("timeout")
            execution, record = self._report(Ending("cancelled"))
            self._services.recorder.add(record)
            if caller.cancelled is not None:
                caller.cancelled(execution)
            raise
        finally:
            if progress is not None:
                progress.cancel()

    async def _finish(self, ending: Ending) -> Execution:
        """Record how the run ended, and write the answer."""
        recorder, place = self._services.recorder, self._services.output_place
        doubts = ""
        if ending.outcome == "failed" and ending.hint is None:
            doubts = doubts_text([*blocking_mistakes(self._checked), *self._checked.doubts], ending.error)
        execution, record = self._report(ending, doubts)
        printed, whole = self._host.output.fit()
        if whole is None and not recorder.is_required:
            recorder.add(record)
        elif not await recorder.end_run(record) and place != "off":
            # The answer says where the whole output is, so it has to be stored before.
            place = "failed"
        text = report_text(execution, printed, whole, place, self._config)
        return replace(execution, text=text, is_truncated=whole is not None)

    def _report(self, ending: Ending, doubts: str = "") -> tuple[Execution, RunRecord]:
        """Return the report, still without its text, and the record."""
        calls, output = self._host.calls, self._host.output
        error = failure_text(ending, self._config, doubts)
        execution = Execution(
            run=self._record.id,
            outcome=ending.outcome,
            text="",
            output=output.text,
            error=error,
            value=None if self._arguments is None else ending.value,
            shown=tuple(output.shown),
            calls=tuple(calls),
            duration_ms=(time.perf_counter() - self._began) * 1000,
            cpu_ms=None if ending.cpu_seconds is None else ending.cpu_seconds * 1000,
            memory_bytes=ending.memory_bytes,
            sandbox=self._record.sandbox or "",
            check_skipped=self._checked.skipped,
        )
        recorded = output.recorded
        return execution, replace(
            self._record,
            duration_ms=execution.duration_ms,
            outcome=ending.outcome,
            error=error or None,
            output=recorded,
            output_bytes=len(recorded.encode()),
            calls=len(calls),
            cpu_ms=execution.cpu_ms,
            memory_bytes=ending.memory_bytes,
        )

    async def _tools(self) -> dict[str, ToolHelp]:
        """Return the tools that the program names; names that only look like tools raise a `ToolError` when called."""
        known = await self._services.checker.tools_in(self._code, self._caller.principal)
        named = {name for name in names_in(self._code) if name.startswith(PREFIXES)} - {*PREFIXES}
        return dict.fromkeys(named, ToolHelp()) | {name: tool.help for name, tool in known.items()}

    async def _report_progress(self, report: Callable[..., Awaitable[None]]) -> None:
        seconds = 0.0
        while True:
            await asyncio.sleep(_PROGRESS_SECONDS)
            seconds += _PROGRESS_SECONDS
            under_way = self._host.under_way
            made = len(self._host.calls) - under_way
            text = f"running for {seconds:.0f} s; {made} calls made, {under_way} under way"
            with contextlib.suppress(Exception):
                await report(seconds, None, text)


def blocking_mistakes(checked: Checked) -> list[Finding]:
    """Return the mistakes that stop a run; a syntax error is reported by Python itself."""
    return [one for one in checked.mistakes if one.rule != "syntax"]
