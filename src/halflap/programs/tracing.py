"""Runs a DSPy module on marked values, with nobody to ask, and records what goes where. Imports DSPy, as `building` does."""

from __future__ import annotations

import asyncio
import contextlib
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import dspy
import pydantic
from dspy.utils.callback import BaseCallback

from halflap.programs.field_types import schema_of
from halflap.programs.marks import Uses, marked
from halflap.programs.samples import sample

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from halflap.programs.parameters import Parameter

__all__ = ["AsksItselfError", "Passed", "Trace", "trace", "typed_inputs"]


class AsksItselfError(Exception):
    """The module asks the model by itself, past its steps."""


@dataclass(slots=True)
class Passed:
    """One run of one step: what it got and what it gave."""

    unit: int
    inputs: Mapping[str, Any]
    positional: int
    prediction: Any = None


@dataclass(slots=True)
class Trace:
    """One run of a module."""

    inputs: Mapping[str, Any]
    steps: list[Passed] = field(default_factory=list)
    prompts: list[Any] = field(default_factory=list)
    result: Any = None


class _Silent(dspy.LM):  # type: ignore[misc]  # DSPy has no types
    """A model that there is none of: what steps ask is answered before it gets here."""

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise AsksItselfError

    async def acall(self, *_: Any, **__: Any) -> Any:
        raise AsksItselfError


class _Recorder(dspy.ChatAdapter):  # type: ignore[misc]  # as above
    """Writes the prompt as DSPy does, and answers with marked values of the right types instead of asking."""

    def __init__(self, into: Trace, dice: random.Random, marks: Uses | None) -> None:
        super().__init__()
        self._into = into
        self._dice = dice
        self._marks = marks

    def __call__(
        self, lm: Any, lm_kwargs: Any, signature: Any, demos: Any, inputs: Any
    ) -> list[dict[str, Any]]:
        del lm, lm_kwargs
        self._into.prompts.append(self.format(signature, demos, inputs))
        if "next_tool_name" in signature.output_fields:
            return [{"next_thought": "Enough.", "next_tool_name": "finish", "next_tool_args": {}}]
        return [{name: self._value(name, info) for name, info in signature.output_fields.items()}]

    async def acall(
        self, lm: Any, lm_kwargs: Any, signature: Any, demos: Any, inputs: Any
    ) -> list[dict[str, Any]]:
        return self(lm, lm_kwargs, signature, demos, inputs)

    def _value(self, name: str, info: Any) -> Any:
        value = as_typed(sample(schema_of(info.annotation), self._dice), info.annotation)
        return value if self._marks is None else marked(value, name, self._marks)


class _Watcher(BaseCallback):  # type: ignore[misc]  # as above
    """Notes what goes into the steps and what comes out of them."""

    def __init__(self, into: Trace, units: Collection[int], uses: Uses) -> None:
        self._into = into
        self._units = units
        self._uses = uses
        self._open: dict[str, Passed] = {}

    def on_module_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        if id(instance) in self._units:
            given = inputs.get("kwargs", {})
            self._open[call_id] = passed = Passed(id(instance), given, len(inputs.get("args", ())))
            self._into.steps.append(passed)
            # What a step does with its inputs is the step's own affair.
            self._uses.listening = False

    def on_module_end(self, call_id: str, outputs: Any, exception: Exception | None = None) -> None:
        del exception
        if call_id in self._open:
            self._open.pop(call_id).prediction = outputs
            self._uses.listening = not self._open


def as_typed(value: Any, annotation: Any) -> Any:
    """Give plain values as what a field's type makes of them."""
    if isinstance(value, (dict, list)):
        return pydantic.TypeAdapter(annotation).validate_python(value)
    return value


def typed_inputs(parameters: Iterable[Parameter], inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Give plain inputs as what the module's own annotations make of them."""
    return {
        one.name: as_typed(inputs[one.name], one.annotation) if one.is_typed else inputs[one.name]
        for one in parameters
    }


def trace(
    module: Any, inputs: Mapping[str, Any], units: Collection[int], seed: int, marks: Uses | None = None
) -> Trace:
    """Run a module once. The same seed gives the same answers, step by step; where asked for, values note what is done with them."""
    uses = marks or Uses()
    found = Trace(
        inputs if marks is None else {name: marked(one, name, uses) for name, one in inputs.items()}
    )
    settings = dspy.context(
        lm=_Silent("openai/nobody", cache=False),
        adapter=_Recorder(found, random.Random(seed), marks),  # noqa: S311  # no secret
        callbacks=[_Watcher(found, units, uses)],
        trace=None,
        disable_history=True,
        track_usage=False,
        warn_on_type_mismatch=False,
    )
    with settings, contextlib.nullcontext() if marks is None else marks.heard():
        if type(module).__dict__.get("aforward") and not hasattr(type(module), "forward"):
            found.result = asyncio.run(module.acall(**found.inputs))
        else:
            found.result = module(**found.inputs)
    return found
