"""Runs saved DSPy programs: built once, shared by all executions at once, each with a context of its own."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from halflap.core.errors import ProgramBrokenError, ProgramError, ProgramFailedError, ProgramTimeoutError
from halflap.dspy.answers import Answers
from halflap.dspy.inputs import check_inputs
from halflap.dspy.outputs import outputs_of
from halflap.dspy.running import RUNNING, Running
from halflap.dspy.secrecy import KeyFilter, redacted
from halflap.schema import compile_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from halflap.config import LmConfig, ProgramsConfig
    from halflap.core.values import CallContext, Tool
    from halflap.dspy.library import Stored
    from halflap.dspy.model import Model
    from halflap.dspy.running import Call
    from halflap.schema import Validator

__all__ = ["Built", "Outcome", "Runtime", "import_dspy"]

logger = logging.getLogger(__name__)

_DEEPEST: Final = 4
"""As deep as scripts may call each other."""
_MOST_BUILT: Final = 64
_CACHE_FOLDER: Final = "dspy-cache"
_LOGGERS: Final = ("dspy", "LiteLLM")


@dataclass(frozen=True, slots=True)
class Built:
    """A program that can be run, any number of times at once."""

    stored: Stored
    module: Any
    """DSPy's. It holds nothing of any one execution."""
    validator: Validator | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a program gave."""

    outputs: dict[str, Any]
    execution_time_ms: float
    """From the first step's begin to the last one's end."""
    total_time_ms: float
    """With checking what goes in and what comes out, and with building, if it had to be built."""
    cache_hit: bool
    """Whether the model was asked something, and had answered all of it before."""


class Runtime:
    """Executes programs with the one model that the configuration names. Nothing of DSPy is loaded before it is needed."""

    def __init__(
        self,
        config: ProgramsConfig,
        *,
        call: Call,
        tool: Callable[[str], Tool | None],
        data_dir: Path,
    ) -> None:
        self._config = config
        self.call = call
        self._tool = tool
        folder = None if config.cache == "off" else config.cache or data_dir / _CACHE_FOLDER
        self._answers = None if folder is None else Answers(folder)
        self._built: OrderedDict[tuple[str, ...], Built] = OrderedDict()
        self._lock = threading.Lock()
        """Held for a moment only, also on the loop."""
        self._making = threading.RLock()
        """Held for as long as DSPy takes, never on the loop."""
        self._model: Model | None = None
        self._filter: KeyFilter | None = None

    @property
    def can_build(self) -> bool:
        """Whether DSPy is installed."""
        return _has_dspy()

    def build(self, stored: Stored) -> Built:
        """Build a program, unless it is built: takes seconds the first time, so never on the loop."""
        tools = self._tools(stored)
        key = _key(stored, tools)
        with self._making:
            found = self._recent(key)
            if found is None:
                import_dspy(stored.name)
                found = _build(stored, tools)
                with self._lock:
                    self._built[key] = found
                    while len(self._built) > _MOST_BUILT:
                        self._built.popitem(last=False)
            return found

    async def execute(self, stored: Stored, inputs: Mapping[str, Any], context: CallContext) -> Outcome:
        """Run a program on behalf of whoever calls it, within what is left of their time."""
        began = time.perf_counter()
        values = check_inputs(stored.manifest, inputs)
        if context.depth > _DEEPEST:
            raise ProgramFailedError(
                stored.name,
                f"it was not run. DSPy programs and scripts can call each other {_DEEPEST} deep, and this would be one "
                "more. Do they call each other in a circle?",
            )
        self._lm(stored.name)
        loop = asyncio.get_running_loop()
        limit = loop.time() + self._config.timeout_seconds
        deadline = limit if context.deadline is None else min(limit, context.deadline)
        inner = replace(context, deadline=deadline, depth=context.depth + 1, progress=None, cancelled=None)
        running = Running(self.call, inner, loop)
        try:
            async with asyncio.timeout_at(deadline) as clock:
                built, model = await self._ready(stored)
                started = time.perf_counter()
                prediction = await self.run(built.module, model, values, running)
                ended = time.perf_counter()
        except TimeoutError as error:
            if not clock.expired():
                raise await self._failed(stored, error, running) from None
            raise ProgramTimeoutError(stored.name, round(time.perf_counter() - began, 1)) from None
        except ProgramError:
            raise
        except Exception as error:  # noqa: BLE001  # whatever it was is told, and logged where it is a mistake
            # Not from it: what it says may hold the key.
            raise await self._failed(stored, error, running) from None
        outputs, problems = outputs_of(prediction, stored.manifest.outputs, built.validator)
        if problems:
            await self._forget(running)
            told = "\n- ".join(["what the model gave is not what the manifest says:", *problems])
            raise ProgramFailedError(stored.name, redacted(told, self._config.lm))
        return Outcome(
            outputs=outputs,
            execution_time_ms=_milliseconds(ended - started),
            total_time_ms=_milliseconds(time.perf_counter() - began),
            cache_hit=running.cache_hit,
        )

    # For whoever runs modules in ways of their own ----------------------------------------------------

    async def run(
        self, module: Any, model: Model, values: Mapping[str, Any], running: Running
    ) -> Mapping[str, Any]:
        """Run a module in a context of its own: nothing of DSPy's settings comes from elsewhere or is left behind."""
        token = RUNNING.set(running)
        try:
            with self.settings(model, running):
                prediction: Mapping[str, Any] = await module.acall(**values)
                return prediction
        finally:
            RUNNING.reset(token)

    def settings(self, model: Model, running: Running) -> AbstractContextManager[None]:
        """Give DSPy's settings for an execution."""
        from halflap.dspy.building import settings_for  # noqa: PLC0415  # imports DSPy

        adapter = "chat" if self._config.lm is None else self._config.lm.adapter
        given: AbstractContextManager[None] = settings_for(model, adapter, running)
        return given

    def fresh(self, stored: Stored) -> Any:
        """Build a module that is nobody else's; not on the loop."""
        tools = self._tools(stored)
        import_dspy(stored.name)
        return _build(stored, tools).module

    def told(self, error: BaseException) -> str:
        """Say in plain words what went wrong."""
        from halflap.dspy.failures import in_plain_words  # noqa: PLC0415  # imports DSPy

        return in_plain_words(error, self._lm(""), self._config.timeout_seconds)

    def without_key(self, text: str) -> str:
        """Give a text without the key of the model."""
        return redacted(text, self._config.lm)

    @staticmethod
    def is_of_model(error: BaseException) -> bool:
        """Say whether the model could not be asked."""
        from halflap.dspy.failures import is_of_model  # noqa: PLC0415  # imports DSPy

        return is_of_model(error)

    async def aclose(self) -> None:
        """Let go of the connections to the model."""
        model, self._model = self._model, None
        if self._filter is not None:
            for handler in _handlers():
                handler.removeFilter(self._filter)
            self._filter = None
        if model is not None:
            await model.aclose()

    def _lm(self, name: str) -> LmConfig:
        if self._config.lm is None:
            raise ProgramFailedError(
                name,
                "there is no language model for DSPy programs. Say in the configuration file which one to ask:\n"
                "programs:\n"
                "  lm: {model: openai/gpt-4o-mini, api_key: '${OPENAI_API_KEY}'}",
            )
        return self._config.lm

    async def _ready(self, stored: Stored) -> tuple[Built, Model]:
        found = self._recent(_key(stored, self._tools(stored)))
        if found is not None and self._model is not None:
            return found, self._model
        return await asyncio.to_thread(lambda: (self.build(stored), self.model(stored.name)))

    def _recent(self, key: tuple[str, ...]) -> Built | None:
        with self._lock:
            found = self._built.get(key)
            if found is not None:
                self._built.move_to_end(key)
        return found

    def model(self, name: str) -> Model:
        """Give the model, for a program of this name; not on the loop, since DSPy may have to be loaded."""
        lm = self._lm(name)
        with self._making:
            if self._model is None:
                import_dspy(name)
                from halflap.dspy.model import make_model  # noqa: PLC0415  # imports DSPy

                self._model = make_model(name, lm, self._config.timeout_seconds, self._answers)
                self._filter = KeyFilter(lm)
                for handler in _handlers():
                    handler.addFilter(self._filter)
            return self._model

    def _tools(self, stored: Stored) -> dict[str, Tool]:
        names = [name for predictor in stored.manifest.predictors for name in predictor.tools]
        found = {name: self._tool(name) for name in names}
        missing = sorted(name for name, tool in found.items() if tool is None)
        if missing:
            raise ProgramFailedError(
                stored.name,
                f"it uses tools that are not in the catalogue: {', '.join(missing)}. `halflap list` says which there are.",
            )
        return {name: tool for name, tool in found.items() if tool is not None}

    async def _failed(self, stored: Stored, error: BaseException, running: Running) -> ProgramFailedError:
        if not self.is_of_model(error):
            # An answer that is of no use, or a mistake of ours or DSPy's, which then is in the log.
            await self._forget(running)
        return ProgramFailedError(stored.name, self.told(error))

    async def _forget(self, running: Running) -> None:
        """Let go of what the model answered: kept, it would fail in the same way for ever."""
        if self._answers is not None:
            await asyncio.to_thread(self._answers.forget, running.keys)


def _has_dspy() -> bool:
    """Say whether DSPy is installed, without loading it."""
    try:
        return find_spec("dspy") is not None
    except Exception:  # noqa: BLE001  # what finds modules may be anybody's, and who cannot find it has none
        return False


def import_dspy(name: str) -> None:
    """Load DSPy for a program of this name, or say what is missing. Takes seconds the first time: not on the loop."""
    # Else LiteLLM fetches its table of prices over the network when it is loaded.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    # Else it takes keys and addresses from a file `.env` into the environment, of Halflap and of all that Halflap starts.
    os.environ["LITELLM_MODE"] = "PRODUCTION"
    if not _has_dspy():
        raise ProgramFailedError(name, "running it needs the extra: pip install 'halflap[dspy]'.")
    try:
        import dspy  # noqa: F401, PLC0415
    except Exception as error:
        raise ProgramFailedError(
            name,
            f"DSPy is installed, but cannot be loaded: {type(error).__name__}: {error}. Install it anew: pip install 'halflap[dspy]'.",
        ) from error
    # What it tells of its doings is of no use to whoever runs a gateway; what it warns of is.
    logging.getLogger("dspy").setLevel(logging.WARNING)


def _handlers() -> list[logging.Handler]:
    return [handler for name in _LOGGERS for handler in logging.getLogger(name).handlers]


def _key(stored: Stored, tools: Mapping[str, Tool]) -> tuple[str, ...]:
    """Tell programs apart: by their files, and by the definitions of the tools that are written into their prompts."""
    return (
        stored.manifest.name,
        stored.source_hash,
        *(f"{name} {tool.hash}" for name, tool in tools.items()),
    )


def _build(stored: Stored, tools: Mapping[str, Tool]) -> Built:
    from halflap.dspy.building import build_steps  # noqa: PLC0415  # imports DSPy

    manifest = stored.manifest
    try:
        module = build_steps(manifest.predictors, manifest.wiring, stored.state, tools.__getitem__)
    except Exception as error:
        raise ProgramBrokenError(
            manifest.name, [f"DSPy cannot build it: {type(error).__name__}: {error}"]
        ) from error
    return Built(stored, module, compile_schema(manifest.output_schema))


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 3)
