"""One locked process, seen from the gateway: sends it a program and answers its calls, and trusts nothing it sends."""

from __future__ import annotations

import asyncio
import json
import signal
from collections import deque
from typing import TYPE_CHECKING, Any

from halflap.sandbox.functions import ToolError
from halflap.sandbox.jail import messages, protocol
from halflap.sandbox.jail.protocol import NUMBER, MisuseError, frame
from halflap.sandbox.sandbox import Ending, Host, Outcome, Program

if TYPE_CHECKING:
    from halflap.config import ExecutionConfig
    from halflap.sandbox.jail.fork_server import Child, Exit

_LOCK_SECONDS = 20.0
_LAST_OUTPUT_SECONDS = 1.0
_EXIT_SECONDS = 2.0
_READ_BYTES = 4_096
"""After so much, other tasks get a turn: handling tiny frames takes longer than sending them."""
_READ_BYTES_OF_LARGE_FRAMES = 1 << 20
_SIGNALS = {
    "SIGSYS": "it made a system call that no program needs, and was killed for it",
    "SIGKILL": "the system killed it, probably because memory ran out",
    "SIGSEGV": "the interpreter crashed (SIGSEGV), as after recursion that is too deep, or os.abort()",
}


class SandboxProcess:
    """A process that runs one program.

    It can make the gateway hold at most `max_concurrent_calls` calls of `max_value_bytes` each: a call is open until the
    last byte of its answer is sent, and a process that begins more is ended.
    """

    def __init__(self, child: Child, config: ExecutionConfig) -> None:
        self.child = child
        self._config = config
        self._channel = child.channel
        # Looking up a socket object would format its address each time.
        self._descriptor = child.channel.fileno()
        self._frames = protocol.Frames(protocol.limits(config.max_value_bytes))
        self._loop = asyncio.get_running_loop()
        self._final: asyncio.Future[bytes | Ending | None] = self._loop.create_future()
        """The process's own final message; an ending for what it did; or None if the channel was closed before."""
        self._is_stopping = False
        self._host: Host
        self._open: set[int] = set()
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._last_call = self._cancelled = 0
        self._unsent: deque[tuple[int, memoryview]] = deque()
        """Frames, each with the number of the call that it answers."""

    async def locked(self) -> None:
        """Wait until the process reports that it is locked; nothing is sent to it before."""
        async with asyncio.timeout(_LOCK_SECONDS):
            report = await self._loop.sock_recv(self._channel, 4_096)
        if report != protocol.READY or not self.child.is_alive:
            raise OSError(report.decode(errors="replace") or "the process ended before it was locked")

    async def run(self, program: Program, host: Host) -> Ending:
        """Run the program to its end. The caller has to close the process then, unless this was cancelled."""
        self._host = host
        arguments = None if program.arguments is None else dict(program.arguments)
        order = {"code": program.code, "tools": dict(program.tools), "arguments": arguments}
        self._send(frame(protocol.PROGRAM, json.dumps(order).encode()))
        self._loop.add_reader(self._descriptor, self._read)
        try:
            final = await self._ended()
            if final is None:
                exited = await self.child.exited(_EXIT_SECONDS)
                final = _ending_by_exit(exited, self._config.cpu_seconds)
        except BaseException:
            await asyncio.shield(self._stop())
            raise
        try:
            return final if isinstance(final, Ending) else messages.read_ending(final)
        except MisuseError as misuse:
            return Ending("misused", str(misuse))

    async def _ended(self) -> bytes | Ending | None:
        """Wait for the end of the program, and cancel the calls that it leaves."""
        try:
            return await asyncio.shield(self._final)
        finally:
            for task in self._tasks.values():
                task.cancel()
            if self._tasks:
                await asyncio.wait(self._tasks.values())

    async def _stop(self) -> None:
        """Kill it. Of what it sent before, only output counts."""
        self._is_stopping = True
        self.child.kill()
        await asyncio.wait([self._final], timeout=_LAST_OUTPUT_SECONDS)
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
        """Stop reading; the first reason counts. An exception is a bug of ours, which `run` raises."""
        if not self._final.done():
            if isinstance(how, Exception):
                self._final.set_exception(how)
                self._final.exception()
            else:
                self._final.set_result(how)
        if self._channel.fileno() >= 0:
            self._loop.remove_reader(self._descriptor)

    # What it sends -------------------------------------------------------------------------------------

    def _read(self) -> None:
        try:
            size = min(max(_READ_BYTES, self._frames.missing), _READ_BYTES_OF_LARGE_FRAMES)
            data = self._channel.recv(size)
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
                if self._final.done():
                    return
        except MisuseError as misuse:
            self._end(Ending("misused", str(misuse)))
        except Exception as error:  # noqa: BLE001 -- any failure ends only this program
            self._end(error)

    def _handle(self, kind: bytes, body: bytes) -> None:
        if kind == protocol.OUTPUT:
            if not body:
                raise MisuseError("an empty frame")
            if not self._host.write(body):
                self._end(Ending("output"))
        elif self._is_stopping:
            return
        elif kind == protocol.CALL:
            self._begin_call(messages.read_number(body), body[NUMBER.size :])
        elif kind == protocol.CANCEL:
            self._cancel_call(messages.read_number(body))
        elif kind == protocol.DONE:
            self._end(body)
        elif not self._host.show(messages.read_shown(body)):
            raise MisuseError("something to show that is neither an image nor a sound")

    # Its calls -----------------------------------------------------------------------------------------

    def _begin_call(self, number: int, body: bytes) -> None:
        if number <= self._last_call:
            raise MisuseError(f"call {number} again")
        if len(self._open) >= self._config.max_concurrent_calls:
            raise MisuseError(f"more than {self._config.max_concurrent_calls:,} calls at a time")
        name, arguments, line = messages.read_call(body)
        self._last_call = number
        self._open.add(number)
        task = self._tasks[number] = self._loop.create_task(self._call(number, name, arguments, line))
        task.add_done_callback(lambda task: self._call_done(number, task))

    def _cancel_call(self, number: int) -> None:
        self._cancelled += 1
        if self._cancelled > self._last_call:
            raise MisuseError("more calls cancelled than made")
        if (task := self._tasks.get(number)) is not None:
            task.cancel()

    def _call_done(self, number: int, task: asyncio.Task[None]) -> None:
        del self._tasks[number]
        if task.cancelled():
            # Nothing waits for this answer, but the process counts its open calls by the answers.
            self._answer(protocol.ERROR, number, b"")

    async def _call(self, number: int, name: str, arguments: dict[str, Any], line: int | None) -> None:
        try:
            value = await self._host.call(name, arguments, line)
            answer = messages.write_value(name, value, self._config.max_value_bytes)
        except ToolError as error:
            self._answer(protocol.ERROR, number, str(error).encode(errors="replace"))
        except Exception as error:  # noqa: BLE001 -- any failure ends only this program
            self._end(error)
        else:
            self._answer(protocol.VALUE, number, answer)

    # What is sent to it --------------------------------------------------------------------------------

    def _answer(self, kind: bytes, number: int, answer: bytes) -> None:
        self._send(frame(kind, NUMBER.pack(number), answer), number)

    def _send(self, data: bytes, number: int = 0) -> None:
        self._unsent.append((number, memoryview(data)))
        if len(self._unsent) == 1:
            self._send_more()

    def _send_more(self) -> None:
        """Send what the channel takes now; the rest follows when it takes more."""
        while self._unsent:
            number, data = self._unsent[0]
            try:
                sent = self._channel.send(data)
            except BlockingIOError:
                sent = 0
            except OSError:
                # It has ended; reading its channel will show that.
                self._unsent.clear()
                break
            if sent < len(data):
                self._unsent[0] = (number, data[sent:])
                self._loop.add_writer(self._descriptor, self._send_more)
                return
            self._unsent.popleft()
            self._open.discard(number)
        if self._channel.fileno() >= 0:
            self._loop.remove_writer(self._descriptor)


def _ending_by_exit(exited: Exit | None, cpu_seconds: int) -> Ending:
    """Return how a process without a final message ended, according to the kernel."""
    if exited is None:
        return Ending("misused", "the channel was closed while the program was still running")
    outcome: Outcome = "crashed"
    if exited.code is None:
        error = "the sandbox was lost; the next program gets a new one"
    elif exited.code == protocol.BROKEN:
        error = "the program broke what Python itself needs"
    elif exited.code >= 0:
        error = f"the process bypassed Python and ended itself with status {exited.code}"
    else:
        name = signal.Signals(-exited.code).name
        error = _SIGNALS.get(name, f"the interpreter crashed ({name})")
        if name == "SIGXCPU" or (name == "SIGKILL" and (exited.cpu_seconds or 0) >= cpu_seconds):
            outcome, error = "cpu", ""
    return Ending(outcome, error, cpu_seconds=exited.cpu_seconds, memory_bytes=exited.memory_bytes)
