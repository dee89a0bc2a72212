"""What is written down of a run, and what is made of it afterwards."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from halflap.errors import (
    FileError,
    InvalidArgumentsError,
    RunNotFoundError,
    ToolFailedError,
    UsageError,
    WorkflowError,
)
from halflap.values import Result
from halflap.workflows.form import read_net
from halflap.workflows.running.journal import Journal
from halflap.workflows.running.pages import Pages, forget_old
from workflows.tooled import net, task

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

NET = read_net(net(task("a", "say"), task("b", "slow", idempotent=True), flows="i>a a>b b>o"))
SAY, SLOW = "mcp__counting__say#0.", "mcp__counting__slow#1."
"""What the calls of `a` and `b` are marked with, before the how-manieth time."""
X = {"what": "x"}


async def _lost() -> Result:
    raise ToolFailedError("mcp__counting__say", "counting", -1, "the server is gone")


async def _killed() -> Result:
    raise asyncio.CancelledError


async def _unsent() -> Result:
    raise InvalidArgumentsError("mcp__counting__say", [], "")


def returning(text: str, *, is_error: bool = False) -> Any:
    async def call() -> Result:
        return Result(({"type": "text", "text": text},), is_error=is_error)

    return call


def begun(folder: Path, *calls: tuple[str, Any], run: str = "0123abcd") -> None:
    """Leave the journal of a run that crashed after these calls."""

    async def work() -> None:
        for name, call in calls:
            with contextlib.suppress(ToolFailedError, InvalidArgumentsError, asyncio.CancelledError):
                assert await journal.recall(name, X) is None
                await journal.make(name, X, call)

    journal = Journal.begin(folder, run, NET, {"n": 1})
    asyncio.run(work())
    journal.close(is_over=False)


def gone_on(folder: Path, *again: str, run: str = "0123", repeatable: tuple[str, ...] = ()) -> Journal:
    journal = Journal.resume(folder, run)
    try:
        journal.go_on(again, repeatable)
    except BaseException:
        journal.close(is_over=False)
        raise
    return journal


def test_what_each_returned_is_given_again_and_then_calls_are_made(tmp_path: Path, run: Run) -> None:
    begun(tmp_path, (f"{SAY}2", returning("second")), (f"{SAY}1", returning("first")))
    journal = gone_on(tmp_path)
    assert (journal.net, journal.arguments) == (NET, {"n": 1})
    assert journal.done == {"a"}
    made: list[str] = []

    async def ask(at: int) -> str:
        known = await journal.recall(f"{SAY}{at}", X)
        if known is None:
            made.append(f"with {journal.recalled} recalled")
            known = await journal.make(f"{SAY}{at}", X, returning("new"))
        return known.text

    async def play() -> list[str]:
        # Nothing new is done before all is handed out that is known, and that in its order.
        return list(await asyncio.gather(ask(3), ask(1), ask(2)))

    assert (run(play()), made) == (["new", "first", "second"], ["with 2 recalled"])
    assert journal.ended == ["a", "a", "a"]
    journal.close(is_over=True)
    assert list(tmp_path.glob("*.jsonl")) == []


def test_what_has_other_arguments_than_before_is_not_given_and_not_done_again(
    tmp_path: Path, run: Run
) -> None:
    begun(tmp_path, (f"{SAY}1", returning("1")))
    for again, refused in (((), True), (("a",), False)):
        journal = gone_on(tmp_path, *again)

        async def ask(journal: Journal = journal) -> list[Any]:
            asked = [journal.recall(f"{SAY}1", {"what": "y"}), journal.recall(f"{SLOW}1", X)]
            return await asyncio.gather(*asked, return_exceptions=True)

        told = run(ask())
        if refused:
            assert all(isinstance(one, WorkflowError) for one in told)
            assert "tasks[0]: 'a' was done before with other arguments than it has now." in str(told[0])
        else:
            assert (told, journal.changed) == ([None, None], ["a"])
        journal.close(is_over=False)


def test_what_is_not_asked_for_any_more_is_told_before_anything_new_is_done(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("halflap.workflows.running.journal._QUIET_SECONDS", 0.05)
    begun(tmp_path, (f"{SAY}1", returning("1")))
    journal = gone_on(tmp_path)
    with pytest.raises(WorkflowError, match="'a' was done before, and is not asked for now"):
        run(journal.recall(f"{SLOW}1", X))
    journal.close(is_over=False)


@pytest.mark.parametrize(
    "name",
    [
        "mcp__counting__say",
        f"{SAY}0",
        f"{SAY}x",
        "mcp__counting__slow#0.1",
        "mcp__counting__say#2.1",
        f"{SAY}1 ",
        "",
    ],
)
def test_only_names_with_the_mark_of_their_task_are_calls_of_the_workflow(name: str) -> None:
    journal = Journal.begin(None, "0123abcd", NET, {})
    assert (journal.tool(name), journal.tool(f"{SAY}1")) == (None, "mcp__counting__say")


def test_only_what_is_done_for_each_has_marks_of_items() -> None:
    many = read_net(net(task("a", each=[1, 2]), flows="i>a a>o"))
    journal = Journal.begin(None, "0123abcd", many, {})
    marks = {
        f"{SAY}1.0.2": True,
        f"{SAY}1.1.2": True,
        f"{SAY}1.2.2": False,
        f"{SAY}1": False,
        f"{SAY}1.0": False,
    }
    assert {mark: journal.tool(mark) is not None for mark in marks} == marks


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (_lost, "was begun and failed"),
        (returning("no", is_error=True), "was begun and failed"),
        (_killed, "was begun and did not end"),
    ],
)
def test_a_task_that_may_not_be_done_twice_is_not(tmp_path: Path, call: Any, said: str) -> None:
    begun(tmp_path, (f"{SLOW}1", call), (f"{SAY}1", returning("1")), (f"{SAY}2", call))
    with pytest.raises(WorkflowError, match=f"'a' {said}, and may not be done twice") as caught:
        gone_on(tmp_path)
    assert [one.path for one in caught.value.problems] == ["tasks[0].idempotent"]
    with pytest.raises(WorkflowError, match="There is no task 'none'"):
        gone_on(tmp_path, "none")
    gone_on(tmp_path, repeatable=("mcp__counting__say",)).close(is_over=False)
    gone_on(tmp_path, "a").close(is_over=False)
    # That it may be done again was said, and nothing was done since.
    journal = gone_on(tmp_path, "a")
    assert journal.doubtful() == {}

    async def fail() -> None:
        await journal.make(f"{SAY}2", X, returning("no", is_error=True))

    asyncio.run(fail())
    assert journal.doubtful() == {"a": "was begun and failed"}
    journal.close(is_over=False)
    with pytest.raises(WorkflowError, match="'a' was begun and failed"):
        gone_on(tmp_path)


@pytest.mark.parametrize("call", [(f"{SLOW}1", _killed), (f"{SAY}1", _unsent), (f"{SAY}1", returning("ok"))])
def test_what_is_idempotent_was_never_sent_or_has_ended_keeps_nobody_from_going_on(
    tmp_path: Path, call: tuple[str, Any]
) -> None:
    begun(tmp_path, (f"{SLOW}2", returning("1")), call)
    gone_on(tmp_path).close(is_over=False)


def test_of_a_run_that_did_nothing_nothing_is_kept(tmp_path: Path) -> None:
    begun(tmp_path, (f"{SAY}1", _unsent))
    assert list(tmp_path.glob("*.jsonl")) == []


def test_the_file_is_only_for_its_owner_and_one_at_a_time(tmp_path: Path) -> None:
    begun(tmp_path / "runs", (f"{SAY}1", returning("1")))
    (file,) = (tmp_path / "runs").iterdir()
    assert (file.stat().st_mode & 0o777, (tmp_path / "runs").stat().st_mode & 0o777) == (0o600, 0o700)
    journal = gone_on(tmp_path / "runs")
    with pytest.raises(UsageError, match="is under way"):
        gone_on(tmp_path / "runs")
    os.utime(file, (0, 0))
    forget_old(tmp_path / "runs", 30)
    assert file.exists()
    journal.close(is_over=False)


def test_a_run_that_there_is_not_or_several_are_told(tmp_path: Path) -> None:
    begun(tmp_path, (f"{SAY}1", returning("1")), run="0123abcd")
    begun(tmp_path, (f"{SAY}1", returning("1")), run="0123ffff")
    for name in ("9999", "", "../0123abcd"):
        with pytest.raises(RunNotFoundError):
            Journal.resume(tmp_path, name)
    for name in ("0123", "0"):
        with pytest.raises(UsageError, match=f"write more than '{name}':\n  0123ffff\n  0123abcd"):
            Journal.resume(tmp_path, name)


@pytest.mark.parametrize("text", ["", "{}\n", "nothing\n", '{"workflow": {}, "arguments": {}}\n'])
def test_a_file_that_is_none_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "0123abcd.jsonl").write_text(text)
    with pytest.raises(FileError, match="is damaged"):
        Journal.resume(tmp_path, "0123")


@pytest.mark.parametrize(
    "edit",
    [
        lambda lines: [line.replace("paid", "PAID") for line in lines],
        lambda lines: [lines[0], *lines[2:]],
        lambda lines: [lines[0], lines[2], lines[1], *lines[3:]],
        lambda lines: [lines[0].replace('"n": 1', '"n": 2'), *lines[1:]],
    ],
)
def test_a_file_that_somebody_changed_is_told(tmp_path: Path, edit: Callable[[list[str]], list[str]]) -> None:
    begun(tmp_path, (f"{SAY}1", returning("paid")), (f"{SLOW}1", returning("1")))
    file = tmp_path / "0123abcd.jsonl"
    file.write_text("".join(edit(file.read_text().splitlines(keepends=True))))
    with pytest.raises(FileError, match=r"line \d is not as it was written, or one before it is missing"):
        Journal.resume(tmp_path, "0123")


@pytest.mark.parametrize(
    "line",
    [
        {},
        [],
        {"began": ["a", 0], "tool": "mcp__counting__say"},
        {"began": ["none", 1], "tool": "mcp__counting__say"},
        {"began": ["a", 1], "tool": "mcp__counting__slow"},
        {"ended": ["a", 1], "tool": "mcp__counting__say", "arguments": "", "result": {}},
        {"paid": ["a", 1], "tool": "mcp__counting__say"},
    ],
)
def test_a_line_that_a_run_does_not_write_is_told(tmp_path: Path, line: Any) -> None:
    begun(tmp_path, (f"{SLOW}1", returning("1")))
    pages = Pages.open(tmp_path, "0123")
    pages.read()
    pages.write(line)
    pages.close(forget=False)
    with pytest.raises(FileError, match="it is not what is written there"):
        Journal.resume(tmp_path, "0123")


def test_a_line_that_was_being_written_counts_for_nothing(tmp_path: Path) -> None:
    begun(tmp_path, (f"{SLOW}1", returning("1")))
    file = tmp_path / "0123abcd.jsonl"
    whole = file.read_text()
    file.write_text(whole[:-5])
    gone_on(tmp_path).close(is_over=False)
    said = [json.loads(line.partition(" ")[2]) for line in file.read_text().splitlines()]
    assert [next(iter(one)) for one in said] == ["workflow", "began", "resumed"]


def test_what_nobody_has_gone_on_with_for_long_is_forgotten(tmp_path: Path) -> None:
    begun(tmp_path, (f"{SAY}1", returning("1")), run="0123abcd")
    begun(tmp_path, (f"{SAY}1", returning("1")), run="4567abcd")
    os.utime(tmp_path / "0123abcd.jsonl", (0, 0))
    forget_old(tmp_path, 30)
    assert [one.name for one in tmp_path.glob("*.jsonl")] == ["4567abcd.jsonl"]
    forget_old(tmp_path / "none", 30)
