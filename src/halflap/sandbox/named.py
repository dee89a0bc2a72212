"""The names in a program."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["PREFIXES", "names_in"]

PREFIXES: Final = ("mcp__", "script__", "dspy__")
"""The prefixes of tool names."""
_NAME = re.compile(r"[^\W\d]\w*")


def names_in(code: str) -> set[str]:
    return set(_NAME.findall(code))
