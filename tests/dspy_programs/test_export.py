"""Export of live DSPy modules into the library, also on the command line."""

from __future__ import annotations

import json
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from dspy_programs.chat_server import chatting
from dspy_programs.running import Tools, configured, running
from dspy_programs.saved import WORKLET_INPUTS, say_worklet, settings
from halflap.cli.app import app
from halflap.core.errors import UsageError
from halflap.dspy.library import Library

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("dspy") is None, reason="needs the extra: pip install 'halflap[dspy]'"),
]
TOOLS = {name: tool for name in ("mcp__desk__weather",) if (tool := Tools().find(name)) is not None}
OUTPUTS = {"mood": "judge.mood", "sure": "judge.sure", "why": "find.reasoning"}


@pytest.fixture(scope="module")
def live() -> Any:
    return import_module("dspy_programs.live_modules")


@pytest.fixture(scope="module")
def exporting() -> Any:
    return import_module("halflap.dspy.export")


def test_a_module_whose_steps_are_attributes_is_exported_and_asks_the_same(
    live: Any, exporting: Any, run: Callable[..., Any], tmp_path: Path
) -> None:
    library = Library(tmp_path / "library")
    spec = exporting.describe(live.travel(), "travel", tools=TOOLS, wiring={"outputs": OUTPUTS})
    library.save(spec)
    assert spec.flow.predictors["judge"] == {"question": "inputs.question", "places": "find.places"}
    assert spec.description == "Finds a place and judges it."
    inputs: dict[str, Any] = {
        "question": "Where to?",
        "budget": 3,
        "near": [{"name": "Pisa", "warmth": 0.5, "sights": [], "country": None}],
    }
    program = library.read().find("travel")

    def answer(asked: Any) -> dict[str, Any]:
        if "places" in asked.wanted:
            return {"reasoning": "South.", "places": [{"name": "Rome", "warmth": 0.9}]}
        return {"mood": "good", "sure": 0.5, "counts": {}}

    async def story() -> None:
        with chatting(answer) as model:
            async with running(configured(model.url), tmp_path) as programs:
                outcome = await programs.run(program, inputs)
            with live.dspy.context(
                lm=live.dspy.LM("openai/tiny", api_base=model.url, api_key="k", cache=False)
            ):
                near = [live.Place(**inputs["near"][0])]
                await live.travel().find.acall(question="Where to?", budget=3, near=near)
        assert outcome.outputs == {"mood": "good", "sure": 0.5, "why": "South."}
        assert model.requests[0].messages == model.requests[2].messages

    run(story())


def test_a_compiled_module_keeps_its_demos(live: Any, exporting: Any) -> None:
    dspy = live.dspy
    examples = [dspy.Example(question=f"{n}?", reply=f"{n}!").with_inputs("question") for n in range(4)]
    compiled = dspy.LabeledFewShot(k=3).compile(dspy.ChainOfThought("question -> reply"), trainset=examples)
    spec = exporting.describe(compiled, "compiled", tools=TOOLS, optimizer="LabeledFewShot")
    assert len(spec.state["compiled.predict"].demos) == 3
    assert spec.flow.results == {"reply": "compiled.reply"}


def test_a_react_keeps_its_tools_by_catalogue_name(live: Any, exporting: Any) -> None:
    weather = live.dspy.Tool(
        lambda city: city, name="mcp__desk__weather", desc="Old words.", args={"city": {}}
    )
    module = live.dspy.ReAct("question -> reply", [weather], max_iters=4)
    spec = exporting.describe(module, "agent", tools=TOOLS)
    (predictor,) = spec.predictors
    assert (predictor.tools, predictor.max_iterations) == (("mcp__desk__weather",), 4)
    assert "Old words." in spec.state["agent.react"].instructions


def test_what_cannot_be_saved_is_refused(live: Any, exporting: Any) -> None:
    for make, reason in live.REFUSED.values():
        with pytest.raises(UsageError, match=reason):
            exporting.describe(make(), "refused", tools=TOOLS)


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


def test_the_command_writes_a_module_that_can_be_run_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "choosing_worklets.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    with chatting(say_worklet) as chat:
        file = tmp_path / "halflap.json"
        file.write_text(json.dumps(settings(tmp_path / "own", chat)))

        def called(*arguments: str) -> tuple[int, Any]:
            done = CliRunner().invoke(app, ["programs", *arguments, "--json", "-c", str(file)])
            return done.exit_code, json.loads(done.stdout)

        export = ("export", "choosing_worklets:chooser", "chooser")
        code, written = called(*export)
        assert (code, written["version"]) == (0, "1.0.0")
        assert (
            called("run", "chooser", "--json-args", json.dumps(WORKLET_INPUTS))[1]["worklet_id"]
            == "loan_standard"
        )
        code, again = called(*export)
        assert (code, "--replace" in again["message"]) == (2, True)
        assert called(*export, "--version=1.1.0", "--replace")[0] == 0
        assert called("info", "chooser")[1]["version"] == "1.1.0"
        assert called("export", "choosing_worklets:number", "other")[0] == 2
