"""Hostile answers, environments and cache folders."""

from __future__ import annotations

import asyncio
import os
import threading
import traceback
from typing import TYPE_CHECKING, Any

import pytest

from dspy_programs.chat_server import Answer, Asked, chatting
from dspy_programs.running import KEY, QUESTION, configured, echo, of_type, predictor, runtime, stored
from halflap.config import LmConfig
from halflap.core.errors import ProgramFailedError
from halflap.core.values import CallContext
from halflap.dspy import answers as answers_module
from halflap.dspy import runtime as runtime_module
from halflap.dspy.answers import Answers
from halflap.dspy.examples import Example
from halflap.dspy.library import Library
from halflap.dspy.child.metrics import find_metric
from halflap.dspy.optimize import optimize
from halflap.dspy.secrecy import redacted
from support import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.slow

pytest.importorskip("dspy", reason="needs the extra: pip install 'halflap[dspy]'")


class TestAnswers:
    @pytest.mark.parametrize("depth", [200, 450, 600, 5_000])
    def test_a_deeply_nested_answer_is_refused(
        self, depth: int, run: Callable[..., Any], tmp_path: Path
    ) -> None:
        program = stored(predictors=[predictor(outputs=[{"name": "more", "schema": {"type": "object"}}])])
        answer = Answer('{"more": {"x": ' + "[" * depth + "]" * depth + "}}")

        async def story() -> None:
            with chatting(lambda _: answer) as model:
                async with runtime(configured(model.url, adapter="json"), tmp_path) as programs:
                    with pytest.raises(ProgramFailedError):
                        await programs.execute(program, QUESTION, CallContext())
                    model.answer = lambda _: Answer('{"more": {"x": []}}')
                    # What could not be used was not kept.
                    outcome = await programs.execute(program, QUESTION, CallContext())
            assert outcome.outputs == {"more": {"x": []}}

        run(story())

    def test_the_key_is_not_in_a_traceback(self, run: Callable[..., Any], tmp_path: Path) -> None:
        async def story() -> None:
            with chatting(lambda _: Answer(f"Incorrect API key provided: {KEY}", status=401)) as model:
                async with runtime(configured(model.url), tmp_path) as programs:
                    with pytest.raises(ProgramFailedError) as caught:
                        await programs.execute(stored(), QUESTION, CallContext())
            printed = "".join(traceback.format_exception(caught.value))
            assert "refused the key" in printed
            assert KEY not in printed

        run(story())


def test_the_event_loop_runs_while_dspy_loads(
    run: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever comes second, while the first has it loaded, must not have everybody wait."""
    load = runtime_module.import_dspy
    begun, let_go = threading.Event(), threading.Event()

    def slow(name: str) -> None:
        begun.set()
        assert let_go.wait(PATIENCE), "the loop, which was to let it go on, has waited for it"
        load(name)

    monkeypatch.setattr(runtime_module, "import_dspy", slow)
    load("answerer")

    async def story() -> None:
        with chatting(echo) as model:
            async with runtime(configured(model.url), tmp_path) as programs:
                first = asyncio.create_task(programs.execute(stored(), QUESTION, CallContext()))
                while not begun.is_set():
                    await asyncio.sleep(0.01)
                others = asyncio.gather(
                    programs.execute(stored("other"), QUESTION, CallContext()),
                    programs.execute(stored(), {"question": "And there?"}, CallContext()),
                )
                # As far as they get by themselves.
                await asyncio.sleep(0.2)
                let_go.set()
                await asyncio.gather(first, others)

    run(story())


class TestCache:
    KEY = "ab" + "0" * 62

    def test_foreign_files_in_the_cache_are_never_removed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Somebody may name a folder that has other things in it, or links that lead elsewhere."""
        elsewhere, folder = tmp_path / "elsewhere", tmp_path / "cache"
        others = [folder / "de" / "texts.json", folder / "ab" / "notes.json", folder / "ab" / ".hidden"]
        for other in [*others, elsewhere / f"{'cd' * 32}.json"]:
            other.parent.mkdir(parents=True, exist_ok=True)
            other.write_text("{}")
            os.utime(other, (0, 0))
        (folder / "cd").symlink_to(elsewhere)
        unfinished = folder / "ab" / f".{self.KEY}.01234567"
        unfinished.write_text("{")
        os.utime(unfinished, (0, 0))
        kept = [f"ab{number:062x}" for number in range(8)]
        for age, key in enumerate(kept):
            Answers(folder).keep(key, ["x"])
            os.utime(folder / "ab" / f"{key}.json", (100 + age, 100 + age))
        monkeypatch.setattr(answers_module, "_MOST_ON_DISK", 5)
        Answers(folder).keep(f"ab{99:062x}", ["x"])
        assert all(other.exists() for other in [*others, elsewhere / f"{'cd' * 32}.json"])
        assert not unfinished.exists()
        left = sorted(one.name for one in (folder / "ab").glob("ab*.json"))
        assert left == sorted(f"{key}.json" for key in [*kept[-3:], f"ab{99:062x}"])


class TestOptimising:
    def library(self, folder: Path, **manifest: Any) -> Library:
        library = Library(folder / "library")
        program = stored(**manifest)
        library.save(program.manifest, program.state)
        return library

    def test_an_invalid_answer_scores_zero(self, run: Callable[..., Any], tmp_path: Path) -> None:
        outputs = [{"name": "reply"}, of_type("sure", "number", minimum=0, maximum=1)]
        library = self.library(tmp_path, predictors=[predictor(outputs=outputs)])
        program = library.read().find("answerer")
        examples = [Example({"question": f"{n}"}, {"reply": f"{n}"}) for n in range(6)]

        def answer(asked: Asked) -> dict[str, Any]:
            return {"reply": asked.inputs["question"], "sure": 7}

        async def story() -> None:
            with chatting(answer) as model:
                async with runtime(configured(model.url), tmp_path) as programs:
                    found = await optimize(
                        program, library, programs, examples=examples, context=CallContext(),
                        metric=find_metric("exact:reply", program.manifest),
                    )  # fmt: skip
            assert (found.old_score, found.score) == (0.0, 0.0)
            # And no demo was made of it: those that are there are the examples themselves.
            (state,) = found.stored.state.predictors.values()
            assert not [demo for demo in state.demos if "sure" in demo]

        run(story())

    def test_an_input_and_an_output_of_one_name_are_kept_apart(
        self, run: Callable[..., Any], tmp_path: Path
    ) -> None:
        """A program may give a better form of what it takes; it must not learn by looking at the answer."""
        steps = [
            predictor("first", inputs=[{"name": "text"}], outputs=[{"name": "draft"}]),
            predictor("second", inputs=[{"name": "draft"}], outputs=[{"name": "text"}]),
        ]
        library = self.library(tmp_path, predictors=steps)
        program = library.read().find("answerer")
        examples = [Example({"text": f"given {n}"}, {"text": f"wanted {n}"}) for n in range(5)]

        def answer(asked: Asked) -> dict[str, Any]:
            (given,) = asked.inputs.values()
            return {asked.wanted[0]: given}

        async def story() -> None:
            with chatting(answer) as model:
                async with runtime(configured(model.url), tmp_path) as programs:
                    await optimize(
                        program, library, programs, examples=examples, context=CallContext(),
                        metric=find_metric("exact", program.manifest),
                    )  # fmt: skip
            asked = {one.inputs["text"] for one in model.requests if "text" in one.inputs}
            assert asked == {f"given {n}" for n in range(5)}

        run(story())


SECRET = "sk-verysecretkey12345"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"a {SECRET} b {SECRET}", "a [api_key] b [api_key]"),
        ("ends with ...verysecretkey12345", "ends with ...[api_key]"),
        ("cut to sk-verysecr…", "cut to [api_key]…"),
        ("middle secretkey here", "middle [api_key] here"),
        ("sk-very short", "sk-very short"),
        ("x" * 200_000 + SECRET, "x" * 200_000 + "[api_key]"),
    ],
    ids=["whole", "end", "beginning", "middle", "short", "far"],
)
def test_no_part_of_the_key_is_shown(text: str, told: str) -> None:
    assert redacted(text, LmConfig(model="openai/m", api_key=SECRET)) == told
