"""Where something is in every value of a schema: the places as it declares them, and nothing of one value's data."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from halflap.schema.place import path_of

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["declared_names", "general_path"]

_STEP = re.compile(
    r"""
      \[(?P<number>\d+)\]
    | \["(?P<quoted>(?:[^"\\]|\\.)*)"\]
    | (?P<cut>\["[^\]]*\]?)                 # a key that was too long to be written whole
    | (?P<name>[^.\[\]]+)
    """,
    re.VERBOSE,
)
_NAMES = frozenset({"properties", "dependentSchemas", "dependentRequired", "dependencies"})
_MOST_PARTS = 100_000
_ESCAPED = re.compile(r"\\(.)")


def declared_names(schema: Any) -> frozenset[str]:
    """Give every name of a key that a schema has in it."""
    names: set[str] = set()
    waiting, left = [schema], _MOST_PARTS
    while waiting and left:
        left -= 1
        part = waiting.pop()
        if isinstance(part, dict):
            for key, inner in part.items():
                if key in _NAMES and isinstance(inner, dict):
                    names.update(inner)
                if key in _NAMES | {"required"}:
                    lists = inner.values() if isinstance(inner, dict) else [inner]
                    names.update(
                        name
                        for one in lists
                        if isinstance(one, list)
                        for name in one
                        if isinstance(name, str)
                    )
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
    return frozenset(names)


def general_path(path: str, names: frozenset[str], is_name: Callable[[str], bool] = lambda _: False) -> str:
    """Write a place as it is for every value: `orders[].total`, with `[key]` for each key that no schema names.

    Such a key may be anything, also somebody's name. The last one is written nevertheless if it `is_name`.
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
