"""The search by gepa (Genetic-Pareto): it keeps a pool of workflows and chooses which to continue from; what may become of one is ours.

The proposer offers the best unseen workflow that one change, or a few, make of a candidate, so the same seed gives the same answer. With a
language model it may also reflect: the model sees the workflow and its measurements, and names the transformation to try next.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from halflap.workflows.model.form import write_net
from halflap.workflows.optimize.search import Frontier

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
    frontier: Frontier
    reflect: Callable[[str], str] | None
    structures: dict[str, Structure] = field(default_factory=dict)
    texts: dict[Structure, str] = field(default_factory=dict)
    taken: set[Structure] = field(default_factory=set)
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
        new = self._reflected(structure, dataset) or self._best(structure)
        if new is None:
            return {}
        self.taken.add(new.structure)
        return {_COMPONENT: self.text(new)}

    def _reflected(self, structure: Structure, dataset: Mapping[str, Any]) -> Evaluation | None:
        """Ask the model which transformation to try, and offer the best unseen workflow it leads to."""
        if self.reflect is None or self.reflections >= _MAX_REFLECTIONS:
            return None
        self.reflections += 1
        came = self.evaluator.came
        unseen = [one for one in self.frontier.expand(structure) if one.structure not in self.taken]
        names = [came[one.structure].transformation.name for one in unseen if one.structure in came]
        if len(set(names)) <= 1:
            return None
        answer = self.reflect(
            f"A workflow is being optimised for {self.evaluator.target}. It is this net:\n"
            f"{self.texts[structure].strip()}\nIts measurements: {json.dumps(dataset, default=str)}\n"
            f"Which of these transformations should be tried next? {', '.join(dict.fromkeys(names))}\n"
            "Answer with the name only."
        )
        return next((one for one, name in zip(unseen, names, strict=False) if name in answer), None)

    def _best(self, structure: Structure) -> Evaluation | None:
        """Find something better than a workflow, elsewhere if need be; else the best that is unseen."""
        rank = self.evaluator.evaluate(structure).rank
        best: Evaluation | None = None
        start: Structure | None = structure
        for _ in range(_LOOK_AHEAD):
            if start is None:
                break
            unseen = (one for one in self.frontier.expand(start) if one.structure not in self.taken)
            found = next(unseen, None)
            if found is not None and (best is None or found.rank < best.rank):
                best = found
            if best is not None and best.rank < rank:
                break
            start = self.frontier.next()
        return best


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

    frontier = Frontier(evaluator)
    adapter = _Adapter(evaluator, frontier, reflect)
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
    frontier.finish()
