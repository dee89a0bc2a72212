"""The stub of a tool, and modules of stubs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from halflap.schema.stub.annotations import (
    AnnotationWriter,
    Record,
    Source,
    TitleNames,
    constant,
    is_name,
    name,
)
from halflap.schema.types import ANY, Field, Type, extra_of, fields_of, is_cut, object_types

if TYPE_CHECKING:
    from halflap.schema.tool import ToolSchema

_TYPING = ("Any", "Literal", "NotRequired", "TypeAlias", "TypedDict", "overload")
_BUILTINS = """
class ToolError(Exception):
    ...

def show(value: object, /) -> None:
    ...

@overload
async def call_tool(name: str, arguments: Any = ..., /, **others: Any) -> Any:
    ...

@overload
async def call_tool(*, name: str, **others: Any) -> Any:
    ...
"""
"""What every program has besides its tools."""

TRACED_TYPES = """
from typing import TypeVar
HalflapItem = TypeVar("HalflapItem")
class HalflapText(str): ...
class HalflapInteger(int): ...
class HalflapNumber(float): ...
class HalflapList(list[HalflapItem]): ...
class HalflapMark: ...
class HalflapObject(TypedDict):
    halflap_declared: HalflapMark
class HalflapMaybe:
    def __getattr__(self, name: str) -> HalflapMaybe: ...
    def __getitem__(self, key: Any) -> HalflapMaybe: ...
    def __iter__(self) -> HalflapMaybe: ...
    def __next__(self) -> HalflapMaybe: ...
    def __call__(self, *args: Any, **others: Any) -> HalflapMaybe: ...
"""
"""The types of traced stubs: every declared object is a `HalflapObject`; an observed value may be something else."""


@dataclass(frozen=True, slots=True)
class Stub:
    """One tool as an async Python function."""

    tool: str
    text: str
    records: tuple[Record, ...]
    """The classes of objects, named with an underscore and the tool's name."""
    closed: bool
    """It takes only the arguments that it names."""


def make_stub(
    schema: ToolSchema,
    *,
    returns: Type | None = None,
    source: Source = "declared",
    traced: bool = False,
) -> Stub:
    """Write a tool as an async function with typed arguments, and a typed result where the type is known.

    `returns` replaces the declared result type; `source` is how certain either is. With `traced`, the types of
    declared results differ from those of a program's own values (see `TRACED_TYPES`).
    """
    writer = AnnotationWriter(schema.tool_name, traced=traced)
    result_type = returns or schema.output_type
    # The result comes first, so that its classes get the better names.
    result = name("Any") if result_type is None else writer.annotation(result_type, "", source)
    function = _function(schema, writer, result)
    return Stub(
        schema.tool_name,
        _unparse([*writer.nodes, function]),
        tuple(writer.records.values()),
        closed=other_arguments(schema) is None,
    )


def write_stubs(stubs: Iterable[Stub]) -> str:
    """Write a module of stubs, which a checker uses as the builtins of a program."""
    typing = ast.ImportFrom(module="typing", names=[ast.alias(one) for one in _TYPING], level=0)
    own = [typing, *ast.parse(_BUILTINS).body]
    return "\n".join([_unparse(own), *(one.text for one in stubs)])


def write_types(title: str, kind: Type) -> str:
    """Write a type as Python source that a server's author can paste, under a name made from the title.

    Objects become `TypedDict` classes; anything else gets the title as an alias.
    """
    names = TitleNames(title)
    writer = AnnotationWriter(title, names)
    written = writer.annotation(kind, "", "declared")
    nodes = list(writer.nodes)
    if not (isinstance(written, ast.Name) and written.id in writer.records):
        alias = ast.AnnAssign(
            target=ast.Name(names.make("")), annotation=name("TypeAlias"), value=written, simple=1
        )
        nodes.append(alias)
    text = _unparse(nodes)
    used = [one for one in _TYPING if re.search(rf"\b{one}\b", text)]
    typing = ast.ImportFrom(module="typing", names=[ast.alias(one) for one in used], level=0)
    return "\n\n".join([_unparse([typing]), text]) if used else text


def _function(schema: ToolSchema, writer: AnnotationWriter, result: ast.expr) -> ast.stmt:
    fields = sorted(
        (one for one in fields_of(object_types(schema.input_type)) if is_name(one.name)),
        key=lambda one: one.name != schema.positional,
    )
    unnamed = int(bool(fields) and fields[0].name == schema.positional)
    arguments = [ast.arg(one.name, writer.annotation(one.type, one.name, "input")) for one in fields]
    defaults = [None if one.required else constant(one.default if one.has_default else ...) for one in fields]
    others = other_arguments(schema)
    return ast.AsyncFunctionDef(
        name=schema.tool_name,
        args=ast.arguments(
            posonlyargs=[],
            args=arguments[:unnamed],
            kwonlyargs=arguments[unnamed:],
            kw_defaults=defaults[unnamed:],
            kwarg=None if others is None else ast.arg(_free(fields), writer.annotation(others, "", "input")),
            defaults=[one for one in defaults[:unnamed] if one is not None],
        ),
        body=[ast.Expr(ast.Constant(...))],
        decorator_list=[],
        returns=result,
    )


def other_arguments(schema: ToolSchema) -> Type | None:
    """Return the type of arguments with other names, or None where there can be none.

    A schema that doesn't mention further keys allows them; but an unknown argument of a tool that names its parameters
    is a mistake. Parameters that Python cannot name are passed as others.
    """
    objects = object_types(schema.input_type)
    fields = fields_of(objects)
    has_unnameable = any(not is_name(one.name) for one in fields)
    extra = extra_of(objects)
    if extra is not None:
        return ANY if has_unnameable else extra
    is_open = schema.raw_schema.get("additionalProperties") is True
    is_unread = is_cut(schema.input_type) or schema.input_type.kind == "any"
    is_bare = not fields and not all(one.closed for one in objects)
    return ANY if is_open or is_unread or is_bare or has_unnameable else None


def _free(fields: Iterable[Field]) -> str:
    taken = {one.name for one in fields}
    made = "others"
    while made in taken:
        made += "_"
    return made


def _unparse(nodes: list[ast.stmt]) -> str:
    return ast.unparse(ast.fix_missing_locations(ast.Module(body=nodes, type_ignores=[])))
