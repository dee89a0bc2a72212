"""One locked process, seen from the gateway: read its frames, trust none of them, kill it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from halflap.sandbox.jail import frames
from halflap.sandbox.jail.wire import (
    Exit,
    MisuseError,
    Verdict,
    read_call,
    read_failure,
    read_number,
    read_object,
    read_value,
    write_program,
    write_refusal,
    write_value,
)
from halflap.sandbox.sandbox import Program, ToolRefusal

if TYPE_CHECKING:
    import socket

    from halflap.sandbox.sandbox import Host

__all__ = ["SandboxProcess"]

_LOCK_SECONDS = 20.0
_END_SECONDS = 5.0
_LAST_OUTPUT_SECONDS = 1.0
_LARGE_TEXT = 65_536
_MOST_WAITING = 10_000
"""Far more unanswered calls than an honest program sends at a time."""
_MOST_HELD = 2 * frames.LARGEST_AT_ONCE
"""How many of the largest calls may wait at a time. An honest program keeps to half of it, as it does not know when a
cancelled call is gone here; what exceeds it is answered with an error at once."""
_LEFT_AT_A_TIME = 262_144
_PROCESS_CPU_CLOCK = 2
_PID = re.compile(rb"^Pid:\s+(\d+)$", re.MULTILINE)
_FRAMES_AT_A_TIME = 64
"""Then others get their turn: tiny frames cost the gateway more than the program."""


class SandboxProcess(asyncio.Protocol):
    """Owns the gateway's end of one process's channel, and the pidfd by which it is killed."""

    def __init__(self, largest_frame: int, calls_at_once: int) -> None:
        self._largest = largest_frame
        self._limits = {
            frames.READY: 4096,
            frames.OUTPUT: frames.CHUNK,
            frames.CALL: frames.NUMBER.size + largest_frame,
            frames.CANCEL: frames.NUMBER.size,
            frames.SHOW: largest_frame,
            frames.RETURNED: largest_frame,
            frames.DONE: frames.LONGEST_FAILURE,
        }
        self._transport: asyncio.Transport | None = None
        self._channel: socket.socket | None = None
        self._is_lost = False
        self._is_dying = False
        self._received = bytearray()
        loop = asyncio.get_running_loop()
        self._ready: asyncio.Future[None] = loop.create_future()
        self._verdict: asyncio.Future[Verdict] = loop.create_future()
        self._exit: asyncio.Future[Exit] = loop.create_future()
        self._watched: asyncio.Future[int] = loop.create_future()
        self._pid: int | None = None
        self._host: Host | None = None
        self._has_value = False
        self._returned: bytes | None = None
        self._calls: dict[int, asyncio.Task[None]] = {}
        self._last = 0
        self._begun = 0
        self._cancelled = 0
        self._held = 0
        self._places = asyncio.Semaphore(calls_at_once)
        self._sending = asyncio.Lock()
        self._room = asyncio.Event()
        self._room.set()

    # Messages of the fork server -----------------------------------------------------------------------

    def watch(self, handle: int) -> None:
        """Take the pidfd of the process."""
        if self._watched.done():
            os.close(handle)
        else:
            self._watched.set_result(handle)

    def exited(self, how: Exit) -> None:
        """Note that the process is gone."""
        if not self._exit.done():
            self._exit.set_result(how)
        if not self._ready.done():
            self._ready.set_exception(OSError("the locked process ended before it was ready"))
            self._ready.exception()

    @property
    def is_alive(self) -> bool:
        """Whether it exists and waits for a program."""
        return not self._exit.done() and not self._verdict.done()

    # The conversation ---------------------------------------------------------------------------------

    async def connect(self, channel: socket.socket) -> None:
        channel.setblocking(False)
        self._channel = channel
        await asyncio.get_running_loop().create_unix_connection(lambda: self, sock=channel)

    async def locked(self) -> None:
        """Wait until the process reports that it is locked."""
        async with asyncio.timeout(_LOCK_SECONDS):
            await self._ready
            self._pid = _process_id(await asyncio.shield(self._watched))

    async def run(self, program: Program, host: Host) -> Verdict:
        """Send the program and answer its calls until it is done."""
        assert self._transport is not None
        self._host = host
        self._has_value = program.entry is not None
        self._transport.write(frames.frame(frames.PROGRAM, write_program(program)))
        try:
            return await self._with_value(await asyncio.shield(self._verdict))
        finally:
            await self._drop_calls()

    async def _with_value(self, verdict: Verdict) -> Verdict:
        """Parse what `main` returned; in a thread, because it may be large."""
        if verdict.kind != "done" or verdict.failure is not None or self._returned is None:
            return verdict
        try:
            return replace(verdict, value=await asyncio.to_thread(read_value, self._returned))
        except MisuseError as misuse:
            return Verdict("misused", detail=str(misuse))

    async def _drop_calls(self) -> None:
        tasks = list(self._calls.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    @property
    def cpu_seconds(self) -> float | None:
        """The CPU time it has used so far, according to the kernel."""
        return None if self._pid is None else _cpu_seconds(self._pid)

    @property
    def _is_watched(self) -> bool:
        return self._watched.done() and not self._watched.cancelled() and not self._exit.done()

    def ignore(self) -> None:
        """Read nothing more from it."""
        self._finish(Verdict("silent"))

    async def last_output(self) -> None:
        """Kill it, and keep what it had printed until then; nothing else that it sent counts."""
        self._is_dying = True
        self._send_kill()
        await asyncio.wait([self._verdict], timeout=_LAST_OUTPUT_SECONDS)

    def _send_kill(self) -> None:
        if self._is_watched:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._watched.result(), signal.SIGKILL)

    def kill(self) -> None:
        self.ignore()
        self._send_kill()
        if self._transport is not None:
            self._transport.abort()

    async def reap(self) -> Exit:
        """Kill it, and wait until it is gone."""
        self.kill()
        try:
            async with asyncio.timeout(_END_SECONDS):
                return await asyncio.shield(self._exit)
        except TimeoutError:
            return Exit()
        finally:
            if self._watched.done() and not self._watched.cancelled():
                os.close(self._watched.result())
                self._watched = asyncio.get_running_loop().create_future()
            self._watched.cancel()

    async def exit(self, seconds: float) -> Exit | None:
        """Wait for it to end on its own; None if it does not."""
        await asyncio.wait([self._exit], timeout=seconds)
        return self._exit.result() if self._exit.done() else None

    def _finish(self, verdict: Verdict) -> None:
        if not self._verdict.done():
            self._verdict.set_result(verdict)
        if self._transport is not None and self._transport.is_reading():
            # Nothing that it sends from here on counts.
            self._transport.pause_reading()

    # asyncio.Protocol ----------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._room.set()
        if not self._ready.done():
            self._ready.set_exception(OSError("the locked process closed its channel"))
            self._ready.exception()
        self._is_lost = True
        if not self._verdict.done():
            self._received += self._unread()
            self._read_on()

    def _unread(self) -> bytes:
        """Return what arrived before the end and was not read: the transport stops at the first failed write."""
        assert self._channel is not None
        parts, size = [], 0
        # No more than one frame of the largest kind, in case it is still sending.
        with contextlib.suppress(OSError):
            while size <= self._largest and (part := self._channel.recv(_LEFT_AT_A_TIME)):
                parts.append(part)
                size += len(part)
        return b"".join(parts)

    def pause_writing(self) -> None:
        self._room.clear()

    def resume_writing(self) -> None:
        self._room.set()

    def data_received(self, data: bytes) -> None:
        if self._verdict.done():
            return
        self._received += data
        self._read_on()

    def _read_on(self) -> None:
        """Handle the next frames; reading pauses until these are handled."""
        assert self._transport is not None
        try:
            for _ in range(_FRAMES_AT_A_TIME):
                frame = None if self._verdict.done() else self._take()
                if frame is None:
                    break
                self._handle(*frame)
            else:
                self._transport.pause_reading()
                asyncio.get_running_loop().call_soon(self._read_on)
                return
        except MisuseError as misuse:
            self._finish(Verdict("misused", detail=str(misuse)))
        except Exception as error:  # noqa: BLE001 -- a bug of ours, which `run` raises
            self._fail(error)
        if self._verdict.done():
            return
        if self._is_lost:
            self._verdict.set_result(Verdict("silent"))
        elif not self._transport.is_closing():
            self._transport.resume_reading()

    def _fail(self, error: Exception) -> None:
        if not self._verdict.done():
            self._verdict.set_exception(error)
            self._verdict.exception()

    def _take(self) -> tuple[bytes, bytes] | None:
        if len(self._received) < frames.HEADER.size:
            return None
        kind, length = frames.HEADER.unpack_from(self._received)
        most = self._limits.get(kind)
        if most is None:
            raise MisuseError(f"a frame of the unknown kind {kind!r}")
        if length > most:
            raise MisuseError(f"a frame of {length:,} bytes; at most {most:,} are possible for its kind")
        end = frames.HEADER.size + length
        if len(self._received) < end:
            return None
        body = bytes(memoryview(self._received)[frames.HEADER.size : end])
        del self._received[:end]
        return kind, body

    def _handle(self, kind: bytes, body: bytes) -> None:
        if kind == frames.READY:
            self._take_readiness(read_object(body))
        elif self._host is None:
            raise MisuseError("a message before there was a program")
        else:
            self._handle_message(self._host, kind, body)

    def _handle_message(self, host: Host, kind: bytes, body: bytes) -> None:
        if kind == frames.OUTPUT:
            if not body:
                raise MisuseError("empty output")
            if not host.output(body):
                self._finish(Verdict("output"))
        elif self._is_dying:
            return
        elif kind == frames.CALL:
            self._begin(host, body)
        elif kind == frames.CANCEL:
            self._cancel(read_number(body))
        elif kind == frames.DONE:
            self._finish(Verdict("done", read_failure(body)))
        elif kind == frames.RETURNED:
            self._take_value(body)
        elif not host.show(read_object(body)):
            raise MisuseError("something to show that is not an image, sound or resource")

    def _take_value(self, body: bytes) -> None:
        if not self._has_value or self._returned is not None:
            raise MisuseError("a value that was not asked for")
        self._returned = body

    def _take_readiness(self, report: dict[str, Any]) -> None:
        if self._ready.done():
            raise MisuseError("a second report of readiness")
        if "trouble" in report:
            self._ready.set_exception(OSError(str(report["trouble"])))
        else:
            self._ready.set_result(None)

    def _begin(self, host: Host, body: bytes) -> None:
        number = read_number(body)
        if number <= self._last:
            raise MisuseError(f"call {number} again")
        if len(self._calls) >= _MOST_WAITING:
            raise MisuseError(f"more than {_MOST_WAITING:,} calls without waiting for one")
        self._last = number
        self._begun += 1
        if self._held + len(body) > _MOST_HELD * (self._largest + frames.NUMBER.size):
            work, size = self._refuse(number), 0
        else:
            work, size = self._call(host, number, body), len(body)
        self._held += size
        task = asyncio.create_task(work, name=f"program's call {number}")
        self._calls[number] = task
        task.add_done_callback(lambda _: self._forget(number, size))

    def _forget(self, number: int, size: int) -> None:
        self._calls.pop(number, None)
        self._held -= size

    def _cancel(self, number: int) -> None:
        self._cancelled += 1
        if self._cancelled > self._begun:
            raise MisuseError("more calls cancelled than made")
        task = self._calls.get(number)
        if task is not None:
            task.cancel()

    async def _call(self, host: Host, number: int, body: bytes) -> None:
        # The place is kept until the answer is on its way: a program that reads no answers gets no more calls.
        async with self._places:
            try:
                # Parsing a large text would block the event loop.
                order = (
                    await asyncio.to_thread(read_call, body) if len(body) > _LARGE_TEXT else read_call(body)
                )
                answer = write_value(order[0], await host.call(*order), self._largest)
                kind = frames.VALUE
            except ToolRefusal as refusal:
                kind, answer = frames.ERROR, write_refusal(refusal)
            except MisuseError as misuse:
                self._finish(Verdict("misused", detail=str(misuse)))
                return
            except Exception as error:  # noqa: BLE001 -- a bug of ours, which `run` raises
                self._fail(error)
                return
            await self._answer(kind, number, answer)

    async def _refuse(self, number: int) -> None:
        refusal = ToolRefusal(
            f"Calls with {self._held:,} bytes of arguments wait already; at most {_MOST_HELD} of the largest size "
            "(`execution.max_value_bytes`) may: await some of them before you make more."
        )
        await self._answer(frames.ERROR, number, write_refusal(refusal))

    async def _answer(self, kind: bytes, number: int, answer: bytes) -> None:
        """Send an answer after those before it."""
        async with self._sending:
            await self._room.wait()
            if self._transport is not None and not self._transport.is_closing():
                self._transport.write(frames.frame(kind, frames.NUMBER.pack(number), answer))


def _process_id(pidfd: int) -> int | None:
    """Return the pid as this process sees it, not as the namespace inside does."""
    try:
        # The kernel answers from memory: this never waits.
        file = os.open(f"/proc/self/fdinfo/{pidfd}", os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        found = _PID.search(os.read(file, 4096))
    finally:
        os.close(file)
    return None if found is None else int(found[1])


def _cpu_seconds(pid: int) -> float | None:
    try:
        # The clock of a process has its complement as number, with the kind of clock in the last three bits.
        return time.clock_gettime((~pid << 3) | _PROCESS_CPU_CLOCK)
    except OSError:
        return None
