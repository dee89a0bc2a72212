"""Write a live or compiled DSPy module as a program of the library, and check that both ask the model the same. Imports DSPy."""

from __future__ import annotations

import asyncio
import inspect
import itertools
import json
from datetime import UTC, datetime
from importlib.metadata import version as version_of
from typing import TYPE_CHECKING, Annotated, Any

import dspy
import pydantic
from dspy.signatures.field import PYDANTIC_CONSTRAINT_MAP
from pydantic_core import PydanticUndefined

from halflap.core.errors import ProgramBrokenError, UsageError
from halflap.dspy.child.modules import Program, plain, saved_state
from halflap.dspy.child.types import LIMITS, NotExpressibleError, schema_of
from halflap.dspy.manifest import MANIFEST, read_manifest
from halflap.dspy.runner import described
from halflap.dspy.state import read_state

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from halflap.core.values import Tool
    from halflap.dspy.library import Library, SavedProgram
    from halflap.dspy.manifest import Kind, Manifest
    from halflap.dspy.state import State

__all__ = ["describe", "export"]

_KINDS: dict[type, Kind] = {
    dspy.Predict: "Predict",
    dspy.ChainOfThought: "ChainOfThought",
    dspy.ReAct: "ReAct",
}
_ADVICE = "Steps run in the order of the attributes, and fields are wired by equal names unless --wiring says otherwise."


def export(
    module: Any, name: str, library: Library, *, tools: Mapping[str, Tool], **facts: Any
) -> SavedProgram:
    """Save a module as a new program, or as a further version of one."""
    return library.save(*describe(module, name, tools=tools, **facts))


def describe(
    module: Any,
    name: str,
    *,
    tools: Mapping[str, Tool],
    wiring: Mapping[str, Any] | None = None,
    version: str = "1.0.0",
    description: str = "",
    optimizer: str = "none",
    validation_score: float | None = None,
) -> tuple[Manifest, State]:
    """Return a module as manifest and state; raise everything in it that they cannot express."""
    if not isinstance(module, dspy.Module):
        raise UsageError(f"This is a {type(module).__name__}. Name an object that is a dspy.Module.")
    problems: list[str] = []
    steps = _steps(module, name, problems)
    predictors = [_predictor(key, step, tools, problems) for key, step in steps.items()]
    if problems:
        raise _refusal(name, problems)
    is_step = module in steps.values()
    documented = "" if is_step else inspect.cleandoc(vars(type(module)).get("__doc__") or "")
    value = {
        "name": name,
        "version": version,
        "description": description or documented.partition("\n\n")[0],
        "dspy_version": version_of("dspy"),
        "optimizer": optimizer,
        "validation_score": validation_score,
        "serialized_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "predictors": predictors,
        "wiring": wiring or {},
    }
    try:
        manifest = read_manifest(json.dumps(value).encode(), name=name)
        if not is_step:
            manifest = _with_defaults(manifest, module)
        saved = saved_state(manifest, steps)
        state = read_state(json.dumps(saved, allow_nan=False).encode(), manifest)
    except ProgramBrokenError as error:
        raise _refusal(name, [problem.removeprefix(f"{MANIFEST}: ") for problem in error.problems]) from None
    except (TypeError, ValueError) as error:
        raise _refusal(name, [f"a demo or a default is not plain JSON: {error}."]) from None
    _compare(module, manifest, state, tools)
    return manifest, state


def _steps(module: Any, name: str, problems: list[str]) -> dict[str, Any]:
    """Return the steps: the module itself, or its attributes in the order in which they were set."""
    if type(module) in _KINDS:
        return {name: module}
    steps = {attribute: step for attribute, step in vars(module).items() if type(step) in _KINDS}
    known = {id(predict) for step in steps.values() for _, predict in step.named_predictors()}
    problems += [
        f"{path} is not a step of the module itself. Steps are dspy.Predict, dspy.ChainOfThought and dspy.ReAct objects that "
        "are attributes of the module; no subclasses, no other modules, no lists."
        for path, predict in module.named_predictors()
        if id(predict) not in known
    ]
    if not steps and not problems:
        problems.append("it has no dspy.Predict, dspy.ChainOfThought or dspy.ReAct as an attribute.")
    return steps


def _predictor(name: str, step: Any, tools: Mapping[str, Tool], problems: list[str]) -> dict[str, Any]:
    kind = _KINDS[type(step)]
    signature = step.signature if kind != "ChainOfThought" else step.predict.signature.delete("reasoning")
    if any(predict.lm or predict.config or predict.callbacks for _, predict in step.named_predictors()):
        problems.append(
            f"{name} has a model, model settings or its own callbacks; `programs.lm` sets these for all."
        )
    predictor = {
        "name": name,
        "kind": kind,
        "instructions": signature.instructions,
        "inputs": [_field(name, key, info, problems) for key, info in signature.input_fields.items()],
        "outputs": [_field(name, key, info, problems) for key, info in signature.output_fields.items()],
    }
    if kind == "ReAct":
        predictor |= {
            "tools": [tool for tool in step.tools if tool != "finish"],
            "max_iterations": step.max_iters,
        }
        problems += [
            f"{name} uses the tool {tool}, which is not in the catalogue. Name it as `halflap list` does."
            for tool in predictor["tools"]
            if tool not in tools
        ]
    return predictor


def _field(step: str, name: str, info: Any, problems: list[str]) -> dict[str, Any]:
    extra = info.json_schema_extra
    try:
        schema = schema_of(Annotated[(info.annotation, *info.metadata)] if info.metadata else info.annotation)
    except NotExpressibleError as error:
        problems.append(f"{step}.{name} has a type that a manifest cannot express: {error}.")
        return {"name": name}
    # Limits last, in the order in which DSPy mentions them.
    mentioned = extra.get("constraints") or ""
    order = {
        key: mentioned.find(PYDANTIC_CONSTRAINT_MAP[LIMITS[key]]) for key in schema.keys() & LIMITS.keys()
    }
    schema = dict(sorted(schema.items(), key=lambda item: order.get(item[0], -2)))
    if info.default is not PydanticUndefined and extra["__dspy_field_type"] == "input":
        schema["default"] = pydantic.TypeAdapter(Any).dump_python(info.default, mode="json", by_alias=True)
    description = "" if extra["desc"] == f"${{{name}}}" else extra["desc"]
    return {"name": name, "description": description, "schema": schema}


def _with_defaults(manifest: Manifest, module: Any) -> Manifest:
    """Add the defaults of `forward` to the program's inputs."""
    function = getattr(type(module), "forward", None) or type(module).aforward
    parameters = inspect.signature(function).parameters
    value = manifest.model_dump(mode="json", by_alias=True, exclude_unset=True)
    for field in value["inputs"]:
        parameter = parameters.get(field["name"])
        if parameter is not None and parameter.default is not parameter.empty:
            field["schema"] = {**field.get("schema", {"type": "string"}), "default": parameter.default}
    return read_manifest(json.dumps(value).encode(), name=manifest.name)


# Both ask the same ------------------------------------------------------------------------------------


def _compare(module: Any, manifest: Manifest, state: State, tools: Mapping[str, Tool]) -> None:
    """Run both on the same sample values: prompts and outputs have to be the same."""
    program = Program.build(
        {
            "manifest": manifest.model_dump(mode="json", by_alias=True, exclude_unset=True),
            "state": state.as_json(),
            "tools": {name: described(tools[name]) for name in manifest.tools},
        }
    )
    numbers = itertools.count(1)
    inputs = {field.name: _sample(field.json_schema, numbers) for field in manifest.inputs}
    types = {
        name: info.annotation
        for _, predict in module.named_predictors()
        for name, info in predict.signature.input_fields.items()
    }
    try:
        typed = {
            name: pydantic.TypeAdapter(types.get(name, Any)).validate_python(value)
            for name, value in inputs.items()
        }
        asked, returned = _Recorder().run(module, typed)
        saved_asks, saved_returns = _Recorder().run(program.module, inputs)
        same = all(
            plain(returned[field.name], field.json_schema)
            == plain(saved_returns[field.name], field.json_schema)
            for field in manifest.outputs
        )
    except KeyError as error:
        raise _refusal(manifest.name, [f"the module returns no field {error}. {_ADVICE}"]) from None
    except Exception as error:
        told = f"running it on sample values failed: {type(error).__name__}: {error}. {_ADVICE}"
        raise _refusal(manifest.name, [told]) from error
    for line, other in itertools.zip_longest(asked, saved_asks):
        if line != other:
            told = f"saved, it would ask something else: {other!r} instead of {line!r}. {_ADVICE}"
            raise _refusal(manifest.name, [told])
    if not same:
        raise _refusal(manifest.name, [f"saved, it would return other values than the module. {_ADVICE}"])


class _Recorder(dspy.ChatAdapter):  # type: ignore[misc]  # DSPy has no types
    """Records prompts line by line as DSPy writes them, and answers with sample values instead of asking."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: list[str] = []
        self._numbers = itertools.count(1_000)

    def run(self, module: Any, inputs: Mapping[str, Any]) -> tuple[list[str], Any]:
        model = dspy.LM("openai/none", api_key="none", cache=False)
        with dspy.context(lm=model, adapter=self, callbacks=[], trace=None, disable_history=True):
            if hasattr(type(module), "forward"):
                return self._lines, module(**inputs)
            return self._lines, asyncio.run(module.acall(**inputs))

    def __call__(
        self, lm: Any, lm_kwargs: Any, signature: Any, demos: Any, inputs: Any
    ) -> list[dict[str, Any]]:
        del lm, lm_kwargs
        for message in self.format(signature, demos, inputs):
            self._lines += f"{message['role']}: {message['content']}".split("\n")
        if "next_tool_name" in signature.output_fields:
            return [{"next_thought": "Enough.", "next_tool_name": "finish", "next_tool_args": {}}]
        outputs = {name: info.annotation for name, info in signature.output_fields.items()}
        return [
            {
                name: pydantic.TypeAdapter(kind).validate_python(_sample(schema_of(kind), self._numbers))
                for name, kind in outputs.items()
            }
        ]

    async def acall(
        self, lm: Any, lm_kwargs: Any, signature: Any, demos: Any, inputs: Any
    ) -> list[dict[str, Any]]:
        return self(lm, lm_kwargs, signature, demos, inputs)


def _sample(schema: Mapping[str, Any], numbers: Iterator[int]) -> Any:
    """Return a value of a field's type; texts and numbers are all different where the limits permit."""
    number = next(numbers)
    if choices := schema.get("enum", [schema["const"]] if "const" in schema else []):
        return choices[number % len(choices)]
    kind = schema["type"] if isinstance(schema["type"], str) else schema["type"][0]
    if kind == "object":
        others = schema.get("additionalProperties")
        any_key = {"key": others if isinstance(others, dict) else {"type": "string"}}
        return {name: _sample(part, numbers) for name, part in schema.get("properties", any_key).items()}
    if kind == "array":
        item = schema.get("items", {"type": "string"})
        return [_sample(item, numbers) for _ in range(max(1, schema.get("minItems", 1)))]
    if kind in {"integer", "number"}:
        limited = min(max(number, schema.get("minimum", number)), schema.get("maximum", number))
        return int(limited) if kind == "integer" else float(limited)
    if kind in {"boolean", "null"}:
        return None if kind == "null" else number % 2 == 0
    # Ragged ends, so that stripping shows.
    return f" text {number} \n".ljust(schema.get("minLength", 0), "x")[: schema.get("maxLength")]


def _refusal(name: str, problems: list[str]) -> UsageError:
    unique = list(dict.fromkeys(problems))
    listed = unique[0] if len(unique) == 1 else "".join(f"\n- {problem}" for problem in unique)
    return UsageError(f"The module cannot be exported as {name!r}: {listed}")
