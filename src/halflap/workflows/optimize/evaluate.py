"""Measure candidates: each workflow that is tried is scored, checked against what has to be respected, and ranked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from halflap.workflows.analysis.compare import BALANCED
from halflap.workflows.analysis.footprint import agreement, footprint
from halflap.workflows.analysis.order import data_by_label, first_order, reversals
from halflap.workflows.analysis.soundness import soundness
from halflap.workflows.analysis.study import Study, Unknown
from halflap.workflows.answers import Metrics, Target
from halflap.workflows.model.build import build
from halflap.workflows.score.facts import Facts
from halflap.workflows.score.patterns import Pattern, findings, pattern_score
from halflap.workflows.score.rules import check_rule
from halflap.workflows.score.score import Weights, compliance, maintainability, measures, total
from halflap.workflows.score.timing import Performance, Timing, performance
from halflap.workflows.transform.catalogue import TRANSFORMATIONS, Transformation

if TYPE_CHECKING:
    from halflap.workflows.model.block import Block
    from halflap.workflows.model.net import Net
    from halflap.workflows.transform.constraints import Ground

_CLOSE = 1e-9
_ENDLESS = 1e12
_DIGITS = 9
_WORK = 13_000
_FEWEST, _MOST = 120, 1_200
"""How many workflows are measured: between these, fewer the larger they are."""
_WEIGHTS = Weights().normalised()


@dataclass(frozen=True, slots=True)
class Move:
    """One change, from one workflow to another."""

    source: Block
    target: Block
    transformation: Transformation
    what: str


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """One workflow, measured."""

    tree: Block
    net: Net
    times: Performance
    size: int
    """Tasks, conditions and flows together."""
    total: float
    merit: float
    """The total with performance relative to the critical path of the original: by its own, doing less looks slower."""
    excess: tuple[float, float]
    """By how much max_parallel and max_cost are exceeded."""
    rank: tuple[float, ...]
    """Less is better."""
    agreement: float = 1.0
    """With the footprint of the original, where it was computed."""
    refused: str | None = None
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
    """Measures workflows made from one, each once: quickly during the search, and precisely what is chosen from."""

    def __init__(
        self, ground: Ground, tree: Block, target: Target, patterns: Sequence[Pattern], bound: int
    ) -> None:
        self.ground = ground
        self.original = ground.facts.net
        self.target: Target = target
        self.bound = bound
        self.cut_short = False
        """Whether the search ended before everything was tried."""
        self.found: dict[Block, Candidate] = {}
        self.came: dict[Block, Move] = {}
        """The change by which each was first reached."""
        self.budget = max(_FEWEST, min(_MOST, _WORK // max(1, len(self.original.tasks))))
        self._patterns = patterns
        # As a score sees it: a constraint is no reason to think better of the performance.
        self._facts = Facts(self.original)
        self._timing = Timing(self._facts)
        study = Study(self.original, bound, tree=tree)
        self._footprint = footprint(study)
        self._order = first_order(study)
        self._data = data_by_label(self.original)
        self._broken = self._rules_broken(study)
        self._precise: dict[Block, Candidate] = {}
        self.start = self.found[tree] = self._measured(study, None, quick=True)

    def stop(self) -> bool:
        """Return whether enough was measured."""
        self.cut_short |= len(self.found) >= self.budget
        return self.cut_short

    def neighbours(self, tree: Block) -> Iterator[Candidate]:
        """Yield what one permitted change makes of a workflow and may be taken, each once."""
        seen = {tree}
        for one in TRANSFORMATIONS.values():
            if self.target == "behavioral" and not one.keeps_traces:
                continue
            for new, what in one.changes(self.ground, tree):
                if new in seen:
                    continue
                if self.stop():
                    return
                seen.add(new)
                if new != self.start.tree:
                    self.came.setdefault(new, Move(tree, new, one, what))
                found = self.evaluate(new)
                if found.refused is None:
                    yield found

    def evaluate(self, tree: Block) -> Candidate:
        """Measure a workflow; times may be estimated."""
        if tree not in self.found:
            self.found[tree] = self._measured(self._study(tree), self.start, quick=True)
        return self.found[tree]

    def precisely(self, one: Candidate) -> Candidate:
        """Measure a workflow with simulated times instead of estimated ones."""
        if one.times.method != "estimated":
            return one
        if one.tree not in self._precise:
            start = None if one.tree == self.start.tree else self.precisely(self.start)
            self._precise[one.tree] = self._measured(self._study(one.tree), start, quick=False)
        return self._precise[one.tree]

    def _study(self, tree: Block) -> Study:
        gates: dict[str, str] = {}
        return Study(build(self.original, tree, gates), self.bound, tree=tree, gates=gates)

    def _measured(self, study: Study, start: Candidate | None, *, quick: bool) -> Candidate:
        net, facts = study.net, self._facts
        times = performance(study, facts, self._timing, quick=quick)
        broken = self._broken if start is None else self._rules_broken(study)
        sound = soundness(study).sound is True
        scores = (pattern_score(findings(facts, study.tree, name)) for name in self._patterns)
        patterns = [one for one in scores if one is not None]
        dimensions = {
            "performance": times.score,
            "maintainability": maintainability(measures(net, study.tree)),
            "compliance": compliance(sound, [at not in broken for at in range(len(net.rules))]),
        }
        yardstick = (times if start is None else start.times).critical_path
        fast = yardstick / times.makespan if yardstick is not None and times.makespan else times.score
        merit = total({**dimensions, "performance": fast}, _WEIGHTS, patterns)
        size = len(net.tasks) + len(net.conditions) + len(net.flows)
        excess = self._excess(times)
        refused, agreed = None, 1.0
        if start is not None:
            refused, agreed = self._refused(
                study, times, excess, start, is_fine=sound and broken <= self._broken
            )
        makespan = _ENDLESS if times.makespan is None else round(times.makespan, _DIGITS)
        cost = round(times.cost or 0.0, _DIGITS)
        steer = round(-sum(patterns) / len(patterns), _DIGITS) if patterns else 0.0
        ranks: Mapping[Target, tuple[float, ...]] = {
            "behavioral": (size, steer, makespan, cost),
            "performance": (makespan, steer, cost, size),
            "balanced": (round(-merit, _DIGITS), makespan, cost, size),
        }
        rank = (*excess, *ranks[self.target])
        whole = total(dimensions, _WEIGHTS, patterns)
        return Candidate(study.tree, net, times, size, whole, merit, excess, rank, agreed, refused)

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

    def _refused(  # noqa: PLR0911 -- a reason each
        self,
        study: Study,
        times: Performance,
        excess: tuple[float, float],
        start: Candidate,
        *,
        is_fine: bool,
    ) -> tuple[str | None, float]:
        """Return why a workflow may not be taken, and its agreement with the original."""
        slower = False
        if start.times.makespan is not None and times.makespan is not None:
            noise = (times.error or 0.0) + (start.times.error or 0.0)
            # Doing less at once may take longer.
            slower = times.makespan > start.times.makespan + noise + _CLOSE and not excess < start.excess
        if not is_fine:
            return "It is not sound, or breaks a rule.", 0.0
        if times.makespan is None and start.times.makespan is not None:
            return "Its makespan is unknown.", 0.0
        if slower or any(mine > yours + _CLOSE for mine, yours in zip(excess, start.excess, strict=True)):
            return "It is slower, or exceeds a constraint further.", 0.0
        if self.target != "behavioral" and not self._keeps_order(study):
            return "Something can come before what it depends on.", 0.0
        if self.target != "balanced":
            return None, 1.0
        found = footprint(study)
        if isinstance(found, Unknown) or isinstance(self._footprint, Unknown):
            return "Its agreement with the original is unknown.", 0.0
        agreed = agreement(self._footprint, found)
        share = 1.0 if agreed is None else agreed.cells
        return None if share >= BALANCED else f"Its footprint agrees in {share:.3f} of the cells.", share

    def _keeps_order(self, study: Study) -> bool:
        """Return whether everything still comes after what it depends on, however the workflow was made."""
        after = first_order(study)
        if isinstance(self._order, Unknown) or isinstance(after, Unknown):
            return False
        return not reversals(self._data, self._order, after, most=1)
