"""What a live DSPy module takes, by its own code, and whether that code only passes values on."""

from __future__ import annotations

import ast
import builtins
import inspect
import random
import textwrap
from typing import TYPE_CHECKING, Any, Final

from halflap.programs.field_types import NotSayableError, schema_of
from halflap.programs.samples import sample

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from halflap.programs.units import Unit

__all__ = ["Parameter", "branches_in", "made_inputs", "own_functions", "parameters_of", "unwatched_in"]

_NONE: Final = inspect.Parameter.empty
_OWN: Final = frozenset({"self", "dspy"})
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
    for name, function in own_functions(module):
        problems.extend(told for told in branches_in(function, name) if told not in problems)


def _read(function: Any) -> tuple[ast.Module, int] | None:
    try:
        lines, first = inspect.getsourcelines(function)
        return ast.parse(textwrap.dedent("".join(lines))), first
    except (OSError, TypeError, SyntaxError):
        return None


def own_functions(module: Any) -> Iterator[tuple[str, Any]]:
    """Give what a module and those in it run, as far as it is not DSPy's."""
    for _, one in [("", module), *module.named_sub_modules()]:
        own = [kind for kind in type(one).__mro__ if kind.__module__.partition(".")[0] != "dspy"]
        for name in ("forward", "aforward"):
            # What a class has from another of the user's own is the user's, too.
            found = next((vars(kind)[name] for kind in own if name in vars(kind)), None)
            if found is not None:
                yield f"{type(one).__name__}.{name}", found


def branches_in(function: Any, name: str) -> list[str]:
    """Say where a function, as far as its source is there, can go one way or another."""
    read = _read(function)
    if read is None:
        return []
    tree, first = read
    found = [(node, _BRANCHES[type(node)]) for node in ast.walk(tree) if type(node) in _BRANCHES]
    return _told(found, first, name)


def _told(found: Iterable[tuple[Any, str]], first: int, name: str) -> list[str]:
    return [
        f"line {first + node.lineno - 1}: `{name}` has {what}. In a manifest, every step runs once, in one order, with values "
        "passed on as they are."
        for node, what in found
    ]


def unwatched_in(function: Any, name: str) -> list[str]:
    """Say where a function gives values to what cannot be watched while it runs."""
    read = _read(function)
    if read is None:
        return []
    tree, first = read
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _may_look(node)]
    what = "a call of `{}`, which may look at values or change them"
    return _told(((node, what.format(ast.unparse(node.func))) for node in calls), first, name)


def _may_look(call: ast.Call) -> bool:
    """Say whether a call gives values to what cannot be watched: what Python is made of, and methods of other objects.

    A function that is written in Python is looked into when it is run.
    """
    given = [*call.args, *(one.value for one in call.keywords)]
    if all(isinstance(one, ast.Constant) for one in given):
        return False
    root: ast.expr = call.func
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name):
        return True
    if isinstance(call.func, ast.Attribute):
        return root.id not in _OWN
    return hasattr(builtins, root.id)


def made_inputs(parameters: Sequence[Parameter], seed: int) -> dict[str, Any]:
    """Make plain inputs; the same for the same seed."""
    dice = random.Random(f"inputs {seed}")  # noqa: S311  # no secret
    return {one.name: sample(one.schema(), dice) for one in parameters}
