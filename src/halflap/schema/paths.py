"""Places in values and in schemas: following the validator's paths, and stating them without a value's data."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from halflap.schema.text import path_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import jsonschema_rs

    from halflap.schema.refs import References

__all__ = ["declared_names", "find", "follow", "general_path", "same_value", "walk"]

_SAME_VALUE = frozenset({"not", "if", "then", "else", "$ref", "$dynamicRef", "$recursiveRef"})
_SAME_VALUE_NAMED = frozenset({"allOf", "anyOf", "oneOf", "dependentSchemas", "dependencies"})
_INNER = frozenset(
    {"additionalProperties", "unevaluatedProperties", "additionalItems", "unevaluatedItems", "contains"}
)
_INNER_NAMED = frozenset({"properties", "patternProperties", "prefixItems"})
_STEP = re.compile(
    r"""
      \[(?P<number>\d+)\]
    | \["(?P<quoted>(?:[^"\\]|\\.)*)"\]
    | (?P<cut>\["[^\]]*\]?)                 # a key that was too long to be written whole
    | (?P<name>[^.\[\]]+)
    """,
    re.VERBOSE,
)
_ESCAPED = re.compile(r"\\(.)")
_NAMING = frozenset({"properties", "dependentSchemas", "dependentRequired", "dependencies"})
_MAX_PARTS = 100_000


def find(error: jsonschema_rs.ValidationError, whole: Any) -> tuple[list[str | int], Any]:
    """Find the value that an error is about; the library's own copy has null for NaN."""
    names, value = walk(whole, error.instance_path)
    return names, value if value is not None else error.instance


def walk(value: Any, path: Sequence[str | int]) -> tuple[list[str | int], Any]:
    """Follow a path of the library's, which gives the key "1" as the number 1; the value is None if there is none."""
    names: list[str | int] = []
    for token in path:
        names.append(str(token) if isinstance(value, dict) else token)
        try:
            value = value[names[-1]]
        except (KeyError, IndexError, TypeError):
            value = None
    return names, value


def follow(schema: Any, path: Sequence[str | int], references: References) -> Any:
    """Follow an evaluation path through a schema and its references."""
    for token in path:
        target = schema.get(token) if isinstance(schema, dict) and isinstance(token, str) else None
        if isinstance(target, str) and str(token).startswith("$"):
            schema = references.find(target)
        else:
            schema = walk(schema, [token])[1]
    return schema


def same_value(path: Sequence[str | int]) -> int:
    """Return the length of the shortest prefix of an evaluation path whose schema applies to the same value."""
    at = start = 0
    while at < len(path):
        word = path[at]
        if word in _SAME_VALUE_NAMED:
            at += 2
        elif word in _SAME_VALUE:
            at += 1
        elif word in _INNER_NAMED:
            start = at = at + 2
        elif word in _INNER:
            start = at = at + 1
        elif word == "items":
            # Before 2020-12 this may be a list.
            start = at = at + (2 if at + 1 < len(path) and isinstance(path[at + 1], int) else 1)
        else:
            break
    return min(start, len(path))


def declared_names(schema: Any) -> frozenset[str]:
    """Return every key that a schema names, anywhere in it."""
    names: set[str] = set()
    waiting, left = [schema], _MAX_PARTS
    while waiting and left:
        left -= 1
        part = waiting.pop()
        if isinstance(part, dict):
            for word, inner in part.items():
                if word in _NAMING and isinstance(inner, dict):
                    names.update(inner)
                if word in _NAMING or word == "required":
                    lists = inner.values() if isinstance(inner, dict) else [inner]
                    listed = [name for one in lists if isinstance(one, list) for name in one]
                    names.update(name for name in listed if isinstance(name, str))
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
    return frozenset(names)


def general_path(path: str, names: frozenset[str], is_name: Callable[[str], bool] = lambda _: False) -> str:
    """Rewrite a path so that it holds for every value: `orders[].total`, with `[key]` for undeclared keys.

    An undeclared key may be anything, such as a person's name. The last one is kept if `is_name` accepts it.
    """
    steps = list(_STEP.finditer(path))
    is_whole = not any(step["cut"] for step in steps)
    general = ""
    for at, step in enumerate(steps):
        if step["number"] is not None:
            general += "[]"
            continue
        name = step["name"] if step["quoted"] is None else _ESCAPED.sub(r"\1", step["quoted"])
        is_last = is_whole and at == len(steps) - 1
        if name is None or not (name in names or (is_last and is_name(name))):
            general += "[key]"
            continue
        written = path_of([name])
        general += written if not general or written.startswith("[") else f".{written}"
    return general
