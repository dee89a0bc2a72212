"""Read annotations as JSON Schema, by their text alone: nothing in a script is run to know what it takes."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from inspect import cleandoc
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["POSSIBLE", "Annotations", "TooManyPartsError", "UnknownAnnotationError"]

POSSIBLE = (
    "str, int, float, bool, None, Any, list[X], dict[str, X], tuple[X, Y], tuple[X, ...], Literal[...], X | Y, "
    'Optional[X], Union[X, Y], Annotated[X, "what it is"], and TypedDict classes of the same file'
)
_PLAIN: dict[str, dict[str, Any]] = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "None": {"type": "null"},
    "Any": {},
    "list": {"type": "array"},
    "dict": {"type": "object"},
    "tuple": {"type": "array"},
}
_SAME = {"List": "list", "Sequence": "list", "Dict": "dict", "Mapping": "dict", "Tuple": "tuple"}
_TYPING = frozenset({"typing", "typing_extensions", "collections.abc"})
_DEEPEST = 20
_MOST_PARTS = 2_000
"""In all annotations of a file together: names for types can be made to stand for very much."""
_LONGEST_TEXT = 1_000


class UnknownAnnotationError(Exception):
    """An annotation that no JSON Schema says; carries where it is and what would be possible."""

    def __init__(self, node: ast.expr, advice: str) -> None:
        self.node = node
        self.advice = advice
        super().__init__(advice)


class TooManyPartsError(UnknownAnnotationError):
    """The annotations of a file are too many in all: no other needs to be read."""


@dataclass
class Annotations:
    """Reads the annotations of one file."""

    tree: ast.Module
    definitions: dict[str, Any] = field(default_factory=dict)
    """The schemas of the classes that were met so far, for `$defs`."""

    def __post_init__(self) -> None:
        self._imported = dict(_imported(self.tree))
        self._classes = {node.name: node for node in self.tree.body if isinstance(node, ast.ClassDef)}
        self._aliases = dict(_aliases(self.tree))
        self._parts = 0

    def schema(self, node: ast.expr | None) -> dict[str, Any]:
        """Give the schema of an annotation; none says nothing."""
        return {} if node is None else self._read(node, 0)

    def _read(self, node: ast.expr, depth: int) -> dict[str, Any]:
        self._parts += 1
        if self._parts > _MOST_PARTS:
            raise TooManyPartsError(
                node,
                f"with it, the annotations of the file have more than {_MOST_PARTS} parts. Use fewer, or a dict.",
            )
        if depth > _DEEPEST:
            raise UnknownAnnotationError(node, f"It is nested more than {_DEEPEST} deep.")
        if isinstance(node, ast.Constant):
            return self._constant(node, depth)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return self._union(_alternatives(node), depth)
        if isinstance(node, ast.Subscript):
            return self._subscript(node, depth)
        name = self._name(node)
        if name in _PLAIN:
            return dict(_PLAIN[name])
        if name in self._classes:
            return self._class(node, name, depth)
        if name in self._aliases:
            return self._read(self._aliases[name], depth + 1)
        raise UnknownAnnotationError(node, f"Possible are: {POSSIBLE}.")

    def _constant(self, node: ast.Constant, depth: int) -> dict[str, Any]:
        if node.value is None:
            return {"type": "null"}
        if not isinstance(node.value, str) or len(node.value) > _LONGEST_TEXT:
            raise UnknownAnnotationError(node, f"Possible are: {POSSIBLE}.")
        # A type that is written as text, because it is defined further down.
        try:
            inner = ast.parse(node.value.strip(), mode="eval").body
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            raise UnknownAnnotationError(node, f"Possible are: {POSSIBLE}.") from None
        try:
            return self._read(inner, depth + 1)
        except UnknownAnnotationError as error:
            raise UnknownAnnotationError(node, error.advice) from None

    def _name(self, node: ast.expr) -> str:
        """Give the name that a type has in `typing` or in the file, whichever way it is written."""
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            return _SAME.get(node.attr, node.attr) if self._imported.get(node.value.id) in _TYPING else ""
        if isinstance(node, ast.Name):
            name = self._imported.get(node.id, node.id)
            return _SAME.get(name, name)
        return ""

    def _subscript(self, node: ast.Subscript, depth: int) -> dict[str, Any]:
        name = self._name(node.value)
        inner = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
        if name == "Literal":
            return {"enum": [_literal(one) for one in inner]}
        if name == "Annotated":
            schema = self._read(inner[0], depth + 1)
            texts = [one.value for one in inner[1:] if isinstance(one, ast.Constant)]
            described = next((text for text in texts if isinstance(text, str)), None)
            return schema if described is None else {**schema, "description": cleandoc(described)}
        if name in {"Union", "Optional"}:
            return self._union([*inner, *([ast.Constant(None)] if name == "Optional" else [])], depth)
        return self._container(node, name, inner, depth)

    def _container(self, node: ast.expr, name: str, inner: Sequence[ast.expr], depth: int) -> dict[str, Any]:
        if name == "list" and len(inner) == 1:
            return {"type": "array", "items": self._read(inner[0], depth + 1)}
        if name == "dict" and len(inner) == 2:  # noqa: PLR2004 -- keys and values
            if self._name(inner[0]) != "str":
                raise UnknownAnnotationError(inner[0], "The keys of a JSON object are texts: dict[str, X].")
            return {"type": "object", "additionalProperties": self._read(inner[1], depth + 1)}
        if name == "tuple":
            return self._tuple(inner, depth)
        raise UnknownAnnotationError(node, f"Possible are: {POSSIBLE}.")

    def _tuple(self, inner: Sequence[ast.expr], depth: int) -> dict[str, Any]:
        last = inner[-1] if inner else None
        if isinstance(last, ast.Constant) and last.value is Ellipsis and len(inner) == 2:  # noqa: PLR2004 -- X, ...
            return {"type": "array", "items": self._read(inner[0], depth + 1)}
        items = [self._read(one, depth + 1) for one in inner]
        return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}

    def _union(self, members: Iterable[ast.expr], depth: int) -> dict[str, Any]:
        read = [self._read(member, depth + 1) for member in members]
        unique = [one for place, one in enumerate(read) if one not in read[:place]]
        return unique[0] if len(unique) == 1 else {"anyOf": unique}

    def _class(self, node: ast.expr, name: str, depth: int) -> dict[str, Any]:
        family = self._family(name)
        if not any(self._name(base) == "TypedDict" for one in family for base in self._classes[one].bases):
            raise UnknownAnnotationError(
                node, f"A value comes as JSON, not as a {name}: make it a TypedDict, or a dict."
            )
        if name not in self.definitions:
            self.definitions[name] = {}  # Before its fields are read, which may be of the class itself.
            self.definitions[name] = self._typed_dict(family, depth)
        return {"$ref": f"#/$defs/{name}"}

    def _family(self, name: str) -> list[str]:
        """Give a class of the file after all those that it inherits from, each once."""
        found: list[str] = []
        seen: set[str] = set()
        unread = [(name, False)]
        while unread:
            one, has_its_bases = unread.pop()
            if has_its_bases:
                found.append(one)
            elif one not in seen:
                seen.add(one)
                bases = [base for base in map(self._name, self._classes[one].bases) if base in self._classes]
                unread += [(one, True), *((base, False) for base in reversed(bases))]
        return found

    def _typed_dict(self, family: Sequence[str], depth: int) -> dict[str, Any]:
        properties: dict[str, Any] = {}
        required: dict[str, bool] = {}
        for node in (self._classes[one] for one in family):
            for line in node.body:
                if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
                    key, kind, is_required = line.target.id, line.annotation, _is_total(node)
                    while isinstance(kind, ast.Subscript) and (word := self._name(kind.value)) in _MARKS:
                        kind, is_required = kind.slice, _MARKS[word]
                    properties[key], required[key] = self._read(kind, depth + 1), is_required
        schema: dict[str, Any] = {"type": "object", "properties": properties}
        if any(required.values()):
            schema["required"] = [key for key, needed in required.items() if needed]
        text = ast.get_docstring(self._classes[family[-1]])
        return {**schema, "description": text} if text else schema


_MARKS = {"Required": True, "NotRequired": False}


def _is_total(node: ast.ClassDef) -> bool:
    return not any(
        keyword.arg == "total" and isinstance(keyword.value, ast.Constant) and keyword.value.value is False
        for keyword in node.keywords
    )


def _imported(tree: ast.Module) -> Iterable[tuple[str, str]]:
    """Give the names under which types of `typing`, or the module itself, are known in the file."""
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module in _TYPING:
            yield from ((alias.asname or alias.name, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((one.asname or one.name, one.name) for one in node.names if one.name in _TYPING)


def _aliases(tree: ast.Module) -> Iterable[tuple[str, ast.expr]]:
    """Give the types that the file has a name of its own for: `Region = Literal["EU", "US"]`."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            yield node.target.id, node.value


def _alternatives(node: ast.expr) -> list[ast.expr]:
    """Take `X | Y | Z` apart; it leans to the left, as deep as it is long."""
    found = []
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        found.append(node.right)
        node = node.left
    return [node, *reversed(found)]


def _literal(node: ast.expr) -> Any:
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        value = ...
    if value is None or isinstance(value, str | int):
        return value
    raise UnknownAnnotationError(node, "Literal takes texts, whole numbers, True, False and None.")
