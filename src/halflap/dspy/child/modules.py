"""Build a DSPy module from a manifest and a cleaned state, and run it."""

from __future__ import annotations

import asyncio
import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import dspy
from dspy.adapters.types.tool import convert_input_schema_to_tool_args

from halflap.dspy.child.model import JOB, Job
from halflap.dspy.child.types import limits_of, python_type
from halflap.dspy.field_values import plain
from halflap.dspy.spec import INPUTS, Manifest, Predictor
from halflap.dspy.state import PredictorState
from halflap.schema import argument_problems, compile_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from halflap.dspy.spec import Field
    from halflap.schema import Validator

__all__ = ["OutputError", "Program", "Steps", "build_steps", "predicts_of", "settings_for"]


class OutputError(Exception):
    """What the model answered is not what the manifest says."""


class CatalogueTool(dspy.Tool):  # type: ignore[misc]  # DSPy has no types
    """A tool of the catalogue, called by the parent process with the caller's context."""

    async def acall(self, /, **arguments: Any) -> str:
        job: Job = dspy.settings.get(JOB)
        return await job.call(job.number, self.name, arguments)

    def __call__(self, /, **arguments: Any) -> str:
        """Call it from a thread, as optimizers do."""
        return asyncio.run_coroutine_threadsafe(self.acall(**arguments), dspy.settings.lm.loop).result()


class Steps(dspy.Module):  # type: ignore[misc]  # as above
    """Predictors in their order, each fed from the inputs or from earlier ones."""

    def __init__(self, steps: Mapping[str, Any], manifest: Manifest) -> None:
        super().__init__()
        self.steps = dict(steps)
        self.sources = {name: _split(manifest.wiring.predictors[name]) for name in steps}
        self.results = _split(manifest.wiring.outputs)

    def forward(self, /, **inputs: Any) -> Any:
        given: dict[str, Any] = {INPUTS: inputs}
        for name, step in self.steps.items():
            given[name] = step(**_taken(self.sources[name], given))
        return dspy.Prediction(**_taken(self.results, given))

    async def aforward(self, /, **inputs: Any) -> Any:
        given: dict[str, Any] = {INPUTS: inputs}
        for name, step in self.steps.items():
            given[name] = await step.acall(**_taken(self.sources[name], given))
        return dspy.Prediction(**_taken(self.results, given))


def _split(sources: Mapping[str, str | None]) -> dict[str, list[str]]:
    return {name: source.split(".") for name, source in sources.items() if source}


def _taken(sources: Mapping[str, list[str]], given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: given[owner][field] for name, (owner, field) in sources.items()}


@dataclass(frozen=True, slots=True)
class Program:
    """A program that can be run any number of times at once."""

    manifest: Manifest
    module: Steps
    validator: Validator | None

    @classmethod
    def build(cls, described: Mapping[str, Any]) -> Program:
        manifest = Manifest.model_validate(described["manifest"])
        state = {key: PredictorState.model_validate(one) for key, one in described["state"].items()}
        module = build_steps(manifest, state, described["tools"])
        return cls(manifest, module, compile_schema(manifest.output_schema))

    async def run(self, inputs: Mapping[str, Any], model: Any, adapter: str, job: Job) -> Any:
        with settings_for(model, adapter, job):
            return await self.module.acall(**inputs)

    def outputs(self, prediction: Mapping[str, Any]) -> dict[str, Any]:
        """Return a prediction as JSON; raise if it is not what the manifest says."""
        outputs = {one.name: plain(prediction[one.name], one.json_schema) for one in self.manifest.outputs}
        problems = [str(problem) for problem in argument_problems(outputs, self.validator)]
        if problems:
            raise OutputError("\n- ".join(["the model's answer does not match the manifest:", *problems]))
        return outputs


def settings_for(model: Any, adapter: str, job: Job) -> Any:
    """Return DSPy's settings for one execution: nothing comes from elsewhere, and nothing is left behind."""
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
        **{JOB: job},
    )


def build_steps(
    manifest: Manifest, state: Mapping[str, PredictorState], tools: Mapping[str, Mapping[str, Any]]
) -> Steps:
    """Build a module; only demos, instructions and field texts of the state get into it."""
    steps = {}
    for predictor in manifest.predictors:
        step = steps[predictor.name] = _step(predictor, tools)
        for key, predict in predicts_of(predictor, step).items():
            if key in state:
                _apply(predict, state[key])
    return Steps(steps, manifest)


def _step(predictor: Predictor, tools: Mapping[str, Mapping[str, Any]]) -> Any:
    inputs = {field.name: _typed(field, dspy.InputField) for field in predictor.inputs}
    outputs = {field.name: _typed(field, dspy.OutputField) for field in predictor.outputs}
    signature = dspy.Signature({**inputs, **outputs}, predictor.instructions)
    if predictor.kind == "ReAct":
        known = [_tool(name, tools[name]) for name in predictor.tools]
        return dspy.ReAct(signature, known, max_iters=predictor.max_iterations)
    return (dspy.Predict if predictor.kind == "Predict" else dspy.ChainOfThought)(signature)


def _typed(field: Field, kind: Callable[..., Any]) -> tuple[Any, Any]:
    settings: dict[str, Any] = limits_of(field.json_schema)
    if "default" in field.json_schema:
        settings["default"] = copy.deepcopy(field.json_schema["default"])
    if field.description:
        settings["desc"] = field.description
    return python_type(field.json_schema, field.name), kind(**settings)


def _tool(name: str, tool: Mapping[str, Any]) -> CatalogueTool:
    schema = dict(tool["schema"])
    try:
        arguments, types, _ = convert_input_schema_to_tool_args(schema)
    except (RecursionError, AttributeError, KeyError, TypeError):
        # A recursive or unusual schema is shown to the model as it is.
        arguments, types = dict(schema.get("properties") or {}), {}

    def unused() -> None:
        """DSPy wants a function; `acall` needs none."""

    return CatalogueTool(unused, name=name, desc=tool["description"], args=arguments, arg_types=types)


def predicts_of(predictor: Predictor, step: Any) -> dict[str, Any]:
    """Return DSPy's own predictors within a step, by their keys in a state."""
    found = {
        "Predict": lambda: [step],
        "ChainOfThought": lambda: [step.predict],
        "ReAct": lambda: [step.react, step.extract.predict],
    }[predictor.kind]()
    return dict(zip(predictor.signatures, found, strict=True))


def _apply(predict: Any, state: PredictorState) -> None:
    """Set what was saved, by name: DSPy's own loading would set whatever the file contains."""
    predict.demos = [demo.model_dump(exclude_unset=True) for demo in state.demos]
    saved = predict.signature.dump_state()
    if state.signature.instructions is not None:
        saved["instructions"] = state.signature.instructions
    if state.signature.fields is not None:
        saved["fields"] = [text.model_dump() for text in state.signature.fields]
    predict.signature = predict.signature.load_state(saved)
