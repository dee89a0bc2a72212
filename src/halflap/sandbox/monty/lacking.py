"""What monty cannot run, how it says so, and what a program can do instead."""

from __future__ import annotations

import builtins
import re
import sys

__all__ = ["MODULES", "NO_NAME", "missing_builtin", "refusal"]

MODULES = (
    "asyncio, base64, binascii, bisect, collections, copy, csv, dataclasses, datetime, decimal, functools, hashlib, "
    "itertools, json, math, os, pathlib, random, re, sys, time, tomllib, typing, unicodedata"
)
"""What can be imported, though not all that is in them."""

_ELSEWHERE = "On Linux, `execution.sandbox: jail` runs all of Python."

NO_NAME = (
    "this sandbox cannot give a script a name of its own, so it does not run one that looks at `__name__`. Leave out "
    f"the part that runs only when the file is run by itself. {_ELSEWHERE}"
)

_GATHER = "call tools together with `await asyncio.gather(a(…), b(…))`"
_SYNTAX = (
    ("class inheritance", "Write classes without a base. Instead of an exception of your own raise ValueError with a text; instead of an Enum use constants."),
    ("method decorators", "Write plain methods, or functions beside the class."),
    ("yield", "Build a list and return it, or use a comprehension."),
    ("'del' statement", "Write `mapping.pop(key)` or `items.pop(index)`; a name can be set to None."),
    ("async with", f"Instead of a TaskGroup or timeout, {_GATHER}."),
    ("async for", "Await the whole list, and go through it with `for`."),
    ("async comprehensions", f"To await many, {_GATHER}."),
    ("exception groups", "Write `except` instead of `except*`."),
    ("type aliases", "Leave the alias out."),
    ("template strings", "Write an f-string."),
    ("Wildcard imports", "Name what you import."),
    ("gather() does not yet support keyword", "Catch ToolError in a function of your own around each call, and gather those: it can return the error as a value."),
    ("one string argument", "Exceptions take one text: write `raise ValueError(str(value))`; to end the program early, `raise SystemExit('why')`."),
    ("callable replacement", "Go through `re.finditer()` and put the parts together."),
)  # fmt: skip
_MODULES = {
    "abc": "Write plain classes without a base.",
    "concurrent": f"Instead of threads, {_GATHER}.",
    "contextlib": "Write `try: … except …: pass` and `finally`.",
    "enum": "Use constants.",
    "heapq": "Use sorted().",
    "io": "Put texts together with ''.join(…).",
    "operator": "Use a lambda.",
    "statistics": "Use sum(values) / len(values), and sorted(values) for the median.",
    "string": "Write the letters out.",
    "textwrap": "Use split() and join().",
    "threading": f"Instead of threads, {_GATHER}.",
    "traceback": "Print the exception.",
    "urllib": "Only tools reach the network.",
    "zoneinfo": "Use datetime.timezone with an offset.",
}
_ASYNCIO = {
    "create_task": f"Instead, {_GATHER}.",
    "ensure_future": f"Instead, {_GATHER}.",
    "TaskGroup": f"Instead, {_GATHER}.",
    "wait": f"Instead, {_GATHER}.",
    "as_completed": f"Instead, {_GATHER}.",
    "to_thread": "Call the function itself.",
    "wait_for": "Await the call itself: each has a limit of time already.",
    "timeout": "Await the call itself: each has a limit of time already.",
}

_PARSER = re.compile(r"^The monty syntax parser does not yet support (?P<what>.+)$", re.DOTALL)
_NO_MODULE = re.compile(r"^No module named '(?P<module>[\w.]+)'")
_NO_ATTRIBUTE = re.compile(r"^module '(?P<module>\w+)' has no attribute '(?P<name>\w+)'")
_NO_IMPORT = re.compile(r"^cannot import name '(?P<name>\w+)' from '(?P<module>[\w.]+)'")
_OTHERWISE = re.compile(
    r"does not yet support|not yet supported|are not supported|Internal error in monty|not supported in this environment"
)


def refusal(kind: str, message: str) -> tuple[str, str] | None:
    """Give what the failure is to be called, and what to do, if it is monty that lacks something."""
    if kind in {"ModuleNotFoundError", "ImportError"} and (found := _NO_MODULE.match(message)):
        return message, _about_module(found["module"].partition(".")[0])
    found = _NO_ATTRIBUTE.match(message) or _NO_IMPORT.match(message)
    if kind in {"AttributeError", "ImportError"} and found is not None:
        return _about_member(message, found["module"].partition(".")[0], found["name"])
    if kind not in {"NotImplementedError", "RuntimeError", "TypeError", "SyntaxError", "AttributeError"}:
        return None
    parsed = _PARSER.match(message)
    if parsed is None and _OTHERWISE.search(message) is None:
        return None
    what = parsed["what"] if parsed is not None else message.removeprefix("Internal error in monty: ")
    advice = next((advice for mark, advice in _SYNTAX if mark in message), "Write it in a simpler way.")
    said = f"this sandbox (monty) cannot run {what}" if parsed is not None else what
    return said, _advice("This sandbox, monty, runs a part of Python, and this is not in it.", advice)


def missing_builtin(name: str) -> str | None:
    """Say that a name is Python's own, if it is; then it is no tool that was misspelt."""
    if not hasattr(builtins, name):
        return None
    kind = getattr(builtins, name)
    instead = "Write it in another way."
    if isinstance(kind, type) and issubclass(kind, BaseException):
        instead = "Use another exception, such as ValueError or RuntimeError."
    return _advice(f"This sandbox, monty, runs a part of Python, and {name!r} is not in it.", instead)


def _about_module(module: str) -> str:
    if module not in sys.stdlib_module_names:
        return f"This sandbox, monty, has no packages, and `execution.modules` has no effect in it. It has: {MODULES}. With the jail, on Linux, packages can be added."
    instead = _MODULES.get(module, "Write what you need of it yourself.")
    return _advice(f"This sandbox, monty, has no module {module!r}. It has: {MODULES}.", instead)


def _about_member(message: str, module: str, name: str) -> tuple[str, str] | None:
    if module not in sys.stdlib_module_names:
        return None
    if module == "asyncio":
        has = "has no `asyncio.{name}`: of asyncio there are gather, run and sleep."
        instead = _ASYNCIO.get(name, f"To await many, {_GATHER}.")
    else:
        has = "has no `{module}.{name}`."
        instead = "Write what you need of it yourself."
        if (module, name) == ("sys", "exit"):
            instead = "Write `raise SystemExit('why')`, or let the program run to its end."
    return message, _advice(f"This sandbox, monty, {has.format(module=module, name=name)}", instead)


def _advice(lacks: str, instead: str) -> str:
    return f"{lacks} {instead} {_ELSEWHERE}"
