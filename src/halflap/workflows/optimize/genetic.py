"""The search by gepa (Genetic-Pareto): it keeps a pool of workflows and chooses which to continue from; what may become of one is ours.

The proposer offers the best unseen workflow that one change, or a few, make of a candidate, so the same seed gives the same answer. With a
language model it may also reflect: the model sees the workflow and its measurements, and names the transformation to try next.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from halflap.workflows.model.form import write_net
from halflap.workflows.optimize.search import Frontier

if TYPE_CHECKING:
    from halflap.workflows.model.block import Block
    from halflap.workflows.optimize.evaluate import Candidate, Evaluator

_COMPONENT = "workflow"
_OBJECTIVES = ("goal", "time", "size", "cost")
_PATIENCE = 60
_LOOK_AHEAD = 8
_GOAL = 1_000.0
_MAX_REFLECTIONS = 20


def is_installed() -> bool:
    return find_spec("gepa") is not None


class _Quiet:
    """A logger that drops everything: the library's own prints to stdout."""

    def log(self, message: str) -> None:
        """Drop the message."""


@dataclass(slots=True)
class _Adapter:
    """Measures candidates for the library, which knows each by a number."""

    evaluator: Evaluator
    frontier: Frontier
    reflect: Callable[[str], str] | None
    trees: list[Block] = field(default_factory=list)
    taken: set[Block] = field(default_factory=set)
    reflections: int = 0
    propose_new_texts: None = None

    def numbered(self, tree: Block) -> dict[str, str]:
        self.taken.add(tree)
        self.trees.append(tree)
        return {_COMPONENT: str(len(self.trees) - 1)}

    def found(self, candidate: Mapping[str, str]) -> Candidate:
        return self.evaluator.evaluate(self.trees[int(candidate[_COMPONENT])])

    def evaluate(
        self, batch: Sequence[str], candidate: Mapping[str, str], capture_traces: bool = False
    ) -> Any:
        from gepa.core.adapter import EvaluationBatch  # noqa: PLC0415 -- an extra

        scores = [self.score(self.found(candidate), objective) for objective in batch]
        traces = [{"objective": one} for one in batch] if capture_traces else None
        return EvaluationBatch(outputs=[None] * len(batch), scores=scores, trajectories=traces)

    def score(self, found: Candidate, objective: str) -> float:
        """Score one objective, more being better; the goal outweighs the others."""
        start = self.evaluator.start
        if found.refused is not None:
            return -_GOAL * 10
        if objective == "goal":
            # What comes first in a rank counts far more than what comes later.
            pairs = enumerate(zip(start.rank, found.rank, strict=True))
            weighted = ((a - b) / max(abs(a), abs(b), 1.0) / 1_000.0**at for at, (a, b) in pairs)
            return _GOAL * sum(weighted)
        before, after = {
            "time": (start.times.makespan, found.times.makespan),
            "cost": (start.times.cost, found.times.cost),
            "size": (start.size, found.size),
        }[objective]
        return 1.0 if not before else 1 - (after or 0.0) / before / 2

    def make_reflective_dataset(
        self, candidate: Mapping[str, str], eval_batch: Any, components_to_update: Sequence[str]
    ) -> dict[str, list[dict[str, Any]]]:
        """Return the measurements of a candidate, for whatever reflects on it."""
        _ = eval_batch
        return {name: [self.found(candidate).metrics().response()] for name in components_to_update}

    def propose(
        self, candidate: dict[str, str], dataset: Mapping[str, Any], components: Sequence[str]
    ) -> dict[str, str]:
        """Offer the best unseen workflow that can be made of a candidate; nothing if there is none."""
        _ = components
        one = self.found(candidate)
        new = self._reflected(one, dataset) or self._best(one)
        return {} if new is None else self.numbered(new.tree)

    def _unseen(self, tree: Block) -> list[Candidate]:
        return [one for one in self.frontier.expand(tree) if one.tree not in self.taken]

    def _reflected(self, candidate: Candidate, dataset: Mapping[str, Any]) -> Candidate | None:
        """Ask the model which transformation to try, and offer the best unseen workflow it leads to."""
        if self.reflect is None or self.reflections >= _MAX_REFLECTIONS:
            return None
        by_name: dict[str, Candidate] = {}
        for one in self._unseen(candidate.tree):
            if one.tree in self.evaluator.came:
                by_name.setdefault(self.evaluator.came[one.tree].transformation.name, one)
        if len(by_name) <= 1:
            return None
        self.reflections += 1
        answer = self.reflect(
            f"A workflow is being optimised for {self.evaluator.target}. It is this net:\n"
            f"{json.dumps(write_net(candidate.net), ensure_ascii=False)}\n"
            f"Its measurements: {json.dumps(dataset, default=str)}\n"
            f"Which of these transformations should be tried next? {', '.join(by_name)}\n"
            "Answer with the name only."
        )
        return next((one for name, one in by_name.items() if name in answer), None)

    def _best(self, candidate: Candidate) -> Candidate | None:
        """Find something better than a workflow, elsewhere if need be; else the best that is unseen."""
        best: Candidate | None = None
        tree: Block | None = candidate.tree
        for _ in range(_LOOK_AHEAD):
            if tree is None:
                break
            for one in self._unseen(tree)[:1]:
                best = one if best is None or one.rank < best.rank else best
            if best is not None and best.rank < candidate.rank:
                break
            tree = self.frontier.next()
        return best


def genetic_search(evaluator: Evaluator, seed: int, reflect: Callable[[str], str] | None = None) -> None:
    """Fill the evaluator with candidates."""
    import gepa  # noqa: PLC0415 -- an extra, needed only here
    from gepa.utils import NoImprovementStopper  # noqa: PLC0415

    frontier = Frontier(evaluator)
    adapter = _Adapter(evaluator, frontier, reflect)
    gepa.optimize(
        seed_candidate=adapter.numbered(evaluator.start.tree),
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
    evaluator.cut_short |= frontier.next() is not None
