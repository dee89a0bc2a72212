"""One locked process, seen from the gateway: send it a program, answer its calls, trust nothing that it sends."""

from __future__ import annotations

import asyncio
import signal
import socket
import struct
import time
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING

from halflap.sandbox.jail import protocol
from halflap.sandbox.jail.protocol import MisuseError, frame
from halflap.sandbox.sandbox import Ending, Host, Program, ToolRefusal

if TYPE_CHECKING:
    from halflap.config import ExecutionConfig
    from halflap.sandbox.jail.fork_server import Child, Exit

__all__ = ["SandboxProcess"]

_LOCK_SECONDS = 20.0
_LAST_OUTPUT_SECONDS = 1.0
_EXIT_SECONDS = 2.0
_CLOSE_AFTER_SECONDS = 0.005
"""Ending a process takes CPU time, which the answer should get first."""
_CREDENTIALS = struct.Struct("3i")
_PROCESS_CPU_CLOCK = 2
_READ_BYTES = 4_096
"""Then others get their turn: tiny frames cost the gateway more than the program."""
_READ_BYTES_OF_LARGE = 1 << 20
_LARGE_TEXT = 65_536
"""Larger ones are parsed in a thread."""
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
        self._ending: asyncio.Future[Ending | None] = self._loop.create_future()
        """How the program ended as it says itself; None if the channel was closed before."""
        self._pid = 0
        self._is_dying = False
        self._host: Host
        self._has_value = False
        self._returned: bytes | None = None
        self._open: set[int] = set()
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._last = self._cancelled = 0
        self._unsent: deque[tuple[int, memoryview]] = deque()
        """Frames, each with the number of the call that it answers."""

    async def locked(self) -> None:
        """Wait until the process reports that it is locked; the kernel says with that which process it is."""
        async with asyncio.timeout(_LOCK_SECONDS):
            while True:
                try:
                    body, sent_by, _, _ = self._channel.recvmsg(4_096, socket.CMSG_SPACE(_CREDENTIALS.size))
                    break
                except BlockingIOError:
                    await self._readable()
        if not self.child.is_alive:
            raise OSError("the process ended while it waited")
        if body != frame(protocol.READY):
            why = body[len(frame(protocol.READY)) :].decode(errors="replace")
            raise OSError(why or "the process ended before it was ready")
        for _, _, data in sent_by:
            self._pid = _CREDENTIALS.unpack(data)[0]

    async def _readable(self) -> None:
        ready = asyncio.Event()
        self._loop.add_reader(self._descriptor, ready.set)
        try:
            await ready.wait()
        finally:
            self._loop.remove_reader(self._descriptor)

    async def run(self, program: Program, host: Host) -> Ending:
        """Run the program to its end. The process is killed then, or when this is cancelled."""
        self._host = host
        self._has_value = program.entry is not None
        self._send(protocol.write_program(program))
        self._loop.add_reader(self._descriptor, self._read)
        try:
            ending = await self._ended()
            how = await self.child.exited(_EXIT_SECONDS) if ending is None else None
        except BaseException:
            await asyncio.shield(self.stop())
            raise
        used, memory = (self._cpu_seconds(), None) if how is None else (how.cpu_seconds, how.memory_bytes)
        self.ignore()
        self._loop.call_later(_CLOSE_AFTER_SECONDS, self.close)
        if ending is None:
            ending = _silent_ending(how, self._config.cpu_seconds)
        elif ending.outcome == "ok" and self._returned is not None:
            try:
                value = await asyncio.to_thread(protocol.read_value, self._returned)
                ending = replace(ending, value=value)
            except MisuseError as misuse:
                ending = Ending("misused", detail=str(misuse))
        return replace(ending, cpu_seconds=used, memory_bytes=memory)

    async def _ended(self) -> Ending | None:
        """Wait for the end of the program, and end its calls."""
        try:
            return await asyncio.shield(self._ending)
        finally:
            for task in self._tasks.values():
                task.cancel()
            if self._tasks:
                await asyncio.wait(self._tasks.values())

    def _cpu_seconds(self) -> float | None:
        """Return the CPU time used so far, according to the kernel."""
        try:
            # The clock of a process has its complement as number, with the kind of clock in the last three bits.
            return time.clock_gettime((~self._pid << 3) | _PROCESS_CPU_CLOCK) if self._pid else None
        except OSError:
            return None

    async def stop(self) -> None:
        """Kill it; of what it had sent until then, only output counts."""
        self._is_dying = True
        self.child.kill()
        await asyncio.wait([self._ending], timeout=_LAST_OUTPUT_SECONDS)
        self.close()
        await self.child.exited()

    def close(self) -> None:
        """Kill it, and read nothing more from it."""
        self.ignore()
        self.child.kill()
        self._channel.close()

    def ignore(self) -> None:
        """Neither read from it nor write to it any more."""
        self._end(None)
        if self._channel.fileno() >= 0:
            self._loop.remove_writer(self._descriptor)

    def _end(self, ending: Ending | None) -> None:
        if not self._ending.done():
            self._ending.set_result(ending)
        if self._channel.fileno() >= 0:
            self._loop.remove_reader(self._descriptor)

    def _fail(self, error: Exception) -> None:
        if not self._ending.done():
            self._ending.set_exception(error)
            self._ending.exception()
        self._end(None)

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
                if self._ending.done():
                    return
        except MisuseError as misuse:
            self._end(Ending("misused", detail=str(misuse)))
        except Exception as error:  # noqa: BLE001 -- a bug of ours, which `run` raises
            self._fail(error)

    def _handle(self, kind: bytes, body: bytes) -> None:
        if not body:
            raise MisuseError("an empty frame")
        if kind == protocol.OUTPUT:
            if not self._host.output(body):
                self._end(Ending("output"))
        elif self._is_dying:
            return
        elif kind == protocol.CALL:
            self._begin(protocol.read_number(body), body)
        elif kind == protocol.CANCEL:
            self._cancel(protocol.read_number(body))
        elif kind == protocol.DONE:
            self._end(protocol.read_ending(body))
        elif kind == protocol.RETURNED:
            self._take_value(body)
        elif not self._host.show(protocol.read_shown(body)):
            raise MisuseError("something to show that is not an image, sound or resource")

    def _take_value(self, body: bytes) -> None:
        if not self._has_value or self._returned is not None:
            raise MisuseError("a value that was not asked for")
        self._returned = body

    # Its calls -----------------------------------------------------------------------------------------

    def _begin(self, number: int, body: bytes) -> None:
        if number <= self._last:
            raise MisuseError(f"call {number} again")
        if len(self._open) >= self._config.max_concurrent_calls:
            raise MisuseError(f"more than {self._config.max_concurrent_calls:,} calls at a time")
        self._last = number
        self._open.add(number)
        task = self._loop.create_task(self._call(number, body), name=f"program's call {number}")
        self._tasks[number] = task
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
            is_large, read = len(body) > _LARGE_TEXT, protocol.read_call
            name, arguments = await asyncio.to_thread(read, body) if is_large else read(body)
            value = await self._host.call(name, arguments)
            answer = protocol.write_value(name, value, self._config.max_value_bytes)
        except ToolRefusal as refusal:
            self._answer(protocol.ERROR, number, str(refusal).encode(errors="replace"))
        except MisuseError as misuse:
            self._end(Ending("misused", detail=str(misuse)))
        except Exception as error:  # noqa: BLE001 -- a bug of ours, which `run` raises
            self._fail(error)
        else:
            self._answer(protocol.VALUE, number, answer)

    def _answer(self, kind: bytes, number: int, answer: bytes) -> None:
        self._send(frame(kind, protocol.NUMBER.pack(number), answer), number)

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


def _silent_ending(how: Exit | None, cpu_seconds: int) -> Ending:
    """Return how a program ended that did not say so, according to the kernel."""
    if how is None:
        return Ending("misused", detail="the channel was closed while the program went on")
    if how.code is None:
        return Ending("crashed", detail="the sandbox was lost; the next program gets a new one")
    if how.code == protocol.BROKEN:
        return Ending("crashed", detail="the program broke what Python itself needs, and could not go on")
    if how.code >= 0:
        return Ending("crashed", detail=f"the process ended itself with status {how.code}, past Python")
    name = signal.Signals(-how.code).name
    if name == "SIGXCPU" or (name == "SIGKILL" and (how.cpu_seconds or 0) >= cpu_seconds):
        return Ending("cpu")
    return Ending("crashed", detail=_SIGNALS.get(name, f"the interpreter crashed ({name})"))
