"""What counts as better: each workflow that is tried is measured, held against what has to be respected, and given a rank."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from halflap.workflows.agreement import agreement
from halflap.workflows.dependence import data_by_label, reversed_pairs
from halflap.workflows.footprint import Unknown, footprint, footprint_by_blocks
from halflap.workflows.maintainability import maintainability, measures
from halflap.workflows.order import first_order, order_by_blocks
from halflap.workflows.patterns import pattern_scores
from halflap.workflows.performance import performance, performance_by_pieces
from halflap.workflows.pieces.facts import Facts
from halflap.workflows.pieces.piece import block_of
from halflap.workflows.pieces.putting import net_of
from halflap.workflows.rules import verdict_by_pieces, verdict_by_states
from halflap.workflows.score import DEFAULT_WEIGHTS, compliance, total
from halflap.workflows.soundness import soundness
from halflap.workflows.study import Study
from halflap.workflows.timing.makespan import Timing
from halflap.workflows.transform import TRANSFORMATIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from halflap.workflows.net import Bound, Net
    from halflap.workflows.patterns import Pattern
    from halflap.workflows.performance import Performance
    from halflap.workflows.pieces.piece import Layout
    from halflap.workflows.transform import Transformation
    from halflap.workflows.transforming.ground import Ground

__all__ = ["FLOOR", "Evaluation", "Evaluator", "Target"]

Target = Literal["performance", "behavioral", "balanced"]
FLOOR = 0.8
"""How much of the footprint a balanced optimisation keeps."""
_CLOSE = 1e-9
_ENDLESS = 1e12
_DIGITS = 9


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One workflow that was tried."""

    layout: Layout
    net: Net
    times: Performance
    size: int
    """Tasks, conditions and flows together."""
    dimensions: Mapping[str, float | None]
    total: float
    """The total score."""
    merit: float
    """The same, if how fast it is were counted by the critical path of the original: by its own, who does less looks slower."""
    patterns: tuple[float, ...]
    agreement: float | None
    """With the footprint of the original, where it was looked at."""
    excess: tuple[float, float]
    """By how much more is done at once, and costs, than may be."""
    rank: tuple[float, ...]
    """Less is better."""
    refused: str | None
    """Why it may not be taken."""

    def metrics(self) -> dict[str, Any]:
        return {
            "expected_makespan": self.times.makespan,
            "method": self.times.method,
            "critical_path": self.times.critical_path,
            "performance": self.times.score,
            "expected_cost": self.times.cost,
            "max_parallel": self.times.width,
            "size": self.size,
            "total_score": self.total,
        }


class Evaluator:
    """Measures workflows that are made from one, each once."""

    def __init__(
        self,
        ground: Ground,
        layout: Layout,
        target: Target,
        patterns: Sequence[Pattern] = (),
        bound: Bound | None = None,
    ) -> None:
        self.ground = ground
        self.facts = Facts(ground.facts.net)
        """As a score sees it: what is asked to stay is no reason to think better of how fast it is."""
        self.target: Target = target
        self.patterns = tuple(patterns)
        self.bound = bound
        seconds = None if bound is None else bound.seconds
        self._until = None if seconds is None else time.monotonic() + seconds
        self.out_of_time = False
        self.cut_short = False
        """Whether the search ended before everything was gone on from that may be."""
        self.original = ground.facts.net
        self.study = Study(self.original, bound)
        self.footprint = footprint(self.study)
        self.order = first_order(self.study) if target != "behavioral" else None
        self.data = data_by_label(self.original)
        self.found: dict[Layout, Evaluation] = {}
        self._precise: dict[Layout, Evaluation] = {}
        self.timing = Timing(self.facts)
        """For those that are looked at closely; of the others there are too many."""
        self._broken: frozenset[int] = frozenset()
        self.start: Evaluation | None = None
        self._broken = self._rules_broken(layout, self.study)
        self.start = self.evaluate(layout)

    def stop(self, most: int) -> bool:
        """Tell whether enough were looked at, or the time is up; the latter is remembered, since the answer then depends on it."""
        if self._until is not None and time.monotonic() > self._until:
            self.out_of_time = True
        if self.out_of_time or len(self.found) >= most:
            self.cut_short = True
            return True
        return False

    @property
    def evaluations(self) -> int:
        """How many were measured."""
        return len(self.found)

    def transformations(self) -> list[Transformation]:
        """Give those that the target permits."""
        keeps = self.target == "behavioral"
        return [one for one in TRANSFORMATIONS.values() if one.keeps_traces or not keeps]

    def neighbours(self, layout: Layout) -> Iterator[tuple[Layout, str, Transformation]]:
        """Give what one change can make of a layout, each once."""
        seen = {layout}
        for one in self.transformations():
            for new, what in one.changes(self.ground, layout):
                if new not in seen:
                    seen.add(new)
                    yield new, what, one

    def evaluate(self, layout: Layout) -> Evaluation:
        found = self.found.get(layout)
        if found is None:
            found = self.found[layout] = self._evaluated(layout)
        return found

    def _evaluated(self, layout: Layout) -> Evaluation:
        net = self.original if self.start is None else net_of(self.original, layout)
        study = self.study if self.start is None else Study(net, self.bound)
        times = performance(study, layout, self.facts, self.ground.timing)
        size = len(net.tasks) + len(net.conditions) + len(net.flows)
        broken = self._rules_broken(layout, study)
        sound = layout.piece is not None or soundness(study).sound is True
        patterns: tuple[float, ...] = ()
        if self.patterns:
            scores = pattern_scores(self.facts, layout, study, self.patterns)
            known = [one.score for one in scores.values()]
            patterns = tuple(one for one in known if one is not None)
        dimensions = {
            "performance": times.score,
            "maintainability": maintainability(
                measures(net, layout, study.structure if layout.piece is None else None)
            ),
            "compliance": compliance(sound, [at not in broken for at in range(len(net.rules))]),
        }
        whole = total(dimensions, DEFAULT_WEIGHTS, patterns)
        merit = self._merit(dimensions, times, patterns)
        excess = self._excess(times)
        refused, agreed = self._refused(study, layout, times, broken, excess, sound=sound)
        return Evaluation(
            layout, net, times, size, dimensions, whole, merit, patterns, agreed, excess,
            self._rank(times, size, merit, patterns, excess), refused,
        )  # fmt: skip

    def _excess(self, times: Performance) -> tuple[float, float]:
        wanted = self.ground.constraints
        width = 0 if wanted.max_parallel is None else max(0, (times.width or 0) - wanted.max_parallel)
        cost = 0.0 if wanted.max_cost is None else max(0.0, (times.cost or 0.0) - wanted.max_cost)
        return float(width), round(cost, _DIGITS)

    def _merit(
        self, dimensions: Mapping[str, float | None], times: Performance, patterns: tuple[float, ...]
    ) -> float:
        yardstick = times.critical_path if self.start is None else self.start.times.critical_path
        fast = times.score
        if yardstick is not None and times.makespan:
            fast = yardstick / times.makespan
        return total({**dimensions, "performance": fast}, DEFAULT_WEIGHTS, patterns)

    def _rank(
        self,
        times: Performance,
        size: int,
        merit: float,
        patterns: tuple[float, ...],
        excess: tuple[float, float],
    ) -> tuple[float, ...]:
        time = _ENDLESS if times.makespan is None else round(times.makespan, _DIGITS)
        cost = round(times.cost or 0.0, _DIGITS)
        steer = round(-sum(patterns) / len(patterns), _DIGITS) if patterns else 0.0
        if self.target == "behavioral":
            return (*excess, size, steer, time, cost)
        if self.target == "performance":
            return (*excess, time, steer, cost, size)
        return (*excess, round(-merit, _DIGITS), time, cost, size)

    def _rules_broken(self, layout: Layout, study: Study) -> frozenset[int]:
        """Give which rules are broken, or not known to hold, by their places."""
        return frozenset(
            at
            for at, rule in enumerate(self.original.rules)
            if not (
                verdict_by_states(study, rule)
                if layout.piece is None
                else verdict_by_pieces(self.facts, layout.piece, rule, told=False)
            ).holds
        )

    def _refused(
        self,
        study: Study,
        layout: Layout,
        times: Performance,
        broken: frozenset[int],
        excess: tuple[float, float],
        *,
        sound: bool,
    ) -> tuple[str | None, float | None]:
        """Say why a workflow may not be taken, and how far it agrees with the original where that was looked at."""
        start = self.start
        if start is None:
            return None, 1.0
        beyond = any(mine > yours + _CLOSE for mine, yours in zip(excess, start.excess, strict=True))
        wrong = {
            "It is not sound.": not sound,
            "It breaks a rule.": bool(broken - self._broken),
            "How long it takes is not known.": times.makespan is None and start.times.makespan is not None,
            "It goes further beyond a constraint.": beyond,
            "It is slower.": self._slower(times, excess, start),
        }
        why = next((one for one, holds in wrong.items() if holds), None)
        if why is None and self.target != "behavioral" and not self.keeps_order(study, layout):
            why = "Something can come before what it depends on."
        return self._agreed(study, layout) if why is None and self.target == "balanced" else (why, None)

    def _slower(self, times: Performance, excess: tuple[float, float], start: Evaluation) -> bool:
        if times.makespan is None or start.times.makespan is None:
            return False
        # Who wants less at once may have to wait.
        return times.makespan > start.times.makespan + _CLOSE and not excess < start.excess

    def _agreed(self, study: Study, layout: Layout) -> tuple[str | None, float | None]:
        found = (
            footprint(study)
            if layout.piece is None
            else footprint_by_blocks(study, block_of(layout.piece, self.original.tasks.keys()))
        )
        if isinstance(found, Unknown) or isinstance(self.footprint, Unknown):
            return "How far it agrees with the original is not known.", None
        if not found.activities or not self.footprint.activities:
            return None, 1.0
        agreed = agreement(self.footprint, found, 0).cells
        if agreed < FLOOR:
            return f"It agrees with the original in {agreed:.3f} of the cells; {FLOOR:g} are needed.", agreed
        return None, agreed

    def precisely(self, one: Evaluation) -> Evaluation:
        """Give an evaluation with its times looked at closely, where they were estimated, and what follows from them."""
        if one.times.method != "estimated":
            return one
        found = self._precise.get(one.layout)
        if found is None:
            times = performance_by_pieces(one.layout, self.facts, self.timing)
            dimensions = {**one.dimensions, "performance": times.score}
            whole = total(dimensions, DEFAULT_WEIGHTS, one.patterns)
            merit = self._merit(dimensions, times, one.patterns)
            rank = self._rank(times, one.size, merit, one.patterns, one.excess)
            refused = one.refused
            if self.start is not None and one.layout != self.start.layout:
                slower = self._slower(times, one.excess, self.precisely(self.start))
                refused = refused or ("It is slower." if slower else None)
            found = self._precise[one.layout] = replace(
                one,
                times=times,
                dimensions=dimensions,
                total=whole,
                merit=merit,
                rank=rank,
                refused=refused,
            )
        return found

    def keeps_order(self, study: Study, layout: Layout) -> bool:
        """Tell whether everything still comes after what it depends on, looked at without regard to how it was made."""
        before = first_order(self.study) if self.order is None else self.order
        if isinstance(before, Unknown):
            return False
        piece = layout.piece
        after = (
            first_order(study)
            if piece is None
            else order_by_blocks(study, block_of(piece, self.original.tasks.keys()))
        )
        return not isinstance(after, Unknown) and not reversed_pairs(self.data, before, after, most=1)
