"""How a program failed in monty: its own lines, what monty lacks, and what to write instead."""

from __future__ import annotations

import builtins
import re
from typing import TYPE_CHECKING

from halflap.sandbox.messages import FILE, NO_FILES, NOT_AWAITED, exit_text
from halflap.sandbox.missing import Results, explain_missing, objects_in
from halflap.sandbox.monty.prelude import CARRIER
from halflap.sandbox.sandbox import Failure

if TYPE_CHECKING:
    from collections.abc import Collection

    from pydantic_monty import MontyRuntimeError, MontySyntaxError

__all__ = ["MODULES", "NO_NAME", "describe"]

MODULES = (
    "asyncio, base64, binascii, bisect, collections, copy, csv, dataclasses, datetime, decimal, functools, hashlib, "
    "itertools, json, math, os, pathlib, random, re, sys, time, tomllib, typing, unicodedata"
)
"""What can be imported, though not all that is in them."""
_FEED = "<python-input-1>"
"""What monty calls the program: the prelude is number 0."""
_ENTERING = "_halflap_returned("
_LONGEST = 20_000
_ELSEWHERE = "On Linux, `execution.sandbox: jail` runs all of Python."
NO_NAME = (
    "this sandbox (monty) cannot set `__name__`, so it does not run a script that uses it. Leave out the part that runs "
    f"only when the file is run directly. {_ELSEWHERE}"
)
_GATHER = "call tools together with `await asyncio.gather(a(…), b(…))`"
_LACKING = (
    (r"class inheritance", "Write classes without a base. Raise ValueError with a text instead of an exception of your own; use constants instead of an Enum."),
    (r"yield", "Build a list and return it, or use a comprehension."),
    (r"'del' statement", "Write `mapping.pop(key)` or `items.pop(index)`."),
    (r"async with", f"Instead of a TaskGroup or timeout, {_GATHER}."),
    (r"async for", "Await the whole list, and loop over it with `for`."),
    (r"async comprehensions", f"To await many, {_GATHER}."),
    (r"gather\(\) does not yet support keyword", "Catch ToolError in a function around each call, and gather those functions."),
    (r"one string argument", "Exceptions take one text; to end the program early, `raise SystemExit('why')`."),
    (r"'sys' has no attribute 'exit'", "Write `raise SystemExit('why')`, or let the program run to its end."),
    (r"module 'asyncio' has no attribute|from 'asyncio'", f"Of asyncio there are gather, run and sleep: {_GATHER}."),
    (r"^No module named", f"It has no packages, and of the standard library: {MODULES}."),
    (r"^module '\w+' has no attribute|^cannot import name", "Write what you need of it yourself."),
    (r"not yet support|are not supported|Internal error in monty|not supported in this environment", "Write it in a simpler way."),
)  # fmt: skip
"""What to write instead of what monty lacks, by its message."""
_UNDEFINED = re.compile(r"^name '(?P<name>\w+)' is not defined")


def describe(
    error: MontyRuntimeError | MontySyntaxError, results: Results, called: Collection[str]
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
    hint = None
    if undefined is not None and hasattr(builtins, undefined["name"]):
        hint = f"This sandbox (monty) runs a part of Python, and {undefined['name']!r} is not in it. {_ELSEWHERE}"
    elif kind == "PermissionError":
        hint = NO_FILES
    elif "'coroutine' object" in message:
        hint = NOT_AWAITED
    elif kind == "KeyError":
        hint = _missing_key(message, results, called)
    elif kind != "ToolError" and (instead := _instead(message)) is not None:
        found = message.partition("'")[2].partition("'")[0]
        about = (
            f"has no {found}"
            if message.startswith(("No module", "module", "cannot import"))
            else "cannot run this"
        )
        hint = f"This sandbox (monty) runs a part of Python, and {about}. {instead} {_ELSEWHERE}"
    text = _traceback(error.display("traceback")) + (f"{kind}: {message}\n" if message else f"{kind}\n")
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST // 2]}\n…\n{text[-_LONGEST // 2 :]}"
    unknown = undefined["name"] if undefined is not None and hint is None else None
    return Failure(kind.rpartition(".")[2], message[:_LONGEST], text, hint, unknown)


def _instead(message: str) -> str | None:
    return next((advice for pattern, advice in _LACKING if re.search(pattern, message)), None)


def _missing_key(message: str, results: Results, called: Collection[str]) -> str | None:
    """Return which keys the only called tool returned; of several, monty does not say which one was meant."""
    key = message.strip("'\"")
    for one in objects_in(results.last(next(iter(called)))) if len(called) == 1 else ():
        if key not in one:
            return explain_missing(one, key, results, by_attribute=False)
    return None


def _traceback(text: str) -> str:
    """Return the frames of monty's traceback that are the program's own, without the error itself."""
    header, *frames = re.split(r'^(?=  File ")', text, flags=re.MULTILINE)
    own = [frame for frame in frames if frame.startswith(f'  File "{_FEED}"') and _ENTERING not in frame]
    if not own:
        return ""
    # The last one is followed by the error: its lines are indented, the error is not.
    lines = "".join(own).replace(_FEED, FILE).splitlines(keepends=True)
    is_syntax_error = ", in " not in own[-1].partition("\n")[0]
    return ("" if is_syntax_error else header) + "".join(line for line in lines if line.startswith(" "))
