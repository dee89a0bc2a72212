"""Run saved DSPy programs with the configured model, in one child process that is started when it is first needed."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halflap.core.environment import install_command
from halflap.core.errors import (
    HalflapError,
    ProgramError,
    UsageError,
)
from halflap.core.text import quote
from halflap.dspy.child_process import ChildProcess, ProcessEndedError
from halflap.dspy.key import redacted

if TYPE_CHECKING:
    from halflap.config import ProgramsConfig
    from halflap.core.values import CallContext, Result, Tool
    from halflap.dspy.child_process import CallTool
    from halflap.dspy.library import SavedProgram
    from halflap.dspy.spec import ProgramSpec

    Call = Callable[[str, Mapping[str, Any], CallContext], Awaitable[Result]]

logger = logging.getLogger(__name__)

_MAX_OBSERVATION = 50_000
"""Characters of a tool's result that go to the model."""
_CACHE_FOLDER = "dspy-cache"


def described(spec: ProgramSpec, tools: Mapping[str, Tool]) -> dict[str, Any]:
    """Return what the child builds a module from: the spec, and the description and schema of each tool."""
    return {
        "spec": spec.model_dump(mode="json", by_alias=True, exclude_unset=True),
        "tools": {
            name: {"description": tools[name].description, "schema": dict(tools[name].input_schema)}
            for name in spec.tools
        },
    }


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
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Run a program within the time that its caller has left; `call` calls its tools.

        Return the outputs, and the metadata of `dspy_execute_program`.
        """
        began = time.perf_counter()
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
        metadata = {
            "execution_time_ms": round(result["milliseconds"], 1),
            "total_time_ms": round((time.perf_counter() - began) * 1000, 1),
            "cache_hit": result["cache_hit"],
            "program": program.name,
        }
        return result["outputs"], metadata

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
            raise ProgramError(
                f"The DSPy program {quote(name)} was stopped after {loop.time() - began:.3g} s. The limit is "
                "`programs.timeout_seconds`, or the time left to the caller.",
                code="dspy-program-timeout",
            ) from None
        except ProcessEndedError as error:
            reason = f"the process that runs DSPy ended: {error}. The next call starts a new one."
            raise _failed(name, reason) from None
        match answer:
            case {"result": result}:
                found: dict[str, Any] = result
                return found
            case {"kind": "cache", "error": message}:
                advice = "Set `programs.cache` to another folder, or to `off`."
                raise ProgramError(
                    f"The DSPy program {quote(name)} was not run: {message} {advice}",
                    code="dspy-program-cache",
                )
            case {"kind": "usage", "error": message}:
                raise UsageError(message)
        raise _failed(name, answer["error"])

    async def start(self, name: str, show: Callable[[str], None] | None = None) -> ChildProcess:
        """Start a child process; `show` gets what is printed in it, instead of the log."""
        # Key and address come from the configuration alone, never from the environment.
        lm = self._config.lm
        if lm is None:
            raise no_model(name)
        if await asyncio.to_thread(find_spec, "dspy") is None:
            how = await asyncio.to_thread(install_command, "dspy")
            raise _failed(name, f"running it needs DSPy: {how}")
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
                raise _failed(program.name, f"it uses {name}, which is not in the catalogue.")
            tools[name] = tool
        key = " ".join([program.source_hash, *(tool.hash for tool in tools.values())])
        return {"key": key, **described(program.spec, tools)}

    async def close(self) -> None:
        async with self._lock:
            await self._close()

    async def _close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            await process.close()


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


def no_model(name: str) -> ProgramError:
    return _failed(
        name,
        "no language model is configured. Name one in the configuration file:\n"
        "programs:\n"
        "  lm: {model: openai/gpt-4o-mini, api_key: '${OPENAI_API_KEY}'}",
    )


def _failed(name: str, reason: str) -> ProgramError:
    return ProgramError(f"The DSPy program {quote(name)} failed: {reason}")


def _cut(text: str) -> str:
    more = len(text) - _MAX_OBSERVATION
    return text if more <= 0 else f"{text[:_MAX_OBSERVATION]}… ({more:,} more characters)"
