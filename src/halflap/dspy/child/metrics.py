"""How good the outputs of a program are for an example: by equality, or by the user's own function."""

from __future__ import annotations

import contextlib
import importlib
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dspy

from halflap.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from halflap.dspy.spec import Manifest

    Metric = Callable[[Mapping[str, Any], Mapping[str, Any], Mapping[str, Any]], "Score"]

__all__ = ["Score", "find_metric", "load_object"]


@dataclass(frozen=True, slots=True)
class Score:
    """From 0 to 1, with a hint for a model that should do better."""

    value: float
    feedback: str


def find_metric(text: str, manifest: Manifest, folder: str) -> Metric:
    """Return a function of inputs, expected and actual outputs: `exact`, `exact:FIELD`, `contains:FIELD`, `module:function`."""
    names = [field.name for field in manifest.outputs]
    kind, _, field = text.partition(":")
    if kind in {"exact", "contains"} and (field or kind == "contains") and field not in names:
        raise UsageError(f"{manifest.name} has no output {field!r}. It has: {', '.join(names)}.")
    if kind == "contains":
        return lambda _, wanted, given: _contains(field, wanted, given)
    if kind == "exact":
        return lambda _, wanted, given: _exact([field] if field else names, wanted, given)
    if not field:
        raise UsageError(
            f"There is no metric {text!r}. Use exact, exact:FIELD, contains:FIELD or module:function."
        )
    function = load_object(text, Path(folder))
    if not callable(function):
        raise UsageError(f"{text} is not a function.")
    return lambda inputs, wanted, given: _own(text, function, inputs, wanted, given)


def _exact(names: list[str], wanted: Mapping[str, Any], given: Mapping[str, Any]) -> Score:
    _need(names, wanted)
    wrong = [name for name in names if given.get(name) != wanted[name]]
    hints = [f"`{name}` is {given.get(name)!r}, but should be {wanted[name]!r}." for name in wrong]
    return Score(0.0 if wrong else 1.0, " ".join(hints) or "Everything is right.")


def _contains(name: str, wanted: Mapping[str, Any], given: Mapping[str, Any]) -> Score:
    _need([name], wanted)
    expected, actual = str(wanted[name]), str(given.get(name))
    if expected.casefold() in actual.casefold():
        return Score(1.0, "It is right.")
    return Score(0.0, f"`{name}` is {actual!r}, but should contain {expected!r}.")


def _need(names: list[str], wanted: Mapping[str, Any]) -> None:
    missing = [name for name in names if name not in wanted]
    if missing:
        raise UsageError(
            f"An example has no {', '.join(missing)}: {dict(wanted)!r}. Choose a metric of a field that all have: `exact:FIELD`."
        )


def _own(
    text: str, function: Any, inputs: Mapping[str, Any], wanted: Mapping[str, Any], given: Mapping[str, Any]
) -> Score:
    gold = dspy.Example({**wanted, **inputs}).with_inputs(*inputs)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            found = function(gold, dspy.Prediction(**given))
            value = found.score if hasattr(found, "score") else found
            feedback = str(getattr(found, "feedback", "") or "")
    except BaseException as error:  # also SystemExit: it is the user's own code
        raise UsageError(f"The metric {text} failed: {type(error).__name__}: {error}") from error
    if not isinstance(value, bool | int | float) or not 0 <= value <= 1:
        raise UsageError(f"The metric {text} returned {value!r} instead of a number from 0 to 1.")
    return Score(float(value), feedback or f"It scored {float(value):g} of 1.")


def load_object(name: str, folder: Path | None = None) -> Any:
    """Import `module:object` as `python -m` would, from the current folder first. This runs the module."""
    module_name, _, path = name.partition(":")
    if not module_name or not path:
        raise UsageError(
            f"{name!r} does not name an object. Write `module:object`, for example `my_programs:answerer`."
        )
    place = str(folder or Path.cwd())
    if place not in sys.path:
        sys.path.insert(0, place)
    try:
        found: Any = importlib.import_module(module_name)
        for part in path.split("."):
            found = getattr(found, part)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if isinstance(error, ModuleNotFoundError) and f"{module_name}.".startswith(f"{error.name}."):
            raise UsageError(
                f"There is no module {module_name!r}, neither in {place} nor installed."
            ) from None
        at = traceback.extract_tb(error.__traceback__)[-1]
        raise UsageError(
            f"{name} cannot be imported: {type(error).__name__}: {error} ({at.filename}, line {at.lineno})."
        ) from error
    return found
