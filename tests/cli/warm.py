"""A process that has loaded the program once, and forks one that runs it each time that it is asked.

Each run is a process of its own, with its own arguments, environment, folder and streams, as if it had been started
by a shell; it is only spared the half second that loading takes. What start-up itself is about starts the program.
"""

from __future__ import annotations

import atexit
import fcntl
import gc
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import termios
import threading
import time
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

MOST_BYTES = 100_000
"""What is longer than one message can be is run the ordinary way."""

SHELLS = ("PYTHON", "LC_", "LANG", "LD_")
"""Variables that the interpreter reads when it starts: a run with one of these starts one."""


@cache
def _warm() -> socket.socket:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, __file__, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
        )
    # Closed, it says that nobody will ask again.
    atexit.register(process.wait)
    atexit.register(ours.close)
    return ours


def start(
    arguments: Sequence[str], streams: Sequence[int], environment: Mapping[str, str], folder: Path | str
) -> Run | None:
    """Run the program with these streams; None where it has to be started for it."""
    asked = json.dumps([list(arguments), dict(environment), str(folder)]).encode()
    changed = {name for name in {*environment, *os.environ} if environment.get(name) != os.environ.get(name)}
    if len(asked) > MOST_BYTES or any(name.startswith(SHELLS) for name in changed):
        return None
    told, tell = os.pipe()
    try:
        socket.send_fds(_warm(), [asked], [*streams, tell])
    finally:
        os.close(tell)
    return Run(told)


class Run:
    """A run that is under way."""

    def __init__(self, told: int) -> None:
        self._told = os.fdopen(told, "rb", buffering=0)
        self._pid = int(self._told.readline())

    def wait(self, seconds: float) -> int:
        """Give its exit code, as `subprocess` does; one that takes longer is killed."""
        with self._told:
            ready, _, _ = select.select([self._told], [], [], seconds)
            if not ready:
                os.kill(self._pid, signal.SIGKILL)
                raise TimeoutError(f"The command did not end within {seconds:.0f} s.")
            return int(self._told.readline())


def _load() -> None:
    import halflap  # noqa: PLC0415 -- only the warm process loads the program

    for module in pkgutil.walk_packages(halflap.__path__, "halflap."):
        if not module.name.startswith(("halflap.__main__", "halflap.demo", "halflap.sandbox.jail.inside")):
            import_module(module.name)
    import_module("mcp")


def _become(asked: bytes, descriptors: Sequence[int]) -> None:
    """Be a process that a shell has just started."""
    arguments, environment, folder = json.loads(asked)
    encodings = [(stream.encoding, stream.errors) for stream in (sys.stdin, sys.stdout, sys.stderr)]
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
    if os.isatty(0):
        # Its own terminal, so that Ctrl-C gets to it as to a program in a window.
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.closerange(3, max(*descriptors, 3) + 1)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = arguments
    opened = [
        os.fdopen(number, "w" if number else "r", buffering, encoding=encoding, errors=errors, closefd=False)
        for number, buffering, (encoding, errors) in zip(
            range(3), (-1, 1 if os.isatty(1) else -1, 1), encodings, strict=True
        )
    ]
    sys.stdin, sys.stdout, sys.stderr = opened
    time.tzset()


def _serve(asking: socket.socket) -> bool:
    """Fork for whoever asks: true in a process that is to run the program, false when nobody will ask again."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        asked, descriptors, _, _ = socket.recv_fds(asking, 2 * MOST_BYTES, 4)
        if not asked:
            return False
        if os.fork():
            for descriptor in descriptors:
                os.close(descriptor)
            continue
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        *streams, tell = descriptors
        running = os.fork()
        if not running:
            os.setsid()
            asking.close()
            _become(asked, streams)
            return True
        for descriptor in streams:
            os.close(descriptor)
        os.write(tell, f"{running}\n".encode())
        os.write(tell, f"{os.waitstatus_to_exitcode(os.waitpid(running, 0)[1])}\n".encode())
        os._exit(0)


def _run() -> None:
    """Run the program, and end as an interpreter does, but for taking apart all modules that are loaded.

    That takes ten times as long as most commands; for the program itself, which loads what it needs, it does not.
    """
    from halflap.cli import main  # noqa: PLC0415 -- only the warm process loads the program

    try:
        main()
        code = 0
    except SystemExit as end:
        if not isinstance(end.code, int | None):
            raise
        code = end.code or 0
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        # What cannot be written any more is complained of by the interpreter.
        sys.exit(code)
    os._exit(code)


if __name__ == "__main__":
    asking_us = socket.socket(fileno=int(sys.argv[1]))
    sys.path.pop(0)
    _load()
    # What is there now stays: it is not looked through again by each that is forked.
    gc.freeze()
    if _serve(asking_us):
        _run()
