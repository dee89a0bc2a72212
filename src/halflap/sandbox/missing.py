"""What a program is told when a key, index or attribute is missing: what the value is, and which keys it has.

The one place for these explanations, whatever sandbox found the mistake. Only the standard library is used: the jail loads
this module before it is locked. Nothing here runs code of the program: a value is asked for its exact type first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from halflap.sandbox.media import Media
from halflap.sandbox.messages import NOT_AWAITED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["MOST_KEYS", "Results", "Seen", "explain_missing", "is_plain", "look_at"]

MOST_KEYS = 30
"""Keys that are listed."""
_MOST_KEYS_KEPT = 4 * MOST_KEYS
_LONGEST_TEXT = 80
_DEEPEST = 6
_DEEPEST_KEPT = 3
_MOST_TOOLS = 100
_MOST_ROWS = 100
_LARGEST_NUMBER = 10**18
_PLAIN = frozenset({str, int, float, bool, type(None)})


@dataclass(frozen=True)
class Seen:
    """A summary of a value."""

    kind: str
    """The name of its type."""
    count: int = 0
    """The length of a dict or list."""
    keys: Sequence[Any] = ()
    first: Seen | None = None
    """The first item of a list."""
    text: str = ""
    """The beginning of a text."""
    inside: Mapping[Any, Seen] = field(default_factory=dict)
    """The dicts and lists in a dict that a tool returned."""


class Results:
    """Remembers which tool returned objects with which keys, not the objects themselves."""

    def __init__(self) -> None:
        self._tools: dict[frozenset[str], set[str]] = {}
        self._last: dict[str, Seen] = {}

    def note(self, tool: str, value: Any) -> None:
        seen = self._note(tool, value, 0)
        if tool in self._last or len(self._last) < _MOST_TOOLS:
            self._last[tool] = seen

    def last(self, tool: str) -> Seen | None:
        """Return a summary of a tool's last result."""
        return self._last.get(tool)

    def tool_of(self, keys: Iterable[Any]) -> str | None:
        """Return the tool that an object with these keys came from, if only one returned such objects."""
        keys = list(keys)
        tools = self._tools.get(frozenset(keys), set()) if all(map(is_plain, keys)) else set()
        return next(iter(tools)) if len(tools) == 1 else None

    def _note(self, tool: str, value: Any, depth: int) -> Seen:
        if type(value) is dict:
            self._note_keys(tool, value)
            inside = {}
            for key, inner in islice(value.items(), MOST_KEYS if depth < _DEEPEST else 0):
                if type(inner) in {dict, list}:
                    seen = self._note(tool, inner, depth + 1)
                    if depth < _DEEPEST_KEPT:
                        inside[key] = seen
            return Seen("dict", len(value), keys=list(islice(value, _MOST_KEYS_KEPT)), inside=inside)
        if type(value) is list and value and depth < _DEEPEST:
            for row in islice(value, 1, _MOST_ROWS):
                # Rows of one list need not have the same keys.
                if type(row) is dict:
                    self._note_keys(tool, row)
            return Seen("list", len(value), first=self._note(tool, value[0], depth + 1))
        return look_at(value, _DEEPEST)

    def _note_keys(self, tool: str, value: dict[Any, Any]) -> None:
        if len(value) <= _MOST_KEYS_KEPT:
            self._tools.setdefault(frozenset(value), set()).add(tool)


def is_plain(value: Any) -> bool:
    """Return whether a value can be compared, hashed and shown without running code of the program."""
    return type(value) in _PLAIN


def look_at(value: Any, depth: int = 0) -> Seen:
    """Return a summary of a value."""
    if type(value) is dict:
        return Seen("dict", len(value), keys=list(value))
    if type(value) is list:
        first = look_at(value[0], depth + 1) if value and depth < _DEEPEST else None
        return Seen("list", len(value), first=first)
    if issubclass(type(value), str):
        return Seen("str", text=str.__getitem__(value, slice(_LONGEST_TEXT)))
    if type(value) is Media:
        return Seen("media")
    if type(value) in {int, float} and -_LARGEST_NUMBER < value < _LARGEST_NUMBER:
        return Seen(type(value).__name__, text=repr(value))
    # A class of the program may compute its name.
    return Seen(type.__dict__["__name__"].__get__(type(value)))


def explain_missing(there: Seen, wanted: Any, results: Results, *, by_attribute: bool) -> str | None:
    """Return what a value is, or has, instead of what was looked for in it."""
    texts = {
        "coroutine": NOT_AWAITED,
        "list": f"The value is a list of {there.count}, the first of them {_kind(there.first)}: take an item by its "
        "index, or loop over them.",
        "str": f"The value is text, not an object: {there.text!r}",
        "NoneType": "The value is None.",
        "media": "The value is an image, a sound or a resource: it has .kind, .mime_type, .uri, .name, .text and .data "
        "(bytes), and show() shows it to the model.",
    }
    if there.kind == "dict":
        return _explain_key(there, wanted, results, by_attribute=by_attribute)
    if there.kind in {"int", "float", "bool"}:
        return f"The value is {_kind(there)}, {there.text or 'true or false'}, and has no parts."
    return texts.get(there.kind)


def _explain_key(there: Seen, wanted: Any, results: Results, *, by_attribute: bool) -> str:
    tool = results.tool_of(there.keys)
    where = f"the result of {tool}" if tool is not None else "this dict"
    if by_attribute and any(type(key) is str and key == wanted for key in there.keys):
        return f"{where[0].upper()}{where[1:]} is a dict: write [{wanted!r}] instead of .{wanted}."
    name = repr(wanted) if is_plain(wanted) else f"A {look_at(wanted).kind}"
    more = f", … ({there.count} in all)" if there.count > MOST_KEYS else ""
    return f"{name} is not in {where}; keys: {_keys(there) or 'none'}{more}"


def _keys(there: Seen) -> str:
    return ", ".join(str(key) if is_plain(key) else look_at(key).kind for key in there.keys[:MOST_KEYS])


def _kind(seen: Seen | None) -> str:
    if seen is None:
        return "nothing"
    if seen.kind == "dict":
        return f"a dict with the keys {_keys(seen)}" if seen.keys else "an empty dict"
    if seen.kind == "NoneType":
        return "None"
    return f"{'an' if seen.kind[:1].lower() in 'aeiou' else 'a'} {seen.kind}"
