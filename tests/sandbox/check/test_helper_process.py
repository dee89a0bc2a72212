"""The check's server as a process: started once, replaced when it is gone, and gone when the gateway is."""

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

from halflap.sandbox.check import examiner as module
from halflap.sandbox.check.examiner import CheckSkipped, Examiner
from halflap.sandbox.check.inside.place import Tool, make_a_place
from sandbox.check.room import PATIENT, Room, question, soon
from support import ROOT, children_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def test_it_starts_once_for_all_that_ask_at_once(run: Callable[[Any], Any]) -> None:
    async def counted() -> int:
        examiner = Examiner(PATIENT)
        await asyncio.gather(*(examiner.examine(question("x = 1")) for _ in range(6)))
        assert examiner._helper is not None
        examined = examiner._helper.examined
        await examiner.close()
        return examined

    assert run(counted()) == 6


def test_another_is_started_when_it_was_killed() -> None:
    with Room() as room:
        room.examine("x = 1")
        first = room.pid
        os.kill(first, signal.SIGKILL)
        assert room.examine("x = 1").findings == []
        assert room.pid != first


def test_who_gives_up_waiting_leaves_nothing_running() -> None:
    with Room(replace(PATIENT, command=("/bin/sh", "-c", "while :; do :; done"))) as room:
        room.do(room.examiner.ready())

        async def give_up() -> None:
            work = asyncio.create_task(room.examiner.examine(question("x = 1")))
            while not await asyncio.to_thread(room.running):
                await asyncio.sleep(0.01)
            work.cancel()
            await asyncio.wait([work])

        room.do(give_up())
        assert soon(lambda: not room.running())


@pytest.mark.slow
def test_it_is_replaced_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_EXAMINED", 2)
    with Room() as room:
        room.examine("x = 1")
        first = room.pid
        for _ in range(20):
            room.examine("x = (")
        assert soon(lambda: room.pid != first)
        assert soon(lambda: not Path(f"/proc/{first}").exists())


@pytest.mark.parametrize("namespaces", [True, False])
def test_nothing_is_left_when_it_is_closed(namespaces: bool) -> None:
    descriptors = len([*Path("/proc/self/fd").iterdir()])
    with Room(replace(PATIENT, namespaces=namespaces)) as room:
        for _ in range(5):
            room.examine("x: int = 'a'")
        pid, place = room.pid, room.place
        if not namespaces:
            assert place is not None
            # That of the child that waits for the next program.
            assert soon(lambda: len([*Path(place, "work").iterdir()]) <= 1)
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


def test_nothing_is_left_when_it_cannot_start(tmp_path: Path) -> None:
    with Path("/bin/sh").open("rb") as opened, pytest.raises(OSError, match="/nowhere"):
        make_a_place(Tool("/bin/sh", opened.fileno(), {}, also=("/nowhere",)), [str(tmp_path)])
    assert not [*tmp_path.glob("halflap-check-*")]


_GATEWAY = """
import asyncio, sys
from sandbox.check.room import PATIENT, question
from dataclasses import replace
from halflap.sandbox.check.examiner import Examiner

async def main():
    examiner = Examiner(replace(PATIENT, namespaces=sys.argv[1] == "True"))
    await examiner.ready()
    work = asyncio.create_task(examiner.examine(question(sys.argv[2])))
    await asyncio.sleep(0.3)
    print(examiner._helper._process.pid, examiner._helper._place, flush=True)
    await work

asyncio.run(main())
"""


@pytest.mark.parametrize("namespaces", [True, False])
def test_nothing_is_left_when_the_gateway_is_killed(namespaces: bool) -> None:
    from sandbox.check.test_limits_of_examining import HANGS_TY  # noqa: PLC0415

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
    # With namespaces there is no folder among the machine's files.
    assert (place == "None") == namespaces
    assert soon(lambda: not Path(place).exists())


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


def test_what_the_kernel_says_of_them() -> None:
    with Room(replace(PATIENT, command=("/bin/sh", "-c", "while :; do :; done"))) as room:
        room.do(room.examiner.ready())

        async def asked() -> list[dict[str, str]]:
            work = asyncio.create_task(room.examiner.examine(question("x = 1")))
            while not await asyncio.to_thread(room.running):
                await asyncio.sleep(0.01)
            (ty,) = room.running()
            told = [_status(ty), _status(int(_status(ty)["PPid"]))]
            work.cancel()
            await asyncio.wait([work])
            return told

        for status in room.do(asked()):
            held = {int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")}
            assert (held, status["NoNewPrivs"], status["Seccomp"]) == ({0}, "1", "2")
            assert status["oom_score_adj"] == "1000"
            assert (os.getuid() == 0) != (str(os.getuid()) in status["Uid"].split())


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
        assert len(room.diagnostics("x: int = 'a'")) == 1
        assert "Permission denied" in room.examiner.missing["namespaces"]
        assert "namespaces" not in room.examiner.layers


def test_after_close_nothing_is_examined(run: Callable[[Any], Any]) -> None:
    async def closed() -> None:
        examiner = Examiner(PATIENT)
        await examiner.close()
        await examiner.examine(question("x = 1"))

    with pytest.raises(CheckSkipped, match="closing"):
        run(closed())
