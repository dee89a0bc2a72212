"""Hints about a program's mistake: what it cannot have here, or what was there instead of what it looked for.

Nothing here runs code of the program: a value is asked for its exact type first, and only plain ones for more.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Mapping
from itertools import islice
from types import TracebackType
from typing import Any
from urllib.error import URLError

from halflap.sandbox.media import Media
from halflap.sandbox.messages import FILE, NO_FILES, NO_HELP, NOT_AWAITED, listed

__all__ = ["hint"]

_COROUTINE = re.compile(r"""['"]coroutine['"]|(type|not|to) coroutine\b|coroutine found""")
"""Not what asyncio says where one is needed: "a coroutine was expected"."""
_MOST_COMPARED = 1_000
_LONGEST_TEXT = 80
_LARGEST_NUMBER = 10**18
_PLAIN = frozenset({str, int, float, bool, type(None)})
_NAMESPACES = frozenset({dict, type(sys._getframe().f_locals)})  # noqa: SLF001 -- there is no public way
_MEDIA = (
    "The value is an image, a sound or a resource: it has .kind, .mime_type, .uri, .name, .text and .data (bytes), "
    "and show() shows it to the model."
)


def hint(error: BaseException, source: str, results: Mapping[str, Any]) -> str | None:
    """Return something useful about an error, if there is something to say. `results` has the last one of each tool."""
    try:
        traces, trace = [], error.__traceback__
        while trace is not None:
            traces.append(trace)
            trace = trace.tb_next
        said = _about_surroundings(error, traces)
        return _about_value(error, traces[-1], source, results) if said is None and traces else said
    except Exception:  # noqa: BLE001 -- without a hint, the failure is still reported
        return None


def _is(error: BaseException, *kinds: type[BaseException]) -> bool:
    """Return whether an error is of a type; `isinstance` would ask the object, too."""
    return issubclass(type(error), kinds)


# What a program cannot have ---------------------------------------------------------------------------


def _about_surroundings(error: BaseException, traces: list[TracebackType]) -> str | None:
    args = BaseException.__dict__["args"].__get__(error)
    text = args[0] if args and type(args[0]) is str else ""
    said = None
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


# What was there instead -------------------------------------------------------------------------------


def _about_value(
    error: BaseException, trace: TracebackType, source: str, results: Mapping[str, Any]
) -> str | None:
    """Return what the failing expression looked into, if that can be found without running anything."""
    if type(error) is AttributeError and type(error.name) is str:
        if type(error.obj) is dict and _has(error.obj, error.name):
            return f"The value is a dict: write [{error.name!r}] instead of .{error.name}."
        return _describe(error.obj, error.name)
    is_own = trace.tb_frame.f_code.co_filename == FILE and _is(error, KeyError, TypeError, IndexError)
    read = _failing_read(source, trace) if is_own else None
    return None if read is None else _about_read(error, read, trace, results)


def _about_read(
    error: BaseException, read: ast.Subscript, trace: TracebackType, results: Mapping[str, Any]
) -> str | None:
    value, where = _find(read.value, trace, results)
    if type(value) is dict:
        args = BaseException.__dict__["args"].__get__(error)
        # If it has the key, it is another value than the one that failed.
        is_known = len(args) == 1 and type(error) is KeyError and not _has(value, args[0])
        return _describe(value, args[0], where) if is_known else None
    if value is None and (got := _get_call(read.value)) is not None:
        outer, where = _find(got[0], trace, results)
        return f"`.get({got[1]!r})` gave None: {_describe(outer, got[1], where)}"
    return _describe(value)


def _failing_read(source: str, trace: TracebackType) -> ast.Subscript | None:
    position = next(islice(trace.tb_frame.f_code.co_positions(), trace.tb_lasti // 2, None))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Subscript) and position == (
            node.lineno, node.end_lineno, node.col_offset, node.end_col_offset,
        ):  # fmt: skip
            return node
    return None


def _find(node: ast.expr, trace: TracebackType, results: Mapping[str, Any]) -> tuple[Any, str]:
    """Return the value of a name, a constant, an item or a tool's result, and what to call it. Raise for all else."""
    where = "this dict"
    match node:
        case ast.Await(value=ast.Call(func=ast.Name(id=tool), args=given)):
            tool = ast.literal_eval(given[0]) if tool == "call_tool" else tool
            return results[tool], f"the result of {tool}"
        case ast.Name(id=name):
            frame = trace.tb_frame
            # The body of a class can keep its names in an object of the program.
            scopes = [names for names in (frame.f_locals, frame.f_globals) if type(names) in _NAMESPACES]
            value = next((names[name] for names in scopes if name in names), ...)
            if value is ...:
                raise LookupError(name)
            tools = (f"the result of {tool}" for tool, result in results.items() if result is value)
            return value, next(tools, where)
        case ast.Subscript(value=inner, slice=key):
            outer, _ = _find(inner, trace, results)
            if type(outer) not in {dict, list, tuple}:
                raise TypeError
            return outer[ast.literal_eval(key)], where
    if (got := _get_call(node)) is not None:
        outer, _ = _find(got[0], trace, results)
        if type(outer) is not dict:
            raise TypeError
        return outer.get(got[1]), where
    return ast.literal_eval(node), where


def _get_call(node: ast.AST) -> tuple[ast.expr, Any] | None:
    """Return a and b of `a.get(b)`."""
    match node:
        case ast.Call(
            func=ast.Attribute(value=whole, attr="get"), args=[ast.Constant(value=key)], keywords=[]
        ):
            return whole, key
    return None


def _describe(value: Any, wanted: Any = None, where: str = "this dict") -> str | None:
    kind: type = type(value)
    said = None
    if kind is dict:
        key = repr(wanted) if type(wanted) in _PLAIN else f"A {_name(type(wanted))}"
        said = f"{key} is not in {where}; keys: {listed(_keys(value))}"
    elif kind is list:
        first = _kind(value[0]) if value else "nothing"
        said = f"The value is a list of {len(value)}, the first of them {first}: take an item by its index, or loop over them."
    elif issubclass(kind, str):
        said = f"The value is text, not an object: {str.__getitem__(value, slice(_LONGEST_TEXT))!r}"
    elif value is None:
        said = "The value is None."
    elif kind is Media:
        said = _MEDIA
    elif kind is bool or (kind in {int, float} and -_LARGEST_NUMBER < value < _LARGEST_NUMBER):
        said = f"The value is {_kind(value)}, {value!r}, and has no parts."
    elif _name(kind) == "coroutine":
        said = NOT_AWAITED
    return said


def _has(value: dict[Any, Any], wanted: Any) -> bool:
    """Return whether a dict has a plain key, compared with its other plain keys alone."""
    return type(wanted) in _PLAIN and any(
        type(key) is type(wanted) and key == wanted for key in islice(value, _MOST_COMPARED)
    )


def _keys(value: dict[Any, Any]) -> list[str]:
    return [str(key) if type(key) in _PLAIN else _name(type(key)) for key in islice(value, _MOST_COMPARED)]


def _kind(value: Any) -> str:
    if type(value) is dict:
        return f"a dict with the keys {listed(_keys(value))}" if value else "an empty dict"
    if value is None:
        return "None"
    name = _name(type(value))
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def _name(kind: type) -> str:
    # A class of the program may compute its name.
    name: str = type.__dict__["__name__"].__get__(kind)
    return name
