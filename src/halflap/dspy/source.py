"""The saved DSPy programs as a source of tools: used as they were loaded, and reloaded only whole and valid."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from halflap.calls import new_id
from halflap.core.errors import HalflapError, ProgramBrokenError, ProgramError, ProgramNotFoundError
from halflap.core.values import DSPY, Listing, Result, Tool
from halflap.dspy.library import Shelf
from halflap.sandbox.run.permissions import Permissions, check_depth
from halflap.store import RunRecord

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Mapping

    from halflap.calls import Policy, Recorder
    from halflap.config import ExecutionConfig
    from halflap.core.values import CallContext
    from halflap.dspy.library import Library, Stored
    from halflap.dspy.runtime import Outcome, Runtime

    Call = Callable[[str, Mapping[str, Any], CallContext], Awaitable[Result]]

__all__ = ["DspyPrograms", "Loaded", "ProgramResult"]

logger = logging.getLogger(__name__)

_PREFIX = f"{DSPY}__"


@dataclass(frozen=True, slots=True)
class Loaded:
    """A DSPy program in use, and since when."""

    stored: Stored
    loaded_at: datetime

    def summary(self) -> dict[str, Any]:
        """Return an entry of `dspy_list_programs`."""
        manifest = self.stored.manifest
        return {
            "name": manifest.name,
            "version": manifest.version,
            "predictor_count": len(manifest.predictors),
            **manifest.model_dump(include={"optimizer", "validation_score", "serialized_at"}),
        }

    def info(self) -> dict[str, Any]:
        """Return the answer of `dspy_get_program_info`."""
        manifest, states = self.stored.manifest, self.stored.state.predictors
        return {
            "name": manifest.name,
            "version": manifest.version,
            "dspy_version": manifest.dspy_version,
            "source_hash": self.stored.source_hash,
            **manifest.model_dump(include={"optimizer", "validation_score", "serialized_at"}),
            "loaded_at": self._time,
            "predictors": [
                {
                    "name": one.name,
                    "input_fields": [field.name for field in one.inputs],
                    "output_fields": [field.name for field in one.outputs],
                    "few_shot_example_count": sum(
                        len(states[key].demos) for key in one.signatures if key in states
                    ),
                }
                for one in manifest.predictors
            ],
        }

    def reloaded(self) -> dict[str, Any]:
        """Return the answer of `dspy_reload_program`."""
        return {
            "status": "reloaded",
            "name": self.stored.name,
            "source_hash": self.stored.source_hash,
            "predictor_count": len(self.stored.manifest.predictors),
            "loaded_at": self._time,
        }

    def definition(self) -> dict[str, Any]:
        """Return the definition of the tool that it is."""
        manifest = self.stored.manifest
        # Whether one with tools only reads depends on what it calls, and each of those calls is checked.
        hints = {} if manifest.tools else {"readOnlyHint": True}
        return {
            "name": manifest.name,
            "description": manifest.description,
            "inputSchema": manifest.input_schema,
            "outputSchema": manifest.output_schema,
            "annotations": {**hints, "destructiveHint": False, "openWorldHint": True},
        }

    @property
    def still_in_use(self) -> str:
        return f" Version {self.stored.manifest.version}, loaded at {self._time}, stays in use."

    @property
    def _time(self) -> str:
        return self.loaded_at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(frozen=True, slots=True)
class ProgramResult(Result):
    """The result of a DSPy program, with its times and whether it came from the cache."""

    outcome: Outcome = field(kw_only=True)

    def answer(self, program: str) -> dict[str, Any]:
        """Return the answer of `dspy_execute_program`."""
        return {**self.outcome.outputs, "_metadata": {**_times(self.outcome), "program": program}}


def _times(outcome: Outcome) -> dict[str, Any]:
    return {
        "execution_time_ms": round(outcome.execution_time_ms, 1),
        "total_time_ms": round(outcome.total_time_ms, 1),
        "cache_hit": outcome.cache_hit,
    }


class DspyPrograms:
    """A `ToolSource`. New folders are loaded and removed ones forgotten whenever anything is asked.

    A program in use changes only by `reload`, which `watch` does for changed files; executions end with the version they began with.
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
        watch: bool,
    ) -> None:
        self.runtime = runtime(self._make_call)
        self._library = library
        self._call = call
        self._absorb = absorb
        self._settle = settle
        """Waits until servers have listed their tools."""
        self._absence = absence
        """Returns why a tool is not in the catalogue, or None if it is."""
        self._policy = policy
        self._execution = execution
        self._recorder = recorder
        self._shelf = Shelf()
        self._in_use: dict[str, Loaded] = {}
        self._made: dict[str | None, int] = {}
        """How many calls each running program has made, by run."""
        self._lock = asyncio.Lock()
        self._watch = watch
        self._reloaded: Shelf | None = None

    @property
    def name(self) -> str:
        return DSPY

    # Which programs there are -------------------------------------------------------------------------

    async def look(self) -> dict[str, HalflapError]:
        """Load new programs and forget removed ones; return the tools that cannot be called, and why."""
        async with self._lock:
            await self._look()
        if self._watch and self._reloaded is not self._shelf:
            self._reloaded = self._shelf
            await self._reload_changed(self._shelf)
        return {
            f"{_PREFIX}{name}": ProgramBrokenError(name, [reason])
            for name, reason in self._shelf.broken.items()
            if name not in self._in_use
        }

    async def _look(self) -> None:
        shelf, before = await asyncio.to_thread(self._library.read), self._shelf
        if shelf is before:
            return
        self._shelf = shelf
        for name, reason in shelf.broken.items():
            if before.broken.get(name) != reason:
                logger.warning("DSPy program %r cannot be used: %s", name, reason)
        if shelf.problem and shelf.problem != before.problem:
            logger.warning("%s", shelf.problem)
        now = datetime.now(UTC)
        found = {}
        for name, stored in shelf.programs.items():
            found[name] = self._in_use.get(name) or _loaded(stored, now)
        # A program whose folder got broken still works as it was loaded.
        kept = self._in_use if shelf.problem else shelf.broken
        await self._use(found | {name: self._in_use[name] for name in kept if name in self._in_use})

    async def _use(self, programs: dict[str, Loaded]) -> None:
        self._in_use = programs
        await self._absorb(Listing(DSPY, tuple(one.definition() for one in programs.values())))

    async def programs(self) -> Mapping[str, Loaded]:
        await self.look()
        return self._in_use

    async def usable(self) -> tuple[Mapping[str, Loaded], dict[str, str]]:
        """Return the programs that can be executed now, and why others cannot.

        A program whose tools are missing is usable again as soon as they appear.
        """
        broken = await self.broken()
        return {name: one for name, one in self._in_use.items() if not self._lacking(one.stored)}, broken

    async def broken(self) -> dict[str, str]:
        """Return which folders cannot be used as they are now, and why; `programs.root` if none can be read."""
        await self.look()
        if any(self._lacking(one.stored) for one in self._in_use.values()):
            await self._settle()
        root = {"programs.root": self._shelf.problem} if self._shelf.problem else {}
        lacking = {name: why for name, one in self._in_use.items() if (why := self._lacking(one.stored))}
        unloadable = {
            name: why
            for name, stored in self._shelf.programs.items()
            if stored.source_hash != self._in_use[name].stored.source_hash and (why := self._lacking(stored))
        }
        invalid = {**unloadable, **self._shelf.broken}
        return {**root, **lacking, **{name: f"{why}{self._still(name)}" for name, why in invalid.items()}}

    def _lacking(self, stored: Stored) -> str:
        """Return which tools of a program are not in the catalogue, and why."""
        missing = [
            f"{tool} ({why})" for tool in stored.manifest.tools if (why := self._absence(tool)) is not None
        ]
        return (
            f"it uses tools that are not in the catalogue: {', '.join(missing)}. `halflap list` shows which there are."
            if missing
            else ""
        )

    def _still(self, name: str) -> str:
        return self._in_use[name].still_in_use if name in self._in_use else ""

    async def find(self, name: str) -> Loaded:
        programs = await self.programs()
        if name in programs:
            return programs[name]
        if name in self._shelf.broken:
            raise ProgramBrokenError(name, [self._shelf.broken[name]])
        raise ProgramNotFoundError(name, tuple(programs))

    def is_broken(self, tool: str) -> bool:
        """Return whether a tool is a program that cannot be used, as far as is known."""
        name = tool.removeprefix(_PREFIX)
        return name != tool and name not in self._in_use and name in self._shelf.broken

    def code_of(self, tool: str) -> str | None:
        """Return the names of the tools that the program behind a tool may call."""
        found = self._in_use.get(tool.removeprefix(_PREFIX)) if tool.startswith(_PREFIX) else None
        return None if found is None else " ".join(found.stored.manifest.tools)

    async def list(self) -> Listing:
        return Listing(DSPY, tuple(one.definition() for one in (await self.programs()).values()))

    # Reloading ----------------------------------------------------------------------------------------

    async def reload(self, name: str) -> Loaded:
        """Read a program again; if it is valid and its tools are there, it replaces the one in use."""
        await self.look()
        if name in self._shelf.broken:
            raise ProgramBrokenError(name, [f"{self._shelf.broken[name]}{self._still(name)}"])
        if name not in self._shelf.programs:
            raise ProgramNotFoundError(name, tuple(self._in_use))
        stored = self._shelf.programs[name]
        if stored.manifest.tools:
            await self._settle()
        if lacking := self._lacking(stored):
            raise ProgramBrokenError(name, [f"{lacking}{self._still(name)}"])
        async with self._lock:
            loaded = _loaded(stored, datetime.now(UTC))
            await self._use({**self._in_use, name: loaded})
            return loaded

    async def _reload_changed(self, shelf: Shelf) -> None:
        for name, stored in shelf.programs.items():
            if name in self._in_use and self._in_use[name].stored.source_hash != stored.source_hash:
                try:
                    await self.reload(name)
                except ProgramError as error:
                    logger.warning("%s", error)
                else:
                    logger.info("DSPy program %r was reloaded.", name)

    async def close(self) -> None:
        await self.runtime.aclose()

    # Executing ----------------------------------------------------------------------------------------

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        context: CallContext,
        *,
        repeatable: bool,
        admit: Callable[[], Coroutine[Any, Any, None]],
    ) -> ProgramResult:
        """Execute a program as a separate run, with its caller's permissions and deadline."""
        del repeatable
        check_depth(context)
        loaded = self._in_use.get(tool) or await self.find(tool)
        await admit()
        # What was admitted is what runs, so a program that was reloaded meanwhile is checked again.
        while (now := self._in_use.get(tool) or await self.find(tool)) is not loaded:
            loaded = now
            await admit()
        if loaded.stored.manifest.tools:
            await self._settle()
        return await self._run(loaded.stored, arguments, context)

    async def _make_call(self, name: str, arguments: Mapping[str, Any], context: CallContext) -> Result:
        if context.run in self._made:
            self._made[context.run] += 1
        return await self._call(name, arguments, context)

    async def _run(self, stored: Stored, arguments: Mapping[str, Any], context: CallContext) -> ProgramResult:
        began = time.perf_counter()
        record = RunRecord(
            id=new_id(),
            principal=context.principal,
            kind=DSPY,
            name=stored.name,
            code=None,
            code_hash=stored.source_hash,
            started_at=time.time(),
        )
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
            outcome, error = "timeout" if failure.code == "dspy-program-timeout" else "failed", str(failure)
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
                # Replaces the record written at the beginning.
                self._recorder.begin_run(ended)
        return ProgramResult(
            content=({"type": "text", "text": text},),
            structured_content=done.outputs,
            has_structured_content=True,
            meta={"halflap": {"run": record.id, **_times(done)}},
            outcome=done,
        )


def _loaded(stored: Stored, at: datetime) -> Loaded:
    if stored.state.dropped:
        paths = ", ".join(stored.state.dropped)
        logger.warning("DSPy program %r: ignored in its state.json: %s", stored.name, paths)
    return Loaded(stored, at)
