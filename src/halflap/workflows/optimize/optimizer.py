"""Optimise a workflow: apply the changes that its target permits, and report what each gained and the verdict on the result."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, get_args

from halflap.core.errors import WorkflowError
from halflap.core.text import join
from halflap.workflows.analysis.compare import compare
from halflap.workflows.analysis.soundness import soundness
from halflap.workflows.analysis.study import Study
from halflap.workflows.answers import Change, Mode, Optimization, Target, Verdict
from halflap.workflows.model.form import write_net
from halflap.workflows.model.net import CANCELLATION, MAX_STATES, Net
from halflap.workflows.model.reduce import tree_of, unstructured_because
from halflap.workflows.optimize import genetic
from halflap.workflows.optimize.search import Candidate, Move, Search, best_first
from halflap.workflows.score.rules import check_rule

if TYPE_CHECKING:
    from halflap.workflows.model.block import Block
    from halflap.workflows.optimize.constraints import Goal

Engine = Literal["gepa", "beam"]
TARGETS: tuple[Target, ...] = get_args(Target)
_MODES: Mapping[Target, Mode] = {"behavioral": "strict", "balanced": "balanced", "performance": "lenient"}
_WORK, _FEWEST, _MOST = 200, 2, 40
"""How many estimated candidates are simulated: between these, fewer the larger they are."""
_MAX_DOUBTED = 5
"""How many verdicts may fail before the original is kept: each may explore as many states as the bound allows."""


def optimize(
    net: Net,
    goal: Goal,
    *,
    seed: int = 0,
    engine: Engine | None = None,
    reflect: genetic.Reflect | None = None,
    bound: int = MAX_STATES,
) -> Optimization:
    """Optimise a workflow for a goal, with gepa where it is installed. `reflect` asks a language model."""
    problems = list(goal.constraints.problems(net))
    used: Engine = engine or ("gepa" if genetic.is_installed() else "beam")
    if used == "gepa" and not genetic.is_installed():
        problems.append(("engine", "gepa is not installed: `pip install 'halflap[gepa]'`."))
    if problems:
        raise WorkflowError(problems, "The workflow cannot be optimised like this.")
    tree = tree_of(net)
    _check(net, tree, bound)
    found = Search(net, tree, goal, bound)
    notes = []
    if used == "gepa":
        notes += genetic.genetic_search(found, seed, reflect)
    else:
        best_first(found)
    if found.cut_short:
        notes.append(f"Not every workflow that could be made was tried; {len(found.found)} were.")
    best, verdict = _chosen(found, notes)
    changes = _changes(found, best)
    return Optimization(
        optimized_workflow=write_net(best.net),
        net=best.net,
        optimization_target=goal.optimization_target,
        changed=bool(changes),
        transformations=changes,
        metrics={"before": found.precisely(found.start).metrics(), "after": best.metrics()},
        engine=used,
        seed=seed,
        evaluations=len(found.found),
        validation=verdict,
        notes=notes,
    )


def _check(net: Net, tree: Block, bound: int) -> None:
    """Raise a `WorkflowError` with everything because of which a workflow cannot be optimised."""
    problems: list[tuple[str, str]] = []
    if all(task.label is None for task in net.tasks.values()):
        message = "No task has a label, so no case shows anything. Give a label to those that do something."
        problems.append(("tasks", message))
    cancelling = join(sorted({f"<{one.name}>" for one in net.kept if one.name in CANCELLATION}))
    if cancelling:
        problems.append(("", f"It has cancellation ({cancelling}), whose effects the model cannot follow."))
    why = unstructured_because(tree)
    if why is not None:
        failures = soundness(Study(net, bound, tree=tree)).failures
        problems += [("", f"It is not sound. {one.sentence}") for one in failures]
        problems += [] if failures else [("", f"Only block-structured workflows are optimised. {why}")]
    if problems:
        raise WorkflowError(problems, f"The workflow {net.id!r} cannot be optimised.")


def _chosen(found: Search, notes: list[str]) -> tuple[Candidate, Verdict]:
    """Return the best candidate that passes regardless of how it was made; the original does."""
    start = found.precisely(found.start)
    doubted = 0
    for one in [*_best(found, notes)[:_MAX_DOUBTED], start]:
        verdict = compare(found.original, one.net, _MODES[found.goal.optimization_target], found.bound)
        if one.tree == start.tree or _keeps(found, one, verdict):
            break
        doubted += 1
    if doubted:
        notes.append(f"{doubted} better workflows were not taken, since their verdict did not pass.")
    return one, verdict


def _best(found: Search, notes: list[str]) -> list[Candidate]:
    """Return what may be chosen, best first. Where times were estimated, only the best are, simulated: estimates are not compared with the rest."""
    pool = sorted((one for one in found.found.values() if one is not None), key=lambda one: one.rank)
    guessed = sum(one.times.method == "estimated" for one in pool)
    if not guessed:
        return pool
    most = max(_FEWEST, min(_MOST, _WORK // max(1, len(found.original.tasks))))
    looked = [found.precisely(one) for one in dict.fromkeys((*pool[:most], found.start))]
    if len(looked) < len(pool):
        notes.append(
            f"The times of {guessed} of {len(pool)} workflows were estimated; the best {len(looked)} were simulated."
        )
    start = found.precisely(found.start)
    return sorted((one for one in looked if found.may_be_taken(one, start)), key=lambda one: one.rank)


def _keeps(found: Search, one: Candidate, verdict: Verdict) -> bool:
    """Return whether a workflow keeps all that it has to. How far the fastest may stray from the footprint is not limited."""
    fine = verdict.validation_passed or found.goal.optimization_target == "performance"
    reverses = any(anomaly.kind == "reversed_order" for anomaly in verdict.anomalies)
    if not fine or reverses or not verdict.sound["optimized_workflow"]:
        return False
    before, after = (
        Study(found.original, found.bound, tree=found.start.tree),
        Study(one.net, found.bound, tree=one.tree),
    )
    return all(
        check_rule(after, rule).holds or not check_rule(before, rule).holds for rule in found.original.rules
    )


def _changes(found: Search, best: Candidate) -> list[Change]:
    """Return the changes that lead to the result, all measured like the result, so that gains add up."""
    path = [best.tree]
    while path[-1] in found.came:
        path.append(found.came[path[-1]].source)
    measured = [found.precisely(one) for tree in reversed(path) if (one := found.found[tree]) is not None]
    return [_change(found.came[after.tree], before, after) for before, after in pairwise(measured)]


def _change(move: Move, before: Candidate, after: Candidate) -> Change:
    times = before.times.expected_makespan, after.times.expected_makespan
    return Change(
        transformation=move.transformation.name,
        description=move.what,
        keeps_traces=move.transformation.keeps_traces,
        gain={
            "expected_makespan": None if None in times else (times[0] or 0) - (times[1] or 0),
            "size": before.size - after.size,
            "total_score": after.total - before.total,
        },
    )
