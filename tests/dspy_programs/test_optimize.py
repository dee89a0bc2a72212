"""Optimising programs with DSPy's own optimizers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from dspy_programs.chat_server import Answer, Asked, chatting
from dspy_programs.running import configured, predictor, runtime, stored
from halflap.core.errors import FileError, ProgramFailedError, UsageError
from halflap.core.values import CallContext
from halflap.dspy.examples import Example, read_examples, split
from halflap.dspy.library import Library
from halflap.dspy.child.metrics import find_metric
from halflap.dspy.optimize import next_version, optimize

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.slow

pytest.importorskip("dspy", reason="needs the extra: pip install 'halflap[dspy]'")

EXAMPLES = [Example({"question": f"word {n}"}, {"reply": f"WORD {n}"}) for n in range(10)]


def learner(asked: Asked) -> dict[str, Any]:
    """Answer in capitals once demos show it or the instructions say it; propose such instructions when asked to."""
    if "question" not in asked.inputs:
        return dict.fromkeys(asked.wanted, "Answer in CAPITALS.")
    said = asked.messages[0]["content"]
    knows = len(asked.messages) > 2 or "CAPITALS" in said
    question = asked.inputs["question"]
    return {"reply": question.upper() if knows else question}


def saved(folder: Path) -> Library:
    library = Library(folder / "library")
    program = stored(predictors=[predictor("answer")])
    library.save(program.manifest, program.state)
    return library


@pytest.mark.parametrize("optimizer", ["BootstrapFewShot", pytest.param("GEPA", marks=pytest.mark.slow)])
def test_the_result_is_a_new_version_scored_on_held_out_examples(
    optimizer: Any, run: Callable[..., Any], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    library = saved(tmp_path)
    before = library.read().find("answerer")
    phases: list[tuple[str, int, int]] = []

    async def story() -> None:
        with chatting(learner) as model:
            async with runtime(configured(model.url), tmp_path) as programs:
                found = await optimize(
                    before, library, programs, examples=EXAMPLES, metric=find_metric("exact", before.manifest),
                    context=CallContext(), optimizer=optimizer, seed=3, budget=40,
                    progress=lambda at: phases.append((at.phase, at.done, at.total)),
                )  # fmt: skip
                again = await programs.execute(found.stored, {"question": "now"}, CallContext())
        assert not model.failures
        assert (found.old_score, found.score) == (0.0, 1.0)
        assert (found.trained_on, found.measured_on) == (7, 3)
        manifest = found.stored.manifest
        assert (manifest.version, manifest.optimizer, manifest.validation_score) == ("1.1.0", optimizer, 1.0)
        assert again.outputs == {"reply": "NOW"}

    run(story())
    after = library.read().find("answerer")
    assert (after.manifest, after.versions) == (before.manifest, ("1.0.0", "1.1.0"))
    assert {"measuring the old", "optimising", "measuring the new"} == {phase for phase, _, _ in phases}
    assert phases[-1] == ("measuring the new", 3, 3)
    assert all(done <= total for _, done, total in phases)
    assert capfd.readouterr().out == ""


def test_a_failing_model_ends_it_and_nothing_is_saved(run: Callable[..., Any], tmp_path: Path) -> None:
    library = saved(tmp_path)
    program = library.read().find("answerer")

    async def story() -> None:
        with chatting(lambda asked: learner(asked) if asked.number < 5 else Answer(status=401)) as model:
            async with runtime(configured(model.url), tmp_path) as programs:
                with pytest.raises(ProgramFailedError, match="refused the key"):
                    await optimize(
                        program, library, programs, examples=EXAMPLES, context=CallContext(),
                        metric=find_metric("exact", program.manifest),
                    )  # fmt: skip
            assert model.count < 10

    run(story())
    assert library.read().find("answerer").versions == ("1.0.0",)


class TestExamples:
    def test_both_forms_are_read(self, tmp_path: Path) -> None:
        file = tmp_path / "data.jsonl"
        lines = [{"question": "a", "reply": "A"}, {"inputs": {"question": "b"}, "outputs": {"reply": "B"}}]
        file.write_text("\n\n".join(json.dumps(line) for line in lines))
        found = read_examples(file, stored().manifest)
        assert [(dict(one.inputs), dict(one.outputs)) for one in found] == [
            ({"question": "a"}, {"reply": "A"}),
            ({"question": "b"}, {"reply": "B"}),
        ]

    def test_every_wrong_line_is_reported(self, tmp_path: Path) -> None:
        file = tmp_path / "data.jsonl"
        file.write_text(
            '{"question": "a"}\n{"question": 1, "reply": "A"}\nnonsense\n{"question": "c", "reply": 3}\n[]'
        )
        with pytest.raises(UsageError) as caught:
            read_examples(file, stored().manifest)
        for told in (
            "line 1: it has no output",
            "line 2: ",
            "line 3: it is no JSON",
            "line 4: ",
            "line 5: it is no object",
        ):
            assert told in str(caught.value)
        with pytest.raises(FileError, match="cannot be read"):
            read_examples(tmp_path / "none", stored().manifest)

    @pytest.mark.parametrize("seed", range(5))
    def test_equal_examples_are_never_split(self, seed: int) -> None:
        same = [Example({"n": 1.0 if at % 2 else 1, "tags": ["a"]}, {"reply": f"{at}"}) for at in range(6)]
        others = [Example({"n": at, "tags": ["a"]}, {"reply": "x"}) for at in range(2, 5)]
        learned, held_out = split([*same, *others], seed, 0.3)
        assert {one.inputs["n"] for one in learned}.isdisjoint(one.inputs["n"] for one in held_out)
        assert sorted(one.outputs["reply"] for one in [*learned, *held_out]) == [*"012345", *"xxx"]
        assert learned
        assert held_out

    @pytest.mark.parametrize("share", [0.01, 0.99])
    def test_both_parts_keep_at_least_one_example(self, share: float) -> None:
        learned, held_out = split(EXAMPLES, 0, share)
        assert learned
        assert held_out

    def test_identical_examples_are_refused(self) -> None:
        with pytest.raises(UsageError, match=r"are 5 examples, all with the same inputs, and at least 2"):
            split(EXAMPLES[:1] * 5, 0, 0.3)

    def test_held_out_examples_are_not_learned_from(self) -> None:
        learned, held_out = split(EXAMPLES, 1, 0.3)
        assert len(held_out) == 3
        assert {id(one) for one in [*learned, *held_out]} == {id(one) for one in EXAMPLES}
        assert split(EXAMPLES, 1, 0.3) == (learned, held_out) != split(EXAMPLES, 2, 0.3)
        with pytest.raises(UsageError, match="at least 2"):
            split(EXAMPLES[:1], 0, 0.3)


class TestMetrics:
    @pytest.mark.parametrize(
        ("metric", "reply", "score"),
        [
            ("exact", "WORD 0", 1.0),
            ("exact", "WORD", 0.0),
            ("contains:reply", "It is word 0.", 1.0),
            ("mine_metric:length", "x" * 5, 0.5),
            ("mine_metric:told", "x", 0.25),
        ],
    )
    def test_scores(
        self, metric: str, reply: str, score: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "mine_metric.py").write_text(
            "import dspy\n"
            "def length(example, prediction): return len(prediction.reply) / 10\n"
            "def told(example, prediction): return dspy.Prediction(score=0.25, feedback='More.')\n"
        )
        monkeypatch.syspath_prepend(str(tmp_path))
        found = find_metric(metric, stored().manifest, tmp_path)(EXAMPLES[0], {"reply": reply})
        assert found.value == score
        assert found.feedback

    @pytest.mark.parametrize(
        ("metric", "told"),
        [
            ("best", "There is no metric 'best'"),
            ("exact:none", "has no output 'none'"),
            ("contains", "`contains:reply`"),
            ("json:__name__", "should be a function"),
        ],
    )
    def test_unknown_metrics_are_reported(self, metric: str, told: str) -> None:
        with pytest.raises(UsageError, match=told):
            find_metric(metric, stored().manifest)


@pytest.mark.parametrize(
    ("versions", "following"),
    [(["1.0.0"], "1.1.0"), (["1.9.3", "1.10.0"], "1.11.0"), (["2.0.0-rc", "1.0.0"], "2.1.0")],
)
def test_the_next_version_raises_the_minor_number(versions: list[str], following: str) -> None:
    assert next_version(versions) == following
