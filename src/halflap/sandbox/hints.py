"""What a program is told where it looked for something that is not there: the same words in every sandbox.

The standard library alone: the jail loads this before the locks, too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from halflap.sandbox.media import Media

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = [
    "FILE",
    "MOST_KEYS",
    "NOT_AWAITED",
    "NO_FILES",
    "NO_HELP",
    "Provenance",
    "Seen",
    "is_plain",
    "kind_of",
    "see",
    "what_is_there",
]

FILE = "program.py"
MOST_KEYS = 30
"""So many keys are named."""
_LONGEST_TEXT = 80
_DEEPEST = 6
_DEEPEST_KEPT = 3
_MOST_TOOLS = 100
_MOST_ROWS = 100
_LARGEST_NUMBER = 10**18
_MEDIA = "an image, a sound or a resource"
_PLAIN = frozenset({str, int, float, bool, type(None)})

NO_FILES = "Programs have no files, network or processes: data comes from tools, and goes out by print()."
NOT_AWAITED = "The value is a call that was not awaited: write `await` before it."
NO_HELP = "There is no help() in programs: print(tool.__doc__) shows what a tool takes."


class Provenance:
    """Remembers which tool returned objects with which keys; of the objects themselves nothing is kept."""

    def __init__(self) -> None:
        self._tools: dict[frozenset[str], set[str]] = {}
        self._last: dict[str, Seen] = {}

    def note(self, tool: str, value: Any) -> None:
        """Take note of the objects in a result: of a list, what is within the first one stands for all."""
        seen = self._note(tool, value, 0)
        if tool in self._last or len(self._last) < _MOST_TOOLS:
            self._last[tool] = seen

    def last(self, tool: str) -> Seen | None:
        """Give what there is to say about the last result of a tool."""
        return self._last.get(tool)

    def _note(self, tool: str, value: Any, depth: int) -> Seen:
        if type(value) is dict:
            if len(value) <= MOST_KEYS * 4:
                self._tools.setdefault(frozenset(value), set()).add(tool)
            inside = {}
            for key, inner in islice(value.items(), MOST_KEYS if depth < _DEEPEST else 0):
                if type(inner) in {dict, list}:
                    seen = self._note(tool, inner, depth + 1)
                    if depth < _DEEPEST_KEPT:
                        inside[key] = seen
            return Seen("dict", len(value), keys=list(islice(value, MOST_KEYS * 4)), inside=inside)
        if type(value) is list and value and depth < _DEEPEST:
            for row in islice(value, 1, _MOST_ROWS):
                # Rows of one list need not have the same keys.
                if type(row) is dict and len(row) <= MOST_KEYS * 4:
                    self._tools.setdefault(frozenset(row), set()).add(tool)
            return Seen("list", len(value), first=self._note(tool, value[0], depth + 1))
        return see(value, _DEEPEST)

    def tool_of(self, keys: Iterable[Any]) -> str | None:
        """Say which tool an object with these keys came from, if only one returned such objects."""
        keys = list(keys)
        if not all(map(is_plain, keys)):
            return None
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
    inside: Mapping[Any, Seen] = field(default_factory=dict)
    """Of a dict that a tool returned: the dicts and lists in it."""


def is_plain(value: Any) -> bool:
    """Whether a value can be compared, hashed and shown without running anything of a program."""
    return type(value) in _PLAIN


def see(value: Any, depth: int = 0) -> Seen:
    """Look at a value without running anything of its own."""
    if type(value) is dict:
        return Seen("dict", len(value), keys=list(value))
    if type(value) is list:
        first = see(value[0], depth + 1) if value and depth < _DEEPEST else None
        return Seen("list", len(value), first=first)
    if issubclass(type(value), str):
        return Seen("str", text=str.__getitem__(value, slice(_LONGEST_TEXT)))
    if type(value) is Media:
        return Seen("media")
    if type(value) in {int, float} and -_LARGEST_NUMBER < value < _LARGEST_NUMBER:
        return Seen(type(value).__name__, text=repr(value))
    # A class of the program may have a name that it works out itself.
    return Seen(type.__dict__["__name__"].__get__(type(value)))


def what_is_there(there: Seen, wanted: Any, provenance: Provenance, *, by_attribute: bool) -> str | None:
    """Say what a value is, or has, instead of what was looked for in it."""
    said = None
    if there.kind == "dict":
        said = _what_is_in(there, wanted, provenance, by_attribute=by_attribute)
    elif there.kind == "coroutine":
        said = NOT_AWAITED
    elif there.kind == "list":
        inner = "nothing" if there.first is None else kind_of(there.first)
        said = f"The value is a list of {there.count}, the first of them {inner}: take one by its index, or go through them."
    elif there.kind == "str":
        said = f"The value is text, not an object: {there.text!r}"
    elif there.kind == "NoneType":
        said = "The value is None."
    elif there.kind == "media":
        said = (
            f"The value is {_MEDIA}: it has .kind, .mime_type, .uri, .name, .text and .data (its bytes), and show() puts "
            "it before the model."
        )
    elif there.kind in {"int", "float", "bool"}:
        said = f"The value is {kind_of(there)}{f', {there.text},' if there.text else ''} and has nothing within it."
    return said


def _what_is_in(there: Seen, wanted: Any, provenance: Provenance, *, by_attribute: bool) -> str:
    tool = provenance.tool_of(there.keys)
    where = f"the result of {tool}" if tool is not None else "this dict"
    if by_attribute and any(type(key) is str and key == wanted for key in there.keys):
        return f"{where[0].upper()}{where[1:]} is a dict: write [{wanted!r}] instead of .{wanted}."
    name = repr(wanted) if is_plain(wanted) else f"A {see(wanted).kind}"
    more = f", … ({there.count} in all)" if there.count > MOST_KEYS else ""
    return f"{name} is not in {where}; keys: {_keys(there) or 'none'}{more}"


def _keys(there: Seen) -> str:
    return ", ".join(str(key) if is_plain(key) else see(key).kind for key in there.keys[:MOST_KEYS])


def kind_of(seen: Seen) -> str:
    """Say what a value is."""
    if seen.kind == "dict":
        return f"a dict with the keys {_keys(seen)}" if seen.keys else "an empty dict"
    if seen.kind == "NoneType":
        return "None"
    if seen.kind == "media":
        return _MEDIA
    return f"{'an' if seen.kind[:1].lower() in 'aeiou' else 'a'} {seen.kind}"
