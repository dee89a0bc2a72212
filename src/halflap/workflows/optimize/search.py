"""The search: workflows made from one by the transformations, each measured once, and which to continue from.

Transformations keep soundness, the rules and the order of whatever depends on each other; the optimizer checks that once, of the result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

from halflap.workflows.analysis.compare import BALANCED
from halflap.workflows.analysis.footprint import Agreement, footprint
from halflap.workflows.analysis.study import Study
from halflap.workflows.answers import Measured, Metrics, Target, Times
from halflap.workflows.model.build import build
from halflap.workflows.optimize.transformations import TRANSFORMATIONS, Context, Transformation
from halflap.workflows.score.facts import Facts
from halflap.workflows.score.patterns import findings, pattern_score
from halflap.workflows.score.rules import check_rule
from halflap.workflows.score.score import Weights, compliance, maintainability, measures, total
from halflap.workflows.score.timing import Timing, performance

if TYPE_CHECKING:
    from halflap.workflows.model.block import Block
    from halflap.workflows.model.net import Net
    from halflap.workflows.optimize.goal import Goal

_CLOSE = 1e-9
_ENDLESS = 1e12
_DIGITS = 9
_WORK = 13_000
_FEWEST, _MOST = 120, 1_200
"""How many workflows are measured: between these, fewer the larger they are."""
_NEW_OF_EACH = 8
"""At most one in this many of the budget is expanded: one that yields fewer costs more than it brings."""
_WEIGHTS = Weights().normalised()


class Move(NamedTuple):
    """The change by which a workflow was first reached, and from which."""

    source: Block
    transformation: Transformation
    what: str


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """One workflow, measured."""

    tree: Block
    net: Net
    times: Times
    size: int
    """Tasks, conditions and flows."""
    total: float
    excess: int
    """How many tasks more than `max_parallel` can run at the same time."""
    rank: tuple[float, ...]
    """Less is better."""
    agreement: float
    """With the footprint of the original; 1 where that need not be kept."""

    @property
    def time(self) -> float:
        """The mean duration of a case, to compare with others."""
        return _time(self.times)

    def metrics(self) -> Metrics:
        measured = {name: getattr(self.times, name) for name in Measured.model_fields}
        return Metrics(**measured, performance=self.times.score, size=self.size, total_score=self.total)


def _time(times: Times) -> float:
    return _ENDLESS if times.expected_makespan is None else round(times.expected_makespan, _DIGITS)


class Search:
    """The candidates that were found, and those of them to continue from."""

    def __init__(self, net: Net, tree: Block, goal: Goal, bound: int) -> None:
        self.original = net
        self.goal = goal
        self.bound = bound
        self.budget = max(_FEWEST, min(_MOST, _WORK // max(1, len(net.tasks))))
        self.cut_short = False
        """Whether the search ended before everything was tried."""
        self.moves: dict[Block, Move] = {}
        self.children: dict[Block, list[Candidate]] = {}
        """What one change makes of each that was expanded, best first."""
        self._context = Context(net, goal.constraints)
        # Constraints do not improve the performance score, so measuring ignores them.
        self._facts = Facts(net)
        self._timing = Timing(self._facts)
        study = Study(net, bound, tree=tree)
        self._footprint = footprint(study)
        # What is made of a block-structured net is sound, and keeps the rules that hold.
        self._compliance = compliance(True, [check_rule(study, rule).holds for rule in net.rules])
        self._simulated: dict[Block, Candidate] = {}
        self._heaps: tuple[list[tuple[tuple[float, ...], int, Block]], ...] = ([], [])
        """By rank, and by gain per lost agreement: the fastest may leave no room for further changes."""
        self._turn = 0
        self.start = self._measured(tree, quick=True)
        self.found: dict[Block, Candidate | None] = {}
        """None for those that may not be taken."""
        self._add(self.start)

    # Measuring ----------------------------------------------------------------------------------------

    def evaluate(self, tree: Block) -> Candidate | None:
        """Measure a workflow; times may be estimated. None if it may not be taken."""
        if tree not in self.found:
            made = self._measured(tree, quick=True)
            if self.may_be_taken(made, self.start):
                self._add(made)
            else:
                self.found[tree] = None
        return self.found[tree]

    def simulated(self, one: Candidate) -> Candidate:
        """Measure a workflow with simulated times instead of estimated ones."""
        if one.times.method != "estimated":
            return one
        if one.tree not in self._simulated:
            self._simulated[one.tree] = self._measured(one.tree, quick=False)
        return self._simulated[one.tree]

    def may_be_taken(self, one: Candidate, start: Candidate) -> bool:
        """Return whether a workflow is not slower than the original, and keeps what its target demands."""
        if one.excess > start.excess or one.agreement < BALANCED:
            return False
        noise = (one.times.standard_error or 0.0) + (start.times.standard_error or 0.0)
        # Doing less in parallel may take longer.
        return one.time <= start.time + noise + _CLOSE or one.excess < start.excess

    def _measured(self, tree: Block, *, quick: bool) -> Candidate:
        net, target = build(self.original, tree), self.goal.optimization_target
        study = Study(net, self.bound, tree=tree)
        times = performance(study, self._facts, self._timing, quick=quick)
        wanted = self.goal.reference_patterns
        scores = [pattern_score(findings(self._facts, tree, name)) for name in wanted]
        patterns = [one for one in scores if one is not None]
        dimensions = {
            "performance": times.score,
            "maintainability": maintainability(measures(net, tree)),
            "compliance": self._compliance,
        }
        whole = total(dimensions, _WEIGHTS, patterns)
        size = len(net.tasks) + len(net.conditions) + len(net.flows)
        most = self.goal.constraints.max_parallel
        excess = 0 if most is None else max(0, (times.max_parallel or 0) - most)
        steer = round(-sum(patterns) / len(patterns), _DIGITS) if patterns else 0.0
        ranks: Mapping[Target, tuple[float, ...]] = {
            "behavioral": (size, steer, _time(times)),
            "performance": (_time(times), steer, size),
            "balanced": (round(-whole, _DIGITS), _time(times), size),
        }
        agreement = 1.0
        if target == "balanced" and self._footprint is not None:
            found = footprint(study)
            agreement = 1.0 if found is None else Agreement(self._footprint, found).cells
        return Candidate(tree, net, times, size, whole, excess, (excess, *ranks[target]), agreement)

    # Exploring ----------------------------------------------------------------------------------------

    def expand(self, tree: Block) -> list[Candidate]:
        """Return what one permitted change makes of a workflow, best first; nothing if the budget is spent."""
        if tree not in self.children:
            if len(self.children) >= self.budget // _NEW_OF_EACH or self._is_spent():
                return []
            self.children[tree] = sorted(self._neighbours(tree), key=lambda one: one.rank)
        return self.children[tree]

    def next(self) -> Block | None:
        """Return the next workflow to continue from: by turns the best, and the one that gained most per lost agreement."""
        self._turn += 1
        for heap in (self._heaps[1 - self._turn % 2], self._heaps[self._turn % 2]):
            while heap:
                tree = heappop(heap)[2]
                if tree not in self.children:
                    return tree
        return None

    def _neighbours(self, tree: Block) -> Iterator[Candidate]:
        seen = {tree}
        for one in TRANSFORMATIONS:
            if self.goal.optimization_target == "behavioral" and not one.keeps_traces:
                continue
            for new, what in one.changes(self._context, tree):
                if new in seen:
                    continue
                if self._is_spent():
                    return
                seen.add(new)
                if new not in self.found:
                    self.moves[new] = Move(tree, one, what)
                found = self.evaluate(new)
                if found is not None:
                    yield found

    def _is_spent(self) -> bool:
        self.cut_short |= len(self.found) >= self.budget
        return self.cut_short

    def _add(self, one: Candidate) -> None:
        self.found[one.tree] = one
        heappush(self._heaps[0], (one.rank, len(self.found), one.tree))
        if one.agreement < 1:
            gained = one.total - self.start.total
            heappush(self._heaps[1], ((-gained / (1 - one.agreement),), len(self.found), one.tree))


def best_first(search: Search) -> None:
    """Continue from the best workflow found so far, until nothing is left or the budget is spent."""
    while not search.cut_short and (tree := search.next()) is not None:
        search.expand(tree)
