"""How large a JSON value is: counted before anything is done with it that takes as long as it is large."""

from __future__ import annotations

import math
from typing import Any

from halflap.schema.patterns import cost_of_pattern

__all__ = ["is_small", "size_of", "size_of_schema"]

_LETTERS = 64
"""So many letters of a text count as one part."""
_SMALL = 2_000


def size_of(value: Any, most: float) -> float:
    """Count the parts of a value, itself included, long texts by their length; infinity beyond the most."""
    count = 0
    rest = [value]
    while rest and count <= most:
        part = rest.pop()
        count += 1
        if isinstance(part, str):
            count += len(part) // _LETTERS
        elif isinstance(part, dict):
            rest += part.values()
            count += sum(len(key) // _LETTERS for key in part if isinstance(key, str))
        elif isinstance(part, list | tuple):
            rest += part
    return count if not rest and count <= most else math.inf


def size_of_schema(schema: Any, most: float) -> float:
    """Count the same of a schema, and what it takes to compile its patterns."""
    count = size_of(schema, most)
    rest = [schema] if count <= most else []
    while rest and count <= most:
        part = rest.pop()
        if isinstance(part, dict):
            if isinstance(part.get("pattern"), str):
                count += cost_of_pattern(part["pattern"])
            patterns = part.get("patternProperties")
            if isinstance(patterns, dict):
                count += sum(map(cost_of_pattern, patterns))
            rest += part.values()
        elif isinstance(part, list):
            rest += part
    return count if count <= most else math.inf


def is_small(*values: Any) -> bool:
    """Say whether work on these is over before anybody else would have had to wait for it."""
    return all(size_of(value, _SMALL) <= _SMALL for value in values)
