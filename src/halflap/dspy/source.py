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
from halflap.dspy.library import SavedPrograms
from halflap.dspy.runner import check_inputs
from halflap.sandbox.run.permissions import Permissions, check_depth
from halflap.store import RunRecord

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Mapping

    from halflap.calls import Policy, Recorder
    from halflap.config import ExecutionConfig
    from halflap.core.values import CallContext
    from halflap.dspy.library import Library, SavedProgram
    from halflap.dspy.runner import Call, Outcome, Runner

__all__ = ["DspyPrograms", "LoadedProgram", "ProgramResult"]

logger = logging.getLogger(__name__)

_PREFIX = f"{DSPY}__"


@dataclass(frozen=True, slots=True)
class LoadedProgram:
    """A DSPy program in use, and since when."""

    saved: SavedProgram
    loaded_at: str

    def check(self, inputs: Mapping[str, Any]) -> None:
        """Raise everything that is wrong with inputs for it."""
        check_inputs(self.saved.manifest, inputs)

    def summary(self) -> dict[str, Any]:
        """Return an entry of `dspy_list_programs`."""
        manifest = self.saved.manifest
        return {
            "name": manifest.name,
            "version": manifest.version,
            "predictor_count": len(manifest.predictors),
            "optimizer": manifest.optimizer,
            "validation_score": manifest.validation_score,
            "serialized_at": manifest.serialized_at,
        }

    def info(self) -> dict[str, Any]:
        """Return the answer of `dspy_get_program_info`."""
        manifest, states = self.saved.manifest, self.saved.state.predictors
        return {
            "name": manifest.name,
            "version": manifest.version,
            "dspy_version": manifest.dspy_version,
            "source_hash": self.saved.source_hash,
            "optimizer": manifest.optimizer,
            "validation_score": manifest.validation_score,
            "serialized_at": manifest.serialized_at,
            "loaded_at": self.loaded_at,
            "predictors": [
                {
                    "name": predictor.name,
                    "input_fields": [field.name for field in predictor.inputs],
                    "output_fields": [field.name for field in predictor.outputs],
                    "few_shot_example_count": sum(len(states[key].demos) for key in predictor.signatures),
                }
                for predictor in manifest.predictors
            ],
        }

    def reloaded(self) -> dict[str, Any]:
        """Return the answer of `dspy_reload_program`."""
        return {
            "status": "reloaded",
            "name": self.saved.name,
            "source_hash": self.saved.source_hash,
            "predictor_count": len(self.saved.manifest.predictors),
            "loaded_at": self.loaded_at,
        }

    def definition(self) -> dict[str, Any]:
        """Return the program as a tool."""
        manifest = self.saved.manifest
        # Whether one with tools only reads depends on what it calls, and each of those calls is checked.
        hints = {} if manifest.tools else {"readOnlyHint": True}
        return {
            "name": manifest.name,
            "description": manifest.description,
            "inputSchema": manifest.input_schema,
            "outputSchema": manifest.output_schema,
            "annotations": {**hints, "destructiveHint": False, "openWorldHint": True},
        }


def _load(saved: SavedProgram) -> LoadedProgram:
    if saved.state.ignored:
        paths = ", ".join(saved.state.ignored)
        logger.warning("DSPy program %r: ignored in its state.json: %s", saved.name, paths)
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    return LoadedProgram(saved, now.replace("+00:00", "Z"))


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

    A program in use changes only by `reload`, which `watch` does for changed files; executions end with the version they
    began with.
    """

    def __init__(
        self,
        library: Library,
        runner: Runner,
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
        self.runner = runner
        self.call_tool = call
        self._library = library
        self._absorb = absorb
        self._settle = settle
        """Waits until servers have listed their tools."""
        self._absence = absence
        """Returns why a tool is not in the catalogue, or None if it is."""
        self._policy = policy
        self._execution = execution
        self._recorder = recorder
        self._watch = watch
        self._saved = SavedPrograms()
        self._loaded: dict[str, LoadedProgram] = {}
        self._lock = asyncio.Lock()

    @property
    def name(self) -> str:
        return DSPY

    # Which programs there are -------------------------------------------------------------------------

    async def look(self) -> dict[str, HalflapError]:
        """Load new programs and forget removed ones; return the tools that cannot be called, and why."""
        async with self._lock:
            saved, before = await asyncio.to_thread(self._library.read), self._saved
            if saved is not before:
                self._saved = saved
                for name, reason in saved.broken.items():
                    if before.broken.get(name) != reason:
                        logger.warning("DSPy program %r cannot be used: %s", name, reason)
                if saved.problem:
                    logger.warning("%s", saved.problem)
                # A program whose folder got broken still works as it was loaded.
                kept = self._loaded if saved.problem else {**saved.programs, **saved.broken}
                loaded = {name: program for name, program in self._loaded.items() if name in kept}
                new = {name: _load(program) for name, program in saved.programs.items() if name not in loaded}
                await self._use({**loaded, **new})
        if self._watch and saved is not before:
            await self._reload_changed()
        return {
            f"{_PREFIX}{name}": ProgramBrokenError(name, [reason])
            for name, reason in saved.broken.items()
            if name not in self._loaded
        }

    async def _use(self, programs: Mapping[str, LoadedProgram]) -> None:
        self._loaded = dict(sorted(programs.items()))
        await self._absorb(self._listing())

    def _listing(self) -> Listing:
        return Listing(DSPY, tuple(program.definition() for program in self._loaded.values()))

    async def list(self) -> Listing:
        await self.look()
        return self._listing()

    async def usable(self) -> tuple[dict[str, LoadedProgram], dict[str, str]]:
        """Return the programs that can be executed now, and why others, or changes of them, cannot be used."""
        await self.look()
        if any(self._missing_tools(program.saved) for program in self._loaded.values()):
            await self._settle()
        usable, broken = {}, {}
        if self._saved.problem:
            broken["programs.root"] = self._saved.problem
        for name, program in self._loaded.items():
            # A program whose tools are missing is usable again as soon as they appear.
            reason = self._missing_tools(program.saved)
            if not reason:
                usable[name] = program
                reason = self._missing_tools(self._saved.programs.get(name, program.saved))
                reason += self._still(name) if reason else ""
            if reason:
                broken[name] = reason
        invalid = {name: f"{reason}{self._still(name)}" for name, reason in self._saved.broken.items()}
        return usable, {**broken, **invalid}

    async def find(self, name: str) -> LoadedProgram:
        await self.look()
        if name in self._loaded:
            return self._loaded[name]
        if name in self._saved.broken:
            raise ProgramBrokenError(name, [self._saved.broken[name]])
        raise ProgramNotFoundError(name, tuple(self._loaded))

    def is_broken(self, tool: str) -> bool:
        """Return whether a tool is a program that could not be used when it was last read."""
        name = tool.removeprefix(_PREFIX)
        return name != tool and name not in self._loaded and name in self._saved.broken

    def code_of(self, tool: str) -> str | None:
        """Return the names of the tools that the program behind a tool may call."""
        program = self._loaded.get(tool.removeprefix(_PREFIX)) if tool.startswith(_PREFIX) else None
        return None if program is None else " ".join(program.saved.manifest.tools)

    async def reload(self, name: str) -> LoadedProgram:
        """Read a program again; if it is valid and its tools are there, it replaces the one in use."""
        await self.look()
        if name in self._saved.broken:
            raise ProgramBrokenError(name, [f"{self._saved.broken[name]}{self._still(name)}"])
        if name not in self._saved.programs:
            raise ProgramNotFoundError(name, tuple(self._loaded))
        saved = self._saved.programs[name]
        if saved.manifest.tools:
            await self._settle()
        if reason := self._missing_tools(saved):
            raise ProgramBrokenError(name, [f"{reason}{self._still(name)}"])
        async with self._lock:
            program = _load(saved)
            await self._use({**self._loaded, name: program})
            return program

    async def _reload_changed(self) -> None:
        for name, saved in self._saved.programs.items():
            if saved.source_hash != self._loaded[name].saved.source_hash:
                try:
                    await self.reload(name)
                except ProgramError as error:
                    logger.warning("%s", error)
                else:
                    logger.info("DSPy program %r was reloaded.", name)

    def _missing_tools(self, program: SavedProgram) -> str:
        """Return which tools of a program are not in the catalogue, and why; empty if none is missing."""
        reasons = {tool: self._absence(tool) for tool in program.manifest.tools}
        missing = [f"{tool} ({reason})" for tool, reason in reasons.items() if reason is not None]
        if not missing:
            return ""
        return f"it uses tools that are not in the catalogue: {', '.join(missing)}. `halflap list` shows which there are."

    def _still(self, name: str) -> str:
        if name not in self._loaded:
            return ""
        program = self._loaded[name]
        return f" Version {program.saved.manifest.version}, loaded at {program.loaded_at}, stays in use."

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
        program = self._loaded.get(tool) or await self.find(tool)
        await admit()
        # What was admitted is what runs, so a program that was reloaded meanwhile is checked again.
        while (now := self._loaded.get(tool) or await self.find(tool)) is not program:
            program = now
            await admit()
        if program.saved.manifest.tools:
            await self._settle()
        return await self._run(program.saved, arguments, context)

    async def _run(
        self, program: SavedProgram, arguments: Mapping[str, Any], context: CallContext
    ) -> ProgramResult:
        began = time.perf_counter()
        record = RunRecord(
            id=new_id(),
            principal=context.principal,
            kind=DSPY,
            name=program.name,
            code=None,
            code_hash=program.source_hash,
            started_at=time.time(),
        )
        level = self._recorder.level(Tool(f"{_PREFIX}{program.name}", DSPY, program.name, "", {}))
        if level != "off":
            self._recorder.begin_run(record)
        calls = 0

        async def call(name: str, arguments: Mapping[str, Any], context: CallContext) -> Result:
            nonlocal calls
            calls += 1
            return await self.call_tool(name, arguments, context)

        rule = Permissions(self._policy, self._execution, context)
        inner = replace(context, run=record.id, parent=context.run, rule=rule)
        ending, error, text = "cancelled", None, ""
        try:
            outcome = await self.runner.run(program, arguments, inner, call)
            ending, text = "ok", json.dumps(outcome.outputs, ensure_ascii=False)
        except HalflapError as failure:
            ending, error = "timeout" if failure.code == "dspy-program-timeout" else "failed", str(failure)
            raise
        finally:
            ended = replace(
                record,
                duration_ms=(time.perf_counter() - began) * 1000,
                outcome=ending,
                error=error,
                output=text if level == "full" else None,
                output_bytes=len(text.encode(errors="replace")),
                calls=calls,
            )
            if level != "off":
                # Replaces the record written at the beginning.
                self._recorder.begin_run(ended)
        return ProgramResult(
            content=({"type": "text", "text": text},),
            structured_content=outcome.outputs,
            has_structured_content=True,
            meta={"halflap": {"run": record.id, **_times(outcome)}},
            outcome=outcome,
        )

    async def close(self) -> None:
        await self.runner.close()
