"""`halflap workflow`, what people see of it."""

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


def called(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["workflow", *arguments])


@pytest.fixture
def order(tmp_path: Path) -> str:
    (tmp_path / "order.json").write_text(json.dumps(ORDER))
    return str(tmp_path / "order.json")


def test_a_sound_workflow_is_shown_with_its_footprint(order: str) -> None:
    found = called("validate", order)
    assert found.exit_code == 0
    assert "1 check_credit\t#\t||\t←\t→\t→" in found.stdout.splitlines()


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
