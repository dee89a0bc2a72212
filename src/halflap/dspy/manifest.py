"""The manifest of a DSPy program: what it takes and returns, its predictors, and where each field comes from."""

from __future__ import annotations

import json
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field as Setting
from pydantic import StrictFloat, StrictInt, StrictStr, StringConstraints, ValidationError, model_validator
from pydantic_core import from_json

from halflap.config.source import location
from halflap.core.errors import ProgramBrokenError
from halflap.dspy.fields import Field, FieldName, Identifier, StrictModel
from halflap.schema import compile_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from halflap.schema import Validator

__all__ = [
    "ADDED_FIELDS",
    "INPUTS",
    "MANIFEST",
    "NAME",
    "VERSION",
    "Kind",
    "Manifest",
    "Predictor",
    "Wiring",
    "problems_of",
    "read_json",
    "read_manifest",
    "write_manifest",
]

MANIFEST = "manifest.json"
INPUTS = "inputs"
"""The program's own inputs, as a source in the wiring."""
NAME = r"[a-z][a-z0-9_]{0,63}"
VERSION = r"(?:0|[1-9][0-9]{0,8})(?:\.(?:0|[1-9][0-9]{0,8})){2}"
ADDED_FIELDS = {
    "Predict": frozenset[str](),
    "ChainOfThought": frozenset({"reasoning"}),
    "ReAct": frozenset({
        "reasoning", "trajectory", "next_thought", "next_tool_name", "next_tool_args", "module", "base",
    }),
}  # fmt: skip
"""Names that DSPy adds to the fields of each kind of predictor, or passes along by keyword."""
_MAX_PROBLEMS = 30


def read_json(data: bytes) -> Any:
    """Parse JSON that someone else wrote; NaN, lone surrogates and deep nesting raise ValueError."""
    return from_json(data.removeprefix(b"\xef\xbb\xbf"), allow_inf_nan=False)


Kind = Literal["Predict", "ChainOfThought", "ReAct"]
_Source = Annotated[StrictStr, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]*\.[A-Za-z][A-Za-z0-9_]*$")]
_ToolName = Annotated[StrictStr, StringConstraints(pattern=r"^(mcp|script|dspy)__[A-Za-z0-9_]{1,200}$")]


class Predictor(StrictModel):
    """One step: a question to the language model, with typed fields."""

    name: Identifier
    kind: Kind
    instructions: Annotated[StrictStr, StringConstraints(pattern=r"\S")]
    inputs: tuple[Field, ...]
    outputs: tuple[Field, ...] = Setting(description="A ChainOfThought returns `reasoning` as well.")
    tools: tuple[_ToolName, ...] = Setting(
        default=(), description="What a ReAct may call: `mcp__<server>__<tool>`."
    )
    max_iterations: Annotated[StrictInt, Setting(ge=1, le=100)] = Setting(
        default=10, description="How many tool calls a ReAct may make."
    )

    @model_validator(mode="after")
    def _check(self) -> Predictor:
        names = [field.name for field in (*self.inputs, *self.outputs)]
        if not self.inputs or not self.outputs:
            raise ValueError("needs an input and an output")
        if len(set(names)) < len(names):
            raise ValueError("two of its fields have the same name")
        if taken := ADDED_FIELDS[self.kind] & {*names}:
            raise ValueError(f'"{min(taken)}" is reserved by DSPy in a {self.kind}')
        if self.name in {INPUTS, "metadata"}:
            raise ValueError(f'a predictor cannot be called "{self.name}"')
        if bool(self.tools) != (self.kind == "ReAct"):
            raise ValueError("a ReAct needs tools, and no other kind has any")
        return self

    @property
    def offered(self) -> tuple[Field, ...]:
        """Everything that later predictors and the program's outputs can take from it."""
        if self.kind != "ChainOfThought":
            return self.outputs
        return (
            Field(name="reasoning", description="The model's reasoning before its answer."),
            *self.outputs,
        )

    @property
    def signatures(self) -> dict[str, tuple[str, ...]]:
        """The field names of each signature that DSPy makes of it, by the key of its state."""
        inputs, outputs = ([field.name for field in fields] for fields in (self.inputs, self.outputs))
        if self.kind == "Predict":
            return {self.name: (*inputs, *outputs)}
        if self.kind == "ChainOfThought":
            return {f"{self.name}.predict": (*inputs, "reasoning", *outputs)}
        return {
            f"{self.name}.react": (*inputs, "trajectory", "next_thought", "next_tool_name", "next_tool_args"),
            f"{self.name}.extract.predict": (*inputs, "trajectory", "reasoning", *outputs),
        }


class Wiring(StrictModel):
    """Where fields come from: `inputs.<field>` or `<predictor>.<field>`."""

    predictors: dict[StrictStr, dict[StrictStr, _Source | None]] = Setting(
        default={}, description="By predictor and input; null leaves an input to its default."
    )
    outputs: dict[FieldName, _Source] = Setting(default={}, description="By output of the program.")


class Manifest(StrictModel):
    """What a saved DSPy program takes and returns, and how it is put together. The state holds its demos."""

    name: Annotated[StrictStr, StringConstraints(pattern=f"^{NAME}$")] = Setting(
        description="The program's name: that of its folder."
    )
    version: Annotated[StrictStr, StringConstraints(pattern=f"^{VERSION}$")] = Setting(
        description="Three numbers: `1.0.0`."
    )
    description: StrictStr = Setting(
        default="", description="What it is for; by default the instructions of the first predictor."
    )
    dspy_version: Annotated[StrictStr, StringConstraints(pattern=r"^[0-9][0-9A-Za-z.+-]{0,39}$")] = Setting(
        description="The version of DSPy that saved the state."
    )
    optimizer: Annotated[StrictStr, StringConstraints(pattern=r"\S", max_length=100)] = Setting(
        description="`none`, or the optimizer that made this version: `BootstrapFewShot`, `GEPA`."
    )
    validation_score: StrictFloat | None = Setting(
        description="Score on held-out examples; null if it was never measured."
    )
    serialized_at: Annotated[
        StrictStr,
        StringConstraints(
            pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?(?:Z|\+00:00)$"
        ),
    ] = Setting(description="When it was saved, in UTC: `2026-02-28T00:00:00Z`.")
    inputs: tuple[Field, ...] = Setting(
        default=(), description="By default, what predictors take and no earlier one returns."
    )
    outputs: tuple[Field, ...] = Setting(
        default=(), description="By default, what the wiring names, else what the last predictor returns."
    )
    predictors: Annotated[tuple[Predictor, ...], Setting(max_length=20)] = Setting(
        description="The steps, in the order in which they run."
    )
    wiring: Wiring = Setting(
        default=Wiring(), description="Where fields come from; what is left out is wired by equal names."
    )

    @model_validator(mode="after")
    def _check(self) -> Manifest:
        names = [predictor.name for predictor in self.predictors]
        if not names:
            raise ValueError("needs a predictor")
        if len(set(names)) < len(names):
            raise ValueError("two predictors have the same name")
        return self

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        required = [field.name for field in self.inputs if "default" not in field.json_schema]
        return _object_schema(self.inputs, required)

    @cached_property
    def input_validator(self) -> Validator | None:
        return compile_schema(self.input_schema)

    @cached_property
    def output_schema(self) -> dict[str, Any]:
        return _object_schema(self.outputs, [field.name for field in self.outputs])

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools that it may call, each once."""
        return tuple(dict.fromkeys(tool for predictor in self.predictors for tool in predictor.tools))


def _object_schema(fields: Iterable[Field], required: list[str]) -> dict[str, Any]:
    properties = {
        field.name: {
            **field.json_schema,
            **({"description": field.description} if field.description else {}),
        }
        for field in fields
    }
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": required} if required else schema


# Reading and writing ----------------------------------------------------------------------------------


def read_manifest(data: bytes, *, name: str) -> Manifest:
    """Parse the manifest in the folder of this name and complete its wiring; raise all of its problems at once."""
    try:
        manifest = Manifest.model_validate(read_json(data))
    except ValidationError as error:
        raise ProgramBrokenError(name, problems_of(error, MANIFEST)) from None
    except ValueError as error:
        raise ProgramBrokenError(name, [f"{MANIFEST}: not valid JSON: {error}."]) from None
    problems = [] if manifest.name == name else [f"name: must be {name}, like its folder"]
    manifest = _wired(manifest, problems)
    if problems:
        raise ProgramBrokenError(name, [f"{MANIFEST}: {problem}." for problem in problems])
    if not manifest.description:
        return manifest.model_copy(update={"description": manifest.predictors[0].instructions})
    return manifest


def problems_of(error: ValidationError, file: str) -> list[str]:
    """Return pydantic's errors with their place in a file: `manifest.json: predictors[0].kind: …`."""
    problems = []
    for found in error.errors(include_url=False, include_input=False, include_context=False)[:_MAX_PROBLEMS]:
        place = location(found["loc"])
        message = found["msg"].removeprefix("Value error, ").rstrip(".")
        problems.append(f"{file}: {place}{': ' if place else ''}{message}.")
    return list(dict.fromkeys(problems))


def write_manifest(manifest: Manifest) -> bytes:
    value = manifest.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return (json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _wired(manifest: Manifest, problems: list[str]) -> Manifest:
    """Return the manifest with its inputs, its outputs and the source of every field, or add to the problems."""
    inputs = manifest.inputs or _needed_inputs(manifest)
    available = {f"{INPUTS}.{field.name}": field for field in inputs}
    sources: dict[str, dict[str, str | None]] = {}
    for predictor in manifest.predictors:
        path, given = (
            f"wiring.predictors.{predictor.name}",
            manifest.wiring.predictors.get(predictor.name, {}),
        )
        names = {field.name for field in predictor.inputs}
        problems += [f"{path}.{name}: there is no such input" for name in given if name not in names]
        wired = sources[predictor.name] = {}
        for field in predictor.inputs:
            source = given[field.name] if field.name in given else _by_name(field.name, available)
            if source is None and "default" not in field.json_schema:
                problems.append(f"{path}.{field.name}: no input and no earlier predictor has this name")
            elif source is not None and source not in available:
                problems.append(f"{path}.{field.name}: there is no {source} before it")
            elif source is not None:
                wired[field.name] = source
        available |= {f"{predictor.name}.{field.name}": field for field in predictor.offered}
    for name in manifest.wiring.predictors.keys() - sources.keys():
        problems.append(f"wiring.predictors.{name}: there is no such predictor")
    returned = {source: field for source, field in available.items() if not source.startswith(f"{INPUTS}.")}
    outputs, results = _outputs(manifest, returned, problems)
    wiring = Wiring.model_construct(predictors=sources, outputs=results)
    return manifest.model_copy(update={"inputs": inputs, "outputs": outputs, "wiring": wiring})


def _needed_inputs(manifest: Manifest) -> tuple[Field, ...]:
    """Return the inputs that are wired to the program's inputs, or that no earlier predictor returns."""
    needed: dict[str, Field] = {}
    returned: set[str] = set()
    for predictor in manifest.predictors:
        given = manifest.wiring.predictors.get(predictor.name, {})
        for field in predictor.inputs:
            by_name = f"{INPUTS}.{field.name}" if field.name not in returned else ""
            owner, _, name = (given.get(field.name, by_name) or "").partition(".")
            if owner == INPUTS:
                needed.setdefault(name, field.model_copy(update={"name": name}))
        returned |= {field.name for field in predictor.offered}
    return tuple(needed.values())


def _outputs(
    manifest: Manifest, returned: Mapping[str, Field], problems: list[str]
) -> tuple[tuple[Field, ...], dict[str, str]]:
    given = manifest.wiring.outputs
    fields = manifest.outputs or tuple(
        returned[source].model_copy(update={"name": name}) if source in returned else Field(name=name)
        for name, source in given.items()
    )
    fields = fields or manifest.predictors[-1].outputs
    sources = {field.name: given.get(field.name) or _by_name(field.name, returned) for field in fields}
    for name, source in {**given, **sources}.items():
        if name not in sources:
            problems.append(f"wiring.outputs.{name}: there is no such output")
        elif name == "error":
            problems.append('wiring.outputs.error: clients recognise errors by the name "error"')
        elif source not in returned:
            problems.append(f"wiring.outputs.{name}: no predictor returns {source or name}")
    return fields, {name: source or "" for name, source in sources.items()}


def _by_name(name: str, available: Mapping[str, Field]) -> str | None:
    """Return the program's input of this name, else the latest output."""
    if f"{INPUTS}.{name}" in available:
        return f"{INPUTS}.{name}"
    return next((source for source in reversed([*available]) if source.endswith(f".{name}")), None)
