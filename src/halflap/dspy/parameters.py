"""What a live DSPy module takes, by its own code. Imports DSPy, as `building` does."""

from __future__ import annotations

import inspect
import random
from typing import TYPE_CHECKING, Any, Final

from halflap.dspy.field_types import NotSayableError, schema_of
from halflap.dspy.flow import branches_in, own_functions
from halflap.dspy.samples import sample

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halflap.dspy.units import Unit

__all__ = ["Parameter", "made_inputs", "parameters_of"]

_NONE: Final = inspect.Parameter.empty


class Parameter:
    """One input of a module: its name, its type as far as it is known, its default."""

    __slots__ = ("annotation", "default", "name")

    def __init__(self, name: str, annotation: Any = _NONE, default: Any = _NONE) -> None:
        self.name = name
        self.annotation = annotation
        self.default = default

    @property
    def is_typed(self) -> bool:
        """Whether a type is said."""
        return self.annotation is not _NONE

    @property
    def has_default(self) -> bool:
        """Whether it may be left out."""
        return self.default is not _NONE

    def schema(self) -> dict[str, Any]:
        """Say what values it may be given: text, if nothing better is known."""
        try:
            return {"type": "string"} if self.annotation is _NONE else schema_of(self.annotation)
        except NotSayableError:
            return {"type": "string"}


def parameters_of(module: Any, units: Mapping[int, Unit], problems: list[str]) -> list[Parameter]:
    """Give what a module takes, by its own signature; of a single step, its inputs."""
    if id(module) in units:
        unit = units[id(module)]
        return [
            Parameter(field.name, unit.types[field.name], field.schema.get("default", _NONE))
            for field in unit.predictor.inputs
        ]
    function = getattr(type(module), "forward", None) or getattr(type(module), "aforward", None)
    if function is None:
        problems.append(f"{type(module).__name__} has no `forward`.")
        return []
    _find_branches(module, problems)
    try:
        found = inspect.signature(function, eval_str=True)
    except (NameError, TypeError, SyntaxError):
        found = inspect.signature(function)
    parameters = []
    for parameter in list(found.parameters.values())[1:]:
        if parameter.kind in {parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL, parameter.POSITIONAL_ONLY}:
            problems.append(
                f"`forward` takes `{parameter}`: a manifest names every input, so `forward` has to, too."
            )
            continue
        annotation = parameter.annotation
        if annotation is _NONE:
            annotation = _type_of(parameter.name, units)
        parameters.append(Parameter(parameter.name, annotation, parameter.default))
    return parameters


def _type_of(name: str, units: Mapping[int, Unit]) -> Any:
    """Give the type of the step's input that has the name of a parameter without one: it is most likely what goes there."""
    found = [
        unit.types[name] for unit in units.values() if any(one.name == name for one in unit.predictor.inputs)
    ]
    return found[0] if found else _NONE


def _find_branches(module: Any, problems: list[str]) -> None:
    """Note what makes a run depend on values: a run that went one way says nothing of the other."""
    for name, function, one in own_functions(module):
        problems.extend(told for told in branches_in(function, name, one) if told not in problems)


def made_inputs(parameters: Sequence[Parameter], seed: int) -> dict[str, Any]:
    """Make plain inputs; the same for the same seed."""
    dice = random.Random(f"inputs {seed}")  # noqa: S311  # no secret
    return {one.name: sample(one.schema(), dice) for one in parameters}
