"""Programs that are meant to break the check: it says that it was skipped, and the next program is checked."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from execution.check.room import PATIENT, Room, soon
from halflap.execution.check.examiner import CheckSkipped, Examiner, Orders

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


@pytest.fixture(scope="module")
def hasty() -> Iterator[Room]:
    with Room(Orders(seconds=1.0)) as opened:
        opened.do(opened.examiner.ready())
        yield opened


def _still_works(room: Room) -> bool:
    return [one.rule for one in room.diagnostics("x: int = 'a'")] == ["invalid-assignment"]


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("-" * 100_000 + "1", id="minus"),
        pytest.param("not " * 60_000 + "1", id="not", marks=pytest.mark.slow),
        pytest.param("(" * 100_000, id="open"),
        pytest.param("(" * 50_000 + ")" * 50_000, id="parentheses"),
        pytest.param("[" * 50_000 + "]" * 50_000, id="lists", marks=pytest.mark.slow),
        pytest.param("{1:" * 50_000 + "}" * 50_000, id="dicts", marks=pytest.mark.slow),
        pytest.param("+".join(["1"] * 60_000), id="sum", marks=pytest.mark.slow),
        pytest.param("x" + ".x" * 60_000, id="attributes", marks=pytest.mark.slow),
        pytest.param("x" + "()" * 60_000, id="calls"),
        pytest.param("lambda: " * 30_000 + "1", id="lambdas", marks=pytest.mark.slow),
        pytest.param("f'{" * 40_000, id="f-strings"),
        pytest.param("if 1:\n" + "".join(" " * depth + "if 1:\n" for depth in range(1, 600)), id="blocks"),
        pytest.param("9" * 200_000, id="digits"),
        pytest.param("x" * 262_144, id="one-name", marks=pytest.mark.slow),
        pytest.param("x = '" + "é" * 131_000 + "'", id="one-line"),
        pytest.param("\n" * 262_144, id="lines", marks=pytest.mark.slow),
        pytest.param("if x: pass\n" + "elif x: pass\n" * 15_000, id="elif"),
    ],
)
def test_whatever_the_program_the_next_is_examined(code: str, room: Room) -> None:
    assert len(code.encode()) <= 262_144
    reason = room.skipped(code)
    assert reason == "" or "crashed" in reason or "longer than" in reason, reason
    assert _still_works(room)


def test_many_diagnostics_are_cut(room: Room) -> None:
    found = room.diagnostics("x: int = 'a'\n" * 3_000)
    assert [one.line for one in found] == list(range(1, 501))


def test_long_messages_do_not_make_the_answer_too_long(room: Room) -> None:
    wide = " | ".join(f"'{'é' * 60}{number}'" for number in range(40))
    code = f"from typing import Literal\nx: Literal[{wide.replace(' | ', ', ')}]\n" + "x = 5\n" * 400
    found = room.diagnostics(code)
    assert 40 < len(found) <= 400


def test_a_program_that_makes_ty_hang_is_given_up(hasty: Room) -> None:
    assert hasty.skipped(HANGS_TY) == "it took longer than 1 s"
    assert soon(lambda: not hasty.running())
    # On a busy machine, an ordinary program may take as long.
    assert soon(lambda: not hasty.skipped("x: int = 'a'") and _still_works(hasty))


@pytest.mark.parametrize(
    ("code", "stubs", "reason"),
    [
        ("x" * 262_145, "", "the program is larger than 256 KB"),
        ("é" * 131_073, "", "the program is larger than 256 KB"),
        ("x", "#" * (4 * 1024 * 1024 + 1), "the tools' types are larger than 4 MB"),
    ],
)
def test_what_is_too_large_is_not_examined(code: str, stubs: str, reason: str, room: Room) -> None:
    assert room.skipped(code, stubs) == reason


def test_large_stubs_are_read(room: Room) -> None:
    stubs = "".join(f"def tool_{number}(x: int) -> int: ...\n" for number in range(20_000))
    assert [one.rule for one in room.diagnostics("tool_19999('a')", stubs)] == ["invalid-argument-type"]


def _standing_in(script: str, **orders: Any) -> Orders:
    return replace(PATIENT, command=("/bin/sh", "-c", script), **orders)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("exit 2", "ty failed with status 2"),
        ("exit 101", "ty failed with status 101"),
        ("read x < /", "ty failed with status 2"),
        pytest.param("while :; do :; done", "ty crashed (SIGKILL)", marks=pytest.mark.slow),
    ],
)
def test_how_ty_ended_is_said(script: str, reason: str) -> None:
    with Room(_standing_in(script, cpu_seconds=1)) as room:
        assert room.skipped("x = 1") == reason


def test_a_ty_that_takes_all_memory_is_stopped() -> None:
    with Room(_standing_in("x=aaaaaaaaaaaaaaaa; while :; do x=$x$x; done", memory_bytes=1 << 28)) as room:
        assert room.skipped("x = 1").startswith("ty ")


def test_a_ty_that_prints_without_end_is_cut() -> None:
    with Room(_standing_in("while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done")) as room:
        assert room.diagnostics("x = 1") == []


def test_a_report_that_is_no_report_is_a_skipped_check() -> None:
    with Room(_standing_in("""echo '[{"check_name": 5, "location": []}]'; exit 1""")) as room:
        assert room.skipped("x = 1").startswith("its process failed")


def test_positions_that_cannot_be_are_a_skipped_check() -> None:
    place = '{"line": -1, "column": 1}'
    where = f'{{"path": "program.py", "positions": {{"begin": {place}, "end": {place}}}}}'
    report = f'[{{"check_name": "a", "description": "a: b", "location": {where}}}]'
    with Room(_standing_in(f"echo '{report}'; exit 1")) as room:
        assert room.skipped("x = 1") == "its answer could not be read"


def test_without_ty_there_is_a_reason() -> None:
    with Room(replace(PATIENT, command=("/nowhere/ty",))) as room:
        reason = room.skipped("x = 1")
        assert reason.startswith("its process could not be started")
        assert room.skipped("x = 1") == reason


# Many at once ------------------------------------------------------------------------------------------


def test_many_programs_are_examined_each_for_itself(room: Room) -> None:
    async def together() -> list[Any]:
        codes = ["\n" * number + f"x{number}: int = 'a'" for number in range(20)]
        return await asyncio.gather(*(room.examiner.examine(code, "") for code in codes))

    assert [one.diagnostics[0].line for one in room.do(together())] == list(range(1, 21))


def test_more_than_can_wait_are_not_examined(run: Callable[[Any], Any]) -> None:
    async def together() -> list[Any]:
        examiner = Examiner(PATIENT)
        works = [examiner.examine("x = (", "") for _ in range(40)]
        results = await asyncio.gather(*works, return_exceptions=True)
        await examiner.close()
        return results

    skipped = [one for one in run(together()) if isinstance(one, CheckSkipped)]
    assert [one.reason for one in skipped] == ["too many programs wait to be checked"] * 8
