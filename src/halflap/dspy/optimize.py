"""Optimise a saved DSPy program with examples, and save the result with its measured score."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version as version_of
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halflap.core.errors import UsageError
from halflap.core.values import CallContext, canonical
from halflap.dspy.runner import tool_caller
from halflap.dspy.spec import ProgramSpec, State, read_json
from halflap.schema import argument_problems, compile_schema

if TYPE_CHECKING:
    from halflap.dspy.library import Library, SavedProgram
    from halflap.dspy.runner import Call, Runner

    Example = Mapping[str, Any]
    """Inputs and the right outputs in one object."""

_HELD_OUT = 0.3
"""The share of examples to measure with; the rest is learned from."""
_CALLS_PER_EXAMPLE = 10
_MIN_CALLS = 12
_MIN_EXAMPLES = 2


@dataclass(frozen=True, slots=True)
class Optimised:
    """The saved program (None if it scored lower than the old one), and both scores on the same held-out examples."""

    saved: SavedProgram | None
    score: float
    old_score: float


async def optimize(
    program: SavedProgram,
    library: Library,
    runner: Runner,
    *,
    name: str,
    force: bool = False,
    call: Call,
    context: CallContext,
    examples: Sequence[Example],
    metric: str,
    optimizer: str = "BootstrapFewShot",
    budget: int | None = None,
    progress: Callable[[Mapping[str, Any]], None] = lambda _: None,
    show: Callable[[str], None] | None = None,
) -> Optimised:
    """Optimise a program in a separate child process and save it as `name`.

    `progress` gets the phase, and how many of the `total` are `done`: examples, or metric calls for GEPA; after a measurement
    also the `score`. `show` gets what a metric prints.
    """
    await asyncio.to_thread(library.check_new, name, force=force)
    training, measuring = split(examples)
    request = {
        "do": "optimize",
        **runner.describe(program),
        "examples": training,
        "held_out": measuring,
        "metric": metric,
        "folder": await asyncio.to_thread(os.getcwd),
        "optimizer": optimizer,
        "budget": budget or max(_CALLS_PER_EXAMPLE * len(training), _MIN_CALLS),
    }
    process = await runner.start(program.name, show)
    try:
        work = process.run(request, tool_caller(call, context), progress)
        result = await runner.finish(program.name, work, context.deadline)
    finally:
        await process.close()
    saved = None
    if result["score"] >= result["old_score"]:
        made = await asyncio.to_thread(_improved, program.spec, name, optimizer, result)
        saved = await asyncio.to_thread(library.save, made, force=force)
    return Optimised(saved, result["score"], result["old_score"])


def _improved(spec: ProgramSpec, name: str, optimizer: str, result: Mapping[str, Any]) -> ProgramSpec:
    major, minor, _ = spec.version.split(".")
    changes = {
        "name": name,
        "version": f"{major}.{int(minor) + 1}.0",
        "optimizer": optimizer,
        "validation_score": result["score"],
        "dspy_version": version_of("dspy"),
        "serialized_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "state": {key: State.model_validate(state) for key, state in result["state"].items()},
    }
    return spec.model_copy(update=changes)


def read_examples(path: Path, spec: ProgramSpec) -> list[Example]:
    """Read a file with an object on each line; of lines with the same inputs, the first counts."""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.", code="file") from None
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


def split(examples: Sequence[Example]) -> tuple[list[Example], list[Example]]:
    """Split into examples to learn from and held-out ones to measure with, the same way each time."""
    if len(examples) < _MIN_EXAMPLES:
        raise UsageError(
            "At least two examples with different inputs are needed, to learn from and to measure with."
        )
    shuffled = random.Random(0).sample(examples, len(examples))  # noqa: S311 -- no secret
    held_out = max(1, round(len(examples) * _HELD_OUT))
    return shuffled[held_out:], shuffled[:held_out]
