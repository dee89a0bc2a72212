"""Which activities directly follow each other, compared with all traces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from halflap.workflows.analysis.footprint import Agreement, Footprint, by_states, footprint
from halflap.workflows.analysis.study import Study
from support import examples
from workflows import brute
from workflows.nets import block_net, block_nets, nets

if TYPE_CHECKING:
    from halflap.workflows.model.net import Net

A, B, C, D = (("task", label) for label in "abcd")
Cells = dict[tuple[str, str], str]


def of(net: Net) -> Footprint:
    """Return the footprint of a net that has one."""
    found = footprint(Study(net, 5_000))
    assume(found is not None)
    assert found is not None
    return found


def cells(found: Footprint) -> Cells:
    names = found.activities
    rows = zip(names, found.matrix(), strict=True)
    return {(row, column): sign for row, signs in rows for column, sign in zip(names, signs, strict=True)}


def test_the_matrix_has_the_relation_of_each_pair() -> None:
    found = footprint(Study(block_net(("seq", [A, ("and", [B, C]), D]))))
    assert found is not None
    assert found.activities == ("a", "b", "c", "d")
    assert found.matrix() == [
        ["#", "→", "→", "#"],
        ["←", "#", "||", "→"],
        ["←", "||", "#", "→"],
        ["#", "←", "←", "#"],
    ]
    assert (found.start_activities(), found.end_activities()) == (["a"], ["d"])


@settings(max_examples=examples(600))
@given(nets(leaves=6, most=5))
def test_a_footprint_is_that_of_all_traces(net: Net) -> None:
    found = of(net)
    pairs = {
        (name, follower)
        for name, bits in zip(found.activities, found.rows, strict=True)
        for follower in found.named(bits)
    }
    starts, ends, follows = brute.behaviour_of(net).relations()
    assert (set(found.start_activities()), set(found.end_activities()), pairs) == (starts, ends, follows)


@given(block_nets(gates=("and", "xor", "or")))
def test_blocks_and_states_give_the_same_footprint(net: Net) -> None:
    study = Study(net, 5_000)
    assume(study.space.problem is None)
    assert by_states(study) == footprint(study)


@given(nets(), nets(), st.booleans())
def test_agreement_counts_the_equal_cells_and_the_common_neighbours(
    one: Net, other: Net, itself: bool
) -> None:
    first, second = of(one), of(one if itself else other)
    assume(first.activities and second.activities)
    found, back = Agreement(first, second), Agreement(second, first)
    mine, yours = cells(first), cells(second)
    pairs = [(mine.get(pair, "#"), yours.get(pair, "#")) for row in found.activities for column in found.activities
             for pair in [(row, column)]]  # fmt: skip
    unlike = [pair for pair in pairs if pair[0] != pair[1]]
    assert found.cells == back.cells == 1 - len(unlike) / len(pairs)
    assert [(cell.original, cell.optimized) for cell in found.differences(10_000)] == unlike
    assert 0 <= found.directly_follows == back.directly_follows <= 1
    assert not itself or found.cells == found.directly_follows == 1
