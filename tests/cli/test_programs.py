"""`halflap programs` without DSPy installed; tests/acceptance has the JSON."""

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


def called(folder: Path, *arguments: str) -> Any:
    (folder / "halflap.json").write_text(json.dumps({"programs": {"root": str(folder / "programs")}}))
    return CliRunner().invoke(app, ["programs", *arguments, "-c", str(folder / "halflap.json")])


def test_programs_are_listed_and_shown_with_the_broken_ones(tmp_path: Path) -> None:
    tools = ["mcp__sales__order_history"]
    finder = predictor("find", [field("question")], [field("answer")], "ReAct", tools=tools)
    write(tmp_path / "programs", spec("finder", finder))
    write(tmp_path / "programs", worklet())
    (tmp_path / "programs" / "odd.json").write_text('{"name": "odd"}')
    listed = called(tmp_path, "list")
    assert (listed.exit_code, listed.stdout.count("[broken]")) == (0, 6)
    assert "worklet_selector 1.0.0" in listed.stdout
    shown = called(tmp_path, "info", "dspy__finder").stdout
    assert "dspy__finder(question: string) -> {answer: string}" in shown
    assert "mcp__sales__order_history" in shown
    broken = called(tmp_path, "info", "odd")
    assert (broken.exit_code, broken.stdout) == (2, "")
    assert "Error [dspy-program-broken]" in broken.stderr
