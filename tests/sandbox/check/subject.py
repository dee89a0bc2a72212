"""A program that mistakes are put into, with what its tools declare."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from halflap.schema import ToolSchema, Type, parse_schema
from sandbox.check.origins import Origins
from sandbox.check.source import Edit, Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from halflap.core.values import Tool
    from sandbox.check.world import Program

__all__ = ["Mistake", "Subject"]


@dataclass(frozen=True)
class Mistake:
    """An edit that makes a program wrong."""

    edit: Edit
    change: str
    tool: str | None
    declared: bool = True
    traced: bool = True


@dataclass(frozen=True)
class Subject:
    """One program over known tools."""

    program: Program
    tools: Mapping[str, Tool]

    @cached_property
    def source(self) -> Source:
        """The program's text and tree."""
        return Source(self.program.code)

    @cached_property
    def schemas(self) -> Mapping[str, ToolSchema]:
        """The schemas of the tools that it names."""
        return {
            name: parse_schema(self.tools[name]) for name in sorted(self.program.tools & self.tools.keys())
        }

    @cached_property
    def origins(self) -> Origins:
        """Where its values come from."""
        return Origins(self.source, {name: schema.output_type for name, schema in self.schemas.items()})

    @cached_property
    def returned_keys(self) -> Mapping[str, str]:
        """The keys in the declared results of its tools, each with a tool that has it."""
        found: dict[str, str] = {}
        for name, schema in self.schemas.items():
            if schema.output_type is not None:
                for key in _keys(schema.output_type):
                    found.setdefault(key, name)
        return found

    @cached_property
    def has_undeclared(self) -> bool:
        """Whether it names a tool that may return anything."""
        return any(schema.output_type is None for schema in self.schemas.values())

    @cached_property
    def written_keys(self) -> frozenset[str]:
        """The keys that it writes itself."""
        found: set[object] = set()
        for node in ast.walk(self.source.tree):
            match node:
                case ast.Dict(keys=keys):
                    found |= {key.value for key in keys if isinstance(key, ast.Constant)}
                case ast.Subscript(slice=ast.Constant(value=key), ctx=ast.Store()):
                    found.add(key)
                case ast.Call(func=ast.Attribute(attr="setdefault"), args=[ast.Constant(value=key), *_]):
                    found.add(key)
                case ast.Call(func=function, keywords=keywords) if not self.is_tool(function):
                    found |= {keyword.arg for keyword in keywords}
        return frozenset(key for key in found if isinstance(key, str))

    @cached_property
    def words(self) -> frozenset[str]:
        """All names and plain strings in it, and all keys of its tools: what a new name must not be."""
        found: set[str] = {*self.returned_keys, *self.program.tools, *self.tools}
        for node in ast.walk(self.source.tree):
            match node:
                case ast.Name(id=name) | ast.arg(arg=name) | ast.keyword(arg=str(name)):
                    found.add(name)
                case ast.Constant(value=str(text)):
                    found.add(text)
        for schema in self.schemas.values():
            found |= {parameter.name for parameter in schema.parameters}
        return frozenset(found)

    def is_tool(self, node: ast.expr) -> bool:
        """Say whether an expression is a tool, by its name."""
        return isinstance(node, ast.Name) and node.id in self.schemas

    def calls(self) -> Iterator[tuple[ast.Call, str]]:
        """Give the calls of tools by their names."""
        for node in self.source.walk():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and self.is_tool(node.func):
                yield node, node.func.id


def _keys(kind: Type) -> Iterator[str]:
    for field in kind.fields:
        yield field.name
        yield from _keys(field.type)
    for inner in (kind.items, kind.extra, *kind.members):
        if inner is not None:
            yield from _keys(inner)
