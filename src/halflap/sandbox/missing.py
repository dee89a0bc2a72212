"""What a program is told when a key, index or attribute is missing: what the value is, and which keys it has.

The one place for these explanations, whatever sandbox found the mistake. Only the standard library is used: the jail loads
this module before it is locked. Nothing here runs code of the program: a value is asked for its exact type first.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from halflap.sandbox.media import Media
from halflap.sandbox.messages import NOT_AWAITED

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Results", "explain_missing", "has_key", "is_plain", "objects_in"]

_MOST_KEYS = 30
"""Keys that are listed."""
_MOST_COMPARED = 1_000
_MOST_TOOLS = 100
_MOST_OBJECTS = 10_000
_LONGEST_TEXT = 80
_LARGEST_NUMBER = 10**18
_PLAIN = frozenset({str, int, float, bool, type(None)})


class Results:
    """The last result of each tool."""

    def __init__(self) -> None:
        self._last: dict[str, Any] = {}

    def note(self, tool: str, value: Any) -> None:
        if tool in self._last or len(self._last) < _MOST_TOOLS:
            self._last[tool] = value

    def last(self, tool: str) -> Any:
        """Return the last result of a tool; raise `KeyError` if there is none."""
        return self._last[tool]

    def tool_of(self, value: dict[Any, Any]) -> str | None:
        """Return the tool whose last result has objects with the same keys, if there is only one."""
        keys = value.keys()
        if not all(map(is_plain, keys)):
            return None
        tools = [
            tool
            for tool, result in self._last.items()
            if any(
                len(one) == len(keys) and all(map(is_plain, one)) and one.keys() == keys
                for one in objects_in(result)
            )
        ]
        return tools[0] if len(tools) == 1 else None


def objects_in(value: Any) -> Iterator[dict[Any, Any]]:
    """Return the dicts in a value, the outermost first, up to a number."""
    waiting = [value]
    for _ in range(_MOST_OBJECTS):
        if not waiting:
            return
        one = waiting.pop(0) if len(waiting) < _MOST_KEYS else waiting.pop()
        if type(one) is dict:
            yield one
            waiting += [
                inner for inner in islice(one.values(), _MOST_COMPARED) if type(inner) in {dict, list}
            ]
        elif type(one) is list:
            waiting += [inner for inner in islice(one, _MOST_COMPARED) if type(inner) in {dict, list}]


def is_plain(value: Any) -> bool:
    """Return whether a value can be compared, hashed and shown without running code of the program."""
    return type(value) in _PLAIN


def has_key(value: dict[Any, Any], wanted: Any) -> bool:
    """Return whether a dict has a plain key, compared with its other plain keys alone."""
    return is_plain(wanted) and any(
        type(key) is type(wanted) and key == wanted for key in islice(value, _MOST_COMPARED)
    )


def explain_missing(value: Any, wanted: Any, results: Results, *, by_attribute: bool) -> str | None:
    """Return what a value is, or has, instead of what was looked for in it."""
    kind: type = type(value)
    said = None
    if kind is dict:
        said = _explain_key(value, wanted, results, by_attribute=by_attribute)
    elif kind is list:
        first = _kind(value[0]) if value else "nothing"
        said = f"The value is a list of {len(value)}, the first of them {first}: take an item by its index, or loop over them."
    elif issubclass(kind, str):
        text = str.__getitem__(value, slice(_LONGEST_TEXT))
        said = f"The value is text, not an object: {text!r}"
    elif value is None:
        said = "The value is None."
    elif kind is Media:
        said = (
            "The value is an image, a sound or a resource: it has .kind, .mime_type, .uri, .name, .text and .data "
            "(bytes), and show() shows it to the model."
        )
    elif kind is bool or (kind in {int, float} and -_LARGEST_NUMBER < value < _LARGEST_NUMBER):
        said = f"The value is {_kind(value)}, {value!r}, and has no parts."
    elif _name(kind) == "coroutine":
        said = NOT_AWAITED
    return said


def _explain_key(value: dict[Any, Any], wanted: Any, results: Results, *, by_attribute: bool) -> str:
    tool = results.tool_of(value)
    where = f"the result of {tool}" if tool is not None else "this dict"
    if by_attribute and has_key(value, wanted):
        return f"{where[0].upper()}{where[1:]} is a dict: write [{wanted!r}] instead of .{wanted}."
    name = repr(wanted) if is_plain(wanted) else f"A {_name(type(wanted))}"
    more = f", … ({len(value)} in all)" if len(value) > _MOST_KEYS else ""
    return f"{name} is not in {where}; keys: {_keys(value) or 'none'}{more}"


def _keys(value: dict[Any, Any]) -> str:
    return ", ".join(str(key) if is_plain(key) else _name(type(key)) for key in islice(value, _MOST_KEYS))


def _kind(value: Any) -> str:
    if type(value) is dict:
        return f"a dict with the keys {_keys(value)}" if value else "an empty dict"
    if value is None:
        return "None"
    name = _name(type(value))
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def _name(kind: type) -> str:
    # A class of the program may compute its name.
    name: str = type.__dict__["__name__"].__get__(kind)
    return name
