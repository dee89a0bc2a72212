"""How the steps of a live DSPy module are wired, found by running it on marked values. Imports DSPy, as `building` does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import dspy

from halflap.dspy.field_types import NotSayableError, default_of
from halflap.dspy.flow import branches_in, code_of, own_functions, unwatched_in
from halflap.dspy.marks import Uses
from halflap.dspy.parameters import made_inputs
from halflap.dspy.parts import INPUTS, Field, Wiring
from halflap.dspy.tracing import AsksItselfError, Trace, trace, typed_inputs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halflap.dspy.parameters import Parameter
    from halflap.dspy.units import Unit

__all__ = ["Found", "discover"]

_NONE: Final = object()
_RUNS: Final = 12
_WAYS: Final = 2
_LONGEST: Final = 100


class Found:
    """What running a module has shown."""

    def __init__(
        self, order: list[Unit], wiring: Wiring, inputs: tuple[Field, ...], outputs: tuple[Field, ...]
    ) -> None:
        self.order = order
        self.wiring = wiring
        self.inputs = inputs
        self.outputs = outputs


def discover(
    module: Any, units: Mapping[int, Unit], parameters: Sequence[Parameter], problems: list[str]
) -> Found | None:
    """Run a module a few times, with other values each time, and give the one wiring that all runs have."""
    uses = Uses()
    runs = _run(module, units, parameters, problems, uses)
    if runs is None:
        return None
    order = _order(runs, units, problems)
    problems.extend(_told(uses))
    if not problems and id(module) not in units:
        # What is done in C leaves no trace: `re` reads a text without a word.
        own = list(own_functions(module))
        codes = {getattr(one, "__code__", None) for _, one, _ in own}
        own += [(code.co_name, code, first) for code, first in uses.functions.items() if code not in codes]
        problems.extend(
            told
            for name, one, of in own
            if code_of(one) in uses.ran
            for told in unwatched_in(one, name, of, uses.calls)
        )
    if order is None or problems:
        return None
    found = _joined(runs, order, parameters, problems)
    ways = [[run for run in runs if run.awaited is awaited] for awaited in (False, True)]
    if found is None and all(ways) and all(_joined(way, order, parameters, []) for way in ways):
        problems[:] = [f"{_BOTH} pass on values in different ways: a manifest has one."]
    return found


def _run(
    module: Any,
    units: Mapping[int, Unit],
    parameters: Sequence[Parameter],
    problems: list[str],
    uses: Uses,
) -> list[Trace] | None:
    runs: list[Trace] = []
    for seed in range(_RUNS):
        if seed >= _WAYS and uses.apart:
            # It was run both ways by then, and is refused whatever else it does.
            break
        try:
            inputs = typed_inputs(parameters, made_inputs(parameters, seed))
            runs.append(trace(module, inputs, units, seed, uses))
            if not seed and _learn_types(runs[0], parameters, units):
                # What it does with text says nothing of what it does with other values.
                runs[:] = [
                    trace(module, typed_inputs(parameters, made_inputs(parameters, seed)), units, seed, uses)
                ]
        except AsksItselfError:
            problems.extend(uses.apart or ["`forward` asks the model by itself, past its steps."])
            return None
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001  # whatever the user's own code does, also to end the process
            told = (
                f"running it on made-up values failed: {type(error).__name__}: {_shown(str(error))}. In a manifest, values are passed on "
                f"as they are.{_untyped(parameters)}"
            )
            problems.extend(uses.apart or [*_told(uses), told])
            return None
    problems.extend(uses.apart)
    return None if uses.apart else runs


_BOTH: Final = "`forward` and `aforward`"


def _joined(
    runs: list[Trace], order: list[Unit], parameters: Sequence[Parameter], problems: list[str]
) -> Found | None:
    joins = _Joins(runs, order, parameters, problems)
    wiring = Wiring(joins.steps(), {})
    outputs = joins.outputs()
    wiring = Wiring(wiring.predictors, {name: source for name, (source, _) in outputs.items()})
    taken = joins.inputs(wiring)
    given = tuple(field for _, field in outputs.values())
    return None if problems else Found(order, wiring, taken, given)


def _learn_types(run: Trace, parameters: Sequence[Parameter], units: Mapping[int, Unit]) -> bool:
    """Take the type of a parameter that says none from the step that it was given to; says whether any is other than text."""
    learned = False
    for one in parameters:
        if one.is_typed:
            continue
        for step in run.steps:
            for name, value in step.inputs.items():
                kind = units[step.unit].types.get(name, str)
                if value is run.inputs[one.name] and not one.is_typed:
                    one.annotation = kind
                    learned |= kind is not str
    return learned


def _untyped(parameters: Sequence[Parameter]) -> str:
    """Say which parameters were taken for text, since nothing says what else they are."""
    names = ", ".join(f"`{one.name}`" for one in parameters if not one.is_typed)
    return f" {names} was given text: `forward` says no type for it." if names else ""


def _order(runs: list[Trace], units: Mapping[int, Unit], problems: list[str]) -> list[Unit] | None:
    orders = [[step.unit for step in run.steps] for run in runs]
    names = {key: unit.predictor.name for key, unit in units.items()}
    ways = {(run.awaited, tuple(order)) for run, order in zip(runs, orders, strict=True)}
    if len(ways) == 2 and len({awaited for awaited, _ in ways}) == 2 and len({one for _, one in ways}) == 2:  # noqa: PLR2004  # both
        problems.append(f"{_BOTH} run different steps, or not in the same order: a manifest has one.")
        return None
    if any(one != orders[0] for one in orders):
        problems.append(
            "which steps run depends on the values: in a manifest, every step runs once, in one order."
        )
    for key in units:
        count = orders[0].count(key)
        if count != 1:
            told = "never run" if count == 0 else f"run {count} times"
            problems.append(f"`{names[key]}` is {told}: in a manifest, every step runs once.")
    problems.extend(
        f"`{names[step.unit]}` is called with values that are not named."
        for step in runs[0].steps
        if step.positional
    )
    return None if problems else [units[key] for key in orders[0]]


class _Joins:
    """Finds where values come from: the same object in every run, however the values differ."""

    def __init__(
        self, runs: list[Trace], order: list[Unit], parameters: Sequence[Parameter], problems: list[str]
    ) -> None:
        self.runs = runs
        self.order = order
        self.parameters = parameters
        self.problems = problems

    def _source(self, values: list[Any], before: int) -> str | None:
        """Say where a value comes from that is given to the step at this place."""
        for at in range(before - 1, -1, -1):
            unit = self.order[at]
            for name in unit.given:
                if all(
                    run.steps[at].prediction[name] is value
                    for run, value in zip(self.runs, values, strict=True)
                ):
                    return f"{unit.predictor.name}.{name}"
        for one in self.parameters:
            if all(run.inputs[one.name] is value for run, value in zip(self.runs, values, strict=True)):
                return f"{INPUTS}.{one.name}"
        return None

    def steps(self) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]] = {}
        for at, unit in enumerate(self.order):
            wired = found[unit.predictor.name] = {}
            given = [run.steps[at].inputs for run in self.runs]
            declared = {field.name: field.schema.get("default", _NONE) for field in unit.predictor.inputs}
            for extra in sorted(set(given[0]) - set(declared)):
                self.problems.append(
                    f"`{unit.predictor.name}` is given `{extra}`, which its signature does not have."
                )
            for name, default in declared.items():
                if default is not _NONE and all(name not in one for one in given):
                    continue
                if any(name not in one for one in given):
                    self.problems.append(f"`{unit.predictor.name}` is not given its input `{name}`.")
                    continue
                values = [one[name] for one in given]
                source = self._source(values, at)
                if source is not None:
                    wired[name] = source
                elif not all(type(one) is type(default) and one == default for one in values):
                    self.problems.append(f"`{unit.predictor.name}.{name}` {_made(values)}")
        return found

    def outputs(self) -> dict[str, tuple[str, Field]]:
        """Give the outputs of the module, where they come from and what they are."""
        results = [run.result for run in self.runs]
        for at, unit in enumerate(self.order):
            if all(run.steps[at].prediction is run.result for run in self.runs):
                named = unit.predictor.outputs
                return {field.name: (f"{unit.predictor.name}.{field.name}", field) for field in named}
        if not all(isinstance(one, dspy.Prediction) for one in results):
            self.problems.append(
                f"`forward` returns a {type(results[0]).__name__}, and should return a dspy.Prediction."
            )
            return {}
        found: dict[str, tuple[str, Field]] = {}
        fields = {
            f"{unit.predictor.name}.{name}": field
            for unit in self.order
            for name, field in unit.given.items()
        }
        for name in results[0].keys():  # noqa: SIM118  # a Prediction is no dict
            values = [one[name] for one in results]
            source = self._source(values, len(self.order))
            if source is None:
                self.problems.append(f"the output `{name}` {_made(values)}")
            elif source not in fields:
                self.problems.append(f"the output `{name}` is an input as it came: outputs come from steps.")
            else:
                field = fields[source]
                found[name] = (source, Field(name, field.description, field.schema))
        if not found and not self.problems:
            self.problems.append("`forward` returns a dspy.Prediction with nothing in it.")
        return found

    def inputs(self, wiring: Wiring) -> tuple[Field, ...]:
        """Give the inputs as the step takes them that they go to."""
        found = []
        for one in self.parameters:
            takers = [
                next(field for field in unit.predictor.inputs if field.name == name)
                for unit in self.order
                for name, source in wiring.predictors[unit.predictor.name].items()
                if source == f"{INPUTS}.{one.name}"
            ]
            if not takers:
                self.problems.append(f"`forward` takes `{one.name}`, and no step does.")
                continue
            # That of the step counts where nothing is given, and here something is.
            schema = {key: value for key, value in takers[0].schema.items() if key != "default"}
            if one.has_default:
                try:
                    schema["default"] = default_of(one.default, schema)
                except NotSayableError as error:
                    self.problems.append(f"the input `{one.name}` cannot be said in a manifest: {error}.")
            found.append(Field(one.name, takers[0].description, schema))
        return tuple(found)


def _told(uses: Uses) -> list[str]:
    """Say what was done with values on their way, and which functions that were given some may do something else next time."""
    told = [f"{one}: a manifest passes on values as they are." for one in uses.found]
    return told or [
        one for code, first in uses.functions.items() for one in branches_in(code, code.co_name, first)
    ]


def _made(values: list[Any]) -> str:
    if all(value == values[0] for value in values):
        return f"is always {values[0]!r}: a manifest passes on inputs and outputs of steps, and has no values of its own."
    return f"is made from other values ({_shown(repr(values[0]))}): a manifest passes on values as they are."


def _shown(text: str) -> str:
    line = text.partition("\n")[0]
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
