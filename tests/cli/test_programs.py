"""`halflap programs`, as far as it needs no DSPy; tests/programs/test_served.py has the rest."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from halflap.cli.app import app
from programs.saved import field, manifest, predictor, worklet, write

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _no_dspy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever imports one of these fails, as where they are not installed."""
    for name in ("dspy", "litellm", "gepa"):
        monkeypatch.setitem(sys.modules, name, None)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "programs"
    write(folder, worklet(optimizer="GEPA", validation_score=0.95), {"select": [{"case_context": "a"}]})
    tools = ["mcp__sales__order_history"]
    write(
        folder,
        manifest("finder", predictor("find", [field("question")], [field("answer")], "ReAct", tools=tools)),
    )
    write(folder, worklet("odd"))
    (folder / "odd" / "manifest.json").write_text('{"name": "odd"}')
    return folder


def called(tmp_path: Path, *arguments: str, **programs: Any) -> Any:
    file = tmp_path / "halflap.json"
    file.write_text(json.dumps({"programs": programs}))
    return CliRunner().invoke(app, ["programs", *arguments, "-c", str(file)])


def test_the_list_has_every_program_and_what_is_wrong_with_the_others(tmp_path: Path, root: Path) -> None:
    listed = called(tmp_path, "list", root=str(root))
    assert listed.exit_code == 0
    lines = listed.stdout.splitlines()
    lacking = "it uses tools that are not in the catalogue: mcp__sales__order_history (there is no server of that name)."
    assert lines[:5] == [
        "worklet_selector 1.0.0  1 predictor, optimizer GEPA, validation score 0.95",
        "      Does what worklet_selector does.",
        "finder",
        f"      [broken] {lacking} `halflap list` says which there are.",
        "odd",
    ]
    missing = ("version", "dspy_version", "optimizer", "validation_score", "serialized_at", "predictors")
    assert lines[5:] == [f"      [broken] manifest.json: {one} is missing." for one in missing]
    assert called(tmp_path, root=str(root)).stdout == listed.stdout


def test_the_doctor_sends_nobody_to_the_folder_for_a_server_that_is_off(tmp_path: Path, root: Path) -> None:
    file = tmp_path / "halflap.json"
    off = {"sales": {"command": "sales", "disabled": True}}
    file.write_text(json.dumps({"mcpServers": off, "programs": {"root": str(root)}}))
    examined = json.loads(CliRunner().invoke(app, ["doctor", "--json", "-c", str(file)]).stdout)
    finder, odd = [one for one in examined["findings"] if one["code"] == "program-broken"]
    assert "mcp__sales__order_history (" in finder["what"]
    assert finder["todo"].startswith("Its folder is in order: see to the servers that have these tools")
    assert odd["todo"].startswith("Mend its folder")


def test_of_a_pickle_the_list_says_why_it_is_not_opened_and_what_to_do(tmp_path: Path, root: Path) -> None:
    (root / "odd" / "state.json").rename(root / "odd" / "state.pkl")
    told = called(tmp_path, "list", root=str(root)).stdout
    assert "state.pkl: a pickle runs code when it is loaded, so it is never opened. Save the state as" in told


def test_the_list_as_json_is_what_clients_get(tmp_path: Path, root: Path) -> None:
    found = json.loads(called(tmp_path, "list", "--json", root=str(root)).stdout)
    assert ([one["name"] for one in found["programs"]], found["total_count"]) == (
        ["worklet_selector"],
        1,
    )
    assert [one["name"] for one in found["broken"]] == ["finder", "odd"]


def test_a_program_is_told_of_with_what_it_takes_and_may_call(tmp_path: Path, root: Path) -> None:
    told = called(tmp_path, "info", "finder", root=str(root)).stdout
    assert "dspy__finder(question: string) -> {answer: string}" in told
    assert "find (ReAct, 0 examples)\n  question -> answer\n  may call mcp__sales__order_history\n" in told
    found = json.loads(called(tmp_path, "info", "dspy__worklet_selector", "--json", root=str(root)).stdout)
    assert found["predictors"][0]["few_shot_example_count"] == 1


def test_a_reload_reads_it_anew_and_says_what_is_wrong(tmp_path: Path, root: Path) -> None:
    found = called(tmp_path, "reload", "worklet_selector", "--json", root=str(root))
    assert (found.exit_code, json.loads(found.stdout)["status"]) == (0, "reloaded")
    broken = called(tmp_path, "reload", "odd", root=str(root))
    assert (broken.exit_code, broken.stdout) == (2, "")
    assert "Error [dspy-program-broken]: The DSPy program 'odd' cannot be used:" in broken.stderr


@pytest.mark.parametrize("command", ["info", "run", "reload"])
def test_a_name_that_there_is_not_was_asked_for_wrongly(tmp_path: Path, root: Path, command: str) -> None:
    found = called(tmp_path, command, "finde", "--json", root=str(root))
    assert (found.exit_code, json.loads(found.stdout)) == (
        2,
        {
            "error": True,
            "code": "dspy-program-not-found",
            "message": "Program not found: finde. Available programs: [finder, worklet_selector]",
        },
    )


def test_a_run_without_a_model_failed_and_says_what_to_configure(tmp_path: Path, root: Path) -> None:
    found = called(tmp_path, "run", "finder", "--arg", "question=Who?", root=str(root))
    assert (found.exit_code, found.stdout) == (1, "")
    assert "programs:\n  lm:" in found.stderr


def test_a_folder_that_is_not_there_is_told_of(tmp_path: Path) -> None:
    found = called(tmp_path, "list", root=str(tmp_path / "nowhere"))
    assert found.exit_code == 0
    assert "programs.root" in found.stdout
    assert "cannot be read: No such file or directory" in found.stdout


def test_those_that_ship_with_halflap_are_listed_where_no_folder_is_named(tmp_path: Path) -> None:
    assert "worklet_selector 1.0.0" in called(tmp_path, "list").stdout
