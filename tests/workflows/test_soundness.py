"""What is wrong with a workflow, each time with a trace that shows it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given

from halflap.errors import WorkflowError
from halflap.workflows.net import Bound
from halflap.workflows.soundness import soundness
from halflap.workflows.study import Study
from halflap.workflows.yawl import read_yawl
from support import ROOT
from workflows import brute
from workflows.nets import block_nets, general_nets, net

if TYPE_CHECKING:
    from halflap.workflows.net import Net
    from halflap.workflows.soundness import Unsound

DATA = ROOT.parent / "shared" / "data" / "yawl"


def test_ways_that_never_end_without_a_deadlock_are_found() -> None:
    one = net(
        {"a": "xor/xor", "b": "xor/and", "c": "xor/and", "d": "xor/and"},
        "i>a a>p a>d p>b b>q q>c c>p d>o",
        conditions="p q",
    )
    judged = soundness(Study(one))
    assert (judged.sound, judged.option_to_complete) == (False, False)
    (failure,) = judged.failures
    assert failure.trace == ("a",)
    assert "only 'b', 'c' can be done" in failure.why


def test_an_unbounded_net_is_found_as_such_and_not_by_running_out() -> None:
    one = net({"a": "xor/and", "b": "xor/and", "c": "xor/and"}, "i>a a>b b>a a>c c>o")
    judged = soundness(Study(one, Bound(states=50)))
    grown = next(one for one in judged.failures if one.kind == "unbounded")
    assert grown.trace == ("a", "b", "a")
    assert grown.repeated == ("b", "a")
    assert "'a -> c'" in grown.why
    assert judged.sound is False


def test_past_the_bound_nothing_is_guessed() -> None:
    # An and-block of twelve, with a join that keeps it from being a block: its states are more than are allowed.
    names = [f"t{at}" for at in range(12)]
    gates = {"s": "xor/and", **dict.fromkeys(names, "xor/and"), "j": "and/and", "k": "and/and"}
    flows = (
        "i>s " + " ".join(f"s>{name} {name}>j" for name in names[1:]) + " s>t0 t0>j t0>x x>k t1>y y>k j>k k>o"
    )
    one = net(gates, flows, conditions="x y")
    judged = soundness(Study(one, Bound(states=500)))
    assert judged.sound is None
    assert not judged.conclusive
    assert judged.problem == "There are more than 500 states."
    assert soundness(Study(one)).sound is True


def test_past_the_time_nothing_is_guessed() -> None:
    names = [f"t{at}" for at in range(10)]
    gates = {"s": "xor/and", **dict.fromkeys(names, "xor/and"), "j": "and/and", "k": "and/and"}
    flows = "i>s " + " ".join(f"s>{name} {name}>j" for name in names) + " t0>x x>k j>k k>o"
    judged = soundness(Study(net(gates, flows, conditions="x"), Bound(seconds=0)))
    assert judged.sound is None
    assert judged.problem == "Not all states could be looked at within 0 s; 0 of them were."


def test_a_deadlock_that_was_seen_counts_even_past_the_bound() -> None:
    names = [f"t{at}" for at in range(12)]
    gates = {
        "x": "xor/xor",
        "s": "xor/and",
        **dict.fromkeys(names, "xor/and"),
        "j": "and/and",
        "d": "and/and",
    }
    flows = "i>x x>s x>p p>d q>d s>q j>d d>o " + " ".join(f"s>{name} {name}>j" for name in names)
    judged = soundness(Study(net(gates, flows, conditions="p q"), Bound(states=100)))
    assert judged.sound is False
    assert judged.failures[0].trace == ("x",)
    assert judged.no_dead_tasks is None


def test_or_gates_that_form_no_block_are_refused_with_the_reason() -> None:
    one = net(
        {"s": "xor/or", "a": "xor/and", "b": "xor/and", "j": "xor/and", "k": "or/and", "x": "xor/and"},
        "i>s s>a s>b a>j b>j j>c c>k j>x x>k k>o",
        conditions="c",
    )
    with pytest.raises(WorkflowError) as refused:
        soundness(Study(one))
    assert [problem.path for problem in refused.value.problems] == ["tasks[0].split", "tasks[4].join"]
    assert "do not all come together" in str(refused.value)
    assert "does not end the ways of one or-split" in str(refused.value)


def test_an_or_block_in_a_net_that_is_not_made_of_blocks_waits_for_what_was_chosen() -> None:
    # b and c are an or-block, in a way of a net whose other gates cross; one way ends at a condition.
    one = net(
        {
            "a": "xor/and",
            "s": "xor/or",
            "b": "xor/and",
            "c": "xor/and",
            "j": "or/and",
            "x": "xor/and",
            "y": "and/and",
            "z": "and/and",
        },
        "i>a a>s s>b s>c b>j c>p p>j j>y a>x x>y x>z y>z z>o",
        conditions="p",
    )
    study = Study(one)
    assert study.tree is None
    assert soundness(study).sound is True


def test_a_task_that_nothing_leads_to_is_dead() -> None:
    judged = soundness(Study(net("a b", "i>a a>p b>p p>o", conditions="p")))
    assert [(one.kind, one.task, one.why) for one in judged.failures] == [
        ("dead_task", "b", "'b' is never done: no flow leads to it.")
    ]


@pytest.mark.parametrize("ways", [1, 2, 3, 4])
def test_a_task_that_never_gets_all_it_needs_is_told_with_what_it_needs(ways: int) -> None:
    gates = {"s": "xor/xor", "a": "xor/and", "b": "xor/and", "x": "and/xor", "q": "xor/and"}
    tasks = gates | {f"y{at}": "xor/and" for at in range(ways)}
    after = "".join(f" x>y{at} y{at}>q" for at in range(ways))
    judged = soundness(Study(net(tasks, f"i>s s>a s>b a>x b>x{after} q>o")))
    told = next(one.why for one in judged.failures if one.task == "x")
    assert "it needs tokens in 'a -> x' and 'b -> x' at the same time" in told
    assert "'b -> x' is missing" in told


def test_who_would_have_to_be_done_before_a_dead_task_is_named_even_if_it_chooses() -> None:
    tasks = {"s": "xor/xor", "x": "and/xor", "l": "xor/xor"} | dict.fromkeys("abpqym", "xor/and")
    flows = "i>s s>a s>b s>m a>x b>x x>p x>q p>l q>l l>y l>m y>m m>o"
    judged = soundness(Study(net(tasks, flows)))
    told = next(one.why for one in judged.failures if one.task == "y")
    assert told == (
        "'y' is never done: there is never a token in 'l -> y', since 'l' is never done, or never with that outcome."
    )


@given(general_nets())
def test_a_dead_task_is_told_with_places_before_it_alone(one: Net) -> None:
    judged = soundness(Study(one, by_states=True))
    for failure in judged.failures:
        if failure.kind == "dead_task":
            before = {
                flow.source if flow.source in one.conditions else f"{flow.source} -> {flow.target}"
                for flow in one.flows
                if flow.target == failure.task
            }
            listed = re.search(r"tokens? in (.+?)(?: at the same time|, since|\.$)", failure.why)
            assert listed is not None
            named = set(re.findall(r"'(.+?)'", listed[1]))
            assert named
            assert named <= before
            assert "at the same time" not in failure.why or named == before


def shows(one: Net, failure: Unsound) -> bool:
    """Tell whether a trace shows what is claimed, by the definition alone."""
    states = brute.after_tasks(one, failure.trace)
    if failure.kind == "dead_task":
        return bool(states)
    if failure.kind == "unbounded":
        before = brute.after_tasks(one, failure.trace[: len(failure.trace) - len(failure.repeated)])
        return any(
            small != large and all(dict(large).get(place, 0) >= count for place, count in small)
            for small in before
            for large in states
        )
    if failure.kind == "proper_completion":
        return any(dict(state).get(one.output, 0) and state != brute.complete(one) for state in states)
    for state in states:
        seen = {state}
        waiting = [state]
        for here in waiting:
            new = {after for _, after in brute.fire(one, here)} - seen
            seen |= new
            waiting += new
        if not any(dict(reached).get(one.output, 0) for reached in seen):
            return True
    return False


@given(general_nets())
def test_soundness_agrees_with_the_definition(one: Net) -> None:
    study = Study(one, by_states=True)
    judged = soundness(study)
    assert judged.sound is not None
    assert all(shows(one, failure) for failure in judged.failures)
    if study.space.unbounded is not None:
        assert judged.sound is False
        return
    try:
        states = brute.reachable(one)
    except brute.TooMuchError:
        assume(False)
    ended = [state for state in states if dict(state).get(one.output, 0)]
    fine = set(ended)
    while (
        more := {state for state, steps in states.items() if any(after in fine for _, after in steps)} - fine
    ):
        fine |= more
    fired = {task for steps in states.values() for task, _ in steps}
    assert judged.option_to_complete == (fine == set(states))
    assert judged.proper_completion == all(state == brute.complete(one) for state in ended)
    assert judged.no_dead_tasks == (fired == set(one.tasks))
    assert {failure.task for failure in judged.failures if failure.task} == set(one.tasks) - fired
    assert judged.sound == (not judged.failures)


@given(block_nets(gates=("and", "xor", "or")))
def test_blocks_are_sound_by_their_states_too(one: Net) -> None:
    assert soundness(Study(one)).method == "blocks"
    assert soundness(Study(one, Bound(states=5_000), by_states=True)).sound in {True, None}


def real(name: str, which: str | None = None) -> Net:
    path = DATA / name
    if not path.exists():
        pytest.skip(f"needs the shared data: {name}")
    specification = read_yawl(path.read_bytes())
    return specification.net if which is None else specification.nets[which]


def test_the_deadlocking_specification_deadlocks() -> None:
    one = real("DeadlockingSpecification.xml")
    judged = soundness(Study(one))
    stuck = judged.failures[0]
    assert stuck.kind == "option_to_complete"
    assert stuck.trace == ("a-top",)
    assert shows(one, stuck)
    assert [failure.task for failure in judged.failures[1:]] == ["b-top"]


@pytest.mark.parametrize(
    ("name", "which", "method"),
    [
        ("SequenceWorkflow.yawl", None, "blocks"),
        ("makeTrip2.xml", None, "blocks"),
        ("makeTrip2.xml", "do_itinerary_segment", "blocks"),
        ("orderfulfillment.yawl", "Payment", "blocks"),
        ("orderfulfillment.yawl", "Ordering", "states"),
    ],
)
def test_real_specifications_are_sound(name: str, which: str | None, method: str) -> None:
    judged = soundness(Study(real(name, which)))
    assert (judged.sound, judged.method) == (True, method)


def test_the_tasks_that_a_real_specification_forgot_to_connect_are_dead() -> None:
    judged = soundness(Study(real("ParallelProcessing.xml")))
    assert [failure.task for failure in judged.failures] == ["ParallelTask2", "ParallelTask3"]


@pytest.mark.parametrize(
    ("name", "which"),
    [
        ("ExclusiveChoiceWorkflow.yawl", None),
        ("ParallelSplitWorkflow.yawl", None),
        ("orderfulfillment.yawl", "Carrier_Appointment"),
    ],
)
def test_real_or_gates_that_form_no_block_are_refused(name: str, which: str | None) -> None:
    with pytest.raises(WorkflowError, match="matched blocks only"):
        soundness(Study(real(name, which)))
