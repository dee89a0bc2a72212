"""The processes of the check: locked, replaced when lost, given up when they take too long, and gone with the gateway."""

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

from halflap.sandbox.check.process import CheckSkipped, Examiner, Orders
from sandbox.check.room import PATIENT, Room, question, soon
from support import ROOT, children_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
    "calls": "x" + "()" * 60_000,
    "f-strings": "f'{" * 40_000,
    "digits": "9" * 200_000,
    "elif": "if x: pass\n" + "elif x: pass\n" * 15_000,
    "sum": "+".join(["1"] * 60_000),
    "attributes": "x" + ".x" * 60_000,
    "one name": "x" * 262_144,
    "one line": "x = '" + "é" * 131_000 + "'",
    "lines": "\n" * 262_144,
}


def instead_of_ty(script: str, **orders: Any) -> Orders:
    return replace(PATIENT, command=("/bin/sh", "-c", script), **orders)


def still_works(room: Room) -> bool:
    return [one.rule for one in room.diagnostics("x: int = 'a'")] == ["invalid-assignment"]


# Its life -----------------------------------------------------------------------------------------------


def test_it_starts_once_for_all_that_ask_at_once_and_each_gets_its_answer(room: Room) -> None:
    async def together() -> tuple[list[Any], int]:
        examiner = Examiner(PATIENT)
        codes = ["\n" * number + f"x{number}: int = 'a'" for number in range(6)]
        answers = await asyncio.gather(*(examiner.examine(question(code)) for code in codes))
        assert examiner.server is not None
        forked = examiner.server.forked
        await examiner.close()
        return answers, forked

    answers, forked = room.do(together())
    assert [one.findings[0][0].line for one in answers] == list(range(1, 7))
    assert forked >= 12


def test_another_is_started_when_it_was_killed() -> None:
    with Room() as room:
        room.examine("x = 1")
        first = room.pid
        os.kill(first, signal.SIGKILL)
        assert still_works(room)
        assert room.pid != first


@pytest.mark.parametrize("namespaces", [True, False])
def test_nothing_is_left_when_it_is_closed(namespaces: bool) -> None:
    descriptors = len([*Path("/proc/self/fd").iterdir()])
    with Room(replace(PATIENT, namespaces=namespaces)) as room:
        for _ in range(5):
            room.examine("x: int = 'a'")
        pid, place = room.pid, room.place
        assert (place is None) == namespaces
        # That of the child that waits for the next program.
        assert place is None or soon(lambda: len([*Path(place, "work").iterdir()]) <= 1)
    assert place is None or not Path(place).exists()
    assert not Path(f"/proc/{pid}").exists()
    assert len([*Path("/proc/self/fd").iterdir()]) == descriptors


def test_nothing_is_left_when_it_was_killed() -> None:
    with Room(replace(PATIENT, namespaces=False)) as room:
        room.examine("x = 1")
        place = room.place
        assert place is not None
        os.kill(room.pid, signal.SIGKILL)
    assert not Path(place).exists()


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
        assert soon(lambda: len(children_of(pid)) >= 2)
        family = [pid, *children_of(pid)]
        gateway.kill()
    assert soon(lambda: not [one for one in family if Path(f"/proc/{one}/exe").exists()])
    assert (place == "None") == namespaces
    assert soon(lambda: not Path(place).exists())


def test_after_close_nothing_is_examined(run: Callable[[Any], Any]) -> None:
    async def closed() -> None:
        examiner = Examiner(PATIENT)
        await examiner.close()
        await examiner.examine(question("x = 1"))

    with pytest.raises(CheckSkipped, match="closing"):
        run(closed())


# Its locks ----------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.getuid() != 0, reason="only root can look into its memory")
def test_nothing_of_a_program_stays_in_the_servers_memory() -> None:
    with Room() as room:
        word, stub = secrets.token_hex(16), secrets.token_hex(16)
        for _ in range(5):
            room.examine(f"x = '{word}'\ny: int = '{word}'", f"z: {stub}")
        # Also that in which the next program will be examined.
        assert soon(lambda: children_of(room.pid))
        family = [room.pid, *children_of(room.pid)]
        searched = [memory for pid in family for memory in memories(pid)]
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


def test_what_the_kernel_says_of_a_check_and_its_ty_which_end_when_the_caller_gives_up() -> None:
    with Room(instead_of_ty("while :; do :; done")) as room:
        room.do(room.examiner.ready())

        async def asked() -> list[dict[str, str]]:
            work = asyncio.create_task(room.examiner.examine(question("x = 1")))
            while not await asyncio.to_thread(room.running):
                await asyncio.sleep(0.01)
            told = [_status(pid) for pid in children_of(room.pid)]
            work.cancel()
            await asyncio.wait([work])
            return told

        # What examines, and ty; beside them are the server and children that have not been asked anything yet.
        locked = [status for status in room.do(asked()) if status["Seccomp"] == "2"]
        assert len(locked) == 2
        for status in locked:
            held = {int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")}
            assert (held, status["NoNewPrivs"]) == ({0}, "1")
            assert status["oom_score_adj"] == "1000"
            assert (os.getuid() == 0) != (str(os.getuid()) in status["Uid"].split())
        assert soon(lambda: not room.running())


def _status(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    status = {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return status | {"oom_score_adj": Path(f"/proc/{pid}/oom_score_adj").read_text().strip()}


@pytest.mark.skipif(os.getuid() != 0, reason="for an ordinary user every file of its own can be read")
def test_where_namespaces_are_of_no_use_it_does_without_and_says_so() -> None:
    # What it cannot read it cannot take along: as on a machine that lets it enter namespaces but not mount.
    with (
        tempfile.NamedTemporaryFile() as private,
        Room(replace(PATIENT, also=(private.name,))) as room,
    ):
        assert still_works(room)
        server = room.do(room.examiner.ready())
        assert "Permission denied" in server.report["missing"]["namespaces"]
        assert "namespaces" not in server.report["layers"]


# Its limits ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["minus", *(pytest.param(one, marks=pytest.mark.slow) for one in NESTED)])
def test_whatever_the_program_the_next_is_examined(name: str, room: Room) -> None:
    assert len(NESTED[name].encode()) <= 262_144
    reason = room.skipped(NESTED[name])
    assert reason == "" or any(one in reason for one in ("crashed", "longer than", "too deeply")), reason
    assert still_works(room)


def test_findings_are_cut(room: Room) -> None:
    wide = ", ".join(f"'{'é' * 60}{number}'" for number in range(40))
    found = room.diagnostics(f"from typing import Literal\nx: Literal[{wide}]\n" + "x = 5\n" * 400)
    assert [one.line for one in found] == list(range(3, 103))


@pytest.mark.slow
def test_a_program_that_makes_ty_hang_is_given_up() -> None:
    with Room(Orders(seconds=1.0)) as hasty:
        hasty.do(hasty.examiner.ready())
        assert hasty.skipped(HANGS_TY) == "it took longer than 1 s"
        assert soon(lambda: not hasty.running())
        # On a busy machine, an ordinary program may take as long.
        assert soon(lambda: not hasty.skipped("x: int = 'a'") and still_works(hasty))


def test_what_is_too_large_is_not_examined(room: Room) -> None:
    assert "256 KB" in room.skipped("é" * 131_073)
    assert "8 MB" in room.skipped("x", "#" * (4 * 1024 * 1024 + 1))


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("exit 101", "ty failed with status 101"),
        (
            "while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done",
            "ty printed too much",
        ),
        ("""echo '[{"check_name": 5, "location": []}]'""", "its process failed"),
        pytest.param("while :; do :; done", "ty crashed (SIGKILL)", marks=pytest.mark.slow),
        pytest.param("x=aaaaaaaaaaaaaaaa; while :; do x=$x$x; done", "ty ", marks=pytest.mark.slow),
    ],
)
def test_a_ty_that_fails_is_a_skipped_check(script: str, reason: str) -> None:
    with Room(instead_of_ty(script, cpu_seconds=2, memory_bytes=1 << 28)) as room:
        assert room.skipped("x = 1").startswith(reason)


def test_without_ty_there_is_a_reason() -> None:
    with Room(replace(PATIENT, command=("/nowhere/ty",))) as room:
        reason = room.skipped("x = 1")
        assert reason.startswith("its process could not be started")
        assert room.skipped("x = 1") == reason
