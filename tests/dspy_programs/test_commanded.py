"""`halflap programs` with DSPy installed: run and export."""

from __future__ import annotations

import json
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from dspy_programs.chat_server import Answer, Asked, chatting
from dspy_programs.saved import WORKLET_INPUTS, WORKLET_OUTPUTS, say_worklet, settings, worklet, write
from halflap.cli.app import app

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    Say = Callable[[Asked], Answer | str | Mapping[str, Any]]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        find_spec("dspy") is None,
        reason="needs the extra: pip install 'halflap[dspy]'; `make test` installs it",
    ),
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path / "programs", worklet())
    return tmp_path / "programs"


def test_run_runs_a_program_and_reports_wrong_inputs(tmp_path: Path, root: Path) -> None:
    with chatting(say_worklet) as chat:
        file = tmp_path / "halflap.json"
        file.write_text(json.dumps(settings(root, chat)))

        def called(*arguments: str) -> Any:
            return CliRunner().invoke(app, ["programs", *arguments, "-c", str(file)])

        given = [f"--arg={name}={value}" for name, value in WORKLET_INPUTS.items()]
        ran = called("run", "worklet_selector", *given)
        assert (ran.exit_code, json.loads(ran.stdout)) == (0, WORKLET_OUTPUTS)
        again = called("run", "dspy__worklet_selector", "--json-args", json.dumps(WORKLET_INPUTS), "--json")
        assert json.loads(again.stdout)["_metadata"]["cache_hit"] is True
        reloaded = called("reload", "worklet_selector", "--json")
        assert (reloaded.exit_code, json.loads(reloaded.stdout)["status"]) == (0, "reloaded")
        wrong = called("run", "worklet_selector", given[0], "--json")
        assert (wrong.exit_code, json.loads(wrong.stdout)["code"]) == (2, "dspy-program-inputs")
        chat.answer = lambda _: Answer("", status=401)
        failed = called("run", "worklet_selector", given[0], "--arg=case_context=new", "--json")
        assert (failed.exit_code, json.loads(failed.stdout)["code"]) == (1, "dspy-program-failed")


MODULE = """\
import dspy

print("printed by the module itself")


class Select(dspy.Signature):
    \"\"\"Choose the worklet of a case.\"\"\"

    workflow_description: str = dspy.InputField()
    case_context: str = dspy.InputField()
    worklet_id: str = dspy.OutputField()


chooser = dspy.Predict(Select)
number = 7
"""


def test_export_writes_a_module_that_can_be_run_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "choosing_worklets.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    with chatting(say_worklet) as chat:
        file = tmp_path / "halflap.json"
        file.write_text(json.dumps(settings(tmp_path / "own", chat)))

        def called(*arguments: str) -> Any:
            return CliRunner().invoke(app, ["programs", *arguments, "--json", "-c", str(file)])

        written = called("export", "choosing_worklets:chooser", "chooser")
        assert (written.exit_code, json.loads(written.stdout)["version"]) == (0, "1.0.0")
        ran = called("run", "chooser", "--json-args", json.dumps(WORKLET_INPUTS))
        assert json.loads(ran.stdout)["worklet_id"] == "loan_standard"
        again = called("export", "choosing_worklets:chooser", "chooser")
        assert (again.exit_code, "nothing is overwritten" in json.loads(again.stdout)["message"]) == (2, True)
        promoted = called("export", "choosing_worklets:chooser", "chooser", "--version=1.1.0", "--promote")
        assert json.loads(promoted.stdout)["versions"] == ["1.0.0", "1.1.0"]
        assert json.loads(called("info", "chooser").stdout)["version"] == "1.1.0"
        for wrong in (
            "choosing_worklets:number",
            "choosing_worklets:nothing",
            "nowhere:x",
            "choosing_worklets",
        ):
            assert called("export", wrong, "chooser", "--version=2.0.0").exit_code == 2
