"""What each transformation does, and what prevents it."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from halflap.workflows.model.form import read_net
from halflap.workflows.model.net import Flow, Kept
from halflap.workflows.transform.catalogue import transformed
from halflap.workflows.transform.constraints import Constraints
from workflows.nets import block_net, net, rule
from workflows.timed import line, task

if TYPE_CHECKING:
    from halflap.workflows.model.net import Net

LOOK = {"label": "look", "duration": 2, "reads": ["x"], "writes": ["y"], "idempotent": True}


def only(name: str, one: Net) -> Net:
    ((new, _),) = transformed(name, one)
    return new


def flows(one: Net) -> set[str]:
    return {f"{flow.source}>{flow.target}" for flow in one.flows}


def choice(*branches: tuple[dict[str, Any], list[dict[str, Any]]]) -> Net:
    """Make a choice of branches, each with what its flow states and its tasks."""
    tasks: list[dict[str, Any]] = [{**task("s", 1), "split": "xor"}]
    listed: list[dict[str, Any]] = [{"from": "i", "to": "s"}]
    for stated, inner in branches:
        names = ["s", *(one["id"] for one in inner), "z"]
        tasks += inner
        listed.append({"from": "s", "to": names[1], **stated})
        listed += [{"from": one, "to": other} for one, other in pairwise(names[1:])]
    tasks.append(task("z", 1))
    listed.append({"from": "z", "to": "o"})
    return read_net({"id": "choice", "input": "i", "output": "o", "tasks": tasks, "flows": listed})


def twice(*between: dict[str, Any], **more: Any) -> Net:
    return line({"id": "a", **LOOK, **more}, *between, {"id": "b", **LOOK, **more})


def before_choice(way: dict[str, Any], other: dict[str, Any]) -> Net:
    """Make a choice of two ways, and then the task of the first again."""
    one = choice(({}, [way]), ({}, [other]))
    return replace(one, tasks={**one.tasks, "z": replace(one.tasks[way["id"]], id="z", join="xor")})


def beside_writer(writes: str) -> Net:
    """Make the same task twice, beside one that writes."""
    one = block_net(("and", [("seq", [("task", "a"), ("task", "a")]), ("task", "w")]))
    look: dict[str, Any] = {"reads": frozenset("x"), "writes": frozenset("y"), "idempotent": True}
    writer: dict[str, Any] = {"reads": frozenset(), "writes": frozenset(writes)}
    known: dict[str | None, dict[str, Any]] = {"a": look, "w": writer}
    return replace(
        one, tasks={name: replace(each, **known.get(each.label, {})) for name, each in one.tasks.items()}
    )


# What they do ---------------------------------------------------------------------------------------------


def test_silent_tasks_that_only_route_are_removed_and_their_gates_move() -> None:
    gates = {"a": "xor/and", "s": "~xor/and", "b": "xor/and", "c": "xor/and", "j": "~and/and", "d": "xor/and"}
    new = only("remove_silent", net(gates, "i>a a>s s>b s>c b>j c>j j>d d>o"))
    assert flows(new) == {"i>a", "a>b", "a>c", "b>d", "c>d", "d>o"}
    assert new.tasks["d"].join == "and"


def test_nested_blocks_of_a_kind_are_merged_and_probabilities_multiplied() -> None:
    nested = block_net(("and", [("task", "a"), ("and", [("task", "b"), ("task", "c")])]))
    assert max(len(listed) for listed in only("flatten", nested).outgoing().values()) == 3
    gates = {"s": "xor/xor", "t": "~xor/xor", "a": "xor/and", "b": "xor/and", "c": "xor/and"}
    one = net(gates, "i>s s>a s>t t>b t>c a>o b>o c>o")
    chances = {"s>a": 0.5, "s>t": 0.5, "t>b": 0.2, "t>c": 0.8}
    known = (replace(flow, probability=chances.get(f"{flow.source}>{flow.target}")) for flow in one.flows)
    flat = only("flatten", replace(one, flows=tuple(known)))
    found = {flow.target: flow.probability for flow in flat.flows if flow.source == "s"}
    assert found == {"a": 0.5, "b": pytest.approx(0.1), "c": pytest.approx(0.4)}


def test_an_idempotent_task_is_not_repeated() -> None:
    assert list(only("drop_duplicates", twice(task("m", 1))).tasks) == ["a", "m"]
    assert len(transformed("drop_duplicates", before_choice({"id": "a", **LOOK}, {"id": "c", **LOOK}))) == 1
    assert len(transformed("drop_duplicates", beside_writer("z"))) == 1


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
        # Something in between changes what it reads or wrote, or may.
        *(
            ("drop_duplicates", twice(between), {})
            for between in (task("m", 1, writes="x"), task("m", 1, writes="y"), {"id": "m"}, {"id": "m", "reads": []})
        ),
        ("drop_duplicates", twice(idempotent=None), {}),
        ("drop_duplicates", twice(idempotent=False), {}),
        ("drop_duplicates", twice(reads=None, writes=None), {}),
        ("drop_duplicates", before_choice({"id": "a", **LOOK}, task("c", 1)), {}),
        ("drop_duplicates", beside_writer("x"), {}),
        ("drop_duplicates", replace(twice(), rules=(rule("required", "b"),)), {}),
        ("parallelise", line(task("a", 5), {"id": "b", "duration": 5}, task("c", 5)), {}),
        ("parallelise", line(task("a", 5, resource="bob"), task("b", 5, resource="bob")), {}),
        ("parallelise", replace(TWO, kept=(Kept("timer", "<timer/>", "a"),)), {}),
        ("parallelise", replace(TWO, kept=(Kept("removesTokens", "b", "a"),)), {}),
    ],
)  # fmt: skip
def test_nothing_is_changed_that_could_matter(name: str, one: Net, constraints: dict[str, Any]) -> None:
    assert transformed(name, one, Constraints(**constraints)) == []


def test_without_those_reasons_it_is_changed() -> None:
    assert transformed("parallelise", TWO)
