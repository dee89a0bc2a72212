"""From a manifest and its cleaned state to a module of DSPy. Imports DSPy: to be imported only where it is needed."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Final

import dspy
from dspy.adapters.types.tool import convert_input_schema_to_tool_args

from halflap.dspy.field_types import limits_of, python_type
from halflap.dspy.model import SETTING, current
from halflap.dspy.parts import INPUTS, signatures_of
from halflap.dspy.running import observation
from halflap.dspy.state import size_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from halflap.core.values import Tool
    from halflap.dspy.parts import Field, Predictor, Wiring
    from halflap.dspy.running import Running
    from halflap.dspy.state import PredictorState, State

__all__ = [
    "CatalogueTool",
    "Steps",
    "build_steps",
    "keep_what_fits",
    "predicts_of",
    "settings_for",
    "state_of",
]

_MOST_OF_DEMOS: Final = 2_000_000
"""Bytes of all demos together, so that a state stays below its limit, with what else is in it."""


class CatalogueTool(dspy.Tool):  # type: ignore[misc]  # DSPy has no types
    """A tool of the catalogue as a ReAct sees it: called as everything is called, on behalf of who runs the program."""

    async def acall(self, /, **arguments: Any) -> str:
        """Call it. Arguments are checked where all are; what is wrong with them is told to the model."""
        running = current()
        assert running is not None, "a program is run by its runtime"
        return await observation(running, self.name, arguments)

    def __call__(self, /, **arguments: Any) -> str:
        """Do the same from a thread, as DSPy's optimizers do."""
        running = current()
        assert running is not None, "a program is run by its runtime"
        return running.observation_from_thread(self.name, arguments)


class Steps(dspy.Module):  # type: ignore[misc]  # as above
    """Predictors in their order, each fed from the inputs or from earlier ones. Holds nothing of any one run."""

    def __init__(self, steps: Mapping[str, Any], wiring: Wiring) -> None:
        super().__init__()
        self.steps = dict(steps)
        self.sources = {name: _split(wiring.predictors[name]) for name in steps}
        self.results = _split(wiring.outputs)

    def forward(self, /, **inputs: Any) -> Any:
        """Run one after the other."""
        given: dict[str, Any] = {INPUTS: inputs}
        for name, step in self.steps.items():
            given[name] = step(**self._taken(name, given))
        return self._result(given)

    async def aforward(self, /, **inputs: Any) -> Any:
        """Run one after the other, on the loop."""
        given: dict[str, Any] = {INPUTS: inputs}
        for name, step in self.steps.items():
            given[name] = await step.acall(**self._taken(name, given))
        return self._result(given)

    def _taken(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        return {field: given[source][output] for field, (source, output) in self.sources[name].items()}

    def _result(self, given: Mapping[str, Any]) -> Any:
        prediction = dspy.Prediction()
        for name, (source, output) in self.results.items():
            prediction[name] = given[source][output]
        return prediction


def _split(sources: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    found = {}
    for name, text in sources.items():
        source, _, output = text.partition(".")
        found[name] = (source, output)
    return found


def build_steps(
    predictors: Iterable[Predictor], wiring: Wiring, state: State, tool: Callable[[str], Tool]
) -> Steps:
    """Build a module; of the state nothing but demos, instructions and the texts of fields gets into it."""
    steps = {}
    for predictor in predictors:
        step = _step(predictor, tool)
        for key, predict in predicts_of(predictor, step).items():
            if key in state.predictors:
                _apply(predict, state.predictors[key])
        steps[predictor.name] = step
    return Steps(steps, wiring)


def _step(predictor: Predictor, tool: Callable[[str], Tool]) -> Any:
    inputs = {field.name: _typed(field, dspy.InputField) for field in predictor.inputs}
    outputs = {field.name: _typed(field, dspy.OutputField) for field in predictor.outputs}
    signature = dspy.Signature({**inputs, **outputs}, predictor.instructions or None)
    match predictor.kind:
        case "Predict":
            return dspy.Predict(signature)
        case "ChainOfThought":
            return dspy.ChainOfThought(signature)
        case "ReAct":
            tools = [_tool(tool(name)) for name in predictor.tools]
            return dspy.ReAct(signature, tools, max_iters=predictor.max_iterations)


def _typed(field: Field, kind: Callable[..., Any]) -> tuple[Any, Any]:
    settings: dict[str, Any] = limits_of(field.schema)
    if "default" in field.schema:
        # Of what nothing is wired to.
        settings["default"] = copy.deepcopy(field.schema["default"])
    if field.description:
        settings["desc"] = field.description
    return python_type(field.schema, field.name), kind(**settings)


def _tool(tool: Tool) -> CatalogueTool:
    try:
        arguments, types, _ = convert_input_schema_to_tool_args(dict(tool.input_schema))
    except (RecursionError, AttributeError, KeyError, TypeError):
        # A schema that contains itself, or one that is odd: shown as it is.
        arguments, types = dict(tool.input_schema.get("properties") or {}), {}

    def unused() -> None:
        """Do nothing: DSPy wants a function, and `acall` needs none."""

    return CatalogueTool(unused, name=tool.name, desc=tool.description, args=arguments, arg_types=types)


def predicts_of(predictor: Predictor, step: Any) -> dict[str, Any]:
    """Give DSPy's own predictors within a step, by their keys in a state."""
    keys = list(signatures_of(predictor))
    match predictor.kind:
        case "Predict":
            return dict(zip(keys, [step], strict=True))
        case "ChainOfThought":
            return dict(zip(keys, [step.predict], strict=True))
        case "ReAct":
            return dict(zip(keys, [step.react, step.extract.predict], strict=True))


def state_of(steps: Iterable[tuple[Predictor, Any]]) -> dict[str, Any]:
    """Give the state of each step under its key, as DSPy saves it, without what an optimizer noted for itself."""
    return {
        key: {**predict.dump_state(), "lm": None, "train": [], "traces": []}
        for predictor, step in steps
        for key, predict in predicts_of(predictor, step).items()
    }


def keep_what_fits(module: Steps, predictors: Iterable[Predictor]) -> None:
    """Let go of demos that could not be saved: a ReAct's hold all that its tools gave."""
    left = _MOST_OF_DEMOS
    for predictor in predictors:
        for predict in predicts_of(predictor, module.steps[predictor.name]).values():
            kept = []
            for demo, saved in zip(predict.demos, predict.dump_state()["demos"], strict=True):
                size = size_of(saved)
                if size is not None and size <= left:
                    kept.append(demo)
                    left -= size
            predict.demos = kept


def settings_for(model: Any, adapter: str, running: Running) -> Any:
    """Give DSPy's settings for one execution: all that could come from elsewhere, or stay, is said."""
    return dspy.context(
        lm=model,
        adapter=dspy.JSONAdapter() if adapter == "json" else dspy.ChatAdapter(),
        callbacks=[],
        trace=None,
        disable_history=True,
        track_usage=False,
        usage_tracker=None,
        send_stream=None,
        stream_listeners=[],
        caller_modules=None,
        caller_predict=None,
        warn_on_type_mismatch=False,
        **{SETTING: running},
    )


def _apply(predict: Any, state: PredictorState) -> None:
    """Take over what was saved, by name: DSPy's own loading would set whatever the file says."""
    predict.demos = [dict(demo) for demo in state.demos]
    signature = predict.signature
    texts = [
        {"prefix": text.prefix, "description": text.description} for text in state.fields or ()
    ] or signature.dump_state()["fields"]
    instructions = signature.instructions if state.instructions is None else state.instructions
    predict.signature = signature.load_state({"instructions": instructions, "fields": texts})
