"""Where in a value, and where in a schema, something is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from halflap.core.text import visible
from halflap.schema.write import literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    import jsonschema_rs

    from halflap.schema.refer import References

__all__ = ["find", "follow", "path_of", "same_value", "walk"]

_LONGEST_NAME = 100
_LONGEST_PATH = 1_000
_WORD = re.compile(r"[\w$@-]+")
_IN_PLACE = frozenset({"not", "if", "then", "else", "$ref", "$dynamicRef", "$recursiveRef"})
_IN_PLACE_NAMED = frozenset({"allOf", "anyOf", "oneOf", "dependentSchemas", "dependencies"})
_WITHIN = frozenset(
    {"additionalProperties", "unevaluatedProperties", "additionalItems", "unevaluatedItems", "contains"}
)
_WITHIN_NAMED = frozenset({"properties", "patternProperties", "prefixItems"})


def path_of(parts: Sequence[str | int]) -> str:
    """Write where in a value something is: `orders[2].total`, `a["1"]`, which is a key and not a place."""
    text = ""
    for part in parts[:_LONGEST_PATH]:
        if isinstance(part, int):
            text += f"[{part}]"
        elif _WORD.fullmatch(part) and not part.isdigit() and len(part) <= _LONGEST_NAME:
            shown = visible(part, _LONGEST_NAME)
            text += shown if not text else f".{shown}"
        else:
            text += f"[{literal(part)}]"
    return text[:_LONGEST_PATH]


def find(error: jsonschema_rs.ValidationError, whole: Any) -> tuple[list[str | int], Any]:
    """Find what an error is about in the value itself: the library takes NaN, which JSON has not, for null."""
    names, value = walk(whole, error.instance_path)
    while isinstance(value, dict) and "" in value and value != error.instance:
        names, value = [*names, ""], value[""]
    return names, value if value is not None else error.instance


def walk(value: Any, path: Sequence[str | int]) -> tuple[list[str | int], Any]:
    """Follow a path of the library's: it gives the key "1" as the number 1, and leaves out an empty key."""
    names: list[str | int] = []
    for token in path:
        name = _name(value, token)
        while name is None and isinstance(value, dict) and "" in value:
            names.append("")
            value = value[""]
            name = _name(value, token)
        names.append(token if name is None else name)
        value = None if name is None else value[name]
    return names, value


def follow(schema: Any, path: Sequence[str | int], references: References) -> Any:
    """Follow the way on which a part of a schema was reached, through references."""
    for token in path:
        said = schema.get(token) if isinstance(schema, dict) and isinstance(token, str) else None
        if isinstance(said, str) and str(token).startswith("$"):
            schema = references.find(said)
        else:
            schema = walk(schema, [token])[1]
    return schema


def same_value(path: Sequence[str | int]) -> int:
    """Say how much of a way leads to the outermost part that is held against the same value as its end."""
    at = start = 0
    while at < len(path):
        word = path[at]
        if word in _IN_PLACE_NAMED:
            at += 2
        elif word in _IN_PLACE:
            at += 1
        elif word in _WITHIN_NAMED:
            start = at = at + 2
        elif word in _WITHIN:
            start = at = at + 1
        elif word == "items":
            # Before 2020-12 there may be a list of them.
            start = at = at + (2 if at + 1 < len(path) and isinstance(path[at + 1], int) else 1)
        else:
            break
    return min(start, len(path))


def _name(value: Any, token: str | int) -> str | int | None:
    if isinstance(value, list | tuple):
        return token if isinstance(token, int) and token < len(value) else None
    if not isinstance(value, dict) or str(token) in value:
        return str(token) if isinstance(value, dict) else None
    # It reads "01" as a number too.
    return next((key for key in value if key.isdecimal() and int(key[:9]) == token), None)
