"""What every transformation keeps, tried on random workflows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from halflap.core.errors import WorkflowError
from halflap.workflows.analysis.soundness import soundness
from halflap.workflows.analysis.study import Study
from halflap.workflows.model.checks import structure_problems
from halflap.workflows.model.form import write_net
from halflap.workflows.optimize.transformations import TRANSFORMATIONS
from support import examples
from workflows import brute
from workflows.nets import block_nets, general_nets, told_nets
from workflows.timed import busy, lines, reversed_order, small_nets, timed, transformed

if TYPE_CHECKING:
    from halflap.workflows.model.net import Net

ANY = st.one_of(
    timed(block_nets(leaves=7, gates=("and", "xor", "or"))),
    timed(general_nets()),
    told_nets(block_nets(leaves=5, gates=("and", "xor"))),
    busy(7, loops=True),
    lines(),
)
SMALL = st.one_of(timed(block_nets(leaves=5)), timed(general_nets(most=4)), busy(5, loops=True), lines(5))
LONGEST = 6
KEEPS = {one.name: one.keeps_traces for one in TRANSFORMATIONS}


def made(one: Net) -> list[tuple[str, Net]]:
    """Return all that can be made by one change, or by one after another that keeps the traces."""
    found = [(name, new) for name in KEEPS for new, _ in transformed(name, one)]
    for middle, _ in transformed("remove_silent", one):
        found += [(name, new) for name in KEEPS for new, _ in transformed(name, middle)]
    return found


@settings(max_examples=examples(300))
@given(SMALL)
def test_what_says_that_it_keeps_the_traces_does(one: Net) -> None:
    try:
        words = brute.traces(one, LONGEST)
        for name, new in made(one):
            if KEEPS[name]:
                assert brute.traces(new, LONGEST) == words, name
    except brute.TooMuchError:
        return


@settings(max_examples=examples(300))
@given(ANY)
def test_what_is_made_is_a_workflow_and_as_sound_as_before(one: Net) -> None:
    before = write_net(one)
    try:
        sound = soundness(Study(one, 2_000)).sound
        for name, new in made(one):
            assert not structure_problems(new)
            assert new.rules == one.rules
            assert not sound or soundness(Study(new, 2_000)).sound is not False, name
    except WorkflowError:
        return  # Or-gates that form no block.
    assert write_net(one) == before


@settings(max_examples=examples(300))
@given(st.one_of(timed(small_nets(6, gates=("and", "xor", "or")), unknown=True), lines()))
def test_nothing_comes_before_what_it_depends_on(one: Net) -> None:
    for name, new in made(one):
        assert not reversed_order(one, new), name
