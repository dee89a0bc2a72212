"""What a live DSPy module takes, by its own code, and whether that code only passes values on."""

from __future__ import annotations

import ast
import inspect
import random
import textwrap
from typing import TYPE_CHECKING, Any, Final

from halflap.programs.field_types import NotSayableError, schema_of
from halflap.programs.samples import sample

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halflap.programs.units import Unit

__all__ = ["Parameter", "branches_in", "made_inputs", "parameters_of"]

_NONE: Final = inspect.Parameter.empty
_BRANCHES: Final[dict[type[ast.AST], str]] = {
    ast.If: "an `if`",
    ast.IfExp: "an `if`",
    ast.For: "a loop",
    ast.AsyncFor: "a loop",
    ast.While: "a loop",
    ast.Try: "a `try`",
    ast.TryStar: "a `try`",
    ast.Assert: "an `assert`",
    ast.Match: "a `match`",
    ast.BoolOp: "an `and` or `or`",
    ast.ListComp: "a loop",
    ast.SetComp: "a loop",
    ast.DictComp: "a loop",
    ast.GeneratorExp: "a loop",
}


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
        return [Parameter(field.name, unit.types[field.name]) for field in unit.predictor.inputs]
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
        parameters.append(Parameter(parameter.name, parameter.annotation, parameter.default))
    return parameters


def _find_branches(module: Any, problems: list[str]) -> None:
    """Note what makes a run depend on values: a run that went one way says nothing of the other."""
    for _, one in [("", module), *module.named_sub_modules()]:
        if type(one).__module__.partition(".")[0] == "dspy":
            continue
        for name in ("forward", "aforward"):
            for told in branches_in(vars(type(one)).get(name), f"{type(one).__name__}.{name}"):
                if told not in problems:
                    problems.append(told)


def branches_in(function: Any, name: str) -> list[str]:
    """Say where a function, as far as its source is there, can go one way or another."""
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError):
        return []
    found = [(node, _BRANCHES[type(node)]) for node in ast.walk(tree) if type(node) in _BRANCHES]
    return [
        f"line {first + node.lineno - 1}: `{name}` has {what}. In a manifest, every step runs once, in one order, with values "  # type: ignore[attr-defined]
        "passed on as they are."
        for node, what in found
    ]


def made_inputs(parameters: Sequence[Parameter], seed: int) -> dict[str, Any]:
    """Make plain inputs; the same for the same seed."""
    dice = random.Random(f"inputs {seed}")  # noqa: S311  # no secret
    return {one.name: sample(one.schema(), dice) for one in parameters}
