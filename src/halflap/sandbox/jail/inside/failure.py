"""How a program failed: its own lines, none of ours, and a hint at what it cannot have here, or what was there instead."""

from __future__ import annotations

import linecache
from collections.abc import Iterator, Mapping
from traceback import TracebackException
from typing import Any

from halflap.sandbox.functions import FILE, exit_text, shorten
from halflap.sandbox.jail.inside.hint import hint

__all__ = ["describe", "show_source"]

_LONGEST_NAME = 200
_MOST_FRAMES = 1_000


def show_source(source: str) -> None:
    """Let tracebacks and warnings find the lines of the program."""
    # The last line needs a line break, or the marks below it are one off.
    linecache.cache[FILE] = (len(source), None, f"{source}\n".splitlines(keepends=True), FILE)


def describe(error: BaseException, source: str, results: Mapping[str, Any]) -> dict[str, Any]:
    """Return outcome, traceback, hint and undefined name; `results` has the last one of each tool."""
    try:
        if isinstance(error, SystemExit):
            text = exit_text(error.code)
            return (
                {"outcome": "ok", "error": ""}
                if text is None
                else {"outcome": "failed", "error": _clean(text)}
            )
        return _described(error, source, results)
    except BaseException as another:  # noqa: BLE001 -- the methods of the program's exceptions may raise anything
        # There may be no memory left to describe it with.
        is_exhausted = isinstance(error, MemoryError) or isinstance(another, MemoryError)
        error.__traceback__ = another.__traceback__ = None
        return {
            "outcome": "memory" if is_exhausted else "failed",
            "error": "MemoryError\n" if is_exhausted else "Exception\n",
        }


def _described(error: BaseException, source: str, results: Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(error, SyntaxError) and error.text is None and error.filename == FILE and error.lineno:
        # The compiler looks for the line in a file, and there is none.
        error.text = linecache.getline(FILE, error.lineno)
    formatted = TracebackException.from_exception(error, compact=True, limit=-_MOST_FRAMES)
    is_exhausted = False
    for one in _all(formatted):
        one.stack[:] = [frame for frame in one.stack if frame.filename == FILE]
        is_exhausted = is_exhausted or one.exc_type is MemoryError
    text = "".join(formatted.format())
    if not formatted.stack:
        # It never reached a line of the program.
        text = text.removeprefix("Traceback (most recent call last):\n")
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    said = hint(error, source, results)
    is_undefined = said is None and isinstance(error, NameError) and isinstance(error.name, str)
    return {
        "outcome": "memory" if is_exhausted else "failed",
        "error": _clean(text),
        "hint": None if said is None else _clean(said),
        "undefined": _clean(error.name[:_LONGEST_NAME]) if is_undefined else None,  # type: ignore[attr-defined]
    }


def _clean(text: str) -> str:
    """Return a text of a bounded length, with half characters as escapes."""
    return shorten(text).encode(errors="backslashreplace").decode()


def _all(first: TracebackException) -> Iterator[TracebackException]:
    """Return an exception, its causes and its members, however many there are."""
    seen: set[int] = set()
    waiting = [first]
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        others = (one.__cause__, one.__context__, *(getattr(one, "exceptions", None) or ()))
        waiting += [other for other in others if other is not None]
