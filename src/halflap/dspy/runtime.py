"""Run saved DSPy programs in one long-lived child process, which is started when it is first needed."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import time
from collections import OrderedDict
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from halflap.core.errors import (
    HalflapError,
    ProgramCacheError,
    ProgramFailedError,
    ProgramTimeoutError,
    UsageError,
)
from halflap.dspy.field_values import check_inputs
from halflap.dspy.key import redacted
from halflap.dspy.process import DspyProcess, ProcessEndedError, environment

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from pathlib import Path

    from halflap.config import LmConfig, ProgramsConfig
    from halflap.core.values import CallContext, Result, Tool
    from halflap.dspy.library import Stored

    ToolCall = Callable[[str, Mapping[str, Any], CallContext], Awaitable[Result]]

__all__ = ["Outcome", "Runtime"]

logger = logging.getLogger(__name__)

_MAX_LOADED = 64
_MAX_OBSERVATION = 50_000
"""Characters of a tool's result that go to the model."""
_CACHE_FOLDER = "dspy-cache"
_LOCAL = dict.fromkeys(("ollama", "ollama_chat"), "http://localhost:11434")
"""Where models run that need neither a key nor an address."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a program returned."""

    outputs: dict[str, Any]
    execution_time_ms: float
    total_time_ms: float
    """Including validation, and starting the child process if that was necessary."""
    cache_hit: bool
    """Whether the model was asked something, and every answer came from the cache."""


class Runtime:
    """Executes programs with the one model that the configuration names."""

    def __init__(
        self,
        config: ProgramsConfig,
        *,
        call: ToolCall,
        tool: Callable[[str], Tool | None],
        data_dir: Path,
    ) -> None:
        self._config = config
        self._call = call
        self._tool = tool
        self._cache = None if config.cache == "off" else str(config.cache or data_dir / _CACHE_FOLDER)
        self._process: DspyProcess | None = None
        self._loaded: OrderedDict[str, None] = OrderedDict()
        """Programs that the child has, least recently used first."""
        self._lock = asyncio.Lock()

    async def execute(self, stored: Stored, inputs: Mapping[str, Any], context: CallContext) -> Outcome:
        """Run a program for its caller, within the time that the caller has left."""
        began = time.perf_counter()
        values = check_inputs(stored.manifest, inputs)
        self._check_model(stored.name)
        loop = asyncio.get_running_loop()
        limit = loop.time() + self._config.timeout_seconds
        deadline = limit if context.deadline is None else min(limit, context.deadline)
        inner = replace(context, deadline=deadline, depth=context.depth + 1, progress=None, cancelled=None)

        async def call(name: str, arguments: Mapping[str, Any]) -> str:
            return await self.observe(name, arguments, inner)

        try:
            async with asyncio.timeout_at(deadline):
                process, key = await self._ready(stored)
                request = {"do": "run", "program": key, "inputs": values, "seconds": deadline - loop.time()}
                answer = await process.run(request, call)
        except TimeoutError:
            raise ProgramTimeoutError(stored.name, round(time.perf_counter() - began, 1)) from None
        except ProcessEndedError as error:
            raise self.ended(stored.name, error) from None
        result = self.result(stored.name, answer)
        return Outcome(
            outputs=result["outputs"],
            execution_time_ms=result["milliseconds"],
            total_time_ms=round((time.perf_counter() - began) * 1000, 3),
            cache_hit=result["cache_hit"],
        )

    async def start(self, name: str, show: Callable[[str], None] | None = None) -> DspyProcess:
        """Start a child process for the program of this name."""
        lm = self._check_model(name)
        if not await asyncio.to_thread(_has_dspy):
            raise ProgramFailedError(name, "running it needs the extra: pip install 'halflap[dspy]'.")
        address = lm.api_base or _LOCAL.get(lm.model.partition("/")[0])
        told = {
            **lm.model_dump(mode="json"),
            "api_base": address,
            "timeout": lm.timeout or self._config.timeout_seconds,
        }
        settings = {"lm": told, "configured_base": lm.api_base, "cache": self._cache}

        def log(line: str) -> None:
            logger.warning("DSPy: %s", line)

        printed = show or log
        return await DspyProcess.start(
            settings, environment(address), lambda line: printed(redacted(line, lm))
        )

    def result(self, name: str, answer: Mapping[str, Any]) -> dict[str, Any]:
        """Return the result in an answer of the child, or raise the error in it; never with the key."""
        if "result" in answer:
            found: dict[str, Any] = answer["result"]
            return found
        message = redacted(answer["error"]["message"], self._config.lm)
        kind = answer["error"]["kind"]
        if kind == "cache":
            raise ProgramCacheError(name, message)
        raise UsageError(message) if kind == "usage" else ProgramFailedError(name, message)

    async def observe(self, name: str, arguments: Mapping[str, Any], context: CallContext) -> str:
        """Call a tool for the model and describe the result; the model can act on a failure."""
        try:
            result = await self._call(name, arguments, context)
        except HalflapError as error:
            return _cut(f"Error: {error}")
        except Exception:
            logger.exception("A DSPy program's call of %s crashed", name)
            return f"Error: the call of {name} failed inside Halflap; see its log."
        text = result.text
        if not text and result.has_structured_content:
            text = json.dumps(result.structured_content, ensure_ascii=False)
        other = [str(block.get("type")) for block in result.content if block.get("type") != "text"]
        if other:
            text += f"\n({', '.join(other)}: not text, so not shown)"
        return _cut(f"Error: {text}" if result.is_error else text)

    def described(self, stored: Stored) -> dict[str, Any]:
        """Return what the child needs to build a program."""
        found = {name: self._tool(name) for name in stored.manifest.tools}
        missing = [name for name, tool in found.items() if tool is None]
        if missing:
            raise ProgramFailedError(
                stored.name,
                f"it uses tools that are not in the catalogue: {', '.join(missing)}. `halflap list` shows which there are.",
            )
        return {
            "manifest": stored.manifest.model_dump(mode="json", by_alias=True, exclude_unset=True),
            "state": stored.state.clean,
            "tools": {
                name: {"description": tool.description, "schema": dict(tool.input_schema)}
                for name, tool in found.items()
                if tool is not None
            },
        }

    async def aclose(self) -> None:
        """End the child process."""
        async with self._lock:
            process, self._process = self._process, None
            if process is not None:
                await process.close()

    async def _ready(self, stored: Stored) -> tuple[DspyProcess, str]:
        """Return a child process that has the program, and the key that it has it under."""
        hashes = [tool.hash for name in stored.manifest.tools if (tool := self._tool(name)) is not None]
        key = " ".join([stored.name, stored.source_hash, *hashes])
        async with self._lock:
            if self._process is None or not self._process.is_running:
                if self._process is not None:
                    await self._process.close()
                self._loaded.clear()
                self._process = await self.start(stored.name)
            if key not in self._loaded:
                await self._process.send({"do": "load", "program": key, **self.described(stored)})
                self._loaded[key] = None
                if len(self._loaded) > _MAX_LOADED:
                    oldest, _ = self._loaded.popitem(last=False)
                    await self._process.send({"do": "unload", "program": oldest})
            self._loaded.move_to_end(key)
            return self._process, key

    def ended(self, name: str, error: ProcessEndedError) -> ProgramFailedError:
        return ProgramFailedError(
            name,
            f"the process that runs DSPy ended: {redacted(str(error), self._config.lm)}. The next call starts a new one.",
        )

    def _check_model(self, name: str) -> LmConfig:
        """Return the configured model, or raise what is missing: key and address come from the configuration alone."""
        lm = self._config.lm
        if lm is None:
            raise ProgramFailedError(
                name,
                "there is no language model for DSPy programs. Say in the configuration file which one to ask:\n"
                "programs:\n"
                "  lm: {model: openai/gpt-4o-mini, api_key: '${OPENAI_API_KEY}'}",
            )
        provider = lm.model.partition("/")[0]
        prefix = re.sub(r"[^A-Z0-9]+", "_", provider.upper())
        if lm.api_base is not None:
            return lm
        for variable in (f"{prefix}_API_BASE", f"{prefix}_BASE_URL"):
            if os.environ.get(variable):
                # The user may not want the provider itself to be asked.
                raise ProgramFailedError(
                    name,
                    f"the environment variable {variable} gives an address for {lm.model} that Halflap would ignore. Set "
                    "`programs.lm.api_base` to it, or unset the variable.",
                )
        if lm.api_key is None and provider not in _LOCAL:
            raise ProgramFailedError(
                name,
                f"there is no key for {lm.model}, and none is taken from the environment. Set it in the configuration file:\n"
                f"programs:\n  lm: {{model: {lm.model}, api_key: '${{{prefix}_API_KEY}}'}}\n"
                "A server of your own under `programs.lm.api_base` needs none.",
            )
        return lm


def _has_dspy() -> bool:
    try:
        return find_spec("dspy") is not None
    except (ImportError, ValueError):
        return False


def _cut(text: str) -> str:
    more = len(text) - _MAX_OBSERVATION
    return text if more <= 0 else f"{text[:_MAX_OBSERVATION]}… ({more:,} more characters)"
