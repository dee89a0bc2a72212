"""Optimise a workflow: apply the changes that its target permits, and report what each gained and the verdict on the result."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar, Literal, get_args

from pydantic import ConfigDict  # noqa: TC002 -- pydantic reads the annotations

from halflap.core.errors import WorkflowError
from halflap.workflows.analysis.compare import compare
from halflap.workflows.analysis.soundness import soundness
from halflap.workflows.analysis.study import Study
from halflap.workflows.answers import BeforeAndAfter, Change, Mode, Optimization, Pareto, Target, Verdict
from halflap.workflows.model.form import validated, write_net
from halflap.workflows.model.net import MAX_STATES, STRICT, Net
from halflap.workflows.model.reduce import tree_of
from halflap.workflows.optimize import genetic
from halflap.workflows.optimize.evaluate import Candidate, Evaluator, Move
from halflap.workflows.optimize.search import best_first_search
from halflap.workflows.score.patterns import Pattern  # noqa: TC001 -- pydantic reads it
from halflap.workflows.transform.constraints import Constraints, Ground

Engine = Literal["gepa", "beam"]
TARGETS: tuple[Target, ...] = get_args(Target)
_MODES: Mapping[Target, Mode] = {"behavioral": "strict", "balanced": "balanced", "performance": "lenient"}
_WORK, _FEWEST, _MOST = 200, 2, 40
"""How many estimated candidates are simulated: between these, fewer the larger they are."""
_MAX_DOUBTED = 5
"""How many verdicts may fail before the original is kept: each may explore as many states as the bound allows."""
_MAX_FRONT = 20


@dataclass(frozen=True)
class Goal:
    """What an optimisation aims at."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    optimization_target: Target
    constraints: Constraints = field(default_factory=Constraints)
    reference_patterns: tuple[Pattern, ...] = ()


@dataclass(frozen=True, slots=True)
class Optimized:
    """The result of an optimisation."""

    target: Target
    engine: Engine
    seed: int
    evaluations: int
    changes: list[Change]
    before: Candidate
    after: Candidate
    front: list[Candidate]
    """The Pareto front in time, cost and size."""
    verdict: Verdict
    notes: list[str]

    @property
    def net(self) -> Net:
        return self.after.net

    def response(self, written: Callable[[Net], Any] = write_net) -> dict[str, Any]:
        """Return it as JSON, with workflows in the form that `written` gives them."""
        return Optimization(
            optimized_workflow=written(self.net),
            optimization_target=self.target,
            changed=bool(self.changes),
            transformations=self.changes,
            metrics=BeforeAndAfter(before=self.before.metrics(), after=self.after.metrics()),
            pareto_front=[
                Pareto(**vars(one.metrics()), chosen=one is self.after, workflow=written(one.net))
                for one in self.front
            ],
            engine=self.engine,
            seed=self.seed,
            evaluations=self.evaluations,
            validation=self.verdict,
            notes=self.notes,
        ).response()


def optimize(
    net: Net,
    target: str,
    constraints: Mapping[str, Any] | None = None,
    reference_patterns: Sequence[str] = (),
    *,
    seed: int = 0,
    engine: Engine | None = None,
    reflect: genetic.Reflect | None = None,
) -> Optimized:
    """Optimise a workflow, with gepa where it is installed. `reflect` asks a language model."""
    asked: dict[str, Any] = {"optimization_target": target, "reference_patterns": reference_patterns}
    goal = validated(Goal, asked | {"constraints": constraints or {}})
    return search(net, goal, seed=seed, engine=engine, reflect=reflect)


def search(
    net: Net,
    goal: Goal,
    *,
    seed: int = 0,
    engine: Engine | None = None,
    reflect: genetic.Reflect | None = None,
    bound: int = MAX_STATES,
) -> Optimized:
    """Optimise a workflow for a goal."""
    problems = list(goal.constraints.problems(net))
    used: Engine = engine or ("gepa" if genetic.is_installed() else "beam")
    if used == "gepa" and not genetic.is_installed():
        problems.append(("engine", "gepa is not installed: `pip install 'halflap[gepa]'`."))
    if problems:
        raise WorkflowError(problems, "The workflow cannot be optimised like this.")
    tree = tree_of(net)
    _check_sound(Study(net, bound, tree=tree))
    ground = Ground.of(net, tree, goal.constraints)
    evaluator = Evaluator(ground, tree, goal.optimization_target, goal.reference_patterns, bound)
    notes = []
    if ground.facts.untouchable is not None:
        notes.append(f"Nothing was changed. {ground.facts.untouchable}")
    elif used == "gepa":
        notes += genetic.genetic_search(evaluator, seed, reflect)
    else:
        best_first_search(evaluator)
    if evaluator.cut_short:
        notes.append(
            f"The search was stopped after {len(evaluator.found)} workflows, before every sequence of changes was tried."
        )
    pool = _pool(evaluator, notes)
    best, verdict = _chosen(evaluator, pool, notes)
    notes += [
        f"'{name}' is not met: it is exceeded by {by:g}, and no change was found that fixes it."
        for name, by in zip(("max_parallel", "max_cost"), best.excess, strict=True)
        if by
    ]
    front = _nondominated([best, *(one for one in pool if one is not best)])
    if best not in front:
        notes.append(
            "The result is not in the Pareto front: another workflow is at least as good in time, cost and size, "
            "but scores lower or has less of the requested patterns."
        )
    return Optimized(
        goal.optimization_target, used, seed, len(evaluator.found), _changes(evaluator, best),
        evaluator.precisely(evaluator.start), best, front[:_MAX_FRONT], verdict, notes,
    )  # fmt: skip


def _check_sound(study: Study) -> None:
    """Refuse what is not sound or shows nothing."""
    net = study.net
    if all(task.label is None for task in net.tasks.values()):
        message = "No task has a label, so no case shows anything. Give a label to those that do something."
        raise WorkflowError([("tasks", message)], f"The workflow {net.id!r} cannot be optimised.")
    judged = soundness(study)
    if judged.failures:
        what = f"The workflow {net.id!r} is not sound; only sound ones can be optimised. Fix this first."
        raise WorkflowError([("", one.sentence) for one in judged.failures], what)
    if judged.sound is None:
        what = f"Whether the workflow {net.id!r} is sound is unknown, so it is not changed."
        raise WorkflowError([("", judged.problem or "")], what)


# The result --------------------------------------------------------------------------------------------


def _pool(evaluator: Evaluator, notes: list[str]) -> list[Candidate]:
    """Return what may be chosen, best first: all that keep the constraints, or come nearest to that.

    Where times were estimated, the best are simulated and only those returned: estimates are not compared with the rest.
    """
    allowed = [one for one in evaluator.found.values() if one.refused is None]
    least = min(one.excess for one in allowed)
    pool = sorted((one for one in allowed if one.excess == least), key=lambda one: one.rank)
    guessed = sum(one.times.method == "estimated" for one in pool)
    if not guessed:
        return pool
    most = max(_FEWEST, min(_MOST, _WORK // max(1, len(evaluator.original.tasks))))
    chosen = {one.tree for one in (*pool[:most], *_nondominated(pool)[:_FEWEST], evaluator.start)}
    looked = [evaluator.precisely(one) for one in pool if one.tree in chosen]
    if len(looked) < len(pool):
        notes.append(
            f"The times of {guessed} of {len(pool)} workflows were estimated; the best {len(looked)} were simulated."
        )
    return sorted((one for one in looked if one.refused is None), key=lambda one: one.rank)


def _chosen(evaluator: Evaluator, pool: list[Candidate], notes: list[str]) -> tuple[Candidate, Verdict]:
    """Return the best candidate that passes regardless of how it was made; the original does."""
    doubted = 0
    for one in [*pool, evaluator.precisely(evaluator.start)]:
        is_start = one.tree == evaluator.start.tree
        if doubted >= _MAX_DOUBTED and not is_start:
            continue
        verdict = compare(evaluator.original, one.net, _MODES[evaluator.target], evaluator.bound)
        # How far the fastest may stray is not limited; what it must keep was checked when it was found.
        if is_start or evaluator.target == "performance" or verdict.passed:
            break
        doubted += 1
    if doubted:
        notes.append(f"{doubted} better workflows were not taken, since their verdict did not pass.")
    return one, verdict


def _changes(evaluator: Evaluator, best: Candidate) -> list[Change]:
    """Return the changes that lead to the result, all measured like the result, so that gains add up."""
    path: list[Move] = []
    tree = best.tree
    while tree != evaluator.start.tree:
        path.append(evaluator.came[tree])
        tree = path[-1].source
    path.reverse()
    measured = [evaluator.start, *(evaluator.evaluate(move.target) for move in path)]
    pairs = pairwise(evaluator.precisely(one) for one in measured)
    return [_change(move, one, other) for move, (one, other) in zip(path, pairs, strict=True)]


def _change(move: Move, before: Candidate, after: Candidate) -> Change:
    times, costs = (before.times.makespan, after.times.makespan), (before.times.cost, after.times.cost)
    return Change(
        transformation=move.transformation.name,
        description=move.what,
        keeps_traces=move.transformation.keeps_traces,
        gain={
            "expected_makespan": None if None in times else (times[0] or 0) - (times[1] or 0),
            "expected_cost": None if None in costs else (costs[0] or 0) - (costs[1] or 0),
            "size": before.size - after.size,
            "total_score": after.total - before.total,
        },
    )


def _nondominated(listed: Sequence[Candidate]) -> list[Candidate]:
    """Return those of which no other is at least as good in time, cost and size; of equals the first."""
    found: dict[tuple[float, ...], Candidate] = {}
    for one in listed:
        time = math.inf if one.times.makespan is None else round(one.times.makespan, 9)
        found.setdefault((time, round(one.times.cost or 0.0, 9), one.size), one)
    kept: list[tuple[float, ...]] = []
    for mine in sorted(found):
        if not any(all(a <= b for a, b in zip(yours, mine, strict=True)) for yours in kept):
            kept.append(mine)
    return [one for vector, one in found.items() if vector in kept]
