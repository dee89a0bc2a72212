"""Names for the variables of a generated program."""

from __future__ import annotations

import builtins
import keyword
import re
from typing import TYPE_CHECKING

from halflap.graph.naming import subject_of, verb_at, words_of
from halflap.graph.naming.vocabulary import CONTAINERS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from halflap.graph.paths import Path

__all__ = ["Names"]

_MAX_NAME = 40
_NO_LETTER = re.compile(r"[^0-9a-z]+")
_RESERVED = frozenset(
    {"asyncio", "json", "call_tool", "show", "ToolError", "self", "main", "match", "case", "type"}
)


class Names:
    """Names for the variables of a program: readable, valid, and none used twice."""

    OWN = frozenset({*dir(builtins), *keyword.kwlist, *_RESERVED})
    """Names with a meaning in every program."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._tools = frozenset(taken)
        self._taken = {*self._tools, *dir(builtins), *keyword.kwlist, *keyword.softkwlist, *_RESERVED}

    def make(self, text: str, otherwise: str = "value") -> str:
        """Return a new name made from a text."""
        stem = _NO_LETTER.sub("_", text.lower()).strip("_")[:_MAX_NAME].strip("_")
        if not stem or stem[0].isdigit() or stem.startswith(("mcp__", "script__", "dspy__")):
            stem = f"{otherwise}_{stem}".rstrip("_")
        name, number = stem, 2
        while name in self._taken:
            name, number = f"{stem}_{number}", number + 1
        self._taken.add(name)
        return name

    def of_result(self, tool: str, *, several: bool) -> str:
        """Name a tool's result, or the list of several, after the tool without its verb."""
        parts = [one for one in _NO_LETTER.sub("_", tool.lower()).strip("_").split("_") if one]
        if len(parts) > 1 and verb_at(parts[:1]) == 0:
            parts = parts[1:]
        return self.make("_".join([*parts, "results"] if several else parts), "result")

    def of_item(self, path: Path, tool: str) -> str:
        """Name an item of a loop over a tool's result."""
        keys = [words_of(step.key) for step in path if step.kind == "key"]
        words = keys[-1] if keys and not CONTAINERS.issuperset(keys[-1]) else subject_of(tool).thing
        name = "_".join(one for one in words if one.isascii())
        if path[-1].kind == "name":
            return self.make(f"{name}_key" if name else "key")
        return self.make(name or "item", "item")

    def inside(self) -> Names:
        """Start the names of a function, which may hide those around it."""
        return Names(self._tools)
