"""Run saved DSPy programs with the configured model, in one child process that is started when it is first needed."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halflap.core.environment import install_command
from halflap.core.errors import (
    ArgumentProblem,
    HalflapError,
    ProgramCacheError,
    ProgramFailedError,
    ProgramInputsError,
    ProgramTimeoutError,
    UsageError,
)
from halflap.core.text import quote
from halflap.core.values import CallContext, Result, Tool
from halflap.dspy.child_process import ChildProcess, ProcessEndedError
from halflap.dspy.key import redacted
from halflap.schema import argument_problems, parse_schema

if TYPE_CHECKING:
    from halflap.config import LmConfig, ProgramsConfig
    from halflap.dspy.child_process import CallTool
    from halflap.dspy.library import SavedProgram
    from halflap.dspy.spec import ProgramSpec

    Call = Callable[[str, Mapping[str, Any], CallContext], Awaitable[Result]]

logger = logging.getLogger(__name__)

_MAX_OBSERVATION = 50_000
"""Characters of a tool's result that go to the model."""
_CACHE_FOLDER = "dspy-cache"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a program returned."""

    outputs: dict[str, Any]
    execution_time_ms: float
    total_time_ms: float
    """Including validation, and starting the child process if that was necessary."""
    cache_hit: bool
    """Whether the model was asked something, and every answer came from the cache."""

    def metadata(self) -> dict[str, Any]:
        return {
            "execution_time_ms": round(self.execution_time_ms, 1),
            "total_time_ms": round(self.total_time_ms, 1),
            "cache_hit": self.cache_hit,
        }


def check_inputs(spec: ProgramSpec, inputs: Mapping[str, Any]) -> None:
    """Raise everything that is wrong with a program's inputs; DSPy would only warn, and ask the model anyway."""
    validator = spec.input_validator
    problems = argument_problems(inputs, validator)
    if validator is not None and not problems and not validator.is_checked(inputs):
        problems = [ArgumentProblem("", "they are too large to be checked", "", "unknown")]
    if problems:
        tool = Tool(spec.name, "", spec.name, "", spec.input_schema)
        raise ProgramInputsError(spec.name, problems, parse_schema(tool).format_compact())


def described(tool: Tool) -> dict[str, Any]:
    """Return what the model is shown of a tool."""
    return {"description": tool.description, "schema": dict(tool.input_schema)}


class Runner:
    """Owns the child process."""

    def __init__(self, config: ProgramsConfig, *, tool: Callable[[str], Tool | None], data_dir: Path) -> None:
        self._config = config
        self._tool = tool
        self._cache = None if config.cache == "off" else str(config.cache or data_dir / _CACHE_FOLDER)
        self._process: ChildProcess | None = None
        self._lock = asyncio.Lock()

    async def run(
        self, program: SavedProgram, inputs: Mapping[str, Any], context: CallContext, call: Call
    ) -> Outcome:
        """Run a program for its caller, within the time that the caller has left; `call` calls its tools."""
        began = time.perf_counter()
        check_inputs(program.spec, inputs)
        loop = asyncio.get_running_loop()
        limit = loop.time() + self._config.timeout_seconds
        deadline = limit if context.deadline is None else min(limit, context.deadline)

        async def work() -> dict[str, Any]:
            async with self._lock:
                if self._process is None or not self._process.is_running:
                    await self._close()
                    self._process = await self.start(program.name)
                process = self._process
            request = {
                "do": "run",
                "inputs": inputs,
                "seconds": deadline - loop.time(),
                **self.describe(program),
            }
            return await process.run(request, tool_caller(call, replace(context, deadline=deadline)))

        result = await self.finish(program.name, work(), deadline)
        return Outcome(
            outputs=result["outputs"],
            execution_time_ms=result["milliseconds"],
            total_time_ms=round((time.perf_counter() - began) * 1000, 3),
            cache_hit=result["cache_hit"],
        )

    async def finish(
        self, name: str, work: Awaitable[dict[str, Any]], deadline: float | None
    ) -> dict[str, Any]:
        """Return the result of a job in the child, or raise what went wrong."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            async with asyncio.timeout_at(deadline):
                answer = await work
        except TimeoutError:
            took = f"The DSPy program {quote(name)} was stopped after {loop.time() - began:.3g} s."
            limit = "The limit is `programs.timeout_seconds`, or the time left to the caller."
            raise ProgramTimeoutError(f"{took} {limit}") from None
        except ProcessEndedError as error:
            told = f"the process that runs DSPy ended: {error}. The next call starts a new one."
            raise ProgramFailedError(name, told) from None
        if "result" in answer:
            result: dict[str, Any] = answer["result"]
            return result
        kind, message = answer["error"]["kind"], answer["error"]["message"]
        if kind == "cache":
            advice = "Set `programs.cache` to another folder, or to `off`."
            raise ProgramCacheError(f"The DSPy program {quote(name)} was not run: {message} {advice}")
        raise UsageError(message) if kind == "usage" else ProgramFailedError(name, message)

    async def start(self, name: str, show: Callable[[str], None] | None = None) -> ChildProcess:
        """Start a child process; `show` gets what is printed in it, instead of the log."""
        lm = self._model(name)
        if await asyncio.to_thread(find_spec, "dspy") is None:
            raise ProgramFailedError(name, f"running it needs DSPy: {install_command('dspy')}")
        settings = {
            "lm": {**lm.model_dump(mode="json"), "timeout": lm.timeout or self._config.timeout_seconds},
            "cache": self._cache,
        }
        show = show or (lambda line: logger.warning("DSPy: %s", line))
        return await ChildProcess.start(settings, lambda text: redacted(text, lm), show)

    def describe(self, program: SavedProgram) -> dict[str, Any]:
        """Return what the child needs to build a program; raise if a tool that it uses is missing."""
        tools: dict[str, Tool] = {}
        for name in program.spec.tools:
            tool = self._tool(name)
            if tool is None:
                raise ProgramFailedError(program.name, f"it uses {name}, which is not in the catalogue.")
            tools[name] = tool
        return {
            "key": " ".join([program.source_hash, *(tool.hash for tool in tools.values())]),
            "spec": program.spec.model_dump(mode="json", by_alias=True, exclude_unset=True),
            "tools": {name: described(tool) for name, tool in tools.items()},
        }

    async def close(self) -> None:
        async with self._lock:
            await self._close()

    async def _close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            await process.close()

    def _model(self, name: str) -> LmConfig:
        # Key and address come from the configuration alone, never from the environment.
        lm = self._config.lm
        if lm is None:
            raise ProgramFailedError(
                name,
                "no language model is configured. Name one in the configuration file:\n"
                "programs:\n"
                "  lm: {model: openai/gpt-4o-mini, api_key: '${OPENAI_API_KEY}'}",
            )
        return lm


def tool_caller(call: Call, context: CallContext) -> CallTool:
    """Return a function that calls a tool for the model, and describes results and failures as text."""
    inner = replace(context, depth=context.depth + 1, progress=None, cancelled=None)

    async def call_tool(name: str, arguments: Mapping[str, Any]) -> str:
        try:
            result = await call(name, arguments, inner)
        except HalflapError as error:
            return _cut(f"Error: {error}")
        except Exception:
            logger.exception("A DSPy program's call of %s crashed", name)
            return f"Error: the call of {name} failed inside Halflap; see its log."
        text = result.text
        if not text and result.has_structured_content:
            text = json.dumps(result.structured_content, ensure_ascii=False)
        if other := [str(block.get("type")) for block in result.content if block.get("type") != "text"]:
            text += f"\n({', '.join(other)}: not text, so not shown)"
        return _cut(f"Error: {text}" if result.is_error else text)

    return call_tool


def _cut(text: str) -> str:
    more = len(text) - _MAX_OBSERVATION
    return text if more <= 0 else f"{text[:_MAX_OBSERVATION]}… ({more:,} more characters)"
