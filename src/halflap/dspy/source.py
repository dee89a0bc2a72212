"""The saved DSPy programs as a source of tools: held as they were loaded, and loaded anew only whole and in order."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from halflap.calls import new_id
from halflap.core.errors import (
    HalflapError,
    ProgramBrokenError,
    ProgramError,
    ProgramFailedError,
    ProgramNotFoundError,
)
from halflap.core.values import DSPY, Result, Tool
from halflap.dspy.library import Shelf
from halflap.dspy.loaded import Loaded, listing, tools_of
from halflap.sandbox.run.permissions import Permissions, check_depth
from halflap.store import RunRecord

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Mapping

    from halflap.calls import Policy, Recorder
    from halflap.config import ExecutionConfig
    from halflap.core.values import CallContext, Listing
    from halflap.dspy.library import Library, Stored
    from halflap.dspy.runtime import Outcome, Runtime

    Call = Callable[[str, Mapping[str, Any], CallContext], Awaitable[Result]]

__all__ = ["KIND", "LACKING", "DspyPrograms", "ProgramResult"]

logger = logging.getLogger(__name__)

KIND = "dspy"
"""What a run is on record as, if it is one of a DSPy program."""
LACKING = "it uses tools that are not in the catalogue"
"""With which the reason begins if nothing is wrong with a program itself."""
_PREFIX = f"{DSPY}__"
_WATCH_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class ProgramResult(Result):
    """The result of a DSPy program, with how long it took and whether the cache had all of it."""

    outcome: Outcome = field(kw_only=True)

    def answer(self, program: str) -> dict[str, Any]:
        """Give the outputs with the times of the run: what `dspy_execute_program` answers."""
        return {**self.outcome.outputs, "_metadata": {**_times(self.outcome), "program": program}}


class DspyPrograms:
    """A `ToolSource`. What is held of a program changes only by `reload`, or by watching the folder.

    New folders are loaded, and what is gone is let go of, whenever somebody looks. One that is held stays as it is while
    the folder has something else, good or broken; an execution keeps the program that it began with.
    """

    def __init__(
        self,
        library: Library,
        runtime: Callable[[Call], Runtime],
        *,
        call: Call,
        absorb: Callable[[Listing], Awaitable[None]],
        settle: Callable[[], Awaitable[None]],
        absence: Callable[[str], str | None],
        policy: Policy,
        execution: ExecutionConfig,
        recorder: Recorder,
    ) -> None:
        self.runtime = runtime(self._make_call)
        self._library = library
        self._call = call
        self._absorb = absorb
        self._settle = settle
        """Has the servers listed, whose tools a program may call."""
        self._absence = absence
        """Says why a tool is not in the catalogue, or nothing if it is."""
        self._policy = policy
        self._execution = execution
        self._recorder = recorder
        self._shelf: Shelf | None = None
        self._held: dict[str, Loaded] = {}
        self._unbuilt: dict[str, tuple[str, str]] = {}
        """What a reload could not build: the hash of its files as they were, and why; no reason if it was for want of tools."""
        self._made: dict[str | None, int] = {}
        """How many calls each run that is under way has made."""
        self._lock = asyncio.Lock()
        self._reloading = asyncio.Lock()
        self._watching: asyncio.Task[None] | None = None

    @property
    def name(self) -> str:
        return DSPY

    # What there is ------------------------------------------------------------------------------------

    async def look(self) -> dict[str, HalflapError]:
        """Take in what was added to the folder, and what was taken out; gives the tools that cannot be called, and why."""
        async with self._lock:
            await self._look()
            return {
                f"{_PREFIX}{name}": ProgramBrokenError(name, [reason])
                for name, reason in self._broken().items()
                if name not in self._held
            }

    async def _look(self) -> Shelf:
        shelf = await asyncio.to_thread(self._library.read)
        if shelf is not self._shelf:
            before = self._shelf or Shelf()
            for name, reason in shelf.broken.items():
                if before.broken.get(name) != reason:
                    logger.warning("DSPy program %r cannot be used: %s", name, reason)
            if shelf.problem and shelf.problem != before.problem:
                logger.warning("%s", shelf.problem)
            self._shelf = shelf
            for name in shelf.programs.keys() - self._held.keys():
                _warn_of_dropped(shelf.programs[name])
            now = datetime.now(UTC)
            found = {name: self._held.get(name) or Loaded(one, now) for name, one in shelf.programs.items()}
            # One whose folder got broken is still good as it is held; so are all, when none can be looked at.
            kept = self._held if shelf.problem else shelf.broken
            await self._hold(found | {name: self._held[name] for name in kept if name in self._held})
        return shelf

    async def _hold(self, held: dict[str, Loaded]) -> None:
        """Put all that is held in the place of what was, at once, and have the catalogue know."""
        self._held = held
        await self._absorb(listing(held))

    async def programs(self) -> Mapping[str, Loaded]:
        """Give the programs that can be executed, by their names."""
        await self.look()
        return self._held

    async def usable(self) -> tuple[Mapping[str, Loaded], dict[str, str]]:
        """Give the programs that can be executed now, and say why others cannot, as `broken` does.

        One whose tools are not in the catalogue is among the others for as long as they are not: nothing has to be done
        to the program when they are.
        """
        broken = await self.broken()
        return {name: one for name, one in self._held.items() if not self._lacking(one.stored)}, broken

    async def broken(self) -> dict[str, str]:
        """Say which folders cannot be used as they are now, and why; of one that is held, that it stays in use.

        What keeps all of them from being read stands under the name of the setting.
        """
        await self.look()
        if any(self._lacking(one.stored) for one in self._held.values()):
            # Of servers that nobody has asked yet, nothing is known.
            await self._settle()
        problem = (self._shelf or Shelf()).problem
        lacking = {name: told for name, one in self._held.items() if (told := self._lacking(one.stored))}
        return {**({"programs.root": problem} if problem else {}), **lacking, **self._broken()}

    def _lacking(self, stored: Stored) -> str:
        """Say which tools of a program are not in the catalogue now, and why."""
        missing = {name: told for name in tools_of(stored) if (told := self._absence(name)) is not None}
        named = ", ".join(f"{name} ({told})" for name, told in missing.items())
        return f"{LACKING}: {named}. `halflap list` says which there are." if named else ""

    def _broken(self) -> dict[str, str]:
        shelf = self._shelf or Shelf()
        # Files that have changed since may be in order: nobody has tried.
        unbuilt = {
            name: told
            for name, (tried, why) in self._unbuilt.items()
            if name in shelf.programs
            and shelf.programs[name].source_hash == tried
            and (told := why or self._lacking(shelf.programs[name]))
        }
        return {name: f"{why}{self._still(name)}" for name, why in {**shelf.broken, **unbuilt}.items()}

    def _still(self, name: str) -> str:
        """Say that a program stays in use as it was loaded, if it is another than the folder has."""
        held, there = self._held.get(name), (self._shelf or Shelf()).programs.get(name)
        same = held is not None and there is not None and held.stored.source_hash == there.source_hash
        return "" if held is None or same else held.still

    async def find(self, name: str) -> Loaded:
        """Give a program by its name, or an error that says which there are."""
        programs = await self.programs()
        if name in programs:
            return programs[name]
        reason = (self._shelf or Shelf()).broken.get(name)
        if reason is not None:
            raise ProgramBrokenError(name, [reason])
        raise ProgramNotFoundError(name, tuple(programs))

    def is_broken(self, tool: str) -> bool:
        """Say whether there is a program by this name of a tool that cannot be used, as far as was looked."""
        name = tool.removeprefix(_PREFIX)
        return name != tool and name not in self._held and name in (self._shelf or Shelf()).broken

    def code_of(self, tool: str) -> str | None:
        """Give the names of the tools that the program behind a tool may call, as it is held now."""
        held = self._held.get(tool.removeprefix(_PREFIX)) if tool.startswith(_PREFIX) else None
        return None if held is None else " ".join(held.tools)

    async def list(self) -> Listing:
        """Say which programs can be called now."""
        return listing(await self.programs())

    # What changes it ----------------------------------------------------------------------------------

    async def reload(self, name: str) -> Loaded:
        """Load a program anew: read, build, and only then put it in the place of the one that is held."""
        async with self._reloading:
            async with self._lock:
                shelf = await self._look()
            if name in shelf.broken:
                raise ProgramBrokenError(name, [f"{shelf.broken[name]}{self._still(name)}"])
            if name not in shelf.programs:
                raise ProgramNotFoundError(name, tuple(self._held))
            stored = shelf.programs[name]
            if tools_of(stored):
                await self._settle()
            lacking = self._lacking(stored)
            if lacking:
                self._unbuilt[name] = stored.source_hash, ""
                raise ProgramBrokenError(name, [f"{lacking}{self._still(name)}"])
            try:
                await asyncio.to_thread(self._build, stored)
            except (ProgramBrokenError, ProgramFailedError) as error:
                self._unbuilt[name] = stored.source_hash, error.reason
                raise ProgramBrokenError(name, [f"{error.reason}{self._still(name)}"]) from error
            self._unbuilt.pop(name, None)
            async with self._lock:
                loaded = Loaded(stored, datetime.now(UTC))
                _warn_of_dropped(stored)
                await self._hold({**self._held, name: loaded})
                return loaded

    def _build(self, stored: Stored) -> None:
        """Build a program, if that is possible: without DSPy nothing can be executed, and what can be read has been."""
        if self.runtime.can_build:
            self.runtime.build(stored)

    def watch(self) -> None:
        """Reload what changes in the folder from now on."""
        if self._watching is None:
            self._watching = asyncio.create_task(self._watch(), name="watch DSPy programs")

    async def _watch(self) -> None:
        seen: Shelf | None = None
        while True:
            await asyncio.sleep(_WATCH_SECONDS)
            try:
                async with self._lock:
                    shelf = await self._look()
                if shelf is not seen:
                    await self._reload_changed(shelf)
                    seen = shelf
            except Exception:
                # Whatever it was about one state of the folder, the next one is looked at, too.
                logger.exception("The folder of DSPy programs could not be looked at.")

    async def _reload_changed(self, shelf: Shelf) -> None:
        for name, stored in shelf.programs.items():
            held = self._held.get(name)
            if held is not None and held.stored.source_hash != stored.source_hash:
                try:
                    await self.reload(name)
                except ProgramError as error:
                    logger.warning("%s", error)
                else:
                    logger.info("DSPy program %r was loaded anew.", name)

    async def close(self) -> None:
        """Stop watching, and let go of what running them needed."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait([self._watching])
        await self.runtime.aclose()

    # What can be done ---------------------------------------------------------------------------------

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        context: CallContext,
        *,
        repeatable: bool,
        admit: Callable[[], Coroutine[Any, Any, None]],
    ) -> ProgramResult:
        """Execute a program on behalf of whoever calls it, within what is left of their time, as a run of its own."""
        del repeatable
        check_depth(context)
        # Whoever looked it up has looked at the folder.
        loaded = self._held.get(tool) or await self.find(tool)
        await admit()
        # What is admitted is what runs: if it was reloaded meanwhile, it is asked about again.
        while (now := self._held.get(tool) or await self.find(tool)) is not loaded:
            loaded = now
            await admit()
        if loaded.tools:
            await self._settle()
        return await self._run(loaded.stored, arguments, context)

    async def _make_call(self, name: str, arguments: Mapping[str, Any], context: CallContext) -> Result:
        """Make a call for a program that runs."""
        if context.run in self._made:
            self._made[context.run] += 1
        return await self._call(name, arguments, context)

    async def _run(self, stored: Stored, arguments: Mapping[str, Any], context: CallContext) -> ProgramResult:
        began = time.perf_counter()
        record = RunRecord(
            id=new_id(),
            principal=context.principal,
            kind=KIND,
            name=stored.name,
            code=None,
            code_hash=stored.source_hash,
            started_at=time.time(),
        )
        # What is kept of its calls is what is kept of its run: the outputs are the result.
        level = self._recorder.level(Tool(f"{_PREFIX}{stored.name}", DSPY, stored.name, "", {}))
        if level != "off":
            self._recorder.begin_run(record)
        self._made[record.id] = 0
        rule = Permissions(self._policy, self._execution, context)
        inner = replace(context, run=record.id, parent=context.run, rule=rule, cancelled=None)
        outcome, error, text = "cancelled", None, ""
        try:
            done = await self.runtime.execute(stored, arguments, inner)
            outcome, text = "ok", json.dumps(done.outputs, ensure_ascii=False)
        except HalflapError as failure:
            outcome, error = _OUTCOMES.get(failure.code, "failed"), str(failure)
            raise
        finally:
            ended = replace(
                record,
                duration_ms=(time.perf_counter() - began) * 1000,
                outcome=outcome,
                error=error,
                output=text if level == "full" else None,
                output_bytes=len(text.encode(errors="replace")),
                calls=self._made.pop(record.id),
            )
            if level != "off":
                # Off the path of the call: it takes the place of what was written when it began.
                self._recorder.begin_run(ended)
        return ProgramResult(
            content=({"type": "text", "text": text},),
            structured_content=done.outputs,
            has_structured_content=True,
            meta={"halflap": {"run": record.id, **_times(done)}},
            outcome=done,
        )


_OUTCOMES = {"dspy-program-timeout": "timeout"}


def _warn_of_dropped(stored: Stored) -> None:
    if stored.state.dropped:
        paths = ", ".join(stored.state.dropped)
        logger.warning("DSPy program %r: never used of what its state.json has: %s", stored.name, paths)


def _times(outcome: Outcome) -> dict[str, Any]:
    return {
        "execution_time_ms": round(outcome.execution_time_ms, 1),
        "total_time_ms": round(outcome.total_time_ms, 1),
        "cache_hit": outcome.cache_hit,
    }
