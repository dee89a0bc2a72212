"""One program in one monty process, driven by a thread of its own; its calls are made by the event loop."""

from __future__ import annotations

import asyncio
import concurrent.futures as cf
import contextlib
import json
import marshal
import os
import re
import signal
import threading
from typing import TYPE_CHECKING, Any

import pydantic_monty as pm

from halflap.sandbox import messages
from halflap.sandbox.media import Media, for_model, picture_of, value_text
from halflap.sandbox.missing import Results
from halflap.sandbox.monty.advice import NO_NAME, describe
from halflap.sandbox.monty.prelude import CALL, CARRIER, REFUSE, SHOW, enter, prelude
from halflap.sandbox.sandbox import Ending, Failure, ToolHelp, ToolRefusal

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from halflap.config import ExecutionConfig
    from halflap.sandbox.sandbox import Host, Program

__all__ = ["MOST_UNREAD", "RECURSION", "Session"]

RECURSION = 1_000
MOST_UNREAD = 65_536
"""With more output than this waiting for the event loop, the program waits."""
_MOST_WAITING = 10_000
"""With this many unanswered calls, the program waits for one of them."""
_SUSPENSIONS = 1_000_000
_LAZY = ("uri", "name", "text", "data", "block")
_EAGER = ("kind", "mime_type")
_OUT_OF_MEMORY = ("MemoryError: memory limit exceeded", "MemoryError: the worker exceeded its memory limit")
_SURROGATE = re.compile(rb"\xed[\xa0-\xbf]")
_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
"""On Windows, SIGTERM ends a process at once."""


class _MisuseError(Exception):
    """Something was asked for in a way in which no honest program asks."""


class Session:
    """A process that is used once."""

    def __init__(self, pool: pm.Monty, config: ExecutionConfig, program: Program, host: Host) -> None:
        self._largest = config.max_value_bytes
        self._tools = program.tools
        # Monty cannot read half characters.
        self._source = program.code.encode("utf-8", "replace").decode()
        self._entry = program.entry
        self._host = host
        self._loop = asyncio.get_running_loop()
        self._thread = cf.ThreadPoolExecutor(1, thread_name_prefix="monty")
        self._results = Results()
        self._called: set[str] = set()
        self._calls: dict[int, cf.Future[Any]] = {}
        self._lock = threading.Lock()
        self._printed = bytearray()
        self._is_silent = True
        self._is_too_much = False
        self._is_killed = threading.Event()
        self._pid: int | None = None
        self.ended = asyncio.Event()
        self._session = pool.checkout(
            script_name=messages.FILE,
            limits={
                "max_feed_duration_secs": config.cpu_seconds,
                "max_memory": config.max_memory_mb * 1024 * 1024,
                "max_recursion_depth": RECURSION,
                "max_suspensions": _SUSPENSIONS,
            },
            # Output that is held back would be lost when the process is killed.
            print_flush_interval=0,
            # A sleep within the pool could not be interrupted.
            os_policy={"sleep": "call_host"},
        )

    async def run(self) -> Ending:
        """Run the program, and leave nothing behind, also when cancelled."""
        driving = self._loop.run_in_executor(self._thread, self._drive)
        try:
            ending = await asyncio.shield(driving)
            return Ending("output") if self._is_too_much else ending
        finally:
            self.kill()
            await asyncio.shield(asyncio.ensure_future(self._close(driving)))

    async def _close(self, driving: asyncio.Future[Ending]) -> None:
        await asyncio.wait([driving])
        self._thread.shutdown(wait=False)
        self.ended.set()

    def kill(self) -> None:
        """End the process, from any thread, whatever it does."""
        with self._lock:
            self._is_killed.set()
            for call in self._calls.values():
                call.cancel()
            if self._pid is not None:
                with contextlib.suppress(OSError):
                    os.kill(self._pid, _KILL)

    # In the thread --------------------------------------------------------------------------------------

    def _drive(self) -> Ending:
        if self._entry is not None and "__name__" in self._source:
            text = f"NotImplementedError: {NO_NAME}\n"
            return Ending("failed", Failure("NotImplementedError", NO_NAME, text))
        try:
            self._session.__enter__()
            with self._lock:
                self._pid = self._session.worker_pid
            if self._is_killed.is_set():
                self.kill()
            self._session.feed_run(prelude(self._tools), print_callback=_discard)
            entering = "" if self._entry is None else enter(self._source, self._entry)
            snapshot = self._session.feed_start(self._source + entering, print_callback=self._print)
            while not isinstance(snapshot, pm.MontyComplete):
                snapshot = self._step(snapshot)
            return self._completed(snapshot.output)
        except pm.MontyCrashedError as error:
            return Ending("cpu") if error.timed_out else Ending("crashed", detail=str(error)[:500])
        except (pm.MontyRuntimeError, pm.MontySyntaxError) as error:
            return self._failed(error)
        except _MisuseError as misuse:
            return Ending("misused", detail=str(misuse))
        except cf.CancelledError:
            return Ending("crashed", detail="the program was cancelled")
        finally:
            with self._lock:
                # The pid may soon belong to another process.
                self._pid = None
                for call in self._calls.values():
                    call.cancel()
            with contextlib.suppress(pm.MontyError, RuntimeError):
                self._session.__exit__(None, None, None)

    def _step(self, snapshot: pm.SyncSnapshot) -> pm.SyncSnapshot:
        """Let the program continue with what it waits for."""
        if isinstance(snapshot, pm.FutureSnapshot):
            numbers = {self._calls[number]: number for number in snapshot.pending_call_ids}
            done, _ = cf.wait(numbers, return_when=cf.FIRST_COMPLETED)
            return snapshot.resume({numbers[one]: self._calls.pop(numbers[one]).result() for one in done})
        if isinstance(snapshot, pm.NameLookupSnapshot):
            return snapshot.resume() if snapshot.object_id is None else snapshot.resume_auto()
        assert isinstance(snapshot, pm.FunctionSnapshot)
        if snapshot.object_id is not None:
            return snapshot.resume_auto()
        if snapshot.is_os_function:
            return self._system_call(snapshot)
        return (
            self._call(snapshot) if snapshot.function_name == CALL else snapshot.resume(self._own(snapshot))
        )

    def _own(self, snapshot: pm.FunctionSnapshot) -> Any:
        """Answer a function of the prelude."""
        if snapshot.function_name == SHOW:
            return self._show(snapshot.args)
        if snapshot.function_name == REFUSE:
            return self._refusal(snapshot.args)
        return {"exc_type": "NameError", "message": f"name {snapshot.function_name!r} is not defined"}

    def _system_call(self, snapshot: pm.FunctionSnapshot) -> pm.SyncSnapshot:
        if snapshot.function_name == "asyncio.sleep":
            return self._start(snapshot, _sleep(_seconds(snapshot.args)))
        if snapshot.function_name != "time.sleep":
            return snapshot.resume_not_handled()
        self._is_killed.wait(_seconds(snapshot.args))
        return snapshot.resume({"return_value": None})

    def _call(self, snapshot: pm.FunctionSnapshot) -> pm.SyncSnapshot:
        name, text = _texts(snapshot.args, 2)
        if len(text) > self._largest:
            return snapshot.resume(_tool_error(messages.too_large(name, len(text), self._largest)))
        try:
            arguments = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise _MisuseError(f"arguments that are not JSON: {error}") from None
        if not isinstance(arguments, dict):
            raise _MisuseError("arguments that are not an object")
        return self._start(snapshot, self._make_call(name, arguments))

    def _start(self, snapshot: pm.FunctionSnapshot, work: Coroutine[Any, Any, Any]) -> pm.SyncSnapshot:
        """Start work on the event loop and let the program continue until it needs the result."""
        with self._lock:
            if self._is_killed.is_set():
                work.close()
                raise cf.CancelledError
            call = self._calls[snapshot.call_id] = asyncio.run_coroutine_threadsafe(work, self._loop)
        if len(self._calls) >= _MOST_WAITING:
            cf.wait([call])
        return snapshot.resume({"future": ...})

    async def _make_call(self, name: str, arguments: dict[str, Any]) -> Any:
        try:
            value = await self._host.call(name, arguments)
        except ToolRefusal as refusal:
            return _tool_error(_clean(str(refusal)))
        try:
            portable = _portable(value)
        except (ValueError, RecursionError) as error:
            return _tool_error(f"The result of {name!r} cannot be handed over: {error}")
        self._called.add(name)
        self._results.note(name, value)
        return {"return_value": portable}

    def _show(self, arguments: tuple[Any, ...]) -> Any:
        value = arguments[0] if len(arguments) == 1 else None
        media = value if isinstance(value, Media) else picture_of(value)
        if media is None:
            return {"return_value": False}
        try:
            block = for_model(media.block)
        except ValueError as error:
            return {"exc_type": "ValueError", "message": str(error)}
        self._is_silent = False
        shown: cf.Future[bool] = cf.Future()
        self._loop.call_soon_threadsafe(lambda: shown.set_result(self._host.show(block)))
        if not shown.result():
            raise _MisuseError("something to show that is not an image, sound or resource")
        return {"return_value": True}

    def _refusal(self, arguments: tuple[Any, ...]) -> Any:
        kind, name, why = _texts(arguments, 3)
        if kind == "input":
            return {"exc_type": "RuntimeError", "message": messages.NO_INPUT}
        message = {
            "unnamed": messages.keywords_only(name, self._tools.get(name, ToolHelp()).signature),
            "not_json": messages.not_json(name, why),
            "returned": messages.returned_no_json(why),
        }.get(kind, messages.CALL_TOOL)
        return {"exc_type": "TypeError", "message": message}

    def _completed(self, output: Any) -> Ending:
        """Take the value of the last line; of a script, that is ours, and returns the value of `main` as JSON."""
        if self._entry is None:
            if output is not None and self._is_silent:
                self._print("stdout", f"{value_text(output)}\n")
            self._wait_for_output()
            return Ending("ok")
        if not isinstance(output, str):
            raise _MisuseError("a value that is not JSON")
        if len(output) > self._largest:
            text = f"ValueError: {messages.returned_too_much(len(output), self._largest)}\n"
            return Ending("failed", Failure("ValueError", text, text))
        try:
            return Ending("ok", value=json.loads(output))
        except (ValueError, RecursionError) as error:
            raise _MisuseError(f"a value that is not JSON: {error}") from None

    def _failed(self, error: pm.MontyRuntimeError | pm.MontySyntaxError) -> Ending:
        headline = error.display("type-msg")
        if headline.startswith("TimeoutError: feed time limit") and not error.traceback():
            return Ending("cpu")
        failure = describe(error, self._results, self._called)
        # Monty's own message: a program cannot catch that error.
        if headline.startswith(_OUT_OF_MEMORY):
            return Ending("memory", failure)
        return Ending("ok") if failure is None else Ending("failed", failure)

    def _print(self, _stream: str, text: str) -> None:
        """Hand over what was printed; when much is not taken yet, wait."""
        self._is_silent = False
        with self._lock:
            is_first = not self._printed
            self._printed += text.encode("utf-8", "replace")
            is_much = len(self._printed) > MOST_UNREAD
        if is_first:
            self._loop.call_soon_threadsafe(self._take_output)
        if is_much:
            self._wait_for_output()

    def _wait_for_output(self) -> None:
        taken: cf.Future[None] = cf.Future()
        self._loop.call_soon_threadsafe(taken.set_result, None)
        taken.result()

    # On the event loop ----------------------------------------------------------------------------------

    def _take_output(self) -> None:
        with self._lock:
            data, self._printed = bytes(self._printed), bytearray()
        if not self._is_too_much and not self._host.output(data):
            self._is_too_much = True
            self.kill()


async def _sleep(seconds: float) -> Any:
    await asyncio.sleep(seconds)
    return {"return_value": None}


def _discard(_stream: str, _text: str) -> None:
    """Drop what the prelude prints; otherwise it would go to the gateway's own output."""


def _tool_error(message: str) -> Any:
    return {"exc_type": CARRIER, "message": message}


def _texts(arguments: tuple[Any, ...], count: int) -> tuple[str, ...]:
    if len(arguments) != count or not all(isinstance(argument, str) for argument in arguments):
        raise _MisuseError("an internal function with other arguments")
    return arguments


def _seconds(arguments: tuple[Any, ...]) -> float:
    seconds = arguments[0] if arguments else 0
    return float(seconds) if isinstance(seconds, int | float) and seconds > 0 else 0.0


def _portable(value: Any) -> Any:
    """Return a value in the form that monty takes; raise ValueError if there is none."""
    if isinstance(value, Media):
        return pm.ClassInstance(value, eager_attrs=_EAGER, lazy_attrs=_LAZY)
    if type(value) is list and any(isinstance(part, Media) for part in value):
        return [_portable(part) for part in value]
    # A quick search for half characters, which monty refuses: it would end the program.
    return _clean(value) if _SURROGATE.search(marshal.dumps(value)) else value


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_clean(one) for one in value]
    if isinstance(value, dict):
        return {_clean(key): _clean(one) for key, one in value.items()}
    return value
