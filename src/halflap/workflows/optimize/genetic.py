"""The search by gepa (Genetic-Pareto): it keeps a pool of workflows and chooses which to continue from; what may become of one is ours.

The proposer offers the best unseen workflow that one change, or a few, make of a candidate, so the same seed gives the same answer. With a
language model it may also reflect: the model sees the workflow, its measurements and the changes that can be made, and chooses one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from halflap.core.text import plural
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
_MAX_REFLECTIONS, _MAX_OFFERED = 10, 10
"""How often a model is asked, and how many changes it is offered each time."""
Reflect = Callable[[str], Mapping[str, str]]
"""Asks a model: its `reply`, or the `problem` because of which it is not asked again."""


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
    reflect: Reflect | None
    trees: list[Block] = field(default_factory=list)
    taken: set[Block] = field(default_factory=set)
    asked: int = 0
    problem: str | None = None
    """Why the model is not asked any more."""
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
        """Let the model choose among the unseen workflows that one change makes of a candidate."""
        if self.reflect is None or self.asked >= _MAX_REFLECTIONS:
            return None
        offered = [one for one in self._unseen(candidate.tree) if one.tree in self.evaluator.came]
        offered = offered[:_MAX_OFFERED]
        if len(offered) <= 1:
            return None
        changes = [
            f"{at}. {self.evaluator.came[one.tree].what} Then: {json.dumps(one.metrics().response())}"
            for at, one in enumerate(offered, 1)
        ]
        self.asked += 1
        answer = self.reflect(
            f"A workflow is optimised for {self.evaluator.target}. It is this net:\n"
            f"{json.dumps(write_net(candidate.net), ensure_ascii=False)}\n"
            f"Its measurements: {json.dumps(dataset, default=str)}\nThese changes can be made:\n"
            + "\n".join(changes)
            + "\nWhich should be tried next? Reply with its number only."
        )
        if "problem" in answer:
            self.reflect, self.problem = None, answer["problem"]
        number = re.search(r"[0-9]{1,4}", answer.get("reply", ""))
        at = 0 if number is None else int(number[0])
        return offered[at - 1] if 1 <= at <= len(offered) else None

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


def genetic_search(evaluator: Evaluator, seed: int, reflect: Reflect | None = None) -> list[str]:
    """Fill the evaluator with candidates; return notes about the model."""
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
    notes = [f"The language model was asked {plural(adapter.asked, 'time')} which change to try."]
    notes += [] if adapter.problem is None else [f"It could not be asked further: {adapter.problem}"]
    return notes if adapter.asked else []
