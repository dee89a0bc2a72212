"""Starts an interpreter without environment, packages or inherited descriptors but one."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import socket
    from asyncio.subprocess import Process
    from collections.abc import Coroutine

__all__ = ["start_bare", "to_its_end"]

_BOOT = "import sys; sys.path.insert(0, sys.argv[1]); from {} import main; main(int(sys.argv[2]))"


async def start_bare(module: str, theirs: socket.socket) -> Process:
    """Run a module's `main` with its end of a socket pair, which is closed here."""
    root = str(Path(__file__).parents[2])
    try:
        return await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-S", "-B", "-X", "utf8", "-c", _BOOT.format(module), root, str(theirs.fileno()),
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            # Only what an interpreter may need to find its library.
            env={name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ},
            pass_fds=[theirs.fileno()], start_new_session=True, cwd="/",
        )  # fmt: skip
    finally:
        # A copy here would keep the child from noticing that the gateway is gone.
        theirs.close()


async def to_its_end(ending: Coroutine[None, None, None]) -> None:
    """Wait until a process has ended, even when cancelled meanwhile."""
    task = asyncio.create_task(ending)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await task
        raise
