"""Say what is there where a program looked for something else, and what to do instead."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import CodeType, FrameType, TracebackType

__all__ = ["FILE", "Provenance", "hint"]

FILE = "program.py"
_MOST_KEYS = 30
_DEEPEST = 6


class Provenance:
    """Remembers which tool returned objects with which keys; of the objects themselves nothing is kept."""

    def __init__(self) -> None:
        self._tools: dict[frozenset[str], set[str]] = {}

    def note(self, tool: str, value: Any, depth: int = 0) -> None:
        """Take note of the objects in a result: of a list, the first one stands for all."""
        if type(value) is dict:
            if len(value) <= _MOST_KEYS * 4:
                self._tools.setdefault(frozenset(value), set()).add(tool)
            if depth < _DEEPEST:
                for inner in list(value.values())[:_MOST_KEYS]:
                    self.note(tool, inner, depth + 1)
        elif type(value) is list and value and depth < _DEEPEST:
            self.note(tool, value[0], depth + 1)

    def tool_of(self, value: Mapping[str, Any]) -> str | None:
        """Say which tool an object came from, if only one returned such objects."""
        tools = self._tools.get(frozenset(value), set())
        return next(iter(tools)) if len(tools) == 1 else None


def hint(error: BaseException, source: str, provenance: Provenance) -> str | None:
    """Say something useful about an error, if there is something to say."""
    try:
        about = _about_surroundings(error)
        if about is not None:
            return about
        looked_at = _looked_at(error, source)
        return None if looked_at is None else _what_is_there(*looked_at, error, provenance)
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
        return "Programs have no files, network or processes: data comes from tools, and goes out by print()."
    if isinstance(error, RuntimeError) and "can't start new thread" in str(error):
        return "Programs have one thread; tools called together with asyncio.gather run at the same time."
    if isinstance(error, RuntimeError) and "asyncio.run() cannot be called" in str(error):
        return "The program already runs in an event loop: write `await main()` instead of `asyncio.run(main())`."
    return None


def _what_is_there(value: Any, wanted: Any, error: BaseException, provenance: Provenance) -> str | None:
    if type(value) is dict:
        return _what_is_in(value, wanted, error, provenance)
    said = None
    if type(value).__name__ == "coroutine":
        said = "The value is a call that was not awaited: write `await` before it."
    elif type(value) is list:
        inner = _kind(value[0]) if value else "nothing"
        said = f"The value is a list of {len(value)}, the first of them {inner}: take one by its index, or go through them."
    elif isinstance(value, str):
        said = f"The value is text, not an object: {value[:80]!r}"
    elif value is None:
        said = "The value is None."
    return said


def _what_is_in(value: dict[Any, Any], wanted: Any, error: BaseException, provenance: Provenance) -> str:
    tool = provenance.tool_of(value)
    where = f"the result of {tool}" if tool is not None else "this dict"
    if isinstance(error, AttributeError) and wanted in value:
        return f"{where[0].upper()}{where[1:]} is a dict: write [{wanted!r}] instead of .{wanted}."
    keys = ", ".join(str(key) for key in list(value)[:_MOST_KEYS])
    more = f", … ({len(value)} in all)" if len(value) > _MOST_KEYS else ""
    return f"{wanted!r} is not in {where}; keys: {keys or 'none'}{more}"


def _kind(value: Any) -> str:
    if type(value) is dict:
        return "a dict with the keys " + ", ".join(str(key) for key in list(value)[:_MOST_KEYS])
    return f"a {type(value).__name__}"


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
