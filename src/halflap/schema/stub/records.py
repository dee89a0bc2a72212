"""Write types as Python's: objects as records (`TypedDict`), the rest as annotations."""

from __future__ import annotations

import ast
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from halflap.schema.stub.names import Names, is_name
from halflap.schema.types import LEFT_OUT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halflap.schema.kinds import Field, Type

__all__ = ["Record", "Source", "Writer", "constant", "name", "text"]

Source = Literal["input", "declared", "doubtful"]
"""What a record is known from: what a tool takes, what it declares to give, or what it is only thought to give."""

_PLAIN = {"string": "str", "number": "float", "integer": "int", "boolean": "bool", "null": "None"}
_MOST_VALUES = 200
_LONGEST_VALUE = 1_000
_LARGEST = 2**63
_DEEPEST = 30
_CUT = "…"


@dataclass(frozen=True, slots=True)
class Record:
    """An object as a class of the stubs: of which tool it is, where it stands there, and what keys it has."""

    name: str
    tool: str
    path: str
    """Where it stands in the value: empty for the value itself, `orders[]` for the items of a list in it."""
    source: Source
    keys: tuple[str, ...]
    closed: bool
    """It has no other keys."""
    open: bool
    """It is said to have other keys; what they are called depends on the data."""


class Writer:
    """Writes the types of one tool, and collects the records that they need."""

    def __init__(self, tool: str, names: Names | None = None) -> None:
        self._tool = tool
        self._names = names or Names(tool)
        self._written: dict[tuple[Source, Type], str] = {}
        self._inside: dict[int, str] = {}
        """The names of the types that are being written and contain themselves, by mark."""
        self.nodes: list[ast.stmt] = []
        self.records: list[Record] = []

    def annotation(self, kind: Type, path: str, source: Source, depth: int = 0) -> ast.expr:
        """Write a type as an annotation."""
        if depth > _DEEPEST:
            return name("Any")
        if kind.kind in _PLAIN:
            return name(_PLAIN[kind.kind]) if kind.kind != "null" else constant(None)
        if kind.kind == "again":
            return self._again(kind)
        if kind.mark and kind.kind in {"array", "union"}:
            return self._alias(kind, path, source, depth)
        return self._composed(kind, path, source, depth)

    def _composed(self, kind: Type, path: str, source: Source, depth: int) -> ast.expr:
        if kind.kind == "values":
            return _values(kind.values)
        if kind.kind == "array":
            items = (
                name("Any")
                if kind.items is None
                else self.annotation(kind.items, f"{path}[]", source, depth + 1)
            )
            listed = _of("list", items)
            return listed if source != "input" else _either([listed, _of("tuple", items, constant(...))])
        if kind.kind == "union":
            return _either([self.annotation(one, path, source, depth + 1) for one in kind.members])
        if kind.kind == "object":
            return self._object(kind, path, source, depth)
        return name("Any")

    def _object(self, kind: Type, path: str, source: Source, depth: int) -> ast.expr:
        if not kind.fields and not kind.needed:
            inner = (
                name("Any")
                if kind.extra is None
                else self.annotation(kind.extra, f"{path}{{}}", source, depth + 1)
            )
            return _of("dict", name("str"), inner)
        if (source, kind) not in self._written:
            made = self._names.make(f"{'takes' if source == 'input' else 'gives'}_{path}")
            self._written[source, kind] = made
            self._record(kind, made, path, source, depth)
        own = name(self._written[source, kind])
        # What a program puts together is a dict like any other; its keys are a help, not a duty.
        return own if source != "input" else _either([own, _of("dict", name("str"), name("Any"))])

    def _record(self, kind: Type, made: str, path: str, source: Source, depth: int) -> None:
        if kind.mark:
            self._inside[kind.mark] = made
        fields = {
            one.name: self._field(one, f"{path}.{one.name}" if path else one.name, source, depth)
            for one in kind.fields
            if one.name != _CUT
        } | {key: name("Any") for key in kind.needed}
        if kind.mark:
            del self._inside[kind.mark]
        self.nodes.append(_typed_dict(made, fields))
        is_cut = any(one.name == _CUT for one in kind.fields)
        self.records.append(
            Record(
                made,
                self._tool,
                path,
                source,
                tuple(fields),
                closed=kind.closed and not is_cut,
                open=kind.extra is not None or is_cut,
            )
        )

    def _field(self, one: Field, path: str, source: Source, depth: int) -> ast.expr:
        annotation = self.annotation(one.type, path, source, depth + 1)
        return annotation if one.required else _of("NotRequired", annotation)

    def _alias(self, kind: Type, path: str, source: Source, depth: int) -> ast.expr:
        """Name a list or a choice that contains itself."""
        made = self._names.make(f"{'takes' if source == 'input' else 'gives'}_{path}")
        self._inside[kind.mark] = made
        written = self._composed(kind, path, source, depth)
        del self._inside[kind.mark]
        self.nodes.append(
            ast.AnnAssign(
                target=ast.Name(made), annotation=name("TypeAlias"), value=_quoted(written), simple=1
            )
        )
        return name(made)

    def _again(self, kind: Type) -> ast.expr:
        if kind.mark in self._inside:
            return name(self._inside[kind.mark])
        return {"object": _of("dict", name("str"), name("Any")), "array": _of("list", name("Any"))}.get(
            kind.names, name("Any")
        )


def _typed_dict(made: str, fields: dict[str, ast.expr]) -> ast.stmt:
    if all(map(is_name, fields)):
        body: list[ast.stmt] = [
            ast.AnnAssign(target=ast.Name(key), annotation=kind, simple=1) for key, kind in fields.items()
        ]
        return ast.ClassDef(name=made, bases=[name("TypedDict")], keywords=[], body=body, decorator_list=[])
    # Keys that are no names can only be written so; what refers to a record that is still to come, as text.
    keys: list[ast.expr | None] = [text(key) for key in fields]
    values = [_quoted(kind) for kind in fields.values()]
    call = ast.Call(
        func=name("TypedDict"), args=[text(made), ast.Dict(keys=keys, values=values)], keywords=[]
    )
    return ast.Assign(targets=[ast.Name(made)], value=call)


def _values(values: Sequence[Any]) -> ast.expr:
    """Write an enum as the literals that it has; of what has no literal, the kind."""
    kinds: dict[str, ast.expr] = {}
    literals: dict[str, ast.expr] = {}
    cut = len(values) > _MOST_VALUES or LEFT_OUT in values
    for value in values[:_MOST_VALUES]:
        if value is None:
            kinds["None"] = constant(None)
        elif isinstance(value, bool | int | str) and not cut and _is_short(value):
            literals[repr(value)] = constant(value)
        else:
            kind = _kind_of(value)
            kinds[ast.unparse(kind)] = kind
    if literals:
        listed = list(literals.values())
        kinds["Literal"] = _of("Literal", *listed)
    return _either(list(kinds.values()))


def _is_short(value: bool | int | str) -> bool:
    return len(value) <= _LONGEST_VALUE if isinstance(value, str) else -_LARGEST <= value < _LARGEST


def _kind_of(value: Any) -> ast.expr:
    if isinstance(value, dict):
        return _of("dict", name("str"), name("Any"))
    if isinstance(value, list):
        return _of("list", name("Any"))
    named = {bool: "bool", int: "int", float: "float", str: "str"}.get(type(value), "Any")
    return name(named)


def _either(kinds: Sequence[ast.expr]) -> ast.expr:
    joined = kinds[0] if kinds else name("Any")
    for one in kinds[1:]:
        joined = ast.BinOp(left=joined, op=ast.BitOr(), right=one)
    return joined


def _of(made: str, *inner: ast.expr) -> ast.expr:
    return ast.Subscript(
        value=name(made), slice=inner[0] if len(inner) == 1 else ast.Tuple(elts=list(inner), ctx=ast.Load())
    )


def _quoted(annotation: ast.expr) -> ast.expr:
    return text(ast.unparse(annotation))


def name(made: str) -> ast.Name:
    """Write one of our own names."""
    return ast.Name(made)


def text(value: str) -> ast.Constant:
    """Write somebody else's text, which can be nothing else then."""
    return ast.Constant(value)


def constant(value: Any) -> ast.expr:
    """Write a plain value; three dots for one that has no short and exact form."""
    if isinstance(value, float) and not math.isfinite(value):
        return ast.Constant(...)
    if isinstance(value, bool | float | type(None)) or value is ...:
        return ast.Constant(value)
    return ast.Constant(value if isinstance(value, int | str) and _is_short(value) else ...)
