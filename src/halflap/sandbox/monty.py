"""Monty: programs in a subset of Python, in processes of an interpreter that has no way to the outside."""

from __future__ import annotations

import asyncio
import binascii
import builtins
import importlib
import json
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from halflap.core.environment import install_command
from halflap.core.errors import SandboxError
from halflap.sandbox.functions import (
    FILE,
    NO_FILES,
    NO_INPUT,
    NOT_AWAITED,
    ToolError,
    define,
    encode,
    exit_text,
    last_shown,
    shorten,
)
from halflap.sandbox.media import Media, for_model
from halflap.sandbox.sandbox import MAX_DEPTH, Ending, Host, Outcome, Program, Readiness

if TYPE_CHECKING:
    import pydantic_monty as pm

    from halflap.config import ExecutionConfig

_GRACE_SECONDS = 1.0
_IDLE = 2
_MAX_RECURSION = 1_000
_MAX_SUSPENSIONS = 100_000
"""How often a program may wait for the host; far more than it may make calls."""
_MAX_NAME = 200
_LAZY = ("uri", "name", "text", "data")
_EAGER = ("kind", "mime_type")
_PRELUDE = "from binascii import Incomplete as ToolError"
"""Monty has no custom exceptions. This one is a plain `Exception` that nothing raises any more."""
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
_ARGUMENTS = "_halflap_arguments"
"""The variable for what a script's `main` is called with, in a line of ours."""
_OUT_OF_MEMORY = ("MemoryError: memory limit exceeded", "MemoryError: the worker exceeded its memory limit")
_UNDEFINED = re.compile(r"^name '(?P<name>\w+)' is not defined")


class Monty:
    """Processes of monty, each used once."""

    name = "monty"

    def __init__(self, config: ExecutionConfig) -> None:
        self._config = config
        self._pool: pm.AsyncMonty | None = None
        self._running: set[_Session] = set()

    async def start(self) -> Readiness:
        try:
            pool, version = await asyncio.to_thread(self._load)
            self._pool = await pool.__aenter__()
        except ImportError as error:
            return Readiness(self.name, trouble=str(error))
        except (OSError, RuntimeError) as error:
            # The pool raises RuntimeError if a process does not start.
            return Readiness(self.name, trouble=f"monty cannot be started: {error}")
        limits = f"{self._config.cpu_seconds} s of computing, {self._config.max_memory_mb:,} MiB of memory"
        layers = (f"monty {version}", "a process for each program, with an empty environment", limits)
        notes = ["monty runs a subset of Python: no inheritance, generators or del, and few modules"]
        if self._config.modules:
            notes.append("`execution.modules` has no effect in monty: it has no packages")
        return Readiness(self.name, layers, notes=notes)

    def _load(self) -> tuple[pm.AsyncMonty, str]:
        """Import the package; return a pool and the version."""
        try:
            module = importlib.import_module("pydantic_monty")
        except ImportError as error:
            raise ImportError(f"monty is not installed ({error}): {install_command('monty')}") from error
        pool = module.AsyncMonty(
            min_processes=min(_IDLE, self._config.max_programs),
            # A program waits for the scripts that it calls, so each depth has its own.
            max_processes=self._config.max_programs * (MAX_DEPTH + 1),
            # No program finds what another one left in a process.
            max_checkouts_per_worker=1,
            feed_duration_limit_grace=_GRACE_SECONDS,
            request_timeout=self._config.cpu_seconds + 2 * _GRACE_SECONDS,
        )
        return pool, module.__version__

    async def run(self, program: Program, host: Host) -> Ending:
        if self._pool is None:
            raise SandboxError("monty was closed")
        session = _Session(self._pool, self._config, program, host)
        self._running.add(session)
        try:
            return await session.run()
        finally:
            self._running.discard(session)

    async def close(self) -> None:
        pool, self._pool = self._pool, None
        for session in self._running:
            session.end(Ending("crashed", "the sandbox was closed"))
        if pool is not None:
            await pool.__aexit__(None, None, None)


class _Session:
    """One program in a process."""

    def __init__(self, pool: pm.AsyncMonty, config: ExecutionConfig, program: Program, host: Host) -> None:
        self._pool = pool
        self._config = config
        self._program = program
        self._host = host
        self._loop = asyncio.get_running_loop()
        self._places = asyncio.Semaphore(config.max_concurrent_calls)
        self._is_silent = True
        """Nothing was printed or shown yet."""
        self._feeding: asyncio.Task[Ending]
        self._calls: set[asyncio.Task[Any]] = set()
        self._imposed: Ending | Exception | None = None

    async def run(self) -> Ending:
        """Run the program to its end, and leave nothing behind, also when cancelled."""
        self._feeding = self._loop.create_task(self._feed())
        try:
            await asyncio.wait([self._feeding])
        finally:
            # Monty does not cancel the calls that it was waiting for.
            left = [self._feeding, *self._calls]
            for task in left:
                task.cancel()
            await asyncio.wait(left)
        if isinstance(self._imposed, Exception):
            raise self._imposed
        return self._imposed or self._feeding.result()

    def end(self, how: Ending | Exception) -> None:
        """End the program, from any thread."""
        self._imposed = self._imposed or how
        self._loop.call_soon_threadsafe(self._feeding.cancel)

    async def _feed(self) -> Ending:
        import pydantic_monty as pm  # noqa: PLC0415 -- the extra

        program, config = self._program, self._config
        # Monty cannot read lone surrogates.
        code = program.code.encode("utf-8", "replace").decode()
        inputs = None
        if program.arguments is not None:
            is_async = re.search(r"^async\s+def\s+main\b", code, re.MULTILINE)
            code += f"\n{'await ' if is_async else ''}main(**{_ARGUMENTS})"
            inputs = {_ARGUMENTS: dict(program.arguments), "__name__": "script"}
        limits: Any = {
            "max_feed_duration_secs": config.cpu_seconds,
            "max_memory": config.max_memory_mb * 1024 * 1024,
            "max_recursion_depth": _MAX_RECURSION,
            "max_suspensions": _MAX_SUSPENSIONS,
        }
        checkout = self._pool.checkout(
            script_name=FILE,
            limits=limits,
            # Output that is held back would be lost when the process is killed.
            print_flush_interval=0,
            os_policy={"sleep_system_max": float("inf")},
        )
        try:
            async with checkout as session:
                await session.feed_run(_PRELUDE)
                functions = self._functions(pm)
                value = await session.feed_run(
                    code, inputs=inputs, external_lookup=functions, print_callback=self._print
                )
            return self._completed(value, functions["show"])
        except pm.MontyCrashedError as error:
            return Ending("cpu") if error.timed_out else Ending("crashed", str(error)[:500])
        except (pm.MontyRuntimeError, pm.MontySyntaxError) as error:
            return _describe(error)

    def _functions(self, pm: Any) -> dict[str, Callable[..., Any]]:
        """Return what the program finds. It runs here; monty passes on an exception by the name of its type."""

        def portable(value: Any) -> Any:
            if isinstance(value, Media):
                return pm.ClassInstance(value, eager_attrs=_EAGER, lazy_attrs=_LAZY)
            if type(value) is list and any(isinstance(part, Media) for part in value):
                return [portable(part) for part in value]
            # Lone surrogates would end the program.
            return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))

        async def call(name: str, arguments: Mapping[str, Any]) -> Any:
            body = self._encoded(arguments, f"The arguments of {name[:_MAX_NAME]}()")
            try:
                async with self._places:
                    made = self._loop.create_task(self._host.call(name, json.loads(body)))
                    self._calls.add(made)
                    made.add_done_callback(self._calls.discard)
                    return portable(await made)
            except ToolError as error:
                raise _tool_error(str(error)) from None
            except RecursionError:
                raise _tool_error(f"The result of {name!r} is nested too deeply to be passed on.") from None
            except Exception as error:
                # A bug of ours, which `run` raises.
                self.end(error)
                raise

        def show_media(media: Media) -> None:
            self._is_silent = False
            self._host.show(for_model(media.block))

        def no_input(*_: Any) -> None:
            raise RuntimeError(NO_INPUT)

        functions = define(self._program.tools, call, show_media, lambda value: self._print("", f"{value}\n"))
        return {**functions, "input": no_input}

    def _encoded(self, value: Any, what: str) -> bytes:
        try:
            return encode(value, what, self._config.max_value_bytes)
        except ValueError as error:
            raise _tool_error(str(error)) from None

    def _completed(self, value: Any, show: Callable[[Any], None]) -> Ending:
        """Take the value of the last line, or what a script's `main` returned."""
        if self._program.arguments is None:
            if value is not None and self._is_silent:
                show(last_shown(value))
            return Ending("ok")
        try:
            return Ending("ok", value=json.loads(self._encoded(value, "The value of main()")))
        except (TypeError, binascii.Incomplete) as error:
            kind = "TypeError" if isinstance(error, TypeError) else "ToolError"
            return Ending("failed", f"{kind}: {error}\n")

    def _print(self, _stream: str, text: str) -> None:
        self._is_silent = False
        if not self._host.write(text.encode("utf-8", "replace")):
            self.end(Ending("output"))


def _tool_error(message: str) -> Exception:
    return binascii.Incomplete(message.encode("utf-8", "replace").decode())


def _describe(error: pm.MontyRuntimeError | pm.MontySyntaxError) -> Ending:
    """Return how a program ended."""
    headline = error.display("type-msg")
    if headline.startswith("TimeoutError: feed time limit") and not error.traceback():
        return Ending("cpu")
    kind, _, message = headline.partition(": ")
    if kind == "SystemExit":
        text = exit_text(int(message) if message.isdecimal() else message or None)
        return Ending("ok") if text is None else Ending("failed", text)
    kind = "ToolError" if kind == "binascii.Incomplete" else kind
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
    own = [frame for frame in frames if _FEED.match(frame) and _ARGUMENTS not in frame]
    if not own:
        return ""
    # The last one is followed by the error: its lines are indented, the error is not.
    lines = re.sub(r"<python-input-\d+>", FILE, "".join(own)).splitlines(keepends=True)
    is_syntax_error = ", in " not in own[-1].partition("\n")[0]
    return ("" if is_syntax_error else header) + "".join(line for line in lines if line.startswith(" "))
