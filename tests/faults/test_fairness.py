"""Programs and checks of one principal do not keep another waiting."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from halflap.core.errors import BusyError
from halflap.core.values import CallContext
from halflap.sandbox.check.process import Examiner
from sandbox.check.room import PATIENT, question
from sandbox.desk import Desk
from server.faces import in_memory

if TYPE_CHECKING:
    from pathlib import Path

ANN, BOB = CallContext("http:ann"), CallContext("http:bob")
ENDLESS = "import asyncio\nawait asyncio.sleep(1_000)"
NESTED = "import asyncio\nprint(sum(await asyncio.gather(*(script__outer() for _ in range(4)))))"


def settings(**execution: Any) -> dict[str, Any]:
    return {"execution": {"check": "off", "max_programs": 3, **execution}}


def test_endless_programs_of_one_do_not_keep_another_waiting(tmp_path: Path) -> None:
    async def scenario(desk: Desk) -> str:
        endless = [asyncio.create_task(desk.gateway.execute(ENDLESS, ANN)) for _ in range(6)]
        with pytest.raises(BusyError, match="Try again in about"):
            await next(asyncio.as_completed(endless))
        ran = await desk.gateway.execute("print('ran')", BOB)
        for task in endless:
            task.cancel()
        await asyncio.wait(endless)
        return ran.output

    with Desk(settings(max_wait_seconds=0.2), tmp_path) as desk:
        assert desk.do(scenario(desk)) == "ran\n"


def test_programs_that_call_scripts_never_wait_for_each_other_in_a_circle(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "inner.py").write_text('def main() -> int:\n    """One."""\n    return 1\n')
    outer = 'async def main() -> int:\n    """One, by another."""\n    return await script__inner()\n'
    (tmp_path / "scripts" / "outer.py").write_text(outer)

    async def scenario(desk: Desk) -> list[str]:
        ran = await asyncio.gather(*(desk.gateway.execute(NESTED, who) for who in (ANN, ANN, BOB, BOB)))
        return [one.output for one in ran]

    with Desk(settings(max_programs=2), tmp_path) as desk:
        assert desk.do(scenario(desk)) == ["4\n"] * 4


async def test_a_client_is_told_when_to_try_again(tmp_path: Path) -> None:
    limits = settings(max_programs=1, max_wait_seconds=0.2)
    async with in_memory(tmp_path, {}, limits) as client:
        call = partial(client.call_tool, "execute_program", {"code": ENDLESS})
        endless = [asyncio.create_task(call()) for _ in range(2)]
        result = await next(asyncio.as_completed(endless))
        for task in endless:
            task.cancel()
        await asyncio.wait(endless)
    assert result.is_error
    assert result.meta is not None
    assert result.meta["halflap"] == {"code": "busy", "retry_after": 5}


async def test_many_checks_of_one_do_not_keep_another_waiting() -> None:
    examiner, done = Examiner(PATIENT), []

    async def check(principal: str, number: int) -> None:
        await examiner.examine(question(f"x{number}: int = 'a'"), principal)
        done.append(principal)

    async with asyncio.TaskGroup() as group:
        for number in range(12):
            group.create_task(check("http:ann", number))
        group.create_task(check("http:bob", 12))
    await examiner.close()
    assert done.index("http:bob") < 9
