"""Look at the values of a program from where it failed, without running anything of it."""

from __future__ import annotations

import ast
import sys
from dataclasses import replace
from inspect import getattr_static
from itertools import islice
from typing import TYPE_CHECKING, Any

from halflap.sandbox.hints import Seen, is_plain, see, what_is_there

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from halflap.sandbox.hints import Provenance

__all__ = ["Look", "UnknownError", "has", "object_of"]

_MOST_KEYS_COMPARED = 1_000
_MOST_NAMES = 1_000
_MOST_ROWS = 1_000


def has(keys: Any, wanted: Any) -> bool:
    """Whether a key is among some."""
    return is_plain(wanted) and any(
        type(key) is type(wanted) and key == wanted for key in islice(keys, _MOST_KEYS_COMPARED)
    )


def object_of(seen: Seen) -> Seen | None:
    """Give the dict that a value is, or is a list of."""
    if seen.kind == "list" and seen.first is not None:
        seen = seen.first
    return seen if seen.kind == "dict" else None


class UnknownError(Exception):
    """The value of an expression can't be had without running something."""


def _scope() -> Any:
    return sys._getframe().f_locals  # noqa: SLF001 -- only its type is looked at


_SCOPES = (dict, type(_scope()))
"""The body of a class can have names in something of the program's own."""


class Look:
    """Looks at values from a frame."""

    def __init__(self, frame: FrameType, provenance: Provenance, wanted: str | None = None) -> None:
        self.provenance = provenance
        self._wanted = wanted
        """The key that was not there, if it was one."""
        self._scopes = [names for names in (frame.f_locals, frame.f_globals) if type(names) in _SCOPES]

    def value(self, node: ast.expr) -> Any:
        """Give the value of a simple expression: names, constants, and places in plain dicts and lists."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return self._named(node.id)
        if isinstance(node, ast.Subscript):
            return self._part(node.value, node.slice)
        if isinstance(node, ast.Attribute):
            return _attribute(self.value(node.value), node.attr)
        if (got := _got(node)) is not None:
            outer, key = self.value(got[0]), self.value(got[1])
            if type(outer) is dict and is_plain(key):
                return outer.get(key)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            number = self.value(node.operand)
            if type(number) is int:
                return -number
        raise UnknownError

    def _named(self, name: str) -> Any:
        for names in self._scopes:
            if name in names:
                return names[name]
        raise UnknownError

    def _part(self, whole: ast.expr, at: ast.expr) -> Any:
        outer, key = self.value(whole), self.value(at)
        if type(outer) in {dict, list, tuple, str} and is_plain(key):
            return outer[key]
        raise UnknownError

    def see(self, node: ast.expr) -> Seen:
        """Give what there is to say about the value of an expression, the last result of a tool among them."""
        try:
            return self._seen(self.value(node))
        except (LookupError, TypeError, UnknownError):
            seen = self._see_result(node)
        if seen is None:
            raise UnknownError
        return seen

    def _seen(self, value: Any) -> Seen:
        seen = see(value)
        if seen.kind != "list" or self._wanted is None:
            return seen
        # Of the rows of a list, the one that lacks the key is what there is to say something about.
        for row in islice(value, _MOST_ROWS):
            if type(row) is dict and not has(row, self._wanted):
                return replace(seen, first=see(row))
        return seen

    def _see_result(self, node: ast.expr) -> Seen | None:
        if isinstance(node, ast.Await):
            return self._last(node.value)
        got = (node.value, node.slice) if isinstance(node, ast.Subscript) else _got(node)
        outer = None if got is None else self._see_result(got[0])
        if got is None or outer is None:
            return None
        key = self.value(got[1])
        if outer.kind == "list" and type(key) is int:
            return outer.first
        if outer.kind == "dict" and type(key) is str:
            if not isinstance(node, ast.Subscript) and not has(outer.keys, key):
                return Seen("NoneType")
            return outer.inside.get(key)
        return None

    def _last(self, call: ast.expr) -> Seen | None:
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            return None
        name: Any = call.func.id
        if name == "call_tool" and call.args:
            name = self.value(call.args[0])
        return self.provenance.last(name) if type(name) is str else None

    def all_in(self, node: ast.AST) -> Iterator[Seen]:
        """Give what can be seen in an expression, of `a['b']` only the whole."""
        if isinstance(node, ast.expr) and not isinstance(node, ast.Constant):
            try:
                yield self.see(node)
            except UnknownError:
                pass
            else:
                return
        for inner in ast.iter_child_nodes(node):
            if not isinstance(inner, ast.stmt):
                yield from self.all_in(inner)

    def gave_none(self, node: ast.expr) -> str | None:
        """Say why `.get` gave nothing."""
        got = _got(node)
        if got is None:
            return None
        outer, key = self.see(got[0]), self.value(got[1])
        if outer.kind != "dict" or not is_plain(key):
            return None
        if has(outer.keys, key):
            return f"`.get({key!r})` gave None: that is the value there."
        why = what_is_there(outer, key, self.provenance, by_attribute=False)
        return f"`.get({key!r})` gave None: {why}"

    def _variables(self) -> Iterator[Any]:
        for names in self._scopes:
            for name, value in islice(names.items(), _MOST_NAMES):
                if type(name) is str and not name.startswith("__"):
                    yield value

    def results_without(self, wanted: str) -> list[Seen]:
        """Give the objects of tools among the variables that lack a key."""
        objects = (object_of(see(value)) for value in self._variables() if type(value) in {dict, list})
        return [
            seen
            for seen in objects
            if seen is not None
            and not has(seen.keys, wanted)
            and self.provenance.tool_of(seen.keys) is not None
        ]

    def whose_key(self, text: str) -> str | None:
        """Say that a text is the key of a dict, which is what going through one gives."""
        for value in self._variables():
            if type(value) is not dict:
                continue
            for key, inner in islice(value.items(), _MOST_KEYS_COMPARED):
                if type(key) is str and key == text:
                    if type(inner) is dict:
                        return "it is a key of a dict; to go through its values write `.values()`"
                    return "it is a key of a dict; going through a dict gives its keys"
        return None


def _attribute(value: Any, name: str) -> Any:
    """Give what an object has under a name, unless it would be worked out."""
    found = getattr_static(value, name, None)
    if found is None or any(
        "__get__" in kind.__dict__ for kind in type.__dict__["__mro__"].__get__(type(found))
    ):
        raise UnknownError
    return found


def _got(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """Give of `a.get(b)` a and b."""
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "get"
        and len(node.args) == 1
        and not node.keywords
    ):
        return node.func.value, node.args[0]
    return None
