"""Nets from the textbooks, with what is known of them."""

from __future__ import annotations

import pytest

from halflap.errors import WorkflowError
from halflap.workflows.equivalence import equivalence
from halflap.workflows.footprint import Footprint, footprint
from halflap.workflows.soundness import soundness
from halflap.workflows.study import Study
from halflap.workflows.validate import validate_footprint
from workflows.nets import block_net, net

XOR_AND = {"a": "xor/xor", "b": "xor/and", "c": "xor/and", "d": "and/and"}
AND_XOR = {"a": "xor/and", "b": "xor/and", "c": "xor/and", "d": "xor/and"}
DIAMOND = "i>a a>b a>c b>d c>d d>o"


def test_deadlock() -> None:
    judged = soundness(Study(net(XOR_AND, DIAMOND)))
    assert (judged.option_to_complete, judged.proper_completion, judged.no_dead_tasks) == (False, True, False)
    stuck, dead = judged.failures
    assert (stuck.kind, stuck.trace, stuck.marking) == ("option_to_complete", ("a", "b"), {"b -> d": 1})
    assert stuck.why == "Nothing can happen any more: 'd' waits for 'c -> d'."
    assert (dead.kind, dead.task) == ("dead_task", "d")


def test_lack_of_synchronisation() -> None:
    judged = soundness(Study(net(AND_XOR, DIAMOND)))
    assert (judged.option_to_complete, judged.proper_completion, judged.no_dead_tasks) == (True, False, True)
    (failure,) = judged.failures
    assert failure.trace == ("a", "b", "d")
    assert failure.marking == {"o": 1, "a -> c": 1}
    assert failure.why == "The output is reached while there is still a token in 'a -> c'."


def test_a_dead_task() -> None:
    # x needs both p and q; the choice between b and c marks one of them, and x is not needed to get to the end.
    one = net(
        {"a": "xor/xor", "b": "xor/and", "c": "xor/and", "x": "and/and", "y": "xor/and", "z": "xor/and"},
        "i>a a>b a>c b>p c>q p>x q>x p>y q>z x>o y>o z>o",
        conditions="p q",
    )
    judged = soundness(Study(one))
    assert (judged.option_to_complete, judged.proper_completion, judged.no_dead_tasks) == (True, True, False)
    (failure,) = judged.failures
    assert (failure.task, failure.trace) == ("x", ("a", "b"))
    assert "tokens in 'p' and 'q' at the same time" in failure.why


def test_tasks_behind_a_dead_one_are_dead_because_of_it() -> None:
    one = net(
        {"a": "xor/xor", "x": "and/and", "y": "xor/and", "z": "xor/and"},
        "i>a a>p a>q p>x q>x x>y y>o p>z q>z z>o",
        conditions="p q",
    )
    dead = {failure.task: failure.why for failure in soundness(Study(one)).failures}
    assert set(dead) == {"x", "y"}
    assert dead["y"].endswith("since 'x' is never done, or never with that outcome.")


def test_an_unbounded_net() -> None:
    judged = soundness(Study(net({"a": "xor/and", "b": "xor/and", "c": "xor/and"}, "i>a a>b b>a a>c c>o")))
    assert {failure.kind for failure in judged.failures} == {"proper_completion", "unbounded"}


def test_a_loop_without_a_way_out() -> None:
    one = net({"a": "xor/xor", "b": "xor/and", "c": "xor/and"}, "i>a a>p p>b b>p a>c c>o", conditions="p")
    (failure,) = soundness(Study(one)).failures
    assert (failure.kind, failure.trace) == ("option_to_complete", ("a",))


def test_a_net_that_is_sound_and_not_made_of_blocks() -> None:
    gates = {"a": "xor/and", "b": "xor/and", "c": "xor/and", "d": "and/and", "e": "xor/and", "f": "and/and"}
    study = Study(net(gates, "i>a a>b a>c b>d b>e c>d d>f e>f f>o"))
    assert study.tree is None
    assert soundness(study).sound is True
    found = footprint(study)
    assert isinstance(found, Footprint)
    assert set(found.directly_follows()) == {
        ("a", "b"), ("a", "c"), ("b", "c"), ("b", "e"), ("c", "b"), ("b", "d") , ("c", "d"), ("c", "e"),
        ("e", "c"), ("e", "d"), ("d", "e"), ("d", "f"), ("e", "f"),
    }  # fmt: skip


def test_a_loop_and_a_parallel_block_have_one_footprint_and_not_the_same_traces() -> None:
    a, b = ("task", "a"), ("task", "b")
    verdict = validate_footprint(block_net(("loop", a, b)), block_net(("and", [a, b])), "strict")
    assert verdict.agreement is not None
    assert verdict.agreement.cells == 1
    assert (verdict.equivalence.trace, verdict.equivalence.only_in) == (("a",), "first")
    assert not verdict.passed
    assert "The footprints are the same and the traces are not." in verdict.warnings
    assert {one.kind for one in verdict.anomalies} >= {"start_activities", "end_activities"}


def test_a_choice_that_is_remembered_and_one_that_is_not_have_one_footprint() -> None:
    free = net("a b c d e", "i>a i>b a>p b>p p>c c>q q>d q>e d>o e>o", conditions="p q")
    remembered = net(
        {"a": "xor/and", "b": "xor/and", "c": "xor/and", "d": "and/and", "e": "and/and"},
        "i>a i>b a>p b>p p>c c>q q>d q>e a>m m>d b>n n>e d>o e>o",
        conditions="p q m n",
    )
    assert Study(remembered).tree is None
    assert soundness(Study(remembered)).sound is True
    assert footprint(Study(free)) == footprint(Study(remembered))
    found = equivalence(Study(remembered), Study(free))
    assert (found.equivalent, found.trace, found.only_in) == (False, ("a", "c", "e"), "second")


def test_sixteen_tasks_in_parallel() -> None:
    wide = [("task", f"t{at}") for at in range(16)]
    verdict = validate_footprint(
        block_net(("and", wide)), block_net(("and", [("and", wide[8:]), *wide[:8]])), "strict"
    )
    assert verdict.passed
    assert verdict.conclusive
    assert verdict.agreement is not None
    assert verdict.agreement.cells == 1
    one = verdict.footprints[0]
    assert isinstance(one, Footprint)
    assert {relation for row in one.matrix() for relation in row} == {"#", "||"}
    assert len(one.start_activities()) == len(one.end_activities()) == 16


def test_a_swap_among_thirty_tasks_is_hardly_seen_in_the_cells() -> None:
    tasks = [("task", f"t{at:02}") for at in range(30)]
    swapped = [*tasks[:10], tasks[11], tasks[10], *tasks[12:]]
    verdict = validate_footprint(block_net(("seq", tasks)), block_net(("seq", swapped)))
    assert verdict.agreement is not None
    assert verdict.agreement.cells == pytest.approx(0.989, abs=0.001)
    assert verdict.agreement.directly_follows == pytest.approx(26 / 32)
    # Nothing is said of what they read and write, so they depend on each other.
    assert not verdict.passed


def test_a_net_with_nothing_to_be_seen_agrees_with_nothing() -> None:
    silent, seen = block_net(("task", None)), block_net(("task", "a"))
    with pytest.raises(WorkflowError, match="None of its tasks has a label"):
        validate_footprint(silent, silent)
    with pytest.raises(WorkflowError, match="optimized_workflow"):
        validate_footprint(seen, silent)
