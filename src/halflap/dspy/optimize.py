"""Optimise a saved DSPy program over examples, and save the result with the score that it obtained."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version as version_of
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from halflap.core.errors import FileError, UsageError
from halflap.core.values import CallContext, canonical
from halflap.dspy.runner import tool_caller
from halflap.dspy.spec import ProgramSpec, State, read_json
from halflap.schema import argument_problems, compile_schema

if TYPE_CHECKING:
    from halflap.dspy.library import Library, SavedProgram
    from halflap.dspy.runner import Call, Runner

    Example = Mapping[str, Any]
    """Inputs and the right outputs, side by side."""

_CALLS_PER_EXAMPLE = 10
_MIN_CALLS = 12
_MIN_EXAMPLES = 2


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an optimisation is."""

    phase: Literal["measuring the old", "optimising", "measuring the new"]
    done: int
    total: int
    """Examples; while GEPA optimises, answers that may be scored."""
    score: float | None = None
    """The result of a measurement that is complete."""


@dataclass(frozen=True, slots=True)
class Optimised:
    """The saved program, unless it scored lower than the old one; both were measured on the same held-out examples."""

    saved: SavedProgram | None
    score: float
    old_score: float
    trained_on: int
    measured_on: int


async def optimize(
    program: SavedProgram,
    library: Library,
    runner: Runner,
    *,
    name: str,
    replace: bool = False,
    call: Call,
    context: CallContext,
    examples: Sequence[Example],
    metric: str,
    optimizer: str = "BootstrapFewShot",
    seed: int = 0,
    held_out: float = 0.3,
    budget: int | None = None,
    progress: Callable[[Progress], None] = lambda _: None,
    show: Callable[[str], None] | None = None,
) -> Optimised:
    """Optimise a program in a separate child process and save it as `name`. `show` gets what a metric prints."""
    await asyncio.to_thread(library.check_new, name, replace=replace)
    training, measuring = split(examples, seed, held_out)
    request = {
        "do": "optimize",
        **runner.describe(program),
        "examples": training,
        "held_out": measuring,
        "metric": metric,
        "folder": await asyncio.to_thread(os.getcwd),
        "optimizer": optimizer,
        "seed": seed,
        "budget": budget or max(_CALLS_PER_EXAMPLE * len(training), _MIN_CALLS),
    }
    process = await runner.start(program.name, show)
    try:
        work = process.run(request, tool_caller(call, context), lambda message: progress(Progress(**message)))
        result = await runner.finish(program.name, work, context.deadline)
    finally:
        await process.close()
    saved = None
    if result["score"] >= result["old_score"]:
        made = await asyncio.to_thread(_describe, program, name, optimizer, result)
        saved = await asyncio.to_thread(library.save, made, replace=replace)
    return Optimised(saved, result["score"], result["old_score"], len(training), len(measuring))


def _describe(program: SavedProgram, name: str, optimizer: str, result: Mapping[str, Any]) -> ProgramSpec:
    major, minor, _ = program.spec.version.split(".")
    changes = {
        "name": name,
        "version": f"{major}.{int(minor) + 1}.0",
        "optimizer": optimizer,
        "validation_score": result["score"],
        "dspy_version": version_of("dspy"),
        "serialized_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "state": {key: State.model_validate(state) for key, state in result["state"].items()},
    }
    return program.spec.model_copy(update=changes)


def read_examples(path: Path, spec: ProgramSpec) -> list[Example]:
    """Read a file with an object on each line; of lines with the same inputs, the first counts."""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}.") from None
    takes, returns = spec.input_schema, spec.output_schema
    # An example may have fewer outputs than the program, but no others.
    schema = {
        **takes,
        "properties": {**returns["properties"], **takes["properties"]},
        "$defs": {**returns.get("$defs", {}), **takes.get("$defs", {})},
    }
    validator = compile_schema(schema)
    examples: dict[str, Example] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            example = read_json(line)
        except ValueError as error:
            raise UsageError(f"{path}, line {number}: not JSON: {error}.") from None
        if problems := argument_problems(example, validator):
            raise UsageError(f"{path}, line {number}: {'; '.join(map(str, problems))}.")
        inputs = {name: value for name, value in example.items() if name in takes["properties"]}
        if len(inputs) == len(example):
            raise UsageError(f"{path}, line {number}: there is no output.")
        examples.setdefault(canonical(inputs), example)
    return list(examples.values())


def split(examples: Sequence[Example], seed: int, share: float) -> tuple[list[Example], list[Example]]:
    """Split into examples to learn from and held-out ones to measure with, so that nothing is measured on what was shown."""
    if len(examples) < _MIN_EXAMPLES:
        raise UsageError(
            f"At least {_MIN_EXAMPLES} examples with different inputs are needed, to learn from and to measure with; "
            f"there {'is' if len(examples) == 1 else 'are'} {len(examples)}."
        )
    shuffled = random.Random(seed).sample(examples, len(examples))  # noqa: S311 -- no secret
    held_out = min(max(1, round(len(examples) * share)), len(examples) - 1)
    return shuffled[held_out:], shuffled[:held_out]
