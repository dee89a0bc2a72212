"""Optimised workflows: as fast as an enumeration finds possible, never slower, and all that has to be kept is kept."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halflap.core.errors import WorkflowError
from halflap.workflows.analysis.soundness import soundness
from halflap.workflows.analysis.study import Study
from halflap.workflows.model.form import read_net, write_net
from halflap.workflows.model.net import Kept
from halflap.workflows.optimize import genetic
from halflap.workflows.score.score import score
from support import examples
from workflows.nets import block_nets, net
from workflows.timed import line, lines, optimize, reversed_order, ruled, task, timed

if TYPE_CHECKING:
    from halflap.workflows.answers import Target
    from halflap.workflows.model.net import Net
    from halflap.workflows.optimize.optimizer import Engine

TARGETS = st.sampled_from(["performance", "behavioral", "balanced"])
ENGINES: list[Engine] = ["beam", "gepa"] if genetic.is_installed() else ["beam"]
Order = frozenset[tuple[int, int]]
"""Which comes before which."""


# The fastest ----------------------------------------------------------------------------------------------


@cache
def series_parallel(tasks: tuple[int, ...]) -> frozenset[Order]:
    """Return every partial order of tasks that sequences and parallel blocks can express."""
    if len(tasks) == 1:
        return frozenset([frozenset()])
    found = set()
    for size_ in range(1, len(tasks)):
        for first in itertools.combinations(tasks, size_):
            rest = tuple(one for one in tasks if one not in first)
            for one, other in itertools.product(series_parallel(first), series_parallel(rest)):
                found.add(one | other)
                found.add(one | other | frozenset(itertools.product(first, rest)))
    return frozenset(found)


def took(order: Order, durations: list[float]) -> float:
    """Return how long a case takes if each task waits only for those before it."""
    ends: dict[int, float] = {}
    # In topological order: a task has more before it than any of those have.
    for one in sorted(range(len(durations)), key=lambda at: sum(then == at for _, then in order)):
        ends[one] = durations[one] + max((ends[a] for a, b in order if b == one), default=0.0)
    return max(ends.values())


def fastest(tasks: list[dict[str, Any]]) -> float:
    """Try every partial order that keeps the order of dependent tasks."""

    def data(one: dict[str, Any]) -> tuple[set[str], set[str]]:
        return set(one.get("reads", "?")), set(one.get("writes", "?"))

    kept = set()
    for (at, one), (later, other) in itertools.combinations(enumerate(tasks), 2):
        (reads, writes), (yours, written) = data(one), data(other)
        unknown = "?" in reads | writes | yours | written
        if unknown or writes & (yours | written) or reads & written:
            kept.add((at, later))
    orders = series_parallel(tuple(range(len(tasks))))
    durations = [one["duration"] for one in tasks]
    return min(took(order, durations) for order in orders if kept <= order)


@st.composite
def lists(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Generate tasks that share few names, some with undeclared data."""
    names = st.lists(st.sampled_from("uvwxyz"), max_size=2, unique=True).map(" ".join)
    made = []
    for at in range(draw(st.integers(2, 4))):
        one = task(f"t{at}", draw(st.integers(1, 9)), draw(names), draw(names))
        if draw(st.integers(0, 9)) == 0:
            del one["reads"], one["writes"]
        made.append(one)
    return made


@settings(max_examples=examples(300))
@given(lists(), st.sampled_from(ENGINES))
def test_no_arrangement_in_blocks_is_faster(tasks: list[dict[str, Any]], engine: Engine) -> None:
    assert optimize(line(*tasks), "performance", engine=engine).metrics["after"].expected_makespan == fastest(
        tasks
    )


# Laws -------------------------------------------------------------------------------------------------


@settings(max_examples=examples(200))
@given(
    st.one_of(
        ruled(timed(block_nets(leaves=7, gates=("and", "xor", "or")), (None, "bob"))),
        ruled(lines()),
    ),
    TARGETS,
)
def test_a_result_is_sound_never_slower_and_keeps_rules_and_dependent_order(one: Net, target: Target) -> None:
    try:
        found = optimize(one, target, engine="beam")
    except WorkflowError:
        return
    assert read_net(json.loads(json.dumps(write_net(found.net)))) == found.net
    assert soundness(Study(found.net)).sound or (not found.changed)
    if found.metrics["before"].expected_makespan is not None:
        assert found.metrics["after"].expected_makespan is not None
        noise = (found.metrics["after"].standard_error or 0) + (found.metrics["before"].standard_error or 0)
        assert (
            found.metrics["after"].expected_makespan
            <= found.metrics["before"].expected_makespan + noise + 1e-9
        )
    held, holds = (score(each).response()["raw"]["compliance"]["rules"] for each in (one, found.net))
    assert all(after["holds"] for before, after in zip(held, holds, strict=True) if before["holds"])
    assert found.net is one or target == "behavioral" or reversed_order(one, found.net) == ()
    assert found.validation.validation_passed or target == "performance" or found.net is one
    answer = found.response()
    before, after = answer["metrics"]["before"], answer["metrics"]["after"]
    front = [(one["expected_makespan"], one["size"]) for one in answer["pareto_front"]]
    if before["expected_makespan"] is not None:
        assert front == sorted(front)
        assert [size for _, size in front] == sorted({size for _, size in front}, reverse=True)
        assert (
            not any(time < after["expected_makespan"] and size < after["size"] for time, size in front)
            or target == "balanced"
        )
    for name in ("expected_makespan", "size"):
        if before[name] is not None:
            gained = math.fsum(change["gain"][name] for change in answer["transformations"])
            assert gained == pytest.approx(before[name] - after[name], abs=1e-6)


@settings(max_examples=examples(40))
@given(st.one_of(timed(block_nets(leaves=5)), lines(5)), TARGETS, st.sampled_from(ENGINES))
def test_the_same_question_gets_the_same_answer(one: Net, target: Target, engine: Engine) -> None:
    try:
        first, second = (optimize(one, target, engine=engine).response() for _ in range(2))
    except WorkflowError:
        return  # All tasks are silent.
    assert json.dumps(first) == json.dumps(second)


# Cases ------------------------------------------------------------------------------------------------


def shop() -> Net:
    return line(
        task("order", 2),
        task("stock", 5, "order"),
        task("credit", 8, "order"),
        task("address", 3, "order"),
        task("ship", 4, "stock credit address"),
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_independent_tasks_run_in_parallel(engine: Engine) -> None:
    answer = optimize(shop(), "performance", engine=engine).response()
    assert answer["engine"] == engine
    before, after = answer["metrics"]["before"], answer["metrics"]["after"]
    assert (before["expected_makespan"], after["expected_makespan"]) == (22, 14)
    (change,) = answer["transformations"]
    assert (change["transformation"], change["gain"]["expected_makespan"]) == ("parallelise", 8)
    # No new tasks are needed: existing ones split and join.
    assert read_net(answer["optimized_workflow"]).tasks.keys() == shop().tasks.keys()
    assert answer["validation"]["sound"] == {"original_workflow": True, "optimized_workflow": True}
    front = [(one["expected_makespan"], one["chosen"]) for one in answer["pareto_front"]]
    assert (front[0], front[-1]) == ((14, True), (22, False))


@pytest.mark.parametrize(
    ("constraints", "makespan", "width"),
    [
        ({"max_parallel": 2}, 14, 2),
        ({"fixed": ["credit"]}, 22, 1),
        ({"keep_order": [["stock", "credit"]]}, 2 + 5 + 8 + 4, 2),
    ],
)
def test_constraints_are_kept(constraints: dict[str, Any], makespan: float, width: int) -> None:
    found = optimize(shop(), "performance", constraints, engine="beam").metrics["after"]
    assert (found.expected_makespan, found.max_parallel) == (makespan, width)


def test_reference_patterns_steer_it() -> None:
    # The little time it would save is not worth a block, unless a parallel workflow is wanted.
    slow = line(
        task("z", 9),
        task("a", 100, "z"),
        task("b", 1, "a"),
        task("c", 1, "a"),
        task("d", 100, "b c"),
        task("e", 9, "d"),
    )
    assert not optimize(slow, "balanced", engine="beam").changed
    found = optimize(slow, "balanced", None, ["parallel"], engine="beam")
    assert [one.transformation for one in found.transformations] == ["parallelise"]


STUCK = net({"a": "xor/xor", "b": "xor/and", "c": "xor/and", "d": "and/and"}, "i>a a>b a>c b>d c>d d>o")
# A choice that is joined in two places.
LOOSE = net(
    {"a": "xor/xor", "b": "xor/xor", "c": "xor/and", "d": "xor/and", "e": "xor/and"},
    "i>a a>b a>c b>c b>e c>d d>e e>o",
)


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (STUCK, "after a, b"),
        (LOOSE, "block-structured"),
        (replace(shop(), kept=(Kept("removesTokens", "stock", "ship"),)), "cancellation"),
        (net({"a": "~xor/and"}, "i>a a>o"), "silent"),
    ],
)
def test_a_net_that_cannot_be_changed_safely_is_refused_with_the_reason(one: Net, why: str) -> None:
    with pytest.raises(WorkflowError, match=why):
        optimize(one, "performance", engine="beam")


def test_gepa_prints_nothing_and_without_it_our_own_search_is_used(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    if genetic.is_installed():
        assert optimize(shop(), "performance").engine == "gepa"
        assert capfd.readouterr() == ("", "")
    monkeypatch.setattr(genetic, "is_installed", lambda: False)
    assert optimize(shop(), "performance").engine == "beam"
    with pytest.raises(WorkflowError, match="gepa"):
        optimize(shop(), "performance", engine="gepa")
