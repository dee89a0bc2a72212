"""What directly follows what, compared with all traces."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from halflap.workflows.analysis.footprint import Agreement, Footprint, footprint
from halflap.workflows.analysis.study import Study
from support import examples
from workflows import brute
from workflows.nets import block_net, general_nets, net, nets, trees

if TYPE_CHECKING:
    from halflap.workflows.model.net import Gate, Net
    from workflows.nets import Tree

GATES: tuple[Gate, ...] = ("and", "xor", "or")
LONGEST = 6


def task(label: str | None) -> Tree:
    return ("task", label)


A, B, C = task("a"), task("b"), task("c")


def cells(found: Footprint) -> dict[tuple[str, str], str]:
    names = found.activities
    rows = zip(names, found.matrix(), strict=True)
    return {(row, column): sign for row, signs in rows for column, sign in zip(names, signs, strict=True)}


def pairs_of(found: Footprint) -> set[tuple[str, str]]:
    return {pair for pair, sign in cells(found).items() if sign in {"→", "||"}} | {
        (name, name)
        for name, bits in zip(found.activities, found.rows, strict=True)
        if name in found.named(bits)
    }


def of(tree: Tree) -> Footprint:
    found = footprint(Study(block_net(tree)))
    assert isinstance(found, Footprint)
    return found


def test_the_matrix_says_what_activities_are_to_each_other() -> None:
    found = of(("seq", [A, ("and", [B, C]), task("d")]))
    assert found.activities == ("a", "b", "c", "d")
    assert found.matrix() == [
        ["#", "→", "→", "#"],
        ["←", "#", "||", "→"],
        ["←", "||", "#", "→"],
        ["#", "←", "←", "#"],
    ]
    assert (found.start_activities(), found.end_activities()) == (["a"], ["d"])


def told(words: set[brute.Word]) -> tuple[set[str], set[str], set[tuple[str, str]], bool]:
    """Return what traces tell: how they begin and end, what follows what, and whether one is empty."""
    pairs = {pair for word in words for pair in pairwise(word)}
    return {word[0] for word in words if word}, {word[-1] for word in words if word}, pairs, () in words


def seen(found: Footprint) -> tuple[set[str], set[str], set[tuple[str, str]], bool]:
    return (
        set(found.start_activities()),
        set(found.end_activities()),
        pairs_of(found),
        found.empty_trace,
    )


@settings(max_examples=examples(400))
@given(trees(leaves=5, gates=GATES, loops=False))
def test_a_footprint_is_that_of_all_traces(tree: Tree) -> None:
    assert seen(of(tree)) == told(brute.tree_traces(tree, 10))


@settings(max_examples=examples(400))
@given(general_nets(most=4))
def test_so_it_is_by_the_definition_of_nets(one: Net) -> None:
    found = footprint(Study(one))
    assume(isinstance(found, Footprint))
    assert isinstance(found, Footprint)
    try:
        words, longer = (brute.traces(one, longest) for longest in (LONGEST, LONGEST + 3))
    except brute.TooMuchError:
        assume(False)
    # Where longer traces tell nothing new, these tell all.
    assume(told(words) == told(longer))
    assert seen(found) == told(longer)


def test_past_the_bound_there_is_no_footprint_but_a_reason() -> None:
    wild = net(
        {"a": "xor/and", "b": "xor/and", "c": "xor/and", "d": "xor/and", "e": "and/and", "f": "and/and"},
        "i>a a>b a>c b>d b>e c>e d>f e>f f>o",
    )
    assert footprint(Study(wild, 2)) is None
    assert isinstance(footprint(Study(wild)), Footprint)


@given(nets(), nets(), st.booleans())
def test_agreement_is_symmetric_between_0_and_1_and_1_only_without_differences(
    one: Net, other: Net, itself: bool
) -> None:
    first, second = (footprint(Study(each, 5_000)) for each in (one, one if itself else other))
    assume(isinstance(first, Footprint) and isinstance(second, Footprint))
    assert isinstance(first, Footprint)
    assert isinstance(second, Footprint)
    assume(first.activities and second.activities)
    found, back = Agreement(first, second), Agreement(second, first)
    assert 0 <= found.cells <= 1
    assert found.cells == back.cells
    one_cells, other_cells = cells(first), cells(second)
    unlike = {
        (row, column): pair
        for row in found.activities
        for column in found.activities
        if (pair := (one_cells.get((row, column), "#"), other_cells.get((row, column), "#")))[0] != pair[1]
    }
    assert {
        (cell.row, cell.column): (cell.original, cell.optimized) for cell in found.differences(1_000)
    } == unlike
    assert (found.cells == 1) == (not unlike)
    assert not itself or found.cells == 1
