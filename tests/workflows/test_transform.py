"""What each transformation does, and what prevents it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from halflap.workflows.model.net import Flow, Kept
from halflap.workflows.optimize.constraints import Constraints
from workflows.nets import block_net, net
from workflows.timed import line, task, transformed

if TYPE_CHECKING:
    from halflap.workflows.model.net import Net


def only(name: str, one: Net) -> Net:
    ((new, _),) = transformed(name, one)
    return new


def flows(one: Net) -> set[str]:
    return {f"{flow.source}>{flow.target}" for flow in one.flows}


# What they do ---------------------------------------------------------------------------------------------


def test_silent_tasks_that_only_route_are_removed_and_their_gates_move() -> None:
    gates = {"a": "xor/and", "s": "~xor/and", "b": "xor/and", "c": "xor/and", "j": "~and/and", "d": "xor/and"}
    new = only("remove_silent", net(gates, "i>a a>s s>b s>c b>j c>j j>d d>o"))
    assert flows(new) == {"i>a", "a>b", "a>c", "b>d", "c>d", "d>o"}
    assert new.tasks["d"].join == "and"


def test_parallel_blocks_within_one_another_are_merged() -> None:
    nested = block_net(("and", [("task", "a"), ("and", [("task", "b"), ("task", "c")])]))
    new = only("remove_silent", nested)
    assert max(map(len, new.outgoing().values())) == 3
    assert len(new.tasks) == 5


def test_a_choice_moves_with_the_task_that_decides_it() -> None:
    one = line(task("work", 20, writes="else"), task("check", 1), task("use", 5, "check"), task("end", 1))
    tasks = {
        **one.tasks,
        "check": replace(one.tasks["check"], split="xor"),
        "end": replace(one.tasks["end"], join="xor"),
    }
    one = replace(one, tasks=tasks, flows=(*one.flows, Flow("check", "end")))
    whole = max((new for new, _ in transformed("parallelise", one)), key=lambda new: len(new.flows))
    assert "check>use" in flows(whole)


# What prevents them ---------------------------------------------------------------------------------------

TWO = line(task("a", 5), task("b", 5))


@pytest.mark.parametrize(
    ("name", "one", "constraints"),
    [
        *(
            ("remove_silent", line({"id": "a"}, {"id": "s", "label": None, **does}), {})
            for does in ({"tool": "t"}, {"duration": 2}, {"writes": ["x"]}, {"resource": "bob"}, {"reads": ["x"]})
        ),
        ("remove_silent", line({"id": "a"}, {"id": "s", "label": None}, rules=[{"kind": "required", "task": "s"}]), {}),
        # Something outside decides at a condition.
        ("remove_silent", net("a b c", "i>a a>p p>b p>c b>o c>o", conditions="p"), {}),
        ("parallelise", line(task("a", 5), {"id": "b", "duration": 5}, task("c", 5)), {}),
        ("parallelise", line(task("a", 5, resource="bob"), task("b", 5, resource="bob")), {}),
        ("parallelise", replace(TWO, kept=(Kept("timer", "<timer/>", "a"),)), {}),
    ],
)  # fmt: skip
def test_nothing_is_changed_that_could_matter(name: str, one: Net, constraints: dict[str, Any]) -> None:
    assert transformed(name, one, Constraints(**constraints)) == []


def test_without_those_reasons_it_is_changed() -> None:
    assert transformed("parallelise", TWO)
