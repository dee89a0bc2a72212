"""A tool's schema, parsed: its parameters, what it returns, and ways to say so in text."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from halflap.core.text import clean
from halflap.schema.arguments import argument_problems
from halflap.schema.fields import choices_of, extra_of, fields_of, is_cut, objects_in
from halflap.schema.join import union
from halflap.schema.kinds import PLAIN, Field, Type
from halflap.schema.returned import returned
from halflap.schema.types import read_type
from halflap.schema.validate import compile_schema
from halflap.schema.write import compact, key, literal, plain, type_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from halflap.core.errors import ArgumentProblem
    from halflap.core.values import Tool

__all__ = ["Parameter", "ToolSchema", "parse_schema"]

_LONGEST_TEXT = 4_000
_LONGEST_LINE = 300
_DEEPEST_SHOWN = 6
_MOST_LINES = 500
_MOST_VALUES = 50
_ANY_KEY = "[key]"
_STOPS = (".", "?", "!", "…", ":", ";", ",")


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
    """The keys of an object, or of the objects in an array; of several kinds of object, the keys of all."""
    when: str = ""
    """On what it depends whether it is required, or may be there: `required if type is "image"`."""
    others: Parameter | None = None
    """What any other key may have, where that is said; its name is `[key]`."""


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
    input_type: Type | None = field(default=None, repr=False)
    """None where there is no more to know than the parameters say."""
    output_type: Type | None = field(default=None, repr=False)
    """The type of the value that a program gets; None where nothing is declared that says something."""
    learned_schema: Mapping[str, Any] | None = None
    """What was learned of the value that a program gets; never in place of what is declared."""
    learned_type: Type | None = field(default=None, repr=False)
    """The same as a type; None where nothing was learned, or too little."""

    @property
    def returns(self) -> Type | None:
        """What a program gets as far as anything is known: as declared, else as learned."""
        return self.output_type or self.learned_type

    def validate_arguments(self, arguments: Mapping[str, Any]) -> list[ArgumentProblem]:
        """Say everything that is wrong with these arguments; nothing is filled in or converted."""
        return argument_problems(arguments, compile_schema(self.raw_schema))

    def format_for_llm(self) -> str:
        """Write it out for a model: one line for each parameter."""
        # Further lines are indented: a description must not look like what follows it.
        described = clean(self.description, _LONGEST_TEXT).strip().replace("\n", "\n  ")
        lines = [f"Tool: {self.tool_name}", f"Description: {described}", ""]
        taken = self.parameter_lines()
        return "\n".join([*lines, "Parameters:", *taken] if taken else [*lines, "Parameters: none"])

    def parameter_lines(self) -> list[str]:
        """Write one line for each parameter, those within another indented under it."""
        taken = self._taken()
        others = _others(choices_of(taken))
        shown = [*self.parameters, *([] if others is None else [others])]
        lines = list(islice(_parameter_lines(shown, 0), _MOST_LINES + 1))
        if not lines and is_cut(taken):
            return ["- … (too deep or too large to be shown)"]
        return lines if len(lines) <= _MOST_LINES else [*lines[:_MOST_LINES], "- … (cut)"]

    def format_compact(self) -> str:
        """Write it in one line: `get_orders(customer_id: string, limit?: integer = 10) -> {…}`."""
        taken = self._taken()
        objects = choices_of(taken)
        fields = sorted(fields_of(objects), key=lambda one: not one.required)
        parts = [
            f"{key(one.name)}{'' if one.required else '?'}: {compact(one.type)}"
            + (f" = {literal(one.default)}" if one.default is not None else "")
            for one in fields
        ]
        others = _others(objects)
        if others is not None:
            parts.append(f"**{{[key]: {compact(extra_of(objects) or Type('any'))}}}")
        if not parts and is_cut(taken):
            parts = ["…"]
        line = f"{self.tool_name}({', '.join(parts)})"
        if self.returns is not None:
            line += f" -> {compact(self.returns)}"
        return clean(line, _LONGEST_TEXT)

    def _taken(self) -> Type:
        if self.input_type is not None:
            return self.input_type
        return Type("object", fields=tuple(map(_field, self.parameters)))


def _parameter_lines(parameters: Sequence[Parameter], depth: int) -> Iterator[str]:
    for one in parameters:
        says = []
        if one.default is not None:
            says.append(f"Default: {plain(one.default)}")
        if one.enum:
            shown = [plain(value) for value in one.enum[:_MOST_VALUES]]
            says.append(f"Values: {', '.join(shown if len(one.enum) <= _MOST_VALUES else [*shown, '…'])}")
        needed = one.when or ("required" if one.required else "optional")
        name = one.name if one.name == _ANY_KEY else key(one.name)
        line = f"{'  ' * depth}- {name} ({one.type}, {needed})"
        described = clean(" ".join(one.description[:_LONGEST_TEXT].split()), _LONGEST_LINE)
        text = _sentences(described, ". ".join(says))
        yield line + (f": {text}" if text else "")
        if depth < _DEEPEST_SHOWN:
            yield from _parameter_lines([*one.parameters, *([one.others] if one.others else [])], depth + 1)


def _sentences(described: str, more: str) -> str:
    """Put a description before what is said of values: with one stop between them, and none at the end."""
    if described.endswith(".") and not described.endswith(".."):
        described = described[:-1]
    if not described or not more:
        return described or more
    return f"{described}{' ' if described.endswith(_STOPS) else '. '}{more}"


def parse_schema(tool: Tool, *, stale: bool = False) -> ToolSchema:
    """Parse a tool's definition."""
    read = read_type(tool.input_schema)
    fields = fields_of(choices_of(read))
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
        output_type=returned(tool.output_schema),
    )


def _parameter(one: Field) -> Parameter:
    kinds = one.type.members if one.type.kind == "union" else (one.type,)
    values = [value for kind in kinds if kind.kind == "values" for value in kind.values]
    objects = list(objects_in(one.type))
    return Parameter(
        name=one.name,
        type=type_name(one.type),
        description=one.description,
        required=one.required,
        default=one.default,
        enum=values or None,
        has_default=one.has_default,
        nullable=any(kind.kind == "null" or None in kind.values for kind in kinds),
        parameters=tuple(map(_parameter, fields_of(objects))) if objects else (),
        when=one.when,
        others=_others(objects),
    )


def _others(objects: Sequence[Type]) -> Parameter | None:
    """Give what any other key may have, as if it were a parameter; that it may be anything is no news."""
    extra = extra_of(objects)
    if extra is None or (extra.kind == "any" and fields_of(objects)):
        return None
    return _parameter(Field(_ANY_KEY, extra, required=False, description=extra.description))


def _field(one: Parameter) -> Field:
    """Make of a parameter what its schema would be read as."""
    kind = Type("values", values=tuple(one.enum)) if one.enum else _named(one.type, one.parameters)
    return Field(
        one.name, kind, one.required, one.description, one.default, one.default is not None, one.when
    )


def _named(word: str, parts: Sequence[Parameter]) -> Type:
    if " | " in word:
        return union(_named(one, parts) for one in word.split(" | "))
    if word.startswith("array of "):
        return Type("array", items=_named(word.removeprefix("array of "), parts))
    if word == "object":
        return Type("object", fields=tuple(map(_field, parts)))
    return Type(PLAIN.get(word, "any"))
