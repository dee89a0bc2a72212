"""The gateway's side of the check's server: start it, put questions to its children, end it."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import shutil
import signal
import socket
import tempfile
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from halflap.sandbox.check.answer import CheckSkipped
from halflap.sandbox.check.inside import words
from halflap.sandbox.jail.fork_server import private_user, start_bare

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Helper", "HelperGone", "NamespacesUnusableError", "Orders", "find_ty"]

_START_SECONDS = 30.0
_CLOSE_SECONDS = 3.0
_GRACE_SECONDS = 1.0
_LONGEST_WORD = 65_536


class HelperGone(CheckSkipped):
    """The server was lost before it answered; another may be started."""

    def __init__(self) -> None:
        super().__init__("its process is gone")


class NamespacesUnusableError(OSError):
    """Where examinations take place could not be made within namespaces; it may be without."""


@dataclass(frozen=True, slots=True)
class Orders:
    """How examinations are to be confined."""

    seconds: float = 4.0
    memory_bytes: int = 768 * 1024 * 1024
    cpu_seconds: int = 3
    namespaces: bool = True
    landlock: bool = True
    seccomp: bool = True
    lockdown: bool = True
    """False only in the tests that show what an attack would do without locks."""
    command: tuple[str, ...] = ()
    """In tests: what is run in place of ty, with its first arguments."""
    also: tuple[str, ...] = ()
    """In tests: the files and folders that it needs."""


def find_ty() -> str:
    """Give the path of the ty that was installed with us, and of no other."""
    try:
        from ty import find_ty_bin  # noqa: PLC0415 -- without it there is no check, but a gateway

        return find_ty_bin()
    except (ImportError, FileNotFoundError):
        raise FileNotFoundError("ty is not installed") from None


@dataclass(slots=True, eq=False)
class Helper:
    """One server process."""

    orders: Orders
    layers: Sequence[str] = ()
    missing: dict[str, str] = field(default_factory=dict)
    examined: int = 0
    under_way: int = 0
    is_lost: bool = False
    _process: asyncio.subprocess.Process | None = None
    _control: socket.socket | None = None
    _place: str | None = None
    _waiting: list[tuple[int, socket.socket]] = field(default_factory=list)
    _numbers: Any = field(default_factory=lambda: itertools.count(1))

    async def start(self) -> None:
        """Start it; an `OSError` says why it could not be."""
        loop = asyncio.get_running_loop()
        control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        control.setblocking(False)
        self._control = control
        try:
            with theirs:
                self._process = await start_bare("halflap.sandbox.check.inside.server", theirs)
            instructions = await asyncio.to_thread(self._instructions)
            await loop.sock_sendall(control, json.dumps(instructions).encode() + b"\n")
            async with asyncio.timeout(_START_SECONDS):
                answer = await self._answer(control)
        except TimeoutError:
            await self.close()
            raise OSError(f"it did not start within {_START_SECONDS:g} s") from None
        except BaseException:
            await self.close()
            raise
        if "layers" not in answer:
            await self.close()
            if "without_namespaces" in answer:
                raise NamespacesUnusableError(answer["without_namespaces"])
            raise OSError(answer["trouble"])
        self.layers, self.missing, self._place = answer["layers"], answer["missing"], answer["place"]
        # It says nothing more: what can be read from here on is its end.
        loop.add_reader(control, self._lose)
        self._keep_one_waiting()

    def _instructions(self) -> dict[str, Any]:
        orders = asdict(self.orders)
        return orders | {
            "executable": self.orders.command[0] if self.orders.command else find_ty(),
            "user": private_user(),
            # In memory where there is such a folder: it is faster, and nothing is left by a crash of the machine.
            "temporary": ["/dev/shm", tempfile.gettempdir()],  # noqa: S108 -- a folder of its own is made in it
            "file_bytes": words.LARGEST_QUESTION,
            # The kernel ends what we should not get round to ending.
            "seconds": self.orders.seconds + _GRACE_SECONDS,
        }

    async def _answer(self, control: socket.socket) -> dict[str, Any]:
        loop, body = asyncio.get_running_loop(), b""
        while not body.endswith(b"\n"):
            part = await loop.sock_recv(control, _LONGEST_WORD)
            if not part or len(body) > _LONGEST_WORD:
                raise OSError("it ended while it started")
            body += part
        answer: dict[str, Any] = json.loads(body)
        return answer

    def _lose(self) -> None:
        self.is_lost = True
        if self._control is not None:
            asyncio.get_running_loop().remove_reader(self._control)

    async def ask(self, question: bytes) -> bytes:
        """Have a child examine a program; whoever gives up waiting ends the child."""
        self.examined += 1
        self.under_way += 1
        try:
            number, channel = await self._child()
            with channel:
                body = await self._ask(number, channel, words.QUESTION.pack(len(question)) + question)
        finally:
            self.under_way -= 1
        # Forked and locked behind the answer, the next waits for its question.
        self._keep_one_waiting()
        if not body and self._has_ended():
            raise HelperGone
        return body

    async def _ask(self, number: int, channel: socket.socket, question: bytes) -> bytes:
        try:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                await asyncio.get_running_loop().sock_sendall(channel, question)
            return await _hear(channel)
        except BaseException:
            with contextlib.suppress(OSError, CheckSkipped):
                self._tell(words.KILL, number)
            raise

    async def _child(self) -> tuple[int, socket.socket]:
        """Give a child that no program was in, and our end of its channel."""
        while self._waiting:
            number, channel = self._waiting.pop()
            if not _is_closed(channel):
                return number, channel
            channel.close()
        while True:
            # The server reads at once, unless there is a crowd.
            try:
                return self._fork()
            except BlockingIOError:
                await asyncio.sleep(0.001)

    def _keep_one_waiting(self) -> None:
        with contextlib.suppress(OSError, CheckSkipped):
            if not self._waiting:
                self._waiting.append(self._fork())

    def _fork(self) -> tuple[int, socket.socket]:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        ours.setblocking(False)
        number = next(self._numbers)
        with theirs:
            try:
                self._tell(words.EXAMINE, number, theirs)
            except BaseException:
                ours.close()
                raise
        return number, ours

    def _has_ended(self) -> bool:
        """Say whether the server is gone, also if the loop has not told us yet."""
        if self._control is not None and not self.is_lost and _is_closed(self._control):
            self._lose()
        return self.is_lost

    def _tell(self, kind: bytes, number: int, channel: socket.socket | None = None) -> None:
        if self._control is None or self.is_lost:
            raise HelperGone
        descriptors = [] if channel is None else [channel.fileno()]
        try:
            socket.send_fds(self._control, [words.ORDER.pack(kind, number)], descriptors)
        except (BrokenPipeError, ConnectionResetError):
            self._lose()
            raise HelperGone from None

    async def close(self) -> None:
        """End it, and with it every child."""
        control, self._control = self._control, None
        self.is_lost = True
        while self._waiting:
            self._waiting.pop()[1].close()
        if control is not None:
            asyncio.get_running_loop().remove_reader(control)
            control.close()
        process, self._process = self._process, None
        if process is not None:
            try:
                async with asyncio.timeout(_CLOSE_SECONDS):
                    await process.wait()
            except TimeoutError:
                with contextlib.suppress(ProcessLookupError):
                    process.send_signal(signal.SIGKILL)
                await process.wait()
        if self._place is not None:
            # It clears away its folder itself, unless it was killed.
            await asyncio.to_thread(shutil.rmtree, self._place, ignore_errors=True)


async def _hear(channel: socket.socket) -> bytes:
    """Read to the end what a child answers: nothing, if it ended without an answer."""
    loop, body = asyncio.get_running_loop(), bytearray()
    while True:
        try:
            part = await loop.sock_recv(channel, 1 << 16)
        except ConnectionResetError:
            part = b""
        if not part:
            return bytes(body)
        body += part
        if len(body) > words.LARGEST_ANSWER:
            raise CheckSkipped("its answer was too long")


def _is_closed(channel: socket.socket) -> bool:
    """Say whether the other end is gone; nothing has been said that could still be read."""
    try:
        return not channel.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return False
    except OSError:
        return True
