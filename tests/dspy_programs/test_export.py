"""Export of live DSPy modules into the library, also on the command line."""

from __future__ import annotations

import json
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from dspy_programs.chat_server import chatting
from dspy_programs.running import Tools, playing
from dspy_programs.saved import WORKLET_INPUTS, say_worklet, settings
from halflap.cli.app import app
from halflap.core.errors import UsageError
from halflap.dspy.library import Library

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("dspy") is None, reason="needs the extra: pip install 'halflap[dspy]'"),
]
TOOLS = {"mcp__desk__weather": Tools().find("mcp__desk__weather")}
OUTPUTS = {"mood": "judge.mood", "sure": "judge.sure", "why": "find.reasoning"}


@pytest.fixture(scope="module")
def live() -> Any:
    return import_module("dspy_programs.live_modules")


@pytest.fixture(scope="module")
def describe() -> Any:
    return import_module("halflap.dspy.export").describe


def test_a_module_whose_steps_are_attributes_is_exported_and_asks_the_same(
    live: Any, describe: Any, run: Callable[[Coroutine[Any, Any, Any]], Any], tmp_path: Path
) -> None:
    spec = describe(live.travel(), "travel", tools=TOOLS, wiring={"outputs": OUTPUTS})
    assert describe(live.Travel, "travel", tools=TOOLS, wiring={"outputs": OUTPUTS}).flow == spec.flow
    program = Library(tmp_path / "library").save(spec)
    assert spec.flow.predictors["judge"] == {"question": "inputs.question", "places": "find.places"}
    assert spec.description == "Finds a place and judges it."
    near = {"name": "Pisa", "warmth": 0.5, "sights": [], "country": None}

    def answer(asked: Any) -> dict[str, Any]:
        if "places" in asked.wanted:
            return {"reasoning": "South.", "places": [{"name": "Rome", "warmth": 0.9}]}
        return {"mood": "good", "sure": 0.5, "counts": {}}

    async def story() -> None:
        async with playing(tmp_path, answer) as (programs, model):
            outcome = await programs.run(program, {"question": "Where to?", "budget": 3, "near": [near]})
            lm = live.dspy.LM("openai/tiny", api_base=model.url, api_key="k", cache=False)
            with live.dspy.context(lm=lm):
                given = {"question": "Where to?", "budget": 3, "near": [live.Place(**near)]}
                await live.travel().find.acall(**given)
        assert outcome.outputs == {"mood": "good", "sure": 0.5, "why": "South."}
        assert model.requests[0].messages == model.requests[2].messages

    run(story())


def test_a_compiled_module_keeps_its_demos(live: Any, describe: Any) -> None:
    dspy = live.dspy
    examples = [dspy.Example(question=f"{n}?", reply=f"{n}!").with_inputs("question") for n in range(4)]
    compiled = dspy.LabeledFewShot(k=3).compile(dspy.ChainOfThought("question -> reply"), trainset=examples)
    spec = describe(compiled, "compiled", tools=TOOLS)
    assert len(spec.state["compiled.predict"].demos) == 3
    assert spec.flow.results == {"reply": "compiled.reply"}


def test_a_react_keeps_its_tools_by_catalogue_name(live: Any, describe: Any) -> None:
    about = {"name": "mcp__desk__weather", "desc": "Old words.", "args": {"city": {}}}
    module = live.dspy.ReAct("question -> reply", [live.dspy.Tool(lambda city: city, **about)], max_iters=4)
    spec = describe(module, "agent", tools=TOOLS)
    (predictor,) = spec.predictors
    assert (predictor.tools, predictor.max_iterations) == (("mcp__desk__weather",), 4)
    assert "Old words." in spec.state["agent.react"].instructions


def test_what_cannot_be_saved_is_refused(live: Any, describe: Any) -> None:
    for make, reason in live.REFUSED:
        with pytest.raises(UsageError, match=reason):
            describe(make(), "refused", tools=TOOLS)


MODULE = """\
import dspy

print("printed by the module itself")
number = 7
chooser = dspy.Predict("workflow_description, case_context -> worklet_id")
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
        _, outputs = called("run", "chooser", "--json-args", json.dumps(WORKLET_INPUTS))
        assert outputs["worklet_id"] == "loan_standard"
        assert called(*export)[0] == 2
        assert called(*export, "--version=1.1.0", "--force")[0] == 0
        assert called("info", "chooser")[1]["version"] == "1.1.0"
        assert called("export", "choosing_worklets:number", "other")[0] == 2
