"""What a program is told where it looked for something that is not there: the same words in every sandbox.

The standard library alone: the jail loads this before the locks, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["FILE", "MOST_KEYS", "NOT_AWAITED", "NO_FILES", "Provenance", "Seen", "see", "what_is_there"]

FILE = "program.py"
MOST_KEYS = 30
"""So many keys are named."""
_LONGEST_TEXT = 80
_DEEPEST = 6

NO_FILES = "Programs have no files, network or processes: data comes from tools, and goes out by print()."
NOT_AWAITED = "The value is a call that was not awaited: write `await` before it."


class Provenance:
    """Remembers which tool returned objects with which keys; of the objects themselves nothing is kept."""

    def __init__(self) -> None:
        self._tools: dict[frozenset[str], set[str]] = {}

    def note(self, tool: str, value: Any, depth: int = 0) -> None:
        """Take note of the objects in a result: of a list, the first one stands for all."""
        if type(value) is dict:
            if len(value) <= MOST_KEYS * 4:
                self._tools.setdefault(frozenset(value), set()).add(tool)
            if depth < _DEEPEST:
                for inner in list(value.values())[:MOST_KEYS]:
                    self.note(tool, inner, depth + 1)
        elif type(value) is list and value and depth < _DEEPEST:
            self.note(tool, value[0], depth + 1)

    def tool_of(self, keys: Iterable[Any]) -> str | None:
        """Say which tool an object with these keys came from, if only one returned such objects."""
        tools = self._tools.get(frozenset(keys), set())
        return next(iter(tools)) if len(tools) == 1 else None


@dataclass(frozen=True)
class Seen:
    """As much of a value as there is to say about it."""

    kind: str
    """The name of its type."""
    count: int = 0
    """How many a dict or list has."""
    keys: Sequence[Any] = ()
    """Of a dict: all, or so many that there are more than any tool's object has."""
    first: Seen | None = None
    """Of a list."""
    text: str = ""
    """How a text begins."""


def see(value: Any, depth: int = 0) -> Seen:
    """Look at a value without running anything of its own."""
    if type(value) is dict:
        return Seen("dict", len(value), keys=list(value))
    if type(value) is list:
        first = see(value[0], depth + 1) if value and depth < _DEEPEST else None
        return Seen("list", len(value), first=first)
    if isinstance(value, str):
        return Seen("str", text=value[:_LONGEST_TEXT])
    return Seen(type(value).__name__)


def what_is_there(there: Seen, wanted: Any, provenance: Provenance, *, by_attribute: bool) -> str | None:
    """Say what a value is, or has, instead of what was looked for in it."""
    said = None
    if there.kind == "dict":
        said = _what_is_in(there, wanted, provenance, by_attribute=by_attribute)
    elif there.kind == "coroutine":
        said = NOT_AWAITED
    elif there.kind == "list":
        inner = "nothing" if there.first is None else _kind(there.first)
        said = f"The value is a list of {there.count}, the first of them {inner}: take one by its index, or go through them."
    elif there.kind == "str":
        said = f"The value is text, not an object: {there.text!r}"
    elif there.kind == "NoneType":
        said = "The value is None."
    return said


def _what_is_in(there: Seen, wanted: Any, provenance: Provenance, *, by_attribute: bool) -> str:
    tool = provenance.tool_of(there.keys)
    where = f"the result of {tool}" if tool is not None else "this dict"
    if by_attribute and wanted in there.keys:
        return f"{where[0].upper()}{where[1:]} is a dict: write [{wanted!r}] instead of .{wanted}."
    keys = ", ".join(str(key) for key in there.keys[:MOST_KEYS])
    more = f", … ({there.count} in all)" if there.count > MOST_KEYS else ""
    return f"{wanted!r} is not in {where}; keys: {keys or 'none'}{more}"


def _kind(seen: Seen) -> str:
    if seen.kind == "dict":
        return "a dict with the keys " + ", ".join(str(key) for key in seen.keys[:MOST_KEYS])
    return f"a {seen.kind}"
