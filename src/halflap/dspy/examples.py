"""Examples that a DSPy program is optimised with: read from JSON lines, checked, and split."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final

from halflap.core.errors import FileError, ProgramInputsError, UsageError
from halflap.dspy.inputs import check_inputs
from halflap.schema import compile_schema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from halflap.dspy.manifest import Manifest

__all__ = ["Example", "read_examples", "split"]

_MOST_PROBLEMS: Final = 10
_LARGEST: Final = 100_000_000
_FEWEST: Final = 2


@dataclass(frozen=True, slots=True)
class Example:
    """Inputs, and the outputs that are right for them."""

    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any]


def read_examples(path: Path, manifest: Manifest) -> list[Example]:
    """Read a file: in each line an object with `inputs` and `outputs`, or with all of their fields side by side."""
    try:
        if path.stat().st_size > _LARGEST:
            raise FileError(f"{path} is larger than {_LARGEST // 1_000_000} MB.")
        # Not by `splitlines`: JSON may have within a text what that takes for the end of a line.
        lines = path.read_text("utf-8-sig").split("\n")
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise FileError(f"{path} is no text in UTF-8.") from None
    found: list[Example] = []
    problems: list[str] = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                found.append(_read(line, manifest))
            except ValueError as error:
                problems.append(f"line {number}: {error}")
    if problems:
        more = len(problems) - _MOST_PROBLEMS
        told = [*problems[:_MOST_PROBLEMS], *([f"and {more} more lines"] if more > 0 else [])]
        raise UsageError("\n- ".join([f"{path} cannot be used:", *told]))
    return found


def _read(line: str, manifest: Manifest) -> Example:
    try:
        value = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"it is no JSON ({error})") from None
    if not isinstance(value, dict):
        raise ValueError("it is no object")  # noqa: TRY004  # said to whoever wrote the line
    if set(value) == {"inputs", "outputs"} and all(isinstance(one, dict) for one in value.values()):
        inputs, outputs = value["inputs"], value["outputs"]
    else:
        names = {one.name for one in manifest.outputs}
        _refuse_unknown(value, manifest)
        inputs = {key: one for key, one in value.items() if key not in names}
        outputs = {key: one for key, one in value.items() if key in names}
    try:
        inputs = check_inputs(manifest, inputs)
    except ProgramInputsError as error:
        raise ValueError("; ".join(str(one) for one in error.problems)) from None
    if not outputs:
        raise ValueError(f"it has no output; there are {', '.join(one.name for one in manifest.outputs)}")
    # An example may say less than a program gives, but nothing else.
    validator = compile_schema({**manifest.output_schema, "required": []})
    problems = [] if validator is None else validator.problems(outputs)
    if problems:
        raise ValueError("; ".join(str(one) for one in problems))
    return Example(inputs, outputs)


def _refuse_unknown(value: Mapping[str, Any], manifest: Manifest) -> None:
    """Refuse what is neither an input nor an output, and say what may stand there."""
    inputs, outputs = ([one.name for one in fields] for fields in (manifest.inputs, manifest.outputs))
    for key in value:
        if key not in {*inputs, *outputs}:
            near = get_close_matches(key, [*inputs, *outputs], 1)
            raise ValueError(
                f"{json.dumps(key)} is neither an input ({', '.join(inputs)}) nor an output ({', '.join(outputs)})"
                f"{f'; did you mean {near[0]}?' if near else ''}"
            )


def split(examples: Sequence[Example], seed: int, share: float) -> tuple[list[Example], list[Example]]:
    """Split into what is learned from and what is held out to measure: the same for the same seed.

    Examples with equal inputs stay together: else it would be measured on what it was shown.
    """
    groups: dict[str, list[Example]] = {}
    for one in examples:
        groups.setdefault(_key(one.inputs), []).append(one)
    if len(groups) < _FEWEST:
        same = "" if len(examples) < _FEWEST else ", all with the same inputs"
        raise UsageError(
            f"There {'is 1 example' if len(examples) == 1 else f'are {len(examples)} examples'}{same}, and at least {_FEWEST} with "
            "different inputs are needed: some to learn from, and others to measure with."
        )
    shuffled = list(groups.values())
    random.Random(seed).shuffle(shuffled)  # noqa: S311  # no secret
    wanted = max(1, round(len(examples) * share))
    held_out: list[Example] = []
    while len(shuffled) > 1 and len(held_out) < wanted:
        held_out += shuffled.pop(0)
    return [one for group in shuffled for one in group], held_out


def _key(value: Any) -> str:
    """Give the same text for equal values; 1.0 is 1."""
    return json.dumps(_plain(value), sort_keys=True)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
