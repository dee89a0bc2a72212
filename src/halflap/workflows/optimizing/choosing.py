"""What is taken of all that was found: the best that may be, the Pareto front beside it, and what is to be said of both."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from halflap.workflows.validate import validate_footprint

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halflap.workflows.optimizing.evaluation import Evaluation, Evaluator, Target
    from halflap.workflows.validation import Mode, Validation

__all__ = ["Choice", "choose"]

_MODES: Mapping[Target, Mode] = {"behavioral": "strict", "balanced": "balanced", "performance": "lenient"}
_WORK, _FEWEST, _MOST = 200, 2, 150
"""How many are looked at closely where times were estimated: the larger they are, the fewer."""
_MOST_DOUBTED = 5
"""How many verdicts may fail before no other is asked for: each may go through as many states as the bound allows."""
_MOST_FRONT = 20
_DIGITS = 9

Vector = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Choice:
    """What is taken, and the front of which no other is at least as good in time, cost and size and better in one."""

    best: Evaluation
    verdict: Validation
    front: tuple[Evaluation, ...]
    notes: tuple[str, ...]


def choose(evaluator: Evaluator) -> Choice:
    """Take the best of all that may be taken; where constraints are not kept, of those that come nearest."""
    notes: list[str] = []
    pool = _closely(evaluator, _nearest(evaluator), notes)
    judge = _Judge(evaluator)
    best = next((one for one in pool if judge.passes(one)), evaluator.precisely(_start(evaluator)))
    if judge.doubted >= _MOST_DOUBTED:
        notes.append(
            f"{judge.doubted} better ones were not taken, since the verdict on them is not known to be good; others were not looked at."
        )
    front = _front(pool, best, judge if evaluator.target == "behavioral" else None)
    if len(front) > _MOST_FRONT:
        notes.append(f"The Pareto front has {len(front)}; the first {_MOST_FRONT} of them are given.")
    if best not in front:
        notes.append(_why_dominated(evaluator, best, front))
    return Choice(best, judge.verdict(best), tuple(front[:_MOST_FRONT]), tuple(notes))


def _start(evaluator: Evaluator) -> Evaluation:
    assert evaluator.start is not None
    return evaluator.start


def _nearest(evaluator: Evaluator) -> list[Evaluation]:
    """Give all that may be taken and keep the constraints, or come nearest to that, the best first; of those that are alike, what was found first."""
    allowed = [one for one in evaluator.found.values() if one.refused is None]
    least = min(one.excess for one in allowed)
    return sorted((one for one in allowed if one.excess == least), key=lambda one: one.rank)


def _closely(evaluator: Evaluator, pool: list[Evaluation], notes: list[str]) -> list[Evaluation]:
    """Where times were estimated, look at the best closely, and give those alone: what is estimated is compared with nothing."""
    guessed = sum(one.times.method == "estimated" for one in pool)
    if not guessed:
        return pool
    start = _start(evaluator)
    most = max(_FEWEST, min(_MOST, _WORK // max(1, len(evaluator.original.tasks))))
    chosen = {one.layout: one for one in (*pool[:most], *_nondominated(pool)[:_FEWEST])}
    if start.excess == pool[0].excess:
        chosen[start.layout] = start
    looked = [evaluator.precisely(one) for one in pool if one.layout in chosen]
    if len(looked) < len(pool):
        notes.append(
            f"The times of {guessed} of {len(pool)} workflows were estimated, since cases would have to be played out; the {len(looked)} best by that were looked at closely."
        )
    return sorted((one for one in looked if one.refused is None), key=lambda one: one.rank)


class _Judge:
    """Gives verdicts, each once."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.doubted = 0
        self._found: dict[int, Validation] = {}

    def verdict(self, one: Evaluation) -> Validation:
        found = self._found.get(id(one))
        if found is None:
            original, bound = self.evaluator.original, self.evaluator.bound
            mode = _MODES[self.evaluator.target]
            found = self._found[id(one)] = validate_footprint(original, one.net, mode, bound)
        return found

    def passes(self, one: Evaluation) -> bool:
        """Tell whether a workflow stands when it is looked at without regard to how it was made; the original does."""
        if one.layout == _start(self.evaluator).layout:
            return True
        if self.doubted >= _MOST_DOUBTED:
            return False
        # How far the fastest may stray is not bounded: what it has to keep was held against it when it was found.
        passed = self.evaluator.target == "performance" or self.verdict(one).passed
        self.doubted += not passed
        return passed


def _front(pool: list[Evaluation], best: Evaluation, judge: _Judge | None) -> list[Evaluation]:
    """Give the Pareto front, the one that is taken first, then by rank; a judge leaves out who does not pass."""
    left = [best, *(one for one in pool if one is not best)]
    while True:
        front = _nondominated(left)
        wrong = [one for one in front if one is not best and judge is not None and not judge.passes(one)]
        if not wrong:
            return front
        left = [one for one in left if not any(one is other for other in wrong)]


def _nondominated(listed: Sequence[Evaluation]) -> list[Evaluation]:
    """Give those of which no other is at least as good in everything and better in something; of those that are alike, the first."""
    found: dict[Vector, Evaluation] = {}
    for one in listed:
        found.setdefault(_vector(one), one)
    kept: list[tuple[Vector, Evaluation]] = []
    # Who is better in something and no worse in the rest comes before.
    for mine in sorted(found):
        if not any(all(a <= b for a, b in zip(yours, mine, strict=True)) for yours, _ in kept):
            kept.append((mine, found[mine]))
    place = {id(one): at for at, one in enumerate(listed)}
    return sorted((one for _, one in kept), key=lambda one: place[id(one)])


def _vector(one: Evaluation) -> Vector:
    time = math.inf if one.times.makespan is None else round(one.times.makespan, _DIGITS)
    return time, round(one.times.cost or 0.0, _DIGITS), one.size


def _why_dominated(evaluator: Evaluator, best: Evaluation, front: Sequence[Evaluation]) -> str:
    mine = _vector(best)
    other = next(one for one in front if all(a <= b for a, b in zip(_vector(one), mine, strict=True)))
    begin = "What was taken is not in the Pareto front: another is at least as good in time, cost and size"
    if evaluator.target == "balanced":
        return f"{begin}, but its score is lower, {other.merit:.4f} against {best.merit:.4f}: it is harder to maintain, or has less of the patterns."
    return f"{begin}, but has less of the patterns that were asked for."
