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
from json import dumps
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

from halflap.sandbox import messages
from halflap.sandbox.jail import frames
from halflap.sandbox.jail.inside.channel import Channel, ToolError
from halflap.sandbox.jail.inside.console import Console, no_input
from halflap.sandbox.jail.inside.failure import describe, is_exhausted, show_source
from halflap.sandbox.jail.inside.packages import show_figures
from halflap.sandbox.jail.inside.unawaited import Unawaited
from halflap.sandbox.media import Media, for_model, picture_of, value_text
from halflap.sandbox.messages import FILE
from halflap.sandbox.missing import Results

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


__all__ = ["prepare", "run", "warm_up"]

_SMALL = """\
import asyncio, json

(result,) = await asyncio.gather(_halflap_warm(text="a"))
print(f"{sum(row['number'] for row in result['rows'])}", json.dumps(result))
"""
_WARM = "_halflap_warm"
_SAME_LINE = 0x80 | 13 << 3
"""In a line table: some instructions without columns; the next byte is the line offset."""
_LAST = "_halflap_last"
_RESERVE_BYTES = 1 << 22
"""Freed when the program has failed, so that there is memory to report it."""


def prepare() -> None:
    """Use once what a program's start and end use, so that a locked process need not load it."""
    source = "import nothing_of_this_name"
    try:
        exec(_compile(source), {})  # noqa: S102 -- our own line, before the process is locked
    except ImportError as error:
        describe(error, source, Results())
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
        channel = Channel(ours, _RESERVE_BYTES)
        answer = marshal.dumps({"rows": [{"number": 1}]})
        theirs.sendall(frames.frame(frames.VALUE, frames.NUMBER.pack(1), answer))
        console = Console(channel)
        console.attach()
        order: dict[str, Any] = {"code": _SMALL, "entry": None, "tools": {_WARM: ["", None]}}
        results = Results()
        with asyncio.Runner() as runner:
            _run(order, _names(channel, order["tools"], results), results, runner, channel.largest)
        logging.shutdown()
        console.finish()
        channel.send(frames.DONE, _written(None))


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
    results = Results()
    names = _names(channel, order["tools"], results)
    show_figures(names["show"])
    # One loop for the lines and for `main`, started when it is needed.
    failure, value = _run(order, names, results, asyncio.Runner(), channel.largest)
    if failure is None and channel.is_silent:
        _show_last(sys.modules["__main__"].__dict__, names["show"])
    with contextlib.suppress(BaseException):
        atexit._run_exitfuncs()  # noqa: SLF001 -- as above
    console.finish()
    if value is not None:
        channel.send(frames.RETURNED, value)
    channel.send(frames.DONE, _written(failure))


def _written(failure: dict[str, Any] | None) -> bytes:
    """Write how it failed, within the limit of the channel; a character may take six bytes as an escape."""
    # Half a character becomes an escape.
    body = dumps(failure, ensure_ascii=False).encode(errors="backslashreplace")
    if failure is None or len(body) <= frames.LONGEST_FAILURE:
        return body
    most = frames.LONGEST_FAILURE // (6 * len(failure) + 6)
    cut = {key: text[:most] if type(text) is str else text for key, text in failure.items()}
    return dumps(cut, ensure_ascii=False).encode(errors="backslashreplace")


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


def _run(
    order: dict[str, Any], names: dict[str, Any], results: Results, runner: asyncio.Runner, largest: int
) -> tuple[dict[str, Any] | None, bytes | None]:
    """Run it; return how it failed, if it did, and the value of a script."""
    source, entry = order["code"], order["entry"]
    reserve = mmap.mmap(-1, _RESERVE_BYTES)
    main = ModuleType("__main__")
    main.__dict__.update(names, __file__=FILE, __builtins__=builtins)
    sys.modules["__main__"] = main
    unawaited = Unawaited(["call_tool", *order["tools"]])
    unawaited.attach()
    if entry is not None:
        main.__name__ = entry["name"]
        sys.modules[entry["name"]] = main
    show_source(source)
    try:
        code = _compile(source, keep_last=entry is None)
        try:
            if code.co_flags & inspect.CO_COROUTINE:
                runner.run(eval(code, main.__dict__))  # noqa: S307 -- the program, in a locked process
            else:
                exec(code, main.__dict__)  # noqa: S102 -- the program, in a locked process
            value = None if entry is None else _enter(main, entry["arguments"], runner, largest)
        finally:
            _settle(runner)
        unawaited.finish(main.__dict__)
    except BaseException as error:  # noqa: BLE001 -- a program may raise anything
        # First, because a signal handler may need memory next.
        reserve.close()
        unawaited.stop()
        return _failed(error, source, results), None
    return None, value


def _show_last(variables: dict[str, Any], show: Callable[[Any], None]) -> None:
    """Print the value of the last line, as an interactive Python does, if the program printed nothing."""
    value = variables.get(_LAST)
    if value is None or inspect.iscoroutine(value):
        return
    # Its repr is the program's own code, which may do anything but must not break the run.
    with contextlib.suppress(BaseException):
        if isinstance(value, Media) or picture_of(value) is not None:
            show(value)
        else:
            print(value_text(value))  # noqa: T201 -- the program's own output


def _leave(code: Any = None) -> NoReturn:
    """End the program, as `sys.exit` does."""
    raise SystemExit(code)


def _settle(runner: asyncio.Runner) -> None:
    """Cancel what is still running, as at the end of `asyncio.run`."""
    loop = getattr(runner, "_loop", None)
    if loop is None:
        return
    tasks = asyncio.all_tasks(loop)
    if tasks or getattr(loop, "_asyncgens", True):
        runner.run(_end(tasks))


async def _end(tasks: set[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()


def _enter(main: ModuleType, arguments: dict[str, Any], runner: asyncio.Runner, largest: int) -> bytes:
    """Call `main` and return its value as JSON."""
    function = main.__dict__.get("main")
    if function is None:
        raise NameError("main is not defined after the lines of the file have run.", name="main")
    value = function(**arguments)
    if inspect.isawaitable(value):
        value = runner.run(_awaited(value))
    try:
        body = dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(messages.returned_no_json(error)) from None
    if len(body) > largest:
        raise ValueError(messages.returned_too_much(len(body), largest))
    return body


async def _awaited(value: Awaitable[Any]) -> Any:
    return await value


def _failed(error: BaseException, source: str, results: Results) -> dict[str, Any] | None:
    try:
        if isinstance(error, SystemExit):
            return _left(error, source, results)
        failure: dict[str, Any] = {
            key: text if text is None else str(text) for key, text in describe(error, source, results).items()
        }
        failure["is_exhausted"] = is_exhausted(error)
    except BaseException as another:  # noqa: BLE001 -- the methods of its exceptions may, too
        # There may be no memory left to describe it with.
        is_over = issubclass(type(error), MemoryError) or issubclass(type(another), MemoryError)
        kind = "MemoryError" if is_over else "Exception"
        error.__traceback__ = another.__traceback__ = None
        return {"type": kind, "message": "", "traceback": f"{kind}\n", "is_exhausted": is_over}
    return failure


def _left(leaving: SystemExit, source: str, results: Results) -> dict[str, Any] | None:
    """Interpret `sys.exit`: without a number, or with 0, it is not a failure; a text is one, and is shown."""
    if leaving.code is None or leaving.code == 0:
        return None
    return describe(leaving, source, results) | {"traceback": messages.exit_text(leaving.code)}


def _names(channel: Channel, tools: dict[str, Any], results: Results) -> dict[str, Any]:
    """Return what a program finds defined: the tools that it names, `call_tool`, `show` and `ToolError`."""

    async def call(name: str, arguments: dict[str, Any]) -> Any:
        value = _from_gateway(await channel.call(name, arguments))
        results.note(name, value)
        return value

    async def call_tool(*given: Any, **arguments: Any) -> Any:
        """Call a tool by a name that is only known when the program runs."""
        try:
            return await call(*_named_call(given, arguments))
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
            channel.send(frames.SHOW, _shown(media, channel.largest))
        except ValueError as error:
            raise error.with_traceback(None) from None

    names: dict[str, Any] = {"ToolError": ToolError, "call_tool": call_tool, "show": show}
    _hide(call_tool, "call_tool")
    _hide(show, "show")
    return names | {name: _tool(name, about[0], about[1], call) for name, about in tools.items()}


def _named_call(given: tuple[Any, ...], named: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Read `call_tool("name", {...})` and `call_tool("name", key=...)`."""
    name, *rest = given or (None,)
    if type(name) is not str or len(rest) > 1 or not all(type(one) is dict for one in rest):
        raise TypeError(messages.CALL_TOOL)
    return name, (rest[0] | named if rest else named)


def _from_gateway(answer: Any) -> Any:
    """Return the value that a program gets; a pair, which JSON does not have, stands for media."""
    if type(answer) is tuple:
        return Media(answer[1])
    if type(answer) is list and any(type(part) is tuple for part in answer):
        return [_from_gateway(part) for part in answer]
    return answer


def _shown(value: Media, largest: int) -> bytes:
    body = dumps(for_model(value.block), ensure_ascii=False).encode()
    if len(body) > largest:
        raise ValueError(messages.shown_too_much(len(body), largest))
    return body


def _tool(
    name: str, signature: str, positional: str | None, call: Callable[[str, dict[str, Any]], Awaitable[Any]]
) -> Callable[..., Awaitable[Any]]:
    async def tool(*unnamed: Any, **arguments: Any) -> Any:
        if unnamed:
            if positional is None or len(unnamed) > 1:
                raise TypeError(messages.keywords_only(name, signature))
            if positional in arguments:
                raise TypeError(messages.twice(name, positional))
            arguments[positional] = unnamed[0]
        try:
            return await call(name, arguments)
        except (ToolError, TypeError) as error:
            raise error.with_traceback(None) from None

    _hide(tool, name)
    tool.__doc__ = signature
    return tool


def _hide(function: Any, name: str) -> None:
    """Set the name of a function in tracebacks that a program prints, without a file or line of ours."""
    code = function.__code__
    pairs = len(code.co_code) // 2
    # Eight instructions at a time, all on the first line, in the form of Python 3.11 and later.
    lines = b"".join(bytes((_SAME_LINE | min(8, pairs - at) - 1, 0)) for at in range(0, pairs, 8))
    function.__code__ = code.replace(
        co_filename="<tool>", co_name=name, co_qualname=name, co_firstlineno=1, co_linetable=lines
    )
    function.__name__ = function.__qualname__ = name
    function.__module__ = "__main__"
