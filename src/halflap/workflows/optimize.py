"""A workflow is made better: by the changes that its target permits, with what each of them brought and a verdict on the result."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, get_args

from halflap.core.errors import WorkflowError
from halflap.workflows.constraints import orderless, read_constraints
from halflap.workflows.form import write_net
from halflap.workflows.optimizing import genetic
from halflap.workflows.optimizing.choosing import choose
from halflap.workflows.optimizing.evaluation import Evaluator, Target
from halflap.workflows.optimizing.search import beam_search, path_to
from halflap.workflows.pieces.taking import layout_of
from halflap.workflows.score import read_patterns
from halflap.workflows.soundness import soundness
from halflap.workflows.study import Study
from halflap.workflows.transforming.ground import Ground

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halflap.workflows.net import Bound, Net
    from halflap.workflows.optimizing.evaluation import Evaluation
    from halflap.workflows.optimizing.search import Move
    from halflap.workflows.pieces.piece import Layout
    from halflap.workflows.validation import Validation

__all__ = ["TARGETS", "Engine", "Optimized", "optimize"]

Engine = Literal["gepa", "beam"]
TARGETS: tuple[Target, ...] = get_args(Target)


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
    notes = [
        f"'keep_order' of '{first}' and '{then}' keeps nothing: the workflow has no order for them."
        for first, then in orderless(net, wanted.ordered)
    ]
    came: dict[Layout, Move] = {}
    if ground.facts.untouchable is not None:
        notes.append(f"Nothing was changed. {ground.facts.untouchable}")
    else:
        came = genetic.genetic_search(evaluator, seed) if used == "gepa" else beam_search(evaluator)
    if evaluator.out_of_time and bound is not None:
        notes.append(
            f"The search was ended after {bound.seconds:g} s; with more time another workflow may be found."
        )
    elif evaluator.cut_short:
        notes.append(
            f"The search was ended after {evaluator.evaluations} workflows, before all sequences of changes were tried; there may be a better one."
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
    choice = choose(evaluator)
    best = choice.best
    path = path_to(came, start.layout, best.layout)
    measured = [start, *(evaluator.evaluate(move.target) for move in path)]
    # What is told of each is by the measure that the result is told by, so that gains add up.
    precise = [evaluator.precisely(one) for one in measured]
    changes = tuple(
        Change(move.transformation.name, move.what, move.transformation.keeps_traces, one, other)
        for move, (one, other) in zip(path, pairwise(precise), strict=True)
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
        precise[0],
        best,
        choice.front,
        choice.verdict,
        (*notes, *choice.notes, *unmet),
    )
