"""Optimise a saved DSPy program over examples, and save the result as a new version with the score it obtained."""

from __future__ import annotations

import asyncio
import json
import os
import random
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version as version_of
from typing import TYPE_CHECKING, Any, Literal

from halflap.core.errors import FileError, ProgramInputsError, ProgramTimeoutError, UsageError
from halflap.core.suggest import did_you_mean
from halflap.core.values import canonical
from halflap.dspy.library import version_order
from halflap.dspy.manifest import read_json
from halflap.dspy.process import ProcessEndedError
from halflap.dspy.runner import check_inputs, tool_caller
from halflap.dspy.state import read_state
from halflap.schema import compile_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from halflap.core.values import CallContext
    from halflap.dspy.library import Library, SavedProgram
    from halflap.dspy.manifest import Manifest
    from halflap.dspy.runner import Call, Runner

__all__ = ["Example", "Optimised", "Progress", "next_version", "optimize", "read_examples", "split"]

_CALLS_PER_EXAMPLE = 10
_MIN_CALLS = 12
_MAX_PROBLEMS = 10
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
    """A saved version that is not yet active, and both scores on the same held-out examples."""

    saved: SavedProgram
    score: float
    old_score: float
    trained_on: int
    measured_on: int


def next_version(versions: Sequence[str]) -> str:
    """Return the highest version with its minor number raised."""
    major, minor, _ = max(map(version_order, versions))
    return f"{major}.{minor + 1}.0"


async def optimize(
    program: SavedProgram,
    library: Library,
    runner: Runner,
    *,
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
    """Optimise a program in a separate child process, which ends with it. `show` gets what a metric prints."""
    if library.root is None:
        raise UsageError("The result is saved as a new version: set `programs.root` to a folder for it.")
    training, measuring = split(examples, seed, held_out)
    request = {
        "do": "optimize",
        **runner.describe(program),
        "examples": [asdict(example) for example in training],
        "held_out": [asdict(example) for example in measuring],
        "metric": metric,
        "folder": await asyncio.to_thread(os.getcwd),
        "optimizer": optimizer,
        "seed": seed,
        "budget": budget or max(_CALLS_PER_EXAMPLE * len(training), _MIN_CALLS),
    }
    loop = asyncio.get_running_loop()
    began = loop.time()
    process = await runner.start(program.name, show)
    try:
        async with asyncio.timeout_at(context.deadline):
            answer = await process.run(
                request, tool_caller(call, context), lambda message: progress(Progress(**message))
            )
    except TimeoutError:
        raise ProgramTimeoutError(program.name, round(loop.time() - began, 1)) from None
    except ProcessEndedError as error:
        raise runner.ended(program.name, error) from None
    finally:
        await process.close()
    result = runner.result(program.name, answer)
    saved = await asyncio.to_thread(_save, library, program, optimizer, result)
    return Optimised(saved, result["score"], result["old_score"], len(training), len(measuring))


def _save(library: Library, program: SavedProgram, optimizer: str, result: Mapping[str, Any]) -> SavedProgram:
    manifest = program.manifest.model_copy(
        update={
            "optimizer": optimizer,
            "validation_score": result["score"],
            "version": next_version(library.read().find(program.name).versions),
            "dspy_version": version_of("dspy"),
            "serialized_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
    )
    return library.save(manifest, read_state(json.dumps(result["state"], allow_nan=False).encode(), manifest))


# Examples ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Example:
    """Inputs, and the right outputs for them."""

    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any]


def read_examples(path: Path, manifest: Manifest) -> list[Example]:
    """Read a file with an object on each line: `inputs` and `outputs`, or all of their fields side by side."""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}.") from None
    examples: list[Example] = []
    problems: list[str] = []
    for number, line in enumerate(lines, start=1):
        try:
            examples += [_read(line, manifest)] if line.strip() else []
        except ValueError as error:
            problems.append(f"line {number}: {error}")
    if problems:
        more = len(problems) - _MAX_PROBLEMS
        shown = [*problems[:_MAX_PROBLEMS], *([f"and {more} more lines"] if more > 0 else [])]
        raise UsageError("\n- ".join([f"{path} cannot be used:", *shown]))
    return examples


def _read(line: bytes, manifest: Manifest) -> Example:
    value = read_json(line)
    if not isinstance(value, dict):
        raise ValueError("not an object")  # noqa: TRY004 -- reported with the line
    if set(value) == {"inputs", "outputs"} and all(isinstance(part, dict) for part in value.values()):
        inputs, outputs = value["inputs"], value["outputs"]
    else:
        takes, returns = ([field.name for field in fields] for fields in (manifest.inputs, manifest.outputs))
        if unknown := [key for key in value if key not in {*takes, *returns}]:
            hint = did_you_mean(unknown[0], [*takes, *returns])
            raise ValueError(
                f"{json.dumps(unknown[0])} is neither an input ({', '.join(takes)}) nor an output ({', '.join(returns)}). {hint}"
            )
        inputs = {key: part for key, part in value.items() if key not in returns}
        outputs = {key: part for key, part in value.items() if key in returns}
    try:
        check_inputs(manifest, inputs)
    except ProgramInputsError as error:
        raise ValueError("; ".join(map(str, error.problems))) from None
    if not outputs:
        raise ValueError("it has no output")
    # An example may have fewer outputs than the program, but no others.
    validator = compile_schema({**manifest.output_schema, "required": []})
    if validator is not None and (wrong := validator.problems(outputs)):
        raise ValueError("; ".join(map(str, wrong)))
    return Example(inputs, outputs)


def split(examples: Sequence[Example], seed: int, share: float) -> tuple[list[Example], list[Example]]:
    """Split into examples to learn from and held-out ones to measure with.

    Examples with equal inputs stay together, so that nothing is measured on what was shown.
    """
    groups: dict[str, list[Example]] = {}
    for example in examples:
        groups.setdefault(canonical(example.inputs), []).append(example)
    if len(groups) < _MIN_EXAMPLES:
        raise UsageError(
            f"At least {_MIN_EXAMPLES} examples with different inputs are needed, to learn from and to measure with; "
            f"there {'is' if len(groups) == 1 else 'are'} {len(groups)}."
        )
    shuffled = list(groups.values())
    random.Random(seed).shuffle(shuffled)  # noqa: S311 -- no secret
    wanted = max(1, round(len(examples) * share))
    held_out: list[Example] = []
    while len(shuffled) > 1 and len(held_out) < wanted:
        held_out += shuffled.pop(0)
    return [example for group in shuffled for example in group], held_out
