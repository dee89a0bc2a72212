"""The stub of a tool, and a module of stubs."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from halflap.core.text import clean
from halflap.schema.fields import choices_of, extra_of, fields_of, is_cut
from halflap.schema.kinds import ANY
from halflap.schema.stub.names import Titles, is_name
from halflap.schema.stub.records import Record, Writer, constant, name, text
from halflap.schema.write import key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from halflap.schema.kinds import Field, Type
    from halflap.schema.stub.records import Source
    from halflap.schema.tool import ToolSchema

__all__ = ["Stub", "make_stub", "write_stubs", "write_types"]

_LONGEST_TEXT = 4_000
_LONGEST_LINE = 300
_TYPING = ("Any", "Literal", "NotRequired", "TypeAlias", "TypedDict", "overload")


@dataclass(frozen=True, slots=True)
class Stub:
    """What Python can know of one tool."""

    tool: str
    text: str
    returns: str
    """The type of its value, as it stands there."""
    records: tuple[Record, ...]
    """The classes of objects, which begin with an underscore and the tool's name."""
    closed: bool
    """It takes no other arguments than those that it names."""


def make_stub(
    schema: ToolSchema,
    *,
    returns: Type | None = None,
    source: Source = "declared",
    described: bool = False,
) -> Stub:
    """Write a tool as an async function with typed arguments, and a typed result where one is known.

    `returns` takes the place of what the tool declares to return; `source` says how sure either is.
    """
    writer = Writer(schema.tool_name)
    given = returns or schema.output_type
    # The result first: its records have the better names.
    result = name("Any") if given is None else writer.annotation(given, "", source)
    function = _function(schema, writer, result, described=described)
    return Stub(
        schema.tool_name,
        _unparse([*writer.nodes, function]),
        ast.unparse(result),
        tuple(writer.records),
        closed=_others(schema) is None,
    )


def write_stubs(stubs: Iterable[Stub]) -> str:
    """Put stubs together to a module: what a checker takes for the builtins of a program."""
    typing = ast.ImportFrom(module="typing", names=[ast.alias(one) for one in _TYPING], level=0)
    listed = list(stubs)
    own = [typing, *_PROGRAMS_OWN, *_call_tool(listed)]
    return "\n".join([_unparse(own), *(one.text for one in listed)])


def write_types(title: str, kind: Type) -> str:
    """Write a type as Python's, under a name made of the title: what an author can paste into a server.

    Objects become classes (`TypedDict`); anything else gets the title as another name.
    """
    names = Titles(title)
    writer = Writer(title, names)
    written = writer.annotation(kind, "", "declared")
    nodes = list(writer.nodes)
    if not (isinstance(written, ast.Name) and any(one.name == written.id for one in writer.records)):
        alias = ast.AnnAssign(
            target=ast.Name(names.make("")), annotation=name("TypeAlias"), value=written, simple=1
        )
        nodes.append(alias)
    text = _unparse(nodes)
    used = [one for one in _TYPING if re.search(rf"\b{one}\b", text)]
    typing = ast.ImportFrom(module="typing", names=[ast.alias(one) for one in used], level=0)
    return "\n\n".join([_unparse([typing]), text]) if used else text


def _function(schema: ToolSchema, writer: Writer, result: ast.expr, *, described: bool) -> ast.stmt:
    fields = [one for one in _parameters(schema) if is_name(one.name)]
    body: list[ast.stmt] = [ast.Expr(ast.Constant(...))]
    if described and (said := _said(schema)):
        body = [ast.Expr(text(said))]
    others = _others(schema)
    return ast.AsyncFunctionDef(
        name=schema.tool_name,
        args=ast.arguments(
            posonlyargs=[],
            args=[],
            kwonlyargs=[ast.arg(one.name, writer.annotation(one.type, one.name, "input")) for one in fields],
            kw_defaults=[
                None if one.required else constant(one.default if one.has_default else ...) for one in fields
            ],
            kwarg=None if others is None else ast.arg(_free(fields), writer.annotation(others, "", "input")),
            defaults=[],
        ),
        body=body,
        decorator_list=[],
        returns=result,
    )


def _parameters(schema: ToolSchema) -> tuple[Field, ...]:
    return () if schema.input_type is None else fields_of(choices_of(schema.input_type))


def _others(schema: ToolSchema) -> Type | None:
    """Give what arguments of other names may be, where there may be others that Python can't name or nobody has.

    A schema that says nothing of others allows them; but who passes one to a tool that has named its parameters
    has mistaken the name.
    """
    taken = schema.input_type
    if taken is None:
        return ANY
    objects = choices_of(taken)
    fields = fields_of(objects)
    said = extra_of(objects)
    if said is not None:
        return ANY if any(not is_name(one.name) for one in fields) else said
    is_open = schema.raw_schema.get("additionalProperties") is True
    is_unread = is_cut(taken) or taken.kind == "any" or any(one.name == "…" for one in fields)
    is_bare = not fields and not all(one.closed for one in objects)
    if is_open or is_unread or is_bare or any(not is_name(one.name) for one in fields):
        return ANY
    return None


def _free(fields: Iterable[Field]) -> str:
    taken = {one.name for one in fields}
    made = "others"
    while made in taken:
        made += "_"
    return made


def _said(schema: ToolSchema) -> str:
    lines = [clean(schema.description, _LONGEST_TEXT).strip()]
    lines += [
        f"{key(one.name)}: {' '.join(clean(one.description, _LONGEST_LINE).split())}"
        for one in _parameters(schema)
        if one.description
    ]
    return "\n\n".join(part for part in ("\n".join(lines[:1]), "\n".join(lines[1:])) if part)


def _unparse(nodes: list[ast.stmt]) -> str:
    return ast.unparse(ast.fix_missing_locations(ast.Module(body=nodes, type_ignores=[])))


def _own() -> list[ast.stmt]:
    """Write what every program finds beside its tools."""
    dots: list[ast.stmt] = [ast.Expr(ast.Constant(...))]
    return [
        ast.ClassDef(name="ToolError", bases=[name("Exception")], keywords=[], body=dots, decorator_list=[]),
        ast.FunctionDef(
            name="show",
            args=_taking("value", name("object")),
            body=dots,
            decorator_list=[],
            returns=constant(None),
        ),
    ]


def _call_tool(stubs: list[Stub]) -> list[ast.stmt]:
    """Write the function that calls a tool by a text: what that gives depends on the text."""
    known = [(_of_text(one.tool), ast.parse(one.returns, mode="eval").body) for one in stubs]
    several = [name("overload")] if known else []
    return [
        ast.AsyncFunctionDef(
            name="call_tool",
            args=_taking("name", kind, others=name("Any")),
            body=[ast.Expr(ast.Constant(...))],
            decorator_list=[*several],
            returns=result,
        )
        for kind, result in [*known, (name("str"), name("Any"))]
    ]


def _of_text(tool: str) -> ast.expr:
    return ast.Subscript(value=name("Literal"), slice=text(tool))


def _taking(first: str, kind: ast.expr, others: ast.expr | None = None) -> ast.arguments:
    return ast.arguments(
        posonlyargs=[ast.arg(first, kind)],
        args=[],
        kwonlyargs=[],
        kw_defaults=[],
        kwarg=None if others is None else ast.arg("arguments", others),
        defaults=[],
    )


_PROGRAMS_OWN = _own()
