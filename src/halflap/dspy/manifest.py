"""The manifest of a DSPy program: what it takes and gives, its predictors, and what is known of its making."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from halflap.core.errors import ProgramBrokenError
from halflap.dspy.documents import Problems, UnreadableError, read_json, within, words
from halflap.dspy.fields import NAME as FIELD_NAME
from halflap.dspy.fields import closed, read_fields, read_text
from halflap.dspy.parts import INPUTS, KINDS, Field, Kind, Predictor, Wiring
from halflap.dspy.wiring import complete

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "MANIFEST",
    "NAME",
    "VERSION",
    "Field",
    "Manifest",
    "Predictor",
    "Wiring",
    "read_manifest",
    "write_manifest",
]

MANIFEST = "manifest.json"
NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
VERSION = re.compile(r"(?:0|[1-9][0-9]{0,8})(?:\.(?:0|[1-9][0-9]{0,8})){2}(?:[-+][0-9A-Za-z.+-]{1,40})?")
"""As in semantic versioning; it is the name of a folder, too."""

_DSPY_VERSION = re.compile(r"[0-9][0-9A-Za-z.+-]{0,39}")
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|\+00:00)", re.ASCII)
_TOOL = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}")
_MOST_PREDICTORS = 20
_MOST_TOOLS = 50
_MOST_ITERATIONS = 100
_LONGEST_OPTIMIZER = 100

_KEYS = (
    "name", "version", "description", "dspy_version", "optimizer", "validation_score", "serialized_at",
    "inputs", "outputs", "predictors", "wiring",
)  # fmt: skip
_NEEDED = (
    "name",
    "version",
    "dspy_version",
    "optimizer",
    "validation_score",
    "serialized_at",
    "predictors",
)
_OF_PREDICTOR = ("name", "kind", "instructions", "inputs", "outputs", "tools", "max_iterations")
_OF_REACT = ("tools", "max_iterations")
_TAKEN = frozenset({
    "acall", "aforward", "batch", "callbacks", "deepcopy", "dump_state", "forward", "get_lm", "history",
    "inputs", "inspect_history", "load", "load_state", "map_named_predictors", "named_parameters",
    "named_predictors", "named_sub_modules", "parameters", "predictors", "reset_copy", "save", "self",
    "set_lm", "demos", "lm", "metadata", "signature", "traces", "train",
})  # fmt: skip
"""What a module and a state of DSPy have as their own, and `inputs`, which the wiring has."""
_IMPLICIT = {
    "Predict": (),
    "ChainOfThought": ("reasoning",),
    "ReAct": (
        "reasoning",
        "trajectory",
        "next_thought",
        "next_tool_name",
        "next_tool_args",
        "module",
        "base",
    ),
}
"""What the steps of a kind have as fields besides, or pass on by keyword."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """All that there is to know of a DSPy program besides its demos; whatever the file left out is filled in."""

    name: str
    version: str
    description: str
    dspy_version: str
    optimizer: str
    """`none`, or by what it was optimised."""
    validation_score: float | None
    serialized_at: str
    """As RFC 3339 has it, in UTC: `2026-02-28T00:00:00Z`."""
    inputs: tuple[Field, ...]
    outputs: tuple[Field, ...]
    predictors: tuple[Predictor, ...]
    """In the order in which they run."""
    wiring: Wiring

    @property
    def input_schema(self) -> dict[str, Any]:
        """The inputs, as the schema of a tool: what is not declared in an object is not taken."""
        required = [one.name for one in self.inputs if "default" not in one.schema]
        return _object([replace(one, schema=closed(one.schema)) for one in self.inputs], required)

    @property
    def output_schema(self) -> dict[str, Any]:
        """The outputs, likewise."""
        return _object(self.outputs, [one.name for one in self.outputs])


def _object(fields: Iterable[Field], required: list[str]) -> dict[str, Any]:
    properties = {
        one.name: {**one.schema, **({"description": one.description} if one.description else {})}
        for one in fields
    }
    schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": required} if required else schema


def read_manifest(data: bytes, *, name: str) -> Manifest:
    """Read the manifest of the program in the folder of this name; raises every problem of it at once."""
    problems = Problems(MANIFEST)
    try:
        value = read_json(data)
    except UnreadableError as error:
        problems.add(str(error))
        raise ProgramBrokenError(name, problems.found) from None
    manifest = _read(value, name, problems)
    if manifest is None or problems.found:
        raise ProgramBrokenError(name, problems.found)
    return manifest


def _read(value: Any, name: str, problems: Problems) -> Manifest | None:
    if not isinstance(value, Mapping):
        problems.wrong("", "an object", value)
        return None
    problems.keys(value, "", _KEYS, _NEEDED)
    _check_facts(value, name, problems)
    predictors = _read_predictors(value["predictors"], problems) if "predictors" in value else ()
    inputs = read_fields(value["inputs"], "inputs", problems) if "inputs" in value else None
    outputs = read_fields(value["outputs"], "outputs", problems, outputs=True) if "outputs" in value else None
    description = read_text(value, "description", "", problems)
    # What is wired can only be judged where the fields are.
    if problems.found or not predictors:
        return None
    wired = complete(predictors, inputs, outputs, value.get("wiring", {}), problems)
    score = value["validation_score"]
    return Manifest(
        name=value["name"],
        version=value["version"],
        description=description or predictors[0].instructions,
        dspy_version=value["dspy_version"],
        optimizer=value["optimizer"],
        validation_score=None if score is None else float(score),
        serialized_at=value["serialized_at"],
        inputs=wired.inputs,
        outputs=wired.outputs,
        predictors=predictors,
        wiring=wired.wiring,
    )


def _check_facts(value: Mapping[str, Any], name: str, problems: Problems) -> None:
    for key, pattern, expected in (
        ("name", NAME, "a name of lower-case letters, digits and _, a letter first, 64 at most"),
        ("version", VERSION, "a version such as 1.0.0"),
        ("dspy_version", _DSPY_VERSION, "a version of DSPy such as 3.4.1"),
        ("serialized_at", _TIME, "a time in UTC such as 2026-02-28T00:00:00Z"),
    ):
        given = value.get(key)
        fits = isinstance(given, str) and pattern.fullmatch(given) is not None
        if key in value and not (fits and (key != "serialized_at" or _is_time(str(given)))):
            problems.wrong(key, expected, given)
    if isinstance(value.get("name"), str) and value["name"] != name:
        problems.wrong("name", f'"{name}" as its folder', value["name"])
    optimizer = read_text(value, "optimizer", "", problems)
    if len(optimizer) > _LONGEST_OPTIMIZER:
        problems.add(f"optimizer is longer than {_LONGEST_OPTIMIZER} characters.")
    score = value.get("validation_score")
    if isinstance(score, bool) or not (score is None or isinstance(score, int | float)):
        problems.wrong("validation_score", "a number or null", score)


def _is_time(text: str) -> bool:
    try:
        datetime.fromisoformat(re.sub(r"\.\d+", "", text))
    except ValueError:
        return False
    return True


def _read_predictors(value: Any, problems: Problems) -> tuple[Predictor, ...]:
    if not problems.listed("predictors", _MOST_PREDICTORS, "predictors", value):
        return ()
    found = [_read_predictor(one, within("predictors", at), problems) for at, one in enumerate(value)]
    predictors = [one for one in found if one is not None]
    names = [one.name for one in predictors]
    for at, one in enumerate(names):
        if one in names[:at]:
            problems.add(f'predictors: there are two of the name "{one}".')
    return tuple(predictors)


def _read_predictor(value: Any, path: str, problems: Problems) -> Predictor | None:
    if not isinstance(value, Mapping):
        problems.wrong(path, "an object", value)
        return None
    kind = _read_kind(value, path, problems)
    name = value.get("name")
    if "name" in value and (not isinstance(name, str) or not FIELD_NAME.fullmatch(name)):
        problems.wrong(
            within(path, "name"), "a name of letters, digits and _, a letter first, 64 at most", name
        )
    elif name in _TAKEN:
        problems.add(f'{within(path, "name")}: "{name}" cannot be the name of a predictor: it is taken.')
    instructions = read_text(value, "instructions", path, problems)
    implicit = _IMPLICIT.get(str(kind), ())
    fields = {
        key: read_fields(value[key], within(path, key), problems, reserved=implicit, outputs=key == "outputs")
        for key in ("inputs", "outputs")
        if key in value
    }
    inputs, outputs = fields.get(INPUTS, ()), fields.get("outputs", ())
    for one in outputs:
        if one.name in {other.name for other in inputs}:
            problems.add(f'{path}: "{one.name}" is both an input and an output.')
    tools = _read_tools(value["tools"], within(path, "tools"), problems) if "tools" in value else ()
    iterations = _read_iterations(value, path, problems)
    if not isinstance(name, str) or kind is None:
        return None
    return Predictor(name, kind, instructions, inputs, outputs, tools, iterations)


def _read_kind(value: Mapping[str, Any], path: str, problems: Problems) -> Kind | None:
    """Give the kind of a predictor, and note which keys one of its kind lacks, or has no use for."""
    kind: Any = value.get("kind")
    needed = ("name", "kind", "instructions", "inputs", "outputs")
    problems.keys(value, path, _OF_PREDICTOR, (*needed, "tools") if kind == "ReAct" else needed)
    if kind not in KINDS:
        if "kind" in value:
            problems.wrong(within(path, "kind"), words(KINDS), kind)
        return None
    for key in () if kind == "ReAct" else _OF_REACT:
        if key in value:
            problems.add(f"{within(path, key)} is for a ReAct alone.")
    found: Kind = kind
    return found


def _read_iterations(value: Mapping[str, Any], path: str, problems: Problems) -> int:
    given = value.get("max_iterations", 10)
    if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= _MOST_ITERATIONS:
        problems.wrong(within(path, "max_iterations"), f"a whole number from 1 to {_MOST_ITERATIONS}", given)
        return 1
    return given


def _read_tools(value: Any, path: str, problems: Problems) -> tuple[str, ...]:
    if not problems.listed(path, _MOST_TOOLS, "names of tools", value):
        return ()
    for at, one in enumerate(value):
        if not isinstance(one, str) or not _TOOL.fullmatch(one) or one == "finish":
            problems.wrong(within(path, at), "the name of a tool, as mcp__<server>__<tool>", one)
        elif one in value[:at]:
            problems.add(f"{within(path, at)}: {one} is there twice.")
    return tuple(one for one in value if isinstance(one, str))


def write_manifest(manifest: Manifest) -> bytes:
    """Write a manifest with everything in it, what could be left out too."""
    value = {
        "name": manifest.name,
        "version": manifest.version,
        "description": manifest.description,
        "dspy_version": manifest.dspy_version,
        "optimizer": manifest.optimizer,
        "validation_score": manifest.validation_score,
        "serialized_at": manifest.serialized_at,
        "inputs": _written(manifest.inputs),
        "outputs": _written(manifest.outputs),
        "predictors": [_written_predictor(one) for one in manifest.predictors],
        "wiring": {
            "predictors": {
                one.name: {
                    name: manifest.wiring.predictors[one.name].get(name)
                    for name in (field.name for field in one.inputs)
                }
                for one in manifest.predictors
            },
            "outputs": dict(manifest.wiring.outputs),
        },
    }
    return (json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _written(fields: Iterable[Field]) -> list[dict[str, Any]]:
    return [{"name": one.name, "description": one.description, "schema": dict(one.schema)} for one in fields]


def _written_predictor(one: Predictor) -> dict[str, Any]:
    written: dict[str, Any] = {
        "name": one.name,
        "kind": one.kind,
        "instructions": one.instructions,
        "inputs": _written(one.inputs),
        "outputs": _written(one.outputs),
    }
    if one.kind == "ReAct":
        written |= {"tools": list(one.tools), "max_iterations": one.max_iterations}
    return written
