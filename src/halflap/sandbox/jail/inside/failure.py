"""Say how a program failed: its own lines, none of ours, and what was there where it looked for something else."""

from __future__ import annotations

import linecache
import re
from traceback import TracebackException
from typing import TYPE_CHECKING, Any

from halflap.sandbox.hints import FILE
from halflap.sandbox.jail.inside.hints import hint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.sandbox.hints import Provenance

__all__ = ["describe", "show_source"]

_LONGEST = 20_000
_LONGEST_NAME = 200
_MOST_FRAMES = 1_000


def show_source(source: str) -> None:
    """Let tracebacks and warnings find the lines of the program, also those that it makes itself."""
    # The last line, too, has to end as the lines of a file do, or the marks below it stand one off.
    linecache.cache[FILE] = (len(source), None, f"{source}\n".splitlines(keepends=True), FILE)


def describe(error: BaseException, source: str, provenance: Provenance) -> dict[str, Any]:
    """Give type, message, traceback, and a hint if there is something to say."""
    if isinstance(error, SyntaxError) and error.text is None and error.filename == FILE and error.lineno:
        # The compiler looks for the line in a file, and there is none.
        error.text = linecache.getline(FILE, error.lineno)
    formatted = TracebackException.from_exception(error, compact=True, limit=-_MOST_FRAMES)
    for one in _all(formatted):
        one.stack[:] = [frame for frame in one.stack if frame.filename == FILE]
    text = "".join(formatted.format())
    if not formatted.stack:
        # It never came as far as a line of the program.
        text = text.removeprefix("Traceback (most recent call last):\n")
    cause = _innermost(error)
    said = hint(cause, source, provenance)
    return {
        "type": type(error).__name__,
        "message": _message(error)[:_LONGEST],
        "traceback": text
        if len(text) <= _LONGEST
        else f"{text[: _LONGEST // 2]}\n…\n{text[-_LONGEST // 2 :]}",
        "hint": said,
        "unknown": _dotted(cause.name, source)
        if said is None and isinstance(cause, NameError) and type(cause.name) is str
        else None,
    }


def _dotted(name: str, source: str) -> str:
    """Return an undefined name; of `mcp.time.get_time`, all of it, joined as the names of tools are."""
    found = (
        re.search(rf"\b{re.escape(name[:_LONGEST_NAME])}((?:\.\w+)+)", source)
        if name.isidentifier()
        else None
    )
    return (name + found[1].replace(".", "__") if found else name)[:_LONGEST_NAME]


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 -- a program's own exception may fail at anything
        return ""


def _all(first: TracebackException) -> Iterator[TracebackException]:
    """Go through an exception, its causes and its members, however many there are."""
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


def _innermost(error: BaseException) -> BaseException:
    """Give the first member of a group of exceptions, which is what there is to say something about."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
