"""Runs that did not come to their end, and are gone on with: nothing is done twice, and nobody gets another's result."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from cli.program import environment
from halflap.cli.app import app
from support import HALFLAP, PATIENCE
from workflows.test_running import Runs
from workflows.tooled import net, task

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


@contextmanager
def killed(
    runs: Runs, home: Path, *arguments: str, when: str, times: int = 1, by: int = signal.SIGKILL
) -> Iterator[str]:
    """Run a workflow in a process of its own, which is ended when the server has been asked that so often."""
    with (
        (runs.folder / "stdout").open("w") as stdout,
        subprocess.Popen(
            [HALFLAP, "workflow", "run", *arguments, "-c", str(runs.config)],
            env=environment(home),
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
        ) as process,
    ):
        assert process.stderr is not None
        run = process.stderr.readline().removeprefix("Run ").strip()
        deadline = time.monotonic() + PATIENCE
        while runs.log.count(when) < times:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        try:
            yield run
        finally:
            os.kill(process.pid, by)
            if by != signal.SIGKILL:
                (runs.folder / "exit").write_text(str(process.wait(PATIENCE)))
                (runs.folder / "stderr").write_text(process.stderr.read())


def test_tasks_that_call_the_same_tool_alike_keep_each_its_own_result(runs: Runs) -> None:
    (runs.folder / "closed").touch()
    workflow = net(
        task("s", None),
        *(task(name, "ticket", what="x", idempotent=False) for name in "bc"),
        *(
            {
                "id": f"pay_{one}",
                "tool": "mcp__counting__pay",
                "arguments": {"what": one, "number": {"from": f"{one}.times"}},
            }
            for one in "bc"
        ),
        task("e", "fail", join="and", idempotent=True),
        flows="i>s s>b s>c b>pay_b c>pay_c pay_b>e pay_c>e e>o",
    )
    found = runs.answer(workflow)
    (runs.folder / "closed").unlink()
    again = json.loads(runs.run("--resume", found["resume"]).stdout)
    assert len([line for line in runs.log if line.startswith("pay")]) == 2
    assert (found["failed"], found["resume"]) == ("e", found["run"])
    assert (again["run"], again["outcome"], again["recalled"]) == (found["run"], "ok", 4)
    assert {name: again["results"][name]["times"] for name in "bc"} == {
        name: found["results"][name]["times"] for name in "bc"
    }


def test_killed_twice_amid_branches_what_was_done_is_not_done_again(runs: Runs, home: Path) -> None:
    (runs.folder / "closed").touch()
    workflow = net(
        task("s", None),
        task("a", "wait"),
        task("b", "wait", idempotent=True),
        task("c", "wait"),
        task("q"),
        task("d", "wait", join="and"),
        flows="i>s s>b s>c s>q q>a a>d b>d c>d d>o",
    )
    # What is written in the file meanwhile is nothing to the run.
    file = runs.save(workflow)
    with killed(runs, home, file, when="wait a") as run:
        runs.save(net(task("other"), flows="i>other other>o"))
        busy = runs.run("--resume", run)
    assert "is under way" in json.loads(busy.stdout)["message"]
    journal = home / "data" / "workflow_runs" / f"{run}.jsonl"
    assert sorted(runs.log) == ["say q", "wait a", "wait b", "wait c"]
    # Nobody runs it any more, and what it called is on the record.
    (told,) = json.loads(CliRunner().invoke(app, ["runs", "--json", "-c", str(runs.config)]).stdout)
    assert (told["outcome"], told["callCount"]) == ("interrupted", 4)
    # As if it had crashed while it wrote.
    with journal.open("a") as stream:
        stream.write('0123 {"ended": "tor')
    refused = json.loads(runs.run("--resume", run, "--again", "c").stdout)
    assert [one["path"] for one in refused["problems"]] == ["tasks[1].idempotent"]
    assert "'a' was begun and did not end, and may not be done twice" in refused["problems"][0]["message"]
    with killed(runs, home, "--resume", run, "--again", "a", "--again", "c", when="wait a", times=2):
        pass
    (runs.folder / "closed").unlink()
    again = json.loads(runs.run("--resume", run[:12], "--again", "a", "--again", "c").stdout)
    assert (again["run"], again["outcome"], again["recalled"]) == (run, "ok", 1)
    assert runs.log.count("say q") == 1
    assert not journal.exists()
    listed = json.loads(CliRunner().invoke(app, ["runs", "--json", "-c", str(runs.config)]).stdout)
    assert [(one["id"], one["outcome"]) for one in listed] == [(run, "ok")]


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_ended_amid_a_loop_it_goes_on_with_the_time_that_it_was_at(runs: Runs, home: Path, by: int) -> None:
    (runs.folder / "closed").touch()
    workflow = net(
        task("a", split="xor"),
        task("b", "wait", what="x", idempotent=True),
        task("j", None, join="xor"),
        flows="i>j j>a a>j a>b b>o",
        a_j={"predicate": "a.times < 3"},
        a_b={"default": True},
    )
    file = runs.save(workflow)
    with killed(runs, home, file, "--json", when="wait x", by=by) as run:
        pass
    assert (runs.folder / "exit").read_text() == str(128 + by)
    assert f"halflap workflow run --resume {run}" in (runs.folder / "stderr").read_text()
    told = json.loads((runs.folder / "stdout").read_text())
    assert (told["outcome"], told["trace"], told["under_way"]) == ("cancelled", ["a", "a", "a"], ["b"])
    assert (told["resume"], told["results"]["a"]["times"]) == (run, 3)
    (runs.folder / "closed").unlink()
    again = json.loads(runs.run("--resume", run).stdout)
    assert (again["outcome"], again["recalled"]) == ("ok", 3)
    assert [one for one in again["trace"] if one != "j"] == ["a", "a", "a", "b"]
    assert runs.log == ["say a", "say a", "say a", "wait x", "wait x"]


def test_of_many_those_that_were_done_are_not_done_again(runs: Runs) -> None:
    (runs.folder / "closed").touch()
    workflow = net(
        task("a", what={"from": "each"}, each=["x", "y", "x"]),
        task("b", "fail", what={"from": "each.what"}, each={"from": "a"}, idempotent=True),
        flows="i>a a>b b>o",
    )
    found = runs.answer(workflow)
    (runs.folder / "closed").unlink()
    again = json.loads(runs.run("--resume", found["run"]).stdout)
    assert (again["outcome"], again["recalled"]) == ("ok", 3)
    assert again["results"]["a"] == found["results"]["a"]
    assert [one["what"] for one in again["results"]["b"]] == ["x", "y", "x"]
    assert sorted(one for one in runs.log if one.startswith("say")) == ["say x", "say x", "say y"]


def test_of_many_it_is_told_which_failed_and_what_the_others_returned(runs: Runs) -> None:
    (runs.folder / "closed").touch()
    # Of the two that are the same, the second that comes fails.
    workflow = net(
        task("a", "known", what={"from": "each"}, each=["x", "y", "x"], idempotent=False), flows="i>a a>o"
    )
    found = runs.run(runs.save(workflow))
    told = json.loads(found.stdout)
    (failed,) = told["items"]["a"]["failed"]
    (other,) = {0, 2} - {failed}
    assert f"The task 'a' failed for item {failed} of 3: it does not work now" in told["error"]
    assert {at: one["what"] for at, one in told["items"]["a"]["returned"].items()} == {
        str(other): "x",
        "1": "y",
    }
    assert (told["items"]["a"]["of"], told["items"]["a"]["did_not_end"]) == (3, [])
    assert f"'a' was begun and failed for item {failed} of 3, and nothing says" in found.stderr
    assert "Only that is done again." in found.stderr
    (runs.folder / "closed").unlink()
    again = json.loads(runs.run("--resume", told["run"], "--again", "a").stdout)
    assert (again["outcome"], again["recalled"], again["items"], len(runs.log)) == ("ok", 2, {}, 4)


def test_lines_that_are_missing_from_the_file_are_told_by_the_record(runs: Runs, home: Path) -> None:
    (runs.folder / "closed").touch()

    def pay(name: str) -> dict[str, Any]:
        given = {"what": name, "number": 1}
        return {"id": name, "tool": "mcp__counting__pay", "arguments": given}

    workflow = net(pay("p"), pay("q"), task("f", "fail", idempotent=True), flows="i>p p>q q>f f>o")
    run = runs.answer(workflow)["run"]
    file = home / "data" / "workflow_runs" / f"{run}.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    # All that is there is as it was written, but `q` was paid after it.
    file.write_text("".join(lines[:3]))
    refused = json.loads(runs.run("--resume", run).stdout)
    assert [one["path"] for one in refused["problems"]] == ["tasks[0].tool", "tasks[1].tool"]
    assert "The record has a call of mcp__counting__pay that the run's file has not" in refused["message"]
    assert runs.log == ["pay p 1", "pay q 1", "fail f"]
    # That it may be done again is kept, and nobody is asked twice.
    agreed = json.loads(runs.run("--resume", run, "--again", "p", "--again", "q").stdout)
    assert (agreed["failed"], runs.log.count("pay p 1"), runs.log.count("pay q 1")) == ("f", 1, 2)
    (runs.folder / "closed").unlink()
    kept = file.read_text()
    assert json.loads(runs.run("--resume", run).stdout)["outcome"] == "ok"
    file.write_text(kept)
    over = json.loads(runs.run("--resume", run).stdout)
    assert "came to its end" in over["message"]
    # Nobody can tell any more once the record is gone, and that is said.
    CliRunner().invoke(app, ["runs", "purge", "--all", "--yes", "-c", str(runs.config)])
    alone = runs.run("--resume", run)
    assert (alone.exit_code, "The run is not on the record any more." in alone.stderr) == (0, True)


def test_where_going_on_would_fail_in_the_same_way_a_new_run_is_asked_for(runs: Runs) -> None:
    lacking = net(task("a"), task("b", what={"from": "a.nope"}), flows="i>a a>b b>o")
    unfit = net(task("a"), task("b", what={"from": "a.times"}), flows="i>a a>b b>o")
    for workflow, why in ((lacking, "'a' has no 'nope'. It is an object with what"), (unfit, "do not fit")):
        found = runs.run(runs.save(workflow))
        told = json.loads(found.stdout)
        assert why in told["error"]
        assert (told["resume"], told["fails_again"], told["results"]["a"]["what"]) == (None, True, "a")
        assert "Mend the workflow, and run it from the start." in found.stderr
        assert "--resume" not in found.stderr


def test_a_run_that_failed_tells_what_was_done_and_what_was_not(runs: Runs) -> None:
    (runs.folder / "closed").touch()
    workflow = net(
        task("s", None),
        task("x", "outlast"),
        task("y", "fail"),
        task("x2"),
        task("j", None, join="and"),
        flows="i>s s>x s>y x>x2 x2>j y>j j>o",
    )
    found = runs.answer(workflow)
    assert (found["exit"], found["failed"], found["under_way"]) == (1, "y", ["y"])
    assert (found["trace"], list(found["results"])) == (["s", "x"], ["x"])
    assert found["resume"] == found["run"]
    told = runs.run("--resume", found["run"])
    assert "'y' was begun and failed, and may not be done twice" in told.stdout
    shown = CliRunner().invoke(app, ["runs", "show", found["run"], "--json", "-c", str(runs.config)])
    assert json.loads(shown.stdout)["outcome"] == "failed"


def test_a_run_that_was_ended_tells_what_was_done_too(runs: Runs) -> None:
    (runs.folder / "closed").touch()
    runs.configure(execution={"timeout_seconds": 2})
    found = runs.answer(net(task("a"), task("b", "wait"), flows="i>a a>b b>o"))
    assert (found["code"], found["failed"], found["under_way"]) == ("run-timeout", None, ["b"])
    assert (found["trace"], found["results"]["a"]["what"]) == (["a"], "a")


def test_what_a_trusted_server_calls_idempotent_may_be_done_again_unless_the_workflow_says_otherwise(
    runs: Runs,
) -> None:
    (runs.folder / "closed").touch()

    def twice(what: str, **more: Any) -> dict[str, Any]:
        """Do it till the second time, which fails."""
        return net(
            task("j", None, join="xor"),
            task("a", "known", what=what, split="xor", **more),
            flows="i>j j>a a>j a>o",
            a_j={"predicate": "a.times < 2"},
            a_o={"default": True},
        )

    found = runs.answer(twice("x"))
    other = runs.answer(twice("y", idempotent=False))
    (runs.folder / "closed").unlink()
    again = json.loads(runs.run("--resume", found["run"]).stdout)
    assert (again.get("outcome"), again.get("recalled")) == ("ok", 1)
    assert "--again a" in json.loads(runs.run("--resume", other["run"]).stdout)["message"]


def test_what_tools_do_not_take_is_told_of_the_task_before_anything_is_done(runs: Runs, home: Path) -> None:
    runs.configure(execution={"check": "on"})
    workflow = net(
        task("a"),
        task("b", what=5, limit=1),
        {"id": "c", "tool": "mcp__counting__say", "arguments": {"what": {"from": "a.what"}, "more": 1}},
        {"id": "d", "tool": "mcp__counting__pay", "arguments": {"what": {"from": "word"}}},
        task("e", "sayy"),
        flows="i>a a>b b>c c>d d>e e>o",
    )
    found = runs.run(runs.save(workflow), "--arg", "word=7")
    told: dict[str, Any] = json.loads(found.stdout)
    problems = {one["path"]: one["message"] for one in told["problems"]}
    assert (found.exit_code, told["code"], runs.log) == (2, "workflow", [])
    assert set(problems) == {
        "tasks[1].arguments.what",
        "tasks[2].arguments.more",
        "tasks[3].arguments.what",
        "tasks[3].arguments.number",
        "tasks[4].tool",
    }
    assert problems["tasks[1].arguments.what"].startswith("Expected string, received 5")
    assert "'b' calls mcp__counting__say(what: string)" in problems["tasks[1].arguments.what"]
    assert "'e'" in problems["tasks[4].tool"]
    assert "line" not in told["message"]
    assert "resume" not in found.stderr
    assert not (home / "data" / "workflow_runs").exists()
