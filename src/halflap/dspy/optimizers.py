"""DSPy's optimizers, told what to optimise and kept from printing. Imports DSPy, as `building` does."""

from __future__ import annotations

import contextlib
import io
import logging
import sys
from typing import TYPE_CHECKING, Any, Final

import dspy
import tqdm

from halflap.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from halflap.dspy.examples import Example
    from halflap.dspy.metrics import Score

__all__ = ["run_optimizer"]

_THREADS = 4
_MOST_BOOTSTRAPPED, _MOST_LABELED = 4, 8


def run_optimizer(
    name: str,
    module: Any,
    examples: Sequence[Example],
    scored: Callable[[Example, Mapping[str, Any]], Score],
    *,
    seed: int,
    budget: int,
    model: Any,
    is_over: Callable[[], bool],
    began: Callable[[int], None],
) -> Any:
    """Optimise a module; gives another one. What the metric raises of ours ends it; each round is told as it begins."""
    kept = dict(enumerate(examples))
    trainset = [_gold(example, number) for number, example in kept.items()]
    stopped: list[UsageError] = []

    def measure(gold: Any, prediction: Any) -> Score | None:
        if stopped:
            return None
        try:
            return scored(kept[gold[_NUMBER]], prediction)
        except UsageError as error:
            # DSPy would take it for a bad answer, and go on.
            stopped.append(error)
            return None

    with _quiet():
        if name == "GEPA":
            found = _gepa(
                module,
                trainset,
                measure,
                seed=seed,
                budget=budget,
                model=model,
                is_over=lambda: is_over() or bool(stopped),
                began=began,
            )
        else:
            found = _bootstrap(module, trainset, measure)
    if stopped:
        raise stopped[0]
    return found


_NUMBER = "halflap_example"


def _gold(example: Example, number: int) -> Any:
    # Of two by one name the input counts: else the program would be run on what it is to give.
    return dspy.Example({**example.outputs, **example.inputs, _NUMBER: number}).with_inputs(*example.inputs)


def _bootstrap(module: Any, trainset: list[Any], measure: Callable[[Any, Any], Score | None]) -> Any:
    def metric(gold: Any, prediction: Any, trace: Any = None) -> bool:
        del trace
        score = measure(gold, prediction)
        return score is not None and score.value >= 1.0

    optimizer = dspy.BootstrapFewShot(
        metric=metric,
        max_bootstrapped_demos=_MOST_BOOTSTRAPPED,
        max_labeled_demos=_MOST_LABELED,
        max_errors=len(trainset),
    )
    return optimizer.compile(module, trainset=trainset)


def _gepa(
    module: Any,
    trainset: list[Any],
    measure: Callable[[Any, Any], Score | None],
    *,
    seed: int,
    budget: int,
    model: Any,
    is_over: Callable[[], bool],
    began: Callable[[int], None],
) -> Any:
    def metric(gold: Any, prediction: Any, trace: Any = None, of: Any = None, of_trace: Any = None) -> Any:
        del trace, of, of_trace
        score = measure(gold, prediction)
        if score is None:
            return dspy.Prediction(score=0.0, feedback="It was stopped.")
        return dspy.Prediction(score=score.value, feedback=score.feedback)

    optimizer = dspy.GEPA(
        metric=metric,
        max_metric_calls=budget,
        reflection_lm=model.copy(temperature=1.0),
        reflection_minibatch_size=min(3, len(trainset)),
        num_threads=_THREADS,
        # Skipping what is perfect costs no call of the metric, so the budget would never be spent.
        skip_perfect_score=False,
        seed=seed,
        gepa_kwargs={"stop_callbacks": [lambda _: is_over()], "callbacks": [_Rounds(began)]},
    )
    return optimizer.compile(module, trainset=trainset, valset=trainset)


class _Rounds:
    """Is told by GEPA of what it does."""

    def __init__(self, began: Callable[[int], None]) -> None:
        self._began = began

    def on_iteration_start(self, event: Mapping[str, Any]) -> None:
        self._began(event["iteration"])


class _Aside(io.TextIOBase):
    """Lets through what the user's own code prints, to stderr, and nothing that the optimizers do."""

    def write(self, text: str) -> int:
        by = str(sys._getframe(1).f_globals.get("__name__"))  # noqa: SLF001  # nothing else says who prints
        if by.partition(".")[0] not in _LOUD:
            sys.stderr.write(text)
        return len(text)

    def flush(self) -> None:
        sys.stderr.flush()


_LOUD: Final = frozenset({"dspy", "gepa", "litellm", "tqdm"})


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep DSPy's lines, bars and log away: progress and troubles are told, and whoever is told shows them."""
    before = tqdm.tqdm.__init__
    log = logging.getLogger("dspy")
    level = log.level

    def hidden(bar: Any, *arguments: Any, **settings: Any) -> None:
        before(bar, *arguments, **{**settings, "disable": True})

    tqdm.tqdm.__init__ = hidden
    log.setLevel(logging.CRITICAL)
    try:
        with contextlib.redirect_stdout(_Aside()):
            yield
    finally:
        tqdm.tqdm.__init__ = before
        log.setLevel(level)
