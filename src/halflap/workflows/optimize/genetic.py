"""The search by gepa (Genetic-Pareto): it keeps a pool of workflows and chooses which to continue from; what may become of one is ours.

The proposer offers the best unseen workflow that one change, or a few, make of a candidate, so the same seed gives the same answer. With a
language model it may also reflect: the model sees the workflow and its measurements, and names the transformation to try next.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

from halflap.workflows.model.form import write_net
from halflap.workflows.optimize.beam import NEW_OF_EACH
from halflap.workflows.transform.catalogue import TRANSFORMATIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from halflap.workflows.model.block import Structure
    from halflap.workflows.optimize.evaluate import Evaluation, Evaluator

__all__ = ["genetic_search", "is_installed"]

_COMPONENT = "workflow"
_OBJECTIVES = ("goal", "time", "size", "cost")
_PATIENCE = 60
_LOOK_AHEAD = 8
_GOAL = 1_000.0
_MAX_REFLECTIONS = 20


def is_installed() -> bool:
    try:
        import gepa  # noqa: F401, PLC0415 -- an extra, needed only here
    except ImportError:
        return False
    return True


class _Quiet:
    """A logger that drops everything: the library's own prints to stdout."""

    def log(self, message: str) -> None:
        """Drop the message."""


@dataclass(slots=True)
class _Adapter:
    """Measures candidates for the library; a candidate is the JSON text of a workflow."""

    evaluator: Evaluator
    reflect: Callable[[str], str] | None
    structures: dict[str, Structure] = field(default_factory=dict)
    texts: dict[Structure, str] = field(default_factory=dict)
    offered: dict[Structure, list[Structure]] = field(default_factory=dict)
    """What can be made of each, best first; then what can be made of that."""
    taken: set[Structure] = field(default_factory=set)
    open: list[tuple[tuple[float, ...], int, Structure]] = field(default_factory=list)
    """What was measured and never expanded, best first."""
    reflections: int = 0
    propose_new_texts: None = None

    def text(self, found: Evaluation) -> str:
        text = self.texts.get(found.structure)
        if text is None:
            text = json.dumps(write_net(found.net), sort_keys=True, ensure_ascii=False)
            # Different blocks may be written as the same net, and lead to different candidates.
            text += " " * sum(one.rstrip() == text for one in self.structures)
            self.texts[found.structure] = text
            self.structures[text] = found.structure
        return text

    def evaluate(
        self, batch: Sequence[str], candidate: Mapping[str, str], capture_traces: bool = False
    ) -> Any:
        from gepa.core.adapter import EvaluationBatch  # noqa: PLC0415 -- an extra

        found = self.evaluator.evaluate(self.structures[candidate[_COMPONENT]])
        scores = [self.score(found, objective) for objective in batch]
        traces = [{"objective": one} for one in batch] if capture_traces else None
        return EvaluationBatch(outputs=[None] * len(batch), scores=scores, trajectories=traces)

    def score(self, found: Evaluation, objective: str) -> float:
        """Score one objective, more being better; the goal outweighs the others."""
        start = self.evaluator.start
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
        """Return the measurements of a candidate, for whoever reflects on it."""
        _ = eval_batch
        found = self.evaluator.evaluate(self.structures[candidate[_COMPONENT]])
        return {name: [found.metrics().response()] for name in components_to_update}

    def propose(
        self, candidate: dict[str, str], dataset: Mapping[str, Any], components: Sequence[str]
    ) -> dict[str, str]:
        """Offer the best unseen workflow that can be made of a candidate; nothing if there is none."""
        _ = components
        structure = self.structures[candidate[_COMPONENT]]
        new = self._reflected(structure, dataset) or self._better(structure) or self._elsewhere()
        if new is None:
            return {}
        self.taken.add(new)
        return {_COMPONENT: self.text(self.evaluator.evaluate(new))}

    def _reflected(self, structure: Structure, dataset: Mapping[str, Any]) -> Structure | None:
        """Ask the model which transformation to try, and offer the best unseen workflow it leads to."""
        if self.reflect is None or self.reflections >= _MAX_REFLECTIONS:
            return None
        self.reflections += 1
        unseen = [one for one in self._expanded(structure) if one not in self.taken]
        names = {
            one: self.evaluator.came[one].transformation.name for one in unseen if one in self.evaluator.came
        }
        if len(set(names.values())) <= 1:
            return None
        answer = self.reflect(
            f"A workflow is being optimised for {self.evaluator.target}. It is this net:\n"
            f"{self.text(self.evaluator.evaluate(structure)).strip()}\nIts measurements: {json.dumps(dataset, default=str)}\n"
            f"Which of these transformations should be tried next? {', '.join(dict.fromkeys(names.values()))}\n"
            "Answer with the name only."
        )
        wanted = next((name for name in TRANSFORMATIONS if name in answer), None)
        return next((one for one, name in names.items() if name == wanted), None)

    def _better(self, structure: Structure) -> Structure | None:
        """Find something better below a workflow, a few changes away if need be; else the best that is unseen."""
        rank = self.evaluator.evaluate(structure).rank
        below = self._expanded(structure)
        for _ in range(_LOOK_AHEAD):
            below.sort(key=lambda one: self.evaluator.evaluate(one).rank)
            best = next((one for one in below if one not in self.taken), None)
            if best is not None and self.evaluator.evaluate(best).rank < rank:
                return best
            unexpanded = next((one for one in below if one not in self.offered), None)
            if unexpanded is None:
                return best
            known = {*below, structure}
            below += [one for one in self._expanded(unexpanded) if one not in known]
        return next((one for one in below if one not in self.taken), None)

    def _elsewhere(self) -> Structure | None:
        """Continue from the best workflow anywhere that was never expanded: the best may be a dead end."""
        found = self.evaluator.found
        offer = None
        for _ in range(_LOOK_AHEAD):
            start = None
            while self.open and start is None:
                structure = heappop(self.open)[2]
                start = None if structure in self.offered else structure
            if start is None or self.evaluator.stop():
                break
            fresh = next((one for one in self._expanded(start) if one not in self.taken), None)
            if fresh is not None and (offer is None or found[fresh].rank < found[offer].rank):
                offer = fresh
        return offer

    def _expanded(self, structure: Structure) -> list[Structure]:
        """Return what one change makes of a workflow, best first."""
        if structure in self.offered:
            return self.offered[structure]
        found: list[Evaluation] = []
        if not self.evaluator.stop() and len(self.offered) < self.evaluator.budget // NEW_OF_EACH:
            known = set(self.evaluator.found)
            for one in self.evaluator.neighbours(structure):
                found.append(one)
                if one.structure not in known:
                    heappush(self.open, (one.rank, self.evaluator.evaluations, one.structure))
        found.sort(key=lambda one: one.rank)
        self.offered[structure] = [one.structure for one in found]
        return self.offered[structure]


def _one_number(start: Sequence[float], rank: Sequence[float]) -> float:
    """Return a rank as one number, more being better: what comes first counts far more than what comes later."""
    share, found = 1.0, 0.0
    for before, after in zip(start, rank, strict=True):
        found += share * (before - after) / max(abs(before), abs(after), 1.0)
        share /= 1_000
    return found


def genetic_search(evaluator: Evaluator, seed: int, reflect: Callable[[str], str] | None = None) -> None:
    """Fill the evaluator with candidates."""
    import gepa  # noqa: PLC0415 -- an extra, needed only here
    from gepa.utils import NoImprovementStopper  # noqa: PLC0415

    adapter = _Adapter(evaluator, reflect)
    adapter.taken.add(evaluator.start.structure)
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
        max_metric_calls=evaluator.budget * len(_OBJECTIVES),
        stop_callbacks=[NoImprovementStopper(_PATIENCE)],
        logger=_Quiet(),
        seed=seed,
        raise_on_exception=True,
    )
    evaluator.cut_short |= any(
        one.refused is None and structure not in adapter.offered for structure, one in evaluator.found.items()
    )
