"""How good the outputs of a DSPy program are for an example: by equality, or by a function of the user's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from halflap.core.errors import UsageError
from halflap.dspy.export import load_object, stdout_is_data

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from halflap.dspy.examples import Example
    from halflap.dspy.manifest import Manifest

    Metric = Callable[[Example, Mapping[str, Any]], "Score"]

__all__ = ["Score", "find_metric"]


@dataclass(frozen=True, slots=True)
class Score:
    """From 0 to 1, and what is to be said of it to a model that is to do better."""

    value: float
    feedback: str


def find_metric(text: str, manifest: Manifest, folder: Path | None = None) -> Metric:
    """Find a metric: `exact`, `exact:FIELD`, `contains:FIELD`, or `module:function` of the user's own."""
    names = [one.name for one in manifest.outputs]
    kind, _, field = text.partition(":")
    if kind in {"exact", "contains"} and field and field not in names:
        raise UsageError(f"{manifest.name} has no output {field!r}. It has: {', '.join(names)}.")
    if kind == "contains" and not field:
        raise UsageError(f"`contains` needs a field: `contains:{names[0]}`.")
    if kind == "contains":
        return lambda example, outputs: _contains(field, example, outputs)
    if kind == "exact":
        return lambda example, outputs: _exact([field] if field else names, example, outputs)
    if not field:
        raise UsageError(
            f"There is no metric {text!r}. There are exact, exact:FIELD, contains:FIELD, and module:function of your own."
        )
    return _own(text, load_object(text, folder))


def _exact(names: list[str], example: Example, outputs: Mapping[str, Any]) -> Score:
    _need(names, example)
    wrong = [name for name in names if outputs.get(name) != example.outputs[name]]
    told = [f"`{name}` is {outputs.get(name)!r}, and should be {example.outputs[name]!r}." for name in wrong]
    return Score(0.0 if wrong else 1.0, " ".join(told) or "All of it is right.")


def _contains(name: str, example: Example, outputs: Mapping[str, Any]) -> Score:
    _need([name], example)
    wanted, given = str(example.outputs[name]), str(outputs.get(name))
    if wanted.casefold() in given.casefold():
        return Score(1.0, "It is right.")
    return Score(0.0, f"`{name}` is {given!r}, and should contain {wanted!r}.")


def _need(names: list[str], example: Example) -> None:
    missing = [name for name in names if name not in example.outputs]
    if missing:
        raise UsageError(
            f"An example does not say what {', '.join(missing)} should be: {dict(example.outputs)!r}. "
            "Choose a metric of a field that all of them have, such as `exact:FIELD`."
        )


def _own(text: str, function: Any) -> Metric:
    if not callable(function):
        raise UsageError(f"{text} is a {type(function).__name__}, and should be a function.")

    def measured(example: Example, outputs: Mapping[str, Any]) -> Score:
        import dspy  # noqa: PLC0415  # takes seconds

        gold = dspy.Example({**example.inputs, **example.outputs}).with_inputs(*example.inputs)
        prediction = dspy.Prediction()
        for name, value in outputs.items():
            prediction[name] = value
        with stdout_is_data():
            try:
                return _score(text, function(gold, prediction))
            except (KeyboardInterrupt, UsageError):
                raise
            except BaseException as error:  # whatever the user's own code does, also to end the process
                raise UsageError(f"The metric {text} failed: {type(error).__name__}: {error}") from error

    return measured


def _score(text: str, found: Any) -> Score:
    value = found.score if hasattr(found, "score") else found
    if not isinstance(value, (bool, int, float)) or not 0 <= value <= 1:
        raise UsageError(f"The metric {text} gave {value!r}, and should give a number from 0 to 1.")
    return Score(float(value), str(getattr(found, "feedback", "") or f"It scored {float(value):g} of 1."))
