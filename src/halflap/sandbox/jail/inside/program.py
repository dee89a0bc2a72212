"""Runs a program as Python would run a file, with tools as async functions."""

from __future__ import annotations

import ast
import asyncio
import atexit
import builtins
import contextlib
import inspect
import logging
import marshal
import mmap
import socket
import sys
import warnings
from collections.abc import Awaitable, Callable
from json import dumps
from types import CoroutineType, ModuleType
from typing import Any, NoReturn

from halflap.core.json_bounds import TooManyPartsError, check_parts
from halflap.sandbox import messages
from halflap.sandbox.jail import protocol
from halflap.sandbox.jail.inside.channel import Channel, Console, ToolError, no_input
from halflap.sandbox.jail.inside.failure import describe, show_source
from halflap.sandbox.jail.inside.library import show_figures
from halflap.sandbox.media import Media, for_model, picture_of, value_text
from halflap.sandbox.messages import FILE

__all__ = ["prepare", "run", "warm_up"]

_SMALL = """\
import asyncio, json

(result,) = await asyncio.gather(_halflap_warm(text="a"))
print(f"{sum(row['number'] for row in result['rows'])}", json.dumps(result))
"""
_WARM = "_halflap_warm"
_LAST = "_halflap_last"
_RESERVE_BYTES = 1 << 22
"""Freed when the program has failed, so that there is memory to report it."""


def prepare() -> None:
    """Use once what a program's start and end use, so that a locked process need not load it."""
    source = "import nothing_of_this_name"
    try:
        exec(_compile(source), {})  # noqa: S102 -- our own line, before the process is locked
    except ImportError as error:
        describe(error, source, {})
    with contextlib.suppress(Exception):
        ast.parse("x[0]")
    # What modules registered for the end of the fork server does not concern programs; this does.
    atexit._clear()  # noqa: SLF001 -- there is no public way
    atexit.register(logging.shutdown)


def warm_up() -> None:
    """Run something small while the process waits, so that the pages it touches are already its own.

    Copying them takes longer than a small program does.
    """
    ours, theirs = socket.socketpair()
    with ours, theirs:
        channel = Channel(ours, _RESERVE_BYTES, 1)
        answer = marshal.dumps({"rows": [{"number": 1}]})
        theirs.sendall(protocol.frame(protocol.VALUE, protocol.NUMBER.pack(1), answer))
        console = Console(channel)
        console.attach()
        _Program(channel, {"code": _SMALL, "entry": None, "tools": {_WARM: ["", None]}}).run()
        logging.shutdown()
        console.finish()
        channel.send(protocol.DONE, b"null")


def run(channel: Channel) -> None:
    """Wait for the program, run it, and report how it ended."""
    console = Console(channel)
    console.attach()
    console.keep_sending()
    builtins.input = no_input
    # Python has these from `site`, which is not loaded here.
    for name in ("exit", "quit"):
        setattr(builtins, name, _leave)
    if sys.version_info < (3, 14):
        # The warm-up used and closed a loop; a program finds Python as it starts.
        asyncio.set_event_loop_policy(None)
    order = channel.read_program()
    if order is None:
        return
    program = _Program(channel, order)
    show_figures(program.names["show"])
    failure = program.run()
    if failure is None and channel.is_silent:
        program.show_last()
    with contextlib.suppress(BaseException):
        atexit._run_exitfuncs()  # noqa: SLF001 -- as above
    if failure is None:
        program.drop_unawaited()
    console.finish()
    if program.value is not None:
        channel.send(protocol.RETURNED, program.value)
    # Half a character becomes an escape.
    channel.send(protocol.DONE, dumps(failure, ensure_ascii=False).encode(errors="backslashreplace"))
    channel.wait_for_end()


class _Program:
    """One program: what it finds defined, its lines, and the value of a script."""

    def __init__(self, channel: Channel, order: dict[str, Any]) -> None:
        self._source: str = order["code"]
        self._entry: dict[str, Any] | None = order["entry"]
        # One loop for the lines and for `main`, started when it is needed.
        self._runner = asyncio.Runner()
        self._largest = channel.largest
        self._results: dict[str, Any] = {}
        """The last result of each tool."""
        self.names = _names(channel, order["tools"], self._results)
        self.variables: dict[str, Any] = {}
        self.value: bytes | None = None
        """What a script's `main` returned, as JSON."""

    def run(self) -> dict[str, Any] | None:
        """Run it, and return how it failed, if it did."""
        reserve = mmap.mmap(-1, _RESERVE_BYTES)
        name = "__main__" if self._entry is None else self._entry["name"]
        main = sys.modules["__main__"] = sys.modules[name] = ModuleType(name)
        self.variables = main.__dict__
        self.variables.update(self.names, __file__=FILE, __builtins__=builtins)
        show_source(self._source)
        try:
            code = _compile(self._source, keep_last=self._entry is None)
            try:
                if code.co_flags & inspect.CO_COROUTINE:
                    self._runner.run(eval(code, self.variables))  # noqa: S307 -- the program, in a locked process
                else:
                    exec(code, self.variables)  # noqa: S102 -- the program, in a locked process
                if self._entry is not None:
                    self.value = self._enter(self._entry["arguments"])
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
        return None

    def _enter(self, arguments: dict[str, Any]) -> bytes:
        """Call `main` and return its value as JSON."""
        function = self.variables.get("main")
        if function is None:
            raise NameError("main is not defined after the lines of the file have run.", name="main")
        value = function(**arguments)
        if inspect.isawaitable(value):
            value = self._runner.run(_awaited(value))
        try:
            body = dumps(value, allow_nan=False, ensure_ascii=False).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise TypeError(messages.not_json("main() may return", error)) from None
        if len(body) > self._largest:
            raise ValueError(
                messages.too_large("The parts of what main() returned", len(body), self._largest)
            )
        try:
            check_parts(body)
        except TooManyPartsError:
            raise ValueError(messages.too_many_parts("The parts of what main() returned")) from None
        return body

    def drop_unawaited(self) -> None:
        """Let go of the calls in variables: what was never awaited is warned of when it goes."""
        for name, value in list(self.variables.items()):
            if type(value) in {CoroutineType, list, tuple, dict}:
                del self.variables[name]

    def show_last(self) -> None:
        """Print the value of the last line, as an interactive Python does, if the program printed nothing."""
        value = self.variables.get(_LAST)
        if value is None or inspect.iscoroutine(value):
            return
        # Its repr is the program's own code, which may do anything but must not break the run.
        with contextlib.suppress(BaseException):
            if isinstance(value, Media) or picture_of(value) is not None:
                self.names["show"](value)
            else:
                print(value_text(value))  # noqa: T201 -- the program's own output


def _compile(source: str, *, keep_last: bool = False) -> Any:
    """Compile a program; `keep_last` keeps the value of a last line that is an expression, under `_LAST`."""
    try:
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        tree: Any = compile(source, FILE, "exec", flags=flags | ast.PyCF_ONLY_AST, dont_inherit=True)
        if keep_last and tree.body and isinstance(tree.body[-1], ast.Expr):
            last = tree.body[-1]
            target = ast.copy_location(ast.Name(_LAST, ast.Store()), last)
            tree.body[-1] = ast.copy_location(ast.Assign([target], last.value), last)
        return compile(tree, FILE, "exec", flags=flags, dont_inherit=True)
    except (MemoryError, RecursionError):
        # This is how the parser reports that its stack is full.
        raise SyntaxError("the program is nested too deeply for Python") from None


def _leave(code: Any = None) -> NoReturn:
    """End the program, as `sys.exit` does."""
    raise SystemExit(code)


async def _awaited(value: Awaitable[Any]) -> Any:
    return await value


# What a program finds defined ---------------------------------------------------------------------------------


def _names(channel: Channel, tools: dict[str, Any], results: dict[str, Any]) -> dict[str, Any]:
    """Return the tools that a program names, `call_tool`, `show` and `ToolError`."""

    async def call(name: str, arguments: dict[str, Any]) -> Any:
        value = await channel.call(name, arguments)
        results[name] = value
        return value

    async def call_tool(*given: Any, **arguments: Any) -> Any:
        """Call a tool by a name that is only known when the program runs."""
        name, *rest = given or (None,)
        if type(name) is not str or len(rest) > 1 or not all(type(one) is dict for one in rest):
            raise TypeError(messages.CALL_TOOL)
        try:
            return await call(name, rest[0] | arguments if rest else arguments)
        except (ToolError, TypeError) as error:
            # Where in our files it was raised means nothing to the program.
            raise error.with_traceback(None) from None

    def show(value: Any) -> None:
        """Show an image, a sound or a resource to the model; print anything else."""
        if type(value) is list and any(isinstance(part, Media) for part in value):
            for part in value:
                show(part)
            return
        media = value if isinstance(value, Media) else picture_of(value)
        if media is None:
            print(value)  # noqa: T201 -- the program's own output
            return
        sys.stdout.flush()
        try:
            channel.send(protocol.SHOW, _shown(media, channel.largest))
        except ValueError as error:
            raise error.with_traceback(None) from None

    names: dict[str, Any] = {"ToolError": ToolError, "call_tool": call_tool, "show": show}
    _hide(call_tool, "call_tool")
    _hide(show, "show")
    return names | {name: _tool(name, about[0], about[1], call) for name, about in tools.items()}


def _tool(
    name: str, signature: str, positional: str | None, call: Callable[[str, dict[str, Any]], Awaitable[Any]]
) -> Callable[..., Awaitable[Any]]:
    async def tool(*unnamed: Any, **arguments: Any) -> Any:
        if unnamed:
            if positional is None or len(unnamed) > 1:
                raise TypeError(messages.keywords_only(name, signature))
            if positional in arguments:
                raise TypeError(f"{name}() got multiple values for argument {positional!r}")
            arguments[positional] = unnamed[0]
        try:
            return await call(name, arguments)
        except (ToolError, TypeError) as error:
            raise error.with_traceback(None) from None

    _hide(tool, name)
    tool.__doc__ = signature
    return tool


def _shown(value: Media, largest: int) -> bytes:
    body = dumps(for_model(value.block), ensure_ascii=False).encode()
    if len(body) > largest:
        raise ValueError(messages.too_large("The parts of what show() got", len(body), largest))
    return body


def _hide(function: Any, name: str) -> None:
    """Set the name of a function in tracebacks that a program prints, without a file of ours."""
    code = function.__code__
    function.__code__ = code.replace(co_filename="<tool>", co_name=name, co_qualname=name)
    function.__name__ = function.__qualname__ = name
    function.__module__ = "__main__"
