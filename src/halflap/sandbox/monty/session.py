"""One program in one monty process, driven by its own thread; its calls are made by the event loop."""

from __future__ import annotations

import asyncio
import concurrent.futures as cf
import contextlib
import json
import os
import signal
import threading
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

import pydantic_monty as pm

from halflap.core.json_bounds import TooManyPartsError, check_parts
from halflap.sandbox import messages
from halflap.sandbox.media import Media, for_model, picture_of, value_text
from halflap.sandbox.monty import prelude
from halflap.sandbox.monty.failure import LACKS, describe
from halflap.sandbox.sandbox import Ending, Failure, Host, Program, ToolRefusal

if TYPE_CHECKING:
    from halflap.config import ExecutionConfig

__all__ = ["Session"]

_RECURSION = 1_000
_SUSPENSIONS = 100_000
"""How often a program may wait for the host; far more than it may make calls."""
_LAZY = ("uri", "name", "text", "data", "block")
_EAGER = ("kind", "mime_type")
_OUT_OF_MEMORY = ("MemoryError: memory limit exceeded", "MemoryError: the worker exceeded its memory limit")
_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
"""On Windows, SIGTERM ends a process at once."""


class Session:
    """A process that is used once."""

    driven: asyncio.Future[Ending]
    """Done when the thread has ended."""

    def __init__(self, pool: pm.Monty, config: ExecutionConfig, program: Program, host: Host) -> None:
        self._largest = config.max_value_bytes
        self._program = program
        # Monty cannot read half characters.
        self._source = program.code.encode("utf-8", "replace").decode()
        self._host = host
        self._loop = asyncio.get_running_loop()
        self._calls: dict[int, cf.Future[Any]] = {}
        self._lock = threading.Lock()
        self._is_silent = True
        self._is_too_much = False
        self._is_killed = threading.Event()
        self._pid: int | None = None
        self._session = pool.checkout(
            script_name=messages.FILE,
            limits={
                "max_feed_duration_secs": config.cpu_seconds,
                "max_memory": config.max_memory_mb * 1024 * 1024,
                "max_recursion_depth": _RECURSION,
                "max_suspensions": _SUSPENSIONS,
            },
            # Output that is held back would be lost when the process is killed.
            print_flush_interval=0,
            # A sleep within the pool could not be interrupted.
            os_policy={"sleep": "call_host"},
        )

    async def run(self) -> Ending:
        """Run the program, and leave nothing behind, also when cancelled."""
        thread = cf.ThreadPoolExecutor(1, thread_name_prefix="monty")
        self.driven = self._loop.run_in_executor(thread, self._drive)
        # It ends with its work.
        thread.shutdown(wait=False)
        try:
            ending = await asyncio.shield(self.driven)
        finally:
            self.kill()
            await asyncio.shield(asyncio.wait([self.driven]))
        return Ending("output") if self._is_too_much else ending

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
        entry = self._program.entry
        if entry is not None and "__name__" in self._source:
            text = "NotImplementedError: monty cannot set `__name__`, so it runs no script that uses it"
            return Ending("failed", Failure("NotImplementedError", text, f"{text}\n", LACKS))
        try:
            self._session.__enter__()
            with self._lock:
                self._pid = self._session.worker_pid
            if self._is_killed.is_set():
                self.kill()
            # What the prelude prints would go to the gateway's own output.
            self._session.feed_run(prelude.define(self._program.tools), print_callback=lambda *_: None)
            entering = "" if entry is None else prelude.call_main(self._source, entry)
            snapshot = self._session.feed_start(self._source + entering, print_callback=self._print)
            while not isinstance(snapshot, pm.MontyComplete):
                snapshot = self._step(snapshot)
            return self._completed(snapshot.output)
        except pm.MontyCrashedError as error:
            return Ending("cpu") if error.timed_out else Ending("crashed", detail=str(error)[:500])
        except (pm.MontyRuntimeError, pm.MontySyntaxError) as error:
            return _failed(error)
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
        assert isinstance(snapshot, pm.NameLookupSnapshot | pm.FunctionSnapshot)
        if snapshot.object_id is not None:
            return snapshot.resume_auto()
        return self._function(snapshot) if isinstance(snapshot, pm.FunctionSnapshot) else snapshot.resume()

    def _function(self, snapshot: pm.FunctionSnapshot) -> pm.SyncSnapshot:
        name, arguments = snapshot.function_name, snapshot.args
        if snapshot.is_os_function and name == "asyncio.sleep":
            return self._begin(snapshot, _sleep(_seconds(arguments)))
        if snapshot.is_os_function and name == "time.sleep":
            self._is_killed.wait(_seconds(arguments))
            return snapshot.resume({"return_value": None})
        if snapshot.is_os_function:
            return snapshot.resume_not_handled()
        if name == prelude.CALL:
            return self._call(snapshot)
        if name == prelude.SHOW:
            return snapshot.resume(self._show(arguments))
        return snapshot.resume(_error("NameError", f"name {name!r} is not defined"))

    def _call(self, snapshot: pm.FunctionSnapshot) -> pm.SyncSnapshot:
        try:
            name, text = snapshot.args
            check_parts(text)
            arguments = json.loads(text)
        except TooManyPartsError:
            problem = messages.too_many_parts(f"The arguments of {name}()")
            return snapshot.resume(_error(prelude.CARRIER, problem))
        except (ValueError, TypeError, RecursionError):
            name = arguments = None
        if not isinstance(name, str) or not isinstance(arguments, dict):
            return snapshot.resume(_error("TypeError", messages.CALL_TOOL))
        if len(text) > self._largest:
            problem = messages.too_large(f"The arguments of {name}()", len(text), self._largest)
            return snapshot.resume(_error(prelude.CARRIER, problem))
        return self._begin(snapshot, self._make_call(name, arguments))

    def _begin(self, snapshot: pm.FunctionSnapshot, work: Coroutine[Any, Any, Any]) -> pm.SyncSnapshot:
        """Start work on the event loop and let the program continue until it needs the result."""
        with self._lock:
            if self._is_killed.is_set():
                work.close()
                raise cf.CancelledError
            self._calls[snapshot.call_id] = asyncio.run_coroutine_threadsafe(work, self._loop)
        return snapshot.resume({"future": ...})

    async def _make_call(self, name: str, arguments: dict[str, Any]) -> Any:
        try:
            return {"return_value": _portable(await self._host.call(name, arguments))}
        except ToolRefusal as refusal:
            return _error(prelude.CARRIER, str(refusal).encode("utf-8", "replace").decode())

    def _show(self, arguments: tuple[Any, ...]) -> Any:
        value = arguments[0] if len(arguments) == 1 else None
        media = value if isinstance(value, Media) else picture_of(value)
        if media is None:
            return {"return_value": False}
        try:
            block = for_model(media.block)
        except ValueError as error:
            return _error("ValueError", str(error))
        self._is_silent = False
        return {"return_value": self._on_loop(self._host.show, block)}

    def _completed(self, output: Any) -> Ending:
        """Take the value of the last line; of a script, that is ours, and returns the value of `main` as JSON."""
        if self._program.entry is None:
            if output is not None and self._is_silent:
                self._print("stdout", f"{value_text(output)}\n")
            return Ending("ok")
        try:
            if len(output) > self._largest:
                text = messages.too_large("The parts of what main() returned", len(output), self._largest)
                return Ending("failed", Failure("ValueError", text, f"ValueError: {text}\n"))
            check_parts(output)
            return Ending("ok", value=json.loads(output))
        except TooManyPartsError:
            text = messages.too_many_parts("The parts of what main() returned")
            return Ending("failed", Failure("ValueError", text, f"ValueError: {text}\n"))
        except (ValueError, TypeError, RecursionError) as error:
            return Ending("misused", detail=f"a value that is not JSON: {error}")

    def _print(self, _stream: str, text: str) -> None:
        self._is_silent = False
        if not self._on_loop(self._host.output, text.encode("utf-8", "replace")):
            self._is_too_much = True
            self.kill()

    def _on_loop(self, ask: Callable[..., bool], *arguments: Any) -> bool:
        """Ask the host something on the event loop, and wait for the answer."""
        answer: cf.Future[bool] = cf.Future()
        self._loop.call_soon_threadsafe(lambda: answer.set_result(self._is_too_much or ask(*arguments)))
        return answer.result()


def _failed(error: pm.MontyRuntimeError | pm.MontySyntaxError) -> Ending:
    headline = error.display("type-msg")
    if headline.startswith("TimeoutError: feed time limit") and not error.traceback():
        return Ending("cpu")
    failure = describe(error)
    # Monty's own message: a program cannot catch that error.
    if headline.startswith(_OUT_OF_MEMORY):
        return Ending("memory", failure)
    return Ending("ok") if failure is None else Ending("failed", failure)


async def _sleep(seconds: float) -> Any:
    await asyncio.sleep(seconds)
    return {"return_value": None}


def _error(kind: str, message: str) -> Any:
    return {"exc_type": kind, "message": message}


def _seconds(arguments: tuple[Any, ...]) -> float:
    seconds = arguments[0] if arguments else 0
    return float(seconds) if isinstance(seconds, int | float) and seconds > 0 else 0.0


def _portable(value: Any) -> Any:
    """Return a value in the form that monty takes; raise `ToolRefusal` if there is none."""
    if isinstance(value, Media):
        return pm.ClassInstance(value, eager_attrs=_EAGER, lazy_attrs=_LAZY)
    if type(value) is list and any(isinstance(part, Media) for part in value):
        return [_portable(part) for part in value]
    try:
        # Half characters would end the program.
        return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise ToolRefusal(f"The result cannot be handed over: {error}") from None
