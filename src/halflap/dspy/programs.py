"""The saved DSPy programs as a source of tools: used as they were loaded, and reloaded only whole and valid."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halflap.calls import new_id
from halflap.core.errors import HalflapError, ProgramBrokenError, ProgramNotFoundError
from halflap.core.values import DSPY, CallContext, Listing, Result, Tool
from halflap.dspy.library import Library, SavedProgram, SavedPrograms
from halflap.dspy.runner import check_inputs
from halflap.dspy.spec import Field, Predictor, ProgramSpec
from halflap.sandbox.run.permissions import Permissions, check_depth
from halflap.store import RunRecord

if TYPE_CHECKING:
    from halflap.calls import Policy, Recorder
    from halflap.config import ExecutionConfig
    from halflap.dspy.runner import Call, Runner

logger = logging.getLogger(__name__)

_PREFIX = f"{DSPY}__"


@dataclass(frozen=True, slots=True)
class LoadedProgram:
    """A DSPy program in use, and since when."""

    saved: SavedProgram
    loaded_at: str

    @classmethod
    def load(cls, saved: SavedProgram) -> LoadedProgram:
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        return cls(saved, now.replace("+00:00", "Z"))

    def check(self, inputs: Mapping[str, Any]) -> None:
        check_inputs(self.saved.spec, inputs)

    def summary(self) -> dict[str, Any]:
        """Return an entry of `dspy_list_programs`."""
        return self._facts(
            "name", "version", "predictor_count", "optimizer", "validation_score", "serialized_at"
        )

    def info(self) -> dict[str, Any]:
        """Return the answer of `dspy_get_program_info`."""
        return self._facts(
            "name", "version", "dspy_version", "source_hash", "optimizer", "validation_score", "serialized_at",
            "loaded_at", "predictors",
        )  # fmt: skip

    def reloaded(self) -> dict[str, Any]:
        """Return the answer of `dspy_reload_program`."""
        return {"status": "reloaded", **self._facts("name", "source_hash", "predictor_count", "loaded_at")}

    def _facts(self, *names: str) -> dict[str, Any]:
        spec = self.saved.spec
        others = {
            "source_hash": self.saved.source_hash,
            "loaded_at": self.loaded_at,
            "predictor_count": len(spec.predictors),
            "predictors": [
                {
                    "name": predictor.name,
                    "input_fields": [field.name for field in predictor.inputs],
                    "output_fields": [field.name for field in predictor.outputs],
                    "few_shot_example_count": sum(
                        len(spec.state[key].demos) for key in predictor.signatures if key in spec.state
                    ),
                }
                for predictor in spec.predictors
            ],
        }
        return {name: others[name] if name in others else getattr(spec, name) for name in names}

    def definition(self) -> dict[str, Any]:
        """Return the program as a tool."""
        spec = self.saved.spec
        # Whether one with tools only reads depends on what it calls, and each of those calls is checked.
        hints = {} if spec.tools else {"readOnlyHint": True}
        return {
            "name": spec.name,
            "description": spec.description or spec.predictors[0].instructions,
            "inputSchema": spec.input_schema,
            "outputSchema": spec.output_schema,
            "annotations": {**hints, "destructiveHint": False, "openWorldHint": True},
        }


@dataclass
class DspyPrograms:
    """A `ToolSource`. New files are loaded and removed ones forgotten whenever anything is asked.

    A program in use changes only by `reload`, or with `watch` whenever its file is changed to something valid;
    executions end with the version they began with.
    """

    library: Library
    runner: Runner
    call_tool: Call
    absorb: Callable[[Listing], Awaitable[None]]
    settle: Callable[[], Awaitable[None]]
    """Waits until servers have listed their tools."""
    policy: Policy
    execution: ExecutionConfig
    recorder: Recorder
    watch: bool
    _saved: SavedPrograms = field(default_factory=SavedPrograms)
    _loaded: dict[str, LoadedProgram] = field(default_factory=dict)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def name(self) -> str:
        return DSPY

    # Which programs there are -------------------------------------------------------------------------

    async def look(self) -> dict[str, HalflapError]:
        """Load new programs and forget removed ones; return the tools that cannot be called, and why."""
        async with self._lock:
            saved = await asyncio.to_thread(self.library.read)
            if saved is not self._saved:
                for name, reason in saved.broken.items():
                    if self._saved.broken.get(name) != reason:
                        logger.warning("DSPy program %r cannot be used: %s", name, reason)
                if saved.problem:
                    logger.warning("%s", saved.problem)
                self._saved = saved
                await self._use(self._current(saved))
        return {
            f"{_PREFIX}{name}": ProgramBrokenError(name, [reason])
            for name, reason in saved.broken.items()
            if name not in self._loaded
        }

    def _current(self, saved: SavedPrograms) -> dict[str, LoadedProgram]:
        # A program whose file got broken still works as it was loaded.
        kept = self._loaded if saved.problem else {**saved.programs, **saved.broken}
        loaded = {name: program for name, program in self._loaded.items() if name in kept}
        for name, program in saved.programs.items():
            if name not in loaded or (self.watch and loaded[name].saved.source_hash != program.source_hash):
                loaded[name] = LoadedProgram.load(program)
        return loaded

    async def _use(self, programs: Mapping[str, LoadedProgram]) -> None:
        self._loaded = dict(sorted(programs.items()))
        await self.absorb(self._listing())

    def _listing(self) -> Listing:
        return Listing(DSPY, tuple(program.definition() for program in self._loaded.values()))

    async def list(self) -> Listing:
        await self.look()
        return self._listing()

    async def usable(self) -> tuple[dict[str, LoadedProgram], dict[str, str]]:
        """Return the programs that can be executed, and why others, or changes of them, cannot be used."""
        await self.look()
        broken = {name: f"{reason}{self._still(name)}" for name, reason in self._saved.broken.items()}
        unreadable = {"programs.root": self._saved.problem} if self._saved.problem else {}
        return dict(self._loaded), {**unreadable, **broken}

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
        return None if program is None else " ".join(program.saved.spec.tools)

    async def reload(self, name: str) -> LoadedProgram:
        """Read a program again; if it is valid, it replaces the one in use."""
        await self.look()
        if name in self._saved.broken:
            raise ProgramBrokenError(name, [f"{self._saved.broken[name]}{self._still(name)}"])
        if name not in self._saved.programs:
            raise ProgramNotFoundError(name, tuple(self._loaded))
        async with self._lock:
            program = LoadedProgram.load(self._saved.programs[name])
            await self._use({**self._loaded, name: program})
            return program

    def _still(self, name: str) -> str:
        return f" It stays in use as of {self._loaded[name].loaded_at}." if name in self._loaded else ""

    # Executing ----------------------------------------------------------------------------------------

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        context: CallContext,
        *,
        repeatable: bool,
        admit: Callable[[], Coroutine[Any, Any, None]],
    ) -> Result:
        """Execute a program as a separate run, with its caller's permissions and deadline."""
        del repeatable
        check_depth(context)
        program = self._loaded.get(tool) or await self.find(tool)
        await admit()
        # What was admitted is what runs, so a program that was reloaded meanwhile is checked again.
        while (now := self._loaded.get(tool) or await self.find(tool)) is not program:
            program = now
            await admit()
        if program.saved.spec.tools:
            await self.settle()
        return await self._run(program.saved, arguments, context)

    async def _run(self, program: SavedProgram, arguments: Mapping[str, Any], context: CallContext) -> Result:
        record = RunRecord(
            id=new_id(),
            principal=context.principal,
            kind=DSPY,
            name=program.name,
            code=None,
            code_hash=program.source_hash,
            started_at=time.time(),
        )
        level = self.recorder.level(Tool(f"{_PREFIX}{program.name}", DSPY, program.name, "", {}))
        if level != "off" and self.recorder.is_required:
            await self.recorder.commit_run(record)
        elif level != "off":
            self.recorder.begin_run(record)
        began = time.perf_counter()
        calls = 0

        async def call(name: str, arguments: Mapping[str, Any], context: CallContext) -> Result:
            nonlocal calls
            calls += 1
            return await self.call_tool(name, arguments, context)

        rule = Permissions(self.policy, self.execution, context)
        inner = replace(context, run=record.id, parent=context.run, rule=rule)
        ending, error, text = "cancelled", None, ""
        try:
            outcome = await self.runner.run(program, arguments, inner, call)
            ending, text = "ok", json.dumps(outcome.outputs, ensure_ascii=False)
        except HalflapError as failure:
            ending, error = "timeout" if failure.code == "dspy-program-timeout" else "failed", str(failure)
            raise
        finally:
            if level != "off":
                # Replaces the record written at the beginning.
                self.recorder.begin_run(
                    replace(
                        record,
                        duration_ms=(time.perf_counter() - began) * 1000,
                        outcome=ending,
                        error=error,
                        output=text if level == "full" else None,
                        output_bytes=len(text.encode(errors="replace")),
                        calls=calls,
                    )
                )
        return Result(
            content=({"type": "text", "text": text},),
            structured_content=outcome.outputs,
            has_structured_content=True,
            meta={"halflap": {"run": record.id, "metadata": {**outcome.metadata(), "program": program.name}}},
        )

    async def ask(self, name: str, instructions: str, question: str, context: CallContext) -> str:
        """Ask the configured model one question; it is recorded like a run of a program with this name."""
        step = Predictor(
            name="answer",
            kind="Predict",
            instructions=instructions,
            inputs=(Field(name="question"),),
            outputs=(Field(name="reply"),),
        )
        spec = ProgramSpec(
            name=name,
            version="1.0.0",
            dspy_version="0",
            optimizer="none",
            validation_score=None,
            serialized_at="2026-01-01T00:00:00Z",
            predictors=(step,),
        )
        key = sha256(instructions.encode()).hexdigest()
        result = await self._run(SavedProgram(spec, key, Path()), {"question": question}, context)
        return str(result.structured_content["reply"])

    async def close(self) -> None:
        await self.runner.close()
