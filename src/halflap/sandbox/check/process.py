"""Has programs examined in a process that is not the gateway: parsed by Python, and read by ty."""

from __future__ import annotations

import asyncio
import contextlib
import json
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from halflap.sandbox.check.answer import Answer, CheckSkipped, read_answer
from halflap.sandbox.check.inside.profile import LARGEST_ANSWER, LARGEST_QUESTION, QUESTION
from halflap.sandbox.jail.pool import Pool

if TYPE_CHECKING:
    import socket

    from halflap.sandbox.jail.fork_server import ForkServer

__all__ = ["CheckSkipped", "Examiner", "Orders", "find_ty"]

_PROFILE = "halflap.sandbox.check.inside.profile"
_LARGEST_CODE = 256 * 1024
_AT_ONCE = 2
_MOST_WAITING = 32
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
    """Examines programs in children of a fork server, which starts with the first."""

    def __init__(self, orders: Orders | None = None) -> None:
        self._orders = orders or Orders()
        self._pool = Pool(_PROFILE, self._instructions)
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._waiting = 0

    @property
    def server(self) -> ForkServer | None:
        return self._pool.server

    async def ready(self) -> ForkServer:
        """Start the fork server, if there is none; raise `CheckSkipped` if it cannot be started."""
        try:
            return await self._pool.start()
        except OSError as error:
            raise CheckSkipped(f"its process could not be started: {error}") from error

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
        await self.ready()
        try:
            child = await self._pool.take()
        except OSError:
            return None
        try:
            with child.channel, contextlib.suppress(BrokenPipeError, ConnectionResetError):
                loop = asyncio.get_running_loop()
                await loop.sock_sendall(child.channel, QUESTION.pack(len(question)) + question)
                body = await _read(child.channel)
                self._pool.refill(1)
                if body:
                    return body
            ended = await child.exited()
        except BaseException:
            child.kill()
            raise
        return None if ended is not None and ended.code is None else b""

    def _instructions(self) -> dict[str, Any]:
        return asdict(self._orders) | {
            "executable": self._orders.command[0] if self._orders.command else find_ty(),
            # In memory where there is such a folder: it is faster, and nothing is left by a crash of the machine.
            "temporary": ["/dev/shm", tempfile.gettempdir()],  # noqa: S108 -- a private folder is made in it
            # The kernel ends what we should not get round to ending.
            "seconds": self._orders.seconds + _GRACE_SECONDS,
        }

    async def close(self) -> None:
        """End the fork server, and whatever it examines."""
        await self._pool.close()


async def _read(channel: socket.socket) -> bytes:
    """Read the answer to its end: nothing, if the child ended without one."""
    loop, body = asyncio.get_running_loop(), bytearray()
    while part := await loop.sock_recv(channel, 1 << 16):
        body += part
        if len(body) > LARGEST_ANSWER:
            raise CheckSkipped("its answer was too long")
    return bytes(body)
