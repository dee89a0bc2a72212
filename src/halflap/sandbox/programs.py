"""Run programs: each within its limits, on the record, and with an answer whatever happens."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from halflap.calls import new_id
from halflap.core.errors import SandboxError, ToolNotFoundError, UsageError
from halflap.sandbox.check.finding import Checked, doubts_text, mistakes_text
from halflap.sandbox.host import ProgramHost
from halflap.sandbox.named import PREFIXES, names_in
from halflap.sandbox.output import fit
from halflap.sandbox.report import Execution, failure_text, tell
from halflap.sandbox.rule import DEEPEST, refuse_deeper
from halflap.sandbox.sandbox import Ending, Program, Readiness
from halflap.schema import parse_schema
from halflap.store import MISTAKEN, RunRecord

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from halflap.calls import Policy, Recorder
    from halflap.catalog import Snapshot
    from halflap.config import ExecutionConfig
    from halflap.core.values import CallContext, Result, Tool
    from halflap.sandbox.check.checker import Checker
    from halflap.sandbox.check.finding import Finding
    from halflap.sandbox.report import Kept
    from halflap.sandbox.sandbox import Entry, Sandbox
    from halflap.schema import ToolSchema

__all__ = ["Programs"]

_TELLING_SECONDS = 2.0
_MOST_CODE_BYTES = 1_048_576


class Programs:
    """Runs programs over the tools of a gateway."""

    def __init__(
        self,
        config: ExecutionConfig,
        sandbox: Sandbox,
        checker: Checker,
        *,
        call: Callable[[str, Mapping[str, Any], CallContext], Awaitable[Result]],
        snapshot: Callable[[], Snapshot],
        policy: Policy,
        recorder: Recorder,
        settle: Callable[[], Awaitable[None]],
        keeps: Kept = "stored",
        code_of: Callable[[str], str | None] = lambda _: None,
        schema_of: Callable[[Tool], Awaitable[ToolSchema]] | None = None,
    ) -> None:
        self._config = config
        self._sandbox = sandbox
        self._checker = checker
        self._call = call
        self._snapshot = snapshot
        self._policy = policy
        self._recorder = recorder
        self._settle = settle
        self._keeps = keeps
        self._code_of = code_of
        """Gives the code of a tool that is a saved script, and of one that is a DSPy program the tools that it may call."""
        self._schema_of = schema_of
        """Gives a tool's schema with what was learned of it."""
        # Places for each depth: whoever runs waits for deeper ones alone, so nobody waits for himself.
        self._places = [asyncio.Semaphore(config.max_programs) for _ in range(DEEPEST + 1)]

    async def ready(self) -> Readiness:
        """Say where programs run, and what holds them; or why none can."""
        return await self._sandbox.ready()

    async def check_ready(self) -> Readiness:
        """Say what holds the process that checks programs; or why none are checked."""
        if self._config.check == "off":
            return Readiness("ty", trouble="`execution.check` is off")
        return await self._checker.ready()

    async def destructive(self, code: str) -> tuple[Tool, ...]:
        """Give the tools that need the person's word before a program may call them.

        They are those that the program names, or a script or a DSPy program does that it names, however many are between.
        """
        if not self._config.confirm_destructive:
            return ()
        if self._config.check == "on" and _stopping(await self._checker.check(_plain(code))):
            # It will not run, so nobody need be asked.
            return ()
        return await self.destructive_within(code)

    async def destructive_within(self, code: str) -> tuple[Tool, ...]:
        """Give the same for a text that is no program, such as the name of one that is saved."""
        if not self._config.confirm_destructive:
            return ()
        await self._settle()
        tools = self._snapshot().tools
        named: set[str] = set()
        unread = [code]
        while unread:
            found = (names_in(unread.pop()) & tools.keys()) - named
            named |= found
            unread += [inner for name in found if (inner := self._code_of(name)) is not None]
        return tuple(tools[name] for name in sorted(named) if self._policy.is_destructive(tools[name]))

    async def check(self, code: str) -> Checked:
        """Say what is wrong with a program, whatever is configured; nothing is run."""
        return await self._checker.check(_plain(code))

    async def execute(
        self,
        code: str,
        context: CallContext,
        *,
        kind: str = "program",
        name: str | None = None,
        entry: Entry | None = None,
    ) -> Execution:
        """Run a program. Raises only if it could not be run at all; its own failure is an answer."""
        code = _plain(code)
        if len(code.encode(errors="replace")) > _MOST_CODE_BYTES:
            raise UsageError(
                f"The program is larger than {_MOST_CODE_BYTES:,} bytes. Give it its data by calls."
            )
        readiness = await self._sandbox.ready()
        if readiness.trouble is not None:
            raise SandboxError(f"Code execution is off: {readiness.trouble}.")
        refuse_deeper(context)
        async with self._places[context.depth]:
            return await self._run(code, context, kind, name, entry)

    async def _run(
        self, code: str, context: CallContext, kind: str, name: str | None, entry: Entry | None
    ) -> Execution:
        loop, began = asyncio.get_running_loop(), time.perf_counter()
        record = RunRecord(
            id=new_id() if context.journal is None else context.journal.run, principal=context.principal, kind=kind, name=name, code=code,
            code_hash=sha256(code.encode(errors="replace")).hexdigest(), started_at=time.time(),
            sandbox=self._sandbox.name,
        )  # fmt: skip
        # Before it is written down: whose client goes away now has run nothing.
        # What was made of a workflow was checked as that, and its lines are nothing to whoever wrote it.
        unchecked = self._config.check == "off" or context.journal is not None
        checked = Checked() if unchecked else await self._checker.check(code)
        if self._config.check == "on" and (stopping := _stopping(checked)):
            return await self._refuse(record, mistakes_text(stopping), began)
        if context.journal is None:
            self._recorder.begin_run(record)
        else:
            # It can be gone on with after a crash, so it has to be found then.
            await self._recorder.commit_run(record)
        limit = loop.time() + self._config.timeout_seconds
        deadline = limit if context.deadline is None else min(limit, context.deadline)
        inner = replace(
            context,
            run=record.id,
            parent=context.run,
            deadline=deadline,
            depth=context.depth + 1,
            cancelled=None,
        )
        host = ProgramHost(self._call, self._snapshot, self._policy, self._config, inner)
        ending: Ending | None = None
        outcome = "cancelled"
        telling = asyncio.create_task(_tell_progress(host, context), name="tell progress")
        try:
            async with asyncio.timeout_at(deadline) as clock:
                ending = await self._sandbox.run(Program(code, await self._tools(code), entry), host)
            outcome = ending.outcome
        except TimeoutError:
            if not clock.expired():
                raise
            outcome = "timeout"
        finally:
            telling.cancel()
            if outcome == "cancelled":
                # Whoever asked has gone; what happened is still to be known.
                error = failure_text(None, outcome, self._config)
                ended = _ended(record, host, None, outcome=outcome, began=began, error=error)
                self._recorder.begin_run(ended)
                if context.cancelled is not None:
                    context.cancelled(_execution(ended, host, error))
        hint = await self._suggest(ending)
        failed = "" if ending is None or ending.failure is None else ending.failure.traceback
        hinted = hint is not None or (
            ending is not None and ending.failure is not None and ending.failure.hint
        )
        doubts = "" if hinted else doubts_text([*_stopping(checked), *checked.doubts], failed)
        error = failure_text(ending, outcome, self._config, hint, doubts)
        ended = _ended(record, host, ending, outcome=outcome, began=began, error=error)
        # What became of it in the store is told, so it has to be there before.
        is_kept = await self._recorder.end_run(ended)
        kept = self._keeps if is_kept or self._keeps == "off" else "failed"
        fitting, shown, whole = fit(host.kept.text, host.kept.shown, self._config.max_output_bytes)
        text = tell(
            outcome,
            fitting,
            host.calls,
            self._config,
            whole=whole,
            run=record.id,
            error=error,
            kept=kept,
        )
        return replace(
            _execution(ended, host, error),
            text=text,
            is_truncated=whole is not None,
            shown=tuple(shown),
            value=None if ending is None else ending.value,
            check_skipped=checked.skipped,
        )

    async def _refuse(self, record: RunRecord, why: str, began: float) -> Execution:
        """Answer for a program that is not run."""
        duration = (time.perf_counter() - began) * 1000
        await self._recorder.end_run(
            replace(record, duration_ms=duration, outcome=MISTAKEN, error=why, output="")
        )
        return Execution(
            run=record.id,
            outcome=MISTAKEN,
            text=f"[Script execution failed]\n{why}\nNo tool was called.",
            output="",
            error=why,
            duration_ms=duration,
            sandbox=self._sandbox.name,
        )

    async def _tools(self, code: str) -> dict[str, str]:
        """Give the tools that a program names, each with its signature; those that are none get an answer, too."""
        tools = self._snapshot().tools
        found = {}
        for name in names_in(code):
            if name in tools:
                tool = tools[name]
                known = parse_schema(tool) if self._schema_of is None else await self._schema_of(tool)
                found[name] = known.format_compact()
            elif name.startswith(PREFIXES):
                found[name] = ""
        return found

    async def _suggest(self, ending: Ending | None) -> str | None:
        """Say which tool was probably meant by a name that is not defined."""
        unknown = None if ending is None or ending.failure is None else ending.failure.unknown
        if unknown is None:
            return None
        await self._settle()
        try:
            self._snapshot().find(unknown)
        except ToolNotFoundError as error:
            if error.suggestions:
                return "Did you mean " + " or ".join(error.suggestions) + "?"
        return None

    async def close(self) -> None:
        """End every program."""
        await self._checker.close()
        await self._sandbox.close()


def _plain(code: str) -> str:
    return code.removeprefix("\ufeff")


def _stopping(checked: Checked) -> list[Finding]:
    """Give the mistakes that stop a run; what is no Python says so itself when it is run."""
    return [one for one in checked.mistakes if one.rule != "syntax"]


def _ended(
    record: RunRecord, host: ProgramHost, ending: Ending | None, *, outcome: str, began: float, error: str
) -> RunRecord:
    output = host.kept.recorded
    return replace(
        record,
        duration_ms=(time.perf_counter() - began) * 1000,
        outcome=outcome,
        error=error or None,
        output=output,
        output_bytes=len(output.encode()),
        calls=len(host.calls),
        cpu_ms=_milliseconds(ending),
        memory_bytes=None if ending is None else ending.memory_bytes,
    )


def _execution(ended: RunRecord, host: ProgramHost, error: str) -> Execution:
    return Execution(
        run=ended.id,
        outcome=ended.outcome,
        text="",
        output=host.kept.text,
        error=error,
        shown=tuple(host.kept.shown),
        calls=tuple(host.calls),
        duration_ms=ended.duration_ms or 0.0,
        cpu_ms=ended.cpu_ms,
        memory_bytes=ended.memory_bytes,
        sandbox=ended.sandbox or "",
    )


def _milliseconds(ending: Ending | None) -> float | None:
    return None if ending is None or ending.cpu_seconds is None else ending.cpu_seconds * 1000


async def _tell_progress(host: ProgramHost, context: CallContext) -> None:
    """Say now and then how far a program is."""
    if context.progress is None or context.depth:
        # Of a script that a program called, the program is heard.
        return
    seconds = 0.0
    while True:
        await asyncio.sleep(_TELLING_SECONDS)
        seconds += _TELLING_SECONDS
        made = sum(call.outcome != "under way" for call in host.calls)
        with contextlib.suppress(Exception):
            await context.progress(
                seconds,
                None,
                f"running for {seconds:.0f} s; {made} calls made, {len(host.calls) - made} under way",
            )
