"""The lock profile of programs: what a child has loaded, and the locks that close before any program reaches it."""

from __future__ import annotations

import contextlib
import os
import platform
import random
import signal
import socket
import sys
from typing import Any

from halflap.sandbox.jail.inside import library, locks, program, seccomp, server
from halflap.sandbox.jail.inside.channel import Channel
from halflap.sandbox.jail.protocol import BROKEN, READY

_DESCRIPTOR = 3
"""The only open descriptor of a program: its channel."""
_OPEN_FILES = 32


class Profile(server.Profile):
    """Processes that can compute and use their channel, and nothing else."""

    _orders: dict[str, Any]
    _confinement: locks.Confinement
    _limits: dict[int, tuple[int, int]]
    _filter: bytes

    def prepare(self, orders: dict[str, Any]) -> dict[str, Any]:
        """Load everything, then give up rights."""
        # So that `platform` hides the host's name and version, and makes no system call.
        system: Any = platform
        system._uname_cache = platform.uname_result("Linux", "halflap", "", "", orders["machine"])  # noqa: SLF001 -- the only place
        sys.path.extend(orders.pop("path"))
        failed = library.preload(orders["modules"])
        sys.path.clear()
        sys.path_importer_cache.clear()
        sys.argv = ["program.py"]
        _reset_signals()
        program.prepare()
        self._orders = orders
        self._filter = seccomp.build(orders["machine"])
        self._limits = locks.limits(orders["memory_bytes"], orders["cpu_seconds"], _OPEN_FILES, processes=0)
        self._confinement = locks.confine(orders)
        return self._confinement.report | {"failed_modules": failed}

    def child(self, channel: int) -> None:
        """Lock the process, report that, wait for a program and run it."""
        try:
            opened = self._lock(channel)
        except BaseException as error:  # noqa: BLE001 -- whatever it is, no program may run here
            with contextlib.suppress(OSError):
                os.write(_DESCRIPTOR, f"{type(error).__name__}: {error}"[:1000].encode())
            os._exit(1)
        leave = os._exit
        try:
            program.run(opened)
        except BaseException:  # noqa: BLE001 -- a program may have broken anything that is used here
            leave(BROKEN)
        leave(0)

    def _lock(self, descriptor: int) -> Channel:
        orders = self._orders
        if descriptor != _DESCRIPTOR:
            os.dup2(descriptor, _DESCRIPTOR)
        os.set_inheritable(_DESCRIPTOR, False)
        os.closerange(0, _DESCRIPTOR)
        os.closerange(_DESCRIPTOR + 1, os.sysconf("SC_OPEN_MAX"))
        self._confinement.lock(self._limits, self._filter)
        # The only handler that the fork server has set.
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        program.warm_up()
        # Forks share the state of random generators; one program must not predict another.
        random.seed()
        if (numpy_random := sys.modules.get("numpy.random")) is not None:
            numpy_random.seed()
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fileno=_DESCRIPTOR)
        connection.sendall(READY)
        return Channel(connection, orders["max_value_bytes"], orders["max_concurrent_calls"])


def _reset_signals() -> None:
    """Handle signals as a fresh Python does, whatever the gateway was started with; children inherit this."""
    for number in range(1, signal.NSIG):
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
