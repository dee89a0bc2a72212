"""How a program failed in monty: its own lines, and what monty lacks."""

from __future__ import annotations

import builtins
import re
from typing import TYPE_CHECKING

from halflap.sandbox.functions import FILE, NO_FILES, NOT_AWAITED, exit_text, shorten
from halflap.sandbox.sandbox import Ending, Outcome

if TYPE_CHECKING:
    from pydantic_monty import MontyRuntimeError, MontySyntaxError

__all__ = ["ARGUMENTS", "MODULES", "describe"]

MODULES = (
    "asyncio, base64, binascii, bisect, collections, copy, csv, dataclasses, datetime, decimal, functools, hashlib, "
    "itertools, json, math, os, pathlib, random, re, sys, time, tomllib, typing, unicodedata"
)
"""What can be imported, though not everything in it."""
_LIMITATIONS = f"""\
This sandbox (monty) runs a subset of Python. It has no class inheritance (raise ValueError with a text instead of an \
exception of your own, use constants instead of an Enum), no `yield` (build a list), no `del` (write `.pop(key)`), no \
`sys.exit` (raise SystemExit('why')), no `async with`, `async for` or tasks (call tools together with `await \
asyncio.gather(a(…), b(…))`, and catch ToolError in a function around each call), not every builtin function, no \
packages, and of the standard library parts of {MODULES}. On Linux, `execution.sandbox: jail` runs all of Python."""
_FEED = re.compile(r'  File "<python-input-[1-9]')
"""How monty's frames of the program begin: the prelude is number 0."""
_TOOL_ERROR = "binascii.Incomplete"
"""What `ToolError` is in monty."""
ARGUMENTS = "_halflap_arguments"
"""The variable for what a script's `main` is called with, in a line of ours."""
_OUT_OF_MEMORY = ("MemoryError: memory limit exceeded", "MemoryError: the worker exceeded its memory limit")
_UNDEFINED = re.compile(r"^name '(?P<name>\w+)' is not defined")


def describe(error: MontyRuntimeError | MontySyntaxError) -> Ending:
    """Return how a program ended."""
    headline = error.display("type-msg")
    if headline.startswith("TimeoutError: feed time limit") and not error.traceback():
        return Ending("cpu")
    kind, _, message = headline.partition(": ")
    if kind == "SystemExit":
        text = exit_text(int(message) if message.isdecimal() else message or None)
        return Ending("ok") if text is None else Ending("failed", text)
    kind = "ToolError" if kind == _TOOL_ERROR else kind
    if kind == "KeyError" and message[:1] not in {"'", '"'}:
        # Monty writes the key without quotes, Python with them.
        message = repr(message)
    text = _traceback(error.display("traceback")) + (f"{kind}: {message}\n" if message else f"{kind}\n")
    # Monty's own message: a program cannot catch that error.
    outcome: Outcome = "memory" if headline.startswith(_OUT_OF_MEMORY) else "failed"
    return Ending(outcome, shorten(text), _hint(kind, message))


def _hint(kind: str, message: str) -> str | None:
    if kind == "PermissionError":
        return NO_FILES
    if "'coroutine' object" in message:
        return NOT_AWAITED
    is_missing = kind in {"NotImplementedError", "ImportError", "ModuleNotFoundError"}
    is_missing |= kind == "AttributeError" and message.startswith("module ")
    undefined = _UNDEFINED.match(message) if kind == "NameError" else None
    is_missing |= undefined is not None and hasattr(builtins, undefined["name"])
    return _LIMITATIONS if is_missing or message.startswith("Internal error in monty") else None


def _traceback(text: str) -> str:
    """Return the frames of monty's traceback that are the program's own, without the error itself."""
    header, *frames = re.split(r'^(?=  File ")', text, flags=re.MULTILINE)
    own = [frame for frame in frames if _FEED.match(frame) and ARGUMENTS not in frame]
    if not own:
        return ""
    # The last one is followed by the error: its lines are indented, the error is not.
    lines = re.sub(r"<python-input-\d+>", FILE, "".join(own)).splitlines(keepends=True)
    is_syntax_error = ", in " not in own[-1].partition("\n")[0]
    return ("" if is_syntax_error else header) + "".join(line for line in lines if line.startswith(" "))
