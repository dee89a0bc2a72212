"""Optimises a saved DSPy program over examples, and measures what came of it on others that it has not seen."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version as version_of
from typing import TYPE_CHECKING, Any, Final, Literal

from halflap.core.errors import (
    HalflapError,
    ProgramError,
    ProgramFailedError,
    ProgramTimeoutError,
    UsageError,
)
from halflap.dspy.examples import split
from halflap.dspy.export import stdout_is_data
from halflap.dspy.library import version_order
from halflap.dspy.metrics import Score
from halflap.dspy.outputs import outputs_of
from halflap.dspy.running import RUNNING, Running
from halflap.dspy.state import read_state
from halflap.schema import compile_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from halflap.core.values import CallContext
    from halflap.dspy.examples import Example
    from halflap.dspy.library import Library, Stored
    from halflap.dspy.manifest import Manifest
    from halflap.dspy.metrics import Metric
    from halflap.dspy.runtime import Runtime
    from halflap.dspy.state import State

__all__ = ["OPTIMIZERS", "Optimised", "Progress", "next_version", "optimize"]

OPTIMIZERS: Final = ("BootstrapFewShot", "GEPA")
Optimizer = Literal["BootstrapFewShot", "GEPA"]
_AT_ONCE: Final = 4
_CALLS_PER_EXAMPLE: Final = 10


@dataclass(frozen=True, slots=True)
class Progress:
    """How far it is."""

    phase: Literal["measuring the old", "optimising", "measuring the new"]
    done: int
    total: int
    """Examples, or answers that may be scored where it is a matter of those."""
    round: int | None = None
    rounds: int | None = None
    """How many there will be, if that is known before."""
    score: float | None = None
    """What was measured, once all of it is."""


@dataclass(frozen=True, slots=True)
class Optimised:
    """What came of it: a version that is saved and not yet in force, and both scores on the same examples."""

    stored: Stored
    score: float
    old_score: float
    trained_on: int
    measured_on: int


def next_version(versions: Sequence[str]) -> str:
    """Give the version after all of these: the minor number of the highest is raised."""
    highest = max(versions, key=version_order)
    major, minor = highest.partition("-")[0].partition("+")[0].split(".")[:2]
    return f"{major}.{int(minor) + 1}.0"


async def optimize(
    stored: Stored,
    library: Library,
    runtime: Runtime,
    *,
    examples: Sequence[Example],
    metric: Metric,
    context: CallContext,
    optimizer: Optimizer = "BootstrapFewShot",
    seed: int = 0,
    held_out: float = 0.3,
    budget: int | None = None,
    progress: Callable[[Progress], None] = lambda _: None,
) -> Optimised:
    """Optimise a program and save the result as a new version; nothing is overwritten, and nothing comes into force."""
    if library.root is None:
        raise UsageError(
            "What is optimised is saved as a new version: name a folder for it under `programs.root`."
        )
    learned_from, kept_back = split(examples, seed, held_out)
    loop = asyncio.get_running_loop()
    inner = replace(context, depth=context.depth + 1, progress=None, cancelled=None)
    work = _Work(stored, runtime, metric, Running(runtime.call, inner, loop), progress)
    began = loop.time()
    try:
        async with asyncio.timeout_at(context.deadline) as clock:
            old_score = await work.measure(None, kept_back, "measuring the old")
            most = budget or max(_CALLS_PER_EXAMPLE * len(learned_from), 2 * len(learned_from) + 10)
            module = await asyncio.to_thread(work.optimised, optimizer, learned_from, seed, most)
            score = await work.measure(module, kept_back, "measuring the new")
    except TimeoutError:
        if not clock.expired():
            raise
        raise ProgramTimeoutError(stored.name, round(loop.time() - began, 1)) from None
    finally:
        work.running.stop()
    manifest = replace(stored.manifest, optimizer=optimizer, validation_score=score)
    saved = await asyncio.to_thread(_save, library, manifest, module)
    return Optimised(saved, score, old_score, len(learned_from), len(kept_back))


def _save(library: Library, manifest: Manifest, module: Any) -> Stored:
    manifest = replace(
        manifest,
        version=next_version(library.read().find(manifest.name).versions),
        dspy_version=version_of("dspy"),
        serialized_at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    )
    return library.save(manifest, _state(module, manifest))


def _state(module: Any, manifest: Manifest) -> State:
    from halflap.dspy.building import state_of  # noqa: PLC0415  # imports DSPy

    steps = [(predictor, module.steps[predictor.name]) for predictor in manifest.predictors]
    return read_state(json.dumps(state_of(steps), allow_nan=False).encode(), manifest)


class _Work:
    """One optimisation: what all parts of it need."""

    def __init__(
        self,
        stored: Stored,
        runtime: Runtime,
        metric: Metric,
        running: Running,
        progress: Callable[[Progress], None],
    ) -> None:
        self.stored = stored
        self.runtime = runtime
        self.metric = metric
        self.validator = compile_schema(stored.manifest.output_schema)
        self.running = running
        self.progress = progress

    async def measure(self, module: Any, examples: Sequence[Example], phase: Any) -> float:
        """Give the mean score; an answer that cannot be read scores nothing."""
        done, places = 0, asyncio.Semaphore(_AT_ONCE)
        built = await asyncio.to_thread(self.runtime.build, self.stored)
        model = await asyncio.to_thread(self.runtime.model, self.stored.name)
        self.progress(Progress(phase, 0, len(examples)))

        async def one(example: Example) -> float:
            nonlocal done
            async with places:
                try:
                    prediction = await self.runtime.run(
                        module or built.module, model, example.inputs, self.running
                    )
                    value = self.score(example, prediction).value
                except ProgramError:
                    raise
                except Exception as error:
                    if self.runtime.is_of_model(error):
                        raise ProgramFailedError(self.stored.name, self.runtime.told(error)) from error
                    if isinstance(error, UsageError):
                        raise
                    value = 0.0
            done += 1
            self.progress(Progress(phase, done, len(examples)))
            return value

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(one(example)) for example in examples]
        except* HalflapError as errors:
            first = next(iter(errors.exceptions))
            raise first from None
        score = round(sum(task.result() for task in tasks) / len(tasks), 4)
        self.progress(Progress(phase, len(examples), len(examples), score=score))
        return score

    def score(self, example: Example, prediction: Mapping[str, Any]) -> Score:
        """Say how good it is; what would be refused when the program is run is no good, whatever the metric says."""
        outputs, problems = outputs_of(prediction, self.stored.manifest.outputs, self.validator)
        if problems:
            return Score(0.0, "; ".join(problems))
        try:
            return self.metric(example, outputs)
        except UsageError as error:
            # It may say anything: it is the user's own.
            raise UsageError(self.runtime.without_key(str(error))) from None

    def optimised(self, optimizer: Optimizer, examples: Sequence[Example], seed: int, budget: int) -> Any:
        """Run the optimizer, in a thread."""
        from halflap.dspy.building import keep_what_fits  # noqa: PLC0415  # imports DSPy
        from halflap.dspy.optimizers import run_optimizer  # noqa: PLC0415  # as above

        module = self.runtime.fresh(self.stored)
        model = self.runtime.model(self.stored.name)
        done, this_round = 0, 1
        total, rounds = (len(examples), 1) if optimizer == "BootstrapFewShot" else (budget, None)

        def tell() -> None:
            self.progress(Progress("optimising", min(done, total), total, this_round, rounds))

        def began(number: int) -> None:
            nonlocal this_round
            this_round = number
            tell()

        def scored(example: Example, prediction: Mapping[str, Any]) -> Any:
            nonlocal done
            if self.running.stopped.is_set():
                raise UsageError("It was stopped.")
            score = self.score(example, prediction)
            done += 1
            tell()
            return score

        tell()
        token = RUNNING.set(self.running)
        try:
            with stdout_is_data(), self.runtime.settings(model, self.running):
                found = run_optimizer(
                    optimizer,
                    module,
                    examples,
                    scored,
                    seed=seed,
                    budget=budget,
                    model=model,
                    is_over=self.running.stopped.is_set,
                    began=began,
                )
        except Exception as error:
            if isinstance(error, UsageError) and self.running.trouble is None:
                raise
            trouble = self.running.trouble or error
            raise ProgramFailedError(self.stored.name, self.runtime.told(trouble)) from error
        finally:
            RUNNING.reset(token)
        if self.running.trouble is not None:
            # An optimizer takes that for a bad answer, and goes on with the next.
            raise ProgramFailedError(self.stored.name, self.runtime.told(self.running.trouble))
        keep_what_fits(found, self.stored.manifest.predictors)
        return found
