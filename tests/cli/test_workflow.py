"""`halflap workflow`: validate, compare, score, optimize, render, import and export."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from halflap.cli.app import app
from halflap.workflows.examples import example_nets
from halflap.workflows.model.form import read_net

if TYPE_CHECKING:
    from pathlib import Path

ORDER = example_nets()["order"]
DEADLOCK = {
    "id": "stuck",
    "input": "i",
    "output": "o",
    "tasks": [
        {"id": "a", "split": "xor"},
        {"id": "b"},
        {"id": "c"},
        {"id": "d", "join": "and"},
    ],
    "flows": [
        {"from": one, "to": other}
        for one, other in [("i", "a"), ("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("d", "o")]
    ],
}


def called(*arguments: str, stdin: str = "") -> Any:
    return CliRunner().invoke(app, ["workflow", *arguments], input=stdin)


def chain(*tasks: str) -> dict[str, Any]:
    ends = zip(("i", *tasks), (*tasks, "o"), strict=True)
    return {
        "id": "chain",
        "input": "i",
        "output": "o",
        "tasks": [{"id": task, "duration": 10, "reads": [], "writes": []} for task in tasks],
        "flows": [{"from": one, "to": other} for one, other in ends],
    }


@pytest.fixture
def order(tmp_path: Path) -> str:
    return saved(tmp_path, "order.json", ORDER)


def saved(folder: Path, name: str, value: Any) -> str:
    (folder / name).write_text(json.dumps(value))
    return str(folder / name)


def test_a_sound_workflow_is_shown_with_its_footprint(order: str) -> None:
    found = called("validate", order)
    assert found.exit_code == 0
    assert "1 check_credit\t#\t||\t←\t→\t→" in found.stdout.splitlines()


def test_a_deadlock_exits_with_1_and_shows_its_trace(tmp_path: Path) -> None:
    found = called("validate", saved(tmp_path, "stuck.json", DEADLOCK))
    assert found.exit_code == 1
    assert "kind: option_to_complete" in found.stdout
    assert "trace: a, b\n" in found.stdout


@pytest.mark.parametrize("text", ["", "<!DOCTYPE a []><a/>", "[" * 100_000])
def test_unreadable_input_exits_with_2(text: str) -> None:
    found = called("validate", "-", stdin=text)
    assert (found.exit_code, found.stdout) == (2, "")
    assert "Error [" in found.stderr


def test_an_optimised_workflow_is_written(tmp_path: Path) -> None:
    slow, fast = saved(tmp_path, "slow.json", chain("a", "b")), tmp_path / "fast.json"
    found = called("optimize", slow, "--target", "performance", "--output", str(fast))
    assert (found.exit_code, found.stdout) == (0, "")
    assert "transformation: parallelise\n" in found.stderr
    assert called("validate", str(fast)).exit_code == 0
    to_stdout = called("optimize", slow, "--target", "performance")
    assert json.loads(to_stdout.stdout) == json.loads(fast.read_text())
    told = json.loads(called("optimize", slow, "--target", "performance", "--json").stdout)
    assert told["optimized_workflow"] == json.loads(fast.read_text())


def test_converting_to_yawl_and_back_keeps_everything(tmp_path: Path, order: str) -> None:
    xml = tmp_path / "order.yawl"
    assert called("convert", order, "--to", "yawl", "-o", str(xml)).exit_code == 0
    back = json.loads(called("convert", str(xml), "--to", "json").stdout)
    (net,) = map(read_net, back.get("nets", [back]))
    assert (net.tasks, net.rules, net.label) == (read_net(ORDER).tasks, read_net(ORDER).rules, "An order")
    assert len(net.flows) == len(ORDER["flows"])
    assert called("compare", order, str(xml), "--mode", "strict").exit_code == 0
    better = tmp_path / "better.xml"
    assert called("optimize", str(xml), "--target", "behavioral", "-o", str(better)).exit_code == 0
    assert better.read_text().startswith("<?xml")
    assert called("compare", order, str(better), "--mode", "strict").exit_code == 0
