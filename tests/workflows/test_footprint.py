"""What directly follows what: two ways to find it, and by the traces themselves."""

from __future__ import annotations

from itertools import pairwise
from time import process_time
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from halflap.errors import WorkflowError
from halflap.workflows.agreement import Difference, agreement
from halflap.workflows.footprint import (
    Footprint,
    Unknown,
    footprint,
    footprint_by_blocks,
    footprint_by_states,
)
from halflap.workflows.net import Bound
from halflap.workflows.order import Order, order_by_blocks, order_by_states
from halflap.workflows.study import Study
from workflows import brute
from workflows.nets import block_net, general_nets, net, nets, trees

if TYPE_CHECKING:
    from halflap.workflows.net import Gate, Net
    from workflows.nets import Tree

GATES: tuple[Gate, ...] = ("and", "xor", "or")
LONGEST = 6


def task(label: str | None) -> Tree:
    return ("task", label)


A, B, C = task("a"), task("b"), task("c")


def of(tree: Tree) -> Footprint:
    found = footprint(Study(block_net(tree)))
    assert isinstance(found, Footprint)
    return found


def test_the_matrix_says_what_activities_are_to_each_other() -> None:
    found = of(("seq", [A, ("and", [B, C]), task("d")]))
    assert found.activities == ("a", "b", "c", "d")
    assert found.matrix() == (
        ("#", "→", "→", "#"),
        ("←", "#", "||", "→"),
        ("←", "||", "#", "→"),
        ("#", "←", "←", "#"),
    )
    assert found.start_activities() == ("a",)
    assert found.end_activities() == ("d",)
    assert found.relation("b", "c") == "||"
    assert found.relation("a", "not there") == "#"


@pytest.mark.parametrize(
    ("tree", "pairs"),
    [
        (("seq", [A, task(None), B]), {("a", "b")}),
        (("seq", [A, ("xor", [B, task(None)]), C]), {("a", "b"), ("b", "c"), ("a", "c")}),
        (("seq", [A, B, A]), {("a", "b"), ("b", "a")}),
        (("and", [A, A]), {("a", "a")}),
        (("or", [A, B]), {("a", "b"), ("b", "a")}),
        (("loop", A, task(None)), {("a", "a")}),
        (("loop", task(None), ("xor", [A, B])), {("a", "a"), ("a", "b"), ("b", "a"), ("b", "b")}),
    ],
)
def test_silent_tasks_and_equal_labels_count_as_they_should(tree: Tree, pairs: set[tuple[str, str]]) -> None:
    study = Study(block_net(tree))
    assert study.tree is not None
    for found in (footprint_by_blocks(study, study.tree), footprint_by_states(study)):
        assert isinstance(found, Footprint)
        assert set(found.directly_follows()) == pairs


@given(trees(gates=GATES))
def test_by_blocks_and_by_states_it_is_the_same(tree: Tree) -> None:
    study = Study(block_net(tree), Bound(states=5_000))
    assert study.tree is not None
    by_states = footprint_by_states(study)
    assume(not isinstance(by_states, Unknown))
    assert footprint_by_blocks(study, study.tree) == by_states
    assert order_by_blocks(study, study.tree) == order_by_states(study)


@given(general_nets())
def test_of_general_nets_too_where_they_happen_to_be_made_of_blocks(one: Net) -> None:
    study = Study(one)
    by_states = footprint_by_states(study)
    if study.tree is not None:
        assert footprint_by_blocks(study, study.tree) == by_states
        assert order_by_blocks(study, study.tree) == order_by_states(study)


def told(words: set[brute.Word]) -> tuple[set[str], set[str], set[tuple[str, str]], set[tuple[str, str]]]:
    """Give what traces tell: how they begin and end, what follows what, and what comes before the first of what."""
    first = {
        (one, other)
        for word in words
        for at, one in enumerate(word)
        for other in word[at + 1 :]
        if other != one and other not in word[:at]
    }
    pairs = {pair for word in words for pair in pairwise(word)}
    return {word[0] for word in words if word}, {word[-1] for word in words if word}, pairs, first


def same_as(found: Footprint | Unknown, order: Order | Unknown, words: set[brute.Word]) -> bool:
    assert isinstance(found, Footprint)
    assert isinstance(order, Order)
    seen = (
        set(found.start_activities()),
        set(found.end_activities()),
        set(found.directly_follows()),
        set(order.pairs()),
    )
    return seen == told(words) and found.empty_trace == (() in words)


@given(trees(leaves=5, gates=GATES, loops=False))
def test_a_footprint_is_that_of_all_traces(tree: Tree) -> None:
    words = brute.tree_traces(tree, 10)
    study = Study(block_net(tree))
    assert study.tree is not None
    assert same_as(footprint_by_blocks(study, study.tree), order_by_blocks(study, study.tree), words)
    assert same_as(footprint_by_states(study), order_by_states(study), words)


@given(general_nets(most=4))
def test_so_it_is_by_the_definition_of_nets(one: Net) -> None:
    study = Study(one)
    found, order = footprint_by_states(study), order_by_states(study)
    assume(isinstance(found, Footprint) and isinstance(order, Order))
    try:
        words, longer = (brute.traces(one, longest) for longest in (LONGEST, LONGEST + 3))
    except brute.TooMuchError:
        assume(False)
    # Where longer traces tell nothing new, these tell all.
    assume(told(words) == told(longer))
    assert same_as(found, order, longer)


def test_past_the_bound_there_is_no_footprint_but_a_reason() -> None:
    study = Study(block_net(("and", [task(f"t{at}") for at in range(10)])), Bound(states=100))
    assert footprint_by_states(study) == Unknown("There are more than 100 states.")
    assert isinstance(footprint(study), Footprint)


def test_agreement_is_over_the_cells_of_both() -> None:
    found = agreement(of(("seq", [A, B, C])), of(("seq", [A, C, B])))
    assert found.differing == 6
    assert found.cells == pytest.approx(1 - 6 / 9)
    assert found.directly_follows == 0
    assert found.differences[0] == Difference("a", "b", "→", "#")
    assert (found.missing, found.added) == ((), ())


def test_an_activity_that_one_of_them_lacks_counts_as_a_row_and_a_column() -> None:
    found = agreement(of(("seq", [A, B])), of(("seq", [A, C])))
    assert found.activities == ("a", "b", "c")
    assert found.cells == pytest.approx(1 - 4 / 9)
    assert (found.missing, found.added) == (("b",), ("c",))


def test_only_so_many_differences_are_listed_and_all_are_counted() -> None:
    found = agreement(of(("seq", [A, B, C])), of(("seq", [A, C, B])), 2)
    assert len(found.differences) == 2
    assert found.differing == 6


def test_an_empty_footprint_is_an_error() -> None:
    with pytest.raises(WorkflowError, match="agrees with nothing"):
        agreement(of(A), of(task(None)))


def test_what_can_never_be_completed_has_an_empty_footprint() -> None:
    stuck = net({"a": "xor/xor", "b": "and/and"}, "i>a a>c a>d c>b d>b b>o", conditions="c d")
    found = footprint(Study(stuck))
    assert found == Footprint((), 0, 0, (), empty_trace=False)


def prints(one: Net) -> Footprint:
    found = footprint(Study(one, Bound(states=5_000)))
    assume(isinstance(found, Footprint) and found.activities)
    assert isinstance(found, Footprint)
    return found


@given(nets(), nets(), st.booleans())
def test_agreement_is_between_nothing_and_one_and_the_same_both_ways(
    one: Net, other: Net, itself: bool
) -> None:
    first, second = prints(one), prints(one if itself else other)
    found, back = agreement(first, second), agreement(second, first)
    assert 0 <= found.cells <= 1
    assert 0 <= found.directly_follows <= 1
    assert (found.cells, found.directly_follows) == (back.cells, back.directly_follows)
    assert (found.cells == 1) == (not found.differences) == (found.differing == 0)
    matrix = {
        (row, column): (first.relation(row, column), second.relation(row, column))
        for row in found.activities
        for column in found.activities
    }
    unlike = {cell: pair for cell, pair in matrix.items() if pair[0] != pair[1]}
    assert {(cell.row, cell.column): (cell.first, cell.second) for cell in found.differences} == unlike
    assert not itself or found.cells == 1


def test_blocks_within_one_another_cost_no_more_for_being_deep() -> None:
    depth = 1_200
    names = [f"{kind}{at}" for at in range(depth) for kind in "smj"]
    gates = {"s": "xor/and", "m": "xor/and", "j": "and/and", "x": "xor/and"}
    flows = [f"{one}{at}>{other}{at}" for at in range(depth) for one, other in ("sm", "mj")]
    flows += [f"s{at}>s{at + 1}" for at in range(depth - 1)]
    flows += [f"j{at + 1}>j{at}" for at in range(depth - 1)]
    flows += ["i>s0", f"s{depth - 1}>x", f"x>j{depth - 1}", "j0>o"]
    nested = net({name: gates[name[0]] for name in [*names, "x"]}, " ".join(flows))
    study = Study(nested)
    began = process_time()
    tree = study.tree
    assert tree is not None
    finding_the_tree = process_time() - began
    began = process_time()
    found, order = footprint_by_blocks(study, tree), order_by_blocks(study, tree)
    # Once for each block in which it stands it would be more than twenty times as much.
    assert process_time() - began < 5 * finding_the_tree
    assert found.relation("m0", "x") == found.relation("m0", "j1") == "||"
    assert found.relation("s0", "s1") == "→"
    at = order.activities.index
    assert order.before[at("x")] >> at("m0") & 1
    assert not order.before[at("x")] >> at("s7") & 1
    assert agreement(found, found).cells == 1
