"""Optimise a program with DSPy's optimizers, and measure the old and the new version on held-out examples."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import TYPE_CHECKING, Any

import dspy
from dspy.utils.exceptions import LMError

from halflap.core.errors import UsageError
from halflap.dspy.child.metrics import Score, find_metric
from halflap.dspy.child.modules import OutputError, Program, predicts_of, settings_for
from halflap.dspy.state import MAX_DEMO

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from halflap.dspy.child.model import Job, Model

    Example = Mapping[str, Any]

__all__ = ["optimize"]

_CONCURRENT = 4
_MAX_BOOTSTRAPPED, _MAX_LABELED = 4, 8
_MAX_DEMO_BYTES = 2_000_000
"""All demos together, so that the state stays below its limit."""
_NUMBER = "halflap_example"


async def optimize(
    message: Mapping[str, Any], model: Model, adapter: str, job: Job, report: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """Run one optimisation; the child is ended if it has to stop early."""
    logging.getLogger("dspy").setLevel(logging.CRITICAL)
    program = Program.build(message)
    work = _Optimization(program, message, model=model, adapter=adapter, job=job, report=report)
    old_score = await work.measure(program, message["held_out"], "measuring the old")
    module = await asyncio.to_thread(work.optimized, message["examples"])
    new = Program(program.manifest, module, program.validator)
    score = await work.measure(new, message["held_out"], "measuring the new")
    return {"state": _state_of(new), "score": score, "old_score": old_score}


class _Optimization:
    def __init__(
        self,
        program: Program,
        message: Mapping[str, Any],
        *,
        model: Model,
        adapter: str,
        job: Job,
        report: Callable[[dict[str, Any]], None],
    ) -> None:
        self._program = program
        self._metric = find_metric(message["metric"], program.manifest, message["folder"])
        self._message = message
        self._model = model
        self._adapter = adapter
        self._job = job
        self._send = report
        self._failure: UsageError | None = None
        self._round = 1
        self._done = 0

    def _report(self, phase: str, done: int, total: int, **more: Any) -> None:
        self._send({"phase": phase, "done": done, "total": total, **more})

    async def measure(self, program: Program, examples: list[Example], phase: str) -> float:
        """Return the mean score; an answer that cannot be used scores nothing."""
        done, places = 0, asyncio.Semaphore(_CONCURRENT)
        self._report(phase, 0, len(examples))

        async def one(example: Example) -> float:
            nonlocal done
            async with places:
                try:
                    found = await program.run(example["inputs"], self._model, self._adapter, self._job)
                    value = self._score(example, found).value
                except Exception as error:
                    if isinstance(error, UsageError | LMError):
                        raise
                    value = 0.0
            done += 1
            self._report(phase, done, len(examples))
            return value

        scores = await asyncio.gather(*(one(example) for example in examples))
        score = round(sum(scores) / len(scores), 4)
        self._report(phase, len(examples), len(examples), score=score)
        return score

    def _score(self, example: Example, prediction: Mapping[str, Any]) -> Score:
        """Score a prediction; what would be refused when the program runs is worth nothing."""
        try:
            outputs = self._program.outputs(prediction)
        except OutputError as error:
            return Score(0.0, str(error))
        return self._metric(example["inputs"], example["outputs"], outputs)

    def optimized(self, examples: list[Example]) -> Any:
        """Run the optimizer in this thread and return the new module."""
        # Of an input and an output with one name, the input counts: the program must not see what it should return.
        trainset = [
            dspy.Example({**one["outputs"], **one["inputs"], _NUMBER: at}).with_inputs(*one["inputs"])
            for at, one in enumerate(examples)
        ]
        use_gepa = self._message["optimizer"] == "GEPA"
        total, rounds = (self._message["budget"], None) if use_gepa else (len(examples), 1)

        def report() -> None:
            self._report("optimising", min(self._done, total), total, round=self._round, rounds=rounds)

        def measured(gold: Any, prediction: Any) -> Score:
            if self._failure is None:
                try:
                    score = self._score(examples[gold[_NUMBER]], prediction)
                except UsageError as error:
                    # DSPy would take it for a bad answer, and continue.
                    self._failure = error
                else:
                    self._done += 1
                    report()
                    return score
            return Score(0.0, "Stopped.")

        def began(number: int) -> None:
            self._round = number
            report()

        report()
        with settings_for(self._model, self._adapter, self._job):
            run = self._gepa if use_gepa else self._bootstrap
            found = run(self._program.module.deepcopy(), trainset, measured, began)
        failure = self._job.trouble or self._failure
        if failure is not None:
            raise failure
        _drop_large_demos(found, self._program)
        return found

    def _bootstrap(self, module: Any, trainset: list[Any], measured: Any, _began: Any) -> Any:
        def metric(gold: Any, prediction: Any, trace: Any = None) -> bool:
            del trace
            return bool(measured(gold, prediction).value >= 1.0)

        optimizer = dspy.BootstrapFewShot(
            metric=metric,
            max_bootstrapped_demos=_MAX_BOOTSTRAPPED,
            max_labeled_demos=_MAX_LABELED,
            max_errors=len(trainset),
        )
        return optimizer.compile(module, trainset=trainset)

    def _gepa(self, module: Any, trainset: list[Any], measured: Any, began: Any) -> Any:
        def metric(
            gold: Any, prediction: Any, trace: Any = None, of: Any = None, of_trace: Any = None
        ) -> Any:
            del trace, of, of_trace
            score = measured(gold, prediction)
            return dspy.Prediction(score=score.value, feedback=score.feedback)

        class Rounds:
            def on_iteration_start(self, event: Mapping[str, Any]) -> None:
                began(event["iteration"])

        optimizer = dspy.GEPA(
            metric=metric,
            max_metric_calls=self._message["budget"],
            reflection_lm=self._model.copy(temperature=1.0),
            reflection_minibatch_size=min(3, len(trainset)),
            num_threads=_CONCURRENT,
            # Skipping perfect scores costs no metric call, so the budget would never be spent.
            skip_perfect_score=False,
            seed=self._message["seed"],
            gepa_kwargs={"stop_callbacks": [lambda _: self._is_over], "callbacks": [Rounds()]},
        )
        return optimizer.compile(module, trainset=trainset, valset=trainset)

    @property
    def _is_over(self) -> bool:
        return self._failure is not None or self._job.trouble is not None


def _drop_large_demos(module: Any, program: Program) -> None:
    """Drop demos that could not be saved: a ReAct's hold everything that its tools returned."""
    left = _MAX_DEMO_BYTES
    for predictor in program.manifest.predictors:
        for predict in predicts_of(predictor, module.steps[predictor.name]).values():
            kept = []
            for demo, saved in zip(predict.demos, predict.dump_state()["demos"], strict=True):
                try:
                    size = len(json.dumps(saved, ensure_ascii=False, allow_nan=False).encode())
                except (TypeError, ValueError, RecursionError):
                    continue
                if size <= min(left, MAX_DEMO):
                    kept.append(demo)
                    left -= size
            predict.demos = kept


def _state_of(program: Program) -> dict[str, Any]:
    """Return the state as DSPy saves it, without what the optimizer noted for itself."""
    return {
        key: {**predict.dump_state(), "lm": None, "train": [], "traces": []}
        for predictor in program.manifest.predictors
        for key, predict in predicts_of(predictor, program.module.steps[predictor.name]).items()
    }
