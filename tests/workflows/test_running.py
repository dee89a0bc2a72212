"""Workflows that are run in the sandbox, over servers that write down what they were asked."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cli.program import environment
from halflap.cli.app import app
from support import HALFLAP, PATIENCE
from workflows.tooled import net, task

SERVER = str(Path(__file__).with_name("counting.py"))


class Runs:
    """Runs workflows with the server of a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.config = folder / "halflap.json"
        self.configure()

    def configure(self, **more: Any) -> None:
        server = {"command": sys.executable, "args": [SERVER, str(self.folder)], "protocol": "legacy"}
        self.config.write_text(
            json.dumps({"mcpServers": {"counting": server}, "execution": {"check": "off"}, **more})
        )

    def save(self, workflow: dict[str, Any]) -> str:
        file = self.folder / "workflow.json"
        file.write_text(json.dumps(workflow))
        return str(file)

    def run(self, *arguments: str) -> Any:
        return CliRunner().invoke(app, ["workflow", "run", *arguments, "-c", str(self.config), "--json"])

    def answer(self, workflow: dict[str, Any], *arguments: str) -> dict[str, Any]:
        found = self.run(self.save(workflow), *arguments)
        told: dict[str, Any] = json.loads(found.stdout)
        return {"exit": found.exit_code, **told}

    @property
    def log(self) -> list[str]:
        file = self.folder / "log"
        return file.read_text().splitlines() if file.exists() else []


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


def test_tasks_get_what_others_returned_and_what_was_given(runs: Runs) -> None:
    workflow = net(
        task("a", what={"from": "word"}, writes=["first"]),
        task("b", what={"from": "first.what"}),
        flows="i>a a>b b>o",
    )
    found = runs.answer(workflow, "--arg", "word=hello")
    assert (found["exit"], found["trace"]) == (0, ["a", "b"])
    assert runs.log == ["say hello", "say hello"]
    assert [found["results"][name]["times"] for name in ("a", "b")] == [1, 2]


def test_branches_are_done_at_the_same_time_and_a_join_waits_for_all(runs: Runs) -> None:
    workflow = net(
        task("s", None),
        *(task(name, "slow") for name in "abc"),
        task("z", join="and"),
        flows="i>s s>a s>b s>c a>z b>z c>z z>o",
    )
    found = runs.answer(workflow)
    assert (found["exit"], found["trace"][-1]) == (0, "z")
    assert {line.split()[0] for line in runs.log[:3]} == {"slow"}
    assert [line.split()[0] for line in runs.log[3:]] == ["end", "end", "end", "say"]


def test_what_cannot_be_run_is_refused_with_every_reason(runs: Runs) -> None:
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
    found = runs.run(runs.save(workflow), "--arg", "spare=1", "--arg", "a=1")
    told = json.loads(found.stdout)
    assert (found.exit_code, told["code"]) == (2, "workflow")
    problems = {one["path"]: one["message"] for one in told["problems"]}
    assert "'b' has no tool." in problems["tasks[1].tool"]
    assert "is not the name of a tool" in problems["tasks[2].tool"]
    assert "There is no 'nobody'. Give it with --arg nobody=…" in problems["tasks[2].arguments.what"]
    assert "When it is taken is not said." in problems["flows[1]"]
    assert "Several flows lead out of 'w'" in problems["flows[6].from"]
    assert "It has a timer, which can't be run." in problems["a"]
    assert "--arg spare: nothing in the workflow speaks of it." in told["message"]
    assert "--arg a: that is a task." in told["message"]
    assert "It is not sound. After a, b: Nothing can happen any more" in told["message"]
    assert runs.log == []


def test_a_failed_run_is_gone_on_with_from_what_is_done(runs: Runs) -> None:
    (runs.folder / "closed").touch()
    workflow = net(task("a"), task("b", "fail", idempotent=True), task("c"), flows="i>a a>b b>c c>o")
    found = runs.answer(workflow)
    assert (found["exit"], found["error"]) == (1, "The task 'b' failed: it does not work now")
    (runs.folder / "closed").unlink()
    again = json.loads(runs.run("--resume", found["resume"][:12]).stdout)
    assert (again["outcome"], again["trace"], again["recalled"]) == ("ok", ["a", "b", "c"], 1)
    assert runs.log == ["say a", "fail b", "fail b", "say c"]
    over = runs.run("--resume", found["resume"])
    assert (over.exit_code, json.loads(over.stdout)["code"]) == (2, "run-not-found")


def test_where_nothing_may_be_kept_nothing_is(runs: Runs, home: Path) -> None:
    runs.configure(traces={"record": "metadata"})
    (runs.folder / "closed").touch()
    found = runs.answer(net(task("a", "fail"), flows="i>a a>o"))
    assert (found["exit"], found["resume"]) == (1, None)
    assert not (home / "data" / "workflow_runs").exists()


def test_a_run_is_on_the_record_as_a_workflow(runs: Runs) -> None:
    found = runs.answer(net(task("a"), flows="i>a a>o"))
    shown = CliRunner().invoke(app, ["runs", "show", found["run"], "--json", "-c", str(runs.config)])
    told = json.loads(shown.stdout)
    assert (told["kind"], told["name"], told["outcome"]) == ("workflow", "tested", "ok")
    assert [one["tool"] for one in told["calls"]] == ["say"]


def test_after_a_crash_what_was_done_is_not_done_again(runs: Runs, home: Path) -> None:
    (runs.folder / "closed").touch()
    workflow = net(
        task("s", None),
        task("a"),
        task("b", "wait", idempotent=True),
        task("z", None, join="and"),
        flows="i>s s>a s>b a>z b>z z>o",
    )
    with subprocess.Popen(
        [HALFLAP, "workflow", "run", runs.save(workflow), "-c", str(runs.config)],
        env=environment(home),
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        run = process.stderr.readline().removeprefix("Run ").strip()
        busy = runs.run("--resume", run)
        journal = home / "data" / "workflow_runs" / f"{run}.jsonl"
        deadline = time.monotonic() + PATIENCE
        while '"ended"' not in journal.read_text() or "wait b" not in runs.log:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
    assert "is under way" in json.loads(busy.stdout)["message"]
    # As if it had crashed while it wrote.
    with journal.open("a") as stream:
        stream.write('{"ended": "tor')
    (runs.folder / "closed").unlink()
    again = json.loads(runs.run("--resume", run).stdout)
    assert (again["outcome"], again["recalled"]) == ("ok", 1)
    assert sorted(runs.log) == ["say a", "wait b", "wait b"]
    assert not journal.exists()


def test_a_suggestion_over_a_demo_server_is_a_net_that_runs(tmp_path: Path) -> None:
    config = tmp_path / "halflap.json"
    server = {"command": sys.executable, "args": ["-m", "halflap.demo.sales"]}
    config.write_text(json.dumps({"mcpServers": {"sales": server}}))
    asked = ["suggest", "--want", "customer_details", "--have", "customer_id", "--net", "-c", str(config)]
    suggested = CliRunner().invoke(app, asked)
    assert suggested.exit_code == 0, suggested.stderr
    (step,) = json.loads(suggested.stdout)["tasks"]
    run = ["workflow", "run", "-", "--arg", "customer_id=CUST-001", "-c", str(config)]
    found = CliRunner().invoke(app, run, input=suggested.stdout)
    assert found.exit_code == 0, found.stderr
    assert json.loads(found.stdout)[step["id"]]["name"] == "Acme Corp"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "Name the file of a workflow, or with --resume a run"),
        (("--resume", "0123"), "0123"),
        (("x.json", "--resume", "0123"), "--resume takes no file"),
        (("x.json", "--again", "a"), "--again goes with --resume"),
    ],
)
def test_what_was_asked_for_wrongly_is_told(runs: Runs, arguments: tuple[str, ...], said: str) -> None:
    found = runs.run(*arguments)
    assert (found.exit_code, said in json.loads(found.stdout)["message"]) == (2, True)
