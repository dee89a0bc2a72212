"""The search by GEPA (Genetic-Pareto): it keeps a pool of workflows and chooses which to go on from; what may become of one is ours.

The proposer is no language model: it offers, of all that one change can make of a workflow, the best that was not offered yet.
So the same seed gives the same answer.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

from halflap.workflows.form import write_net
from halflap.workflows.optimizing.search import NEW_OF_EACH, Move, budget

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halflap.workflows.optimizing.evaluation import Evaluation, Evaluator
    from halflap.workflows.pieces.piece import Layout

__all__ = ["genetic_search", "is_there"]

_COMPONENT = "workflow"
_OBJECTIVES = ("goal", "time", "size", "cost")
_PATIENCE = 60
_LOOK_AHEAD = 8
_GOAL = 1_000.0


def is_there() -> bool:
    """Tell whether the library is installed."""
    try:
        import gepa  # noqa: F401, PLC0415 (an extra, and only for this)
    except ImportError:
        return False
    return True


class _Quiet:
    """A logger that says nothing: the library's own writes to stdout."""

    def log(self, message: str) -> None:
        """Say nothing."""


@dataclass(slots=True)
class _Adapter:
    """Measures candidates for the library; a candidate is the text of a workflow."""

    evaluator: Evaluator
    came: dict[Layout, Move] = field(default_factory=dict)
    layouts: dict[str, Layout] = field(default_factory=dict)
    texts: dict[Layout, str] = field(default_factory=dict)
    offered: dict[Layout, list[Layout]] = field(default_factory=dict)
    """What can be made of each, the best first; then what can be made of that."""
    taken: set[Layout] = field(default_factory=set)
    open: list[tuple[tuple[float, ...], int, Layout]] = field(default_factory=list)
    """What was seen and never gone on from, the best first."""
    propose_new_texts: None = None

    def text(self, found: Evaluation) -> str:
        text = self.texts.get(found.layout)
        if text is None:
            text = json.dumps(write_net(found.net), sort_keys=True, ensure_ascii=False)
            # Two that are written the same may still be different pieces, of which different things can be made.
            text += " " * sum(one.rstrip() == text for one in self.layouts)
            self.texts[found.layout] = text
            self.layouts[text] = found.layout
        return text

    def evaluate(
        self, batch: Sequence[str], candidate: Mapping[str, str], capture_traces: bool = False
    ) -> Any:
        from gepa.core.adapter import EvaluationBatch  # noqa: PLC0415 (an extra)

        found = self.evaluator.evaluate(self.layouts[candidate[_COMPONENT]])
        scores = [self.score(found, objective) for objective in batch]
        traces = [{"objective": one} for one in batch] if capture_traces else None
        return EvaluationBatch(outputs=[None] * len(batch), scores=scores, trajectories=traces)

    def score(self, found: Evaluation, objective: str) -> float:
        """Score one objective, more being better; the goal outweighs the others."""
        start = self.evaluator.start
        assert start is not None
        if found.refused is not None:
            return -_GOAL * 10
        if objective == "goal":
            return _GOAL * _one_number(start.rank, found.rank)
        before, after = {
            "time": (start.times.makespan, found.times.makespan),
            "cost": (start.times.cost, found.times.cost),
            "size": (start.size, found.size),
        }[objective]
        return 1.0 if not before else 1 - (after or 0.0) / before / 2

    def make_reflective_dataset(
        self, candidate: Mapping[str, str], eval_batch: Any, components_to_update: Sequence[str]
    ) -> dict[str, list[dict[str, Any]]]:
        """Give what the proposer is told: nothing that it would not know."""
        _ = candidate, eval_batch
        return {name: [{}] for name in components_to_update}

    def propose(
        self, candidate: dict[str, str], dataset: Mapping[str, Any], components: Sequence[str]
    ) -> dict[str, str]:
        """Offer the best that one change makes of a candidate and was not offered yet; nothing if there is none."""
        _ = dataset, components
        layout = self.layouts[candidate[_COMPONENT]]
        if layout not in self.offered:
            self.offered[layout] = self._neighbours(layout)
        new = self._better(layout) or self._elsewhere()
        if new is None:
            return {}
        self.taken.add(new)
        return {_COMPONENT: self.text(self.evaluator.evaluate(new))}

    def _better(self, layout: Layout) -> Layout | None:
        """Find something better below a layout, a few changes away if need be; else the best that was not offered."""
        below = self.offered[layout]
        mine = self.evaluator.evaluate(layout).rank
        for _ in range(_LOOK_AHEAD):
            below.sort(key=lambda one: self.evaluator.evaluate(one).rank)
            best = next((one for one in below if one not in self.taken), None)
            if best is not None and self.evaluator.evaluate(best).rank < mine:
                return best
            unseen = next((one for one in below if one not in self.offered), None)
            if unseen is None:
                return best
            self.offered[unseen] = self._neighbours(unseen)
            known = set(below)
            below += [one for one in self.offered[unseen] if one not in known and one != layout]
        return next((one for one in below if one not in self.taken), None)

    def _elsewhere(self) -> Layout | None:
        """Go on from the best that was seen anywhere and never gone on from: what is better in everything may be a dead end."""
        seen = self.evaluator.found
        offer = None
        for _ in range(_LOOK_AHEAD):
            start = None
            while self.open and start is None:
                layout = heappop(self.open)[2]
                start = None if layout in self.offered else layout
            if start is None or self.evaluator.stop(budget(self.evaluator)):
                break
            self.offered[start] = self._neighbours(start)
            fresh = next((one for one in self.offered[start] if one not in self.taken), None)
            if fresh is not None and (offer is None or seen[fresh].rank < seen[offer].rank):
                offer = fresh
        return offer

    def _neighbours(self, layout: Layout) -> list[Layout]:
        found: list[Evaluation] = []
        most = budget(self.evaluator)
        if self.evaluator.stop(most) or len(self.offered) >= most // NEW_OF_EACH:
            return []
        for new, what, change in self.evaluator.neighbours(layout):
            if self.evaluator.stop(most):
                break
            if new != self._start and new not in self.came:
                self.came[new] = Move(layout, new, change, what)
            fresh = new not in self.evaluator.found
            one = self.evaluator.evaluate(new)
            if one.refused is None:
                found.append(one)
                if fresh:
                    heappush(self.open, (one.rank, self.evaluator.evaluations, new))
        found.sort(key=lambda one: one.rank)
        return [one.layout for one in found]

    @property
    def _start(self) -> Layout:
        assert self.evaluator.start is not None
        return self.evaluator.start.layout


def _one_number(start: Sequence[float], rank: Sequence[float]) -> float:
    """Put a rank into one number, more being better: what comes first in it counts far more than what comes later."""
    share, found = 1.0, 0.0
    for before, after in zip(start, rank, strict=True):
        found += share * (before - after) / max(abs(before), abs(after), 1.0)
        share /= 1_000
    return found


def genetic_search(evaluator: Evaluator, seed: int) -> dict[Layout, Move]:
    """Look for better workflows; give for each that was found the change that it came by."""
    import gepa  # noqa: PLC0415 (an extra, and only for this)
    from gepa.utils import NoImprovementStopper  # noqa: PLC0415

    assert evaluator.start is not None
    adapter = _Adapter(evaluator)
    adapter.taken.add(evaluator.start.layout)
    gepa.optimize(
        seed_candidate={_COMPONENT: adapter.text(evaluator.start)},
        trainset=list(_OBJECTIVES),
        valset=list(_OBJECTIVES),
        adapter=adapter,
        custom_candidate_proposer=adapter.propose,
        reflection_minibatch_size=len(_OBJECTIVES),
        candidate_selection_strategy="pareto",
        acceptance_criterion="improvement_or_equal",
        skip_perfect_score=False,
        track_best_outputs=False,
        max_metric_calls=budget(evaluator) * len(_OBJECTIVES),
        stop_callbacks=[NoImprovementStopper(_PATIENCE)],
        logger=_Quiet(),
        seed=seed,
        raise_on_exception=True,
    )
    evaluator.cut_short |= any(
        one.refused is None and layout not in adapter.offered for layout, one in evaluator.found.items()
    )
    return adapter.came
