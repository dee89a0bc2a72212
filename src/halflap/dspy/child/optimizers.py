"""Optimise a program with DSPy's optimizers, and measure the old and the new version on held-out examples."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dspy
from dspy.utils.exceptions import LMError

from halflap.core.errors import UsageError
from halflap.dspy.child.modules import OutputError, Program, load_object, saved_state, settings_for

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from halflap.dspy.child.model import Job, Model
    from halflap.dspy.manifest import Manifest

    Values = Mapping[str, Any]
    Score = tuple[float, str]
    """From 0 to 1, with a hint for a model that should do better."""
    Metric = Callable[[Values, Values], Score]

__all__ = ["find_metric", "optimize"]

_CONCURRENT = 4
_MAX_BOOTSTRAPPED, _MAX_LABELED = 4, 8
_MAX_DEMO_BYTES = 100_000
"""Larger demos are dropped: a ReAct's hold everything that its tools returned."""
_NUMBER = "halflap_example"


async def optimize(
    message: Mapping[str, Any], model: Model, job: Job, report: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """Run one optimisation; the process is ended if it has to stop early."""
    logging.getLogger("dspy").setLevel(logging.CRITICAL)
    program = Program.build(message)
    work = _Optimization(program, message, model, job, report)
    old_score = await work.measure(program, "measuring the old")
    module = await asyncio.to_thread(work.optimized)
    new = Program(program.manifest, module, program.validator)
    score = await work.measure(new, "measuring the new")
    return {"state": saved_state(program.manifest, module.steps), "score": score, "old_score": old_score}


class _Optimization:
    def __init__(
        self, program: Program, message: Mapping[str, Any], model: Model, job: Job, report: Any
    ) -> None:
        self._program = program
        self._metric = find_metric(message["metric"], program.manifest, message["folder"])
        self._message = message
        self._model = model
        self._job = job
        self._report = report
        self._failure: UsageError | None = None
        self._done = 0

    async def measure(self, program: Program, phase: str) -> float:
        """Return the mean score on the held-out examples; an answer that cannot be used scores nothing."""
        examples, places, scores = self._message["held_out"], asyncio.Semaphore(_CONCURRENT), []

        async def score(example: Values) -> None:
            async with places:
                try:
                    prediction = await program.run(example["inputs"], self._model, self._job)
                    value = self._score(example, prediction)[0]
                except (UsageError, LMError, TimeoutError):
                    raise
                except Exception:  # noqa: BLE001 -- DSPy raises many kinds for answers it cannot read
                    value = 0.0
            scores.append(value)
            self._report({"phase": phase, "done": len(scores), "total": len(examples)})

        self._report({"phase": phase, "done": 0, "total": len(examples)})
        await asyncio.gather(*(score(example) for example in examples))
        mean = round(sum(scores) / len(scores), 4)
        self._report({"phase": phase, "done": len(scores), "total": len(scores), "score": mean})
        return mean

    def _score(self, example: Values, prediction: Values) -> Score:
        """Score a prediction; what would be refused when the program runs is worth nothing."""
        try:
            outputs = self._program.outputs(prediction)
        except OutputError as error:
            return 0.0, str(error)
        return self._metric(example, outputs)

    def optimized(self) -> Any:
        """Run the optimizer in this thread and return the new module."""
        trainset = []
        for number, example in enumerate(self._message["examples"]):
            inputs = self._program.with_defaults(example["inputs"])
            # Of an input and an output with one name, the input counts: the program must not see what it should return.
            values = {**example["outputs"], **inputs, _NUMBER: number}
            trainset.append(dspy.Example(values).with_inputs(*inputs))
        module = self._program.module.deepcopy()
        with settings_for(self._model, self._job):
            if self._message["optimizer"] == "GEPA":
                module = self._gepa(len(trainset)).compile(module, trainset=trainset, valset=trainset)
            else:
                module = self._bootstrap(len(trainset)).compile(module, trainset=trainset)
        if failure := self._job.failure or self._failure:
            raise failure
        for predict in module.predictors():
            predict.demos = [demo for demo in predict.demos if _is_small(demo)]
        return module

    def _bootstrap(self, count: int) -> Any:
        def metric(example: Any, prediction: Any, *_trace: Any) -> bool:
            return self._scored(example, prediction, count)[0] >= 1.0

        return dspy.BootstrapFewShot(
            metric=metric,
            max_bootstrapped_demos=_MAX_BOOTSTRAPPED,
            max_labeled_demos=_MAX_LABELED,
            max_errors=count,
        )

    def _gepa(self, count: int) -> Any:
        def metric(example: Any, prediction: Any, *_trace: Any, **_more: Any) -> Any:
            score, feedback = self._scored(example, prediction, self._message["budget"])
            return dspy.Prediction(score=score, feedback=feedback)

        def is_over(_: Any) -> bool:
            return self._failure is not None or self._job.failure is not None

        return dspy.GEPA(
            metric=metric,
            max_metric_calls=self._message["budget"],
            reflection_lm=self._model.copy(temperature=1.0),
            reflection_minibatch_size=min(3, count),
            num_threads=_CONCURRENT,
            # Skipping perfect scores costs no metric call, so the budget would never be spent.
            skip_perfect_score=False,
            seed=self._message["seed"],
            gepa_kwargs={"stop_callbacks": [is_over]},
        )

    def _scored(self, example: Any, prediction: Any, total: int) -> Score:
        """Score an answer for an optimizer, which would take an error for a bad answer, and continue."""
        if self._failure is None:
            try:
                score = self._score(self._message["examples"][example[_NUMBER]], prediction)
            except UsageError as error:
                self._failure = error
            else:
                self._done += 1
                self._report({"phase": "optimising", "done": min(self._done, total), "total": total})
                return score
        return 0.0, "Stopped."


def _is_small(demo: Any) -> bool:
    return len(json.dumps(dict(demo), default=str)) <= _MAX_DEMO_BYTES


# Metrics ----------------------------------------------------------------------------------------------


def find_metric(text: str, manifest: Manifest, folder: str) -> Metric:
    """Return a function of an example and a program's outputs, for `exact`, `exact:FIELD` or `module:function`."""
    outputs = [field.name for field in manifest.outputs]
    kind, _, name = text.partition(":")
    if kind == "exact":
        if name and name not in outputs:
            raise UsageError(f"{manifest.name} has no output {name!r}. It has: {', '.join(outputs)}.")
        return lambda example, actual: _exact([name] if name else outputs, example["outputs"], actual)
    function = load_object(text, Path(folder))
    if not callable(function):
        raise UsageError(f"{text} is not a function.")
    return lambda example, actual: _own(text, function, example, actual)


def _exact(names: list[str], expected: Values, actual: Values) -> Score:
    if missing := [name for name in names if name not in expected]:
        raise UsageError(
            f"An example has no {', '.join(missing)}: {dict(expected)!r}. Compare a field that all have: `exact:FIELD`."
        )
    wrong = [name for name in names if actual[name] != expected[name]]
    hints = [f"`{name}` is {actual[name]!r}, but should be {expected[name]!r}." for name in wrong]
    return (0.0, " ".join(hints)) if wrong else (1.0, "Everything is right.")


def _own(text: str, function: Any, example: Values, actual: Values) -> Score:
    expected = dspy.Example({**example["outputs"], **example["inputs"]}).with_inputs(*example["inputs"])
    try:
        with contextlib.redirect_stdout(sys.stderr):
            result = function(expected, dspy.Prediction(**actual))
            value, feedback = getattr(result, "score", result), str(getattr(result, "feedback", "") or "")
    except BaseException as error:  # also SystemExit: it is the user's own code
        raise UsageError(f"The metric {text} failed: {type(error).__name__}: {error}") from error
    if not isinstance(value, bool | int | float) or not 0 <= value <= 1:
        raise UsageError(f"The metric {text} returned {value!r} instead of a number from 0 to 1.")
    return float(value), feedback or f"It scored {float(value):g} of 1."
