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
from halflap.sandbox.missing import Results, explain_missing, has_key, is_plain

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["hint"]

_COROUTINE = re.compile(r"""['"]coroutine['"]|(type|not|to) coroutine\b|coroutine found""")
"""Not what asyncio says where one is needed: "a coroutine was expected"."""


def hint(error: BaseException, source: str, results: Results) -> str | None:
    """Return something useful about an error, if there is something to say."""
    try:
        traces = _traces(error)
        return _about_surroundings(error, traces) or _about_value(error, traces, source, results)
    except Exception:  # noqa: BLE001 -- without a hint, the failure is still reported
        return None


def _traces(error: BaseException) -> list[TracebackType]:
    traces, trace = [], error.__traceback__
    while trace is not None:
        traces.append(trace)
        trace = trace.tb_next
    return traces


def _is(error: BaseException, *kinds: type[BaseException]) -> bool:
    """Return whether an error is of a type; `isinstance` would ask the object, too."""
    return issubclass(type(error), kinds)


def _text(error: BaseException) -> str:
    args = BaseException.__dict__["args"].__get__(error)
    return args[0] if args and type(args[0]) is str else ""


def _about_surroundings(error: BaseException, traces: list[TracebackType]) -> str | None:
    """Return what a program cannot have here, whatever its values are."""
    text, said = _text(error), None
    if _is(error, ImportError):
        name = ImportError.__dict__["name"].__get__(error)
        said = _about_module(name if type(name) is str else "")
    elif type(error) is NameError and type(error.name) is str and error.name == "help":
        said = NO_HELP
    elif _is_of_files(error, traces):
        said = NO_FILES
    elif _is(error, RuntimeError) and "can't start new thread" in text:
        said = "Programs have one thread; tools called together with asyncio.gather run at the same time."
        if any(trace.tb_frame.f_code.co_name == "getaddrinfo" for trace in traces):
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


def _is_of_files(error: BaseException, traces: list[TracebackType]) -> bool:
    """Return whether it comes from files, network or processes, and not from a `raise` of the program."""
    if not _is(error, OSError):
        return False
    if _is(error, PermissionError, FileNotFoundError) or OSError.__dict__["errno"].__get__(error) is not None:
        return True
    is_own = not traces or traces[-1].tb_frame.f_code.co_filename == FILE
    return _is(error, URLError, ConnectionError) and not is_own


class _UnknownError(Exception):
    """A value cannot be found without running something."""


def _about_value(
    error: BaseException, traces: list[TracebackType], source: str, results: Results
) -> str | None:
    """Return what the failing expression looked into, if that can be found without running anything."""
    if not _is(error, KeyError, TypeError, AttributeError, IndexError) or not traces:
        return None
    frame = traces[-1].tb_frame
    node = _failing(source, traces[-1]) if frame.f_code.co_filename == FILE else None
    if node is None:
        return None
    look = _Look([frame.f_locals, frame.f_globals], results)
    by_attribute = isinstance(node, ast.Attribute)
    try:
        wanted = node.attr if isinstance(node, ast.Attribute) else look.value(node.slice)
    except _UnknownError:
        wanted = (_text(error) or None) if type(error) is KeyError else None
    try:
        value = look.value(node.value)
    except _UnknownError:
        if not by_attribute or type(error) is not AttributeError or type(error.name) is not str:
            return None
        value = error.obj
    if type(value) is dict and not by_attribute and (wanted is None or has_key(value, wanted)):
        # It is another result than the last one, or it has changed since.
        return None
    said = explain_missing(value, wanted, results, by_attribute=by_attribute)
    if value is None and (got := _get_call(node.value)) is not None:
        outer, key = look.value(got[0]), look.value(got[1])
        if type(outer) is dict and not has_key(outer, key):
            said = explain_missing(outer, key, results, by_attribute=False)
        return f"`.get({key!r})` gave None: {said}"
    return said


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


class _Look:
    """Finds the values of simple expressions: names, constants, attributes, items, and results of tools."""

    def __init__(self, scopes: list[Any], results: Results) -> None:
        # The body of a class can keep its names in an object of the program.
        self._scopes = [names for names in scopes if type(names) in {dict, type(sys._getframe().f_locals)}]  # noqa: SLF001
        self._results = results

    def value(self, node: ast.expr) -> Any:
        try:
            return self._value(node)
        except (LookupError, TypeError, ValueError, StopIteration):
            raise _UnknownError from None

    def _value(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant() | ast.UnaryOp():
                return ast.literal_eval(node)
            case ast.Name():
                return next(names[node.id] for names in self._scopes if node.id in names)
            case ast.Await(value=ast.Call(func=ast.Name(id=name), args=arguments)):
                return self._results.last(ast.literal_eval(arguments[0]) if name == "call_tool" else name)
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
