"""The fork server, seen from the gateway: it forks children, kills them and reports how they ended.

It serves any lock profile: `ForkServer(profile, orders)` describes one, `fork()` returns a `Child` with the gateway's end of its
channel. The profile decides what is sent over the channel. `inside.server` is the other side.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import platform
import random
import shutil
import signal
import socket
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from halflap.sandbox.jail.protocol import FORK, KILL, ORDER

_MAX_FORKS = 2_000
"""Then a fork server is replaced: all its children share one memory layout."""
_RETRY_SECONDS = 10.0
_START_SECONDS = 60.0
_CLOSE_SECONDS = 3.0
_EXIT_SECONDS = 5.0
_READ_BYTES = 65_536
_PRIVATE_USERS = range(61_184, 65_520)
"""The range of systemd's dynamic users, of which few are in use: nothing depends on ours being the only one."""
_BOOT = (
    "import sys; sys.path.insert(0, sys.argv[1])\n"
    "from halflap.sandbox.jail.inside.server import main; main(int(sys.argv[2]))"
)


@dataclass(frozen=True, slots=True)
class Exit:
    """How a process ended, according to the kernel; all None if the fork server was lost."""

    code: int | None = None
    cpu_seconds: float | None = None
    memory_bytes: int | None = None


class Child:
    """A forked process, the gateway's end of its channel, and how it ended."""

    def __init__(self, server: ForkServer, number: int, channel: socket.socket) -> None:
        self._server = server
        self._number = number
        self.channel = channel
        self.exit: asyncio.Future[Exit] = asyncio.get_running_loop().create_future()

    @property
    def is_alive(self) -> bool:
        return not self.exit.done()

    def kill(self) -> None:
        """Kill it and everything it started."""
        if self.is_alive:
            self._server.kill(self._number)

    async def exited(self, seconds: float = _EXIT_SECONDS) -> Exit | None:
        """Wait until it is gone; None if that takes longer."""
        await asyncio.wait([self.exit], timeout=seconds)
        return self.exit.result() if self.exit.done() else None


class ForkServer:
    """One server process, and the children that it has forked."""

    def __init__(self, profile: str, orders: Mapping[str, Any]) -> None:
        """Create it; `profile` is a module, `orders` are for its `Profile.prepare`."""
        self._orders = {"profile": profile, "namespaces": True, "landlock": True, "lockdown": True, **orders}
        self.report: dict[str, Any] = {}
        """The profile's report: `layers`, `missing`, and more."""
        self.forked = 0
        self.is_lost = False
        self._is_retired = False
        self._process: asyncio.subprocess.Process | None = None
        self._control, self._theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self._received = b""
        self._reported: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._children: dict[int, Child] = {}

    async def start(self) -> None:
        """Start it; raise `OSError` if that fails."""
        try:
            async with asyncio.timeout(_START_SECONDS):
                self.report = await self._start()
        except BaseException as error:
            await self.close()
            if isinstance(error, TimeoutError):
                raise OSError(f"the fork server did not start within {_START_SECONDS:g} s") from None
            raise

    async def _start(self) -> dict[str, Any]:
        loop = asyncio.get_running_loop()
        self._control.setblocking(False)
        with self._theirs as theirs:
            self._process = await _start_bare(theirs)
        # As root, children become a user without a name, files or processes.
        user = random.SystemRandom().choice(_PRIVATE_USERS) if os.getuid() == 0 else os.getuid()
        orders = self._orders | {"user": user, "machine": platform.machine()}
        await loop.sock_sendall(self._control, json.dumps(orders).encode() + b"\n")
        loop.add_reader(self._control, self._receive)
        return await self._reported

    def fork(self) -> Child:
        """Fork a child. It locks itself afterwards, and reports that over its channel."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        ours.setblocking(False)
        self.forked += 1
        with theirs:
            if not self._order(FORK, self.forked, [theirs.fileno()]):
                ours.close()
                raise OSError("the fork server is gone")
        child = self._children[self.forked] = Child(self, self.forked, ours)
        return child

    def kill(self, number: int) -> None:
        if not self._order(KILL, number):
            # A child that cannot be killed must not live on: all children end with their server.
            self._lose()

    def _order(self, kind: bytes, number: int, descriptors: Sequence[int] = ()) -> bool:
        if self.is_lost:
            return False
        try:
            socket.send_fds(self._control, [ORDER.pack(kind, number)], descriptors)
        except OSError:
            return False
        return True

    def _receive(self) -> None:
        try:
            part = self._control.recv(_READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            part = b""
        if not part:
            self._lose()
            return
        *lines, self._received = (self._received + part).split(b"\n")
        for message in map(json.loads, lines):
            if "ended" in message:
                child = self._children.pop(message.pop("ended"))
                child.exit.set_result(Exit(**message))
            elif "trouble" in message:
                self._reported.set_exception(OSError(message["trouble"]))
            else:
                self._reported.set_result(message)
        if self._is_retired and not self._children:
            self._lose()

    def _lose(self) -> None:
        """Close its control socket. Then it ends, and its children with it."""
        if self.is_lost:
            return
        self.is_lost = True
        asyncio.get_running_loop().remove_reader(self._control)
        self._control.close()
        if not self._reported.done():
            self._reported.set_exception(OSError("the fork server ended while it started"))
            self._reported.exception()
        for child in self._children.values():
            child.exit.set_result(Exit())
        self._children.clear()

    def retire(self) -> None:
        """End it with its last child."""
        self._is_retired = True
        if not self._children:
            self._lose()

    async def close(self) -> None:
        """End it and all its children."""
        children = list(self._children.values())
        self._lose()
        server, self._process = self._process, None
        if server is not None:
            try:
                async with asyncio.timeout(_CLOSE_SECONDS):
                    await server.wait()
            except TimeoutError:
                with contextlib.suppress(ProcessLookupError):
                    server.send_signal(signal.SIGKILL)
                await server.wait()
        for child in children:
            child.channel.close()
        if self.report.get("place") is not None:
            # The server removes its folder, unless it was killed.
            await asyncio.to_thread(shutil.rmtree, self.report["place"], ignore_errors=True)


class Pool:
    """Forks children of one profile. The server starts with the first; `orders` is called when it does."""

    def __init__(self, profile: str, orders: Callable[[], Mapping[str, Any]]) -> None:
        self._profile = profile
        self._orders = orders
        self._servers: list[ForkServer] = []
        """The last one is in use; the others end with their last child."""
        self._starting: asyncio.Task[ForkServer] | None = None
        self._tried_at = 0.0
        self._idle: deque[Child] = deque()
        self._closed = False

    @property
    def server(self) -> ForkServer | None:
        return self._servers[-1] if self._servers else None

    @property
    def idle(self) -> int:
        return len(self._idle)

    async def start(self) -> ForkServer:
        """Return the server; start one if there is none, or if it is old. Raises `OSError`."""
        if self._closed:
            raise OSError("the gateway is closing")
        if self._starting is None or self._is_due(self._starting):
            self._tried_at = time.monotonic()
            self._starting = asyncio.create_task(self._start(), name="start a fork server")
        # A caller may be cancelled; the start continues, for the next.
        return await asyncio.shield(self._starting)

    def _is_due(self, last: asyncio.Task[ForkServer]) -> bool:
        """Return whether another server has to be started."""
        if not last.done():
            return False
        if last.cancelled() or last.exception() is not None:
            return time.monotonic() - self._tried_at > _RETRY_SECONDS
        return last.result().is_lost or last.result().forked >= _MAX_FORKS

    async def _start(self) -> ForkServer:
        server = ForkServer(self._profile, await asyncio.to_thread(self._orders))
        await server.start()
        self._drop_idle()
        for old in self._servers:
            old.retire()
        self._servers = [*(old for old in self._servers if not old.is_lost), server]
        return server

    async def take(self) -> Child:
        """Return a waiting child, or a new one; raise `OSError` if none can be forked."""
        server = await self.start()
        while self._idle:
            child = self._idle.popleft()
            if child.is_alive:
                return child
            child.channel.close()
        return server.fork()

    def refill(self, count: int) -> None:
        """Fork until `count` children wait. If that fails, the next caller of `take` gets the error."""
        while self.server is not None and not self._closed and len(self._idle) < count:
            try:
                self._idle.append(self.server.fork())
            except OSError:
                return

    def _drop_idle(self) -> None:
        while self._idle:
            child = self._idle.popleft()
            child.kill()
            child.channel.close()

    async def close(self) -> None:
        """End the servers and everything that they forked."""
        self._closed = True
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.wait([self._starting])
        self._drop_idle()
        for server in self._servers:
            await server.close()


async def _start_bare(theirs: socket.socket) -> asyncio.subprocess.Process:
    """Start the server in an interpreter without environment or packages, and with a single descriptor."""
    root = str(Path(__file__).parents[3])
    return await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-S", "-X", "utf8", "-c", _BOOT, root, str(theirs.fileno()),
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
        # An interpreter may need this to find its library.
        env={name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ},
        pass_fds=[theirs.fileno()], start_new_session=True, cwd="/",
    )  # fmt: skip
