"""The locks as the kernel reports them, and what happens where they do not hold."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from halflap.core.errors import SandboxError
from halflap.sandbox.jail.fork_server import ForkServer
from halflap.sandbox.jail.protocol import READY
from security.keeper import Visitor, new_jail, server_of, visit
from support import children_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from halflap.sandbox.choose import Sandbox
    from halflap.sandbox.sandbox import Readiness
    from security.keeper import Keeper
    from security.user import OrdinaryUser


async def _statuses(jail: Sandbox) -> list[dict[str, str]]:
    """Return the kernel's status of a running program, and of the children that wait for the next ones."""
    running = asyncio.create_task(visit(jail, "await call_tool('wait')", visitor := Visitor()))
    while not visitor.calls:
        await asyncio.sleep(0.01)
    status: list[dict[str, str]] = []
    # Those that wait may have been forked just now: each locks itself before it says that it is ready.
    for _ in range(500):
        status = await asyncio.to_thread(_of_leaves, server_of(jail))
        if all(one["Seccomp"] == "2" for one in status):
            break
        await asyncio.sleep(0.01)
    running.cancel()
    await asyncio.wait([running])
    return status


def _of_leaves(server: int) -> list[dict[str, str]]:
    """Return the status of each descendant without children, so not of the fork server."""
    found = []
    for pid in children_of(server):
        if not children_of(pid):
            with contextlib.suppress(OSError):
                lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
                found.append(
                    {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
                )
    return found


@pytest.mark.parametrize(
    "mode", ["all-layers", pytest.param("no-namespaces", marks=pytest.mark.slow), "seccomp-alone"]
)
def test_a_child_has_no_capability_and_for_root_is_another_user(mode: str, keeper: Keeper) -> None:
    statuses = keeper.do(_statuses(keeper.jail(mode)))
    assert statuses
    for status in statuses:
        held = {int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")}
        assert (held, status["NoNewPrivs"], status["Seccomp"]) == ({0}, "1", "2")
        if os.getuid() == 0:
            users = {int(number) for name in ("Uid", "Gid") for number in status[name].split()}
            assert (len(users), min(users) >= 61_184, status["Groups"]) == (1, True, "")


def test_every_layer_is_named_and_every_missing_one_has_a_reason(keeper: Keeper) -> None:
    told: Readiness = keeper.readiness("seccomp-alone")
    assert list(told.layers)[:3] == ["seccomp", "no-new-privileges", "rlimits"]
    assert told.missing == {"namespaces": "switched off", "landlock": "switched off"}


def test_an_ordinary_user_has_every_layer_but_another_user(
    keeper: Keeper, ordinary_user: OrdinaryUser
) -> None:
    mine = [layer for layer in keeper.readiness("all-layers").layers if not layer.startswith("uid")]
    assert ordinary_user.ask({"mode": "all-layers"}) == {"layers": mine, "trouble": None}


_WITHOUT_FILTER = """
import json, os, platform, signal, struct, sys
from halflap.sandbox.jail.inside import child, program, seccomp

user, locked, channel = map(int, sys.argv[1:])

def write_to_memory():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    os.write(os.memfd_create("any"), b"text")

ATTACKS = {
    "read a file": lambda: open("/etc/passwd"),
    "write a file in memory": write_to_memory,
    "open many files": lambda: [os.dup(3) for _ in range(99)],
}

def attack(_):
    done = []
    for name, attempt in ATTACKS.items():
        try:
            attempt()
        except OSError:
            continue
        done.append(name)
    os.write(3, json.dumps(done).encode())

program.run, seccomp.build = attack, lambda _: struct.pack("=HBBI", 6, 0, 0, 0x7FFF0000)
profile = child.Profile()
profile.prepare({
    "machine": platform.machine(), "user": user, "path": [], "modules": [], "memory_bytes": 1 << 27, "cpu_seconds": 3,
    "max_value_bytes": 1 << 20, "max_concurrent_calls": 1, "namespaces": False, "landlock": True, "lockdown": bool(locked),
})
profile.child(channel)
"""


@pytest.mark.parametrize(
    ("locked", "possible"),
    [(True, []), (False, ["read a file", "write a file in memory", "open many files"])],
    ids=["locked", "control"],
)
def test_landlock_and_the_limits_hold_without_the_filter(
    *, locked: bool, possible: list[str], keeper: Keeper
) -> None:
    if "landlock" in keeper.readiness("all-layers").missing:
        pytest.skip("the kernel has no Landlock")
    user = 61_184 if os.getuid() == 0 else os.getuid()
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            numbers = map(str, (user, int(locked), theirs.fileno()))
            subprocess.run(
                [sys.executable, "-c", _WITHOUT_FILTER, *numbers], pass_fds=[theirs.fileno()], check=True
            )
        assert json.loads(ours.recv(1_000).removeprefix(READY)) == possible


def test_where_the_canary_gets_out_no_program_runs(
    monkeypatch: pytest.MonkeyPatch, run: Callable[[Any], Any]
) -> None:
    honest = ForkServer.__init__

    def open_up(server: ForkServer, profile: str, orders: dict[str, Any]) -> None:
        honest(server, profile, orders | {"lockdown": False, "namespaces": False})

    monkeypatch.setattr(ForkServer, "__init__", open_up)

    async def tried() -> tuple[Readiness, str]:
        jail = new_jail("all-layers")
        readiness = await jail.ready()
        with pytest.raises(SandboxError) as refused:
            await visit(jail, "print('in')", Visitor())
        await jail.close()
        return readiness, str(refused.value)

    readiness, refused = run(tried())
    assert "a program could open a file" in (readiness.trouble or "")
    assert refused == readiness.trouble


def test_hardened_wants_every_layer(run: Callable[[Any], Any]) -> None:
    async def tried() -> Readiness:
        jail = new_jail("no-namespaces", sandbox="hardened")
        readiness = await jail.ready()
        await jail.close()
        return readiness

    assert "namespaces: switched off" in (run(tried()).trouble or "")
