"""Whether two workflows have the same traces, and if not, a trace that only one of them has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given, settings

from halflap.workflows.analysis.equivalence import equivalence
from halflap.workflows.analysis.study import Study
from support import examples
from workflows import brute
from workflows.nets import block_net, nets

if TYPE_CHECKING:
    from halflap.workflows.analysis.equivalence import Equivalence
    from halflap.workflows.model.net import Net
    from workflows.nets import Tree

LONGEST = 5
SMALL = 10_000
A, B, C, NOTHING = (("task", label) for label in ("a", "b", "c", None))


def many(count: int) -> list[Tree]:
    return [("task", f"t{at}") for at in range(count)]


def same(one: Tree, other: Tree, bound: int = SMALL) -> Equivalence:
    return equivalence(Study(block_net(one), bound), Study(block_net(other), bound))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("seq", [A, NOTHING, B]), ("seq", [A, B])),
        (("and", [A, ("and", [B, C])]), ("and", [C, A, B])),
        (("or", [A, B, NOTHING]), ("and", [("xor", [A, NOTHING]), ("xor", [NOTHING, B])])),
        (("loop", ("loop", A, B), C), ("loop", A, ("xor", [B, C]))),
        (("xor", [NOTHING, ("loop", A, NOTHING)]), ("loop", NOTHING, A)),
        (("xor", [("seq", [A, B]), ("seq", [A, C])]), ("seq", [A, ("xor", [B, C])])),
        (("xor", [("seq", [A, B]), ("seq", [B, A])]), ("and", [A, B])),
    ],
)
def test_two_forms_of_one_workflow_are_equivalent(one: Tree, other: Tree) -> None:
    assert same(one, other).equivalent is True


def test_unlike_footprints_decide_where_a_hundred_parallel_tasks_have_too_many_states() -> None:
    wide = ("and", many(100))
    found = same(("seq", [wide, ("loop", A, B)]), ("seq", [wide, ("and", [A, B])]), 100)
    assert (found.equivalent, found.trace) == (False, None)


@settings(max_examples=examples(600))
@given(nets(leaves=5, most=5), nets(leaves=5, most=5))
def test_equivalence_agrees_with_brute_force_and_a_counterexample_is_shortest(one: Net, other: Net) -> None:
    found = equivalence(Study(one, SMALL), Study(other, SMALL))
    assume(found.equivalent is not None)
    mine, yours = brute.behaviour_of(one), brute.behaviour_of(other)
    assert found.equivalent == mine.same_traces(yours)
    if found.trace is not None:
        assert mine.accepts(found.trace) == found.only_in_first
        assert yours.accepts(found.trace) != found.only_in_first
        shorter = len(found.trace) - 1
        assert shorter > LONGEST or brute.traces(mine, shorter) == brute.traces(yours, shorter)
