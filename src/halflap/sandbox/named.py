"""The names that stand in a program."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["PREFIXES", "names_in"]

PREFIXES: Final = ("mcp__", "script__", "dspy__")
"""What the names of tools begin with."""
_NAME = re.compile(r"[^\W\d]\w*")


def names_in(code: str) -> set[str]:
    """Give every word of a program that could be a name."""
    return set(_NAME.findall(code))
