"""Convert annotations to JSON Schema by their text alone: nothing in a script is run to know what it takes."""

from __future__ import annotations

import ast
import builtins
from inspect import cleandoc
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["POSSIBLE", "Annotations", "TooManyPartsError", "UnknownAnnotationError"]

POSSIBLE = (
    "str, int, float, bool, None, Any, list[X], dict[str, X], tuple[X, Y], tuple[X, ...], Literal[...], X | Y, "
    'Optional[X], Union[X, Y], Annotated[X, "description"], and TypedDict classes of the same file'
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
_SYNONYMS = {"List": "list", "Sequence": "list", "Dict": "dict", "Mapping": "dict", "Tuple": "tuple"}
_TYPING = frozenset({"typing", "typing_extensions", "collections.abc"})
_REQUIRED = {"Required": True, "NotRequired": False}
_MAX_DEPTH = 20
_MAX_PARTS = 2_000
"""In all annotations of a file together, since a few aliases can multiply to very many."""
_MAX_TEXT = 1_000


class UnknownAnnotationError(Exception):
    """An annotation that has no JSON Schema."""

    def __init__(self, node: ast.expr, advice: str = f"Use {POSSIBLE}.") -> None:
        self.node = node
        self.advice = advice
        super().__init__(advice)


class TooManyPartsError(UnknownAnnotationError):
    """The annotations of a file have too many parts; reading more of them is pointless."""


class Annotations:
    """Converts the annotations of one file."""

    def __init__(self, tree: ast.Module) -> None:
        self.definitions: dict[str, Any] = {}
        """Schemas of the classes that were used so far, for `$defs`."""
        self._imported = dict(_imported(tree))
        self._classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        self._aliases = dict(_aliases(tree))
        self._parts = 0

    def schema(self, node: ast.expr, depth: int = 0) -> dict[str, Any]:
        self._parts += 1
        if self._parts > _MAX_PARTS:
            raise TooManyPartsError(node, f"The annotations of the file have more than {_MAX_PARTS:,} parts.")
        if depth > _MAX_DEPTH:
            raise UnknownAnnotationError(node, f"It is nested more than {_MAX_DEPTH} levels deep.")
        if isinstance(node, ast.Constant) and node.value is not None:
            return self._quoted(node, depth)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return self._union(_alternatives(node), depth)
        if isinstance(node, ast.Subscript):
            return self._subscript(node, depth)
        name = "None" if isinstance(node, ast.Constant) else self._name(node)
        if name in _PLAIN:
            return dict(_PLAIN[name])
        if name in self._classes:
            return self._class(node, name, depth)
        if name in self._aliases:
            return self.schema(self._aliases[name], depth + 1)
        raise UnknownAnnotationError(node)

    def _quoted(self, node: ast.Constant, depth: int) -> dict[str, Any]:
        """Convert an annotation that is written as text, because its type is defined further down."""
        if not isinstance(node.value, str) or len(node.value) > _MAX_TEXT:
            raise UnknownAnnotationError(node)
        try:
            return self.schema(ast.parse(node.value.strip(), mode="eval").body, depth + 1)
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            raise UnknownAnnotationError(node) from None
        except UnknownAnnotationError as error:
            raise UnknownAnnotationError(node, error.advice) from None

    def _name(self, node: ast.expr) -> str:
        """Return a type's name in `typing` or in the file, whichever way it is imported."""
        if isinstance(node, ast.Name):
            name = self._imported.get(node.id, node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            name = node.attr if self._imported.get(node.value.id) in _TYPING else ""
        else:
            name = ""
        return _SYNONYMS.get(name, name)

    def _subscript(self, node: ast.Subscript, depth: int) -> dict[str, Any]:  # noqa: PLR0911 -- one per type
        inner = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
        match self._name(node.value), inner:
            case "Literal", _:
                return {"enum": [_literal(one) for one in inner]}
            case "Annotated", [annotated, *notes]:
                texts = [one.value for one in notes if isinstance(one, ast.Constant)]
                described = [cleandoc(text) for text in texts if isinstance(text, str)]
                return self.schema(annotated, depth + 1) | (
                    {"description": described[0]} if described else {}
                )
            case "Union", _:
                return self._union(inner, depth)
            case "Optional", [one]:
                return self._union([one, ast.Constant(None)], depth)
            case ("list", [one]) | ("tuple", [one, ast.Constant(value=builtins.Ellipsis)]):
                return {"type": "array", "items": self.schema(one, depth + 1)}
            case "dict", [key, value]:
                if self._name(key) != "str":
                    raise UnknownAnnotationError(key, "The keys of a JSON object are strings: dict[str, X].")
                return {"type": "object", "additionalProperties": self.schema(value, depth + 1)}
            case "tuple", _:
                items = [self.schema(one, depth + 1) for one in inner]
                return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
        raise UnknownAnnotationError(node)

    def _union(self, members: Iterable[ast.expr], depth: int) -> dict[str, Any]:
        read = [self.schema(member, depth + 1) for member in members]
        unique = [one for place, one in enumerate(read) if one not in read[:place]]
        return unique[0] if len(unique) == 1 else {"anyOf": unique}

    def _class(self, node: ast.expr, name: str, depth: int) -> dict[str, Any]:
        family = self._family(name)
        if not any(self._name(base) == "TypedDict" for one in family for base in self._classes[one].bases):
            raise UnknownAnnotationError(node, f"Arguments are JSON: make {name} a TypedDict, or use a dict.")
        if name not in self.definitions:
            self.definitions[name] = {}  # before its fields are read, which may have this type themselves
            self.definitions[name] = self._typed_dict(family, depth)
        return {"$ref": f"#/$defs/{name}"}

    def _family(self, name: str) -> list[str]:
        """Return a class of the file after all those that it inherits from, each once."""
        found: dict[str, None] = {}
        unread = [(name, False)]
        seen: set[str] = set()
        while unread:
            one, has_its_bases = unread.pop()
            if has_its_bases:
                found[one] = None
            elif one not in seen:
                seen.add(one)
                bases = [base for base in map(self._name, self._classes[one].bases) if base in self._classes]
                unread += [(one, True), *((base, False) for base in reversed(bases))]
        return list(found)

    def _typed_dict(self, family: Sequence[str], depth: int) -> dict[str, Any]:
        properties: dict[str, Any] = {}
        required: dict[str, bool] = {}
        for node in (self._classes[one] for one in family):
            for line in node.body:
                if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
                    key, kind, is_required = line.target.id, line.annotation, _is_total(node)
                    while isinstance(kind, ast.Subscript) and (word := self._name(kind.value)) in _REQUIRED:
                        kind, is_required = kind.slice, _REQUIRED[word]
                    properties[key], required[key] = self.schema(kind, depth + 1), is_required
        schema: dict[str, Any] = {"type": "object", "properties": properties}
        if any(required.values()):
            schema["required"] = [key for key, needed in required.items() if needed]
        text = ast.get_docstring(self._classes[family[-1]])
        return {**schema, "description": text} if text else schema


def _is_total(node: ast.ClassDef) -> bool:
    return not any(
        keyword.arg == "total" and isinstance(keyword.value, ast.Constant) and keyword.value.value is False
        for keyword in node.keywords
    )


def _imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the names under which the file knows `typing` and its types."""
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module in _TYPING:
            yield from ((alias.asname or alias.name, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((one.asname or one.name, one.name) for one in node.names if one.name in _TYPING)


def _aliases(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """Yield the file's own names for types: `Region = Literal["EU", "US"]`."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            yield node.target.id, node.value


def _alternatives(node: ast.expr) -> list[ast.expr]:
    """Split `X | Y | Z` without recursion: its tree is as deep as it is long."""
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
    raise UnknownAnnotationError(node, "Literal takes strings, integers, True, False and None.")
