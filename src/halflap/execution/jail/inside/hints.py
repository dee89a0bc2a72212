"""Say what is there where a program looked for something else, and what to do instead."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from halflap.execution.hints import FILE, NO_FILES, Provenance, see, what_is_there

if TYPE_CHECKING:
    from types import CodeType, FrameType, TracebackType

__all__ = ["hint"]


def hint(error: BaseException, source: str, provenance: Provenance) -> str | None:
    """Say something useful about an error, if there is something to say."""
    try:
        about = _about_surroundings(error)
        if about is not None:
            return about
        looked_at = _looked_at(error, source)
        if looked_at is None:
            return None
        value, wanted = looked_at
        by_attribute = isinstance(error, AttributeError)
        return what_is_there(see(value), wanted, provenance, by_attribute=by_attribute)
    except Exception:  # noqa: BLE001 -- a hint is a favour: without one, the failure is still told
        return None


def _about_surroundings(error: BaseException) -> str | None:
    """Say what a program cannot have here, whatever it is about."""
    if isinstance(error, ImportError):
        module = (error.name or "").partition(".")[0]
        return (
            f"Programs have Python's standard library. For more, the user can add {module!r} to "
            "`execution.modules` in Halflap's configuration, if it is installed beside Halflap."
        )
    if isinstance(error, PermissionError | FileNotFoundError):
        return NO_FILES
    if isinstance(error, RuntimeError) and "can't start new thread" in str(error):
        return "Programs have one thread; tools called together with asyncio.gather run at the same time."
    if isinstance(error, RuntimeError) and "asyncio.run() cannot be called" in str(error):
        return "The program already runs in an event loop: write `await main()` instead of `asyncio.run(main())`."
    return None


def _looked_at(error: BaseException, source: str) -> tuple[Any, Any] | None:
    """Find what the failing expression looked into, and what for, if both can be had without running anything."""
    wanted = isinstance(error, KeyError | TypeError | AttributeError | IndexError)
    place = _place(error.__traceback__) if wanted else None
    if place is None:
        return None
    frame, position = place
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Subscript | ast.Attribute)
            and (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset) == position
        ):
            value = _value(node.value, frame)
            if isinstance(node, ast.Attribute):
                return value, node.attr
            return value, _value(node.slice, frame)
    return None


def _place(trace: TracebackType | None) -> tuple[FrameType, tuple[int | None, ...]] | None:
    """Give the innermost frame of the program, if it is where the error was raised, and the columns."""
    if trace is None:
        return None
    while trace.tb_next is not None:
        trace = trace.tb_next
    code: CodeType = trace.tb_frame.f_code
    if code.co_filename != FILE:
        return None
    positions = list(code.co_positions())
    return trace.tb_frame, positions[trace.tb_lasti // 2]


class _UnknownError(Exception):
    """The value of an expression can't be had without running something."""


def _value(node: ast.expr, frame: FrameType) -> Any:
    """Give the value of a simple expression: names, constants, and places in plain dicts and lists."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        for names in (frame.f_locals, frame.f_globals):
            if node.id in names:
                return names[node.id]
        raise _UnknownError
    if isinstance(node, ast.Await):
        raise _UnknownError
    if isinstance(node, ast.Subscript):
        outer = _value(node.value, frame)
        if type(outer) in {dict, list, tuple, str}:
            return outer[_value(node.slice, frame)]
    raise _UnknownError
