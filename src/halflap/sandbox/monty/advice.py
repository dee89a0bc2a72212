"""How a program failed in monty: its own lines, what monty lacks, and what to write instead."""

from __future__ import annotations

import builtins
import itertools
import re
import sys
from typing import TYPE_CHECKING

from halflap.sandbox.messages import FILE, NO_FILES, NOT_AWAITED, exit_text
from halflap.sandbox.missing import Results, explain_missing, objects_in
from halflap.sandbox.monty.prelude import CARRIER
from halflap.sandbox.sandbox import Failure

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from pydantic_monty import Frame, MontyRuntimeError, MontySyntaxError

__all__ = ["MODULES", "NO_NAME", "describe"]

MODULES = (
    "asyncio, base64, binascii, bisect, collections, copy, csv, dataclasses, datetime, decimal, functools, hashlib, "
    "itertools, json, math, os, pathlib, random, re, sys, time, tomllib, typing, unicodedata"
)
"""What can be imported, though not all that is in them."""
_FEED = "<python-input-1>"
"""What monty calls the program: the prelude is number 0."""
_LONGEST = 20_000
_MOST_REPEATED = 3
_ELSEWHERE = "On Linux, `execution.sandbox: jail` runs all of Python."
NO_NAME = (
    "this sandbox (monty) cannot set `__name__`, so it does not run a script that uses it. Leave out the part that runs "
    f"only when the file is run directly. {_ELSEWHERE}"
)
_GATHER = "call tools together with `await asyncio.gather(a(…), b(…))`"
_INSTEAD = (
    ("class inheritance", "Write classes without a base. Raise ValueError with a text instead of an exception of your own; use constants instead of an Enum."),
    ("yield", "Build a list and return it, or use a comprehension."),
    ("'del' statement", "Write `mapping.pop(key)` or `items.pop(index)`."),
    ("async with", f"Instead of a TaskGroup or timeout, {_GATHER}."),
    ("async for", "Await the whole list, and loop over it with `for`."),
    ("async comprehensions", f"To await many, {_GATHER}."),
    ("gather() does not yet support keyword", "Catch ToolError in a function around each call, and gather those functions."),
    ("one string argument", "Exceptions take one text; to end the program early, `raise SystemExit('why')`."),
)  # fmt: skip
"""What to write instead of what monty's parser or library refuses, by a part of its message."""
_MODULE_INSTEAD = {
    "contextlib": "Write `try: … except …: pass` and `finally`.",
    "enum": "Use constants.",
    "heapq": "Use sorted().",
    "io": "Join texts with ''.join(…).",
    "statistics": "Use sum(values) / len(values), and sorted(values) for the median.",
    "urllib": "Only tools reach the network.",
    "zoneinfo": "Use datetime.timezone with an offset.",
}
_NO_MODULE = re.compile(r"^No module named '(?P<module>[\w.]+)'")
_NO_MEMBER = re.compile(
    r"^module '(?P<module>\w+)' has no attribute '(?P<name>\w+)'|^cannot import name '(?P<import>\w+)' from '(?P<from>[\w.]+)'"
)
_REFUSED = re.compile(
    r"not yet support|are not supported|Internal error in monty|not supported in this environment"
)
_UNDEFINED = re.compile(r"^name '(?P<name>\w+)' is not defined")


def describe(
    error: MontyRuntimeError | MontySyntaxError, source: str, results: Results, called: Collection[str]
) -> Failure | None:
    """Return the failure; None if the program only ended itself, without a reason."""
    kind, _, message = error.display("type-msg").partition(": ")
    if kind == "SystemExit":
        return None if message in {"", "0"} else Failure(kind, message, exit_text(message))
    kind = "ToolError" if kind == CARRIER else kind
    if kind == "KeyError" and message[:1] not in {"'", '"'}:
        # Monty writes the key as it is, Python quotes it.
        message = repr(message)
    undefined = _UNDEFINED.match(message) if kind == "NameError" else None
    hint = _lacking(kind, message)
    if undefined is not None and hasattr(builtins, undefined["name"]):
        hint = f"This sandbox (monty) runs a part of Python, and {undefined['name']!r} is not in it. {_ELSEWHERE}"
    elif hint is None and kind == "PermissionError":
        hint = NO_FILES
    elif hint is None and "'coroutine' object" in message:
        hint = NOT_AWAITED
    elif hint is None and kind == "KeyError":
        hint = _missing_key(message, results, called)
    text = _traceback(error.traceback(), source) + (f"{kind}: {message}\n" if message else f"{kind}\n")
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST // 2]}\n…\n{text[-_LONGEST // 2 :]}"
    unknown = undefined["name"] if undefined is not None and hint is None else None
    return Failure(kind.rpartition(".")[2], message[:_LONGEST], text, hint, unknown)


def _missing_key(message: str, results: Results, called: Collection[str]) -> str | None:
    """Return which keys the only called tool returned; of several, monty does not say which one was meant."""
    key = message.strip("'\"")
    for one in objects_in(results.last(next(iter(called)))) if len(called) == 1 else ():
        if key not in one:
            return explain_missing(one, key, results, by_attribute=False)
    return None


def _lacking(kind: str, message: str) -> str | None:
    """Return that monty lacks something, and what to write instead."""
    if found := _NO_MODULE.match(message):
        module = found["module"].partition(".")[0]
        if module not in sys.stdlib_module_names:
            return (
                "This sandbox (monty) has no packages, and `execution.modules` has no effect in it. It has: "
                f"{MODULES}. {_ELSEWHERE}"
            )
        instead = _MODULE_INSTEAD.get(module, "Write what you need of it yourself.")
        return f"This sandbox (monty) has no module {module!r}. It has: {MODULES}. {instead} {_ELSEWHERE}"
    if kind in {"AttributeError", "ImportError"} and (found := _NO_MEMBER.match(message)):
        module, name = found["module"] or found["from"], found["name"] or found["import"]
        instead = "Write what you need of it yourself."
        if module == "asyncio":
            instead = f"Of asyncio there are gather, run and sleep: {_GATHER}."
        elif (module, name) == ("sys", "exit"):
            instead = "Write `raise SystemExit('why')`, or let the program run to its end."
        return f"This sandbox (monty) has no `{module}.{name}`. {instead} {_ELSEWHERE}"
    if kind != "ToolError" and _REFUSED.search(message):
        instead = next((advice for part, advice in _INSTEAD if part in message), "Write it in a simpler way.")
        return f"This sandbox (monty) runs a part of Python, and this is not in it. {instead} {_ELSEWHERE}"
    return None


def _traceback(frames: Sequence[Frame], source: str) -> str:
    """Write the program's own lines as Python does."""
    lines = source.split("\n")
    own = [one for one in frames if one.filename in {_FEED, FILE} and one.line <= len(lines)]
    if not own:
        return ""
    is_syntax_error = own[-1].function_name is None
    written = [] if is_syntax_error else ["Traceback (most recent call last):\n"]
    for (number, function), alike in itertools.groupby(own, lambda one: (one.line, one.function_name)):
        same = list(alike)
        where = "" if is_syntax_error else f", in {function or '<module>'}"
        for frame in same[:_MOST_REPEATED]:
            written += [f'  File "{FILE}", line {number}{where}\n', _marked(lines[number - 1], frame)]
        if (more := len(same) - _MOST_REPEATED) > 0:
            written.append(f"  [Previous line repeated {more} more time{'s' if more > 1 else ''}]\n")
    return "".join(written)


def _marked(line: str, frame: Frame) -> str:
    text = line.strip()
    start, end = frame.column - 1, frame.end_column - 1
    shown = f"    {text}\n"
    if frame.end_line == frame.line and end - start < len(text):
        shown += f"    {' ' * (start - len(line) + len(line.lstrip()))}{'^' * max(1, end - start)}\n"
    return shown
