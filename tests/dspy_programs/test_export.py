"""Export of live DSPy modules into the library."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, Literal

import pydantic
import pytest

from dspy_programs.chat_server import chatting
from dspy_programs.running import Tools, configured, runtime
from halflap.core.errors import UsageError
from halflap.core.values import CallContext
from halflap.dspy.child.metrics import load_object
from halflap.dspy.export import describe, export
from halflap.dspy.library import Library

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.slow

dspy: Any = pytest.importorskip("dspy", reason="needs the extra: pip install 'halflap[dspy]'")


class Place(pydantic.BaseModel):
    """Somewhere."""

    name: str
    warmth: float = pydantic.Field(ge=0, le=1, description="How warm")
    sights: list[str] = []  # pydantic makes one for each
    country: str | None = None


class Find(dspy.Signature):  # type: ignore[misc]
    question: str = dspy.InputField()
    budget: int = dspy.InputField()
    places: list[Place] = dspy.OutputField()


class Judge(dspy.Signature):  # type: ignore[misc]
    """Judge a place.

    Be honest.
    """

    question: str = dspy.InputField(desc="What was asked")
    places: list[Place] = dspy.InputField()
    mood: Literal["good", "bad"] = dspy.OutputField()
    sure: float = dspy.OutputField(le=1, ge=0, desc="How sure")
    counts: dict[str, int] = dspy.OutputField()


class Travel(dspy.Module):  # type: ignore[misc]
    """Finds a place and judges it."""

    def __init__(self) -> None:
        super().__init__()
        self.find = dspy.ChainOfThought(Find)
        self.judge = dspy.Predict(Judge)

    def forward(self, question: str, budget: int = 3) -> Any:
        found = self.find(question=question, budget=budget)
        judged = self.judge(question=question, places=found.places)
        return dspy.Prediction(mood=judged.mood, sure=judged.sure, why=found.reasoning)


def travel() -> Any:
    module = Travel()
    module.judge.demos = [
        dspy.Example(
            question="Where?", places=[Place(name="Rome", warmth=0.9)], mood="good", sure=0.9, counts={"a": 1}
        ),
        {"question": "And?", "mood": "bad"},
    ]
    module.find.predict.signature = module.find.predict.signature.with_instructions("Find it, quickly.")
    return module


TOOLS = {name: tool for name in ("mcp__desk__weather",) if (tool := Tools().find(name)) is not None}
OUTPUTS = {"mood": "judge.mood", "sure": "judge.sure", "why": "find.reasoning"}


class TestRoundTrip:
    def test_a_module_whose_steps_are_attributes_is_exported_and_runs(
        self, run: Callable[..., Any], tmp_path: Path
    ) -> None:
        library = Library(tmp_path / "library")
        saved = export(travel(), "travel", library, tools=TOOLS, wiring={"outputs": OUTPUTS})
        assert saved.folder == tmp_path / "library" / "travel"
        manifest = json.loads((saved.folder / "manifest.json").read_text())
        assert manifest["wiring"] == {
            "predictors": {
                "find": {"question": "inputs.question", "budget": "inputs.budget"},
                "judge": {"question": "inputs.question", "places": "find.places"},
            },
            "outputs": OUTPUTS,
        }
        assert manifest["description"] == "Finds a place and judges it."
        assert manifest["inputs"][1]["schema"] == {"type": "integer", "default": 3}
        found = library.read().find("travel")

        def answer(asked: Any) -> dict[str, Any]:
            if "places" in asked.wanted:
                return {"reasoning": "South.", "places": [{"name": "Rome", "warmth": 0.9}]}
            return {"mood": "good", "sure": 0.5, "counts": {}}

        async def story() -> None:
            with chatting(answer) as model:
                async with runtime(configured(model.url), tmp_path) as programs:
                    outcome = await programs.execute(found, {"question": "Where to?"}, CallContext())
                with dspy.context(lm=dspy.LM("openai/tiny", api_base=model.url, api_key="k", cache=False)):
                    await travel().find.acall(question="Where to?", budget=3)
            assert outcome.outputs == {"mood": "good", "sure": 0.5, "why": "South."}
            assert model.requests[0].messages == model.requests[2].messages

        run(story())

    def test_a_compiled_module_keeps_its_demos(self, tmp_path: Path) -> None:
        student = dspy.ChainOfThought("question -> reply")
        examples = [dspy.Example(question=f"{n}?", reply=f"{n}!").with_inputs("question") for n in range(4)]
        compiled = dspy.LabeledFewShot(k=3).compile(student, trainset=examples)
        saved = export(
            compiled, "compiled", Library(tmp_path / "library"), tools=TOOLS, optimizer="LabeledFewShot"
        )
        assert len(saved.state.predictors["compiled.predict"].demos) == 3
        assert [one.name for one in saved.manifest.outputs] == ["reply"]

    @pytest.mark.parametrize("kind", ["Predict", "ChainOfThought"])
    def test_a_single_step_is_a_program(self, kind: str) -> None:
        manifest, _ = describe(getattr(dspy, kind)("question -> reply: bool"), "alone", tools=TOOLS)
        (predictor,) = manifest.predictors
        assert (predictor.name, predictor.kind) == ("alone", kind)
        assert dict(manifest.wiring.outputs) == {"reply": "alone.reply"}
        # Whoever looks for a tool reads what it asks.
        assert manifest.description == predictor.instructions

    def test_a_react_keeps_its_tools_by_catalogue_name(self) -> None:
        weather = dspy.Tool(
            lambda city: city, name="mcp__desk__weather", desc="Old words.", args={"city": {}}
        )
        module = dspy.ReAct("question -> reply", [weather], max_iters=4)
        manifest, state = describe(module, "agent", tools=TOOLS)
        assert (manifest.predictors[0].tools, manifest.predictors[0].max_iterations) == (
            ("mcp__desk__weather",),
            4,
        )
        assert "Old words." in (state.predictors["agent.react"].signature.instructions or "")

    def test_an_existing_version_is_not_overwritten(self, tmp_path: Path) -> None:
        library = Library(tmp_path / "library")
        module = dspy.Predict("question -> reply")
        export(module, "answer", library, tools=TOOLS)
        with pytest.raises(UsageError, match="already"):
            export(module, "answer", library, tools=TOOLS)
        export(module, "answer", library, tools=TOOLS, version="1.1.0")
        found = library.read().find("answer")
        assert (found.manifest.version, found.versions) == ("1.0.0", ("1.0.0", "1.1.0"))


def made_module(forward: Callable[..., Any], **steps: Any) -> Any:
    class Made(dspy.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            for name, step in (steps or {"answer": dspy.Predict("question -> reply")}).items():
                setattr(self, name, step)

    Made.forward = forward
    return Made()


def derived(self: Any, question: str) -> Any:
    return self.answer(question=question.strip())


def renamed(self: Any, query: str) -> Any:
    return self.answer(question=query)


def bare(self: Any, question: str) -> Any:
    return self.answer(question=question).reply


class Own(dspy.Predict):  # type: ignore[misc]
    pass


class Strict(pydantic.BaseModel):
    name: str

    @pydantic.field_validator("name")
    @classmethod
    def check(cls, name: str) -> str:
        return name


class Judged(dspy.Signature):  # type: ignore[misc]
    question: str = dspy.InputField()
    reply: Strict = dspy.OutputField()


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "derived": (lambda: made_module(derived), "ask something else"),
    "renamed outputs": (travel, "returns no field 'counts'.*--wiring"),
    "other inputs": (lambda: made_module(renamed), "`forward` takes query.*--wiring"),
    "no field": (lambda: made_module(bare), "made-up values"),
    "nested": (lambda: made_module(bare, inner=made_module(bare)), "attributes of the module"),
    "list": (lambda: made_module(bare, steps=[dspy.Predict("question -> reply")]), "no lists"),
    "subclass": (lambda: made_module(bare, answer=Own("question -> reply")), "no subclasses"),
    "validators": (lambda: dspy.Predict(Judged), "validators"),
    "kind": (lambda: dspy.BestOfN(dspy.Predict("question -> reply"), 2, len, 1.0), "made-up values"),
    "image": (lambda: dspy.Predict("question, picture: dspy.Image -> reply"), "Image"),
    "any": (lambda: dspy.Predict("question, more: Any -> reply"), "Any"),
    "union": (lambda: dspy.Predict("question -> reply: int | str"), "union"),
    "tool": (lambda: dspy.ReAct("question -> reply", [len]), "len, which is not in the catalogue"),
    "settings": (lambda: dspy.Predict("question -> reply", temperature=0.5), r"programs\.lm"),
    "reserved": (lambda: dspy.Predict("config -> reply"), '"config" is reserved'),
    "no step": (lambda: made_module(bare, answer=len), "as an attribute"),
    "class": (lambda: Travel, r"dspy\.Module"),
    "no module": (lambda: 3, r"dspy\.Module"),
}


class TestRefusals:
    @pytest.mark.parametrize("what", REFUSED)
    def test_what_a_manifest_cannot_express_is_refused(self, what: str, tmp_path: Path) -> None:
        make, told = REFUSED[what]
        with pytest.raises(UsageError, match=told):
            export(make(), "refused", Library(tmp_path / "library"), tools=TOOLS)
        assert not (tmp_path / "library").exists()


class TestLoading:
    @pytest.mark.parametrize(
        ("name", "told"),
        [
            ("mine", "does not name an object"),
            ("mine_not_there:x", "There is no module 'mine_not_there'"),
            ("mine_broken:x", r"ZeroDivisionError.*mine_broken\.py, line 1"),
            ("mine_exits:x", "SystemExit"),
            ("mine_fine:y", "AttributeError"),
        ],
    )
    def test_an_object_that_cannot_be_loaded_is_reported(
        self, name: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sys, "path", [*sys.path])
        files = {
            "wants": "import nothing_of_the_kind", "broken": "1 / 0", "exits": "raise SystemExit(3)", "fine": "x = 1",
        }  # fmt: skip
        for key, code in files.items():
            (tmp_path / f"mine_{key}.py").write_text(code)
        with pytest.raises(UsageError, match=told):
            load_object(name, tmp_path)
