"""The manifest of a DSPy program: what it takes and returns, its predictors, and which field is filled from where."""

from __future__ import annotations

import re
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    StrictFloat,
    StrictInt,
    StrictStr,
    StringConstraints,
    model_validator,
)
from pydantic import Field as Setting

from halflap.dspy.fields import FieldName, Schema, Text, closed
from halflap.schema import compile_schema

if TYPE_CHECKING:
    from collections.abc import Iterable

    from halflap.schema import Validator

__all__ = [
    "ADDED_FIELDS",
    "INPUTS",
    "NAME",
    "VERSION",
    "Field",
    "Kind",
    "Manifest",
    "Predictor",
    "Wiring",
]

INPUTS = "inputs"
"""The program's own inputs, as a source in the wiring."""
NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
VERSION = re.compile(r"(?:0|[1-9][0-9]{0,8})(?:\.(?:0|[1-9][0-9]{0,8})){2}(?:[-+][0-9A-Za-z.+-]{1,40})?")
"""As in semantic versioning; also the name of a folder."""
_MODULE_NAMES = frozenset({
    "acall", "aforward", "batch", "callbacks", "deepcopy", "dump_state", "forward", "get_lm", "history",
    "inputs", "inspect_history", "load", "load_state", "map_named_predictors", "named_parameters",
    "named_predictors", "named_sub_modules", "parameters", "predictors", "reset_copy", "save", "self",
    "set_lm", "demos", "lm", "metadata", "signature", "traces", "train",
})  # fmt: skip
"""Names that a DSPy module or its state uses itself, and `inputs`, which the wiring uses."""
ADDED_FIELDS = {
    "Predict": frozenset[str](),
    "ChainOfThought": frozenset({"reasoning"}),
    "ReAct": frozenset(
        {"reasoning", "trajectory", "next_thought", "next_tool_name", "next_tool_args", "module", "base"}
    ),
}
"""Names that DSPy adds to the fields of each kind of predictor, or passes along by keyword."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_by_name=True, validate_by_alias=True)


def _pattern(pattern: re.Pattern[str]) -> StringConstraints:
    return StringConstraints(pattern=f"^(?:{pattern.pattern})$")


def _check_time(text: str) -> str:
    datetime.fromisoformat(re.sub(r"\.\d+", "", text))
    return text


def _check_predictor_name(name: str) -> str:
    if name in _MODULE_NAMES:
        raise ValueError(f'"{name}" is reserved by DSPy')
    return name


def _check_tools(tools: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(tools)) < len(tools) or "finish" in tools:
        raise ValueError('each tool is listed once, and "finish" is reserved by DSPy')
    return tools


def _check_fields(fields: tuple[Field, ...]) -> tuple[Field, ...]:
    names = [field.name for field in fields]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"two fields are called {', '.join(sorted(twice))}")
    return fields


def _check_outputs(fields: tuple[Field, ...]) -> tuple[Field, ...]:
    for field in fields:
        if field.name == "error":
            raise ValueError('an output cannot be called "error": clients recognise errors by it')
        if "default" in field.json_schema:
            raise ValueError(f"the output {field.name} has a default, which outputs cannot have")
    return fields


Kind = Literal["Predict", "ChainOfThought", "ReAct"]
_Line = Annotated[Text, StringConstraints(min_length=1, pattern=r"\S")]
_PredictorName = Annotated[
    StrictStr,
    StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,63}$"),
    AfterValidator(_check_predictor_name),
]
_Tool = Annotated[StrictStr, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,199}$")]
_Source = Annotated[StrictStr, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]*\.[A-Za-z][A-Za-z0-9_]*$")]


class Field(_Model):
    """One input or output."""

    name: FieldName
    description: Text = Setting(default="", description="Shown to the model.")
    json_schema: Schema = Setting(
        default={"type": "string"}, alias="schema", description="Its type; text if left out."
    )


_Fields = Annotated[tuple[Field, ...], Setting(max_length=50), AfterValidator(_check_fields)]
_Outputs = Annotated[_Fields, AfterValidator(_check_outputs)]


class Predictor(_Model):
    """One step: a question to the language model, with typed fields."""

    name: _PredictorName
    kind: Kind
    instructions: _Line
    inputs: _Fields = Setting(min_length=1)
    outputs: _Outputs = Setting(min_length=1, description="A ChainOfThought returns `reasoning` as well.")
    tools: Annotated[tuple[_Tool, ...], Setting(max_length=50), AfterValidator(_check_tools)] = Setting(
        default=(), description="What a ReAct may call: `mcp__<server>__<tool>`."
    )
    max_iterations: Annotated[StrictInt, Setting(ge=1, le=100)] = Setting(
        default=10, description="How many tool calls a ReAct may make."
    )

    @model_validator(mode="after")
    def _check(self) -> Predictor:
        names = {field.name for field in self.inputs}
        both = [field.name for field in self.outputs if field.name in names]
        if both:
            raise ValueError(f"{both[0]} is both an input and an output")
        taken = ADDED_FIELDS[self.kind] & {field.name for field in (*self.inputs, *self.outputs)}
        if taken:
            raise ValueError(f"a {self.kind} has a field {min(taken)} of DSPy's own")
        if self.kind == "ReAct" and not self.tools:
            raise ValueError("a ReAct needs tools")
        if self.kind != "ReAct" and self.model_fields_set & {"tools", "max_iterations"}:
            raise ValueError("only a ReAct has tools and max_iterations")
        return self

    @property
    def offered(self) -> dict[str, Field]:
        """Everything that later predictors and the program's outputs can take from it."""
        reasoning = Field(name="reasoning", description="The model's reasoning before its answer.")
        added = (reasoning,) if self.kind == "ChainOfThought" else ()
        return {field.name: field for field in (*added, *self.outputs)}

    @property
    def signatures(self) -> dict[str, tuple[str, ...]]:
        """The field names of each signature that DSPy makes of it, in DSPy's order, by the key of its state."""
        inputs = [field.name for field in self.inputs]
        outputs = [field.name for field in self.outputs]
        if self.kind == "Predict":
            return {self.name: (*inputs, *outputs)}
        if self.kind == "ChainOfThought":
            return {f"{self.name}.predict": (*inputs, "reasoning", *outputs)}
        return {
            f"{self.name}.react": (*inputs, "trajectory", "next_thought", "next_tool_name", "next_tool_args"),
            f"{self.name}.extract.predict": (*inputs, "trajectory", "reasoning", *outputs),
        }


class Wiring(_Model):
    """Where fields come from: `inputs.<field>` or `<predictor>.<field>`."""

    predictors: dict[StrictStr, dict[StrictStr, _Source | None]] = Setting(
        default={}, description="By predictor and input; null leaves an input to its default."
    )
    outputs: dict[FieldName, _Source] = Setting(default={}, description="By output of the program.")


class Manifest(_Model):
    """What a saved DSPy program takes and returns, and how it is put together. The state holds its demos."""

    name: Annotated[StrictStr, _pattern(NAME)] = Setting(
        description="The program's name: that of its folder."
    )
    version: Annotated[StrictStr, _pattern(VERSION)] = Setting(description="Semantic version: `1.0.0`.")
    description: Annotated[Text, StringConstraints(pattern=r"\S")] = Setting(
        default="-", description="What it is for; by default the instructions of the first predictor."
    )
    dspy_version: Annotated[StrictStr, StringConstraints(pattern=r"^[0-9][0-9A-Za-z.+-]{0,39}$")] = Setting(
        description="The version of DSPy that saved the state."
    )
    optimizer: Annotated[_Line, StringConstraints(max_length=100)] = Setting(
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
        AfterValidator(_check_time),
    ] = Setting(description="When it was saved, in UTC: `2026-02-28T00:00:00Z`.")
    inputs: _Fields = Setting(
        default=(), description="By default, what predictors take and no earlier one returns."
    )
    outputs: _Outputs = Setting(
        default=(), description="By default, what the wiring names, else what the last predictor returns."
    )
    predictors: tuple[Predictor, ...] = Setting(
        min_length=1, max_length=20, description="The steps, in the order in which they run."
    )
    wiring: Wiring = Setting(
        default=Wiring(), description="Where fields come from; what is left out is wired by equal names."
    )

    @model_validator(mode="after")
    def _check(self) -> Manifest:
        names = [one.name for one in self.predictors]
        if len(set(names)) < len(names):
            raise ValueError("two predictors have the same name")
        return self

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        """The inputs as a tool's schema; undeclared properties are refused at every level."""
        required = [field.name for field in self.inputs if "default" not in field.json_schema]
        return _object(self.inputs, required, strict=True)

    @cached_property
    def input_validator(self) -> Validator | None:
        return compile_schema(self.input_schema)

    @cached_property
    def output_schema(self) -> dict[str, Any]:
        return _object(self.outputs, [field.name for field in self.outputs])

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools that it may call, each once."""
        return tuple(dict.fromkeys(tool for one in self.predictors for tool in one.tools))


def _object(fields: Iterable[Field], required: list[str], *, strict: bool = False) -> dict[str, Any]:
    properties = {
        field.name: {
            **(closed(field.json_schema) if strict else field.json_schema),
            **({"description": field.description} if field.description else {}),
        }
        for field in fields
    }
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": required} if required else schema
