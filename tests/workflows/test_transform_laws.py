from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from halflap.errors import WorkflowError
from halflap.workflows.checking import structure_problems
from halflap.workflows.dependence import reversals
from halflap.workflows.equivalence import equivalence
from halflap.workflows.footprint import Unknown
from halflap.workflows.form import write_net
from halflap.workflows.net import Bound
from halflap.workflows.soundness import soundness
from halflap.workflows.study import Study
from halflap.workflows.transform import TRANSFORMATIONS, transformed
from support import examples
from workflows.nets import block_nets, general_nets, told_nets
from workflows.timed import busy, lines, small_nets, timed

if TYPE_CHECKING:
    from halflap.workflows.net import Net

ANY = st.one_of(
    timed(block_nets(leaves=7, gates=("and", "xor", "or"))),
    timed(general_nets()),
    told_nets(block_nets(leaves=5, gates=("and", "xor"))),
    busy(7, loops=True),
    lines(),
)


def made(one: Net) -> list[tuple[str, Net, str]]:
    """Make all that can be made by one change, or by one after another that keeps the traces."""
    found = [(name, new, what) for name in TRANSFORMATIONS for new, what in transformed(name, one)]
    for first in ("remove_silent", "flatten"):
        for middle, _ in transformed(first, one):
            found += [
                (name, new, what) for name in TRANSFORMATIONS for new, what in transformed(name, middle)
            ]
    return found


@settings(max_examples=examples(300))
@given(ANY)
def test_what_says_that_it_keeps_the_traces_does(one: Net) -> None:
    try:
        first = Study(one, Bound(2_000))
        for name, new, _ in made(one):
            if TRANSFORMATIONS[name].keeps_traces:
                found = equivalence(first, Study(new, Bound(2_000)))
                assert found.equivalent is not False, (name, found.trace, found.only_in)
    except WorkflowError:
        return  # Or-gates that form no block.


@settings(max_examples=examples(300))
@given(ANY)
def test_what_is_made_is_a_workflow_and_as_sound_as_before(one: Net) -> None:
    before = write_net(one)
    try:
        sound = soundness(Study(one, Bound(2_000))).sound
        for name, new, _ in made(one):
            assert not structure_problems(new)
            assert new.rules == one.rules
            assert not sound or soundness(Study(new, Bound(2_000))).sound is not False, name
    except WorkflowError:
        return
    assert write_net(one) == before


@settings(max_examples=examples(300))
@given(st.one_of(timed(small_nets(6, gates=("and", "xor", "or")), unknown=True), lines()))
def test_nothing_comes_before_what_it_depends_on(one: Net) -> None:
    for name, new, _ in made(one):
        turned = reversals(Study(one), Study(new))
        assert isinstance(turned, Unknown) or not turned, name
