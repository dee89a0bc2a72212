"""Build a DSPy module from a spec, and run it."""

from __future__ import annotations

import asyncio
import pkgutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import dspy
import pydantic
from dspy.adapters.types.tool import convert_input_schema_to_tool_args

from halflap.core.errors import UsageError
from halflap.dspy.child.field_types import limits_of, python_type
from halflap.dspy.child.model import JOB, Job, Model
from halflap.dspy.spec import INPUTS, Field, Predictor, ProgramSpec, State
from halflap.schema import argument_problems


class OutputError(Exception):
    """The model's answer does not match the spec."""


class CatalogueTool(dspy.Tool):  # type: ignore[misc]  # DSPy has no types
    """A tool of the catalogue, called by the parent process with the caller's context."""

    async def acall(self, /, **arguments: Any) -> str:
        job: Job = dspy.settings.get(JOB)
        return await job.call(job.number, self.name, arguments)


class Program(dspy.Module):  # type: ignore[misc]  # as above
    """Predictors in their order, each fed from the inputs or from earlier ones; can run concurrently."""

    def __init__(self, spec: ProgramSpec, tools: Mapping[str, Mapping[str, Any]]) -> None:
        super().__init__()
        self.spec = spec
        self.steps = {predictor.name: _step(predictor, tools) for predictor in spec.predictors}
        for predictor in spec.predictors:
            for key, predict in _predicts_of(predictor, self.steps[predictor.name]).items():
                state = spec.state.get(key, State())
                predict.demos = [dict(demo) for demo in state.demos]
                if state.instructions is not None:
                    predict.signature = predict.signature.with_instructions(state.instructions)

    @classmethod
    def build(cls, described: Mapping[str, Any]) -> Program:
        return cls(ProgramSpec.model_validate(described["spec"]), described["tools"])

    async def aforward(self, /, **inputs: Any) -> Any:
        values = {f"{INPUTS}.{name}": value for name, value in inputs.items()}
        for name, step in self.steps.items():
            sources = self.spec.flow.predictors[name]
            found = await step.acall(**{field: values[source] for field, source in sources.items()})
            values |= {f"{name}.{field}": value for field, value in found.items()}
        return dspy.Prediction(**{name: values[source] for name, source in self.spec.flow.results.items()})

    def forward(self, /, **inputs: Any) -> Any:
        """Run on the event loop of the model; optimizers call this from their threads."""
        return asyncio.run_coroutine_threadsafe(self.aforward(**inputs), dspy.settings.lm.loop).result()

    async def run(self, inputs: Mapping[str, Any], model: Model, job: Job) -> Any:
        with settings_for(model, job):
            return await self.acall(**self.with_defaults(inputs))

    def with_defaults(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        return {
            field.name: inputs[field.name] if field.name in inputs else field.json_schema["default"]
            for field in self.spec.inputs
        }

    def outputs(self, prediction: Mapping[str, Any]) -> dict[str, Any]:
        """Return a prediction as JSON; raise if it does not match the spec."""
        outputs = {
            field.name: _null_read(plain(prediction[field.name]), field.json_schema)
            for field in self.spec.outputs
        }
        if problems := [str(problem) for problem in argument_problems(outputs, self.spec.output_validator)]:
            raise OutputError("\n- ".join(["the model's answer does not match the spec:", *problems]))
        return outputs

    def state(self) -> dict[str, Any]:
        return state_of(self.spec, self.steps)


def settings_for(model: Model, job: Job) -> Any:
    return dspy.context(
        lm=model,
        adapter=dspy.JSONAdapter() if model.config.adapter == "json" else dspy.ChatAdapter(),
        trace=None,
        disable_history=True,
        warn_on_type_mismatch=False,
        **{JOB: job},
    )


def plain(value: Any) -> Any:
    """Return an output as JSON, without the fields that the model left out."""
    return pydantic.TypeAdapter(Any).dump_python(value, mode="json", by_alias=True, exclude_unset=True)


def _null_read(value: Any, schema: Mapping[str, Any]) -> Any:
    """Return None for the text `null`, as DSPy's chat form returns it, if the type permits."""
    kinds = schema.get("type", [part.get("type") for part in schema.get("anyOf", ())])
    return None if value in ("null", "None") and "null" in kinds else value


def _step(predictor: Predictor, tools: Mapping[str, Mapping[str, Any]]) -> Any:
    inputs = {field.name: _typed_field(field, dspy.InputField) for field in predictor.inputs}
    outputs = {field.name: _typed_field(field, dspy.OutputField) for field in predictor.outputs}
    signature = dspy.Signature({**inputs, **outputs}, predictor.instructions)
    if predictor.kind == "ReAct":
        known = [_tool(name, tools[name]) for name in predictor.tools]
        return dspy.ReAct(signature, known, max_iters=predictor.max_iterations)
    return getattr(dspy, predictor.kind)(signature)


def _typed_field(field: Field, kind: Callable[..., Any]) -> tuple[Any, Any]:
    settings: dict[str, Any] = limits_of(field.json_schema)
    if "default" in field.json_schema:
        settings["default"] = field.json_schema["default"]
    if field.description:
        settings["desc"] = field.description
    return python_type(field.json_schema, field.name), kind(**settings)


def _tool(name: str, tool: Mapping[str, Any]) -> CatalogueTool:
    schema = dict(tool["schema"])
    try:
        arguments, types, _ = convert_input_schema_to_tool_args(schema)
    except (RecursionError, AttributeError, KeyError, TypeError):
        # A recursive or unusual schema is passed to the model unchanged.
        arguments, types = dict(schema.get("properties") or {}), {}
    # DSPy wants a function; `acall` needs none.
    return CatalogueTool(lambda: None, name=name, desc=tool["description"], args=arguments, arg_types=types)


def _predicts_of(predictor: Predictor, step: Any) -> dict[str, Any]:
    """Return DSPy's own predictors within a step, by their keys in a state."""
    found = [predict for _, predict in step.named_predictors()]
    return dict(zip(predictor.signatures, found, strict=True))


def state_of(spec: ProgramSpec, steps: Mapping[str, Any]) -> dict[str, Any]:
    """Return demos and instructions of a module's predictors, without what an optimizer noted for itself."""
    states = {}
    for predictor in spec.predictors:
        for key, predict in _predicts_of(predictor, steps[predictor.name]).items():
            state, kept = predict.dump_state(), {*predictor.signatures[key], "augmented"}
            demos = [{name: part for name, part in demo.items() if name in kept} for demo in state["demos"]]
            states[key] = {"demos": demos, "instructions": state["signature"]["instructions"]}
    return states


def load_object(name: str, folder: Path) -> Any:
    """Import `module:object`, from this folder first. This runs the module."""
    module, _, path = name.partition(":")
    if not module or not path:
        raise UsageError(
            f"{name!r} does not name an object. Write `module:object`, such as `my_programs:triage`."
        )
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    try:
        return pkgutil.resolve_name(name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise UsageError(f"{name} cannot be imported: {type(error).__name__}: {error}") from error
