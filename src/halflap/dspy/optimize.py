"""Optimise a saved DSPy program over examples, and save the result as a new version with the score it obtained."""

from __future__ import annotations

import asyncio
import json
import os
import random
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version as version_of
from typing import TYPE_CHECKING, Any, Literal

from halflap.core.errors import FileError, ProgramInputsError, ProgramTimeoutError, UsageError
from halflap.core.suggest import did_you_mean
from halflap.dspy.field_values import check_inputs
from halflap.dspy.library import version_order
from halflap.dspy.process import ProcessEndedError
from halflap.dspy.state import read_state
from halflap.dspy.strict_json import UnreadableError, read_json
from halflap.schema import compile_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from halflap.core.values import CallContext
    from halflap.dspy.library import Library, Stored
    from halflap.dspy.runtime import Runtime
    from halflap.dspy.spec import Manifest

__all__ = [
    "OPTIMIZERS",
    "Example",
    "Optimised",
    "Progress",
    "next_version",
    "optimize",
    "read_examples",
    "split",
]

OPTIMIZERS = ("BootstrapFewShot", "GEPA")
_CALLS_PER_EXAMPLE = 10
_MIN_CALLS = 12
_MAX_PROBLEMS = 10
_MAX_BYTES = 100_000_000
_MIN_EXAMPLES = 2


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
    """Optimise a program in a separate child process, which ends with it. `show` gets what a metric prints."""
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


# Examples ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Example:
    """Inputs, and the right outputs for them."""

    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def read_examples(path: Path, manifest: Manifest) -> list[Example]:
    """Read a file with an object on each line: `inputs` and `outputs`, or all of their fields side by side."""
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise FileError(f"{path} is larger than {_MAX_BYTES // 1_000_000} MB.")
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}.") from None
    found: list[Example] = []
    problems: list[str] = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                found.append(_read(line, manifest))
            except (ValueError, UnreadableError) as error:
                problems.append(f"line {number}: {error}")
    if problems:
        more = len(problems) - _MAX_PROBLEMS
        told = [*problems[:_MAX_PROBLEMS], *([f"and {more} more lines"] if more > 0 else [])]
        raise UsageError("\n- ".join([f"{path} cannot be used:", *told]))
    return found


def _read(line: bytes, manifest: Manifest) -> Example:
    value = read_json(line)
    if not isinstance(value, dict):
        raise ValueError("not an object")  # noqa: TRY004 -- reported with the line
    if set(value) == {"inputs", "outputs"} and all(isinstance(one, dict) for one in value.values()):
        inputs, outputs = value["inputs"], value["outputs"]
    else:
        takes, returns = ([field.name for field in fields] for fields in (manifest.inputs, manifest.outputs))
        for key in value:
            if key not in {*takes, *returns}:
                hint = did_you_mean(key, [*takes, *returns])
                raise ValueError(
                    f"{json.dumps(key)} is neither an input ({', '.join(takes)}) nor an output ({', '.join(returns)}). {hint}"
                )
        inputs = {key: one for key, one in value.items() if key not in returns}
        outputs = {key: one for key, one in value.items() if key in returns}
    try:
        inputs = check_inputs(manifest, inputs)
    except ProgramInputsError as error:
        raise ValueError("; ".join(str(one) for one in error.problems)) from None
    if not outputs:
        raise ValueError("it has no output")
    # An example may have fewer outputs than the program, but no others.
    validator = compile_schema({**manifest.output_schema, "required": []})
    if validator is not None and (wrong := validator.problems(outputs)):
        raise ValueError("; ".join(str(one) for one in wrong))
    return Example(inputs, outputs)


def split(examples: Sequence[Example], seed: int, share: float) -> tuple[list[Example], list[Example]]:
    """Split into examples to learn from and held-out ones to measure with.

    Examples with equal inputs stay together, so that nothing is measured on what was shown.
    """
    groups: dict[str, list[Example]] = {}
    for one in examples:
        groups.setdefault(json.dumps(_normal(one.inputs), sort_keys=True), []).append(one)
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
    return [one for group in shuffled for one in group], held_out


def _normal(value: Any) -> Any:
    """1.0 and 1 are the same input."""
    if isinstance(value, dict):
        return {key: _normal(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_normal(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
