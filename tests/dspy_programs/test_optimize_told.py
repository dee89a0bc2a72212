"""`halflap programs optimize`: its output, and metrics of the user's own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from dspy_programs.chat_server import Answer, Asked, chatting, said
from dspy_programs.saved import WORKLET_INPUTS, WORKLET_OUTPUTS, settings, worklet, write
from halflap.cli.app import app

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        find_spec("dspy") is None,
        reason="needs the extra: pip install 'halflap[dspy]'; `make test` installs it",
    ),
]

KEY = "sk-very-secret-0123456789"
METRICS = f"""\
import os
import sys

def prints(example, prediction):
    # In one piece: metrics are asked by several threads, and `print` writes the end of its line apart.
    sys.stdout.write("a line of the metric\\n")
    os.write(1, b"bytes of the metric\\n")
    os.system("echo a process of the metric")
    return prediction.worklet_id == example.worklet_id

def exits(example, prediction):
    sys.exit(3)

def leaks(example, prediction):
    raise ValueError("boom {KEY}")

def leaks_in_what_it_gives(example, prediction):
    return "{KEY}"

def fails_when_looked_at(example, prediction):
    class Score:
        @property
        def score(self):
            raise RuntimeError("not yet")
    return Score()
"""


def answer(asked: Asked) -> Any:
    """Play a model that knows the answer once it is shown, or told, anything."""
    if "case_context" not in asked.inputs:
        return dict.fromkeys(asked.wanted, "Choose TRULY well.")
    knows = len(asked.messages) > 2 or "TRULY" in asked.messages[0]["content"] or asked.number % 3
    return {**WORKLET_OUTPUTS, **({} if knows else {"worklet_id": "no idea"})}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write(tmp_path / "own", worklet())
    examples = [{**WORKLET_INPUTS, "case_context": str(number), **WORKLET_OUTPUTS} for number in range(6)]
    (tmp_path / "data.jsonl").write_text("\n".join(map(json.dumps, examples)))
    (tmp_path / "mine_told.py").write_text(METRICS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "mine_told", raising=False)
    return tmp_path


def configure(folder: Path, chat: Any) -> None:
    told = settings(folder / "own", chat, programs={"cache": "off"})
    told["programs"]["lm"]["api_key"] = KEY
    (folder / "halflap.json").write_text(json.dumps(told))


ASKED = ["programs", "optimize", "worklet_selector", "--train=data.jsonl", "-c", "halflap.json"]


def test_stdout_is_the_answer_and_stderr_shows_progress(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    optimizer = "BootstrapFewShot"
    with chatting(answer) as chat:
        configure(folder, chat)
        asked = [*ASKED, "--metric=mine_told:prints", f"--optimizer={optimizer}", "--budget=20", "--json"]
        done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["version"] == "1.1.0"
    rest = capfd.readouterr()
    assert rest.out == ""
    assert "bytes of the metric" in rest.err
    assert "a process of the metric" in rest.err
    assert "a line of the metric" in done.stderr.splitlines()
    assert [one.partition(":")[0] for one in done.stderr.splitlines() if one.startswith("Measuring ")] == [
        *["Measuring the old"] * 2,
        *["Measuring the new"] * 2,
    ]


@pytest.mark.parametrize(
    ("metric", "told"),
    [
        ("exits", "The metric mine_told:exits failed: SystemExit: 3"),
        ("leaks", "The metric mine_told:leaks failed: ValueError: boom [api_key]"),
    ],
)
def test_a_failing_metric_is_reported_without_the_key(metric: str, told: str, folder: Path) -> None:
    with chatting(answer) as chat:
        configure(folder, chat)
        done = CliRunner().invoke(app, [*ASKED, f"--metric=mine_told:{metric}"])
    assert done.exit_code == 2
    assert told in done.stderr
    assert KEY not in done.output


@pytest.mark.slow
def test_an_interruption_saves_nothing(folder: Path) -> None:
    def slow(asked: Asked) -> Any:
        return answer(asked) if asked.number < 2 else Answer(said(WORKLET_OUTPUTS), delay=0.5)

    with chatting(slow) as chat:
        configure(folder, chat)
        command = [sys.executable, "-m", "halflap", *ASKED, "--metric=exact:worklet_id"]
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, "HOME": str(folder)},
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("Optimising"):
                break
        process.send_signal(signal.SIGINT)
        printed, rest = process.communicate(timeout=30)
    assert (process.returncode, printed) == (130, "")
    assert rest.splitlines()[-1] == "It was stopped: nothing was saved."
    assert not (folder / "own" / "worklet_selector" / "versions").exists()
