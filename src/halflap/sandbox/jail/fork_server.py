"""The fork server, seen from the gateway: start it, request processes, learn how they ended."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import platform
import signal
import socket
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from halflap.sandbox.bare import start_bare
from halflap.sandbox.jail.process import SandboxProcess
from halflap.sandbox.jail.users import private_user
from halflap.sandbox.jail.wire import Exit

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ForkServer", "Orders"]

_START_SECONDS = 60.0
_CLOSE_SECONDS = 3.0
_LONGEST_MESSAGE = 65_536


@dataclass(frozen=True, slots=True)
class Orders:
    """How its processes are locked, and which modules they have."""

    memory_bytes: int
    cpu_seconds: int
    largest_frame: int
    calls_at_once: int = 16
    modules: Sequence[str] = ()
    namespaces: bool = True
    landlock: bool = True
    lockdown: bool = True


@dataclass(slots=True, eq=False)
class ForkServer:
    orders: Orders
    layers: Sequence[str] = ()
    missing: dict[str, str] = field(default_factory=dict)
    failed_modules: dict[str, str] = field(default_factory=dict)
    forked: int = 0
    is_lost: bool = False
    _process: asyncio.subprocess.Process | None = None
    _control: socket.socket | None = None
    _numbers: Any = field(default_factory=lambda: itertools.count(1))
    _started: asyncio.Future[dict[str, Any]] | None = None
    _processes: dict[int, SandboxProcess] = field(default_factory=dict)

    async def start(self) -> None:
        """Start it; raise `OSError` if that fails."""
        loop = asyncio.get_running_loop()
        control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        control.setblocking(False)
        self._control = control
        self._started = loop.create_future()
        try:
            self._process = await start_bare("halflap.sandbox.jail.inside.server", theirs)
            user = await asyncio.to_thread(private_user)
            control.send(json.dumps(self._instructions(user)).encode())
            loop.add_reader(control, self._receive)
            async with asyncio.timeout(_START_SECONDS):
                answer = await self._started
        except TimeoutError:
            await self.close()
            raise OSError(f"the fork server did not start within {_START_SECONDS:g} s") from None
        except BaseException:
            await self.close()
            raise
        if "trouble" in answer:
            await self.close()
            raise OSError(answer["trouble"])
        self.layers, self.missing = answer["layers"], answer["missing"]
        self.failed_modules = answer["modules"]

    def _instructions(self, user: int) -> dict[str, Any]:
        return {
            "machine": platform.machine(),
            "user": user,
            "memory_bytes": self.orders.memory_bytes,
            "cpu_seconds": self.orders.cpu_seconds,
            "largest_frame": self.orders.largest_frame,
            "modules": list(self.orders.modules),
            # Where modules are found; programs never see it.
            "path": [entry for entry in sys.path if entry] if self.orders.modules else [],
            "namespaces": self.orders.namespaces,
            "landlock": self.orders.landlock,
            "lockdown": self.orders.lockdown,
        }

    @property
    def has_processes(self) -> bool:
        return bool(self._processes)

    async def fork(self) -> SandboxProcess:
        """Fork a process and wait until it is locked."""
        if self._control is None or self.is_lost:
            raise OSError("the fork server is gone")
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        number = next(self._numbers)
        self.forked += 1
        process = SandboxProcess(self.orders.largest_frame, self.orders.calls_at_once)
        try:
            await self._request(number, theirs)
            self._processes[number] = process
        except BaseException:
            ours.close()
            theirs.close()
            raise
        try:
            await process.connect(ours)
            await process.locked()
        except BaseException:
            ours.close()
            await process.reap()
            raise
        finally:
            theirs.close()
        return process

    async def _request(self, number: int, descriptor: socket.socket) -> None:
        """Request a process; the fork server reads at once, unless there are very many requests."""
        assert self._control is not None
        for _ in range(1000):
            try:
                socket.send_fds(self._control, [str(number).encode()], [descriptor.fileno()])
            except BlockingIOError:
                await asyncio.sleep(0.001)
            else:
                return
        raise OSError("the fork server does not answer")

    def _receive(self) -> None:
        assert self._control is not None
        while True:
            try:
                body, descriptors, _, _ = socket.recv_fds(self._control, _LONGEST_MESSAGE, 1)
            except BlockingIOError:
                return
            except OSError:
                body, descriptors = b"", []
            if not body:
                self._lose()
                return
            message = json.loads(body)
            if "child" in message and not descriptors:
                # Too many open files to take its pidfd: a process that cannot be killed must not live.
                self._control.shutdown(socket.SHUT_RDWR)
                self._lose()
                return
            if "child" in message:
                self._processes[message["child"]].watch(descriptors[0])
            elif "ended" in message:
                process = self._processes.pop(message["ended"])
                process.exited(Exit(message["code"], message["cpu_seconds"], message["memory_bytes"]))
            elif self._started is not None and not self._started.done():
                self._started.set_result(message)

    def _lose(self) -> None:
        """Note that it is gone, and its processes with it."""
        self.is_lost = True
        assert self._control is not None
        asyncio.get_running_loop().remove_reader(self._control)
        if self._started is not None and not self._started.done():
            self._started.set_exception(OSError("the fork server ended while it started"))
        for process in self._processes.values():
            process.exited(Exit())
        self._processes.clear()

    async def close(self) -> None:
        """End it and all its processes."""
        control, self._control = self._control, None
        if control is not None:
            asyncio.get_running_loop().remove_reader(control)
            control.close()
        self.is_lost = True
        server, self._process = self._process, None
        if server is not None:
            try:
                async with asyncio.timeout(_CLOSE_SECONDS):
                    await server.wait()
            except TimeoutError:
                with contextlib.suppress(ProcessLookupError):
                    server.send_signal(signal.SIGKILL)
                await server.wait()
        for process in self._processes.values():
            process.exited(Exit())
        self._processes.clear()
