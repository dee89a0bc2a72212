"""Optimising programs: examples, metrics, versions, and the tools that are called on the way."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from dspy_programs.chat_server import Answer, Asked, chatting, said
from dspy_programs.running import Tools, configured, program, running, step
from dspy_programs.saved import WORKLET_INPUTS, WORKLET_OUTPUTS, settings, worklet, write
from halflap.cli.app import app
from halflap.core.errors import FileError, ProgramFailedError, UsageError
from halflap.core.values import CallContext
from halflap.dspy.library import Library
from halflap.dspy.optimize import Example, next_version, optimize, read_examples, split

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

slow = pytest.mark.slow
pytestmark = pytest.mark.skipif(
    find_spec("dspy") is None, reason="needs the extra: pip install 'halflap[dspy]'"
)

EXAMPLES = [Example({"question": f"word {n}"}, {"reply": f"WORD {n}"}) for n in range(10)]
MANIFEST = program().manifest


def learner(asked: Asked) -> dict[str, Any]:
    """Play a model that looks the question up, and answers in capitals once demos or instructions show how."""
    if "question" not in asked.inputs:
        return dict.fromkeys(asked.wanted, "Answer in CAPITALS.")
    if "next_tool_name" in asked.wanted and "observation_0" in asked.last:
        return {"next_thought": "Enough.", "next_tool_name": "finish", "next_tool_args": {}}
    question = asked.inputs["question"]
    if "next_tool_name" in asked.wanted:
        city = {"city": question}
        return {"next_thought": "Ask.", "next_tool_name": "mcp__desk__weather", "next_tool_args": city}
    knows = len(asked.messages) > 2 or "CAPITALS" in asked.messages[0]["content"]
    given = {"reply": question.upper() if knows else question}
    return {"reasoning": "It is known.", **given} if "reasoning" in asked.wanted else given


def saved(folder: Path, **changes: Any) -> Library:
    library = Library(folder / "library")
    made = program(predictors=[step(**changes)])
    library.save(made.manifest, made.state)
    return library


@slow
@pytest.mark.parametrize("optimizer", ["BootstrapFewShot", "GEPA"])
@pytest.mark.parametrize(
    "changes", [{}, {"kind": "ReAct", "tools": ["mcp__desk__weather"]}], ids=["Predict", "ReAct"]
)
def test_the_result_is_a_new_version_scored_on_held_out_examples(
    optimizer: str,
    changes: dict[str, Any],
    run: Callable[..., Any],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    library = saved(tmp_path, **changes)
    before = library.read().find("answerer")
    phases: list[tuple[str, int, int]] = []
    tools = Tools()

    async def story() -> None:
        with chatting(learner) as model:
            async with running(configured(model.url), tmp_path, tools) as programs:
                found = await optimize(
                    before, library, programs.runner, call=tools.call, context=CallContext("ann", "run-1"),
                    examples=EXAMPLES, metric="exact", optimizer=optimizer, seed=3, budget=40,
                    progress=lambda at: phases.append((at.phase, at.done, at.total)),
                )  # fmt: skip
                again = await programs.run(found.saved, {"question": "now"})
        assert (found.old_score, found.score, found.trained_on, found.measured_on) == (0.0, 1.0, 7, 3)
        manifest = found.saved.manifest
        assert (manifest.version, manifest.optimizer, manifest.validation_score) == ("1.1.0", optimizer, 1.0)
        assert again.outputs == {"reply": "NOW"}

    run(story())
    called = {(context.principal, context.run, context.depth) for _, _, context in tools.called[:-1]}
    assert called == ({("ann", "run-1", 1)} if changes else set())
    after = library.read().find("answerer")
    assert (after.source_hash, after.versions) == (before.source_hash, ("1.0.0", "1.1.0"))
    assert {phase for phase, _, _ in phases} == {"measuring the old", "optimising", "measuring the new"}
    assert phases[-1] == ("measuring the new", 3, 3)
    assert all(done <= total for _, done, total in phases)
    assert capfd.readouterr().out == ""


@slow
def test_a_failing_model_or_a_cancellation_saves_nothing(run: Callable[..., Any], tmp_path: Path) -> None:
    library = saved(tmp_path)
    answerer = library.read().find("answerer")

    async def story() -> None:
        with chatting(lambda asked: learner(asked) if asked.number < 5 else Answer(status=401)) as model:
            async with running(configured(model.url, cache="off"), tmp_path) as programs:

                async def work() -> None:
                    await optimize(
                        answerer, library, programs.runner, call=programs.tools.call, context=CallContext(),
                        examples=EXAMPLES, metric="exact",
                    )  # fmt: skip

                with pytest.raises(ProgramFailedError, match="refused the key"):
                    await work()
                assert model.count < 10
                before, model.answer = model.count, lambda _: Answer(delay=100)
                task = asyncio.create_task(work())
                while model.count == before:
                    await asyncio.sleep(0.01)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task

    run(story())
    assert library.read().find("answerer").versions == ("1.0.0",)


# Examples and metrics ---------------------------------------------------------------------------------


def test_examples_are_read_in_both_forms_and_every_wrong_line_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "data.jsonl"
    lines = [{"question": "a", "reply": "A"}, {"inputs": {"question": "b"}, "outputs": {"reply": "B"}}]
    file.write_text("\n\n".join(json.dumps(line) for line in lines))
    assert read_examples(file, MANIFEST) == [
        Example({"question": "a"}, {"reply": "A"}),
        Example({"question": "b"}, {"reply": "B"}),
    ]
    wrong = [
        '{"question": "a"}',
        '{"question": 1, "reply": "A"}',
        "nonsense",
        '{"question": "c", "reply": 3}',
        "[]",
    ]
    file.write_text("\n".join([*wrong, '{"question": "a", "replly": "b"}']))
    with pytest.raises(UsageError, match="Did you mean 'reply'") as caught:
        read_examples(file, MANIFEST)
    assert all(f"line {number}: " in str(caught.value) for number in range(1, 7))
    with pytest.raises(FileError, match="cannot be read"):
        read_examples(tmp_path / "none", MANIFEST)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("share", [0.01, 0.3, 0.99])
def test_examples_with_equal_inputs_are_never_split(seed: int, share: float) -> None:
    same = [Example({"n": 1, "tags": ["a"]}, {"reply": f"{at}"}) for at in range(6)]
    others = [Example({"n": at, "tags": ["a"]}, {"reply": "x"}) for at in range(2, 5)]
    learned, held_out = split([*same, *others], seed, share)
    assert {one.inputs["n"] for one in learned}.isdisjoint(one.inputs["n"] for one in held_out)
    assert sorted(one.outputs["reply"] for one in [*learned, *held_out]) == [*"012345", *"xxx"]
    assert learned
    assert held_out
    assert split([*same, *others], seed, share) == (learned, held_out)
    with pytest.raises(UsageError, match="different inputs"):
        split(same, seed, share)


@slow
def test_exact_scores_equality_and_unknown_metrics_are_reported(tmp_path: Path) -> None:
    find_metric = import_module("halflap.dspy.child.optimizers").find_metric
    example = {"inputs": EXAMPLES[0].inputs, "outputs": EXAMPLES[0].outputs}
    for text, reply, score in (("exact", "WORD 0", 1.0), ("exact:reply", "WORD", 0.0)):
        assert find_metric(text, MANIFEST, str(tmp_path))(example, {"reply": reply})[0] == score
    for wrong in ("best", "exact:none", "json:__name__", "nowhere:x"):
        with pytest.raises(UsageError):
            find_metric(wrong, MANIFEST, str(tmp_path))


def test_the_next_version_raises_the_minor_number() -> None:
    assert (next_version(["1.0.0"]), next_version(["1.9.3", "1.10.0"])) == ("1.1.0", "1.11.0")


# On the command line ----------------------------------------------------------------------------------

KEY = "sk-very-secret-0123456789"
METRICS = f"""\
import os
import sys
import time

def prints(example, prediction):
    sys.stdout.write("a line of the metric\\n")
    os.write(1, b"bytes of the metric\\n")
    os.system("echo a process of the metric")
    return prediction.worklet_id == example.worklet_id

def exits(example, prediction):
    sys.exit(3)

def leaks(example, prediction):
    raise ValueError("boom {KEY}")
"""
ASKED = ["programs", "optimize", "worklet_selector", "--train=data.jsonl", "-c", "halflap.json"]


def answer(asked: Asked) -> Any:
    """Play a model that knows the answer once it is shown any example."""
    return {**WORKLET_OUTPUTS, **({} if len(asked.messages) > 2 else {"worklet_id": "no idea"})}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write(tmp_path / "own", worklet())
    examples = [{**WORKLET_INPUTS, "case_context": str(number), **WORKLET_OUTPUTS} for number in range(6)]
    (tmp_path / "data.jsonl").write_text("\n".join(map(json.dumps, examples)))
    (tmp_path / "mine_told.py").write_text(METRICS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def configure(folder: Path, chat: Any) -> None:
    told = settings(folder / "own", chat, programs={"cache": "off"})
    told["programs"]["lm"]["api_key"] = KEY
    (folder / "halflap.json").write_text(json.dumps(told))


@slow
def test_stdout_is_the_answer_and_stderr_shows_progress_and_prints(folder: Path) -> None:
    with chatting(answer) as chat:
        configure(folder, chat)
        done = CliRunner().invoke(app, [*ASKED, "--metric=mine_told:prints", "--promote", "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert (found["version"], found["score"], found["old_score"], found["promoted"]) == (
        "1.1.0",
        1.0,
        0.0,
        True,
    )
    lines = done.stderr.splitlines()
    assert {"a line of the metric", "bytes of the metric", "a process of the metric"} <= {*lines}
    assert sum(line.startswith("Measuring the old: ") for line in lines) >= 1
    assert not any("Bootstrapped" in line for line in lines)


@slow
def test_a_failing_metric_is_reported_without_the_key(folder: Path) -> None:
    with chatting(answer) as chat:
        configure(folder, chat)
        for metric, told in (("exits", "SystemExit: 3"), ("leaks", "ValueError: boom [api_key]")):
            done = CliRunner().invoke(app, [*ASKED, f"--metric=mine_told:{metric}"])
            assert done.exit_code == 2
            assert f"mine_told:{metric} failed: {told}" in done.stderr
            assert KEY not in done.output


@slow
def test_an_interruption_saves_nothing(folder: Path) -> None:
    with chatting(lambda asked: Answer(said(answer(asked)), delay=0.5 if asked.number > 1 else 0)) as chat:
        configure(folder, chat)
        command = [sys.executable, "-m", "halflap", *ASKED, "--metric=exact:worklet_id"]
        process = subprocess.Popen(
            command, cwd=folder, env={**os.environ, "HOME": str(folder)}, stderr=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        while chat.count == 0 and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        printed, rest = process.communicate(timeout=30)
    assert (process.returncode, printed) == (130, "")
    assert "nothing was saved" in rest.splitlines()[-1]
    assert not (folder / "own" / "worklet_selector" / "versions").exists()
