"""Write types as Python annotations: objects as `TypedDict` classes, everything else inline."""

from __future__ import annotations

import ast
import keyword
import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from halflap.schema.read import LEFT_OUT
from halflap.schema.types import ANY, Field, Type

Source = Literal["input", "declared", "doubtful"]
"""The origin of a class: a tool's parameters, its declared result, or a result that is only probable."""

_PLAIN = {"string": "str", "number": "float", "integer": "int", "boolean": "bool"}
_TRACED = _PLAIN | {"string": "HalflapText", "number": "HalflapNumber", "integer": "HalflapInteger"}
"""Subclasses, so that a checker can tell declared values from those that the program made itself."""
_MAX_VALUES = 200
_MAX_VALUE = 1_000
_MAX_INTEGER = 2**63
_MAX_DEPTH = 30
_MAX_NAME = 60
_SEPARATORS = re.compile(r"[^0-9A-Za-z]+")


@dataclass(frozen=True, slots=True)
class Record:
    """An object type written as a class."""

    name: str
    tool: str
    paths: tuple[str, ...]
    """Its places in the value: empty for the value itself, `orders[]` for the items of a list in it."""
    source: Source
    keys: tuple[str, ...]
    closed: bool
    """It has no other keys."""
    open: bool
    """It is declared to have other keys, whose names depend on the data."""


def is_name(text: str) -> bool:
    """Return whether Python reads a text as exactly this name, also within a class.

    Python normalises some letters (`ﬁ` to `fi`) and mangles names that start with two underscores.
    """
    return (
        text.isidentifier()
        and not keyword.iskeyword(text)
        and not text.startswith("__")
        and unicodedata.normalize("NFKC", text) == text
    )


class ClassNames:
    """Makes unique names for the classes of one tool."""

    def __init__(self, tool: str) -> None:
        # No tool's name begins with an underscore, so a class never has the name of a tool.
        self._stem = f"_{tool}__"
        self._made: set[str] = set()

    def make(self, path: str) -> str:
        """Return a name for the class at a path in the arguments or the result."""
        words = _SEPARATORS.sub("_", path).strip("_")[:_MAX_NAME]
        name, number = self._stem + words, 2
        while name in self._made:
            name, number = f"{self._stem}{words}_{number}", number + 1
        self._made.add(name)
        return name


class TitleNames(ClassNames):
    """Makes names like those of a server's author: `GetOrderResult`, `GetOrderResultItems`."""

    def __init__(self, title: str) -> None:
        super().__init__("")
        title = _title(title)
        # An identifier has to begin with a letter.
        self._stem = title if title[:1].isalpha() else f"Tool{title}"

    def make(self, path: str) -> str:
        return super().make(_title(path.removeprefix("gives_")))


def _title(text: str) -> str:
    words = _SEPARATORS.sub(" ", text)[:_MAX_NAME].split()
    return "".join(word[:1].upper() + word[1:] for word in words)


class AnnotationWriter:
    """Writes the types of one tool, and collects the classes that they need."""

    def __init__(self, tool: str, names: ClassNames | None = None, *, traced: bool = False) -> None:
        self._tool = tool
        self._names = names or ClassNames(tool)
        self._traced = traced
        self._written: dict[tuple[Source, Type], str] = {}
        self.nodes: list[ast.stmt] = []
        self.records: dict[str, Record] = {}
        """By name."""

    def annotation(self, kind: Type, path: str, source: Source, depth: int = 0) -> ast.expr:
        written = self._annotation(kind, path, source, depth)
        # A value that was only observed may be anything else.
        return _either([written, name("HalflapMaybe")]) if self._traced and source == "doubtful" else written

    def _annotation(self, kind: Type, path: str, source: Source, depth: int) -> ast.expr:
        if depth > _MAX_DEPTH or any(one.kind == "cut" for one in kind.members):
            return name("Any")
        if kind.kind == "values":
            return _values(kind.values)
        if kind.kind == "array":
            return self._array(kind, path, source, depth)
        if kind.kind == "union":
            return _either([self.annotation(one, path, source, depth + 1) for one in kind.members])
        if kind.kind == "object":
            return self._object(kind, path, source, depth)
        plain = _TRACED if self._traced and source == "declared" else _PLAIN
        return constant(None) if kind.kind == "null" else name(plain.get(kind.kind, "Any"))

    def _array(self, kind: Type, path: str, source: Source, depth: int) -> ast.expr:
        items = self.annotation(kind.items or ANY, f"{path}[]", source, depth + 1)
        listed = _of("HalflapList" if self._traced and source == "declared" else "list", items)
        return listed if source != "input" else _either([listed, _of("tuple", items, constant(...))])

    def _object(self, kind: Type, path: str, source: Source, depth: int) -> ast.expr:
        if kind.partial or not kind.fields:
            # With a class that lacks some keys, a checker would refuse declared keys.
            extra = ANY if kind.partial or kind.extra is None else kind.extra
            inner = self.annotation(extra, f"{path}{{}}", source, depth + 1)
            return _of("dict", name("str"), inner)
        if (source, kind) not in self._written:
            made = self._names.make(f"{'takes' if source == 'input' else 'gives'}_{path}")
            self._written[source, kind] = made
            self._class(kind, made, path, source, depth)
        elif (made := self._written[source, kind]) in self.records:
            record = self.records[made]
            self.records[made] = replace(record, paths=(*record.paths, path))
        own = name(self._written[source, kind])
        # A program may build its own dict anywhere, so any dict is accepted as an argument.
        return own if source != "input" else _either([own, _of("dict", name("str"), name("Any"))])

    def _class(self, kind: Type, made: str, path: str, source: Source, depth: int) -> None:
        fields = {
            one.name: self._field(one, f"{path}.{one.name}" if path else one.name, source, depth)
            for one in kind.fields
        }
        self.nodes.append(_typed_dict(made, fields | self._marks(made, source)))
        is_open = kind.extra is not None
        self.records[made] = Record(
            made, self._tool, (path,), source, tuple(fields), closed=kind.closed, open=is_open
        )

    def _marks(self, made: str, source: Source) -> dict[str, ast.expr]:
        """Return keys that no other class has, or classes with equal fields would be the same type."""
        if not self._traced or source == "input":
            return {}
        declared = {"halflap_declared": name("HalflapMark")} if source == "declared" else {}
        return declared | {"halflap_class": _of("Literal", ast.Constant(made))}

    def _field(self, one: Field, path: str, source: Source, depth: int) -> ast.expr:
        annotation = self.annotation(one.type, path, source, depth + 1)
        return annotation if one.required else _of("NotRequired", annotation)


def _typed_dict(made: str, fields: dict[str, ast.expr]) -> ast.stmt:
    if all(map(is_name, fields)):
        body: list[ast.stmt] = [
            ast.AnnAssign(target=ast.Name(key), annotation=kind, simple=1) for key, kind in fields.items()
        ]
        return ast.ClassDef(name=made, bases=[name("TypedDict")], keywords=[], body=body, decorator_list=[])
    # Keys that are not identifiers need the call form. Its annotations are quoted, since classes may come later.
    keys: list[ast.expr | None] = [ast.Constant(key) for key in fields]
    values: list[ast.expr] = [ast.Constant(ast.unparse(kind)) for kind in fields.values()]
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


def name(made: str) -> ast.Name:
    """Return a name that we made. Text from others only ever becomes a constant."""
    return ast.Name(made)


def constant(value: Any) -> ast.expr:
    """Return a plain value, or `...` for one that has no short and exact form."""
    if isinstance(value, float) and not math.isfinite(value):
        return ast.Constant(...)
    if isinstance(value, bool | float | type(None)) or value is ...:
        return ast.Constant(value)
    return ast.Constant(value if isinstance(value, int | str) and _is_short(value) else ...)
