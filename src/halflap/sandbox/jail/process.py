"""One locked process, seen from the gateway: send it a program, answer its calls, trust nothing that it sends."""

from __future__ import annotations

import asyncio
import json
import marshal
import math
import signal
from collections import deque
from types import NoneType
from typing import TYPE_CHECKING, Any

from halflap.core.json_bounds import MAX_PARTS, check_parts
from halflap.sandbox.functions import ToolError
from halflap.sandbox.jail import protocol
from halflap.sandbox.jail.protocol import NUMBER, MisuseError, frame
from halflap.sandbox.media import Media
from halflap.sandbox.sandbox import Ending, Host, Outcome, Program

if TYPE_CHECKING:
    from halflap.config import ExecutionConfig
    from halflap.sandbox.jail.fork_server import Child, Exit

__all__ = ["SandboxProcess"]

_LOCK_SECONDS = 20.0
_LAST_OUTPUT_SECONDS = 1.0
_EXIT_SECONDS = 2.0
_CLOSE_AFTER_SECONDS = 0.005
"""Ending a process takes CPU time, which the answer should get first."""
_READ_BYTES = 4_096
"""Then others get their turn: tiny frames cost the gateway more than the program."""
_READ_BYTES_OF_LARGE = 1 << 20
_LARGE_TEXT = 65_536
"""Larger ones are parsed in a thread."""
_PARTS_OF_SHOWN = 1_000
"""Far more than a picture or resource has: it is parsed at once, while others wait."""
_MAX_LINE = 1_000_000
_SIGNALS = {
    "SIGSYS": "it made a system call that no program needs, and was killed for it",
    "SIGKILL": "the system killed it, probably for want of memory",
    "SIGSEGV": "the interpreter crashed (SIGSEGV), as after recursion that is too deep, or os.abort()",
}


class SandboxProcess:
    """A process that runs one program.

    What it can make the gateway hold is bounded by `max_concurrent_calls` open calls of `max_value_bytes` each: a call is
    open until the last byte of its answer is sent, and no honest process begins more.
    """

    def __init__(self, child: Child, config: ExecutionConfig) -> None:
        self.child = child
        self._config = config
        self._channel = child.channel
        # By its number: a loop writes out the whole name of a socket that it does not know yet.
        self._descriptor = child.channel.fileno()
        self._frames = protocol.Frames(protocol.limits(config.max_value_bytes))
        self._loop = asyncio.get_running_loop()
        self._last_word: asyncio.Future[bytes | Ending | None] = self._loop.create_future()
        """How it ended: as it says itself, by what it did, or None if the channel was closed before."""
        self._is_dying = False
        self._host: Host
        self._open: set[int] = set()
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._last = self._cancelled = 0
        self._unsent: deque[tuple[int, memoryview]] = deque()
        """Frames, each with the number of the call that it answers."""

    async def locked(self) -> None:
        """Wait until the process reports that it is locked; nothing is sent to it before."""
        async with asyncio.timeout(_LOCK_SECONDS):
            said = await self._loop.sock_recv(self._channel, 4_096)
        if said != protocol.READY or not self.child.is_alive:
            raise OSError(said.decode(errors="replace") or "the process ended before it was locked")

    async def run(self, program: Program, host: Host) -> Ending:
        """Run the program to its end. The process is killed then, or when this is cancelled."""
        self._host = host
        arguments = None if program.arguments is None else dict(program.arguments)
        order = {"code": program.code, "tools": dict(program.tools), "arguments": arguments}
        self._send(frame(protocol.PROGRAM, json.dumps(order).encode()))
        self._loop.add_reader(self._descriptor, self._read)
        try:
            said = await self._ended()
            if said is None:
                said = _silent_ending(await self.child.exited(_EXIT_SECONDS), self._config.cpu_seconds)
        except BaseException:
            await asyncio.shield(self._stop())
            raise
        self._loop.call_later(_CLOSE_AFTER_SECONDS, self.close)
        if isinstance(said, Ending):
            return said
        try:
            is_large = len(said) > _LARGE_TEXT
            return await asyncio.to_thread(_read_ending, said) if is_large else _read_ending(said)
        except MisuseError as misuse:
            return Ending("misused", str(misuse))

    async def _ended(self) -> bytes | Ending | None:
        """Wait for the end of the program, and end its calls."""
        try:
            return await asyncio.shield(self._last_word)
        finally:
            for task in self._tasks.values():
                task.cancel()
            if self._tasks:
                await asyncio.wait(self._tasks.values())

    async def _stop(self) -> None:
        """Kill it; of what it had sent until then, only output counts."""
        self._is_dying = True
        self.child.kill()
        await asyncio.wait([self._last_word], timeout=_LAST_OUTPUT_SECONDS)
        self.close()
        await self.child.exited()

    def close(self) -> None:
        """Kill it, and read nothing more from it."""
        self._end(None)
        if self._channel.fileno() >= 0:
            self._loop.remove_writer(self._descriptor)
        self.child.kill()
        self._channel.close()

    def _end(self, how: bytes | Ending | Exception | None) -> None:
        if not self._last_word.done():
            if isinstance(how, Exception):
                self._last_word.set_exception(how)
                self._last_word.exception()
            else:
                self._last_word.set_result(how)
        if self._channel.fileno() >= 0:
            self._loop.remove_reader(self._descriptor)

    # What it sends -------------------------------------------------------------------------------------

    def _read(self) -> None:
        try:
            data = self._channel.recv(min(max(_READ_BYTES, self._frames.missing), _READ_BYTES_OF_LARGE))
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._end(None)
            return
        try:
            for kind, body in self._frames.add(data):
                self._handle(kind, body)
                if self._last_word.done():
                    return
        except MisuseError as misuse:
            self._end(Ending("misused", str(misuse)))
        except Exception as error:  # noqa: BLE001 -- a bug of ours, which `run` raises
            self._end(error)

    def _handle(self, kind: bytes, body: bytes) -> None:
        if kind == protocol.OUTPUT:
            if not body:
                raise MisuseError("an empty frame")
            if not self._host.write(body):
                self._end(Ending("output"))
        elif self._is_dying:
            return
        elif kind == protocol.CALL:
            self._begin(_read_number(body), body[NUMBER.size :])
        elif kind == protocol.CANCEL:
            self._cancel(_read_number(body))
        elif kind == protocol.DONE:
            self._end(body)
        elif not self._host.show(_read_object(body, _PARTS_OF_SHOWN)):
            raise MisuseError("something to show that is not an image, sound or resource")

    # Its calls -----------------------------------------------------------------------------------------

    def _begin(self, number: int, body: bytes) -> None:
        if number <= self._last:
            raise MisuseError(f"call {number} again")
        if len(self._open) >= self._config.max_concurrent_calls:
            raise MisuseError(f"more than {self._config.max_concurrent_calls:,} calls at a time")
        self._last = number
        self._open.add(number)
        task = self._tasks[number] = self._loop.create_task(self._call(number, body))
        task.add_done_callback(lambda task: self._settle(number, task))

    def _cancel(self, number: int) -> None:
        self._cancelled += 1
        if self._cancelled > self._last:
            raise MisuseError("more calls cancelled than made")
        if (task := self._tasks.get(number)) is not None:
            task.cancel()

    def _settle(self, number: int, task: asyncio.Task[None]) -> None:
        del self._tasks[number]
        if task.cancelled():
            # Nothing waits for this answer, but the process counts its open calls by the answers.
            self._answer(protocol.ERROR, number, b"")

    async def _call(self, number: int, body: bytes) -> None:
        try:
            # Parsing a large text would block the event loop.
            is_large = len(body) > _LARGE_TEXT
            called = await asyncio.to_thread(_read_call, body) if is_large else _read_call(body)
            name, arguments, line = called
            value = await self._host.call(name, arguments, line)
            answer = _write_value(name, value, self._config.max_value_bytes)
        except ToolError as error:
            self._answer(protocol.ERROR, number, str(error).encode(errors="replace"))
        except MisuseError as misuse:
            self._end(Ending("misused", str(misuse)))
        except Exception as error:  # noqa: BLE001 -- a bug of ours, which `run` raises
            self._end(error)
        else:
            self._answer(protocol.VALUE, number, answer)

    def _answer(self, kind: bytes, number: int, answer: bytes) -> None:
        self._send(frame(kind, NUMBER.pack(number), answer), number)

    def _send(self, data: bytes, number: int = 0) -> None:
        self._unsent.append((number, memoryview(data)))
        if len(self._unsent) == 1:
            self._send_on()

    def _send_on(self) -> None:
        while self._unsent:
            number, data = self._unsent[0]
            try:
                sent = self._channel.send(data)
            except BlockingIOError:
                sent = 0
            except OSError:
                # It is gone, as the end of its channel will show.
                self._unsent.clear()
                break
            if sent < len(data):
                self._unsent[0] = (number, data[sent:])
                self._loop.add_writer(self._descriptor, self._send_on)
                return
            self._unsent.popleft()
            self._open.discard(number)
        if self._channel.fileno() >= 0:
            self._loop.remove_writer(self._descriptor)


def _write_value(name: str, value: Any, largest: int) -> bytes:
    """Return the result of a call in the form that the same interpreter reads fastest."""
    try:
        answer = marshal.dumps(_portable(value))
    except ValueError:
        raise ToolError(f"The result of {name!r} is nested too deeply to be handed over.") from None
    if len(answer) > largest:
        raise ToolError(
            f"The call was made, but the result of {name!r} is {len(answer):,} bytes; at most {largest:,} are "
            "possible (`execution.max_value_bytes`). Ask the tool for less, or for a part."
        )
    return answer


def _portable(value: Any) -> Any:
    """Replace media by a pair, which JSON does not have."""
    if isinstance(value, Media):
        return ("media", value.block)
    if type(value) is list and any(isinstance(part, Media) for part in value):
        return [_portable(part) for part in value]
    return value


def _read_number(body: bytes) -> int:
    """Return the number of the call that a frame is about."""
    if len(body) < NUMBER.size:
        raise MisuseError("a frame that is too short")
    number: int = NUMBER.unpack_from(body)[0]
    return number


def _read_call(body: bytes) -> tuple[str, dict[str, Any], int | None]:
    """Return the name of the tool to call, the arguments, and the line of the program."""
    order = _read_object(body)
    name, arguments, line = order.get("name"), order.get("arguments"), order.get("line")
    if not isinstance(name, str) or not isinstance(arguments, dict):
        raise MisuseError("a call without a name or arguments")
    return name, arguments, line if type(line) is int and 0 < line <= _MAX_LINE else None


def _read_object(body: bytes, most: int = MAX_PARTS) -> dict[str, Any]:
    """Parse a JSON object whose texts can be encoded and whose numbers are finite."""
    try:
        check_parts(body, most)
        read = json.loads(body.decode(), parse_constant=_finite, parse_float=_finite)
        if b"\\ud" in body or b"\\uD" in body:
            # Half characters can only come as escapes, and crash whatever encodes them later.
            json.dumps(read, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise MisuseError(f"a frame that is not JSON: {error}") from None
    if not isinstance(read, dict):
        raise MisuseError("a frame that is not an object")
    return read


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:20]} is not a JSON number")
    return number


_OUTCOMES = ("ok", "failed", "memory")
"""What a program may say of itself."""
_FIELDS = {
    "error": str,
    "hint": str | NoneType,
    "undefined": str | NoneType,
    "cpu_seconds": float,
    "memory_bytes": int,
}
_LARGEST_NUMBER = 1 << 53


def _read_ending(body: bytes) -> Ending:
    said = _read_object(body)
    known: dict[str, Any] = {name: said.get(name) for name in _FIELDS}
    if said.get("outcome") not in _OUTCOMES or not all(map(isinstance, known.values(), _FIELDS.values())):
        raise MisuseError("an end without words")
    if not all(0 <= said[name] <= _LARGEST_NUMBER for name in ("cpu_seconds", "memory_bytes")):
        raise MisuseError("an end with impossible numbers")
    return Ending(said["outcome"], value=said.get("value"), **known)


def _silent_ending(how: Exit | None, cpu_seconds: int) -> Ending:
    """Return how a program ended that did not say so, according to the kernel."""
    if how is None:
        return Ending("misused", "the channel was closed while the program went on")
    outcome: Outcome = "crashed"
    if how.code is None:
        error = "the sandbox was lost; the next program gets a new one"
    elif how.code == protocol.BROKEN:
        error = "the program broke what Python itself needs, and could not go on"
    elif how.code >= 0:
        error = f"the process ended itself with status {how.code}, past Python"
    else:
        name = signal.Signals(-how.code).name
        error = _SIGNALS.get(name, f"the interpreter crashed ({name})")
        if name == "SIGXCPU" or (name == "SIGKILL" and (how.cpu_seconds or 0) >= cpu_seconds):
            outcome, error = "cpu", ""
    return Ending(outcome, error, cpu_seconds=how.cpu_seconds, memory_bytes=how.memory_bytes)
