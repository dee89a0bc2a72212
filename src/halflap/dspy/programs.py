"""The saved DSPy programs as a source of tools; a program in use changes only by an explicit reload."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from halflap.calls import new_id
from halflap.core.errors import HalflapError, ProgramBrokenError, ProgramNotFoundError
from halflap.core.folder import Saved
from halflap.core.values import DSPY, CallContext, Listing, Result, Tool
from halflap.dspy.library import Library, SavedProgram
from halflap.dspy.runner import no_model
from halflap.dspy.spec import Field, Predictor, ProgramSpec
from halflap.sandbox.run.run import check_depth
from halflap.store import RunRecord

if TYPE_CHECKING:
    from halflap.calls import Recorder
    from halflap.dspy.runner import Call, Runner

logger = logging.getLogger(__name__)

_PREFIX = f"{DSPY}__"


@dataclass
class DspyPrograms:
    """A `ToolSource`. New and removed files are noticed whenever a method is called.

    A program in use changes only by `reload`; executions finish with the version they started with.
    """

    library: Library
    runner: Runner
    call_tool: Call
    absorb: Callable[[Listing], Awaitable[None]]
    settle: Callable[[], Awaitable[None]]
    """Waits until servers have listed their tools."""
    under_rules: Callable[[CallContext], CallContext]
    """Returns a context whose calls are subject to the rules for programs."""
    recorder: Recorder
    names: Callable[[Tool, str], bool] = lambda _tool, _principal: True
    """Whether a program exists for a principal."""
    is_offered: bool = True
    """Whether the programs are tools."""
    _saved: Saved[SavedProgram] = field(default_factory=Saved)
    _loaded: dict[str, SavedProgram] = field(default_factory=dict)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def name(self) -> str:
        return DSPY

    # Which programs there are -------------------------------------------------------------------------

    async def reread(self) -> dict[str, HalflapError]:
        """Load new programs and forget removed ones; return the tools that cannot be called, and why."""
        async with self._lock:
            saved = await asyncio.to_thread(self.library.read)
            if saved is not self._saved:
                for name, reason in saved.broken.items():
                    if self._saved.broken.get(name) != reason:
                        logger.warning("DSPy program %r cannot be used: %s", name, reason)
                if saved.problem:
                    logger.warning("%s Check `programs.root`.", saved.problem)
                self._saved = saved
                # A program whose file became invalid stays in use as it was loaded.
                kept = self._loaded if saved.problem else {**saved.valid, **saved.broken}
                loaded = {name: program for name, program in self._loaded.items() if name in kept}
                await self._use({**saved.valid, **loaded})
        return {
            f"{_PREFIX}{name}": ProgramBrokenError(name, [reason])
            for name, reason in saved.broken.items()
            if name not in self._loaded
        }

    async def _use(self, programs: Mapping[str, SavedProgram]) -> None:
        self._loaded = dict(sorted(programs.items()))
        if self.is_offered:
            await self.absorb(self._listing())

    def _listing(self) -> Listing:
        return Listing(DSPY, tuple(program.definition() for program in self._loaded.values()))

    async def list(self) -> Listing:
        await self.reread()
        return self._listing()

    async def usable(self, principal: str = "local") -> tuple[dict[str, SavedProgram], dict[str, str]]:
        """Return the programs that can be executed, and why others, or changes of them, cannot be used."""
        await self.reread()
        loaded = {name: one for name, one in self._loaded.items() if self._exists(name, principal)}
        broken = {
            name: f"{reason}{self._still(name)}"
            for name, reason in self._saved.broken.items()
            if self._exists(name, principal)
        }
        unreadable = {"programs.root": self._saved.problem} if self._saved.problem else {}
        return loaded, {**unreadable, **broken}

    def _exists(self, name: str, principal: str) -> bool:
        return self.names(Tool(f"{_PREFIX}{name}", DSPY, name, "", {}), principal)

    async def find(self, name: str, principal: str = "local") -> SavedProgram:
        await self.reread()
        return self._found(name, self._loaded, principal)

    def _found(self, name: str, programs: Mapping[str, SavedProgram], principal: str) -> SavedProgram:
        if self._exists(name, principal):
            if name in programs:
                return programs[name]
            if name in self._saved.broken:
                raise ProgramBrokenError(name, [f"{self._saved.broken[name]}{self._still(name)}"])
        raise ProgramNotFoundError(name, tuple(one for one in self._loaded if self._exists(one, principal)))

    def is_broken(self, tool: str) -> bool:
        """Return whether a tool is a program that could not be used when it was last read."""
        name = tool.removeprefix(_PREFIX)
        return name != tool and name not in self._loaded and name in self._saved.broken

    def code_of(self, tool: str) -> str | None:
        """Return the names of the tools that the program behind a tool may call."""
        program = self._loaded.get(tool.removeprefix(_PREFIX)) if tool.startswith(_PREFIX) else None
        return None if program is None else " ".join(program.spec.tools)

    async def reload(self, name: str, principal: str = "local") -> SavedProgram:
        """Read a program again; if it is valid, it replaces the one in use."""
        await self.reread()
        read = self._found(name, self._saved.valid, principal)
        async with self._lock:
            program = SavedProgram(read.spec, read.source_hash)
            await self._use({**self._loaded, name: program})
            return program

    def _still(self, name: str) -> str:
        return f" It stays in use as of {self._loaded[name].loaded_at}." if name in self._loaded else ""

    # Executing ----------------------------------------------------------------------------------------

    async def execute(self, name: str, inputs: Mapping[str, Any], context: CallContext) -> dict[str, Any]:
        """Run a program like a tool; raises `ProgramError` if it is missing or fails, or inputs do not fit."""
        (await self.find(name, context.principal)).spec.check_inputs(inputs)
        context = self.under_rules(context)
        if not self.is_offered:
            raise no_model(name)
        result = await self.call_tool(f"{_PREFIX}{name}", inputs, context)
        return {**result.structured_content, "_metadata": (result.meta or {})["halflap"]["metadata"]}

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
        # A program that was reloaded meanwhile is checked again before it runs.
        while (now := self._loaded.get(tool) or await self.find(tool)) is not program:
            program = now
            await admit()
        if program.spec.tools:
            await self.settle()
        return await self._run(program, arguments, context)

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
            await self.recorder.commit(record)
        elif level != "off":
            self.recorder.add(record)
        began = time.perf_counter()
        calls = 0

        async def call(name: str, arguments: Mapping[str, Any], context: CallContext) -> Result:
            nonlocal calls
            calls += 1
            return await self.call_tool(name, arguments, context)

        inner = replace(self.under_rules(context), run=record.id, parent=context.run)
        ending, error, text = "cancelled", None, ""
        try:
            outputs, metadata = await self.runner.run(program, arguments, inner, call)
            ending, text = "ok", json.dumps(outputs, ensure_ascii=False)
        except HalflapError as failure:
            ending, error = "timeout" if failure.code == "dspy-program-timeout" else "failed", str(failure)
            raise
        finally:
            if level != "off":
                # Replaces the record written at the beginning.
                self.recorder.add(
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
            structured_content=outputs,
            has_structured_content=True,
            meta={"halflap": {"run": record.id, "metadata": metadata}},
        )

    async def ask(self, name: str, instructions: str, question: str, context: CallContext) -> str:
        """Ask the configured model one question; it is recorded like a run of a program with this name."""
        takes, returns = (Field(name="question"),), (Field(name="reply"),)
        step = Predictor(
            name="answer", kind="Predict", instructions=instructions, inputs=takes, outputs=returns
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
        program = SavedProgram(spec, sha256(instructions.encode()).hexdigest())
        result = await self._run(program, {"question": question}, context)
        return str(result.structured_content["reply"])

    async def close(self) -> None:
        await self.runner.close()
