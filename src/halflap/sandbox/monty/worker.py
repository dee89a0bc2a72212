"""One monty process and the program in it, as a thread sees them: take a turn, hear what it wants, kill it."""

from __future__ import annotations

import contextlib
import json
import marshal
import os
import re
import signal
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pydantic_monty as pm

from halflap.sandbox import words
from halflap.sandbox.hints import FILE, Provenance, Seen, see
from halflap.sandbox.media import Media, for_model, picture_of, value_text
from halflap.sandbox.monty.failure import Scene, describe
from halflap.sandbox.monty.lacking import NO_NAME
from halflap.sandbox.monty.prelude import CALL, CARRIER, REFUSE, SHOW, enter, prelude
from halflap.sandbox.sandbox import Failure, ToolHelp
from halflap.sandbox.sandbox import Media as Block

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from halflap.sandbox.monty.limits import Limits
    from halflap.sandbox.sandbox import Program

__all__ = ["Call", "Ended", "Outcome", "Show", "Sleep", "Wait", "Want", "Worker"]

_LAZY = ("uri", "name", "text", "data", "block")
_EAGER = ("kind", "mime_type")
_ASK_SECONDS = 1.0
_OVER = ("MemoryError: memory limit exceeded", "MemoryError: the worker exceeded its memory limit")
_SURROGATE = re.compile(rb"\xed[\xa0-\xbf]")
_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
"""On Windows, SIGTERM is what ends a process at once."""


@dataclass(frozen=True, slots=True)
class Call:
    """The program called a tool."""

    number: int
    name: str
    arguments: dict[str, Any]
    is_alone: bool
    """Nothing else of the program goes on in the meantime."""


@dataclass(frozen=True, slots=True)
class Sleep:
    """The program sleeps: all of it, or only what awaits this while the rest goes on."""

    number: int
    seconds: float
    is_all: bool


@dataclass(frozen=True, slots=True)
class Show:
    """The program shows something."""

    block: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Wait:
    """All of the program waits, for one of these."""

    numbers: list[int]


@dataclass(frozen=True, slots=True)
class Ended:
    """The program is at an end."""

    kind: str
    """`done`, `cpu`, `memory`, `crashed` or `misused`."""
    failure: Failure | None = None
    detail: str = ""
    value: Any = None


Want = Call | Sleep | Show | Wait | Ended


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call came to: a value of the host's, or why there is none."""

    tool: str | None
    value: Any = None
    refusal: str | None = None


class Worker:
    """A process that is used once. All but `kill` is called by one thread at a time, and may take long."""

    def __init__(
        self, pool: pm.Monty, limits: Limits, program: Program, output: Callable[[bytes], None]
    ) -> None:
        self._limits = limits
        self._tools = program.tools
        # What no text can hold, monty cannot read.
        self._source = program.code.encode("utf-8", "replace").decode()
        self._entry = program.entry
        self._output = output
        self._is_silent = True
        """Nothing was printed or shown yet."""
        self._provenance = Provenance()
        self._results: dict[str, Seen] = {}
        self._waited_at: pm.SourceRange | None = None
        self._snapshot: pm.SyncSnapshot | None = None
        self._lock = threading.Lock()
        self._pid: int | None = None
        self._is_killed = False
        self._session = pool.checkout(
            script_name=FILE,
            limits={
                "max_feed_duration_secs": limits.seconds,
                "max_memory": limits.memory_bytes,
                "max_recursion_depth": limits.recursion,
                "max_suspensions": limits.suspensions,
            },
            # What is held back for a moment is lost when the process is killed within one long operation.
            print_flush_interval=0,
            # A sleep within the pool could not be interrupted.
            os_policy={"sleep": "call_host"},
        )

    def start(self) -> Want:
        """Get a process, and begin."""
        if self._entry is not None and "__name__" in self._source:
            return Ended("done", Failure("NotImplementedError", NO_NAME, f"NotImplementedError: {NO_NAME}\n"))
        self._session.__enter__()
        with self._lock:
            self._pid = self._session.worker_pid
        if self._is_killed:
            self.kill()
        return self._turn(self._begin)

    def _begin(self) -> pm.SyncSnapshot:
        self._session.feed_run(prelude(self._tools), print_callback=_discard)
        entering = "" if self._entry is None else enter(self._source, self._entry)
        return self._session.feed_start(self._source + entering, print_callback=self._print)

    def answer(self, outcome: Outcome) -> Want:
        """Give the answer to what was asked, at once."""
        snapshot = self._snapshot
        assert isinstance(snapshot, pm.FunctionSnapshot)
        return self._turn(lambda: snapshot.resume(self._settled(outcome)))

    def settle(self, call: Call, outcome: Outcome) -> Want:
        """Give what a call came to that all of the program awaits: a promise and its keeping, in one turn."""
        snapshot = self._snapshot
        assert isinstance(snapshot, pm.FunctionSnapshot)

        def go_on() -> pm.SyncSnapshot:
            waiting = snapshot.resume({"future": ...})
            if not isinstance(waiting, pm.FutureSnapshot):
                raise _MisuseError("a call that is not awaited after all")
            self._waited_at = waiting.position
            return waiting.resume({call.number: self._settled(outcome)})

        return self._turn(go_on)

    def promise(self) -> Want:
        """Let the program go on until it needs what it asked for."""
        snapshot = self._snapshot
        assert isinstance(snapshot, pm.FunctionSnapshot)
        return self._turn(lambda: snapshot.resume({"future": ...}))

    def keep(self, outcomes: Mapping[int, Outcome]) -> Want:
        """Give what some of the calls came to that it waits for."""
        snapshot = self._snapshot
        assert isinstance(snapshot, pm.FutureSnapshot)
        return self._turn(
            lambda: snapshot.resume({number: self._settled(one) for number, one in outcomes.items()})
        )

    def kill(self) -> None:
        """End the process, from any thread, whatever it does; what waits for it goes on."""
        with self._lock:
            self._is_killed = True
            if self._pid is not None:
                with contextlib.suppress(OSError):
                    os.kill(self._pid, _KILL)

    def close(self) -> None:
        """Give the process back; there will be another in its place."""
        with self._lock:
            self._pid = None
        with contextlib.suppress(pm.MontyError, RuntimeError):
            self._session.__exit__(None, None, None)

    # Turns ---------------------------------------------------------------------------------------------

    def _turn(self, go_on: Callable[[], pm.SyncSnapshot]) -> Want:
        """Let the program run until it wants something that only the host can give."""
        try:
            snapshot = go_on()
            while True:
                self._snapshot = snapshot
                if isinstance(snapshot, pm.MontyComplete):
                    return self._complete(snapshot.output)
                if isinstance(snapshot, pm.FutureSnapshot):
                    self._waited_at = snapshot.position
                    return Wait(snapshot.pending_call_ids)
                if isinstance(snapshot, pm.NameLookupSnapshot):
                    snapshot = snapshot.resume() if snapshot.object_id is None else snapshot.resume_auto()
                    continue
                self._waited_at = snapshot.position
                want = self._read(snapshot)
                if not isinstance(want, _Answered):
                    return want
                snapshot = want.snapshot
        except pm.MontyCrashedError as error:
            with self._lock:
                # The number may be another process's by now.
                self._pid = None
            return Ended("cpu") if error.timed_out else Ended("crashed", detail=str(error)[:500])
        except (pm.MontyRuntimeError, pm.MontySyntaxError) as error:
            return self._failed(error)
        except _MisuseError as misuse:
            return Ended("misused", detail=str(misuse))

    def _complete(self, output: Any) -> Ended:
        """Take the value of a script, which its last line, one of ours, gives as JSON."""
        if self._entry is None:
            if output is not None and self._is_silent:
                self._print("stdout", f"{value_text(output)}\n")
            return Ended("done")
        if not isinstance(output, str):
            raise _MisuseError("a value that is not JSON")
        if len(output) > self._limits.value_bytes:
            text = f"ValueError: {words.returned_too_much(len(output), self._limits.value_bytes)}\n"
            return Ended("done", Failure("ValueError", text, text))
        try:
            return Ended("done", value=json.loads(output))
        except (ValueError, RecursionError) as error:
            raise _MisuseError(f"a value that is not JSON: {error}") from None

    def _read(self, snapshot: pm.FunctionSnapshot) -> Want | _Answered:
        """Say what a call from the sandbox is about, or answer it here."""
        name: str = snapshot.function_name
        if snapshot.object_id is not None:
            return _Answered(snapshot.resume_auto())
        if snapshot.is_os_function:
            if name in {"time.sleep", "asyncio.sleep"}:
                return Sleep(snapshot.call_id, _seconds(snapshot.args), is_all=name == "time.sleep")
            return _Answered(snapshot.resume_not_handled())
        if name == CALL:
            return self._read_call(snapshot)
        answer: pm.ExternalResult
        if name == SHOW:
            value = snapshot.args[0] if len(snapshot.args) == 1 else None
            answer = {"return_value": False}
            media = value if isinstance(value, Media) else picture_of(value)
            if media is not None:
                try:
                    self._is_silent = False
                    return Show(for_model(media.block))
                except ValueError as error:
                    answer = {"exc_type": "ValueError", "message": str(error)}
        elif name == REFUSE:
            answer = self._refusal(snapshot.args)
        else:
            answer = {"exc_type": "NameError", "message": f"name {name!r} is not defined"}
        return _Answered(snapshot.resume(answer))

    def _read_call(self, snapshot: pm.FunctionSnapshot) -> Want | _Answered:
        name, text = _texts(snapshot.args, 2)
        if len(text) > self._limits.value_bytes:
            message = words.too_large(name, len(text), self._limits.value_bytes)
            return _Answered(snapshot.resume({"exc_type": CARRIER, "message": message}))  # type: ignore[typeddict-item]
        try:
            arguments = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise _MisuseError(f"arguments that are not JSON: {error}") from None
        if not isinstance(arguments, dict):
            raise _MisuseError("arguments that are not an object")
        return Call(snapshot.call_id, name, arguments, is_alone=snapshot.allow_eager_await)

    def _refusal(self, arguments: tuple[Any, ...]) -> pm.ExternalExceptionData:
        kind, name, why = _texts(arguments, 3)
        if kind == "input":
            return {"exc_type": "RuntimeError", "message": words.NO_INPUT}
        if kind == "unnamed":
            return {
                "exc_type": "TypeError",
                "message": words.keywords_only(name, self._tools.get(name, ToolHelp()).signature),
            }
        if kind == "not_json":
            return {"exc_type": "TypeError", "message": words.not_json(name, why)}
        if kind == "returned":
            return {"exc_type": "TypeError", "message": words.returned_no_json(why)}
        return {"exc_type": "TypeError", "message": words.CALL_TOOL}

    def _settled(self, outcome: Outcome) -> pm.ExternalSettledResult:
        if outcome.refusal is not None:
            return {"exc_type": CARRIER, "message": _clean(outcome.refusal)}  # type: ignore[typeddict-item]
        try:
            value = _portable(outcome.value)
        except (ValueError, RecursionError) as error:
            message = f"The result of {outcome.tool!r} cannot be handed over: {error}"
            return {"exc_type": CARRIER, "message": message}  # type: ignore[typeddict-item]
        if outcome.tool is not None:
            self._provenance.note(outcome.tool, outcome.value)
            self._results[outcome.tool] = see(outcome.value)
        return {"return_value": value}

    def _print(self, _stream: str, text: str) -> None:
        self._is_silent = False
        self._output(text.encode("utf-8", "replace"))

    def _failed(self, error: pm.MontyRuntimeError | pm.MontySyntaxError) -> Ended:
        headline = error.display("type-msg")
        # Monty's own words: a program cannot catch that, and may well raise one of its own.
        is_over = headline.startswith(_OVER)
        if headline.startswith("TimeoutError: feed time limit") and not error.traceback():
            return Ended("cpu")
        scene = Scene(
            self._source,
            self._provenance,
            self._results,
            self._waited_at,
            self._no_answer if is_over else self._ask,
        )
        return Ended("memory" if is_over else "done", describe(error, scene))

    def _ask(self, code: str) -> Any:
        """Run a line of ours. The program may have redefined what it uses, so it gets no more than a moment."""
        timer = threading.Timer(_ASK_SECONDS, self.kill)
        timer.daemon = True
        timer.start()
        try:
            return self._session.feed_run(code, print_callback=_discard)
        finally:
            timer.cancel()

    @staticmethod
    def _no_answer(_code: str) -> Any:
        """Ask nothing more of a session that went over a limit."""


@dataclass(frozen=True, slots=True)
class _Answered:
    """The host need not be asked; the program went on."""

    snapshot: pm.SyncSnapshot


class _MisuseError(Exception):
    """Something was asked for in a way in which no honest program asks."""


def _discard(_stream: str, _text: str) -> None:
    """Let what our own lines print go nowhere; without this it would go to our own output."""


def _texts(arguments: tuple[Any, ...], count: int) -> tuple[str, ...]:
    if len(arguments) != count or not all(isinstance(argument, str) for argument in arguments):
        raise _MisuseError("a word of Halflap's own, used in another way")
    return arguments


def _seconds(arguments: tuple[Any, ...]) -> float:
    seconds = arguments[0] if arguments else 0
    return float(seconds) if isinstance(seconds, int | float) and seconds > 0 else 0.0


def _portable(value: Any) -> Any:
    """Give a value in the form that monty takes. Raises ValueError if there is none."""
    if isinstance(value, Block):
        media = Media(dict(value.block))
        return pm.ClassInstance(media, eager_attrs=_EAGER, lazy_attrs=_LAZY)
    if type(value) is list and any(isinstance(part, Block) for part in value):
        return [_portable(part) for part in value]
    # This is quick, and finds half letters, which monty refuses: it would end the program.
    return _clean(value) if _SURROGATE.search(marshal.dumps(value)) else value


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_clean(one) for one in value]
    if isinstance(value, dict):
        return {_clean(key): _clean(one) for key, one in value.items()}
    return value
