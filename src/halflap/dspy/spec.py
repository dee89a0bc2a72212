"""The file of a saved DSPy program: what it takes and returns, its predictors, and where each field comes from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    StrictFloat,
    StrictInt,
    StringConstraints,
    ValidationError,
    model_validator,
)
from pydantic import Field as Setting
from pydantic_core import from_json

from halflap.config.syntax import location
from halflap.core.errors import ArgumentProblem, ProgramBrokenError, ProgramInputsError
from halflap.core.values import Tool
from halflap.schema import argument_problems, compile_schema, parse_schema, try_compile

if TYPE_CHECKING:
    from halflap.schema import Validator

INPUTS = "inputs"
"""The program's own inputs, as a source in the wiring."""
NAME = r"[a-z][a-z0-9_]{0,63}"
_VERSION = r"(?:0|[1-9][0-9]{0,8})(?:\.(?:0|[1-9][0-9]{0,8})){2}"
RESERVED = frozenset({
    "completions", "config", "demos", "fields", "input_fields", "instructions", "lm", "max_iters", "new_signature",
    "output_fields", "prediction", "self", "signature",
})  # fmt: skip
"""Names that DSPy uses itself. An input called `config` or `lm` would let the caller choose where the key is sent."""
ADDED_FIELDS = {
    "Predict": frozenset[str](),
    "ChainOfThought": frozenset({"reasoning"}),
    "ReAct": frozenset({
        "reasoning", "trajectory", "next_thought", "next_tool_name", "next_tool_args", "module", "base",
    }),
}  # fmt: skip
"""Names that DSPy adds to the fields of each kind of predictor, or passes along by keyword."""
_MAX_PROBLEMS = 30

Kind = Literal["Predict", "ChainOfThought", "ReAct"]


def _check_name(name: str) -> str:
    if name in RESERVED or name.startswith("model_"):
        raise ValueError(f'"{name}" is reserved by DSPy')
    return name


def _check_schema(schema: dict[str, Any]) -> dict[str, Any]:
    validator = try_compile(schema)
    if isinstance(validator, str):
        raise ValueError(validator)  # noqa: TRY004 -- pydantic's error
    if "default" in schema and (problems := validator.problems(schema["default"])):
        raise ValueError(f"the default {schema['default']!r} does not fit: {problems[0]}")
    return schema


_Identifier = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,63}$")]
_FieldName = Annotated[_Identifier, AfterValidator(_check_name)]
_Source = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]*\.[A-Za-z][A-Za-z0-9_]*$")]
_ToolName = Annotated[str, StringConstraints(pattern=r"^(mcp|script|dspy)__[A-Za-z0-9_]{1,200}$")]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_by_name=True, validate_by_alias=True)


class Field(_Strict):
    """One input or output."""

    name: _FieldName
    description: str = Setting(default="", description="Shown to the model.")
    json_schema: Annotated[dict[str, Any], AfterValidator(_check_schema)] = Setting(
        default={"type": "string"},
        alias="schema",
        description="Its type, as JSON Schema; text if left out. An input with a `default` may be left out.",
    )


class Predictor(_Strict):
    """One step: a question to the language model, with typed fields."""

    name: _Identifier
    kind: Kind
    instructions: Annotated[str, StringConstraints(pattern=r"\S")]
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
        reasoning = Field(name="reasoning", description="The model's reasoning before its answer.")
        return (reasoning, *self.outputs)

    @property
    def signatures(self) -> dict[str, tuple[str, ...]]:
        """The field names of each signature that DSPy makes of it, by its key in `state`."""
        inputs, outputs = ([field.name for field in fields] for fields in (self.inputs, self.outputs))
        if self.kind == "Predict":
            return {self.name: (*inputs, *outputs)}
        if self.kind == "ChainOfThought":
            return {f"{self.name}.predict": (*inputs, "reasoning", *outputs)}
        return {
            f"{self.name}.react": (*inputs, "trajectory", "next_thought", "next_tool_name", "next_tool_args"),
            f"{self.name}.extract.predict": (*inputs, "trajectory", "reasoning", *outputs),
        }


class State(_Strict):
    """What an optimizer made of a predictor, or of a part of it."""

    demos: Annotated[list[dict[str, Any]], Setting(max_length=100)] = Setting(
        default=[], description="Examples for the prompt: values of its fields."
    )
    instructions: str | None = Setting(default=None, description="Instead of those of the predictor.")


class Wiring(_Strict):
    """Where fields come from: `inputs.<field>` or `<predictor>.<field>`."""

    predictors: dict[str, dict[str, _Source]] = Setting(
        default={},
        description="By predictor and input. What is left out comes from the program's input of that name, else from the "
        "latest predictor that returns it.",
    )
    outputs: dict[_FieldName, _Source] = Setting(
        default={}, description="By output of the program; by default, what the last predictor returns."
    )


class ProgramSpec(_Strict):
    """What a saved DSPy program takes and returns, and how it is put together."""

    name: Annotated[str, StringConstraints(pattern=f"^{NAME}$")] = Setting(
        description="The program's name: that of its file."
    )
    version: Annotated[str, StringConstraints(pattern=f"^{_VERSION}$")] = Setting(
        description="Three numbers: `1.0.0`."
    )
    description: str = Setting(
        default="", description="What it is for; by default the instructions of the first predictor."
    )
    dspy_version: Annotated[str, StringConstraints(pattern=r"^[0-9][0-9A-Za-z.+-]{0,39}$")] = Setting(
        description="The version of DSPy that it was made with."
    )
    optimizer: Annotated[str, StringConstraints(pattern=r"\S", max_length=100)] = Setting(
        description="`none`, or the optimizer that made this version: `BootstrapFewShot`, `GEPA`."
    )
    validation_score: StrictFloat | None = Setting(
        description="Score on held-out examples; null if it was never measured."
    )
    serialized_at: Annotated[
        str, StringConstraints(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{8,18}(?:Z|\+00:00)$")
    ] = Setting(description="When it was saved, in UTC: `2026-02-28T00:00:00Z`.")
    predictors: Annotated[tuple[Predictor, ...], Setting(max_length=20)] = Setting(
        description="The steps, in the order in which they run."
    )
    wiring: Wiring = Setting(default=Wiring(), description="Where fields come from, if not by equal names.")
    state: dict[str, State] = Setting(
        default={},
        description="Demos and instructions by DSPy's names: `select`, `select.predict`, `plan.react`, `plan.extract.predict`.",
    )

    @model_validator(mode="after")
    def _check(self) -> ProgramSpec:
        if not self.predictors:
            raise ValueError("needs a predictor")
        if len({predictor.name for predictor in self.predictors}) < len(self.predictors):
            raise ValueError("two predictors have the same name")
        _check_definitions(self)
        _check_state(self)
        self.flow  # noqa: B018 -- raises if the wiring is wrong
        return self

    @cached_property
    def flow(self) -> Flow:
        return _flow(self)

    @property
    def inputs(self) -> tuple[Field, ...]:
        return self.flow.inputs

    @property
    def outputs(self) -> tuple[Field, ...]:
        return self.flow.outputs

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        return _object_schema(self.inputs)

    @cached_property
    def _input_validator(self) -> Validator | None:
        return compile_schema(self.input_schema)

    def check_inputs(self, inputs: Mapping[str, Any]) -> None:
        """Raise everything that is wrong with inputs; DSPy would only warn, and ask the model anyway."""
        validator = self._input_validator
        problems = argument_problems(inputs, validator)
        if validator is not None and not problems and not validator.is_checked(inputs):
            problems = [ArgumentProblem("", "they are too large to be checked", "", "unknown")]
        if problems:
            tool = Tool(self.name, "", self.name, "", self.input_schema)
            raise ProgramInputsError(self.name, problems, parse_schema(tool).format_compact())

    @cached_property
    def output_schema(self) -> dict[str, Any]:
        return _object_schema(self.outputs)

    @cached_property
    def output_validator(self) -> Validator | None:
        return compile_schema(self.output_schema)

    def __deepcopy__(self, memo: object = None) -> ProgramSpec:
        """Return itself: optimizers copy modules, and a spec never changes."""
        return self

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools that it may call, each once."""
        return tuple(dict.fromkeys(tool for predictor in self.predictors for tool in predictor.tools))


@dataclass(frozen=True, slots=True)
class Flow:
    """The complete wiring."""

    inputs: tuple[Field, ...]
    """What predictors take from the program's inputs."""
    outputs: tuple[Field, ...]
    predictors: Mapping[str, Mapping[str, str]]
    """The source of each input of each predictor."""
    results: Mapping[str, str]
    """The source of each output."""


def _flow(spec: ProgramSpec) -> Flow:
    inputs: dict[str, Field] = {}
    returned: dict[str, Field] = {}
    sources: dict[str, dict[str, str]] = {}
    for predictor in spec.predictors:
        given = spec.wiring.predictors.get(predictor.name, {})
        wired = sources[predictor.name] = {}
        for field in predictor.inputs:
            source = given.get(field.name) or _by_name(field.name, inputs, returned)
            owner, _, name = source.partition(".")
            if owner == INPUTS:
                inputs.setdefault(name, field.model_copy(update={"name": name}))
            elif source not in returned:
                raise ValueError(
                    f"wiring.predictors.{predictor.name}.{field.name}: there is no {source} before it"
                )
            wired[field.name] = source
        if unknown := given.keys() - wired:
            raise ValueError(f"wiring.predictors.{predictor.name}.{min(unknown)}: there is no such input")
        returned |= {f"{predictor.name}.{field.name}": field for field in predictor.offered}
    if unknown := spec.wiring.predictors.keys() - sources:
        raise ValueError(f"wiring.predictors.{min(unknown)}: there is no such predictor")
    last = spec.predictors[-1]
    results = spec.wiring.outputs or {field.name: f"{last.name}.{field.name}" for field in last.outputs}
    for name, source in results.items():
        if source not in returned:
            raise ValueError(f"wiring.outputs.{name}: there is no {source}")
        if name == "error":
            raise ValueError('wiring.outputs.error: clients recognise errors by the name "error"')
    outputs = (returned[source].model_copy(update={"name": name}) for name, source in results.items())
    return Flow(tuple(inputs.values()), tuple(outputs), sources, results)


def _by_name(name: str, inputs: Mapping[str, Field], returned: Mapping[str, Field]) -> str:
    matching = [source for source in returned if source.endswith(f".{name}")]
    return matching[-1] if matching and name not in inputs else f"{INPUTS}.{name}"


def _check_definitions(spec: ProgramSpec) -> None:
    definitions: dict[str, Any] = {}
    fields = [field for one in spec.predictors for field in (*one.inputs, *one.outputs)]
    for name, schema in (item for field in fields for item in field.json_schema.get("$defs", {}).items()):
        if definitions.setdefault(name, schema) != schema:
            raise ValueError(f"predictors: two different types are called {name}")


def _check_state(spec: ProgramSpec) -> None:
    signatures = {key: names for one in spec.predictors for key, names in one.signatures.items()}
    for key, state in spec.state.items():
        if key not in signatures:
            raise ValueError(f'state: there is no predictor "{key}". There are: {", ".join(signatures)}')
        if unknown := {name for demo in state.demos for name in demo} - {*signatures[key], "augmented"}:
            raise ValueError(f'state: "{min(unknown)}" in a demo of {key} is not one of its fields')


def _object_schema(fields: Iterable[Field]) -> dict[str, Any]:
    """Return the schema of inputs, where a default makes one optional, or of outputs, which have none."""
    properties: dict[str, Any] = {}
    definitions: dict[str, Any] = {}
    for field in fields:
        # References are resolved from the root, so definitions belong there.
        definitions |= field.json_schema.get("$defs", {})
        schema = {key: part for key, part in field.json_schema.items() if key != "$defs"}
        about = {"description": field.description} if field.description else {}
        properties[field.name] = {**schema, **about}
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    if required := [name for name, part in properties.items() if "default" not in part]:
        schema["required"] = required
    return {**schema, "$defs": definitions} if definitions else schema


def read_json(data: bytes) -> Any:
    """Parse JSON that someone else wrote; NaN, lone surrogates and deep nesting raise ValueError."""
    return from_json(data.removeprefix(b"\xef\xbb\xbf"), allow_inf_nan=False)


def read_spec(data: bytes, name: str) -> ProgramSpec:
    """Parse the file of the program of this name; raise all of its problems together."""
    try:
        spec = ProgramSpec.model_validate(read_json(data))
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False, include_context=False)[:_MAX_PROBLEMS]
        raise ProgramBrokenError(name, list(dict.fromkeys(map(_problem, found)))) from None
    except ValueError as error:
        raise ProgramBrokenError(name, [f"not valid JSON: {error}."]) from None
    if spec.name != name:
        raise ProgramBrokenError(name, [f"name: must be {name}, like its file."])
    return spec


def _problem(found: Mapping[str, Any]) -> str:
    place = f"{location(found['loc'])}: ".removeprefix(": ")
    return f"{place}{found['msg'].removeprefix('Value error, ').rstrip('.')}."


def write_spec(spec: ProgramSpec) -> bytes:
    value = spec.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return (json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()
