"""How a program failed: its own lines of the traceback, and a hint at what is not available or what exists instead.

This is the only place that tells a program about a missing key.
"""

from __future__ import annotations

import ast
import linecache
import re
import sys
from collections.abc import Iterator, Mapping
from itertools import islice
from traceback import TracebackException, extract_tb
from types import CoroutineType, TracebackType
from typing import Any

from halflap.sandbox.functions import (
    FILE,
    NO_FILES,
    NOT_AWAITED,
    PREFIXES,
    exit_text,
    listed,
    missing_key,
    shorten,
)
from halflap.sandbox.media import Media

_MAX_EXCERPT = 80
_MAX_FRAMES = 1_000
_HINTS: list[tuple[type[BaseException], str, str]] = [
    (RuntimeError, "can't start new thread",
     f"{NO_FILES} They have one thread; tools called together with asyncio.gather run at the same time."),
    (RuntimeError, r"asyncio\.run\(\) cannot be called",
     "The program already runs in an event loop: write `await main()` instead of `asyncio.run(main())`."),
    # Where asyncio needs a coroutine, it says "a coroutine was expected", which is something else.
    (TypeError, r"""['"]coroutine['"]|(type|not|to) coroutine\b|coroutine found""", NOT_AWAITED),
    (AttributeError, "'coroutine' object", NOT_AWAITED),
    (TypeError, r"(unhashable type: 'list'|awaitable is required)\n.*gather\(",
     "asyncio.gather() takes calls, not a list of them: write `*` before the list."),
    (TypeError, "'async_generator' object",
     "With `await` in it, `(… for …)` is asynchronous: write square brackets around it, `[… for …]`."),
    (TypeError, "Object of type Media", "An image, a sound or a resource has no JSON: its bytes are in .data, and show() shows it."),
    (TypeError, "the JSON object must be str",
     "The value is not text: a result that is JSON is parsed already, so json.loads() is not needed."),
    (SyntaxError, "'return' outside function",
     "A program is a file, not a function: print the result, or end with it as an expression."),
    (SyntaxError, r"outside (of an )?async(hronous)? function",
     "Only an `async def` can await: write it for the function around this line, and `await` where it is called."),
]  # fmt: skip
"""Common mistakes, by Python's message and the line of the program that failed, and what to do about them."""


def show_source(source: str) -> None:
    """Let tracebacks and warnings find the lines of the program."""
    # Without a line break at the end, the marks below the last line would be one off.
    linecache.cache[FILE] = (len(source), None, f"{source}\n".splitlines(keepends=True), FILE)


def describe(error: BaseException, source: str, results: Mapping[str, Any]) -> dict[str, Any]:
    """Return outcome, traceback and hint; `results` has the last result of each tool."""
    try:
        if isinstance(error, SystemExit):
            text = exit_text(error.code)
            return {"outcome": "ok" if text is None else "failed", "error": _clean(text or "")}
        return _describe_failure(error, source, results)
    except BaseException as another:  # noqa: BLE001 -- the methods of the program's exceptions may raise anything
        # There may be no memory left to describe it with.
        is_exhausted = isinstance(error, MemoryError) or isinstance(another, MemoryError)
        error.__traceback__ = another.__traceback__ = None
        return {
            "outcome": "memory" if is_exhausted else "failed",
            "error": "MemoryError\n" if is_exhausted else "Exception\n",
        }


def _describe_failure(error: BaseException, source: str, results: Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(error, SyntaxError) and error.text is None and error.filename == FILE and error.lineno:
        # The compiler looks for the line in a file, and there is none.
        error.text = linecache.getline(FILE, error.lineno)
    formatted = TracebackException.from_exception(error, compact=True, limit=-_MAX_FRAMES)
    is_exhausted = False
    for one in _with_causes(formatted):
        one.stack[:] = [frame for frame in one.stack if frame.filename == FILE]
        is_exhausted = is_exhausted or issubclass(one.exc_type, MemoryError)
    text = "".join(formatted.format())
    if not formatted.stack:
        # It never reached a line of the program.
        text = text.removeprefix("Traceback (most recent call last):\n")
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    hint = _hint(error, source, results)
    return {
        "outcome": "memory" if is_exhausted else "failed",
        "error": _clean(text),
        "hint": None if hint is None else _clean(hint),
    }


def _clean(text: str) -> str:
    """Return a text of a bounded length, with lone surrogates as escapes."""
    return shorten(text).encode(errors="backslashreplace").decode()


def _with_causes(first: TracebackException) -> Iterator[TracebackException]:
    """Yield an exception, its causes and the members of groups, however many there are."""
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


# Hints ------------------------------------------------------------------------------------------------


def _hint(error: BaseException, source: str, results: Mapping[str, Any]) -> str | None:
    try:
        lines = [
            frame.line for frame in extract_tb(error.__traceback__) if frame.filename == FILE and frame.line
        ]
        text = "\n".join([str(error), *lines[-1:]])
        for kind, message, hint in _HINTS:
            if isinstance(error, kind) and re.search(message, text):
                return hint
        if isinstance(error, ModuleNotFoundError):
            return _module_hint(error.name or "", source)
        if isinstance(error, OSError):
            # Without a number from the kernel, directly or behind it, the program raised it itself.
            numbers = (getattr(one, "errno", None) for one in (error, error.__context__))
            return NO_FILES if any(number is not None for number in numbers) else None
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        return None if trace is None else _value_hint(error, trace, source, results)
    except BaseException:  # noqa: BLE001 -- objects of the program may do anything; the failure is still reported
        return None


def _module_hint(name: str, source: str) -> str:
    imports = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)]
    if any(one.name.startswith(PREFIXES) for node in imports if node.module == name for one in node.names):
        return "Tools need no import: delete this line."
    package = name.partition(".")[0]
    if package in sys.stdlib_module_names:
        return (
            f"{name!r} is left out of programs, which have no network, terminal or process to use it with. "
            "The user can add it to `execution.modules`."
        )
    # A module of a large package may be missing.
    wanted = name if package in sys.modules else package
    return (
        "Programs have Python's standard library and no network; tools need no import. A package that works without network and "
        f"files can be installed by the user where Halflap is, and added to `execution.modules` (here {wanted!r})."
    )


def _value_hint(
    error: BaseException, trace: TracebackType, source: str, results: Mapping[str, Any]
) -> str | None:
    """Return what the failing expression looked into, if that can be found without running it again."""
    if isinstance(error, AttributeError) and isinstance(error.name, str):
        if isinstance(error.obj, dict) and error.name in error.obj:
            return f"The value is a dict: write [{error.name!r}] instead of .{error.name}."
        return _describe_value(error.obj, error.name, results)
    if isinstance(error, KeyError | TypeError | IndexError) and trace.tb_frame.f_code.co_filename == FILE:
        return _Line(trace, source, results).hint(error)
    return None


class _Line:
    """The line of the program that failed, and the values it used."""

    def __init__(self, trace: TracebackType, source: str, results: Mapping[str, Any]) -> None:
        self._variables = trace.tb_frame.f_globals | trace.tb_frame.f_locals
        self._position = next(islice(trace.tb_frame.f_code.co_positions(), trace.tb_lasti // 2, None))
        self._nodes = list(ast.walk(ast.parse(source)))
        self._results = results

    def hint(self, error: BaseException) -> str | None:
        """Return what a read by key or index looked into."""
        place = "lineno", "end_lineno", "col_offset", "end_col_offset"
        for node in self._nodes:
            if isinstance(node, ast.Subscript) and self._position == tuple(
                getattr(node, one) for one in place
            ):
                return self._read_hint(error, node.value)
        return None

    def _read_hint(self, error: BaseException, node: ast.expr) -> str | None:
        value = self._find(node)
        match value, node:
            case dict(), _:
                key = error.args[0] if isinstance(error, KeyError) else None
                # If it has the key, it is not the value that failed.
                return None if key is None or key in value else _describe_value(value, key, self._results)
            case None, ast.Call(func=ast.Attribute(value=whole), args=[ast.Constant(value=key)]):
                found = _describe_value(self._find(whole), key, self._results)
                return f"`.get({key!r})` gave None: {found}"
            case None, _:
                return f"`{ast.unparse(node)[:_MAX_EXCERPT]}` is None here: test for that first."
            case str(), ast.Name(id=name):
                for loop in self._nodes:
                    if isinstance(loop, ast.For | ast.comprehension) and ast.unparse(loop.target) == name:
                        looped = self._find(loop.iter)
                        if isinstance(looped, dict):
                            lists = [key for key, inner in looped.items() if isinstance(inner, list)]
                            return f"A loop over a dict goes through its keys. Lists in it: {listed(lists)}"
        return _describe_value(value)

    def _find(self, node: ast.expr) -> Any:
        """Return the value of a name, a constant, an item or a tool's result; raise for everything else."""
        match node:
            case ast.Await(value=ast.Call(func=ast.Name(id=tool), args=given)):
                return self._results[ast.literal_eval(given[0]) if tool == "call_tool" else tool]
            case ast.Name(id=name):
                return self._variables[name]
            case ast.Subscript(value=inner, slice=key):
                return self._find(inner)[ast.literal_eval(key)]
            case ast.Call(func=ast.Attribute(value=inner, attr="get"), args=[key], keywords=[]):
                return self._find(inner).get(ast.literal_eval(key))
        return ast.literal_eval(node)


def _describe_value(value: Any, key: Any = None, results: Mapping[str, Any] | None = None) -> str | None:
    hint = None
    match value:
        case dict():
            tools = (f"the result of {tool}" for tool, result in (results or {}).items() if result is value)
            hint = missing_key(key, next(tools, "this dict"), list(value))
        case list():
            hint = "The value is an empty list."
            if value:
                hint = f"The value is a list of {len(value)}, the first of them {_kind(value[0])}: take an item by its index, or loop over them."
        case str():
            hint = f"The value is text, not an object: {value[:_MAX_EXCERPT]!r}"
        case None:
            hint = "The value is None."
        case Media():
            hint = "The value is an image, a sound or a resource: its bytes are in .data, and show() shows it to the model."
        case CoroutineType():
            hint = NOT_AWAITED
    return hint


def _kind(value: Any) -> str:
    if isinstance(value, dict) and value:
        return f"a dict with the keys {listed(list(value))}"
    return f"of the type {type(value).__name__}"
