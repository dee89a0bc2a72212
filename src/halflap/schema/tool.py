"""A tool's parsed schema: its parameters, what it returns, and both as text for a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from halflap.core.text import clean
from halflap.schema.read import read_type
from halflap.schema.result import result_type
from halflap.schema.text import compact_to, key, literal, plain, type_name, within
from halflap.schema.types import (
    ANY,
    Field,
    Type,
    extra_of,
    fields_of,
    is_cut,
    object_types,
    objects_in,
    union,
)
from halflap.schema.validate import argument_problems, compile_schema

if TYPE_CHECKING:
    from halflap.core.errors import ArgumentProblem
    from halflap.core.values import Tool

_MAX_TEXT = 4_000
_MAX_LINE = 300
_MAX_DEPTH = 6
_MAX_LINES = 500
"""Lines for parameters. Doubling it shows more of very large tools, and fills more of a model's context."""
_MAX_VALUES = 50
_ANY_KEY = "[key]"


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
    parameters: tuple[Parameter, ...] = ()
    """The keys of an object, or of all objects that it or the items of an array may be."""
    others: Parameter | None = None
    """The values of any other key, if the schema describes them; its name is `[key]`."""
    item_enum: list[Any] | None = None
    """The values that the items of an array may have."""


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
    """It is past its time to live, and being fetched again."""
    input_type: Type = field(default=ANY, repr=False)
    output_type: Type | None = field(default=None, repr=False)
    """The declared type of the value that a program gets; None if the declaration says nothing about it."""
    learned_schema: Mapping[str, Any] | None = None
    """What was learned about the value that a program gets. It never replaces what is declared."""
    learned_type: Type | None = field(default=None, repr=False)
    """The same as a type; None if too little was learned."""

    @property
    def returns(self) -> Type | None:
        """The type of the value that a program gets: as declared, else as learned."""
        return self.output_type or self.learned_type

    @property
    def positional(self) -> str | None:
        """The parameter for a single unnamed argument: the only one, or the only required one."""
        names = self.required_params or [one.name for one in self.parameters]
        return names[0] if len(names) == 1 else None

    def validate_arguments(self, arguments: Mapping[str, Any]) -> list[ArgumentProblem]:
        """Return all problems of these arguments. No defaults are filled in, and nothing is converted."""
        return argument_problems(arguments, compile_schema(self.raw_schema))

    def format_for_llm(self) -> str:
        """Write the tool for a model, with one line for each parameter."""
        # Further lines are indented, so that a description cannot forge what follows it.
        described = clean(self.description, _MAX_TEXT).strip().replace("\n", "\n  ")
        lines = [f"Tool: {self.tool_name}", f"Description: {described}", ""]
        parameters = self.parameter_lines()
        return "\n".join([*lines, "Parameters:", *parameters] if parameters else [*lines, "Parameters: none"])

    def parameter_lines(self) -> list[str]:
        """Write a line for each parameter, nested ones indented. If there are too many, the deepest are left out."""
        others = _others(object_types(self.input_type))
        shown = [*self.parameters, *([] if others is None else [others])]
        if not shown and is_cut(self.input_type):
            return ["- … (too deep or too large to be shown)"]
        for depth in range(_MAX_DEPTH, -1, -1):
            lines = list(islice(_parameter_lines(shown, depth), _MAX_LINES + 1))
            if len(lines) <= _MAX_LINES:
                return lines
        return [*lines[:_MAX_LINES], "- … (cut)"]

    def format_compact(self) -> str:
        """Write the tool in one line: `get_orders(customer_id: string, limit?: integer = 10) -> {…}`."""
        return clean(within(_MAX_TEXT, self._signature), _MAX_TEXT)

    def _signature(self, depth: int) -> str:
        objects = object_types(self.input_type)
        fields = sorted(fields_of(objects), key=lambda one: not one.required)
        parts = [
            f"{key(one.name)}{'' if one.required else '?'}: {compact_to(one.type, depth)}"
            + (f" = {literal(one.default)}" if one.default is not None else "")
            for one in fields
        ]
        if any(one.partial for one in objects) or (not parts and is_cut(self.input_type)):
            parts.append("…")
        if _others(objects) is not None:
            parts.append(f"**{{[key]: {compact_to(extra_of(objects) or ANY, depth)}}}")
        returns = "" if self.returns is None else f" -> {compact_to(self.returns, depth + 1)}"
        return f"{self.tool_name}({', '.join(parts)}){returns}"


def _parameter_lines(parameters: Sequence[Parameter], depth: int, indent: str = "") -> Iterator[str]:
    for one in parameters:
        facts = []
        if one.default is not None:
            facts.append(f"Default: {plain(one.default)}")
        values = one.enum or one.item_enum
        if values:
            shown = [plain(value) for value in values[:_MAX_VALUES]]
            facts.append(f"Values: {', '.join(shown if len(values) <= _MAX_VALUES else [*shown, '…'])}")
        condition = "required" if one.required else "optional"
        name = one.name if one.name == _ANY_KEY else key(one.name)
        described = clean(" ".join(one.description[:_MAX_TEXT].split()), _MAX_LINE).removesuffix(".")
        text = ". ".join(part for part in (described, *facts) if part)
        yield f"{indent}- {name} ({one.type}, {condition})" + (f": {text}" if text else "")
        if depth:
            inner = [*one.parameters, *([one.others] if one.others else [])]
            yield from _parameter_lines(inner, depth - 1, f"{indent}  ")


def parse_schema(tool: Tool, *, stale: bool = False) -> ToolSchema:
    """Parse a tool's definition."""
    read = read_type(tool.input_schema)
    fields = fields_of(object_types(read))
    return ToolSchema(
        tool_name=tool.name,
        description=tool.description,
        parameters=[_parameter(one) for one in fields],
        required_params=[one.name for one in fields if one.required],
        raw_schema=tool.input_schema,
        output_schema=tool.output_schema,
        server=tool.server,
        stale=stale,
        input_type=read,
        output_type=result_type(tool.output_schema),
    )


def _parameter(one: Field) -> Parameter:
    kinds = one.type.members or (one.type,)
    objects = list(objects_in(one.type))
    items = union(kind.items for kind in kinds if kind.items is not None)
    return Parameter(
        name=one.name,
        type=type_name(one.type),
        description=one.description,
        required=one.required,
        default=one.default,
        enum=_values(kinds),
        has_default=one.has_default,
        parameters=tuple(map(_parameter, fields_of(objects))) if objects else (),
        others=_others(objects),
        item_enum=_values(items.members or (items,)),
    )


def _values(kinds: Sequence[Type]) -> list[Any] | None:
    return [value for kind in kinds if kind.kind == "values" for value in kind.values] or None


def _others(objects: Sequence[Type]) -> Parameter | None:
    """Return the values of any other key as a parameter, unless they may be anything."""
    extra = extra_of(objects)
    if extra is None or (extra.kind == "any" and fields_of(objects)):
        return None
    return _parameter(Field(_ANY_KEY, extra, required=False, description=extra.description))
