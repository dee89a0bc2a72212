"""Measure candidates: each workflow that is tried is scored, checked against what has to be respected, and ranked."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from halflap.workflows.analysis.compare import BALANCED
from halflap.workflows.analysis.footprint import agreement, footprint
from halflap.workflows.analysis.order import data_by_label, first_order, reversals
from halflap.workflows.analysis.soundness import soundness
from halflap.workflows.analysis.study import Study, Unknown
from halflap.workflows.answers import Metrics
from halflap.workflows.model.build import build
from halflap.workflows.score.facts import Facts
from halflap.workflows.score.patterns import pattern_scores
from halflap.workflows.score.rules import check_rule
from halflap.workflows.score.score import DEFAULT_WEIGHTS, compliance, maintainability, measures, total
from halflap.workflows.score.timing import Timing, performance
from halflap.workflows.transform.catalogue import TRANSFORMATIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from halflap.workflows.answers import Target
    from halflap.workflows.model.block import Structure
    from halflap.workflows.model.net import Bound, Net
    from halflap.workflows.score.patterns import Pattern
    from halflap.workflows.score.timing import Performance
    from halflap.workflows.transform.catalogue import Transformation
    from halflap.workflows.transform.ground import Ground

__all__ = ["Evaluation", "Evaluator", "Move"]

_CLOSE = 1e-9
_ENDLESS = 1e12
_DIGITS = 9
_WORK = 13_000
_FEWEST, _MOST = 120, 1_200
"""How many workflows are measured: between these, fewer the larger they are."""


@dataclass(frozen=True, slots=True)
class Move:
    """One change, from one workflow to another."""

    source: Structure
    target: Structure
    transformation: Transformation
    what: str


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One candidate."""

    structure: Structure
    net: Net
    times: Performance
    size: int
    """Tasks, conditions and flows together."""
    dimensions: Mapping[str, float | None]
    total: float
    merit: float
    """The total with performance relative to the critical path of the original: by its own, doing less looks slower."""
    patterns: tuple[float, ...]
    agreement: float | None
    """With the footprint of the original, where it was computed."""
    excess: tuple[float, float]
    """By how much max_parallel and max_cost are exceeded."""
    rank: tuple[float, ...]
    """Less is better."""
    refused: str | None
    """Why it may not be taken."""

    def metrics(self) -> Metrics:
        times = self.times
        return Metrics(
            expected_makespan=times.makespan,
            method=times.method,
            critical_path=times.critical_path,
            performance=times.score,
            expected_cost=times.cost,
            max_parallel=times.width,
            size=self.size,
            total_score=self.total,
        )


class Evaluator:
    """Measures workflows made from one, each once."""

    def __init__(
        self,
        ground: Ground,
        structure: Structure,
        target: Target,
        patterns: Sequence[Pattern] = (),
        bound: Bound | None = None,
    ) -> None:
        self.ground = ground
        self.original = ground.facts.net
        self.target: Target = target
        self.bound = bound
        self.out_of_time = False
        self.cut_short = False
        """Whether the search ended before everything was tried."""
        self.found: dict[Structure, Evaluation] = {}
        self.came: dict[Structure, Move] = {}
        """The change by which each was first reached."""
        self.budget = max(_FEWEST, min(_MOST, _WORK // max(1, len(self.original.tasks))))
        self._patterns = tuple(patterns)
        seconds = None if bound is None else bound.seconds
        self._until = None if seconds is None else time.monotonic() + seconds
        # As a score sees it: a constraint is no reason to think better of the performance.
        self._facts = Facts(self.original)
        self._estimates = Timing(self._facts, quick=True)
        self._timing = Timing(self._facts)
        study = Study(self.original, bound, structure=structure)
        self._footprint = footprint(study)
        self._order = first_order(study) if target != "behavioral" else None
        self._data = data_by_label(self.original)
        self._precise: dict[Structure, Evaluation] = {}
        self._broken = self._rules_broken(study)
        self.start = self._evaluated(study, None)
        self.found[structure] = self.start

    @property
    def evaluations(self) -> int:
        return len(self.found)

    def stop(self) -> bool:
        """Return whether enough was measured, or the time is up."""
        if self._until is not None and time.monotonic() > self._until:
            self.out_of_time = True
        if self.out_of_time or len(self.found) >= self.budget:
            self.cut_short = True
        return self.cut_short

    def neighbours(self, structure: Structure) -> Iterator[Evaluation]:
        """Yield what one permitted change makes of a workflow and may be taken, each once."""
        seen = {structure}
        for one in TRANSFORMATIONS.values():
            if self.target == "behavioral" and not one.keeps_traces:
                continue
            for new, what in one.changes(self.ground, structure):
                if new in seen:
                    continue
                if self.stop():
                    return
                seen.add(new)
                if new != self.start.structure:
                    self.came.setdefault(new, Move(structure, new, one, what))
                found = self.evaluate(new)
                if found.refused is None:
                    yield found

    def evaluate(self, structure: Structure) -> Evaluation:
        found = self.found.get(structure)
        if found is None:
            study = Study(build(self.original, structure), self.bound, structure=structure)
            found = self.found[structure] = self._evaluated(study, self.start)
        return found

    def _evaluated(self, study: Study, start: Evaluation | None) -> Evaluation:
        net = study.net
        times = performance(study, self._facts, self._estimates)
        broken = self._broken if start is None else self._rules_broken(study)
        sound = soundness(study).sound is True
        scores = pattern_scores(self._facts, study.structure, self._patterns)
        patterns = tuple(one for one in scores.values() if one is not None)
        dimensions = {
            "performance": times.score,
            "maintainability": maintainability(measures(net, study.structure)),
            "compliance": compliance(sound, [at not in broken for at in range(len(net.rules))]),
        }
        size = len(net.tasks) + len(net.conditions) + len(net.flows)
        excess = self._excess(times)
        refused, agreed = (
            (None, 1.0) if start is None else self._refused(study, times, broken, excess, start, sound=sound)
        )
        made = Evaluation(
            study.structure, net, times, size, dimensions, total(dimensions, DEFAULT_WEIGHTS, patterns), 0.0, patterns,
            agreed, excess, (), refused,
        )  # fmt: skip
        return self._ranked(made, start)

    def _ranked(self, one: Evaluation, start: Evaluation | None) -> Evaluation:
        yardstick = (start or one).times.critical_path
        fast = one.times.score
        if yardstick is not None and one.times.makespan:
            fast = yardstick / one.times.makespan
        merit = total({**one.dimensions, "performance": fast}, DEFAULT_WEIGHTS, one.patterns)
        makespan = _ENDLESS if one.times.makespan is None else round(one.times.makespan, _DIGITS)
        cost = round(one.times.cost or 0.0, _DIGITS)
        steer = round(-sum(one.patterns) / len(one.patterns), _DIGITS) if one.patterns else 0.0
        rank: Mapping[Target, tuple[float, ...]] = {
            "behavioral": (one.size, steer, makespan, cost),
            "performance": (makespan, steer, cost, one.size),
            "balanced": (round(-merit, _DIGITS), makespan, cost, one.size),
        }
        return replace(one, merit=merit, rank=(*one.excess, *rank[self.target]))

    def _excess(self, times: Performance) -> tuple[float, float]:
        wanted = self.ground.constraints
        width = 0 if wanted.max_parallel is None else max(0, (times.width or 0) - wanted.max_parallel)
        cost = 0.0 if wanted.max_cost is None else max(0.0, (times.cost or 0.0) - wanted.max_cost)
        return float(width), round(cost, _DIGITS)

    def _rules_broken(self, study: Study) -> frozenset[int]:
        """Return the positions of the rules that are broken, or not known to hold."""
        return frozenset(
            at for at, rule in enumerate(self.original.rules) if not check_rule(study, rule).holds
        )

    def _refused(
        self,
        study: Study,
        times: Performance,
        broken: frozenset[int],
        excess: tuple[float, float],
        start: Evaluation,
        *,
        sound: bool,
    ) -> tuple[str | None, float | None]:
        """Return why a workflow may not be taken, and its agreement with the original if that was computed."""
        beyond = any(mine > yours + _CLOSE for mine, yours in zip(excess, start.excess, strict=True))
        wrong = {
            "It is not sound.": not sound,
            "It breaks a rule.": bool(broken - self._broken),
            "Its makespan is unknown.": times.makespan is None and start.times.makespan is not None,
            "It exceeds a constraint further.": beyond,
            "It is slower.": _slower(times, excess, start),
        }
        why = next((one for one, holds in wrong.items() if holds), None)
        if why is None and self.target != "behavioral" and not self.keeps_order(study):
            why = "Something can come before what it depends on."
        if why is not None or self.target != "balanced":
            return why, None
        found = footprint(study)
        if isinstance(found, Unknown) or isinstance(self._footprint, Unknown):
            return "Its agreement with the original is unknown.", None
        agreed = agreement(self._footprint, found, 0)
        if agreed is not None and agreed.cells < BALANCED:
            return (
                f"Its footprint agrees in {agreed.cells:.3f} of the cells; {BALANCED:g} are required.",
                agreed.cells,
            )
        return None, 1.0 if agreed is None else agreed.cells

    def keeps_order(self, study: Study) -> bool:
        """Return whether everything still comes after what it depends on, however the workflow was made."""
        if self._order is None or isinstance(self._order, Unknown):
            return False
        after = first_order(study)
        return not isinstance(after, Unknown) and not reversals(self._data, self._order, after, most=1)

    def precisely(self, one: Evaluation) -> Evaluation:
        """Return an evaluation with estimated times replaced by simulated ones, and what follows from them."""
        if one.times.method != "estimated":
            return one
        found = self._precise.get(one.structure)
        if found is None:
            study = Study(one.net, self.bound, structure=one.structure)
            times = performance(study, self._facts, self._timing)
            dimensions = {**one.dimensions, "performance": times.score}
            made = replace(
                one,
                times=times,
                dimensions=dimensions,
                total=total(dimensions, DEFAULT_WEIGHTS, one.patterns),
            )
            start = None if one.structure == self.start.structure else self.precisely(self.start)
            if start is not None and made.refused is None and _slower(times, one.excess, start):
                made = replace(made, refused="It is slower.")
            found = self._precise[one.structure] = self._ranked(made, start)
        return found


def _slower(times: Performance, excess: tuple[float, float], start: Evaluation) -> bool:
    if times.makespan is None or start.times.makespan is None:
        return False
    noise = (times.error or 0.0) + (start.times.error or 0.0)
    # Doing less at once may take longer.
    return times.makespan > start.times.makespan + noise + _CLOSE and not excess < start.excess
