"""The search with gepa (Genetic-Pareto): it keeps a pool of workflows and chooses which to continue from; the changes are ours.

The proposer offers the best unseen workflow that one change, or a few, make of a candidate, so the same question gets the
same answer. With a language model it may also reflect: the model sees the workflow, its measurements and the possible changes, and
chooses one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from halflap.core.text import plural
from halflap.workflows.model.form import write_net

if TYPE_CHECKING:
    from halflap.workflows.model.block import Block
    from halflap.workflows.optimize.search import Candidate, Search

_COMPONENT = "workflow"
_OBJECTIVES = ("goal", "time", "size")
_PATIENCE = 60
_LOOK_AHEAD = 8
_GOAL = 1_000.0
_MAX_REFLECTIONS, _MAX_OFFERED = 10, 10
"""How often a model is asked, and how many changes it is offered each time."""
Reflect = Callable[[str], Mapping[str, str]]
"""Asks a model; returns its `reply`, or the `problem` because of which it is not asked again."""


def is_installed() -> bool:
    return find_spec("gepa") is not None


class _Adapter:
    """Measures candidates for the library, which knows each by a number."""

    propose_new_texts = None

    def __init__(self, search: Search, reflect: Reflect | None) -> None:
        self.search = search
        self.reflect = reflect
        self.asked = 0
        self.problem: str | None = None
        """Why the model is not asked any more."""
        self._pool: list[Candidate] = []
        self._taken: set[Block] = set()

    def numbered(self, one: Candidate) -> dict[str, str]:
        self._taken.add(one.tree)
        self._pool.append(one)
        return {_COMPONENT: str(len(self._pool) - 1)}

    def evaluate(
        self, batch: Sequence[str], candidate: Mapping[str, str], capture_traces: bool = False
    ) -> Any:
        from gepa.core.adapter import EvaluationBatch  # noqa: PLC0415 -- an extra

        one = self._pool[int(candidate[_COMPONENT])]
        scores = [self._score(one, objective) for objective in batch]
        traces = [{"objective": one} for one in batch] if capture_traces else None
        return EvaluationBatch(outputs=[None] * len(batch), scores=scores, trajectories=traces)

    def _score(self, one: Candidate, objective: str) -> float:
        """Score one objective, higher is better; the goal outweighs the others."""
        start = self.search.start
        if objective == "goal":
            # Earlier numbers of a rank count far more than later ones.
            pairs = enumerate(zip(start.rank, one.rank, strict=True))
            weighted = ((a - b) / max(abs(a), abs(b), 1.0) / 1_000.0**at for at, (a, b) in pairs)
            return _GOAL * sum(weighted)
        if objective == "size":
            return 1 - one.size / start.size / 2
        before, after = start.times.expected_makespan, one.times.expected_makespan
        return 1 - (after or 0.0) / before / 2 if before else 1.0

    def make_reflective_dataset(
        self, candidate: Mapping[str, str], eval_batch: Any, components_to_update: Sequence[str]
    ) -> dict[str, list[dict[str, Any]]]:
        """Return the measurements of a candidate, for the model to reflect on."""
        _ = eval_batch
        metrics = self._pool[int(candidate[_COMPONENT])].metrics().response()
        return {name: [metrics] for name in components_to_update}

    def propose(
        self, candidate: dict[str, str], dataset: Mapping[str, Any], components: Sequence[str]
    ) -> dict[str, str]:
        """Offer the best unseen workflow that can be made of a candidate; nothing if there is none."""
        _ = components
        one = self._pool[int(candidate[_COMPONENT])]
        new = self._reflected(one, dataset) or self._best(one)
        return {} if new is None else self.numbered(new)

    def _unseen(self, tree: Block) -> list[Candidate]:
        return [one for one in self.search.expand(tree) if one.tree not in self._taken]

    def _reflected(self, candidate: Candidate, dataset: Mapping[str, Any]) -> Candidate | None:
        """Let the model choose among the unseen workflows that one change makes of a candidate."""
        if self.reflect is None or self.asked >= _MAX_REFLECTIONS:
            return None
        offered = self._unseen(candidate.tree)[:_MAX_OFFERED]
        if len(offered) <= 1:
            return None
        changes = [
            f"{at}. {self.search.moves[one.tree].what} Then: {json.dumps(one.metrics().response())}"
            for at, one in enumerate(offered, 1)
        ]
        self.asked += 1
        answer = self.reflect(
            f"A workflow is optimised for {self.search.goal.optimization_target}. It is this net:\n"
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
        """Find something better than a workflow, also from other workflows; otherwise the best that is unseen."""
        best: Candidate | None = None
        tree: Block | None = candidate.tree
        for _ in range(_LOOK_AHEAD):
            if tree is None:
                break
            for one in self._unseen(tree)[:1]:
                best = one if best is None or one.rank < best.rank else best
            if best is not None and best.rank < candidate.rank:
                break
            tree = self.search.next()
        return best


def genetic_search(search: Search, reflect: Reflect | None = None) -> list[str]:
    """Let gepa search; return notes about the model."""
    import gepa  # noqa: PLC0415 -- an extra, needed only here
    from gepa.utils import NoImprovementStopper  # noqa: PLC0415

    adapter = _Adapter(search, reflect)
    gepa.optimize(
        seed_candidate=adapter.numbered(search.start),
        trainset=list(_OBJECTIVES),
        valset=list(_OBJECTIVES),
        adapter=adapter,
        custom_candidate_proposer=adapter.propose,
        reflection_minibatch_size=len(_OBJECTIVES),
        candidate_selection_strategy="pareto",
        acceptance_criterion="improvement_or_equal",
        skip_perfect_score=False,
        track_best_outputs=False,
        max_metric_calls=search.budget * len(_OBJECTIVES),
        stop_callbacks=[NoImprovementStopper(_PATIENCE)],
        # The default logger prints to stdout.
        logger=SimpleNamespace(log=lambda _: None),
        seed=0,
        raise_on_exception=True,
    )
    search.cut_short |= search.next() is not None
    notes = [f"The language model was asked {plural(adapter.asked, 'time')} which change to try."]
    notes += [] if adapter.problem is None else [f"It could not be asked further: {adapter.problem}"]
    return notes if adapter.asked else []
