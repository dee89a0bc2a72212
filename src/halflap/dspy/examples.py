"""Examples to optimise a DSPy program with: read from JSON lines, validated, and split."""

from __future__ import annotations

import json
import random
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from halflap.core.errors import FileError, ProgramInputsError, UsageError
from halflap.core.suggest import did_you_mean
from halflap.dspy.field_values import check_inputs
from halflap.dspy.strict_json import UnreadableError, read_json
from halflap.schema import compile_schema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from halflap.dspy.spec import Manifest

__all__ = ["Example", "read_examples", "split"]

_MAX_PROBLEMS = 10
_MAX_BYTES = 100_000_000
_MIN_EXAMPLES = 2


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
