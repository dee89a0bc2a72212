"""Optimise a workflow: search the changes that its target permits, and report what each gained and the verdict on the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, get_args

from halflap.core.errors import WorkflowError
from halflap.core.text import join
from halflap.workflows.analysis.compare import compare
from halflap.workflows.analysis.soundness import soundness
from halflap.workflows.analysis.study import Study
from halflap.workflows.answers import Alternative, Change, Mode, Optimization, Target, Verdict
from halflap.workflows.model.form import write_net
from halflap.workflows.model.net import CANCELLATION, MAX_STATES, Net
from halflap.workflows.model.reduce import tree_of, unstructured_because
from halflap.workflows.optimize import genetic
from halflap.workflows.optimize.search import Candidate, Move, Search, best_first
from halflap.workflows.score.rules import check_rule

if TYPE_CHECKING:
    from halflap.workflows.model.block import Block
    from halflap.workflows.optimize.goal import Goal

Engine = Literal["gepa", "beam"]
TARGETS: tuple[Target, ...] = get_args(Target)
_MODES: Mapping[Target, Mode] = {"behavioral": "strict", "balanced": "balanced", "performance": "lenient"}
_WORK, _FEWEST, _MOST = 200, 2, 40
"""How many estimated candidates are simulated: between these, fewer the larger they are."""
_MAX_VERDICTS = 5
"""How many candidates may fail before the original is kept: each comparison may explore all states up to the bound."""
_MAX_FRONT = 5


def optimize(
    net: Net,
    goal: Goal,
    *,
    engine: Engine | None = None,
    reflect: genetic.Reflect | None = None,
    bound: int = MAX_STATES,
    written: Callable[[Net], dict[str, Any]] = write_net,
) -> Optimization:
    """Optimise a workflow for a goal, with gepa where it is installed.

    `reflect` asks a language model; `written` returns a workflow in the form of the answer.
    """
    problems = list(goal.constraints.problems(net))
    used: Engine = engine or ("gepa" if genetic.is_installed() else "beam")
    if used == "gepa" and not genetic.is_installed():
        problems.append(("engine", "gepa is not installed: `pip install 'halflap[gepa]'`."))
    if problems:
        raise WorkflowError(problems, "The workflow cannot be optimised like this.")
    tree = tree_of(net)
    _check(net, tree, bound)
    search = Search(net, tree, goal, bound)
    notes = []
    if used == "gepa":
        notes += genetic.genetic_search(search, reflect)
    else:
        best_first(search)
    if search.cut_short:
        notes.append(f"Not every workflow that could be made was tried; {len(search.found)} were.")
    pool = _pool(search, notes)
    best, verdict = _chosen(search, pool, notes)
    after = best.metrics()
    most = goal.constraints.max_parallel
    if most is not None and after.max_parallel is not None and after.max_parallel > most:
        notes.append(
            f"At most {most} tasks may run in parallel, but no change was found that leaves fewer than {after.max_parallel}."
        )
    changes = _changes(search, best)
    return Optimization(
        optimized_workflow=written(best.net),
        net=best.net,
        optimization_target=goal.optimization_target,
        changed=bool(changes),
        transformations=changes,
        metrics={"before": search.simulated(search.start).metrics(), "after": after},
        pareto_front=[
            Alternative(**vars(one.metrics()), chosen=one is best, workflow=written(one.net))
            for one in _pareto_front(pool, best)
        ],
        engine=used,
        evaluations=len(search.found),
        validation=verdict,
        notes=notes,
    )


def _check(net: Net, tree: Block, bound: int) -> None:
    """Raise a `WorkflowError` with everything because of which a workflow cannot be optimised."""
    problems: list[tuple[str, str]] = []
    if all(task.label is None for task in net.tasks.values()):
        message = "All tasks are silent, so no case shows anything. Give a label to those that do something."
        problems.append(("tasks", message))
    cancelling = join(sorted({f"<{one.name}>" for one in net.kept if one.name in CANCELLATION}))
    if cancelling:
        problems.append(("", f"It has cancellation ({cancelling}), whose effects the model cannot follow."))
    failures = soundness(Study(net, bound, tree=tree)).failures
    problems += [("", f"It is not sound. {one.sentence}") for one in failures]
    why = unstructured_because(tree)
    if why is not None and not failures:
        problems.append(("", f"Only block-structured workflows are optimised. {why}"))
    if problems:
        raise WorkflowError(problems, f"The workflow {net.id!r} cannot be optimised.")


def _pool(search: Search, notes: list[str]) -> list[Candidate]:
    """Return what may be chosen, best first. Where times were estimated, that is the best few, simulated."""
    pool = sorted((one for one in search.found.values() if one is not None), key=lambda one: one.rank)
    guessed = sum(one.times.method == "estimated" for one in pool)
    if not guessed:
        return pool
    most = max(_FEWEST, min(_MOST, _WORK // max(1, len(search.original.tasks))))
    simulated = [search.simulated(one) for one in dict.fromkeys((*pool[:most], search.start))]
    if len(simulated) < len(pool):
        notes.append(
            f"The times of {guessed} of {len(pool)} workflows were estimated; the best {len(simulated)} were simulated."
        )
    start = search.simulated(search.start)
    return sorted((one for one in simulated if search.may_be_taken(one, start)), key=lambda one: one.rank)


def _chosen(search: Search, pool: list[Candidate], notes: list[str]) -> tuple[Candidate, Verdict]:
    """Return the best candidate that passes regardless of how it was made; the original does."""
    start = search.simulated(search.start)
    failed = 0
    for one in [*pool[:_MAX_VERDICTS], start]:
        verdict = compare(search.original, one.net, _MODES[search.goal.optimization_target], search.bound)
        if one.tree == start.tree or _passes(search, one, verdict):
            break
        failed += 1
    if failed:
        notes.append(f"{failed} better workflows were not taken, since their verdict did not pass.")
    return one, verdict


def _passes(search: Search, one: Candidate, verdict: Verdict) -> bool:
    """Return whether a workflow keeps all that it has to. How far the fastest may stray from the footprint is not limited."""
    fine = verdict.validation_passed or search.goal.optimization_target == "performance"
    reverses = any(anomaly.kind == "reversed_order" for anomaly in verdict.anomalies)
    if not fine or reverses or not verdict.sound["optimized_workflow"]:
        return False
    before = Study(search.original, search.bound, tree=search.start.tree)
    after = Study(one.net, search.bound, tree=one.tree)
    rules = search.original.rules
    return all(check_rule(after, rule).holds or not check_rule(before, rule).holds for rule in rules)


def _pareto_front(pool: list[Candidate], best: Candidate) -> list[Candidate]:
    """Return the workflows of which none is both as fast and as small, fastest first."""
    front: list[Candidate] = []
    for one in sorted(pool, key=lambda one: (one.time, one.size, one is not best)):
        if one.excess == best.excess and (not front or one.size < front[-1].size):
            front.append(one)
    return front[:_MAX_FRONT]


def _changes(search: Search, best: Candidate) -> list[Change]:
    """Return the changes that lead to the result, measured in the same way, so that gains add up."""
    path = [best.tree]
    while path[-1] in search.moves:
        path.append(search.moves[path[-1]].source)
    measured = [search.simulated(one) for tree in reversed(path) if (one := search.found[tree]) is not None]
    return [_change(search.moves[after.tree], before, after) for before, after in pairwise(measured)]


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
