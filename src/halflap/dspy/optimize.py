"""Optimise a saved DSPy program over examples, and save the result as a new version with the score it obtained."""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version as version_of
from typing import TYPE_CHECKING, Any, Literal

from halflap.core.errors import ProgramTimeoutError, UsageError
from halflap.dspy.examples import split
from halflap.dspy.library import version_order
from halflap.dspy.process import ProcessEndedError
from halflap.dspy.state import read_state

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from halflap.core.values import CallContext
    from halflap.dspy.examples import Example
    from halflap.dspy.library import Library, Stored
    from halflap.dspy.runtime import Runtime

__all__ = ["OPTIMIZERS", "Optimised", "Progress", "next_version", "optimize"]

OPTIMIZERS = ("BootstrapFewShot", "GEPA")
_CALLS_PER_EXAMPLE = 10
_MIN_CALLS = 12


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an optimisation is."""

    phase: Literal["measuring the old", "optimising", "measuring the new"]
    done: int
    total: int
    """Examples; while GEPA optimises, answers that may be scored."""
    round: int | None = None
    rounds: int | None = None
    """How many there will be, if that is known."""
    score: float | None = None
    """The result of a measurement that is complete."""


@dataclass(frozen=True, slots=True)
class Optimised:
    """A saved version that is not yet active, and both scores on the same held-out examples."""

    stored: Stored
    score: float
    old_score: float
    trained_on: int
    measured_on: int


def next_version(versions: Sequence[str]) -> str:
    """Return the highest version with its minor number raised."""
    highest = max(versions, key=version_order)
    major, minor = highest.partition("-")[0].partition("+")[0].split(".")[:2]
    return f"{major}.{int(minor) + 1}.0"


async def optimize(
    stored: Stored,
    library: Library,
    runtime: Runtime,
    *,
    examples: Sequence[Example],
    metric: str,
    context: CallContext,
    optimizer: str = "BootstrapFewShot",
    seed: int = 0,
    held_out: float = 0.3,
    budget: int | None = None,
    progress: Callable[[Progress], None] = lambda _: None,
    show: Callable[[str], None] | None = None,
) -> Optimised:
    """Optimise a program in a child process of its own, which ends with it. `show` gets what a metric prints."""
    if library.root is None:
        raise UsageError("The result is saved as a new version: set `programs.root` to a folder for it.")
    learned_from, kept_back = split(examples, seed, held_out)
    request = {
        "do": "optimize",
        **runtime.described(stored),
        "examples": [one.as_json() for one in learned_from],
        "held_out": [one.as_json() for one in kept_back],
        "metric": metric,
        "folder": await asyncio.to_thread(os.getcwd),
        "optimizer": optimizer,
        "seed": seed,
        "budget": budget or max(_CALLS_PER_EXAMPLE * len(learned_from), _MIN_CALLS),
    }
    inner = replace(context, depth=context.depth + 1, progress=None, cancelled=None)

    async def call(name: str, arguments: Mapping[str, Any]) -> str:
        return await runtime.observe(name, arguments, inner)

    def report(told: Mapping[str, Any]) -> None:
        progress(Progress(**told))

    loop = asyncio.get_running_loop()
    began = loop.time()
    process = await runtime.start(stored.name, show)
    try:
        async with asyncio.timeout_at(context.deadline):
            answer = await process.run(request, call, report)
    except TimeoutError:
        raise ProgramTimeoutError(stored.name, round(loop.time() - began, 1)) from None
    except ProcessEndedError as error:
        raise runtime.ended(stored.name, error) from None
    finally:
        await process.close()
    result = runtime.result(stored.name, answer)
    saved = await asyncio.to_thread(_save, library, stored, optimizer, result)
    return Optimised(saved, result["score"], result["old_score"], len(learned_from), len(kept_back))


def _save(library: Library, stored: Stored, optimizer: str, result: Mapping[str, Any]) -> Stored:
    manifest = stored.manifest.model_copy(
        update={
            "optimizer": optimizer,
            "validation_score": result["score"],
            "version": next_version(library.read().find(stored.name).versions),
            "dspy_version": version_of("dspy"),
            "serialized_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
    )
    return library.save(manifest, read_state(json.dumps(result["state"], allow_nan=False).encode(), manifest))
