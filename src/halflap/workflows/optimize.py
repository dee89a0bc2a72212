"""A workflow is made better: by the changes that its target permits, with what each of them brought and a verdict on the result."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from halflap.errors import WorkflowError
from halflap.workflows.constraints import read_constraints
from halflap.workflows.form import write_net
from halflap.workflows.optimizing import genetic
from halflap.workflows.optimizing.evaluation import Evaluator, Target
from halflap.workflows.optimizing.search import beam_search, best_of, path_to
from halflap.workflows.pieces.taking import layout_of
from halflap.workflows.score import read_patterns
from halflap.workflows.soundness import soundness
from halflap.workflows.study import Study
from halflap.workflows.transforming.ground import Ground
from halflap.workflows.validate import validate_footprint

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halflap.workflows.net import Bound, Net
    from halflap.workflows.optimizing.evaluation import Evaluation
    from halflap.workflows.optimizing.search import Move
    from halflap.workflows.pieces.piece import Layout
    from halflap.workflows.validation import Mode, Validation

__all__ = ["TARGETS", "Engine", "Optimized", "optimize"]

Engine = Literal["gepa", "beam"]
TARGETS: tuple[Target, ...] = get_args(Target)
_MODES: Mapping[Target, Mode] = {"behavioral": "strict", "balanced": "balanced", "performance": "lenient"}
_MOST_TRIED = 5
_CLOSE = 1e-9
_MOST_FRONT = 20


@dataclass(frozen=True, slots=True)
class Change:
    """One change that was made, and what came of it."""

    transformation: str
    what: str
    keeps_traces: bool
    before: Evaluation
    after: Evaluation

    def response(self) -> dict[str, Any]:
        before, after = self.before, self.after
        times = (before.times.makespan, after.times.makespan)
        costs = (before.times.cost, after.times.cost)
        return {
            "transformation": self.transformation,
            "description": self.what,
            "keeps_traces": self.keeps_traces,
            "gain": {
                "expected_makespan": None if None in times else (times[0] or 0) - (times[1] or 0),
                "expected_cost": None if None in costs else (costs[0] or 0) - (costs[1] or 0),
                "size": before.size - after.size,
                "total_score": after.total - before.total,
            },
        }


@dataclass(frozen=True, slots=True)
class Optimized:
    """What came of an optimisation."""

    net: Net
    target: Target
    engine: Engine
    seed: int
    evaluations: int
    changes: tuple[Change, ...]
    before: Evaluation
    after: Evaluation
    front: tuple[Evaluation, ...]
    """Those of which no other is at least as good in everything and better in something."""
    verdict: Validation
    notes: tuple[str, ...]

    def response(self) -> dict[str, Any]:
        """Give it as JSON."""
        return {
            "optimized_workflow": write_net(self.net),
            "optimization_target": self.target,
            "changed": bool(self.changes),
            "transformations": [one.response() for one in self.changes],
            "metrics": {"before": self.before.metrics(), "after": self.after.metrics()},
            "pareto_front": [
                {**one.metrics(), "chosen": one is self.after, "workflow": write_net(one.net)}
                for one in self.front
            ],
            "engine": self.engine,
            "seed": self.seed,
            "evaluations": self.evaluations,
            "validation": self.verdict.response(),
            "notes": list(self.notes),
        }


def optimize(
    net: Net,
    target: str,
    constraints: Mapping[str, Any] | None = None,
    reference_patterns: Sequence[str] = (),
    *,
    seed: int = 0,
    engine: Engine | None = None,
    bound: Bound | None = None,
) -> Optimized:
    """Make a workflow better; without an engine named it is gepa where that is installed, else our own."""
    problems: list[tuple[str, str]] = []
    aim: Target = next((one for one in TARGETS if one == target), "balanced")
    if aim != target:
        problems.append(
            ("optimization_target", f"There is no target {target!r}; there are {', '.join(TARGETS)}.")
        )
    wanted = read_constraints(constraints, net, problems)
    patterns = read_patterns(reference_patterns, problems)
    used: Engine = engine or ("gepa" if genetic.is_there() else "beam")
    if engine == "gepa" and not genetic.is_there():
        problems.append(("engine", "gepa is not installed; `pip install 'halflap[gepa]'` brings it."))
    if problems:
        raise WorkflowError(problems, "The workflow can't be optimised like this.")
    dead = _sound_enough(net, bound)
    layout = layout_of(net)
    ground = Ground(wanted.facts(net), wanted)
    evaluator = Evaluator(ground, layout, aim, patterns, bound)
    notes: list[str] = []
    came: dict[Layout, Move] = {}
    if ground.facts.untouchable is not None:
        notes.append(f"Nothing was changed. {ground.facts.untouchable}")
    else:
        came = genetic.genetic_search(evaluator, seed) if used == "gepa" else beam_search(evaluator)
    if evaluator.out_of_time and bound is not None:
        notes.append(
            f"The search was ended after {bound.seconds:g} s; with more time another workflow may be found."
        )
    found = _finished(evaluator, came, used, seed, notes)
    left = [f"'{task}'" for task in dead if task in found.net.tasks]
    if not left:
        return found
    note = f"{', '.join(left)} can never be done, and could not be taken out: the result is not sound."
    return replace(found, notes=(*found.notes, note))


def _sound_enough(net: Net, bound: Bound | None) -> list[str]:
    """Refuse what is not sound, or of which nothing is seen; give the tasks that are never done, which can be taken out."""
    if all(task.label is None for task in net.tasks.values()):
        raise WorkflowError(
            [
                (
                    "tasks",
                    "None of them has a label, so nothing is seen of any case. Give those a label that do something.",
                )
            ],
            f"The workflow {net.id!r} can't be optimised: nothing could be compared.",
        )
    judged = soundness(Study(net, bound))
    wrong = [one for one in judged.failures if one.kind != "dead_task"]
    if wrong:
        raise WorkflowError(
            [("", f"After {', '.join(one.trace)}: {one.why}" if one.trace else one.why) for one in wrong],
            f"The workflow {net.id!r} is not sound; only what is can be optimised. Mend this first.",
        )
    if judged.sound is None:
        raise WorkflowError(
            [("", judged.problem or "")],
            f"Whether the workflow {net.id!r} is sound is not known, so it is not touched.",
        )
    return [one.task for one in judged.failures if one.task is not None]


def _finished(
    evaluator: Evaluator, came: dict[Layout, Move], engine: Engine, seed: int, notes: list[str]
) -> Optimized:
    start = evaluator.start
    assert start is not None
    best, verdict = _taken(evaluator, start)
    path = path_to(came, start.layout, best.layout)
    changes = tuple(
        Change(
            move.transformation.name,
            move.what,
            move.transformation.keeps_traces,
            evaluator.evaluate(move.source),
            evaluator.evaluate(move.target),
        )
        for move in path
    )
    unmet = [
        f"'{name}' is not met: there is {by:g} too much, and no change was found that mends it."
        for name, by in zip(("max_parallel", "max_cost"), best.excess, strict=True)
        if by
    ]
    return Optimized(
        best.net,
        evaluator.target,
        engine,
        seed,
        evaluator.evaluations,
        changes,
        evaluator.precisely(start),
        best,
        tuple(_front(evaluator, best)),
        verdict,
        (*notes, *unmet),
    )


def _taken(evaluator: Evaluator, start: Evaluation) -> tuple[Evaluation, Validation]:
    """Take the best that stands when it is looked at closely and without regard to how it was made; else what there was."""
    mode = _MODES[evaluator.target]
    before = evaluator.precisely(start)
    for found in best_of(evaluator)[:_MOST_TRIED]:
        if found.rank >= start.rank:
            break
        one = evaluator.precisely(found)
        slower = (one.times.makespan or 0) > (before.times.makespan or 0) + _CLOSE
        if before.times.makespan is not None and slower and not one.excess < before.excess:
            continue
        if evaluator.target != "behavioral" and not evaluator.keeps_order(one.net):
            continue
        verdict = validate_footprint(evaluator.original, one.net, mode, evaluator.bound)
        if evaluator.target == "performance" or verdict.passed:
            return one, verdict
    return before, validate_footprint(evaluator.original, evaluator.original, mode, evaluator.bound)


def _front(evaluator: Evaluator, best: Evaluation) -> list[Evaluation]:
    """Give the Pareto front over time, cost and size, the best by rank first; the result is always in it."""

    def vector(one: Evaluation) -> tuple[float, ...]:
        return (*one.excess, round(one.times.makespan or 0.0, 9), round(one.times.cost or 0.0, 9), one.size)

    found: dict[tuple[float, ...], Evaluation] = {vector(best): best}
    for one in best_of(evaluator):
        found.setdefault(vector(one), one)
    kept = [
        one
        for mine, one in found.items()
        if one is best
        or not any(yours != mine and all(a <= b for a, b in zip(yours, mine, strict=True)) for yours in found)
    ]
    return sorted(kept, key=lambda one: (one is not best, one.rank))[:_MOST_FRONT]
