from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from halflap.errors import WorkflowError
from halflap.workflows.checking import structure_problems
from halflap.workflows.equivalence import equivalence
from halflap.workflows.form import read_net
from halflap.workflows.net import Bound, Flow, Kept
from halflap.workflows.pieces.facts import Facts
from halflap.workflows.pieces.piece import Step, block_of
from halflap.workflows.pieces.putting import net_of
from halflap.workflows.pieces.taking import layout_of
from halflap.workflows.published import example_nets
from halflap.workflows.soundness import soundness
from halflap.workflows.study import Study
from support import examples
from workflows.nets import nets, told_nets

if TYPE_CHECKING:
    from halflap.workflows.net import Net


@settings(max_examples=examples(120))
@given(st.one_of(told_nets(), nets(gates=("and", "xor", "or"))))
def test_what_is_taken_apart_and_put_together_does_the_same(net: Net) -> None:
    layout = layout_of(net)
    again = net_of(net, layout)
    assert not structure_problems(again)
    assert again.tasks.keys() == net.tasks.keys()
    first, second = Study(net, Bound(500)), Study(again, Bound(500))
    # There is one piece exactly if there is a tree.
    assert (layout.piece is None) == (first.structure.tree is None)
    try:
        assert equivalence(first, second).equivalent is not False
        assert soundness(first).sound == soundness(second).sound
    except WorkflowError:
        return  # Or-gates that form no block.


@settings(max_examples=examples(200))
@given(nets(gates=("and", "xor", "or")))
def test_what_is_put_together_unchanged_is_the_same(net: Net) -> None:
    assert net_of(net, layout_of(net)) == net


def test_the_examples_come_back_as_they_were() -> None:
    for value in example_nets().values():
        net = read_net(value)
        assert net_of(net, layout_of(net)) == net


@settings(max_examples=examples(200))
@given(nets(gates=("and", "xor")))
def test_the_tree_of_a_piece_has_all_tasks(net: Net) -> None:
    piece = layout_of(net).piece
    if piece is not None:
        assert Facts(net).steps(piece) >= net.tasks.keys()
        assert block_of(piece, net.tasks.keys()) is not None


def test_what_was_kept_of_a_flow_goes_with_it_and_is_told() -> None:
    net = read_net(example_nets()["order"])
    kept = replace(net, kept=(Kept("ship", "resourcing", "<r/>"), Kept("decide -> ship", "#comment", "soon")))
    layout = layout_of(kept)
    assert net_of(kept, layout).kept == kept.kept
    piece = layout.piece
    assert piece is not None
    without = net_of(kept, layout.with_pieces([Step("ship")]))
    assert [one.at for one in without.kept] == ["ship"]
    assert set(without.flows) == {Flow("start", "ship"), Flow("ship", "end")}
    assert any("'decide -> ship'" in note for note in without.notes)
