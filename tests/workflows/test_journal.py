"""What is written down of a run, and what is made of it afterwards."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from halflap.errors import FileError, InvalidArgumentsError, RunNotFoundError, UsageError, WorkflowError
from halflap.values import Result
from halflap.workflows.form import read_net
from halflap.workflows.running.journal import Journal, forget_old
from workflows.tooled import net, task

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

NET = read_net(net(task("a", "say"), task("b", "slow", idempotent=True), flows="i>a a>b b>o"))
SAY, SLOW = "mcp__counting__say", "mcp__counting__slow"


async def _lost() -> Result:
    raise RuntimeError("the server is gone")


async def _unsent() -> Result:
    raise InvalidArgumentsError("mcp__counting__say", [], "")


def returning(text: str, *, is_error: bool = False) -> Any:
    async def call() -> Result:
        return Result(({"type": "text", "text": text},), is_error=is_error)

    return call


def begun(folder: Path, *calls: tuple[str, Any], run: str = "0123abcd") -> None:
    """Leave the journal of a run that crashed after these calls."""

    async def work() -> None:
        for tool, call in calls:
            with contextlib.suppress(RuntimeError, InvalidArgumentsError):
                await journal.through(tool, {"what": "x"}, call)

    journal = Journal.begin(folder, run, NET, {"n": 1})
    asyncio.run(work())
    journal.close(forget=False)


def test_what_was_returned_is_given_again_in_its_order_and_then_calls_are_made(
    tmp_path: Path, run: Run
) -> None:
    begun(tmp_path, (SAY, returning("1")), (SAY, returning("2")))
    journal = Journal.resume(tmp_path, "0123", ())
    assert (journal.net, journal.arguments) == (NET, {"n": 1})

    async def ask() -> list[str]:
        made = returning("3")
        return [(await journal.through(SAY, {"what": "x"}, made)).text for _ in range(3)]

    assert (run(ask()), journal.recalled) == (["1", "2", "3"], 2)
    journal.close(forget=True)
    assert list(tmp_path.glob("*.jsonl")) == []


@pytest.mark.parametrize("call", [_lost, returning("no", is_error=True)])
def test_a_task_that_may_not_be_done_twice_is_not(tmp_path: Path, call: Any) -> None:
    begun(tmp_path, (SAY, call))
    with pytest.raises(WorkflowError, match="'a' was begun and did not end, and may not be done twice"):
        Journal.resume(tmp_path, "0123", ())
    with pytest.raises(WorkflowError, match="There is no task 'none'"):
        Journal.resume(tmp_path, "0123", ("none",))
    Journal.resume(tmp_path, "0123", ("a",)).close(forget=False)
    # What was open then has been begun anew, and nothing is open now.
    Journal.resume(tmp_path, "0123", ()).close(forget=False)


@pytest.mark.parametrize("call", [(SLOW, _lost), (SAY, _unsent), (SAY, returning("ok"))])
def test_what_is_idempotent_was_never_sent_or_has_ended_keeps_nobody_from_going_on(
    tmp_path: Path, call: tuple[str, Any]
) -> None:
    begun(tmp_path, call)
    Journal.resume(tmp_path, "0123", ()).close(forget=False)


def test_the_file_is_only_for_its_owner_and_one_at_a_time(tmp_path: Path) -> None:
    begun(tmp_path / "runs")
    (file,) = (tmp_path / "runs").iterdir()
    assert (file.stat().st_mode & 0o777, (tmp_path / "runs").stat().st_mode & 0o777) == (0o600, 0o700)
    journal = Journal.resume(tmp_path / "runs", "0123abcd", ())
    with pytest.raises(UsageError, match="is under way"):
        Journal.resume(tmp_path / "runs", "0123abcd", ())
    journal.close(forget=False)


def test_a_run_that_there_is_not_or_several_are_told(tmp_path: Path) -> None:
    begun(tmp_path, run="0123abcd")
    begun(tmp_path, run="0123ffff")
    for name in ("9999", "012", "../0123abcd"):
        with pytest.raises(RunNotFoundError):
            Journal.resume(tmp_path, name, ())
    with pytest.raises(UsageError, match="the beginning of several runs"):
        Journal.resume(tmp_path, "0123", ())


@pytest.mark.parametrize("text", ["", "{}\n", "nothing\n", '{"workflow": {}, "arguments": {}}\n'])
def test_a_damaged_file_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "0123abcd.jsonl").write_text(text)
    with pytest.raises(FileError, match="is damaged"):
        Journal.resume(tmp_path, "0123", ())


def test_a_line_that_was_being_written_counts_for_nothing(tmp_path: Path) -> None:
    begun(tmp_path, (SLOW, returning("1")))
    file = tmp_path / "0123abcd.jsonl"
    whole = file.read_text()
    file.write_text(whole[:-5])
    Journal.resume(tmp_path, "0123", ()).close(forget=False)
    assert [next(iter(json.loads(line))) for line in file.read_text().splitlines()] == [
        "workflow",
        "began",
        "resumed",
    ]


def test_what_nobody_has_gone_on_with_for_long_is_forgotten(tmp_path: Path) -> None:
    begun(tmp_path, run="0123abcd")
    begun(tmp_path, run="4567abcd")
    os.utime(tmp_path / "0123abcd.jsonl", (0, 0))
    forget_old(tmp_path, 30)
    assert [one.name for one in tmp_path.glob("*.jsonl")] == ["4567abcd.jsonl"]
    forget_old(tmp_path / "none", 30)
