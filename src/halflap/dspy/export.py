"""Export a live or compiled DSPy module as a program, and check that both send the same prompts. Imports DSPy."""

from __future__ import annotations

import asyncio
import inspect
import itertools
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import version as version_of
from typing import TYPE_CHECKING, Annotated, Any

import dspy
import pydantic
from pydantic_core import PydanticUndefined

from halflap.core.errors import ProgramBrokenError, UsageError
from halflap.dspy.child.field_types import NotExpressibleError, schema_of
from halflap.dspy.child.modules import Program, plain, state_of
from halflap.dspy.runner import described
from halflap.dspy.spec import Kind, ProgramSpec, read_spec

if TYPE_CHECKING:
    from halflap.core.values import Tool

_KINDS: dict[type, Kind] = {
    dspy.Predict: "Predict",
    dspy.ChainOfThought: "ChainOfThought",
    dspy.ReAct: "ReAct",
}
_ADVICE = "Steps run in the order of the attributes, and fields are wired by equal names unless --wiring says otherwise."


def describe(
    module: Any,
    name: str,
    *,
    tools: Mapping[str, Tool],
    wiring: Mapping[str, Any] | None = None,
    version: str = "1.0.0",
) -> ProgramSpec:
    """Return a module, or an instance of a module's class, as a program; raise everything in it that cannot be saved."""
    if isinstance(module, type) and issubclass(module, dspy.Module):
        try:
            module = module()
        except TypeError as error:
            raise UsageError(
                f"{module.__name__} cannot be instantiated: {error}. Name an instance."
            ) from None
    if not isinstance(module, dspy.Module):
        raise UsageError(f"It is of type {type(module).__name__}. Name an object that is a dspy.Module.")
    problems: list[str] = []
    steps = _steps(module, name, problems)
    predictors = [_predictor(key, step, tools, problems) for key, step in steps.items()]
    if problems:
        raise _refusal(name, problems)
    documented = "" if module in steps.values() else inspect.cleandoc(vars(type(module)).get("__doc__") or "")
    value = {
        "name": name,
        "version": version,
        "description": documented.partition("\n\n")[0],
        "dspy_version": version_of("dspy"),
        "optimizer": "none",
        "validation_score": None,
        "serialized_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "predictors": predictors,
        "wiring": wiring or {},
    }
    try:
        spec = read_spec(json.dumps(value).encode(), name)
        state = state_of(spec, steps)
        spec = read_spec(json.dumps({**value, "state": state}, allow_nan=False).encode(), name)
    except ProgramBrokenError as error:
        raise _refusal(name, list(error.problems)) from None
    except (TypeError, ValueError) as error:
        raise _refusal(name, [f"a demo or a default is not plain JSON: {error}."]) from None
    _compare(module, spec, tools)
    return spec


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
        used = [tool for tool in step.tools if tool != "finish"]
        predictor |= {"tools": used, "max_iterations": step.max_iters}
        problems += [
            f"{name} uses the tool {tool}, which is not in the catalogue. Name it as `halflap list` does."
            for tool in used
            if tool not in tools
        ]
    return predictor


def _field(step: str, name: str, info: Any, problems: list[str]) -> dict[str, Any]:
    extra = info.json_schema_extra
    try:
        schema = schema_of(Annotated[(info.annotation, *info.metadata)] if info.metadata else info.annotation)
    except NotExpressibleError as error:
        problems.append(f"{step}.{name} has a type that cannot be saved: {error}.")
        return {"name": name}
    if info.default is not PydanticUndefined and extra["__dspy_field_type"] == "input":
        schema["default"] = pydantic.TypeAdapter(Any).dump_python(info.default, mode="json", by_alias=True)
    description = "" if extra["desc"] == f"${{{name}}}" else extra["desc"]
    return {"name": name, "description": description, "schema": schema}


def _refusal(name: str, problems: list[str]) -> UsageError:
    unique = list(dict.fromkeys(problems))
    listed = unique[0] if len(unique) == 1 else "".join(f"\n- {problem}" for problem in unique)
    return UsageError(f"The module cannot be exported as {name!r}: {listed}")


# Comparison of prompts --------------------------------------------------------------------------------


def _compare(module: Any, spec: ProgramSpec, tools: Mapping[str, Tool]) -> None:
    """Run both on the same sample values: prompts and outputs have to be the same."""
    program = Program.build(described(spec, tools))
    numbers = itertools.count(1)
    inputs = {field.name: _sample(field.json_schema, numbers) for field in spec.inputs}
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
        saved_asks, saved_returns = _Recorder().run(program, inputs)
        names = [field.name for field in spec.outputs]
        same = all(plain(returned[name]) == plain(saved_returns[name]) for name in names)
    except KeyError as error:
        raise _refusal(spec.name, [f"the module returns no field {error}. {_ADVICE}"]) from None
    except Exception as error:
        reason = f"running it on sample values failed: {type(error).__name__}: {error}. {_ADVICE}"
        raise _refusal(spec.name, [reason]) from error
    for line, other in itertools.zip_longest(asked, saved_asks):
        if line != other:
            reason = f"saved, its prompt would differ: {other!r} instead of {line!r}. {_ADVICE}"
            raise _refusal(spec.name, [reason])
    if not same:
        raise _refusal(spec.name, [f"saved, it would return other values than the module. {_ADVICE}"])


class _Recorder(dspy.ChatAdapter):  # type: ignore[misc]  # DSPy has no types
    """Records prompts line by line as DSPy writes them, and answers with sample values instead of asking."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: list[str] = []
        self._numbers = itertools.count(1_000)

    def run(self, module: Any, inputs: Mapping[str, Any]) -> tuple[list[str], Any]:
        model = dspy.LM("openai/none", api_key="none", cache=False)
        with dspy.context(lm=model, adapter=self, callbacks=[], trace=None, disable_history=True):
            if hasattr(type(module), "forward") and not isinstance(module, Program):
                return self._lines, module(**inputs)
            return self._lines, asyncio.run(module.acall(**inputs))

    def __call__(
        self, lm: Any, lm_kwargs: Any, signature: Any, demos: Any, inputs: Any
    ) -> list[dict[str, Any]]:
        del lm, lm_kwargs
        for message in self.format(signature, demos, inputs):
            for line in f"{message['role']}: {message['content']}".split("\n"):
                # DSPy writes limits in the order in which they were given.
                is_limits = line.startswith("Constraints: ")
                self._lines.append(", ".join(sorted(line.split(", "))) if is_limits else line)
        if "next_tool_name" in signature.output_fields:
            return [{"next_thought": "Enough.", "next_tool_name": "finish", "next_tool_args": {}}]
        outputs = {}
        for name, info in signature.output_fields.items():
            kind = pydantic.TypeAdapter(info.annotation)
            outputs[name] = kind.validate_python(_sample(kind.json_schema(), self._numbers))
        return [outputs]

    async def acall(self, *asked: Any, **named: Any) -> list[dict[str, Any]]:
        return self(*asked, **named)


def _sample(  # noqa: PLR0911 -- one for each kind of type
    schema: Mapping[str, Any], numbers: Iterator[int], definitions: Mapping[str, Any] | None = None
) -> Any:
    """Make a value of a type; texts and numbers are all different where the limits permit."""
    known = schema.get("$defs", {}) if definitions is None else definitions
    match schema:
        case {"$ref": reference}:
            return _sample(known[reference.rpartition("/")[2]], numbers, known)
        case {"anyOf": [first, *_]}:
            return _sample(first, numbers, known)
        case {"const": value}:
            return value
        case {"enum": choices}:
            return choices[next(numbers) % len(choices)]
        case {"type": "object"}:
            parts = schema.get("properties", {"key": schema.get("additionalProperties")})
            return {name: _sample(part or {}, numbers, known) for name, part in parts.items()}
        case {"type": "array"}:
            count = max(1, schema.get("minItems", 1))
            return [_sample(schema.get("items", {}), numbers, known) for _ in range(count)]
        case {"type": "boolean"}:
            return next(numbers) % 2 == 0
        case {"type": "null"}:
            return None
    number = next(numbers)
    if (kind := schema.get("type")) in {"integer", "number"}:
        limited = min(max(number, schema.get("minimum", number)), schema.get("maximum", number))
        return float(limited) if kind == "number" else int(limited)
    # Spaces at the ends, so that stripping them makes a difference.
    return f" text {number} \n".ljust(schema.get("minLength", 0), "x")[: schema.get("maxLength")]
