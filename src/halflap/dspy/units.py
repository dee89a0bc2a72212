"""The steps of a live DSPy module, as far as a manifest can say them. Imports DSPy, as `building` does."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import dspy
from dspy.signatures.field import PYDANTIC_CONSTRAINT_MAP
from pydantic_core import PydanticUndefined

from halflap.dspy.field_types import NotSayableError, default_of, limits_for, limits_in, schema_of
from halflap.dspy.fields import RESERVED
from halflap.dspy.parts import REASONING, Field, Kind, Predictor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from halflap.core.values import Tool

__all__ = ["Unit", "find_units"]

_KINDS: dict[type, Kind] = {
    dspy.Predict: "Predict",
    dspy.ChainOfThought: "ChainOfThought",
    dspy.ReAct: "ReAct",
}


@dataclass(frozen=True, slots=True)
class Unit:
    """One step: DSPy's module, and what the manifest says of it."""

    module: Any
    predictor: Predictor
    types: Mapping[str, Any]
    """The types of its inputs and of what it gives, by name."""

    @property
    def given(self) -> dict[str, Field]:
        """What can be taken from it."""
        implicit = (REASONING,) if self.predictor.kind == "ChainOfThought" else ()
        return {field.name: field for field in (*implicit, *self.predictor.outputs)}


def find_units(
    module: Any, name: str, tool: Callable[[str], Tool | None], problems: list[str]
) -> dict[int, Unit]:
    """Give the steps in a module by their identities; what cannot be said of them is noted."""
    units: dict[int, Unit] = {}
    names: set[str] = set()
    for path, one in _modules(module, ""):
        if id(one) in units:
            continue
        said = _name(path) or name
        base = _base_of(one)
        if base is None:
            problems.append(
                f"`{path or type(one).__name__}` is a {type(one).__name__}: a manifest has {', '.join(_KINDS.values())}, "
                "and no other kind of step."
            )
            continue
        kind = _KINDS[base]
        own = _own_code(type(one), base)
        if own:
            problems.append(
                f"{f'`{path}`' if path else 'it'} is a {type(one).__name__}, a {kind} with code of its own ({', '.join(own)}): a "
                f"manifest has {kind} as it is in DSPy. Make it a dspy.Module that has a dspy.{kind} as an attribute, and calls it."
            )
            continue
        while said in names:
            said += "_"
        names.add(said)
        unit = _unit(one, said, kind, tool, problems)
        if unit is not None:
            units[id(one)] = unit
    return units


def _base_of(module: Any) -> type | None:
    """Give the step of DSPy's that a module is, or that its class is made from by whoever wrote it."""
    if _is_of_dspy(type(module)):
        return type(module) if type(module) in _KINDS else None
    return next((base for base in _KINDS if isinstance(module, base)), None)


def _is_of_dspy(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == "dspy"


def _own_code(kind: type, base: type) -> list[str]:
    """Give what a class does otherwise than the step that it is made from. How it is made shows in what it is then."""
    own = kind.__mro__[: kind.__mro__.index(base)]
    return [
        f"`{name}`{_line(value)}"
        for one in own
        if not _is_of_dspy(one)
        for name, value in vars(one).items()
        if name != "__init__" and (inspect.isroutine(value) or isinstance(value, property))
    ]


def _line(function: Any) -> str:
    code = getattr(inspect.unwrap(function), "__code__", None) if callable(function) else None
    return "" if code is None else f", line {code.co_firstlineno}"


def _name(path: str) -> str:
    return re.sub(r"\W+", "_", path).strip("_").lower()


def _modules(module: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Give the steps within a module: those of DSPy's, and of modules of the user's own what is in them."""
    if _base_of(module) is not None or _is_of_dspy(type(module)):
        yield path, module
        return
    for name, value in vars(module).items():
        inner = f"{path}.{name}" if path else name
        for where, one in _entries(inner, value):
            if isinstance(one, dspy.Module):
                yield from _modules(one, where)


def _entries(path: str, value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, (list, tuple)):
        return [(f"{path}[{at}]", one) for at, one in enumerate(value)]
    if isinstance(value, dict):
        return [(f"{path}[{key}]", one) for key, one in value.items()]
    return [(path, value)]


def _unit(
    module: Any, name: str, kind: Kind, tool: Callable[[str], Tool | None], problems: list[str]
) -> Unit | None:
    before = len(problems)
    match kind:
        case "Predict":
            predicts, signature = [module], module.signature
        case "ChainOfThought":
            predicts, signature = [module.predict], module.predict.signature
            if signature.output_fields["reasoning"].annotation is not str:
                problems.append(f"`{name}.reasoning` has a type of its own: in a manifest it is text.")
            signature = signature.delete("reasoning")
        case "ReAct":
            predicts, signature = [module.react, module.extract.predict], module.signature
    _check_settings(name, predicts, problems)
    if module not in predicts and module.callbacks:
        problems.append(f"`{name}` has callbacks of its own, which a manifest cannot say.")
    tools: tuple[str, ...] = ()
    if kind == "ReAct":
        tools = tuple(one for one in module.tools if one != "finish")
        problems.extend(
            f"`{name}` uses the tool `{one}`, which is not in the catalogue. Name it as `halflap list` does: "
            "`mcp__<server>__<tool>`."
            for one in tools
            if tool(one) is None
        )
    inputs = _fields(name, signature.input_fields, problems, given=True)
    outputs = _fields(name, signature.output_fields, problems)
    if len(problems) > before:
        return None
    most = {"max_iterations": module.max_iters} if kind == "ReAct" else {}
    predictor = Predictor(name, kind, signature.instructions, inputs, outputs, tools, **most)
    types = {key: field.annotation for key, field in signature.fields.items()}
    return Unit(module, predictor, {"reasoning": str, **types})


def _check_settings(name: str, predicts: list[Any], problems: list[str]) -> None:
    """Note what a step says of the model, which a manifest leaves to the configuration."""
    for predict in predicts:
        if predict.callbacks:
            problems.append(f"`{name}` has callbacks of its own, which a manifest cannot say.")
        if predict.config:
            told = ", ".join(sorted(predict.config))
            problems.append(
                f"`{name}` has settings of the model of its own ({told}): those are said under `programs.lm`, for all."
            )
        if predict.lm is not None:
            problems.append(
                f"`{name}` has a model of its own ({getattr(predict.lm, 'model', type(predict.lm).__name__)}): that is said under "
                "`programs.lm`, for all."
            )
        if predict.fields:
            problems.append(f"`{name}` has criteria for its fields, which a manifest cannot say.")


def _fields(
    unit: str, found: Mapping[str, Any], problems: list[str], *, given: bool = False
) -> tuple[Field, ...]:
    fields = []
    for name, info in found.items():
        if name in RESERVED:
            problems.append(
                f'`{unit}.{name}`: "{name}" cannot be the name of a field of a manifest, since DSPy takes it for itself.'
            )
            continue
        try:
            schema = schema_of(info.annotation)
            schema.update(limits_for(info.annotation, _as_told(limits_in(info.metadata), info)))
            # What DSPy itself fills in: of an output it is nothing, and one that a function makes it leaves alone.
            if given and info.default is not PydanticUndefined:
                schema["default"] = default_of(info.default, schema)
        except NotSayableError as error:
            problems.append(f"`{unit}.{name}` cannot be said in a manifest: {error}.")
            continue
        said = info.json_schema_extra["desc"]
        fields.append(Field(name, "" if said == f"${{{name}}}" else said, schema))
    return tuple(fields)


def _as_told(limits: Mapping[str, Any], info: Any) -> dict[str, Any]:
    """Give limits in the order in which the model is told of them."""
    told = info.json_schema_extra.get("constraints", "")
    order = {name: told.find(words) for name, words in PYDANTIC_CONSTRAINT_MAP.items()}
    return dict(sorted(limits.items(), key=lambda limit: order[limit[0]]))
