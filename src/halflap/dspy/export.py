"""Write a live or compiled DSPy module as a program of the library, and check that both ask the model the same. Imports DSPy."""

from __future__ import annotations

import asyncio
import inspect
import json
import random
import string
from datetime import UTC, datetime
from importlib.metadata import version as version_of
from typing import TYPE_CHECKING, Annotated, Any

import dspy
import pydantic
from dspy.signatures.field import PYDANTIC_CONSTRAINT_MAP
from pydantic_core import PydanticUndefined

from halflap.core.errors import ProgramBrokenError, ProgramInputsError, UsageError
from halflap.dspy.child.modules import build_steps, predicts_of
from halflap.dspy.child.types import LIMITS, NotExpressibleError, schema_of
from halflap.dspy.field_values import check_inputs, plain
from halflap.dspy.manifest import MANIFEST, read_manifest
from halflap.dspy.state import read_state

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.core.values import Tool
    from halflap.dspy.library import Library, Stored
    from halflap.dspy.spec import Kind, Manifest
    from halflap.dspy.state import State

__all__ = ["describe", "export"]

_KINDS: dict[type, Kind] = {
    dspy.Predict: "Predict",
    dspy.ChainOfThought: "ChainOfThought",
    dspy.ReAct: "ReAct",
}
_COMPARED = 3
"""How many made-up inputs both are compared on."""


def export(
    module: Any,
    name: str,
    library: Library,
    *,
    tools: Mapping[str, Tool],
    wiring: Mapping[str, Any] | None = None,
    **facts: Any,
) -> Stored:
    """Save a module as a new program, or as a further version of one."""
    return library.save(*describe(module, name, tools=tools, wiring=wiring, **facts))


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
    predictors = [_predictor(step, one, tools, problems) for step, one in steps.items()]
    if problems:
        raise _refusal(name, problems)
    documented = (
        inspect.cleandoc(vars(type(module)).get("__doc__") or "") if module not in steps.values() else ""
    )
    value = {
        "name": name,
        "version": version,
        "description": description or documented.partition("\n\n")[0] or predictors[0]["instructions"],
        "dspy_version": version_of("dspy"),
        "optimizer": optimizer,
        "validation_score": validation_score,
        "serialized_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "predictors": predictors,
        "wiring": wiring or {},
    }
    try:
        manifest = read_manifest(json.dumps(value).encode(), name=name)
        if module not in steps.values():
            manifest = _with_defaults(manifest, module)
        saved = {
            key: {**predict.dump_state(), "lm": None, "train": [], "traces": []}
            for predictor in manifest.predictors
            for key, predict in predicts_of(predictor, steps[predictor.name]).items()
        }
        state = read_state(json.dumps(saved, allow_nan=False).encode(), manifest)
    except ProgramBrokenError as error:
        raise _refusal(name, [one.removeprefix(f"{MANIFEST}: ") for one in error.problems]) from None
    except (TypeError, ValueError) as error:
        raise _refusal(name, [f"a demo or a default is not plain JSON: {error}."]) from None
    _compare(module, manifest, state, tools)
    return manifest, state


def _steps(module: Any, name: str, problems: list[str]) -> dict[str, Any]:
    """Return the steps: the module itself, or its attributes in the order in which they were set."""
    if type(module) in _KINDS:
        return {name: module}
    steps = {attribute: one for attribute, one in vars(module).items() if type(one) in _KINDS}
    known = {id(predict) for one in steps.values() for _, predict in one.named_predictors()}
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
    for _, predict in step.named_predictors():
        if predict.lm is not None or predict.config or predict.callbacks:
            problems.append(
                f"{name} has a model, model settings or its own callbacks; `programs.lm` sets these for all."
            )
    found = {
        "name": name,
        "kind": kind,
        "instructions": signature.instructions,
        "inputs": [_field(name, one, info, problems) for one, info in signature.input_fields.items()],
        "outputs": [_field(name, one, info, problems) for one, info in signature.output_fields.items()],
    }
    if kind == "ReAct":
        found |= {"tools": [one for one in step.tools if one != "finish"], "max_iterations": step.max_iters}
        problems += [
            f"{name} uses the tool {one}, which is not in the catalogue. Name it as `halflap list` does."
            for one in found["tools"]
            if one not in tools
        ]
    return found


def _field(step: str, name: str, info: Any, problems: list[str]) -> dict[str, Any]:
    extra = info.json_schema_extra
    described = "" if extra["desc"] == f"${{{name}}}" else extra["desc"]
    try:
        annotation = Annotated[(info.annotation, *info.metadata)] if info.metadata else info.annotation
        schema = schema_of(annotation)
    except NotExpressibleError as error:
        problems.append(f"{step}.{name} has a type that a manifest cannot express: {error}.")
        return {"name": name}
    # In the order in which DSPy mentions limits.
    told = extra.get("constraints") or ""
    limits = sorted(
        schema.keys() & LIMITS.keys(), key=lambda key: told.find(PYDANTIC_CONSTRAINT_MAP[LIMITS[key]])
    )
    schema = {key: one for key, one in schema.items() if key not in LIMITS} | {
        key: schema[key] for key in limits
    }
    if info.default is not PydanticUndefined and extra["__dspy_field_type"] == "input":
        schema["default"] = pydantic.TypeAdapter(Any).dump_python(info.default, mode="json", by_alias=True)
    return {"name": name, "description": described, "schema": schema}


def _with_defaults(manifest: Manifest, module: Any) -> Manifest:
    """Add the defaults of `forward`, whose parameters have to be the program's inputs."""
    function = getattr(type(module), "forward", None) or type(module).aforward
    parameters = list(inspect.signature(function).parameters.values())[1:]
    names, needed = {one.name for one in parameters}, {field.name for field in manifest.inputs}
    if names != needed and all(one.kind not in {one.VAR_KEYWORD, one.VAR_POSITIONAL} for one in parameters):
        takes, need = ", ".join(sorted(names)), ", ".join(sorted(needed))
        told = f"`forward` takes {takes}, but wired by equal names its steps need {need}. Give the wiring with --wiring."
        raise _refusal(manifest.name, [told])
    defaults = {one.name: one.default for one in parameters if one.default is not one.empty}
    inputs = [
        field.model_copy(update={"json_schema": {**field.json_schema, "default": defaults[field.name]}})
        if field.name in defaults
        else field
        for field in manifest.inputs
    ]
    value = json.loads(
        manifest.model_copy(update={"inputs": tuple(inputs)}).model_dump_json(
            by_alias=True, exclude_unset=True
        )
    )
    return read_manifest(json.dumps(value).encode(), name=manifest.name)


# Both ask the same ------------------------------------------------------------------------------------


def _compare(module: Any, manifest: Manifest, state: State, tools: Mapping[str, Tool]) -> None:
    """Run both on the same made-up values: prompts and outputs have to be the same, letter by letter."""
    described = {
        name: {"description": tools[name].description, "schema": dict(tools[name].input_schema)}
        for name in manifest.tools
    }
    rebuilt = build_steps(manifest, state.predictors, described)
    advice = "Steps run in the order of the attributes, and fields are wired by equal names unless --wiring says otherwise."
    types = {
        name: info.annotation
        for _, predict in module.named_predictors()
        for name, info in predict.signature.input_fields.items()
    }
    for seed in range(_COMPARED):
        dice = random.Random(seed)  # noqa: S311 -- no secret
        inputs = {field.name: _sample(field.json_schema, dice) for field in manifest.inputs}
        try:
            typed = {
                name: pydantic.TypeAdapter(types.get(name, Any)).validate_python(one)
                if isinstance(one, dict | list)
                else one
                for name, one in inputs.items()
            }
            ours = _Recorder(seed).run(rebuilt, check_inputs(manifest, inputs))
            theirs = _Recorder(seed).run(module, typed)
            returned = {one.name: plain(theirs[1][one.name], one.json_schema) for one in manifest.outputs}
        except KeyError as error:
            raise _refusal(manifest.name, [f"the module returns no field {error}. {advice}"]) from None
        except ProgramInputsError as error:
            raise _refusal(manifest.name, [str(error)]) from None
        except Exception as error:
            told = f"running it on made-up values failed: {type(error).__name__}: {error}. {advice}"
            raise _refusal(manifest.name, [told]) from error
        if theirs[0] != ours[0]:
            raise _refusal(
                manifest.name,
                [f"saved, it would ask something else. {_difference(theirs[0], ours[0])} {advice}"],
            )
        if returned != {one.name: plain(ours[1][one.name], one.json_schema) for one in manifest.outputs}:
            raise _refusal(manifest.name, [f"saved, it would return other values than the module. {advice}"])


class _Recorder(dspy.ChatAdapter):  # type: ignore[misc]  # DSPy has no types
    """Records prompts as DSPy writes them, and answers with made-up values instead of asking."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._prompts: list[Any] = []
        self._dice = random.Random(seed)  # noqa: S311 -- no secret

    def run(self, module: Any, inputs: Mapping[str, Any]) -> tuple[list[Any], Any]:
        model = dspy.LM("openai/none", api_key="none", cache=False)
        with dspy.context(
            lm=model,
            adapter=self,
            callbacks=[],
            trace=None,
            disable_history=True,
            warn_on_type_mismatch=False,
        ):
            if hasattr(type(module), "forward"):
                return self._prompts, module(**inputs)
            return self._prompts, asyncio.run(module.acall(**inputs))

    def __call__(
        self, lm: Any, lm_kwargs: Any, signature: Any, demos: Any, inputs: Any
    ) -> list[dict[str, Any]]:
        del lm, lm_kwargs
        self._prompts.append(self.format(signature, demos, inputs))
        if "next_tool_name" in signature.output_fields:
            return [{"next_thought": "Enough.", "next_tool_name": "finish", "next_tool_args": {}}]
        return [
            {
                name: pydantic.TypeAdapter(info.annotation).validate_python(
                    _sample(schema_of(info.annotation), self._dice)
                )
                for name, info in signature.output_fields.items()
            }
        ]

    async def acall(
        self, lm: Any, lm_kwargs: Any, signature: Any, demos: Any, inputs: Any
    ) -> list[dict[str, Any]]:
        return self(lm, lm_kwargs, signature, demos, inputs)


def _sample(schema: Mapping[str, Any], dice: random.Random) -> Any:  # noqa: PLR0911 -- one per type
    """Return a value of a field's type that is unlikely to occur twice."""
    if "const" in schema or "enum" in schema:
        return dice.choice(schema.get("enum") or [schema["const"]])
    kinds = schema.get("type", "string")
    match kinds[0] if isinstance(kinds, list) else kinds:
        case "integer":
            low = int(schema.get("minimum", schema.get("maximum", 10**6) - 10**6))
            return dice.randint(low, int(schema.get("maximum", low + 10**6)))
        case "number":
            low = schema.get("minimum", schema.get("maximum", 1000) - 1000)
            return dice.uniform(low, schema.get("maximum", low + 1000))
        case "boolean":
            return dice.random() < 0.5  # noqa: PLR2004
        case "array":
            count = max(schema.get("minItems", 0), min(2, schema.get("maxItems", 2)))
            return [_sample(schema.get("items", {}), dice) for _ in range(count)]
        case "object":
            more = schema.get("additionalProperties")
            others = (
                {}
                if "properties" in schema
                else {"key": _sample(more if isinstance(more, dict) else {}, dice)}
            )
            return {name: _sample(one, dice) for name, one in schema.get("properties", {}).items()} | others
        case "null":
            return None
    size = max(schema.get("minLength", 0), min(24, schema.get("maxLength", 24)))
    # Ragged ends, so that stripping shows.
    letters = [dice.choice(string.ascii_letters + " ") for _ in range(size)]
    return "".join([*letters[:-1], "\n"] if size > 1 else letters)


def _difference(theirs: list[Any], ours: list[Any]) -> str:
    if len(theirs) != len(ours):
        return f"It would ask {len(ours)} times instead of {len(theirs)}."
    for prompt, own in zip(theirs, ours, strict=True):
        for one, other in zip(map(str, prompt), map(str, own), strict=False):
            if one != other:
                at = next(at for at in range(len(one)) if one[: at + 1] != other[: at + 1])
                begin = max(0, at - 40)
                return f"The module: …{one[begin : at + 60]!r}. Saved: …{other[begin : at + 60]!r}."
    return "The demos differ."


def _refusal(name: str, problems: list[str]) -> UsageError:
    each = list(dict.fromkeys(problems))
    told = each[0] if len(each) == 1 else "".join(f"\n- {one}" for one in each)
    return UsageError(f"It cannot be saved as the DSPy program {name!r}: {told}")
