"""Optimising programs: examples, metrics, versions, and the tools that are called on the way."""

from __future__ import annotations

import asyncio
import json
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

from dspy_programs.chat_server import Answer, Asked
from dspy_programs.running import Tools, playing, program, step
from halflap.core.errors import ProgramError, UsageError
from halflap.core.values import CallContext
from halflap.dspy.library import Library, SavedProgram
from halflap.dspy.optimize import optimize, read_examples, split

if TYPE_CHECKING:
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


def saved(folder: Path, **changes: Any) -> tuple[Library, SavedProgram]:
    library = Library(folder / "library")
    return library, library.save(program(predictors=[step(**changes)]).spec)


@slow
@pytest.mark.parametrize("optimizer", ["BootstrapFewShot", "GEPA"])
@pytest.mark.parametrize(
    "changes", [{}, {"kind": "ReAct", "tools": ["mcp__desk__weather"]}], ids=["Predict", "ReAct"]
)
async def test_the_result_is_saved_with_its_score_on_held_out_examples(
    optimizer: str, changes: dict[str, Any], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    library, before = await asyncio.to_thread(saved, tmp_path, **changes)
    phases: list[Any] = []
    tools = Tools()
    async with playing(tmp_path, learner, tools) as (programs, _):
        found = await optimize(
            before, library, programs.runner, call=tools.call, context=CallContext("ann", "run-1"), name="better",
            examples=EXAMPLES, metric="exact", optimizer=optimizer, budget=40, progress=phases.append,
        )  # fmt: skip
        assert found.saved is not None
        again = await programs.run(found.saved, {"question": "now"})
    assert (found.old_score, found.score) == (0.0, 1.0)
    assert again.outputs == {"reply": "NOW"}
    called = {(context.principal, context.run, context.depth) for _, _, context in tools.called[:-1]}
    assert called == ({("ann", "run-1", 1)} if changes else set())
    programs_now = (await asyncio.to_thread(library.read)).valid
    assert programs_now["answerer"] == before
    made = programs_now["better"].spec
    assert (made.version, made.optimizer, made.validation_score) == ("1.1.0", optimizer, 1.0)
    assert phases[-1] == {"phase": "new program", "done": 3, "total": 3, "score": 1.0}
    assert capfd.readouterr().out == ""


@slow
async def test_a_failing_model_or_a_cancellation_saves_nothing(tmp_path: Path) -> None:
    library, answerer = await asyncio.to_thread(saved, tmp_path)
    answer = lambda asked: learner(asked) if asked.number < 5 else Answer(status=401)  # noqa: E731
    async with playing(tmp_path, answer) as (programs, model):

        def work() -> Any:
            return optimize(
                answerer, library, programs.runner, call=programs.tools.call, context=CallContext(), name="better",
                examples=EXAMPLES, metric="exact",
            )  # fmt: skip

        with pytest.raises(ProgramError, match="refused the key"):
            await work()
        assert model.count < 10
        before, model.answer = model.count, lambda _: Answer(delay=100)
        task = asyncio.create_task(work())
        while model.count == before:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert [*(await asyncio.to_thread(library.read)).valid] == ["answerer"]


def test_examples_are_read_once_each_and_a_wrong_line_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "data.jsonl"
    file.write_text("\n\n".join(map(json.dumps, [*EXAMPLES, {**EXAMPLES[0], "reply": "again"}])))
    assert read_examples(file, SPEC) == EXAMPLES
    for line in ('{"question": "a"}', '{"question": "c", "reply": 3}', '{"replly": "b"}', "nonsense"):
        file.write_text(f"{json.dumps(EXAMPLES[0])}\n{line}")
        with pytest.raises(UsageError, match="line 2: "):
            read_examples(file, SPEC)


def test_held_out_examples_are_not_learned_from() -> None:
    learned, held_out = split(EXAMPLES)
    assert len(held_out) == 3
    assert sorted(one["reply"] for one in [*learned, *held_out]) == [one["reply"] for one in EXAMPLES]
    with pytest.raises(UsageError):
        split(EXAMPLES[:1])


@slow
def test_exact_scores_equality_and_unknown_metrics_are_reported(tmp_path: Path) -> None:
    find_metric = import_module("halflap.dspy.child.optimizers").find_metric
    for text, reply, score in (("exact", "WORD 0", 1.0), ("exact:reply", "WORD", 0.0)):
        assert find_metric(text, SPEC, str(tmp_path))(EXAMPLES[0], {"reply": reply})[0] == score
    for wrong in ("best", "exact:none", "json:__name__", "nowhere:x"):
        with pytest.raises(UsageError):
            find_metric(wrong, SPEC, str(tmp_path))
