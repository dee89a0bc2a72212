"""Runs a program as Python would run a file, with tools as async functions."""

from __future__ import annotations

import _sitebuiltins
import ast
import asyncio
import atexit
import builtins
import contextlib
import inspect
import logging
import marshal
import mmap
import resource
import socket
import sys
import warnings
from json import dumps, loads  # a program may replace them in the module
from types import ModuleType
from typing import Any, NoReturn

from halflap.sandbox.functions import FILE, NO_INPUT, ToolError, define, encode, last_shown
from halflap.sandbox.jail import protocol
from halflap.sandbox.jail.inside.channel import Channel, Console
from halflap.sandbox.jail.inside.failure import describe, show_source
from halflap.sandbox.jail.inside.library import show_figures
from halflap.sandbox.media import Media, for_model

_WARM_UP = """\
import asyncio, json

(result,) = await asyncio.gather(_halflap_warm(text="a"))
print(f"{sum(row['number'] for row in result['rows'])}", json.dumps(result))
"""
_WARM_UP_TOOL = "_halflap_warm"
_PREPARATIONS = 10
_LAST = "_halflap_last"
"""The variable for the value of the last line."""
_SCRIPT = "script"
"""The `__name__` of a script; not `__main__`, so that an `if __name__ == "__main__"` block does not run."""
_RESERVE_BYTES = 1 << 22
"""Freed when the program has failed, to have memory for the report."""


def prepare() -> None:
    """Before the first fork, run something small and something that fails, because a locked process can load nothing.

    The interpreter specializes code that has run often; children then need not do that, each in its own copy of the memory.
    """
    for _ in range(_PREPARATIONS):
        warm_up()
    source = "import nothing_of_this_name"
    try:
        exec(_compile(source), {})  # noqa: S102 -- our own line, before the process is locked
    except ImportError as error:
        describe(error, source, {})
    # What modules registered for the end of the fork server does not concern programs; this does.
    atexit._clear()  # noqa: SLF001 -- there is no public way
    atexit.register(logging.shutdown)


def warm_up() -> None:
    """Run something small while the process waits for a program.

    The pages of memory that it touches are then already copied, which takes longer than a small program.
    """
    ours, theirs = socket.socketpair()
    with ours, theirs:
        channel = Channel(ours, _RESERVE_BYTES, 1)
        answer = marshal.dumps({"rows": [{"number": 1}]})
        theirs.sendall(protocol.frame(protocol.VALUE, protocol.NUMBER.pack(1), answer))
        console = Console(channel)
        order = {"code": _WARM_UP, "tools": {_WARM_UP_TOOL: ["", None]}, "arguments": None}
        _Program(channel, console, order).run()
        logging.shutdown()
        console.finish()
        channel.send(protocol.DONE, b"null")


def run(channel: Channel) -> None:
    """Wait for the program, run it, and report how it ended."""
    console = Console(channel)
    builtins.input = _no_input
    # Python gets these from `site`, which is not loaded here.
    for name in ("exit", "quit"):
        setattr(builtins, name, _sitebuiltins.Quitter(name, ""))
    builtins.help = _sitebuiltins._Helper()  # noqa: SLF001 -- there is no public way
    if sys.version_info < (3, 14):
        # The warm-up used and closed a loop; a program finds Python as it starts.
        asyncio.set_event_loop_policy(None)
    order = channel.read_program()
    if order is None:
        return
    program = _Program(channel, console, order)
    ending = program.run()
    with contextlib.suppress(BaseException):
        atexit._run_exitfuncs()  # noqa: SLF001 -- there is no public way
    if ending["outcome"] == "ok":
        # A coroutine that was never awaited is reported when it is freed, at a line of ours.
        warnings.formatwarning = lambda message, category, *_: f"{category.__name__}: {message}\n"
        program.variables.clear()
    console.finish()
    used = resource.getrusage(resource.RUSAGE_SELF)
    ending |= {"cpu_seconds": used.ru_utime + used.ru_stime, "memory_bytes": used.ru_maxrss * 1024}
    channel.send(protocol.DONE, dumps(ending, ensure_ascii=False).encode())
    channel.wait_for_end()


class _Program:
    """One program: its variables, its lines, and the value of a script."""

    def __init__(self, channel: Channel, console: Console, order: dict[str, Any]) -> None:
        self.variables: dict[str, Any] = {}
        self._source: str = order["code"]
        self._arguments: dict[str, Any] | None = order["arguments"]
        self._channel = channel
        self._console = console
        # One loop for the lines and for `main`, started when it is needed.
        self._runner = asyncio.Runner()
        self._results: dict[str, Any] = {}
        """The last result of each tool."""
        self._functions = define(order["tools"], self._call, self._show_media)

    def run(self) -> dict[str, Any]:
        """Run it, and return how it ended."""
        reserve = mmap.mmap(-1, _RESERVE_BYTES)
        name = "__main__" if self._arguments is None else _SCRIPT
        main = sys.modules["__main__"] = sys.modules[name] = ModuleType(name)
        self.variables = main.__dict__
        self.variables.update(self._functions, ToolError=ToolError, __file__=FILE, __builtins__=builtins)
        show_source(self._source)
        show_figures(self._functions["show"])
        try:
            try:
                value = self._execute()
            finally:
                # A thread pool of asyncio's cannot be shut down where there are no threads.
                with contextlib.suppress(RuntimeError):
                    self._runner.close()
        except BaseException as error:  # noqa: BLE001 -- a program may raise anything
            # First, because a signal handler may need memory next.
            reserve.close()
            # What a failure leaves without `await` is not its cause.
            warnings.simplefilter("ignore")
            return describe(error, self._source, self._results)
        if self._arguments is None:
            self._show_last(value)
            value = None
        return {"outcome": "ok", "error": "", "value": value}

    def _execute(self) -> Any:
        """Run the lines, and `main` of a script. Return its value, or that of the last line."""
        code = _compile(self._source)
        if code.co_flags & inspect.CO_COROUTINE:
            self._runner.run(eval(code, self.variables))  # noqa: S307 -- the program, in a locked process
        else:
            exec(code, self.variables)  # noqa: S102 -- the program, in a locked process
        if self._arguments is None:
            return self.variables.get(_LAST)
        if "main" not in self.variables:
            raise NameError("main is not defined after the lines of the file have run.", name="main")
        value = self.variables["main"](**self._arguments)
        if inspect.iscoroutine(value):
            value = self._runner.run(value)
        return loads(encode(value, "The value of main()", self._channel.max_value_bytes))

    async def _call(self, name: str, arguments: dict[str, Any]) -> Any:
        self._console.flush()
        value = self._results[name] = await self._channel.call(name, arguments, _line())
        return value

    def _show_media(self, media: Media) -> None:
        sys.stdout.flush()
        body = encode(for_model(media.block), "The value for show()", self._channel.max_value_bytes)
        self._channel.send(protocol.SHOW, body)

    def _show_last(self, value: Any) -> None:
        """Show plots that the program left open, or else print a value, if the program printed nothing."""
        # Its repr is the program's own code, which may do anything but must not break the run.
        with contextlib.suppress(BaseException):
            self._console.flush()
            if not self._channel.has_shown and (plot := sys.modules.get("matplotlib.pyplot")) is not None:
                plot.show()
            if value is not None and not inspect.iscoroutine(value) and self._channel.is_silent:
                self._functions["show"](last_shown(value))


def _compile(source: str) -> Any:
    """Compile a program that keeps the value of its last line, if that is an expression, under `_LAST`."""
    try:
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        tree: Any = compile(source, FILE, "exec", flags=flags | ast.PyCF_ONLY_AST, dont_inherit=True)
        if tree.body and isinstance(tree.body[-1], ast.Expr):
            last = tree.body[-1]
            target = ast.copy_location(ast.Name(_LAST, ast.Store()), last)
            tree.body[-1] = ast.copy_location(ast.Assign([target], last.value), last)
        return compile(tree, FILE, "exec", flags=flags, dont_inherit=True)
    except (MemoryError, RecursionError):
        # This is how the parser reports that its stack is full.
        raise SyntaxError("the program is nested too deeply for Python") from None


def _line() -> int | None:
    """Return the line of the program that awaits this call, or None in a task, which no line awaits."""
    frame: Any = sys._getframe(1)  # noqa: SLF001 -- there is no public way
    while frame is not None and frame.f_code.co_filename != FILE:
        # Behind a task is the event loop, and behind that what started it.
        frame = frame.f_back if frame.f_code.co_flags & inspect.CO_COROUTINE else None
    return None if frame is None else frame.f_lineno


def _no_input(_prompt: object = "") -> NoReturn:
    raise EOFError(NO_INPUT)
