"""One locked process, seen from the gateway: send it a program, answer its calls, trust nothing that it sends."""

from __future__ import annotations

import asyncio
import socket
import struct
import time
from collections.abc import Coroutine
from dataclasses import replace
from typing import TYPE_CHECKING

from halflap.sandbox.jail import protocol
from halflap.sandbox.jail.protocol import MisuseError, frame
from halflap.sandbox.sandbox import Ending, Failure, Host, Program, ToolRefusal

if TYPE_CHECKING:
    from halflap.sandbox.jail.fork_server import Child

__all__ = ["SandboxProcess"]

_LOCK_SECONDS = 20.0
_LAST_OUTPUT_SECONDS = 1.0
_LONGEST_READY = 4_096
_CREDENTIALS = struct.Struct("3i")
_PROCESS_CPU_CLOCK = 2
_READ_BYTES = 4_096
"""Then others get their turn: tiny frames cost the gateway more than the program."""
_READ_BYTES_OF_LARGE = 1 << 20
_LARGE_TEXT = 65_536
"""Larger ones are parsed in a thread."""
_MOST_WAITING = 10_000
"""Far more unanswered calls than an honest program sends at a time."""
_MOST_HELD = 4
"""How many calls of the largest size, or smaller ones of the same size together, may wait at a time."""


class SandboxProcess:
    """A process that runs one program."""

    def __init__(self, child: Child, largest: int, calls_at_once: int) -> None:
        self.child = child
        self._channel = child.channel
        # By its number: a loop writes out the whole name of a socket that it does not know yet.
        self._descriptor = child.channel.fileno()
        self._largest = largest
        self._frames = protocol.Frames(
            {
                protocol.OUTPUT: protocol.CHUNK,
                protocol.CALL: protocol.NUMBER.size + largest,
                protocol.CANCEL: protocol.NUMBER.size,
                protocol.SHOW: largest,
                protocol.RETURNED: largest,
                protocol.DONE: protocol.LONGEST_FAILURE,
            }
        )
        self._loop = asyncio.get_running_loop()
        self._ending: asyncio.Future[Ending | None] = self._loop.create_future()
        """How the program ended as it says itself; None if the channel was closed before."""
        self._pid = 0
        self._is_dying = False
        self._host: Host
        self._has_value = False
        self._returned: bytes | None = None
        self._calls: dict[int, asyncio.Task[None]] = {}
        self._last = self._cancelled = self._held = 0
        self._places = asyncio.Semaphore(calls_at_once)
        self._unsent = bytearray()
        self._all_sent = asyncio.Event()

    async def locked(self) -> None:
        """Wait until the process reports that it is locked; the kernel says with that which process it is."""
        async with asyncio.timeout(_LOCK_SECONDS):
            while True:
                try:
                    body, sent_by, _, _ = self._channel.recvmsg(
                        _LONGEST_READY, socket.CMSG_SPACE(_CREDENTIALS.size)
                    )
                    break
                except BlockingIOError:
                    await self._readable()
        if not self.child.is_alive:
            raise OSError("the process ended while it waited")
        if body != frame(protocol.READY):
            raise OSError(
                body[len(frame(b"-")) :].decode(errors="replace") or "the process ended before it was ready"
            )
        for _, _, data in sent_by:
            self._pid = _CREDENTIALS.unpack(data)[0]

    async def _readable(self) -> None:
        ready = asyncio.Event()
        self._loop.add_reader(self._descriptor, ready.set)
        try:
            await ready.wait()
        finally:
            self._loop.remove_reader(self._descriptor)

    @property
    def cpu_seconds(self) -> float | None:
        """The CPU time it has used so far, according to the kernel."""
        try:
            # The clock of a process has its complement as number, with the kind of clock in the last three bits.
            return time.clock_gettime((~self._pid << 3) | _PROCESS_CPU_CLOCK) if self._pid else None
        except OSError:
            return None

    async def run(self, program: Program, host: Host) -> Ending | None:
        """Send the program and answer its calls until it is done; None if it ended without a word."""
        self._host = host
        self._has_value = program.entry is not None
        self._write(protocol.write_program(program))
        self._loop.add_reader(self._descriptor, self._read)
        try:
            ending = await asyncio.shield(self._ending)
        finally:
            for task in self._calls.values():
                task.cancel()
            if self._calls:
                await asyncio.wait(self._calls.values())
        if ending is None or ending.outcome != "ok" or self._returned is None:
            return ending
        try:
            return replace(ending, value=await asyncio.to_thread(protocol.read_value, self._returned))
        except MisuseError as misuse:
            return Ending("misused", detail=str(misuse))

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
        if self._channel.fileno() >= 0:
            self._loop.remove_writer(self._descriptor)
            self._channel.close()

    def ignore(self) -> None:
        """Read nothing more from it."""
        self._end(None)

    def _end(self, ending: Ending | None) -> None:
        if not self._ending.done():
            self._ending.set_result(ending)
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
                if self._ending.done():
                    return
        except MisuseError as misuse:
            self._end(Ending("misused", detail=str(misuse)))
        except Exception as error:  # noqa: BLE001 -- a bug of ours, which `run` raises
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        if not self._ending.done():
            self._ending.set_exception(error)
            self._ending.exception()
        self._end(None)

    def _handle(self, kind: bytes, body: bytes) -> None:
        if kind == protocol.OUTPUT:
            self._print(body)
        elif self._is_dying:
            return
        elif kind == protocol.CALL:
            self._begin(body)
        elif kind == protocol.CANCEL:
            self._cancel(protocol.read_number(body))
        elif kind == protocol.DONE:
            self._end(_ending(protocol.read_failure(body)))
        elif kind == protocol.RETURNED:
            if not self._has_value or self._returned is not None:
                raise MisuseError("a value that was not asked for")
            self._returned = body
        elif not self._host.show(protocol.read_object(body)):
            raise MisuseError("something to show that is not an image, sound or resource")

    def _print(self, body: bytes) -> None:
        if not body:
            raise MisuseError("empty output")
        if not self._host.output(body):
            self._end(Ending("output"))

    # Its calls -----------------------------------------------------------------------------------------

    def _begin(self, body: bytes) -> None:
        number = protocol.read_number(body)
        if number <= self._last:
            raise MisuseError(f"call {number} again")
        if len(self._calls) >= _MOST_WAITING:
            raise MisuseError(f"more than {_MOST_WAITING:,} calls without waiting for one")
        self._last = number
        work: Coroutine[None, None, None]
        if self._held + len(body) > _MOST_HELD * (self._largest + protocol.NUMBER.size):
            work, size = self._refuse(number), 0
        else:
            work, size = self._call(number, body), len(body)
        self._held += size
        task = self._calls[number] = self._loop.create_task(work, name=f"program's call {number}")
        task.add_done_callback(lambda _: self._forget(number, size))

    def _forget(self, number: int, size: int) -> None:
        self._calls.pop(number, None)
        self._held -= size

    def _cancel(self, number: int) -> None:
        self._cancelled += 1
        if self._cancelled > self._last:
            raise MisuseError("more calls cancelled than made")
        task = self._calls.get(number)
        if task is not None:
            task.cancel()

    async def _call(self, number: int, body: bytes) -> None:
        # The place is kept until the answer is on its way: a program that reads no answers gets no more calls.
        async with self._places:
            try:
                # Parsing a large text would block the event loop.
                is_large = len(body) > _LARGE_TEXT
                read = protocol.read_call
                name, arguments = await asyncio.to_thread(read, body) if is_large else read(body)
                value = await self._host.call(name, arguments)
                kind, answer = protocol.VALUE, protocol.write_value(name, value, self._largest)
            except ToolRefusal as refusal:
                kind, answer = protocol.ERROR, str(refusal).encode(errors="replace")
            except MisuseError as misuse:
                self._end(Ending("misused", detail=str(misuse)))
                return
            except Exception as error:  # noqa: BLE001 -- a bug of ours, which `run` raises
                self._fail(error)
                return
            await self._answer(kind, number, answer)

    async def _refuse(self, number: int) -> None:
        why = (
            f"Calls with {self._held:,} bytes of arguments wait already; at most {_MOST_HELD} of the largest size "
            "(`execution.max_value_bytes`) may: await some of them before you make more."
        )
        await self._answer(protocol.ERROR, number, why.encode())

    async def _answer(self, kind: bytes, number: int, answer: bytes) -> None:
        """Send an answer when those before it have been taken."""
        while self._unsent:
            self._all_sent.clear()
            await self._all_sent.wait()
        self._write(frame(kind, protocol.NUMBER.pack(number), answer))

    def _write(self, data: bytes) -> None:
        try:
            sent = self._channel.send(data)
        except BlockingIOError:
            sent = 0
        except OSError:
            # It is gone, as the end of its channel will show.
            return
        if sent < len(data):
            self._unsent += memoryview(data)[sent:]
            self._loop.add_writer(self._descriptor, self._write_on)

    def _write_on(self) -> None:
        try:
            sent = self._channel.send(self._unsent)
        except BlockingIOError:
            return
        except OSError:
            sent = len(self._unsent)
        del self._unsent[:sent]
        if not self._unsent:
            self._loop.remove_writer(self._descriptor)
            self._all_sent.set()


def _ending(failure: Failure | None) -> Ending:
    if failure is None:
        return Ending("ok")
    return Ending("memory" if failure.is_exhausted else "failed", failure)
