"""Runs a DSPy module on marked values, with nobody to ask, and records what goes where. Imports DSPy, as `building` does."""

from __future__ import annotations

import asyncio
import contextlib
import random
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import dspy
import pydantic
from dspy.dsp.utils.settings import main_thread_config
from dspy.utils.callback import BaseCallback

from halflap.dspy.field_types import schema_of
from halflap.dspy.marks import Uses, caller, marked
from halflap.dspy.samples import sample
from halflap.dspy.steady import Steadiness

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from halflap.dspy.parameters import Parameter
    from halflap.dspy.units import Unit

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
    awaited: bool = False
    """Whether it was `aforward` that ran."""
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

    def __init__(self, into: Trace, dice: random.Random, marks: Uses | None, watcher: _Watcher) -> None:
        super().__init__()
        self._into = into
        self._dice = dice
        self._marks = marks
        self._watcher = watcher

    def __call__(
        self, lm: Any, lm_kwargs: Any, signature: Any, demos: Any, inputs: Any
    ) -> list[dict[str, Any]]:
        self._watcher.look_at_model(lm, lm_kwargs)
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
    """Notes what goes into the steps and what comes out of them, and what is in force there and not around them."""

    def __init__(self, into: Trace, units: Mapping[int, Unit], uses: Uses, model: _Silent) -> None:
        self._into = into
        self._units = units
        self._uses = uses
        self._model = model
        self._said = dict(model.kwargs)
        self._around: Mapping[str, Any] = {}
        self._open: dict[str, Passed] = {}
        self._steadiness = Steadiness({})

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Be told of the steps, by the steps themselves: what is told to all can be switched off on the way."""
        self._around = dspy.settings.copy()
        steadiness = self._steadiness = Steadiness(self._units)
        for_all = dict(main_thread_config)
        before = [(unit.module, unit.module.callbacks) for unit in self._units.values()]
        for module, callbacks in before:
            module.callbacks = [*callbacks, self]
        try:
            yield
        finally:
            for module, callbacks in before:
                module.callbacks = callbacks
            self._uses.apart.extend(
                one for one in steadiness.settle(self._uses.ran) if one not in self._uses.apart
            )
            changed = _differing(main_thread_config, for_all)
            main_thread_config.update({name: one for name, one in for_all.items() if name in changed})
            if changed:
                self._note("it changes DSPy's settings for all", _listed(changed))

    def on_module_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        if id(instance) in self._units:
            name = self._units[id(instance)].predictor.name
            apart = _differing(dspy.settings.copy(), self._around)
            if apart:
                at = caller(sys._getframe().f_back)  # noqa: SLF001  # the one way to say where it is
                line = "" if at is None else f"line {at.f_lineno}: "
                self._note(f"{line}`{name}` is run with DSPy settings of its own", _listed(apart))
            given = inputs.get("kwargs", {})
            self._open[call_id] = passed = Passed(id(instance), given, len(inputs.get("args", ())))
            self._into.steps.append(passed)
            # What a step does with its inputs is the step's own affair.
            self._uses.listening = False
            self._steadiness.look(id(instance))

    def on_module_end(self, call_id: str, outputs: Any, exception: Exception | None = None) -> None:
        del exception
        if call_id in self._open:
            self._open.pop(call_id).prediction = outputs
            self._uses.listening = not self._open

    def look_at_model(self, model: Any, settings: Mapping[str, Any]) -> None:
        """Note what a step asks, and with what, if that is neither the trial's model nor noted already."""
        if not self._open or dspy.settings.lm is not self._around.get("lm"):
            return
        name = self._units[next(reversed(self._open.values())).unit].predictor.name
        said = {**_differing(model.kwargs, self._said), **settings}
        if model is not self._model:
            self._note(f"`{name}` is given a model of its own", _shown("lm", model))
        elif said:
            self._note(f"`{name}` is run with settings of the model of its own", ", ".join(sorted(said)))

    def _note(self, told: str, what: str) -> None:
        said = f"{told} ({what}): the model, its settings and how it is asked are said under `programs.lm`, for all steps."
        if said not in self._uses.apart:
            self._uses.apart.append(said)


_OF_DSPY: Final = frozenset({"caller_modules"})
"""What DSPy itself sets on the way to a step."""
_TOLD: Final = ("temperature", "max_tokens", "top_p", "n")


def _differing(now: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    plain = (bool, int, float, str, type(None))
    return {
        name: value
        for name, value in now.items()
        if name not in _OF_DSPY
        and not (name in before and before[name] is value)
        and not (name in before and isinstance(value, plain) and before[name] == value)
    }


def _listed(settings: Mapping[str, Any]) -> str:
    return ", ".join(_shown(name, settings[name]) for name in sorted(settings))


def _shown(name: str, value: Any) -> str:
    """Name a setting, and what of it is no secret."""
    if isinstance(value, dspy.BaseLM):
        said = [f"{one} {value.kwargs[one]}" for one in _TOLD if value.kwargs.get(one) is not None]
        return f"{name}: {', '.join([*([] if isinstance(value, _Silent) else [value.model]), *said])}"
    if isinstance(value, dspy.Adapter):
        return f"{name}: {type(value).__name__}"
    return f"{name}: {value}" if isinstance(value, (bool, int, float)) else name


def as_typed(value: Any, annotation: Any) -> Any:
    """Give plain values as what a field's type makes of them."""
    if isinstance(value, (dict, list)):
        return pydantic.TypeAdapter(annotation).validate_python(value)
    return value


def typed_inputs(parameters: Iterable[Parameter], inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Give plain inputs as what the module's own annotations make of them; what is not there is left out."""
    return {
        one.name: as_typed(inputs[one.name], one.annotation) if one.is_typed else inputs[one.name]
        for one in parameters
        if one.name in inputs
    }


def _is_awaited(module: Any, seed: int) -> bool:
    """Choose how to run a module: one that somebody wrote both ways for is run both ways, in turn."""
    kind = type(module)
    own = getattr(kind, "aforward", None)
    if own is None or not hasattr(kind, "forward"):
        return own is not None
    return own.__module__.partition(".")[0] not in {"dspy", "halflap"} and seed % 2 == 1


def trace(
    module: Any, inputs: Mapping[str, Any], units: Mapping[int, Unit], seed: int, marks: Uses | None = None
) -> Trace:
    """Run a module once. The same seed gives the same answers, step by step; where asked for, values note what is done with them."""
    uses = marks or Uses()
    found = Trace(
        inputs if marks is None else {name: marked(one, name, uses) for name, one in inputs.items()},
        _is_awaited(module, seed),
    )
    model = _Silent("openai/nobody", cache=False)
    watcher = _Watcher(found, units, uses, model)
    settings = dspy.context(
        lm=model,
        adapter=_Recorder(found, random.Random(seed), marks, watcher),  # noqa: S311  # no secret
        callbacks=[],
        trace=None,
        disable_history=True,
        track_usage=False,
        warn_on_type_mismatch=False,
    )
    with settings, watcher.watching(), contextlib.nullcontext() if marks is None else marks.heard():
        if found.awaited:
            found.result = asyncio.run(module.acall(**found.inputs))
        else:
            found.result = module(**found.inputs)
    return found
