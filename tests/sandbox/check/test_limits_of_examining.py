"""Programs that are meant to break the check: it says that it was skipped, and the next program is checked."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from halflap.sandbox.check.examiner import CheckSkipped, Examiner, Orders
from sandbox.check.room import PATIENT, Room, question, soon

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.slow

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


NESTED = {
    "minus": "-" * 100_000 + "1",
    "parentheses": "(" * 50_000 + ")" * 50_000,
    "calls": "x" + "()" * 60_000,
    "f-strings": "f'{" * 40_000,
    "blocks": "if 1:\n" + "".join(" " * depth + "if 1:\n" for depth in range(1, 600)),
    "digits": "9" * 200_000,
    "elif": "if x: pass\n" + "elif x: pass\n" * 15_000,
}
MORE_NESTED = {
    "not": "not " * 60_000 + "1",
    "open": "(" * 100_000,
    "lists": "[" * 50_000 + "]" * 50_000,
    "dicts": "{1:" * 50_000 + "}" * 50_000,
    "sum": "+".join(["1"] * 60_000),
    "attributes": "x" + ".x" * 60_000,
    "lambdas": "lambda: " * 30_000 + "1",
    "one-name": "x" * 262_144,
    "one-line": "x = '" + "é" * 131_000 + "'",
    "lines": "\n" * 262_144,
}


@pytest.mark.parametrize(
    "name", [*NESTED, *(pytest.param(name, marks=pytest.mark.slow) for name in MORE_NESTED)]
)
def test_whatever_the_program_the_next_is_examined(name: str, room: Room) -> None:
    code = (NESTED | MORE_NESTED)[name]
    assert len(code.encode()) <= 262_144
    reason = room.skipped(code)
    assert reason == "" or any(one in reason for one in ("crashed", "longer than", "too deeply")), reason
    assert _still_works(room)


def test_many_diagnostics_are_cut(room: Room) -> None:
    found = room.diagnostics("x: int = 'a'\n" * 3_000)
    assert [one.line for one in found] == list(range(1, 101))


def test_long_messages_do_not_make_the_answer_too_long(room: Room) -> None:
    wide = " | ".join(f"'{'é' * 60}{number}'" for number in range(40))
    code = f"from typing import Literal\nx: Literal[{wide.replace(' | ', ', ')}]\n" + "x = 5\n" * 400
    assert len(room.diagnostics(code)) == 100


def test_a_program_that_makes_ty_hang_is_given_up(hasty: Room) -> None:
    assert hasty.skipped(HANGS_TY) == "it took longer than 1 s"
    assert soon(lambda: not hasty.running())
    # On a busy machine, an ordinary program may take as long.
    assert soon(lambda: not hasty.skipped("x: int = 'a'") and _still_works(hasty))


def test_what_is_too_large_is_not_examined(room: Room) -> None:
    assert "256 KB" in room.skipped("x" * 262_145)
    assert "8 MB" in room.skipped("x", "#" * (4 * 1024 * 1024 + 1))


def test_large_stubs_are_read(room: Room) -> None:
    stubs = "".join(f"def tool_{number}(x: int) -> int: ...\n" for number in range(20_000))
    assert [one.rule for one in room.diagnostics("tool_19999('a')", stubs)] == ["invalid-argument-type"]


def _standing_in(script: str, **orders: Any) -> Orders:
    return replace(PATIENT, command=("/bin/sh", "-c", script), **orders)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("exit 101", "ty failed with status 101"),
        pytest.param("while :; do :; done", "ty crashed (SIGKILL)", marks=pytest.mark.slow),
    ],
)
def test_how_ty_ended_is_told(script: str, reason: str) -> None:
    with Room(_standing_in(script, cpu_seconds=1)) as room:
        assert room.skipped("x = 1") == reason


@pytest.mark.slow
def test_a_ty_that_takes_all_memory_is_stopped() -> None:
    with Room(_standing_in("x=aaaaaaaaaaaaaaaa; while :; do x=$x$x; done", memory_bytes=1 << 28)) as room:
        assert room.skipped("x = 1").startswith("ty ")


def test_a_ty_that_prints_without_end_is_cut() -> None:
    with Room(_standing_in("while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done")) as room:
        assert room.skipped("x = 1") == "ty printed too much"


_PLACE = '{"line": -1, "column": 1}'
_WHERE = f'{{"path": "program.py", "positions": {{"begin": {_PLACE}, "end": {_PLACE}}}}}'


@pytest.mark.parametrize(
    "report",
    [
        '[{"check_name": 5, "location": []}]',
        f'[{{"check_name": "a", "description": "a: b", "location": {_WHERE}}}]',
    ],
    ids=["no report", "an impossible place"],
)
def test_a_report_that_cannot_be_is_a_skipped_check(report: str) -> None:
    with Room(_standing_in(f"echo '{report}'; exit 1")) as room:
        assert room.skipped("x = 1")


def test_without_ty_there_is_a_reason() -> None:
    with Room(replace(PATIENT, command=("/nowhere/ty",))) as room:
        reason = room.skipped("x = 1")
        assert reason.startswith("its process could not be started")
        assert room.skipped("x = 1") == reason


# Many at once ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_many_programs_are_examined_each_for_itself(room: Room) -> None:
    async def together() -> list[Any]:
        codes = ["\n" * number + f"x{number}: int = 'a'" for number in range(20)]
        return await asyncio.gather(*(room.examiner.examine(question(code)) for code in codes))

    assert [one.findings[0].at[0] for one in room.do(together())] == list(range(1, 21))


@pytest.mark.slow
def test_more_than_can_wait_are_not_examined(run: Callable[[Any], Any]) -> None:
    async def together() -> list[Any]:
        examiner = Examiner(PATIENT)
        works = [examiner.examine(question("x = (")) for _ in range(40)]
        results = await asyncio.gather(*works, return_exceptions=True)
        await examiner.close()
        return results

    skipped = [one for one in run(together()) if isinstance(one, CheckSkipped)]
    assert [one.reason for one in skipped] == ["too many programs wait to be checked"] * 8
