"""Has programs examined in a process that is not the gateway: parsed by Python, and read by ty."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import tempfile
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from halflap.sandbox.check.answer import CheckSkipped, read_answer
from halflap.sandbox.check.inside.profile import LARGEST_ANSWER, LARGEST_QUESTION, QUESTION
from halflap.sandbox.jail.fork_server import ForkServer

if TYPE_CHECKING:
    import socket
    from collections.abc import Mapping, Sequence

    from halflap.sandbox.check.answer import Answer
    from halflap.sandbox.jail.fork_server import Child

__all__ = ["CheckSkipped", "Examiner", "Orders", "find_ty"]

_PROFILE = "halflap.sandbox.check.inside.profile"
_LARGEST_CODE = 256 * 1024
_AT_ONCE = 2
_MOST_WAITING = 32
_MOST_FORKS = 2_000
_LONGEST_LIFE_SECONDS = 3_600.0
"""Then the fork server is replaced: all its children share one memory layout."""
_TRY_AGAIN_SECONDS = 10.0
_GRACE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Orders:
    """How examinations are confined."""

    seconds: float = 4.0
    memory_bytes: int = 768 * 1024 * 1024
    cpu_seconds: int = 3
    namespaces: bool = True
    landlock: bool = True
    seccomp: bool = True
    lockdown: bool = True
    """False only in tests that show what an attack would do without locks."""
    command: tuple[str, ...] = ()
    """In tests: what is run in place of ty, with its first arguments."""
    also: tuple[str, ...] = ()
    """In tests: the files and folders that it needs."""


def find_ty() -> str:
    """Return the path of the ty that was installed with us, and of no other."""
    try:
        from ty import find_ty_bin  # noqa: PLC0415 -- without it there is no check, but a gateway

        return find_ty_bin()
    except (ImportError, FileNotFoundError):
        raise FileNotFoundError("ty is not installed") from None


class Examiner:
    """Examines programs; its fork server starts with the first, and is replaced when it is lost or old."""

    def __init__(self, orders: Orders | None = None) -> None:
        self._orders = orders or Orders()
        self.server: ForkServer | None = None
        self._starting: asyncio.Task[ForkServer] | None = None
        self._since = 0.0
        self._idle: Child | None = None
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._waiting = 0
        self._closed = False

    @property
    def layers(self) -> Sequence[str]:
        return [] if self.server is None else self.server.report["layers"]

    @property
    def missing(self) -> Mapping[str, str]:
        return {} if self.server is None else self.server.report["missing"]

    async def ready(self) -> None:
        """Start the fork server, if there is none; raise `CheckSkipped` if it cannot be started."""
        await self._current()

    async def examine(self, question: Mapping[str, Any]) -> Answer:
        """Return what is found in a program, or raise `CheckSkipped`."""
        if len(question["code"].encode(errors="replace")) > _LARGEST_CODE:
            raise CheckSkipped(f"the program is larger than {_LARGEST_CODE // 1024} KB")
        body = json.dumps(question).encode()
        if len(body) > LARGEST_QUESTION:
            raise CheckSkipped(f"the tools' types are larger than {LARGEST_QUESTION // (1024 * 1024)} MB")
        if self._waiting >= _MOST_WAITING:
            raise CheckSkipped("too many programs wait to be checked")
        self._waiting += 1
        try:
            async with asyncio.timeout(self._orders.seconds), self._places:
                answer = await self._ask(body)
                if answer is None:
                    # The server was lost before it answered; the next is asked once.
                    answer = await self._ask(body)
        except TimeoutError:
            raise CheckSkipped(f"it took longer than {self._orders.seconds:g} s") from None
        finally:
            self._waiting -= 1
        return read_answer(answer or b"")

    async def _ask(self, question: bytes) -> bytes | None:
        """Have a child examine a program; None if the server is lost. On giving up, the child is killed."""
        server = await self._current()
        child, self._idle = self._idle, None
        if child is None or not child.is_alive:
            child = self._fork(server)
        if child is None:
            return None
        try:
            with child.channel, contextlib.suppress(BrokenPipeError, ConnectionResetError):
                loop = asyncio.get_running_loop()
                await loop.sock_sendall(child.channel, QUESTION.pack(len(question)) + question)
                body = await _read(child.channel)
                self._refill(server)
                if body:
                    return body
            ended = await child.exited()
        except BaseException:
            child.kill()
            raise
        return None if ended is not None and ended.code is None else b""

    def _refill(self, server: ForkServer) -> None:
        """Have a child that is forked and locked wait for the next question."""
        if self._idle is None:
            self._idle = self._fork(server)

    def _fork(self, server: ForkServer) -> Child | None:
        try:
            return server.fork() if server is self.server and not self._closed else None
        except OSError:
            return None

    async def _current(self) -> ForkServer:
        """Return the fork server; a new one if it is lost or old."""
        if self._closed:
            raise CheckSkipped("the gateway is closing")
        if self._starting is None or self._is_over(self._starting):
            self._since = time.monotonic()
            self._starting = asyncio.create_task(self._start(), name="check")
        try:
            # A caller may give up; the start continues, for the next.
            return await asyncio.shield(self._starting)
        except OSError as error:
            raise CheckSkipped(f"its process could not be started: {error}") from error

    def _is_over(self, starting: asyncio.Task[ForkServer]) -> bool:
        if not starting.done():
            return False
        age = time.monotonic() - self._since
        if starting.cancelled() or starting.exception() is not None:
            return age > _TRY_AGAIN_SECONDS
        server = starting.result()
        is_old = age > _LONGEST_LIFE_SECONDS or server.forked > _MOST_FORKS
        return server.is_lost or (is_old and self._waiting <= 1)

    async def _start(self) -> ForkServer:
        await self._close_server()
        server = ForkServer(_PROFILE, await asyncio.to_thread(self._instructions))
        await server.start()
        self.server = server
        return server

    def _instructions(self) -> dict[str, Any]:
        return asdict(self._orders) | {
            "executable": self._orders.command[0] if self._orders.command else find_ty(),
            # In memory where there is such a folder: it is faster, and nothing is left by a crash of the machine.
            "temporary": ["/dev/shm", tempfile.gettempdir()],  # noqa: S108 -- a private folder is made in it
            # The kernel ends what we should not get round to ending.
            "seconds": self._orders.seconds + _GRACE_SECONDS,
        }

    async def _close_server(self) -> None:
        idle, self._idle = self._idle, None
        if idle is not None:
            idle.channel.close()
        server, self.server = self.server, None
        if server is not None:
            await server.close()
            if server.report["place"] is not None:
                # It removes its folder itself, unless it was killed.
                await asyncio.to_thread(shutil.rmtree, server.report["place"], ignore_errors=True)

    async def close(self) -> None:
        """End the fork server, and whatever it examines."""
        self._closed = True
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.wait([self._starting])
        await self._close_server()


async def _read(channel: socket.socket) -> bytes:
    """Read the answer to its end: nothing, if the child ended without one."""
    loop, body = asyncio.get_running_loop(), bytearray()
    while part := await loop.sock_recv(channel, 1 << 16):
        body += part
        if len(body) > LARGEST_ANSWER:
            raise CheckSkipped("its answer was too long")
    return bytes(body)
