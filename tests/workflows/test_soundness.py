"""Soundness: each failure comes with a trace to it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings

from acceptance.figures_oracle import BEGIN, DONE
from halflap.core.errors import WorkflowError
from halflap.workflows.analysis.soundness import soundness
from halflap.workflows.analysis.study import Study
from halflap.workflows.model.net import MAX_STATES, Specification
from support import examples
from workflows import brute
from workflows.nets import general_nets, net

if TYPE_CHECKING:
    from acceptance.figures_oracle import Behaviour, Marking
    from halflap.workflows.analysis.soundness import Soundness
    from halflap.workflows.model.net import Net


def judged(one: Net, bound: int = MAX_STATES) -> Soundness:
    return soundness(Study(one, bound))


def verdicts(found: Soundness) -> tuple[bool | None, bool | None, bool | None]:
    return found.option_to_complete, found.proper_completion, found.no_dead_tasks


def test_an_xor_split_before_an_and_join_is_a_deadlock() -> None:
    found = judged(
        net({"a": "xor/xor", "b": "xor/and", "c": "xor/and", "d": "and/and"}, "i>a a>b a>c b>d c>d d>o")
    )
    assert verdicts(found) == (False, True, False)
    stuck, dead = found.failures
    assert (stuck.kind, stuck.trace, stuck.marking) == ("option_to_complete", ["a", "b"], {"b -> d": 1})
    assert (dead.kind, dead.task) == ("dead_task", "d")


def test_unbounded_growth_is_recognised_before_the_bound() -> None:
    one = net({"a": "xor/and", "b": "xor/and", "c": "xor/and"}, "i>a a>b b>a a>c c>o")
    found = judged(one, 50)
    grown = next(one for one in found.failures if one.kind == "unbounded")
    assert (found.sound, grown.trace) == (False, ["a", "b", "a"])


def test_an_unsound_subnet_makes_the_workflow_unsound() -> None:
    inner = replace(net({"a": "xor/and", "b": "xor/and"}, "i>a a>b a>o b>o"), id="inner")
    found = judged(Specification("both", "net", {"net": net("t", "i>t t>o"), "inner": inner}).net)
    assert verdicts(found) == (True, False, True)
    assert [(one.kind, one.trace, "'inner'" in one.message) for one in found.failures] == [
        ("proper_completion", ["a"], True)
    ]


def crossed(count: int) -> Net:
    """Return parallel tasks with a join that keeps them from being a block."""
    names = [f"t{at}" for at in range(count)]
    gates = {"s": "xor/and", **dict.fromkeys(names, "xor/and"), "j": "and/and", "k": "and/and"}
    flows = "i>s " + " ".join(f"s>{name} {name}>j" for name in names) + " t0>x x>k j>k k>o"
    return net(gates, flows, conditions="x")


def test_past_the_bound_nothing_is_guessed() -> None:
    found = judged(crossed(10), 500)
    assert found.sound is None
    assert judged(crossed(6)).sound is True


def test_or_gates_that_form_no_block_are_refused_with_their_path() -> None:
    one = net(
        {"s": "xor/or", "a": "xor/and", "b": "xor/and", "j": "xor/and", "k": "or/and", "x": "xor/and"},
        "i>s s>a s>b a>j b>j j>c c>k j>x x>k k>o",
        conditions="c",
    )
    with pytest.raises(WorkflowError) as refused:
        judged(one)
    assert [problem.path for problem in refused.value.problems] == ["tasks[0].split", "tasks[4].join"]


def test_an_or_join_in_an_unstructured_net_waits_for_the_chosen_ways() -> None:
    gates = {"a": "xor/and", "s": "xor/or", "b": "xor/and", "c": "xor/and", "j": "or/and", "x": "xor/and"}
    gates |= {"y": "and/and", "z": "and/and"}
    flows = "i>a a>s s>b s>c b>j c>p p>j j>y a>x x>y x>z y>z z>o"
    assert judged(net(gates, flows, conditions="p")).sound is True


def states_after(found: Behaviour, tasks: list[str]) -> set[Marking]:
    """Return the states that a case may be in after these tasks."""
    here = {BEGIN}
    for task in tasks:
        here = {after for one in here for done, after in found.arcs[one] if done == task}
    return here


def completes(found: Behaviour, state: Marking) -> bool:
    """Return whether the output can be reached."""
    seen = [state]
    for one in seen:
        seen += dict.fromkeys(after for _, after in found.arcs[one] if after not in seen)
    return any("o" in dict(one) for one in seen)


@settings(max_examples=examples(400))
@given(general_nets())
def test_soundness_agrees_with_the_definition(one: Net) -> None:
    found = judged(one)
    assert found.sound is not None
    assert found.sound == (not found.failures)
    expected = brute.behaviour_of(one)
    assert found.sound == expected.sound
    assert expected.bounded == all(failure.kind != "unbounded" for failure in found.failures)
    if not expected.bounded:
        return
    fired = {task for steps in expected.arcs.values() for task, _ in steps}
    assert {failure.task for failure in found.failures if failure.task} == set(one.tasks) - fired
    assert found.option_to_complete == all(completes(expected, state) for state in expected.arcs)
    assert found.proper_completion == all(state == DONE or "o" not in dict(state) for state in expected.arcs)
    for failure in found.failures:
        states = states_after(expected, failure.trace)
        assert states
        if failure.kind == "option_to_complete":
            assert not all(completes(expected, state) for state in states)
        elif failure.kind == "proper_completion":
            assert any("o" in dict(state) and state != DONE for state in states)
