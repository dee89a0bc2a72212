"""Workflows run in the sandbox over a server that logs its calls; they fail or are killed, and are resumed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from cli.program import environment
from halflap.cli.app import app
from support import HALFLAP, PATIENCE
from workflows.tooled import net, task

if TYPE_CHECKING:
    from collections.abc import Iterator

SERVER = str(Path(__file__).with_name("counting.py"))


class Runs:
    """Runs workflows with the server of a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.config = folder / "halflap.json"
        self.configure()

    def configure(self, **more: Any) -> None:
        server = {
            "command": sys.executable,
            "args": [SERVER, str(self.folder)],
            "protocol": "legacy",
            "trust_annotations": True,
        }
        self.config.write_text(
            json.dumps({"mcpServers": {"counting": server}, "execution": {"check": "off"}, **more})
        )

    def save(self, workflow: dict[str, Any]) -> str:
        file = self.folder / "workflow.json"
        file.write_text(json.dumps(workflow))
        return str(file)

    def run(self, *arguments: str) -> dict[str, Any]:
        """Run the command; returns what it printed, with its exit code."""
        command = ["workflow", "run", *arguments, "-c", str(self.config), "--json"]
        found = CliRunner().invoke(app, command)
        return {"exit": found.exit_code, "stderr": found.stderr, **json.loads(found.stdout)}

    def resume(self, run: str, *again: str) -> dict[str, Any]:
        return self.run("--resume", run, *(word for name in again for word in ("--again", name)))

    def start(self, workflow: dict[str, Any], *arguments: str) -> dict[str, Any]:
        return self.run(self.save(workflow), *arguments)

    def close(self) -> None:
        """Make `fail` fail and `wait` wait."""
        (self.folder / "closed").touch()

    def open(self) -> None:
        (self.folder / "closed").unlink()

    @property
    def log(self) -> list[str]:
        file = self.folder / "log"
        return file.read_text().splitlines() if file.exists() else []


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


def test_results_flow_between_tasks_branches_run_in_parallel_and_the_run_is_recorded(runs: Runs) -> None:
    workflow = net(
        task("a", what={"from": "word"}, writes=["first"]),
        task("b", what={"from": "first.what"}),
        *(task(name, "slow") for name in "cde"),
        task("z", join="and"),
        flows="i>a a>b b>c b>d b>e c>z d>z e>z z>o",
    )
    found = runs.start(workflow, "--arg", "word=hello")
    assert (found["exit"], found["trace"][:2], found["trace"][-1]) == (0, ["a", "b"], "z")
    assert [found["results"][name]["times"] for name in ("a", "b")] == [1, 2]
    assert runs.log[:2] == ["say hello", "say hello"]
    assert {line.split()[0] for line in runs.log[2:5]} == {"slow"}
    assert [line.split()[0] for line in runs.log[5:]] == ["end", "end", "end", "say"]
    shown = CliRunner().invoke(app, ["runs", "show", found["run"], "--json", "-c", str(runs.config)])
    told = json.loads(shown.stdout)
    assert (told["kind"], told["name"], told["outcome"]) == ("workflow", "tested", "ok")
    assert len(told["calls"]) == 6


def test_predicates_choose_an_or_join_waits_a_loop_ends_and_names_stay_names(runs: Runs) -> None:
    odd = "o'd \" {d}\n"
    workflow = net(
        task("look", split="xor"),
        *map(task, ("small", "large", "other")),
        task("ask", None, split="or"),
        *map(task, "pqr"),
        task("join", None, join="or"),
        task("try", split="xor", writes=["what", "times"]),
        task(odd, "keep", what=[{"from": "what"}, {"from": "times"}, {"value": {"from": "look"}}]),
        flows="i>look look>small look>large look>other small>ask large>ask other>ask ask>p ask>q ask>r p>join q>join r>join "
        "join>try try>try",
        look_small={"predicate": "size > 0", "order": 2},
        look_large={"predicate": "size > 3", "order": 1},
        look_other={"default": True},
        ask_p={"predicate": "want.p"},
        ask_q={"predicate": "want.q"},
        ask_r={"default": True},
        try_try={"predicate": "times < most"},
    )
    workflow["flows"] += [{"from": "try", "to": odd, "default": True}, {"from": odd, "to": "o"}]
    given = {"size": 5, "most": 3, "want": {"p": True, "q": True}}
    found = runs.start(workflow, "--json-args", json.dumps(given))
    assert found["exit"] == 0, found
    trace = [name for name in found["trace"] if name not in {"ask", "join"}]
    assert (trace[:2], sorted(trace[2:4]), trace[4:]) == (["look", "large"], ["p", "q"], ["try"] * 3 + [odd])
    assert found["results"][odd]["what"] == ["try", 3, {"from": "look"}]


def test_a_loop_past_its_limit_fails_and_a_parallel_branch_finishes(runs: Runs) -> None:
    workflow = net(
        task("s", None),
        task("try", limit=3, split="xor", join="xor"),
        task("b"),
        task("z", None, join="and"),
        flows="i>s s>try s>b try>try try>z b>z z>o",
        try_try={"default": True},
        try_z={"predicate": "try.times > 100"},
    )
    found = runs.start(workflow)
    assert (found["exit"], found["failed"]) == (1, "try")
    assert sorted(runs.log) == ["say b", "say try", "say try", "say try"]


def test_a_net_that_cannot_be_run_is_refused_with_every_reason(runs: Runs) -> None:
    workflow = net(
        task("a", split="xor"),
        {"id": "b"},
        {"id": "c", "tool": "counting.say", "arguments": {"what": {"from": "nobody.knows"}}},
        task("d", None, join="and"),
        task("e"),
        task("f"),
        flows="i>a a>b a>c b>d c>d d>w w>e w>f e>o f>o",
        conditions=[{"id": "w"}],
        kept=[{"at": "a", "name": "timer", "text": "<timer/>"}],
    )
    found = runs.start(workflow, "--arg", "spare=1")
    assert (found["exit"], found["code"], runs.log) == (2, "workflow", [])
    assert {one["path"] for one in found["problems"]} >= {
        "tasks[1].tool",
        "tasks[2].tool",
        "tasks[2].arguments.what",
        "flows[1]",
        "flows[6].from",
        "a",
    }
    assert "spare" in found["message"]


def test_wrong_arguments_are_reported_by_task_before_anything_is_called(runs: Runs) -> None:
    runs.configure(execution={"check": "on"})
    workflow = net(
        task("a"),
        task("b", what=5),
        {"id": "c", "tool": "mcp__counting__say", "arguments": {"what": {"from": "a.what"}, "more": 1}},
        {"id": "d", "tool": "mcp__counting__pay", "arguments": {"what": {"from": "word"}}},
        task("e", "sayy"),
        flows="i>a a>b b>c c>d d>e e>o",
    )
    found = runs.start(workflow, "--arg", "word=7")
    assert (found["exit"], found["code"], runs.log) == (2, "workflow", [])
    assert {one["path"] for one in found["problems"]} == {
        "tasks[1].arguments.what",
        "tasks[2].arguments.more",
        "tasks[3].arguments.what",
        "tasks[3].arguments.number",
        "tasks[4].tool",
    }


def test_a_failed_run_reports_its_results_and_is_resumed_from_there(runs: Runs) -> None:
    runs.close()
    pay = {"what": "p", "number": {"from": "t.times"}}
    workflow = net(
        task("s", None),
        *(task(name, "ticket", what="x", idempotent=False) for name in "tu"),
        {"id": "p", "tool": "mcp__counting__pay", "arguments": pay},
        task("e", "fail", join="and", idempotent=True),
        flows="i>s s>t s>u t>p p>e u>e e>o",
    )
    found = runs.start(workflow)
    assert (found["exit"], found["failed"], found["under_way"]) == (1, "e", ["e"])
    assert (found["resume"], set(found["results"])) == (found["run"], {"t", "u", "p"})
    runs.open()
    again = runs.resume(found["run"][:12])
    assert (again["run"], again["outcome"], again["recalled"]) == (found["run"], "ok", 3)
    # Each has its own result, though both calls were the same.
    assert all(again["results"][name] == found["results"][name] for name in "tu")
    assert runs.log.count("ticket x") == 2
    over = runs.resume(found["run"])
    assert (over["exit"], over["code"]) == (2, "usage")


@pytest.mark.slow
def test_a_run_without_recorded_results_cannot_be_resumed(runs: Runs, home: Path) -> None:
    runs.configure(traces={"record": "metadata"})
    runs.close()
    found = runs.start(net(task("a", "fail"), flows="i>a a>o"))
    assert (found["exit"], found["resume"]) == (1, None)
    assert not (home / "data" / "workflow_runs").exists()


@contextmanager
def killed(runs: Runs, home: Path, *arguments: str, when: str, by: int = signal.SIGKILL) -> Iterator[str]:
    """Run a workflow in a separate process, which is killed when the server logged `when`."""
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
        while when not in runs.log:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        try:
            yield run
        finally:
            os.kill(process.pid, by)
            process.stderr.read()
            (runs.folder / "exit").write_text(str(process.wait(PATIENCE)))


def test_a_run_killed_amid_branches_repeats_nothing_unasked(runs: Runs, home: Path) -> None:
    runs.close()
    workflow = net(
        task("s", None),
        task("a", "wait"),
        task("b", "wait", idempotent=True),
        task("q"),
        task("d", "wait", join="and"),
        flows="i>s s>b s>q q>a a>d b>d d>o",
    )
    with killed(runs, home, runs.save(workflow), when="wait a") as run:
        # The run does not read the file again.
        runs.save(net(task("other"), flows="i>other other>o"))
        busy = runs.resume(run)
    assert (busy["exit"], busy["code"]) == (2, "usage")
    assert sorted(runs.log) == ["say q", "wait a", "wait b"]
    (told,) = json.loads(CliRunner().invoke(app, ["runs", "--json", "-c", str(runs.config)]).stdout)
    assert (told["outcome"], told["callCount"]) == ("interrupted", 3)
    refused = runs.resume(run)
    assert [one["path"] for one in refused["problems"]] == ["tasks[1].idempotent"]
    runs.open()
    again = runs.resume(run, "a")
    assert (again["run"], again["outcome"], again["recalled"]) == (run, "ok", 1)
    assert sorted(runs.log) == ["say q", "wait a", "wait a", "wait b", "wait b", "wait d"]


@pytest.mark.slow
@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_a_run_ended_amid_a_loop_is_resumed_in_the_same_repetition(runs: Runs, home: Path, by: int) -> None:
    runs.close()
    workflow = net(
        task("a", split="xor"),
        task("b", "wait", what="x", idempotent=True),
        task("j", None, join="xor"),
        flows="i>j j>a a>j a>b b>o",
        a_j={"predicate": "a.times < 3"},
        a_b={"default": True},
    )
    with killed(runs, home, runs.save(workflow), "--json", when="wait x", by=by) as run:
        pass
    assert (runs.folder / "exit").read_text() == "130"
    told = json.loads((runs.folder / "stdout").read_text())
    assert (told["outcome"], told["trace"], told["under_way"]) == ("cancelled", ["a", "a", "a"], ["b"])
    runs.open()
    again = runs.resume(run)
    assert (again["outcome"], again["recalled"]) == ("ok", 3)
    assert runs.log == ["say a", "say a", "say a", "wait x", "wait x"]


@pytest.mark.slow
def test_a_suggestion_over_a_demo_server_is_a_net_that_runs(tmp_path: Path) -> None:
    config = tmp_path / "halflap.json"
    server = {"command": sys.executable, "args": ["-m", "halflap.demo.sales"]}
    config.write_text(json.dumps({"mcpServers": {"sales": server}}))
    have = ["--have", "customer_id=CUST-001"]
    asked = ["suggest", "--want", "customer_details", *have, "--net", "-c", str(config)]
    suggested = CliRunner().invoke(app, asked)
    assert suggested.exit_code == 0, suggested.stderr
    (details,) = (step["id"] for step in json.loads(suggested.stdout)["tasks"])
    found = CliRunner().invoke(app, ["workflow", "run", "-", "-c", str(config)], input=suggested.stdout)
    assert found.exit_code == 0, found.stderr
    assert json.loads(found.stdout)[details]["name"]
