"""How a program failed: its own lines, none of ours, a hint, and whether it ran out of memory."""

from __future__ import annotations

import linecache
import re
from opcode import opmap, opname
from traceback import TracebackException
from typing import TYPE_CHECKING, Any

from halflap.sandbox.jail.inside.explain import hint
from halflap.sandbox.messages import FILE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.sandbox.missing import Results

__all__ = ["describe", "is_exhausted", "show_source"]

_LONGEST = 20_000
_LONGEST_NAME = 200
_MOST_FRAMES = 1_000
_MOST_ERRORS = 1_000
_RAISE = opmap["RAISE_VARARGS"]


def show_source(source: str) -> None:
    """Let tracebacks and warnings find the lines of the program."""
    # The last line needs a line break, or the marks below it are one off.
    linecache.cache[FILE] = (len(source), None, f"{source}\n".splitlines(keepends=True), FILE)


def describe(error: BaseException, source: str, results: Results) -> dict[str, Any]:
    """Return type, message, traceback, and a hint if there is something to say."""
    if isinstance(error, SyntaxError) and error.text is None and error.filename == FILE and error.lineno:
        # The compiler looks for the line in a file, and there is none.
        error.text = linecache.getline(FILE, error.lineno)
    formatted = TracebackException.from_exception(error, compact=True, limit=-_MOST_FRAMES)
    for one in _all(formatted):
        one.stack[:] = [frame for frame in one.stack if frame.filename == FILE]
    text = "".join(formatted.format())
    if not formatted.stack:
        # It never reached a line of the program.
        text = text.removeprefix("Traceback (most recent call last):\n")
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST // 2]}\n…\n{text[-_LONGEST // 2 :]}"
    cause = error
    while isinstance(cause, BaseExceptionGroup):
        cause = cause.exceptions[0]
    said = hint(cause, source, results)
    is_unknown = said is None and isinstance(cause, NameError) and type(cause.name) is str
    return {
        "type": type(error).__name__,
        "message": _message(error)[:_LONGEST],
        "traceback": text,
        "hint": said,
        "unknown": _dotted(cause.name, source) if is_unknown else None,  # type: ignore[attr-defined]  # a NameError's
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


def is_exhausted(error: BaseException) -> bool:
    """Return whether an allocation failed, in this exception, its causes or its members."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting and len(seen) < _MOST_ERRORS:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        if issubclass(type(one), MemoryError) and _is_of_python(one, is_raised=one is error):
            return True
        waiting.append(one.__cause__)
        if not one.__suppress_context__:
            waiting.append(one.__context__)
        if issubclass(type(one), BaseExceptionGroup):
            waiting += BaseExceptionGroup.__dict__["exceptions"].__get__(one)
    return False


def _is_of_python(error: BaseException, *, is_raised: bool) -> bool:
    """Return whether a failed allocation raised it, not a `raise` of the program."""
    trace = BaseException.__dict__["__traceback__"].__get__(error)
    if trace is None:
        # There may have been no memory for a traceback; an error that was never raised proves nothing.
        return is_raised
    while trace.tb_next is not None:
        trace = trace.tb_next
    code = trace.tb_frame.f_code
    if code.co_filename != FILE:
        return True
    operation = code.co_code[trace.tb_lasti]
    if operation == _RAISE:
        return False
    # C code that adds a message raises when it is called; Python's own error has none.
    has_message = bool(BaseException.__dict__["args"].__get__(error))
    return not has_message or opname[operation].startswith(("CALL", "PRECALL"))
