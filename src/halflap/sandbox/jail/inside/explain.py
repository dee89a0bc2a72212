"""Hints about a program's mistake: what it cannot have here, or what was there instead of what it looked for.

Nothing here runs code of the program: values are asked for their exact type first, and only plain ones for more.
"""

from __future__ import annotations

import ast
import re
import sys
from inspect import getattr_static
from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.error import URLError

from halflap.sandbox.messages import FILE, NO_FILES, NO_HELP, NOT_AWAITED
from halflap.sandbox.missing import Results, Seen, explain_missing, is_plain, look_at

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType, TracebackType

__all__ = ["hint"]

_COROUTINE = re.compile(r"""['"]coroutine['"]|(type|not|to) coroutine\b|coroutine found""")
"""Not what asyncio says where one is needed: "a coroutine was expected"."""
_MOST_KEYS = 1_000


def hint(error: BaseException, source: str, results: Results) -> str | None:
    """Return something useful about an error, if there is something to say."""
    try:
        return _about_surroundings(error) or _about_value(error, source, results)
    except Exception:  # noqa: BLE001 -- without a hint, the failure is still reported
        return None


def _about_surroundings(error: BaseException) -> str | None:
    """Return what a program cannot have here, whatever its values are."""
    text, said = _text(error), None
    if _is(error, ImportError):
        name = ImportError.__dict__["name"].__get__(error)
        said = _about_module(name if type(name) is str else "")
    elif type(error) is NameError and type(error.name) is str and error.name == "help":
        said = NO_HELP
    elif _is_of_files(error):
        said = NO_FILES
    elif _is(error, RuntimeError) and "can't start new thread" in text:
        said = "Programs have one thread; tools called together with asyncio.gather run at the same time."
        if any(trace.tb_frame.f_code.co_name == "getaddrinfo" for trace in _traces(error)):
            said = NO_FILES
    elif _is(error, RuntimeError) and "asyncio.run() cannot be called" in text:
        said = "The program already runs in an event loop: write `await main()` instead of `asyncio.run(main())`."
    elif type(error) in {TypeError, AttributeError} and _COROUTINE.search(text):
        said = NOT_AWAITED
    return said


def _about_module(name: str) -> str:
    module = name.partition(".")[0]
    if module in sys.stdlib_module_names:
        return (
            f"{name!r} is one of the few parts of the standard library that are left out of programs, which have "
            "no network, files or processes to use it with. The user can add it to `execution.modules`."
        )
    return (
        f"Programs have Python's standard library. For more, the user can add {module!r} to "
        "`execution.modules` in Halflap's configuration, if it is installed beside Halflap."
    )


def _is(error: BaseException, *kinds: type[BaseException]) -> bool:
    """Return whether an error is of a type; `isinstance` would ask the object, too."""
    return issubclass(type(error), kinds)


def _text(error: BaseException) -> str:
    args = BaseException.__dict__["args"].__get__(error)
    return args[0] if args and type(args[0]) is str else ""


def _is_of_files(error: BaseException) -> bool:
    """Return whether it comes from files, network or processes, and not from a `raise` of the program."""
    if not _is(error, OSError):
        return False
    if _is(error, PermissionError, FileNotFoundError) or OSError.__dict__["errno"].__get__(error) is not None:
        return True
    traces = list(_traces(error))
    is_own = not traces or traces[-1].tb_frame.f_code.co_filename == FILE
    return _is(error, URLError, ConnectionError) and not is_own


def _traces(error: BaseException) -> Iterator[TracebackType]:
    trace = error.__traceback__
    while trace is not None:
        yield trace
        trace = trace.tb_next


def _about_value(error: BaseException, source: str, results: Results) -> str | None:
    """Return what the failing expression looked into, if that can be found without running anything."""
    traces = list(_traces(error))
    if not _is(error, KeyError, TypeError, AttributeError, IndexError) or not traces:
        return None
    inner = traces[-1]
    if inner.tb_frame.f_code.co_filename != FILE:
        return None
    look = _Look(inner.tb_frame, results)
    node = _failing(source, inner)
    return None if node is None else look.explain(node, error)


def _failing(source: str, trace: TracebackType) -> ast.Subscript | ast.Attribute | None:
    """Find the expression that failed."""
    position = next(islice(trace.tb_frame.f_code.co_positions(), trace.tb_lasti // 2, None))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Subscript | ast.Attribute) and position == (
            node.lineno,
            node.end_lineno,
            node.col_offset,
            node.end_col_offset,
        ):
            return node
    return None


class _UnknownError(Exception):
    """A value cannot be found without running something."""


def _scope() -> Any:
    return sys._getframe().f_locals  # noqa: SLF001 -- only its type is used


_SCOPES = (dict, type(_scope()))
"""The body of a class can keep its names in an object of the program."""


class _Look:
    """Looks at the values of a program from the frame in which it failed."""

    def __init__(self, frame: FrameType, results: Results) -> None:
        self._results = results
        self._scopes = [names for names in (frame.f_locals, frame.f_globals) if type(names) in _SCOPES]

    def explain(self, node: ast.Subscript | ast.Attribute, error: BaseException) -> str | None:
        by_attribute = isinstance(node, ast.Attribute)
        try:
            wanted = node.attr if isinstance(node, ast.Attribute) else self._value(node.slice)
        except _UnknownError:
            wanted = (_text(error) or None) if type(error) is KeyError else None
        try:
            seen = self._see(node.value)
        except _UnknownError:
            if not by_attribute or type(error) is not AttributeError or type(error.name) is not str:
                return None
            seen = look_at(error.obj)
        if seen.kind == "dict" and not by_attribute and (wanted is None or _has(seen.keys, wanted)):
            # It is another result than the one remembered, or it has changed since.
            return None
        got = _get_call(node.value)
        if seen.kind == "NoneType" and got is not None:
            return self._explain_get(*got)
        return explain_missing(seen, wanted, self._results, by_attribute=by_attribute)

    def _explain_get(self, whole: ast.expr, at: ast.expr) -> str | None:
        outer, key = self._see(whole), self._value(at)
        if outer.kind != "dict" or not is_plain(key):
            return None
        why = "that is the value there."
        if not _has(outer.keys, key):
            why = explain_missing(outer, key, self._results, by_attribute=False) or why
        return f"`.get({key!r})` gave None: {why}"

    def _see(self, node: ast.expr) -> Seen:
        """Return a summary of an expression's value; for an awaited call, of the tool's last result."""
        try:
            return look_at(self._value(node))
        except (LookupError, TypeError, _UnknownError):
            seen = self._see_result(node)
        if seen is None:
            raise _UnknownError
        return seen

    def _value(self, node: ast.expr) -> Any:
        """Evaluate a simple expression: names, constants, attributes, and items of plain dicts and lists."""
        try:
            return ast.literal_eval(node)
        except ValueError:
            pass
        match node:
            case ast.Name():
                for names in self._scopes:
                    if node.id in names:
                        return names[node.id]
            case ast.Subscript():
                outer, key = self._value(node.value), self._value(node.slice)
                if type(outer) in {dict, list, tuple, str} and is_plain(key):
                    return outer[key]
            case ast.Attribute():
                return _attribute(self._value(node.value), node.attr)
            case _ if (got := _get_call(node)) is not None:
                outer, key = self._value(got[0]), self._value(got[1])
                if type(outer) is dict and is_plain(key):
                    return outer.get(key)
        raise _UnknownError

    def _see_result(self, node: ast.expr) -> Seen | None:
        if isinstance(node, ast.Await):
            return self._last(node.value)
        got = (node.value, node.slice) if isinstance(node, ast.Subscript) else _get_call(node)
        outer = None if got is None else self._see_result(got[0])
        if got is None or outer is None:
            return None
        key = self._value(got[1])
        if outer.kind == "list" and type(key) is int:
            return outer.first
        if outer.kind == "dict" and type(key) is str:
            if not isinstance(node, ast.Subscript) and not _has(outer.keys, key):
                return Seen("NoneType")
            return outer.inside.get(key)
        return None

    def _last(self, call: ast.expr) -> Seen | None:
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            return None
        name: Any = call.func.id
        if name == "call_tool" and call.args:
            name = self._value(call.args[0])
        return self._results.last(name) if type(name) is str else None


def _has(keys: Any, wanted: Any) -> bool:
    return is_plain(wanted) and any(
        type(key) is type(wanted) and key == wanted for key in islice(keys, _MOST_KEYS)
    )


def _attribute(value: Any, name: str) -> Any:
    """Return what an object has under a name, unless it would be computed."""
    found = getattr_static(value, name, None)
    if found is None or any(
        "__get__" in kind.__dict__ for kind in type.__dict__["__mro__"].__get__(type(found))
    ):
        raise _UnknownError
    return found


def _get_call(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """Return a and b of `a.get(b)`."""
    match node:
        case ast.Call(func=ast.Attribute(value=whole, attr="get"), args=[key], keywords=[]):
            return whole, key
    return None
