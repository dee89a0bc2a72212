"""Hints about a program's mistake: what it cannot have here, or what was there instead of what it looked for.

Nothing here runs code of the program: values are asked for their exact type first, and only plain ones for more.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from types import TracebackType
from typing import Any
from urllib.error import URLError

from halflap.sandbox.messages import FILE, NO_FILES, NO_HELP, NOT_AWAITED
from halflap.sandbox.missing import explain

__all__ = ["hint"]

_COROUTINE = re.compile(r"""['"]coroutine['"]|(type|not|to) coroutine\b|coroutine found""")
"""Not what asyncio says where one is needed: "a coroutine was expected"."""


def hint(error: BaseException, source: str, results: Mapping[str, Any]) -> str | None:
    """Return something useful about an error, if there is something to say."""
    try:
        traces = _traces(error)
        said = _about_surroundings(error, traces)
        return explain(error, traces[-1], source, results) if said is None and traces else said
    except Exception:  # noqa: BLE001 -- without a hint, the failure is still reported
        return None


def _traces(error: BaseException) -> list[TracebackType]:
    traces, trace = [], error.__traceback__
    while trace is not None:
        traces.append(trace)
        trace = trace.tb_next
    return traces


def _is(error: BaseException, *kinds: type[BaseException]) -> bool:
    """Return whether an error is of a type; `isinstance` would ask the object, too."""
    return issubclass(type(error), kinds)


def _text(error: BaseException) -> str:
    args = BaseException.__dict__["args"].__get__(error)
    return args[0] if args and type(args[0]) is str else ""


def _about_surroundings(error: BaseException, traces: list[TracebackType]) -> str | None:
    """Return what a program cannot have here, whatever its values are."""
    text, said = _text(error), None
    if _is(error, ImportError):
        name = ImportError.__dict__["name"].__get__(error)
        said = _about_module(name if type(name) is str else "")
    elif type(error) is NameError and type(error.name) is str and error.name == "help":
        said = NO_HELP
    elif _is_of_files(error, traces):
        said = NO_FILES
    elif _is(error, RuntimeError) and "can't start new thread" in text:
        said = "Programs have one thread; tools called together with asyncio.gather run at the same time."
        if any(trace.tb_frame.f_code.co_name == "getaddrinfo" for trace in traces):
            said = NO_FILES
    elif _is(error, RuntimeError) and "asyncio.run() cannot be called" in text:
        said = "The program already runs in an event loop: write `await main()` instead of `asyncio.run(main())`."
    elif type(error) in {TypeError, AttributeError} and _COROUTINE.search(text):
        said = NOT_AWAITED
    return said


def _about_module(name: str) -> str:
    module = name.partition(".")[0]
    if module in sys.stdlib_module_names:
        return (
            f"{name!r} is one of the few parts of the standard library that are left out of programs, which have "
            "no network, files or processes to use it with. The user can add it to `execution.modules`."
        )
    return (
        f"Programs have Python's standard library. For more, the user can add {module!r} to "
        "`execution.modules` in Halflap's configuration, if it is installed beside Halflap."
    )


def _is_of_files(error: BaseException, traces: list[TracebackType]) -> bool:
    """Return whether it comes from files, network or processes, and not from a `raise` of the program."""
    if not _is(error, OSError):
        return False
    if _is(error, PermissionError, FileNotFoundError) or OSError.__dict__["errno"].__get__(error) is not None:
        return True
    is_own = not traces or traces[-1].tb_frame.f_code.co_filename == FILE
    return _is(error, URLError, ConnectionError) and not is_own
