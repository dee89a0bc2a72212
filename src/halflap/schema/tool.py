"""A tool's schema, parsed: its parameters, what it returns, and ways to say so in text."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from halflap.schema.clean import clean
from halflap.schema.problem import unsendable
from halflap.schema.refer import References
from halflap.schema.types import Type, fields_of, read_type
from halflap.schema.validate import compile_schema
from halflap.schema.write import compact, key, literal, plain, type_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from halflap.errors import ArgumentProblem
    from halflap.schema.types import Field
    from halflap.values import Tool

__all__ = ["Parameter", "ToolSchema", "is_wrapped", "parse_schema", "says_something"]

_LONGEST_TEXT = 4_000
_LONGEST_LINE = 300
_DEEPEST_SHOWN = 6
_MOST_LINES = 500
_MOST_VALUES = 50
_MOST_STEPS = 20


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a tool."""

    name: str
    type: str
    description: str
    required: bool
    default: Any = None
    enum: list[Any] | None = None
    has_default: bool = False
    nullable: bool = False
    parameters: tuple[Parameter, ...] = ()
    """The keys of an object, or of the objects in an array."""


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """What a tool takes and returns."""

    tool_name: str
    description: str
    parameters: list[Parameter]
    required_params: list[str]
    raw_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any] | None = None
    server: str = ""
    stale: bool = False
    """It is older than it may be; a newer one is being asked for."""
    input_type: Type = field(default=Type("object"), repr=False)
    output_type: Type | None = field(default=None, repr=False)
    """The type of the value that a program gets; None where nothing is declared that says something."""

    def validate_arguments(self, arguments: Mapping[str, Any]) -> list[ArgumentProblem]:
        """Say everything that is wrong with these arguments; nothing is filled in or converted."""
        validator = compile_schema(self.raw_schema)
        problems = [] if validator is None else validator.problems(dict(arguments))
        told = {problem.path for problem in problems}
        odd = islice(unsendable(dict(arguments)), _MOST_VALUES)
        return [*problems, *(problem for problem in odd if problem.path not in told)]

    def format_for_llm(self) -> str:
        """Write it out for a model: one line for each parameter."""
        # Further lines are indented: a description must not look like what follows it.
        described = clean(self.description, _LONGEST_TEXT).strip().replace("\n", "\n  ")
        lines = [f"Tool: {self.tool_name}", f"Description: {described}", ""]
        if not self.parameters:
            return "\n".join([*lines, "Parameters: none"])
        return "\n".join([*lines, "Parameters:", *self.parameter_lines()])

    def parameter_lines(self) -> list[str]:
        """Write one line for each parameter, those within another indented under it."""
        lines = list(islice(_parameter_lines(self.parameters, 0), _MOST_LINES + 1))
        return lines if len(lines) <= _MOST_LINES else [*lines[:_MOST_LINES], "- … (cut)"]

    def format_compact(self) -> str:
        """Write it in one line: `get_orders(customer_id: string, limit?: integer = 10) -> {…}`."""
        fields = sorted(fields_of(self.input_type), key=lambda one: not one.required)
        parts = [
            f"{key(one.name)}{'' if one.required else '?'}: {compact(one.type)}"
            + (f" = {literal(one.default)}" if one.has_default and one.default is not None else "")
            for one in fields
        ]
        line = f"{self.tool_name}({', '.join(parts)})"
        if self.output_type is not None:
            line += f" -> {compact(self.output_type)}"
        return clean(line, _LONGEST_TEXT)


def _parameter_lines(parameters: Sequence[Parameter], depth: int) -> Iterator[str]:
    for one in parameters:
        says = (
            [clean(" ".join(one.description[:_LONGEST_TEXT].split()), _LONGEST_LINE).rstrip(".")]
            if one.description
            else []
        )
        if one.has_default and one.default is not None:
            says.append(f"Default: {plain(one.default)}")
        if one.enum:
            shown = [plain(value) for value in one.enum[:_MOST_VALUES]]
            says.append(f"Values: {', '.join(shown if len(one.enum) <= _MOST_VALUES else [*shown, '…'])}")
        needed = "required" if one.required else "optional"
        line = f"{'  ' * depth}- {key(one.name)} ({one.type}, {needed})"
        yield line + (f": {'. '.join(says)}" if says else "")
        if depth < _DEEPEST_SHOWN:
            yield from _parameter_lines(one.parameters, depth + 1)


def parse_schema(tool: Tool, *, stale: bool = False) -> ToolSchema:
    """Parse a tool's definition."""
    read = read_type(tool.input_schema)
    fields = fields_of(read)
    return ToolSchema(
        tool_name=tool.name,
        description=tool.description,
        parameters=[_parameter(one) for one in fields],
        required_params=[*(one.name for one in fields if one.required), *read.needed],
        raw_schema=tool.input_schema,
        output_schema=tool.output_schema,
        server=tool.server,
        stale=stale,
        input_type=read,
        output_type=_returned(tool.output_schema),
    )


def _parameter(one: Field) -> Parameter:
    kinds = one.type.members if one.type.kind == "union" else (one.type,)
    values = [value for kind in kinds if kind.kind == "values" for value in kind.values]
    inner = next((kind for kind in kinds if kind.kind in {"object", "array"}), None)
    while inner is not None and inner.kind == "array":
        inner = inner.items
    return Parameter(
        name=one.name,
        type=type_name(one.type),
        description=one.description,
        required=one.required,
        default=one.default,
        enum=values or None,
        has_default=one.has_default,
        nullable=any(kind.kind == "null" or None in kind.values for kind in kinds),
        parameters=tuple(_parameter(part) for part in inner.fields) if inner is not None else (),
    )


def is_wrapped(schema: Any) -> bool:
    """Say whether a declared output is a mere wrapper: its root has the single property `result`.

    The root may stand behind a reference, or be all that an `allOf` is of; so some libraries write it.
    """
    part = schema
    references = References(schema)
    for _ in range(_MOST_STEPS):
        if not isinstance(part, dict):
            return False
        if "properties" in part:
            return isinstance(part["properties"], dict) and list(part["properties"]) == ["result"]
        whole = part.get("allOf")
        if "$ref" in part:
            part = references.find(part["$ref"])
        elif isinstance(whole, list) and len(whole) == 1:
            part = whole[0]
        else:
            return False
    return False


def says_something(kind: Type) -> bool:
    """Say whether a type tells more than that there is a value: a field, an item, a plain kind."""
    if kind.kind in {"any", "cut", "again"}:
        return False
    if kind.kind == "object":
        return bool(kind.fields) or (kind.extra is not None and says_something(kind.extra))
    if kind.kind == "array":
        return kind.items is not None and says_something(kind.items)
    return True


def _returned(schema: Mapping[str, Any] | None) -> Type | None:
    if not schema:
        return None
    read = read_type(schema)
    if is_wrapped(schema) and [one.name for one in read.fields] == ["result"]:
        read = read.fields[0].type
    return read if says_something(read) else None
