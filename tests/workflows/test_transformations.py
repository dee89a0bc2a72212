"""What each transformation does, what prevents it, and what all of them keep."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halflap.workflows.analysis.study import Study
from halflap.workflows.model.checks import structure_problems
from halflap.workflows.model.net import Flow, Kept
from halflap.workflows.optimize.transformations import TRANSFORMATIONS
from support import examples
from workflows import brute
from workflows.nets import block_net, block_nets, described_nets, net
from workflows.timed import line, lines, reversed_order, task, timed, transformed

if TYPE_CHECKING:
    from halflap.workflows.model.net import Net

GATES = ("and", "xor", "or")
KEEPS_TRACES = {one.name: one.keeps_traces for one in TRANSFORMATIONS}


def flows(one: Net) -> set[str]:
    return {f"{flow.source}>{flow.target}" for flow in one.flows}


def test_silent_tasks_that_only_route_are_removed_and_their_gates_move() -> None:
    gates = {"a": "xor/and", "s": "~xor/and", "b": "xor/and", "c": "xor/and", "j": "~and/and", "d": "xor/and"}
    (new,) = transformed("remove_silent", net(gates, "i>a a>s s>b s>c b>j c>j j>d d>o"))
    assert flows(new) == {"i>a", "a>b", "a>c", "b>d", "c>d", "d>o"}
    assert new.tasks["d"].join == "and"


def test_parallel_blocks_within_one_another_are_merged() -> None:
    nested = block_net(("and", [("task", "a"), ("and", [("task", "b"), ("task", "c")])]))
    (new,) = transformed("remove_silent", nested)
    assert max(map(len, new.outgoing().values())) == 3
    assert len(new.tasks) == 5


def test_a_choice_moves_with_the_task_that_decides_it() -> None:
    one = line(task("work", 20, writes="else"), task("check", 1), task("use", 5, "check"), task("end", 1))
    gates = {"check": replace(one.tasks["check"], split="xor"), "end": replace(one.tasks["end"], join="xor")}
    one = replace(one, tasks={**one.tasks, **gates}, flows=(*one.flows, Flow("check", "end")))
    whole = max(transformed("parallelise", one), key=lambda new: len(new.flows))
    assert "check>use" in flows(whole)


TWO = line(task("a", 5), task("b", 5))


@pytest.mark.parametrize(
    ("name", "one"),
    [
        *(
            ("remove_silent", line({"id": "a"}, {"id": "s", "label": None, **does}))
            for does in ({"tool": "t"}, {"duration": 2}, {"writes": ["x"]}, {"resource": "bob"}, {"reads": ["x"]})
        ),
        ("remove_silent", line({"id": "a"}, {"id": "s", "label": None}, rules=[{"kind": "required", "task": "s"}])),
        # An event outside decides at a condition.
        ("remove_silent", net("a b c", "i>a a>p p>b p>c b>o c>o", conditions="p")),
        ("parallelise", line(task("a", 5), {"id": "b", "duration": 5}, task("c", 5))),
        ("parallelise", line(task("a", 5, resource="bob"), task("b", 5, resource="bob"))),
        ("parallelise", replace(TWO, kept=(Kept("timer", "<timer/>", "a"),))),
    ],
)  # fmt: skip
def test_nothing_is_changed_that_could_matter(name: str, one: Net) -> None:
    assert transformed(name, one) == []
    assert transformed("parallelise", TWO)


# Laws -------------------------------------------------------------------------------------------------

ANY = st.one_of(
    timed(block_nets(leaves=7, gates=GATES)),
    described_nets(block_nets(leaves=5, gates=GATES)),
    timed(block_nets(leaves=6, gates=GATES, distinct=True, silent=False)),
    lines(),
)


def have_same_traces(one: Net, other: Net) -> bool:
    """Compare by brute force, unless there are or-gates: it knows them by their names, which may have changed."""
    has_or = any("or" in (task.join, task.split) for task in one.tasks.values())
    return has_or or brute.behaviour_of(one).same_traces(brute.behaviour_of(other))


@settings(max_examples=examples(500))
@given(ANY)
def test_a_transformation_keeps_soundness_rules_dependent_order_and_if_it_says_so_traces(one: Net) -> None:
    for start in (one, *transformed("remove_silent", one)):
        for name, keeps_traces in KEEPS_TRACES.items():
            for new in transformed(name, start):
                assert not structure_problems(new)
                assert new.rules == one.rules
                # What is made of blocks is made of blocks, and so sound.
                assert Study(new).block is not None, name
                assert not reversed_order(one, new), name
                assert not keeps_traces or have_same_traces(one, new), name
