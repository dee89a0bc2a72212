"""Types as Python annotations: objects as `TypedDict` classes, everything else in place."""

from __future__ import annotations

import ast
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from halflap.schema.read import LEFT_OUT
from halflap.schema.stub.names import ClassNames, is_name
from halflap.schema.types import ANY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halflap.schema.types import Field, Type

__all__ = ["AnnotationWriter", "Record", "Source", "constant", "name"]

Source = Literal["input", "declared", "doubtful"]
"""Where a class comes from: a tool's parameters, its declared result, or a result that is only probable."""

_PLAIN = {"string": "str", "number": "float", "integer": "int", "boolean": "bool", "null": "None"}
_TRACED = _PLAIN | {"string": "HalflapText", "number": "HalflapNumber", "integer": "HalflapInteger"}
"""Subclasses, so that a checker can tell what a tool declared from what the program made itself."""
_MAX_VALUES = 200
_MAX_VALUE = 1_000
_MAX_INTEGER = 2**63
_MAX_DEPTH = 30


@dataclass(frozen=True, slots=True)
class Record:
    """An object type written as a class."""

    name: str
    tool: str
    path: str
    """Its place in the value: empty for the value itself, `orders[]` for the items of a list in it."""
    source: Source
    keys: tuple[str, ...]
    closed: bool
    """It has no other keys."""
    open: bool
    """It is declared to have other keys, whose names depend on the data."""


class AnnotationWriter:
    """Writes the types of one tool, and collects the classes that they need."""

    def __init__(self, tool: str, names: ClassNames | None = None, *, traced: bool = False) -> None:
        self._tool = tool
        self._names = names or ClassNames(tool)
        self._traced = traced
        self._written: dict[tuple[Source, Type], str] = {}
        self._open_recursions: dict[int, str] = {}
        """The names of the recursive types that are being written, by their recursion number."""
        self.nodes: list[ast.stmt] = []
        self.records: list[Record] = []

    def annotation(self, kind: Type, path: str, source: Source, depth: int = 0) -> ast.expr:
        written = self._annotation(kind, path, source, depth)
        # What was only observed may be anything else.
        return _either([written, name("HalflapMaybe")]) if self._traced and source == "doubtful" else written

    def _annotation(self, kind: Type, path: str, source: Source, depth: int) -> ast.expr:
        if depth > _MAX_DEPTH:
            return name("Any")
        if kind.kind in _PLAIN:
            plain = _TRACED if self._traced and source == "declared" else _PLAIN
            return name(plain[kind.kind]) if kind.kind != "null" else constant(None)
        if kind.kind == "recursive":
            return self._recursive(kind)
        if kind.recursion and kind.kind in {"array", "union"}:
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
            listed = _of("HalflapList" if self._traced and source == "declared" else "list", items)
            return listed if source != "input" else _either([listed, _of("tuple", items, constant(...))])
        if kind.kind == "union" and all(one.kind != "cut" for one in kind.members):
            return _either([self.annotation(one, path, source, depth + 1) for one in kind.members])
        if kind.kind == "object":
            return self._object(kind, path, source, depth)
        return name("Any")

    def _object(self, kind: Type, path: str, source: Source, depth: int) -> ast.expr:
        if kind.partial or not (kind.fields or kind.needed):
            # A class with some keys missing would make a checker refuse declared keys.
            extra = ANY if kind.partial or kind.extra is None else kind.extra
            inner = self.annotation(extra, f"{path}{{}}", source, depth + 1)
            return _of("dict", name("str"), inner)
        if (source, kind) not in self._written:
            made = self._names.make(f"{'takes' if source == 'input' else 'gives'}_{path}")
            self._written[source, kind] = made
            self._class(kind, made, path, source, depth)
        own = name(self._written[source, kind])
        # A program's own dict may come from anywhere, so as an argument any dict will do.
        return own if source != "input" else _either([own, _of("dict", name("str"), name("Any"))])

    def _class(self, kind: Type, made: str, path: str, source: Source, depth: int) -> None:
        if kind.recursion:
            self._open_recursions[kind.recursion] = made
        fields = {
            one.name: self._field(one, f"{path}.{one.name}" if path else one.name, source, depth)
            for one in kind.fields
        } | {key: name("Any") for key in kind.needed}
        self._open_recursions.pop(kind.recursion, None)
        self.nodes.append(_typed_dict(made, fields | self._marks(made, source)))
        is_open = kind.extra is not None
        self.records.append(
            Record(made, self._tool, path, source, tuple(fields), closed=kind.closed, open=is_open)
        )

    def _marks(self, made: str, source: Source) -> dict[str, ast.expr]:
        """Return keys that no other class has, so that equal fields don't make two classes the same type."""
        if not self._traced or source == "input":
            return {}
        declared = {"halflap_declared": name("HalflapMark")} if source == "declared" else {}
        return declared | {"halflap_class": _of("Literal", ast.Constant(made))}

    def _field(self, one: Field, path: str, source: Source, depth: int) -> ast.expr:
        annotation = self.annotation(one.type, path, source, depth + 1)
        return annotation if one.required else _of("NotRequired", annotation)

    def _alias(self, kind: Type, path: str, source: Source, depth: int) -> ast.expr:
        """Name an array or a union that contains itself."""
        made = self._names.make(f"{'takes' if source == 'input' else 'gives'}_{path}")
        self._open_recursions[kind.recursion] = made
        written = self._composed(kind, path, source, depth)
        del self._open_recursions[kind.recursion]
        self.nodes.append(
            ast.AnnAssign(
                target=ast.Name(made), annotation=name("TypeAlias"), value=_quoted(written), simple=1
            )
        )
        return name(made)

    def _recursive(self, kind: Type) -> ast.expr:
        if kind.recursion in self._open_recursions:
            return name(self._open_recursions[kind.recursion])
        return {"object": _of("dict", name("str"), name("Any")), "array": _of("list", name("Any"))}.get(
            kind.recursive_kind, name("Any")
        )


def _typed_dict(made: str, fields: dict[str, ast.expr]) -> ast.stmt:
    if all(map(is_name, fields)):
        body: list[ast.stmt] = [
            ast.AnnAssign(target=ast.Name(key), annotation=kind, simple=1) for key, kind in fields.items()
        ]
        return ast.ClassDef(name=made, bases=[name("TypedDict")], keywords=[], body=body, decorator_list=[])
    # Keys that are no identifiers need the call form, where annotations are quoted since classes may come later.
    keys: list[ast.expr | None] = [ast.Constant(key) for key in fields]
    values = [_quoted(kind) for kind in fields.values()]
    call = ast.Call(
        func=name("TypedDict"), args=[ast.Constant(made), ast.Dict(keys=keys, values=values)], keywords=[]
    )
    return ast.Assign(targets=[ast.Name(made)], value=call)


def _values(values: Sequence[Any]) -> ast.expr:
    """Write an enum as literals, or as the types of those values that have no literal."""
    kinds: dict[str, ast.expr] = {}
    literals: dict[str, ast.expr] = {}
    is_cut = len(values) > _MAX_VALUES or LEFT_OUT in values
    for value in values[:_MAX_VALUES]:
        if value is None:
            kinds["None"] = constant(None)
        elif isinstance(value, bool | int | str) and not is_cut and _is_short(value):
            literals[repr(value)] = constant(value)
        else:
            kind = _type_of_value(value)
            kinds[ast.unparse(kind)] = kind
    if literals:
        kinds["Literal"] = _of("Literal", *literals.values())
    return _either(list(kinds.values()))


def _is_short(value: bool | int | str) -> bool:
    return len(value) <= _MAX_VALUE if isinstance(value, str) else -_MAX_INTEGER <= value < _MAX_INTEGER


def _type_of_value(value: Any) -> ast.expr:
    if isinstance(value, dict):
        return _of("dict", name("str"), name("Any"))
    if isinstance(value, list):
        return _of("list", name("Any"))
    return name({bool: "bool", int: "int", float: "float", str: "str"}.get(type(value), "Any"))


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
    return ast.Constant(ast.unparse(annotation))


def name(made: str) -> ast.Name:
    """Return a name that we made; text from others only ever becomes a constant."""
    return ast.Name(made)


def constant(value: Any) -> ast.expr:
    """Return a plain value, or `...` for one that has no short and exact form."""
    if isinstance(value, float) and not math.isfinite(value):
        return ast.Constant(...)
    if isinstance(value, bool | float | type(None)) or value is ...:
        return ast.Constant(value)
    return ast.Constant(value if isinstance(value, int | str) and _is_short(value) else ...)
