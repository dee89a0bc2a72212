"""Choose the result among all candidates: the best that may be taken, and the Pareto front beside it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from halflap.workflows.analysis.compare import compare

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halflap.workflows.answers import Mode, Target, Verdict
    from halflap.workflows.optimize.evaluate import Evaluation, Evaluator

__all__ = ["Chosen", "choose"]

_MODES: Mapping[Target, Mode] = {"behavioral": "strict", "balanced": "balanced", "performance": "lenient"}
_WORK, _FEWEST, _MOST = 200, 2, 150
"""How many estimated candidates are simulated: between these, fewer the larger they are."""
_MAX_DOUBTED = 5
"""How many verdicts may fail before no other is asked for: each may explore as many states as the bound allows."""
_MAX_FRONT = 20

Vector = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Chosen:
    """The result, the verdict on it, and the candidates of which no other is better in time, cost and size."""

    best: Evaluation
    verdict: Verdict
    front: tuple[Evaluation, ...]
    notes: tuple[str, ...]


def choose(evaluator: Evaluator) -> Chosen:
    """Choose the best of all that keep the constraints, or come nearest to that."""
    notes: list[str] = []
    allowed = [one for one in evaluator.found.values() if one.refused is None]
    least = min(one.excess for one in allowed)
    pool = sorted((one for one in allowed if one.excess == least), key=lambda one: one.rank)
    pool = _simulated(evaluator, pool, notes)
    judge = _Judge(evaluator)
    best = next((one for one in pool if judge.passes(one)), evaluator.precisely(evaluator.start))
    if judge.doubted >= _MAX_DOUBTED:
        notes.append(f"{judge.doubted} better workflows were not taken, since their verdict did not pass.")
    front = _front(pool, best, judge if evaluator.target == "behavioral" else None)
    if len(front) > _MAX_FRONT:
        notes.append(f"The Pareto front has {len(front)} workflows; the first {_MAX_FRONT} are listed.")
    if best not in front:
        notes.append(
            "The result is not in the Pareto front: another workflow is at least as good in time, cost and size, "
            "but scores lower or has less of the requested patterns."
        )
    return Chosen(best, judge.verdict(best), tuple(front[:_MAX_FRONT]), tuple(notes))


def _simulated(evaluator: Evaluator, pool: list[Evaluation], notes: list[str]) -> list[Evaluation]:
    """Where times were estimated, simulate the best and return only those: estimates are not compared with the rest."""
    guessed = sum(one.times.method == "estimated" for one in pool)
    if not guessed:
        return pool
    start = evaluator.start
    most = max(_FEWEST, min(_MOST, _WORK // max(1, len(evaluator.original.tasks))))
    chosen = {one.structure for one in (*pool[:most], *_nondominated(pool)[:_FEWEST])}
    if start.excess == pool[0].excess:
        chosen.add(start.structure)
    looked = [evaluator.precisely(one) for one in pool if one.structure in chosen]
    if len(looked) < len(pool):
        notes.append(
            f"The times of {guessed} of {len(pool)} workflows were estimated; the best {len(looked)} were simulated."
        )
    return sorted((one for one in looked if one.refused is None), key=lambda one: one.rank)


class _Judge:
    """Compares candidates with the original, each once."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.doubted = 0
        self._found: dict[int, Verdict] = {}

    def verdict(self, one: Evaluation) -> Verdict:
        found = self._found.get(id(one))
        if found is None:
            evaluator = self.evaluator
            found = compare(evaluator.original, one.net, _MODES[evaluator.target], evaluator.bound)
            self._found[id(one)] = found
        return found

    def passes(self, one: Evaluation) -> bool:
        """Return whether a candidate passes regardless of how it was made; the original does."""
        if one.structure == self.evaluator.start.structure:
            return True
        if self.doubted >= _MAX_DOUBTED:
            return False
        # How far the fastest may stray is not limited; what it must keep was checked when it was found.
        passed = self.evaluator.target == "performance" or self.verdict(one).passed
        self.doubted += not passed
        return passed


def _front(pool: list[Evaluation], best: Evaluation, judge: _Judge | None) -> list[Evaluation]:
    """Return the Pareto front, the result first; a judge leaves out what does not pass."""
    left = [best, *(one for one in pool if one is not best)]
    while True:
        front = _nondominated(left)
        wrong = [id(one) for one in front if one is not best and judge is not None and not judge.passes(one)]
        if not wrong:
            return front
        left = [one for one in left if id(one) not in wrong]


def _nondominated(listed: Sequence[Evaluation]) -> list[Evaluation]:
    """Return those of which no other is at least as good in everything; of equals the first."""
    found: dict[Vector, Evaluation] = {}
    for one in listed:
        found.setdefault(_vector(one), one)
    kept: list[Vector] = []
    for mine in sorted(found):
        if not any(all(a <= b for a, b in zip(yours, mine, strict=True)) for yours in kept):
            kept.append(mine)
    place = {id(one): at for at, one in enumerate(listed)}
    return sorted((found[mine] for mine in kept), key=lambda one: place[id(one)])


def _vector(one: Evaluation) -> Vector:
    makespan = math.inf if one.times.makespan is None else round(one.times.makespan, 9)
    return makespan, round(one.times.cost or 0.0, 9), one.size
