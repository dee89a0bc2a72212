"""The identifiers in a program, and how tool names begin."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["PREFIXES", "names_in"]

PREFIXES: Final = ("mcp__", "script__", "dspy__")
_NAME = re.compile(r"[^\W\d]\w*")


def names_in(code: str) -> set[str]:
    """Return every word of a text that could be an identifier."""
    return set(_NAME.findall(code))
