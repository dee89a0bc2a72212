"""Optimise a workflow: apply the changes that its target permits, and report what each gained and the verdict on the result."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

from pydantic import ConfigDict

from halflap.core.errors import WorkflowError
from halflap.core.text import join
from halflap.workflows.analysis.compare import compare
from halflap.workflows.analysis.soundness import soundness
from halflap.workflows.analysis.study import Study
from halflap.workflows.answers import BeforeAndAfter, Change, Optimization, Pareto, Target
from halflap.workflows.model.form import validated, write_net
from halflap.workflows.model.reduce import structure_of
from halflap.workflows.optimize import genetic
from halflap.workflows.optimize.evaluate import Evaluator
from halflap.workflows.optimize.search import best_first_search
from halflap.workflows.score.patterns import Pattern  # noqa: TC001 -- pydantic reads it
from halflap.workflows.transform.constraints import Constraints
from halflap.workflows.transform.ground import Ground

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from halflap.workflows.answers import Mode, Verdict
    from halflap.workflows.model.net import Bound, Net
    from halflap.workflows.optimize.evaluate import Evaluation, Move

__all__ = ["TARGETS", "Chosen", "Engine", "Goal", "Optimized", "choose", "optimize", "search"]

Engine = Literal["gepa", "beam"]
TARGETS: tuple[Target, ...] = get_args(Target)


@dataclass(frozen=True)
class Goal:
    """What an optimisation aims at."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid", strict=True)
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
    changes: tuple[Change, ...]
    before: Evaluation
    after: Evaluation
    front: tuple[Evaluation, ...]
    """The Pareto front in time, cost and size."""
    verdict: Verdict
    notes: tuple[str, ...]

    @property
    def net(self) -> Net:
        return self.after.net

    def response(self, written: Callable[[Net], Any] = write_net) -> dict[str, Any]:
        """Return it as JSON, with workflows in the form that `written` gives them."""
        return Optimization(
            optimized_workflow=written(self.net),
            optimization_target=self.target,
            changed=bool(self.changes),
            transformations=list(self.changes),
            metrics=BeforeAndAfter(before=self.before.metrics(), after=self.after.metrics()),
            pareto_front=[
                Pareto(**vars(one.metrics()), chosen=one is self.after, workflow=written(one.net))
                for one in self.front
            ],
            engine=self.engine,
            seed=self.seed,
            evaluations=self.evaluations,
            validation=self.verdict,
            notes=list(self.notes),
        ).response()


def optimize(
    net: Net,
    target: str,
    constraints: Mapping[str, Any] | None = None,
    reference_patterns: Sequence[str] = (),
    *,
    seed: int = 0,
    engine: Engine | None = None,
    bound: Bound | None = None,
    reflect: Callable[[str], str] | None = None,
) -> Optimized:
    """Optimise a workflow, with gepa where it is installed. `reflect` is a language model that gepa may ask."""
    asked: dict[str, Any] = {"optimization_target": target, "reference_patterns": reference_patterns}
    goal = validated(Goal, asked | {"constraints": constraints or {}})
    return search(net, goal, seed=seed, engine=engine, bound=bound, reflect=reflect)


def search(
    net: Net,
    goal: Goal,
    *,
    seed: int = 0,
    engine: Engine | None = None,
    bound: Bound | None = None,
    reflect: Callable[[str], str] | None = None,
) -> Optimized:
    """Optimise a workflow for a goal."""
    problems = list(goal.constraints.problems(net))
    used: Engine = engine or ("gepa" if genetic.is_installed() else "beam")
    if used == "gepa" and not genetic.is_installed():
        problems.append(("engine", "gepa is not installed: `pip install 'halflap[gepa]'`."))
    if problems:
        raise WorkflowError(problems, "The workflow cannot be optimised like this.")
    dead = _check_sound(net, bound)
    ground = Ground(goal.constraints.facts(net), goal.constraints)
    evaluator = Evaluator(ground, structure_of(net), goal.optimization_target, goal.reference_patterns, bound)
    notes = [
        f"'keep_order' of '{first}' and '{then}' has no effect: the workflow has no order for them."
        for first, then in goal.constraints.without_effect(net)
    ]
    if ground.facts.untouchable is not None:
        notes.append(f"Nothing was changed. {ground.facts.untouchable}")
    elif used == "gepa":
        genetic.genetic_search(evaluator, seed, reflect)
    else:
        best_first_search(evaluator)
    if evaluator.out_of_time and bound is not None:
        notes.append(
            f"The search was stopped after {bound.seconds:g} s; more time may find a better workflow."
        )
    elif evaluator.cut_short:
        notes.append(
            f"The search was stopped after {evaluator.evaluations} workflows, before every sequence of changes was tried."
        )
    return _finished(evaluator, used, seed, notes, dead)


def _check_sound(net: Net, bound: Bound | None) -> list[str]:
    """Refuse what is not sound or shows nothing; return the dead tasks, which can be removed."""
    if all(task.label is None for task in net.tasks.values()):
        message = "No task has a label, so no case shows anything. Give a label to those that do something."
        raise WorkflowError([("tasks", message)], f"The workflow {net.id!r} cannot be optimised.")
    judged = soundness(Study(net, bound))
    wrong = [one.sentence for one in judged.failures if one.kind != "dead_task"]
    if wrong:
        what = f"The workflow {net.id!r} is not sound; only sound ones can be optimised. Fix this first."
        raise WorkflowError([("", one) for one in wrong], what)
    if judged.sound is None:
        what = f"Whether the workflow {net.id!r} is sound is unknown, so it is not changed."
        raise WorkflowError([("", judged.problem or "")], what)
    return [one.task for one in judged.failures if one.task is not None]


def _finished(
    evaluator: Evaluator, engine: Engine, seed: int, notes: list[str], dead: list[str]
) -> Optimized:
    chosen = choose(evaluator)
    best = chosen.best
    path: list[Move] = []
    structure = best.structure
    while structure != evaluator.start.structure:
        path.append(evaluator.came[structure])
        structure = path[-1].source
    path.reverse()
    measured = [evaluator.start, *(evaluator.evaluate(move.target) for move in path)]
    # All by the measure of the result, so that gains add up.
    precise = [evaluator.precisely(one) for one in measured]
    notes += chosen.notes
    notes += [
        f"'{name}' is not met: it is exceeded by {by:g}, and no change was found that fixes it."
        for name, by in zip(("max_parallel", "max_cost"), best.excess, strict=True)
        if by
    ]
    left = [f"'{task}'" for task in dead if task in best.net.tasks]
    if left:
        notes.append(f"{join(left)} can never happen and could not be removed: the result is not sound.")
    return Optimized(
        evaluator.target,
        engine,
        seed,
        evaluator.evaluations,
        tuple(_change(move, one, other) for move, (one, other) in zip(path, pairwise(precise), strict=True)),
        precise[0],
        best,
        chosen.front,
        chosen.verdict,
        tuple(notes),
    )


def _change(move: Move, before: Evaluation, after: Evaluation) -> Change:
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


# The result --------------------------------------------------------------------------------------------


_MODES: Mapping[Target, Mode] = {"behavioral": "strict", "balanced": "balanced", "performance": "lenient"}
_WORK, _FEWEST, _MOST = 200, 2, 150
"""How many estimated candidates are simulated: between these, fewer the larger they are."""
_MAX_DOUBTED = 5
"""How many verdicts may fail before no other is asked for: each may explore as many states as the bound allows."""
_MAX_FRONT = 20

Vector = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Chosen:
    """The result, the verdict on it, and the candidates of which no other is better in time, cost and size."""

    best: Evaluation
    verdict: Verdict
    front: tuple[Evaluation, ...]
    notes: tuple[str, ...]


def choose(evaluator: Evaluator) -> Chosen:
    """Choose the best of all that keep the constraints, or come nearest to that."""
    notes: list[str] = []
    allowed = [one for one in evaluator.found.values() if one.refused is None]
    least = min(one.excess for one in allowed)
    pool = sorted((one for one in allowed if one.excess == least), key=lambda one: one.rank)
    pool = _simulated(evaluator, pool, notes)
    judge = _Judge(evaluator)
    best = next((one for one in pool if judge.passes(one)), evaluator.precisely(evaluator.start))
    if judge.doubted >= _MAX_DOUBTED:
        notes.append(f"{judge.doubted} better workflows were not taken, since their verdict did not pass.")
    front = _front(pool, best, judge if evaluator.target == "behavioral" else None)
    if len(front) > _MAX_FRONT:
        notes.append(f"The Pareto front has {len(front)} workflows; the first {_MAX_FRONT} are listed.")
    if best not in front:
        notes.append(
            "The result is not in the Pareto front: another workflow is at least as good in time, cost and size, "
            "but scores lower or has less of the requested patterns."
        )
    return Chosen(best, judge.verdict(best), tuple(front[:_MAX_FRONT]), tuple(notes))


def _simulated(evaluator: Evaluator, pool: list[Evaluation], notes: list[str]) -> list[Evaluation]:
    """Where times were estimated, simulate the best and return only those: estimates are not compared with the rest."""
    guessed = sum(one.times.method == "estimated" for one in pool)
    if not guessed:
        return pool
    start = evaluator.start
    most = max(_FEWEST, min(_MOST, _WORK // max(1, len(evaluator.original.tasks))))
    chosen = {one.structure for one in (*pool[:most], *_nondominated(pool)[:_FEWEST])}
    if start.excess == pool[0].excess:
        chosen.add(start.structure)
    looked = [evaluator.precisely(one) for one in pool if one.structure in chosen]
    if len(looked) < len(pool):
        notes.append(
            f"The times of {guessed} of {len(pool)} workflows were estimated; the best {len(looked)} were simulated."
        )
    return sorted((one for one in looked if one.refused is None), key=lambda one: one.rank)


class _Judge:
    """Compares candidates with the original, each once."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.doubted = 0
        self._found: dict[int, Verdict] = {}

    def verdict(self, one: Evaluation) -> Verdict:
        found = self._found.get(id(one))
        if found is None:
            evaluator = self.evaluator
            found = compare(evaluator.original, one.net, _MODES[evaluator.target], evaluator.bound)
            self._found[id(one)] = found
        return found

    def passes(self, one: Evaluation) -> bool:
        """Return whether a candidate passes regardless of how it was made; the original does."""
        if one.structure == self.evaluator.start.structure:
            return True
        if self.doubted >= _MAX_DOUBTED:
            return False
        # How far the fastest may stray is not limited; what it must keep was checked when it was found.
        passed = self.evaluator.target == "performance" or self.verdict(one).passed
        self.doubted += not passed
        return passed


def _front(pool: list[Evaluation], best: Evaluation, judge: _Judge | None) -> list[Evaluation]:
    """Return the Pareto front, the result first; a judge leaves out what does not pass."""
    left = [best, *(one for one in pool if one is not best)]
    while True:
        front = _nondominated(left)
        wrong = [id(one) for one in front if one is not best and judge is not None and not judge.passes(one)]
        if not wrong:
            return front
        left = [one for one in left if id(one) not in wrong]


def _nondominated(listed: Sequence[Evaluation]) -> list[Evaluation]:
    """Return those of which no other is at least as good in everything; of equals the first."""
    found: dict[Vector, Evaluation] = {}
    for one in listed:
        found.setdefault(_vector(one), one)
    kept: list[Vector] = []
    for mine in sorted(found):
        if not any(all(a <= b for a, b in zip(yours, mine, strict=True)) for yours in kept):
            kept.append(mine)
    place = {id(one): at for at, one in enumerate(listed)}
    return sorted((found[mine] for mine in kept), key=lambda one: place[id(one)])


def _vector(one: Evaluation) -> Vector:
    makespan = math.inf if one.times.makespan is None else round(one.times.makespan, 9)
    return makespan, round(one.times.cost or 0.0, 9), one.size
