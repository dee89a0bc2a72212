"""Hostile programs: what they try, and whether they were stopped."""

from __future__ import annotations

import errno
import json
import os
import socket
import tomllib
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

CONTROL = "a harmless attempt"
BEGUN = "begun"
CANARY = "HALFLAP_FIGURES_CANARY"
"""An environment variable of the gateway that no program may see."""


@cache
def probes() -> dict[str, Any]:
    """Return the attempts of each group by name, and what they need."""
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text())


class Bait:
    """Targets on the host: a listening port, a unix socket, a writable folder, a secret."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        self._folder.chmod(0o777)
        (self._folder / "secret").write_text("secret")
        self._inbox = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._inbox.bind(f"{folder}/inbox")
        (self._folder / "inbox").chmod(0o777)
        self._listener = socket.create_server(("127.0.0.1", 0))
        port = self._listener.getsockname()[1]
        self.known = {"port": port, "folder": folder, "gateway": os.getpid()}

    def taken(self) -> list[str]:
        """Return the targets that were touched, and close all."""
        found = [] if {one.name for one in self._folder.iterdir()} == {"inbox", "secret"} else ["folder"]
        for name, one, attempt in (
            ("port", self._listener, self._listener.accept),
            ("unix socket", self._inbox, lambda: self._inbox.recv(1)),
        ):
            with one, suppress(BlockingIOError):
                one.setblocking(False)
                attempt()
                found.append(name)
        return found


def source(code: str, bait: Bait) -> str:
    """Return a program with the helpers that every attempt needs."""
    return f"HOST = {bait.known!r}\nNR = {probes()['numbers']!r}\n{probes()['prelude']}\n{code}"


def announced(code: str, bait: Bait) -> str:
    """Return a program that prints `BEGUN` first, so that one that never ran does not count as stopped."""
    return source(f"print({BEGUN!r}, flush=True)\n{code}", bait)


def batch(attempts: Mapping[str, str], bait: Bait) -> str:
    """Return one program that makes a harmless attempt and then all others, and prints each outcome."""
    every = {CONTROL: "1", **attempts}
    return source("\n".join(f"attempt({name!r}, lambda: {code})" for name, code in every.items()), bait)


def judged(attempts: Iterable[str], output: str, *, may_die: bool = False) -> dict[str, bool]:
    """Return which attempts of a batch were stopped.

    An attempt without a printed answer counts as stopped only if it `may_die`, and the harmless one succeeded before.
    """
    told: dict[str, Any] = dict(json.loads(line) for line in output.splitlines())
    assert "got" in told[CONTROL], told
    # Any other error number is the kernel's answer to a request that it should not have seen.
    refusals = {None, errno.EPERM, errno.EACCES, errno.ENOSYS}
    return {
        name: "refused" in told[name] and told[name]["errno"] in refusals if name in told else may_die
        for name in attempts
    }
