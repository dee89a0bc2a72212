"""Convert a script's type annotations to JSON Schema, from the syntax tree alone."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from inspect import cleandoc
from typing import Any

SUPPORTED = (
    "str, int, float, bool, None, Any, list[X], dict[str, X], Literal[...], X | Y, Optional[X], Union[X, Y], "
    'Annotated[X, "description"], and TypedDict classes of the same file'
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
}
_SYNONYMS = {"List": "list", "Sequence": "list", "Dict": "dict", "Mapping": "dict"}
_REQUIRED = {"Required": True, "NotRequired": False}


class AnnotationError(Exception):
    """An annotation that has no JSON Schema."""

    def __init__(self, node: ast.expr, advice: str = f"Use {SUPPORTED}.") -> None:
        super().__init__(advice)
        self.node = node
        self.advice = advice


class Annotations:
    """Converts the annotations of one file."""

    def __init__(self, tree: ast.Module) -> None:
        self.definitions: dict[str, Any] = {}
        """Schemas of the classes used so far, for `$defs`."""
        self._classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        self._fields: dict[str, dict[str, tuple[ast.expr, bool]]] = {}

    def schema(self, node: ast.expr) -> dict[str, Any]:
        match node:
            case ast.Constant(value=str() as text):
                return self._quoted(node, text)
            case ast.BinOp(op=ast.BitOr()):
                return self._union(_members(node))
            case ast.Subscript(slice=ast.Tuple(elts=arguments)):
                return self._generic(node, arguments)
            case ast.Subscript():
                return self._generic(node, [node.slice])
        name = _name(node)
        if name in self._classes:
            return self._class(node, name)
        if name in _PLAIN:
            return dict(_PLAIN[name])
        raise AnnotationError(node)

    def _quoted(self, node: ast.Constant, text: str) -> dict[str, Any]:
        """Convert an annotation in quotes, which may name a type that is defined further down."""
        try:
            return self.schema(ast.parse(text.strip(), mode="eval").body)
        except (SyntaxError, ValueError, MemoryError):
            raise AnnotationError(node) from None
        except AnnotationError as error:
            # The inner node counts its lines from the opening quote.
            raise AnnotationError(node, error.advice) from None

    def _generic(self, node: ast.Subscript, arguments: list[ast.expr]) -> dict[str, Any]:
        match _name(node.value), arguments:
            case "Literal", _:
                return {"enum": [_literal(argument) for argument in arguments]}
            case "Annotated", [annotated, *notes]:
                texts = [note.value for note in notes if isinstance(note, ast.Constant)]
                description = next((cleandoc(text) for text in texts if isinstance(text, str)), None)
                return self.schema(annotated) | ({} if description is None else {"description": description})
            case "Union", _:
                return self._union(arguments)
            case "Optional", [inner]:
                return self._union([inner, ast.Constant(None)])
            case "list", [item]:
                return {"type": "array", "items": self.schema(item)}
            case "dict", [key, value]:
                if _name(key) != "str":
                    raise AnnotationError(key, "The keys of a JSON object are strings: dict[str, X].")
                return {"type": "object", "additionalProperties": self.schema(value)}
        raise AnnotationError(node)

    def _union(self, members: Iterable[ast.expr]) -> dict[str, Any]:
        schemas = [self.schema(member) for member in members]
        unique = [schema for at, schema in enumerate(schemas) if schema not in schemas[:at]]
        return unique[0] if len(unique) == 1 else {"anyOf": unique}

    def _class(self, node: ast.expr, name: str) -> dict[str, Any]:
        if "TypedDict" not in self._ancestors(name):
            raise AnnotationError(node, f"Arguments are JSON: make {name} a TypedDict, or use a dict.")
        if name not in self.definitions:
            self.definitions[name] = {}  # first, because its fields may have this type themselves
            fields = self._fields_of(name)
            schema: dict[str, Any] = {
                "type": "object",
                "properties": {key: self.schema(annotation) for key, (annotation, _) in fields.items()},
            }
            if required := [key for key, (_, is_required) in fields.items() if is_required]:
                schema["required"] = required
            if description := ast.get_docstring(self._classes[name]):
                schema["description"] = description
            self.definitions[name] = schema
        return {"$ref": f"#/$defs/{name}"}

    def _ancestors(self, name: str) -> set[str]:
        ancestors: set[str] = set()
        unread = [name]
        while unread:
            found = self._classes.get(unread.pop())
            bases = set() if found is None else {_name(base) for base in found.bases}
            unread += bases - ancestors
            ancestors |= bases
        return ancestors

    def _fields_of(self, name: str) -> dict[str, tuple[ast.expr, bool]]:
        """Return the annotation of every key, inherited ones first, and whether it is required."""
        if name not in self._fields:
            node = self._classes[name]
            fields: dict[str, tuple[ast.expr, bool]] = {}
            for base in map(_name, node.bases):
                fields |= self._fields_of(base) if base in self._classes else {}
            for line in node.body:
                if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
                    annotation, is_required = line.annotation, _is_total(node)
                    if isinstance(annotation, ast.Subscript) and _name(annotation.value) in _REQUIRED:
                        is_required = _REQUIRED[_name(annotation.value)]
                        annotation = annotation.slice
                    fields[line.target.id] = annotation, is_required
            self._fields[name] = fields
        return self._fields[name]


def _name(node: ast.expr) -> str:
    """Return a type's name: `Optional` also for `typing.Optional`."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return _SYNONYMS.get(name, name)
        case ast.Constant(value=None):
            return "None"
    return ""


def _is_total(node: ast.ClassDef) -> bool:
    return not any(
        keyword.arg == "total" and isinstance(keyword.value, ast.Constant) and keyword.value.value is False
        for keyword in node.keywords
    )


def _members(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return [*_members(node.left), *_members(node.right)]
    return [node]


def _literal(node: ast.expr) -> Any:
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError):
        value = ...
    if value is None or isinstance(value, str | int):
        return value
    raise AnnotationError(node, "Literal takes strings, integers, True, False and None.")
