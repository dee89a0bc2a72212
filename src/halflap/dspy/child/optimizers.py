"""Run DSPy's optimizers on a program, and measure the old and the new version on held-out examples."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dspy

from halflap.core.errors import UsageError
from halflap.dspy.child.modules import OutputError, Program, load_object, settings_for

if TYPE_CHECKING:
    from halflap.dspy.child.model import Job, Model
    from halflap.dspy.spec import ProgramSpec

    Values = Mapping[str, Any]
    Score = tuple[float, str]
    """From 0 to 1, with a hint for a model that should do better."""
    Metric = Callable[[Values, Values], Score]

_CONCURRENT = 4
_MAX_BOOTSTRAPPED, _MAX_LABELED = 4, 8
_MAX_DEMO_BYTES = 100_000
"""Larger demos are dropped: a ReAct's hold everything that its tools returned."""


async def optimize(
    message: Mapping[str, Any], model: Model, job: Job, report: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """Run one optimisation. To stop it early, the parent ends the process."""
    logging.getLogger("dspy").setLevel(logging.CRITICAL)
    work = _Optimization(Program.build(message), message, job, report)
    with settings_for(model, job):
        return await asyncio.to_thread(work.run)


class _Optimization:
    """Runs in a thread, and starts others; all of them call the model on the event loop."""

    def __init__(self, program: Program, message: Mapping[str, Any], job: Job, report: Any) -> None:
        self._program = program
        self._message = message
        self._job = job
        self._report = report
        self._metric = find_metric(message["metric"], program.spec, message["folder"])
        self._failure: UsageError | None = None
        self._progress: dict[str, Any] = {}
        self._lock = threading.Lock()

    def run(self) -> dict[str, Any]:
        old_score = self._measure(self._program, "old program")
        program = self._optimized()
        return {
            "score": self._measure(program, "new program"),
            "old_score": old_score,
            "state": program.state(),
        }

    def _measure(self, program: Program, phase: str) -> float:
        """Return the mean score on the held-out examples; an unusable answer scores 0."""
        examples = self._examples("held_out")
        self._advance(phase, 0, len(examples))
        evaluate = dspy.Evaluate(
            devset=examples, metric=self._score, num_threads=_CONCURRENT, max_errors=len(examples) + 1
        )
        mean: float = round(evaluate(program).score / 100, 4)
        self._check()
        self._report({**self._progress, "score": mean})
        return mean

    def _optimized(self) -> Program:
        examples = self._examples("examples")
        program = self._program.deepcopy()
        if self._message["optimizer"] == "GEPA":
            self._advance("optimising", 0, self._message["budget"])
            program = self._gepa(len(examples)).compile(program, trainset=examples, valset=examples)
        else:
            self._advance("optimising", 0, len(examples))
            program = dspy.BootstrapFewShot(
                metric=self._score,
                metric_threshold=1.0,
                max_bootstrapped_demos=_MAX_BOOTSTRAPPED,
                max_labeled_demos=_MAX_LABELED,
                max_errors=len(examples) + 1,
            ).compile(program, trainset=examples)
        self._check()
        for predict in program.predictors():
            predict.demos = [
                demo for demo in predict.demos if len(json.dumps(dict(demo), default=str)) <= _MAX_DEMO_BYTES
            ]
        found: Program = program
        return found

    def _gepa(self, count: int) -> Any:
        return dspy.GEPA(
            metric=self._score,
            max_metric_calls=self._message["budget"],
            reflection_lm=dspy.settings.lm.copy(temperature=1.0),
            reflection_minibatch_size=min(3, count),
            num_threads=_CONCURRENT,
            # Skipping perfect scores costs no metric call, so the budget would never be spent.
            skip_perfect_score=False,
            seed=0,
            gepa_kwargs={"stop_callbacks": [lambda _: bool(self._failure or self._job.failure)]},
        )

    def _examples(self, key: str) -> list[Any]:
        found = []
        for example in self._message[key]:
            inputs = self._program.with_defaults(example)
            found.append(dspy.Example({**example, **inputs}).with_inputs(*inputs))
        return found

    def _score(self, example: Any, prediction: Any, *_trace: Any, **_more: Any) -> Any:
        """Score a prediction; outputs that the program would refuse score 0.

        Errors of the metric are kept for `_check`: DSPy would treat them as a bad answer, and continue.
        """
        score, feedback = 0.0, "Stopped."
        with self._lock:
            if self._failure is None:
                try:
                    score, feedback = self._metric(example.toDict(), self._program.outputs(prediction))
                except OutputError as error:
                    feedback = str(error)
                except UsageError as error:
                    self._failure = error
                at = self._progress
                self._advance(at["phase"], min(at["done"] + 1, at["total"]), at["total"])
        return dspy.Prediction(score=score, feedback=feedback)

    def _advance(self, phase: str, done: int, total: int) -> None:
        self._progress = {"phase": phase, "done": done, "total": total}
        self._report(self._progress)

    def _check(self) -> None:
        if failure := self._job.failure or self._failure:
            raise failure


# Metrics ----------------------------------------------------------------------------------------------


def find_metric(text: str, spec: ProgramSpec, folder: str) -> Metric:
    """Return a function of an example and a program's outputs, for `exact`, `exact:FIELD` or `module:function`."""
    outputs = [field.name for field in spec.outputs]
    kind, _, name = text.partition(":")
    if kind == "exact":
        if name and name not in outputs:
            raise UsageError(f"{spec.name} has no output {name!r}. It has: {', '.join(outputs)}.")
        return lambda example, actual: _exact([name] if name else outputs, example, actual)
    function = load_object(text, Path(folder))
    if not callable(function):
        raise UsageError(f"{text} is not a function.")
    inputs = [field.name for field in spec.inputs]
    return lambda example, actual: _own(text, function, dspy.Example(example).with_inputs(*inputs), actual)


def _exact(names: list[str], expected: Values, actual: Values) -> Score:
    if missing := [name for name in names if name not in expected]:
        raise UsageError(
            f"An example has no {', '.join(missing)}: {dict(expected)!r}. Compare a field that all have: `exact:FIELD`."
        )
    wrong = [name for name in names if actual[name] != expected[name]]
    hints = [f"`{name}` is {actual[name]!r}, but should be {expected[name]!r}." for name in wrong]
    return (0.0, " ".join(hints)) if wrong else (1.0, "Everything is right.")


def _own(text: str, function: Any, expected: Any, actual: Values) -> Score:
    try:
        with contextlib.redirect_stdout(sys.stderr):
            result = function(expected, dspy.Prediction(**actual))
            value, feedback = getattr(result, "score", result), str(getattr(result, "feedback", "") or "")
    except BaseException as error:  # also SystemExit: it is the user's own code
        raise UsageError(f"The metric {text} failed: {type(error).__name__}: {error}") from error
    if not isinstance(value, bool | int | float) or not 0 <= value <= 1:
        raise UsageError(f"The metric {text} returned {value!r} instead of a number from 0 to 1.")
    return float(value), feedback or f"It scored {float(value):g} of 1."
