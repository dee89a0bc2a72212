"""Writing live DSPy modules into the library: what comes back asks the same, and what cannot be said is refused."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, Literal

import pydantic
import pytest

from halflap.errors import UsageError
from halflap.programs.export import describe, export, load_object
from halflap.programs.library import Library
from halflap.values import CallContext
from programs.chat_server import chatting
from programs.running import Tools, configured, runtime

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

dspy: Any = pytest.importorskip("dspy", reason="needs the extra: pip install 'halflap[dspy]'")


class Place(pydantic.BaseModel):
    """Somewhere."""

    name: str
    warmth: float = pydantic.Field(ge=0, le=1, description="How warm")
    sights: list[str] = []  # pydantic makes one for each
    country: str | None = None


class Loose(pydantic.BaseModel):
    what: Any = None


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


def tools(name: str) -> Any:
    return Tools().find(name)


class TestRoundTrip:
    def test_a_module_of_steps_is_written_and_runs_from_the_folder(
        self, run: Callable[..., Any], tmp_path: Path
    ) -> None:
        library = Library(tmp_path / "library")
        saved = export(travel(), "travel", library, tool=tools)
        assert saved.folder == tmp_path / "library" / "travel"
        manifest = json.loads((saved.folder / "manifest.json").read_text())
        assert manifest["wiring"] == {
            "predictors": {
                "find": {"question": "inputs.question", "budget": "inputs.budget"},
                "judge": {"question": "inputs.question", "places": "find.places"},
            },
            "outputs": {"mood": "judge.mood", "sure": "judge.sure", "why": "find.reasoning"},
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

    def test_what_was_compiled_keeps_its_demos(self, tmp_path: Path) -> None:
        student = dspy.ChainOfThought("question -> reply")
        examples = [dspy.Example(question=f"{n}?", reply=f"{n}!").with_inputs("question") for n in range(4)]
        compiled = dspy.LabeledFewShot(k=3).compile(student, trainset=examples)
        saved = export(
            compiled, "compiled", Library(tmp_path / "library"), tool=tools, optimizer="LabeledFewShot"
        )
        assert len(saved.state.predictors["compiled.predict"].demos) == 3
        assert [one.name for one in saved.manifest.outputs] == ["reply"]

    @pytest.mark.parametrize("kind", ["Predict", "ChainOfThought"])
    def test_a_step_by_itself_is_a_program(self, kind: str) -> None:
        manifest, _ = describe(getattr(dspy, kind)("question -> reply: bool"), "alone", tool=tools)
        (predictor,) = manifest.predictors
        assert (predictor.name, predictor.kind) == ("alone", kind)
        assert dict(manifest.wiring.outputs) == {"reply": "alone.reply"}
        # Whoever looks for a tool reads what it asks.
        assert manifest.description == predictor.instructions

    def test_a_react_keeps_its_tools_by_their_names_in_the_catalogue(self) -> None:
        weather = dspy.Tool(
            lambda city: city, name="mcp__desk__weather", desc="Old words.", args={"city": {}}
        )
        module = dspy.ReAct("question -> reply", [weather], max_iters=4)
        manifest, state = describe(module, "agent", tool=tools)
        assert (manifest.predictors[0].tools, manifest.predictors[0].max_iterations) == (
            ("mcp__desk__weather",),
            4,
        )
        assert "Old words." in (state.predictors["agent.react"].instructions or "")

    def test_equal_values_are_told_apart(self) -> None:
        class Twins(dspy.Module):  # type: ignore[misc]
            def __init__(self) -> None:
                super().__init__()
                self.first = dspy.Predict("a: bool, b: bool -> c: bool")
                self.second = dspy.Predict("x: bool, y: bool, z: bool -> d: bool")

            def forward(self, a: bool, b: bool) -> Any:
                one = self.first(a=b, b=a)
                return dspy.Prediction(d=self.second(x=a, y=one.c, z=b).d)

        manifest, _ = describe(Twins(), "twins", tool=tools)
        assert {name: dict(one) for name, one in manifest.wiring.predictors.items()} == {
            "first": {"a": "inputs.b", "b": "inputs.a"},
            "second": {"x": "inputs.a", "y": "first.c", "z": "inputs.b"},
        }

    def test_nothing_is_overwritten(self, tmp_path: Path) -> None:
        library = Library(tmp_path / "library")
        export(travel(), "travel", library, tool=tools)
        with pytest.raises(UsageError, match="already"):
            export(travel(), "travel", library, tool=tools)
        export(travel(), "travel", library, tool=tools, version="1.1.0")
        found = library.read().find("travel")
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


def fixed(self: Any, question: str) -> Any:
    return self.answer(question=question, style="short")


def branching(self: Any, question: str) -> Any:
    if len(question) > 100_000:
        return self.other(question=question)
    return self.answer(question=question)


def looping(self: Any, question: str) -> Any:
    for _ in range(2):
        found = self.answer(question=question)
    return found


def twice(self: Any, question: str) -> Any:
    self.answer(question=question)
    return self.answer(question=question)


def open_ended(self: Any, **inputs: Any) -> Any:
    return self.answer(**inputs)


def unused(self: Any, question: str, more: str) -> Any:
    del more
    return self.answer(question=question)


def passing(self: Any, question: str) -> Any:
    self.answer(question=question)
    return dspy.Prediction(question=question)


def shouting(self: Any, question: str) -> Any:
    return dspy.Prediction(reply=self.answer(question=question).reply.upper())


def bare(self: Any, question: str) -> Any:
    return self.answer(question=question).reply


def asking(self: Any, question: str) -> Any:
    dspy.settings.lm("hello")
    return self.answer(question=question)


def failing(self: Any, question: str) -> Any:
    raise RuntimeError(f"no such luck with {self.answer} and {question}")


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "derived": (lambda: made_module(derived), r"line \d+: `derived` uses `question\.strip`"),
    "fixed": (
        lambda: made_module(fixed, answer=dspy.Predict("question, style -> reply")),
        r"`answer\.style` is always 'short'",
    ),
    "branch": (
        lambda: made_module(branching, answer=dspy.Predict("question -> reply"), other=dspy.Predict("question -> reply")),
        r"line \d+: `Made.forward` has an `if`",
    ),
    "loop": (lambda: made_module(looping), r"has a loop"),
    "twice": (lambda: made_module(twice), r"`answer` is run 2 times"),
    "open": (lambda: made_module(open_ended), r"takes `\*\*inputs"),
    "unused": (lambda: made_module(unused), r"takes `more`, and no step does"),
    "passing": (lambda: made_module(passing), r"output `question` is an input as it came"),
    "shouting": (lambda: made_module(shouting), r"`shouting` uses `reply\.upper`"),
    "bare": (lambda: made_module(bare), r"returns a str"),
    "asking": (lambda: made_module(asking), r"asks the model by itself"),
    "failing": (lambda: made_module(failing), r"RuntimeError: no such luck"),
    "kind": (lambda: dspy.BestOfN(dspy.Predict("question -> reply"), 2, len, 1.0), r"is a BestOfN"),
    "image": (lambda: dspy.Predict("question, picture: dspy.Image -> reply"), r"\.picture` cannot be said"),
    "tuple": (lambda: dspy.Predict("question -> reply: tuple[int, int]"), r"\.reply` cannot be said"),
    "any": (lambda: dspy.Predict("question, more: Any -> reply"), r"`refused\.more` cannot be said in a manifest: the type Any"),
    "list of any": (lambda: dspy.Predict("question, more: list[Any] -> reply"), r"`refused\.more` cannot.*: the type Any"),
    "model of any": (lambda: dspy.Predict(dspy.Signature({"question": (Loose, dspy.InputField()), "reply": (str, dspy.OutputField())})), r"`refused\.question` cannot.*: Loose\.what: the type Any"),
    "tool": (lambda: dspy.ReAct("question -> reply", [len]), r"uses the tool `len`, which is not in the catalogue"),
    "settings": (lambda: dspy.Predict("question -> reply", temperature=0.5), r"temperature"),
    "reserved": (lambda: dspy.Predict("config -> reply"), r'"config" cannot be the name'),
    "no step": (lambda: made_module(bare, answer=len), r"has no step"),
    "class": (lambda: Travel, r"`program = Travel\(\)`"),
    "no module": (lambda: 3, r"should be a dspy\.Module"),
}  # fmt: skip


class TestRefusals:
    @pytest.mark.parametrize("what", REFUSED)
    def test_what_a_manifest_cannot_say_is_refused_with_the_reason(self, what: str, tmp_path: Path) -> None:
        make, told = REFUSED[what]
        with pytest.raises(UsageError, match=told):
            export(make(), "refused", Library(tmp_path / "library"), tool=tools)
        assert not (tmp_path / "library").exists()

    def test_other_prompts_than_the_modules_are_refused(self) -> None:
        """A field whose words the model sees, and a manifest does not have."""
        odd = dspy.Predict("question -> reply")
        odd.signature.output_fields["reply"].json_schema_extra["constraints"] = "no longer than a word"
        with pytest.raises(UsageError, match=r"something else.*no longer than a word"):
            describe(odd, "odd", tool=tools)


class TestLoading:
    @pytest.mark.parametrize(
        ("name", "told"),
        [
            ("mine", "names no object"),
            ("mine_not_there:x", "There is no module 'mine_not_there'"),
            ("mine_wants:x", "needs nothing_of_the_kind"),
            ("mine_broken:x", r"ZeroDivisionError.*mine_broken\.py, line 1"),
            ("mine_exits:x", "SystemExit"),
            ("mine_fine:y", "has no 'y'. It has: x"),
        ],
    )
    def test_what_cannot_be_loaded_is_told(
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

    def test_without_dspy_it_is_told_how_to_install_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sys, "path", [*sys.path])
        monkeypatch.setitem(sys.modules, "dspy", None)
        (tmp_path / "mine_of_dspy.py").write_text("import dspy\nx = dspy.Predict('a -> b')\n")
        with pytest.raises(
            UsageError, match=r"needs dspy, which is not there.*pip install 'halflap\[dspy\]'"
        ):
            load_object("mine_of_dspy:x", tmp_path)

    def test_what_it_prints_does_not_go_to_stdout(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(sys, "path", [*sys.path])
        (tmp_path / "mine_loud.py").write_text("print('hello')\nclass a: b = 7\n")
        assert load_object("mine_loud:a.b", tmp_path) == 7
        assert capsys.readouterr().out == ""
