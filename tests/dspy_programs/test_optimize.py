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

from dspy_programs.chat_server import Answer, Asked, chatting, said
from dspy_programs.running import Tools, configured, program, running, step
from dspy_programs.saved import WORKLET_INPUTS, WORKLET_OUTPUTS, settings, worklet, write
from halflap.core.errors import ProgramFailedError, UsageError
from halflap.core.values import CallContext
from halflap.dspy.library import Library
from halflap.dspy.optimize import optimize, read_examples, split
from support import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

slow = pytest.mark.slow
pytestmark = pytest.mark.skipif(
    find_spec("dspy") is None, reason="needs the extra: pip install 'halflap[dspy]'"
)

EXAMPLES = [{"question": f"word {n}", "reply": f"WORD {n}"} for n in range(10)]
SPEC = program().spec


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
    library.save(made.spec)
    return library


@slow
@pytest.mark.parametrize("optimizer", ["BootstrapFewShot", "GEPA"])
@pytest.mark.parametrize(
    "changes", [{}, {"kind": "ReAct", "tools": ["mcp__desk__weather"]}], ids=["Predict", "ReAct"]
)
def test_the_result_is_saved_with_its_score_on_held_out_examples(
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
                    name="better", examples=EXAMPLES, metric="exact", optimizer=optimizer, seed=3, budget=40,
                    progress=lambda at: phases.append((at.phase, at.done, at.total)),
                )  # fmt: skip
                assert found.saved is not None
                again = await programs.run(found.saved, {"question": "now"})
        assert (found.old_score, found.score, found.trained_on, found.measured_on) == (0.0, 1.0, 7, 3)
        assert again.outputs == {"reply": "NOW"}

    run(story())
    called = {(context.principal, context.run, context.depth) for _, _, context in tools.called[:-1]}
    assert called == ({("ann", "run-1", 1)} if changes else set())
    assert library.read().find("answerer") == before
    made = library.read().find("better").spec
    assert (made.version, made.optimizer, made.validation_score) == ("1.1.0", optimizer, 1.0)
    assert phases[-1] == ("measuring the new", 3, 3)
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
                        name="better", examples=EXAMPLES, metric="exact",
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
    assert [*library.read().programs] == ["answerer"]


def test_examples_are_read_once_each_and_a_wrong_line_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "data.jsonl"
    file.write_text("\n\n".join(map(json.dumps, [*EXAMPLES, {**EXAMPLES[0], "reply": "again"}])))
    assert read_examples(file, SPEC) == EXAMPLES
    for line in ('{"question": "a"}', '{"question": "c", "reply": 3}', '{"replly": "b"}', "nonsense"):
        file.write_text(f"{json.dumps(EXAMPLES[0])}\n{line}")
        with pytest.raises(UsageError, match="line 2: "):
            read_examples(file, SPEC)


@pytest.mark.parametrize(("share", "count"), [(0.01, 1), (0.3, 3), (0.99, 9)])
def test_held_out_examples_are_not_learned_from(share: float, count: int) -> None:
    learned, held_out = split(EXAMPLES, 3, share)
    assert len(held_out) == count
    assert sorted(one["reply"] for one in [*learned, *held_out]) == sorted(one["reply"] for one in EXAMPLES)
    with pytest.raises(UsageError):
        split(EXAMPLES[:1], 3, share)


@slow
def test_exact_scores_equality_and_unknown_metrics_are_reported(tmp_path: Path) -> None:
    find_metric = import_module("halflap.dspy.child.optimizers").find_metric
    for text, reply, score in (("exact", "WORD 0", 1.0), ("exact:reply", "WORD", 0.0)):
        assert find_metric(text, SPEC, str(tmp_path))(EXAMPLES[0], {"reply": reply})[0] == score
    for wrong in ("best", "exact:none", "json:__name__", "nowhere:x"):
        with pytest.raises(UsageError):
            find_metric(wrong, SPEC, str(tmp_path))


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
        printed, rest = process.communicate(timeout=PATIENCE)
    assert (process.returncode, printed) == (130, "")
    assert "nothing was saved" in rest.splitlines()[-1]
    assert [one.name for one in (folder / "own").iterdir()] == ["worklet_selector.json"]
