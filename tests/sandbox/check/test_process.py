"""The processes of the check: locked, replaced when lost, stopped when they take too long, and gone with the gateway."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from halflap.sandbox.check.process import Orders
from sandbox.check.room import PATIENT, Room, pid_of, question
from support import ROOT, children_of, eventually, some

if TYPE_CHECKING:
    from collections.abc import Iterator

HANGS_TY = (
    "def f(x):\n"
    + "".join(f"    class C{number}: ...\n" for number in range(60))
    + "".join(
        f"    if not isinstance(x, (C{number}, C{(number + 1) % 60})): return\n" for number in range(60)
    )
    + "    x.nothing\n"
)
"""The intersection of many unions: its parts double with every line."""
NESTED = {
    "minus": "-" * 100_000 + "1",
    "parentheses": "(" * 50_000 + ")" * 50_000,
    "digits": "9" * 200_000,
    "elif": "if x: pass\n" + "elif x: pass\n" * 15_000,
    "attributes": "x" + ".x" * 60_000,
    "lines": "\n" * 262_144,
}


def instead_of_ty(script: str, **orders: Any) -> Orders:
    return replace(PATIENT, command=("/bin/sh", "-c", script), **orders)


# Its life -----------------------------------------------------------------------------------------------


def test_another_is_started_when_it_was_killed() -> None:
    with Room() as room:
        assert room.works()
        first = pid_of(room.examiner)
        os.kill(first, signal.SIGKILL)
        assert room.works()
        assert pid_of(room.examiner) != first


@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.parametrize("namespaces", [True, False])
def test_nothing_is_left_when_it_is_closed(namespaces: bool, killed: bool) -> None:
    descriptors = len([*Path("/proc/self/fd").iterdir()])
    with Room(replace(PATIENT, namespaces=namespaces)) as room:
        for _ in range(3):
            room.works()
        pid, place = pid_of(room.examiner), room.report["place"]
        assert (place is None) == namespaces
        if killed:
            os.kill(pid, signal.SIGKILL)
    assert place is None or not Path(place).exists()
    assert not Path(f"/proc/{pid}").exists()
    assert len([*Path("/proc/self/fd").iterdir()]) == descriptors


_GATEWAY = """
import asyncio, sys
from sandbox.check.room import PATIENT, pid_of, question
from dataclasses import replace
from halflap.sandbox.check.process import Examiner

async def main():
    examiner = Examiner(replace(PATIENT, namespaces=sys.argv[1] == "True"))
    await examiner.ready()
    work = asyncio.create_task(examiner.examine(question(sys.argv[2])))
    await asyncio.sleep(0.3)
    print(pid_of(examiner), examiner.server.report["place"], flush=True)
    await work

asyncio.run(main())
"""


@pytest.mark.parametrize("namespaces", [True, False])
def test_nothing_is_left_when_the_gateway_is_killed(namespaces: bool) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")])}
    with subprocess.Popen(
        [sys.executable, "-c", _GATEWAY, str(namespaces), HANGS_TY],
        stdout=subprocess.PIPE, text=True, env=environment,
    ) as gateway:  # fmt: skip
        assert gateway.stdout is not None
        number, place = gateway.stdout.readline().split()
        pid = int(number)
        assert eventually(lambda: len(children_of(pid)) >= 2)
        family = [pid, *children_of(pid)]
        gateway.kill()
    assert eventually(lambda: not [one for one in family if Path(f"/proc/{one}/exe").exists()])
    assert (place == "None") == namespaces
    assert eventually(lambda: not Path(place).exists())


# Its locks ----------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.getuid() != 0, reason="only root can look into its memory")
def test_nothing_of_a_program_stays_in_memory() -> None:
    with Room() as room:
        word, stub = secrets.token_hex(16), secrets.token_hex(16)
        for _ in range(5):
            room.diagnostics(f"x = '{word}'\ny: int = '{word}'", f"z: {stub}")
        # Also that of the processes that wait for the next program.
        pid = pid_of(room.examiner)
        assert eventually(lambda: len(children_of(pid)) >= 2)
        searched = [memory for one in [pid, *children_of(pid)] for memory in memories(one)]
        assert sum(map(len, searched)) > 10_000_000
        assert not [memory for memory in searched if word.encode() in memory or stub.encode() in memory]


def memories(pid: int) -> Iterator[bytes]:
    with contextlib.suppress(OSError), Path(f"/proc/{pid}/mem").open("rb", 0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            area, rights, *_ = line.split()
            begin, end = (int(place, 16) for place in area.split("-"))
            if "r" in rights and "[v" not in line:
                memory.seek(begin)
                yield memory.read(end - begin)


def test_both_processes_are_locked_before_a_program_comes_and_end_when_the_caller_gives_up() -> None:
    with Room(instead_of_ty("while :; do :; done", cpu_seconds=1_000)) as room:
        room.do(room.examiner.ready())
        pid = pid_of(room.examiner)

        def locked() -> list[int]:
            return [one for one in children_of(pid) if status(one).get("Seccomp") == "2"]

        assert eventually(lambda: len(locked()) == 2)
        pair = locked()
        for one in map(status, pair):
            held = {int(one[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")}
            assert (held, one["NoNewPrivs"], one["oom_score_adj"]) == ({0}, "1", "1000")
            assert (os.getuid() == 0) != (str(os.getuid()) in one["Uid"].split())

        async def give_up() -> None:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(room.examiner.examine(question("x = 1")), 0.1)

        room.do(give_up())
        assert eventually(lambda: not set(pair) & set(locked()))


def status(pid: int) -> dict[str, str]:
    with contextlib.suppress(OSError):
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        pairs = {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
        return pairs | {"oom_score_adj": Path(f"/proc/{pid}/oom_score_adj").read_text().strip()}
    return {}


@pytest.mark.skipif(os.getuid() != 0, reason="for an ordinary user every file of its own can be read")
def test_where_namespaces_cannot_be_used_it_works_without_and_reports_that() -> None:
    # What it cannot read it cannot take along: as on a machine that lets it enter namespaces but not mount.
    with (
        tempfile.NamedTemporaryFile() as private,
        Room(replace(PATIENT, also=(private.name,))) as room,
    ):
        assert room.works()
        assert "Permission denied" in room.report["missing"]["namespaces"]
        assert "namespaces" not in room.report["layers"]


# Its limits ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", some(NESTED, every=3))
def test_after_any_program_the_next_is_examined(name: str, room: Room) -> None:
    assert len(NESTED[name].encode()) <= 262_144
    reason = room.skipped(NESTED[name])
    assert reason == "" or any(one in reason for one in ("crashed", "longer than", "too deeply")), reason
    assert room.works()


@pytest.mark.slow
def test_a_program_that_makes_ty_hang_is_stopped() -> None:
    with Room(Orders(seconds=1.0)) as hasty:
        hasty.do(hasty.examiner.ready())
        assert hasty.skipped(HANGS_TY) == "it took longer than 1 s"
        # On a busy machine, an ordinary program may take as long.
        assert eventually(lambda: not hasty.skipped("x: int = 'a'") and hasty.works())


def test_what_is_too_large_is_not_examined(room: Room) -> None:
    assert "256 KB" in room.skipped("é" * 131_073)
    assert "8 MB" in room.skipped("x", "#" * (4 * 1024 * 1024 + 1))


@pytest.mark.parametrize(
    "script",
    [
        "exit 101",
        "while :; do echo x; done",
        "printf 'Content-Length: 9999999999\r\n\r\n'; sleep 9",
        """printf 'Content-Length: 19\r\n\r\n{"id":1,"result":5}'; read line""",
        pytest.param("while :; do :; done", marks=pytest.mark.slow),
        pytest.param("x=aaaaaaaaaaaaaaaa; while :; do x=$x$x; done", marks=pytest.mark.slow),
    ],
    ids=["exits", "prints something", "announces too much", "answers nonsense", "computes", "takes memory"],
)
def test_a_ty_that_fails_is_a_skipped_check(script: str) -> None:
    with Room(instead_of_ty(script, cpu_seconds=2, memory_bytes=1 << 28)) as room:
        assert room.skipped("x = 1").startswith(("ty failed", "its process failed"))


def test_without_ty_there_is_a_reason() -> None:
    with Room(replace(PATIENT, command=("/nowhere/ty",))) as room:
        reason = room.skipped("x = 1")
        assert reason.startswith("its process could not be started")
        assert room.skipped("x = 1") == reason
