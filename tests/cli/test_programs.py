"""`halflap programs` without DSPy installed."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from dspy_programs.saved import field, predictor, spec, worklet, write
from halflap.cli.app import app

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _no_dspy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Importing one of these fails, as where they are not installed."""
    for name in ("dspy", "litellm", "gepa"):
        monkeypatch.setitem(sys.modules, name, None)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "programs"
    demo = {"select": {"demos": [{"case_context": "a"}]}}
    write(folder, worklet(optimizer="GEPA", validation_score=0.95, state=demo))
    tools = ["mcp__sales__order_history"]
    write(
        folder,
        spec("finder", predictor("find", [field("question")], [field("answer")], "ReAct", tools=tools)),
    )
    write(folder, worklet("odd"))
    (folder / "odd.json").write_text('{"name": "odd"}')
    return folder


def called(tmp_path: Path, *arguments: str, **programs: Any) -> Any:
    file = tmp_path / "halflap.json"
    file.write_text(json.dumps({"programs": programs}))
    return CliRunner().invoke(app, ["programs", *arguments, "-c", str(file)])


def test_the_list_has_every_program_and_the_broken_ones(tmp_path: Path, root: Path) -> None:
    listed = called(tmp_path, "list", root=str(root))
    assert listed.exit_code == 0
    assert "worklet_selector 1.0.0" in listed.stdout
    assert listed.stdout.count("[broken]") == 6
    found = json.loads(called(tmp_path, "list", "--json", root=str(root)).stdout)
    assert ([one["name"] for one in found["programs"]], found["total_count"]) == (
        ["finder", "worklet_selector"],
        2,
    )
    assert [one["name"] for one in found["broken"]] == ["odd"]


def test_doctor_reports_broken_programs(tmp_path: Path, root: Path) -> None:
    file = tmp_path / "halflap.json"
    file.write_text(json.dumps({"programs": {"root": str(root)}}))
    examined = json.loads(CliRunner().invoke(app, ["doctor", "--json", "-c", str(file)]).stdout)
    (odd,) = [one for one in examined["findings"] if one["code"] == "program-broken"]
    assert "odd" in odd["what"]


def test_info_shows_inputs_outputs_and_tools(tmp_path: Path, root: Path) -> None:
    shown = called(tmp_path, "info", "finder", root=str(root)).stdout
    assert "dspy__finder(question: string) -> {answer: string}" in shown
    assert "mcp__sales__order_history" in shown
    found = json.loads(called(tmp_path, "info", "dspy__worklet_selector", "--json", root=str(root)).stdout)
    assert found["predictors"][0]["few_shot_example_count"] == 1


def test_info_of_a_broken_program_says_what_is_wrong(tmp_path: Path, root: Path) -> None:
    broken = called(tmp_path, "info", "odd", root=str(root))
    assert (broken.exit_code, broken.stdout) == (2, "")
    assert "Error [dspy-program-broken]" in broken.stderr


def test_a_missing_folder_is_reported_and_no_folder_lists_the_bundled_programs(tmp_path: Path) -> None:
    found = called(tmp_path, "list", root=str(tmp_path / "nowhere"))
    assert (found.exit_code, "programs.root" in found.stdout) == (0, True)
    assert "worklet_selector 1.0.0" in called(tmp_path, "list").stdout
