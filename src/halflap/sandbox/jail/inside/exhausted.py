"""Whether a program failed for want of memory: by what Python itself raised, not by a name that a program may use."""

from __future__ import annotations

from opcode import opmap, opname
from typing import TYPE_CHECKING

from halflap.sandbox.hints import FILE

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["is_exhausted"]

_RAISE = opmap["RAISE_VARARGS"]
_MOST = 1_000


def is_exhausted(error: BaseException) -> bool:
    """Look for an allocation that failed, in an exception, what it came from, and its members."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting and len(seen) < _MOST:
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
    """Whether an allocation raised it: not a `raise` of the program, nor something that threw what it made before."""
    trace = BaseException.__dict__["__traceback__"].__get__(error)
    if trace is None:
        # For a traceback there may have been no memory either; what was never raised at all is no evidence.
        return is_raised
    inner = _innermost(trace)
    code = inner.tb_frame.f_code
    if code.co_filename != FILE:
        return True
    operation = code.co_code[inner.tb_lasti]
    if operation == _RAISE:
        return False
    # What C code raises with words of its own, it raises when it is called; Python's own has none.
    return not BaseException.__dict__["args"].__get__(error) or opname[operation].startswith(
        ("CALL", "PRECALL")
    )


def _innermost(trace: TracebackType) -> TracebackType:
    while trace.tb_next is not None:
        trace = trace.tb_next
    return trace
