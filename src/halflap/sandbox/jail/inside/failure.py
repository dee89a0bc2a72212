"""How a program failed: its own lines, none of ours, and a hint at what it cannot have here, or what was there instead."""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterator, Mapping
from traceback import TracebackException
from typing import Any

from halflap.sandbox.jail.inside.hint import hint
from halflap.sandbox.messages import FILE, exit_text, shorten

__all__ = ["describe", "show_source"]

_LONGEST_NAME = 200
_MOST_FRAMES = 1_000


def show_source(source: str) -> None:
    """Let tracebacks and warnings find the lines of the program."""
    # The last line needs a line break, or the marks below it are one off.
    linecache.cache[FILE] = (len(source), None, f"{source}\n".splitlines(keepends=True), FILE)


def describe(error: BaseException, source: str, results: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return type, message, traceback, and a hint if there is something to say; None if it only ended itself."""
    try:
        if isinstance(error, SystemExit):
            # Without a number, or with 0, it is not a failure; a text is one, and is shown.
            if error.code is None or error.code == 0:
                return None
            return _described(error, source, results) | {"traceback": exit_text(error.code)}
        return _described(error, source, results)
    except BaseException as another:  # noqa: BLE001 -- the methods of the program's exceptions may raise anything
        # There may be no memory left to describe it with.
        is_exhausted = issubclass(type(error), MemoryError) or issubclass(type(another), MemoryError)
        kind = "MemoryError" if is_exhausted else "Exception"
        error.__traceback__ = another.__traceback__ = None
        return {"type": kind, "message": "", "traceback": f"{kind}\n", "is_exhausted": is_exhausted}


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
    cause = error
    while isinstance(cause, BaseExceptionGroup):
        cause = cause.exceptions[0]
    said = hint(cause, source, results)
    is_unknown = said is None and isinstance(cause, NameError) and type(cause.name) is str
    return {
        # A class of the program may compute its name.
        "type": shorten(type.__dict__["__name__"].__get__(type(error))),
        "message": shorten(_message(error)),
        "traceback": shorten(text),
        "hint": None if said is None else shorten(said),
        "unknown": _dotted(cause.name, source) if is_unknown else None,  # type: ignore[attr-defined]  # a NameError's
        "is_exhausted": is_exhausted,
    }


def _dotted(name: str, source: str) -> str:
    """Return an undefined name; of `mcp.time.get_time`, all of it, joined as the names of tools are."""
    found = None
    if name.isidentifier():
        found = re.search(rf"\b{re.escape(name[:_LONGEST_NAME])}((?:\.\w+)+)", source)
    return (name + found[1].replace(".", "__") if found else name)[:_LONGEST_NAME]


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 -- an exception of the program may fail at anything
        return ""


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
