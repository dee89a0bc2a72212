"""What each transformation does, and what prevents it."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from halflap.workflows.model.form import read_net
from halflap.workflows.model.net import Kept
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


def made(one: Net, what: str) -> list[Net]:
    return [new for new, text in transformed("merge_identical", one) if what in text]


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


def same(name: str) -> dict[str, Any]:
    return {**task(name, 2, "s", "x"), "label": "same"}


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


def filtered(
    *after: dict[str, Any], writes: str | None = None, predicate: str = "check.ok", reads: str = "work"
) -> Net:
    """Make work, then a check, then what needs the work or nothing, then what comes after."""
    work = task("work", 20, writes=writes)
    tasks = [
        work,
        {**task("check", 1), "split": "xor"},
        task("use", 5, reads),
        {**task("end", 1, "", "end"), "join": "xor"},
    ]
    names = ["end", *(one["id"] for one in after), "o"]
    return read_net(
        {
            "id": "filtered", "input": "i", "output": "o", "tasks": [*tasks, *after],
            "flows": [
                {"from": "i", "to": "work"}, {"from": "work", "to": "check"},
                {"from": "check", "to": "use", "predicate": predicate, "probability": 0.1},
                {"from": "check", "to": "end", "default": True, "probability": 0.9},
                {"from": "use", "to": "end"},
                *({"from": one, "to": other} for one, other in pairwise(names)),
            ],
        }
    )  # fmt: skip


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


def test_identical_branches_are_merged() -> None:
    rest = [task("c", 3)]
    one = choice(
        ({"probability": 0.2}, [same("a")]),
        ({"probability": 0.3}, [same("b")]),
        ({"probability": 0.5}, rest),
    )
    new = made(one, "identical")[0]
    assert {flow.target: flow.probability for flow in new.flows if flow.source == "s"} == {"a": 0.5, "c": 0.5}
    # Predicates are evaluated in order.
    one = choice(
        ({"predicate": "s == 1"}, [same("a")]),
        ({"predicate": "s > 1"}, rest),
        ({"default": True}, [same("b")]),
    )
    assert made(one, "identical") == []


def test_a_common_end_moves_behind_the_choice_and_a_common_beginning_before_it() -> None:
    (new,) = made(choice(({}, [task("a", 1), same("x")]), ({}, [task("b", 1), same("y")])), "behind")
    assert {"a>x", "b>x", "x>z"} <= flows(new)
    assert "y" not in new.tasks

    def begins(predicate: str) -> list[Net]:
        first = ({"predicate": predicate}, [same("x"), task("a", 1)])
        return made(choice(first, ({"default": True}, [same("y"), task("b", 1)])), "before")

    assert {"s>x", "x>a", "x>b"} <= flows(begins("s > 1")[0])
    # It writes what the choice reads.
    assert begins("x > 1") == []


def test_an_idempotent_task_is_not_repeated() -> None:
    assert list(only("drop_duplicates", twice(task("m", 1))).tasks) == ["a", "m"]
    assert len(transformed("drop_duplicates", before_choice({"id": "a", **LOOK}, {"id": "c", **LOOK}))) == 1
    assert len(transformed("drop_duplicates", beside_writer("z"))) == 1


def test_work_that_one_way_needs_is_done_there() -> None:
    new = only("filter_first", filtered())
    assert flows(new) == {"i>check", "check>work", "work>use", "use>end", "check>end", "end>o"}
    stated = {flow.target: (flow.predicate, flow.probability) for flow in new.flows if flow.source == "check"}
    assert stated == {"work": ("check.ok", 0.1), "end": (None, 0.9)}


def test_a_choice_moves_with_the_task_that_decides_it() -> None:
    one = filtered(writes="else", reads="")
    whole = max((new for new, _ in transformed("parallelise", one)), key=lambda new: len(new.flows))
    assert "check>use" in flows(whole)


# What prevents them ---------------------------------------------------------------------------------------

TWO = line(task("a", 5), task("b", 5))
BOTH = choice(({}, [same("a")]), ({}, [same("b")]))


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
        ("merge_identical", choice(({}, [same("a")]), ({}, [{**same("b"), "duration": 9}])), {}),
        ("merge_identical", BOTH, {"fixed": ("a", "b")}),
        ("merge_identical", replace(BOTH, rules=(rule("required", "b"),)), {}),
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
        # The choice, or a later task, needs the work, or may.
        ("filter_first", filtered(predicate="work > 1"), {}),
        ("filter_first", filtered(task("later", 1, "work")), {}),
        ("filter_first", filtered({"id": "later"}), {}),
        # It has another effect.
        ("filter_first", filtered(writes="mail"), {}),
        ("filter_first", filtered(writes="work mail"), {}),
        ("filter_first", replace(filtered(), rules=(rule("required", "work"),)), {}),
        ("filter_first", filtered(), {"fixed": ("work",)}),
        ("filter_first", filtered(), {"keep_order": True}),
        ("parallelise", line(task("a", 5), {"id": "b", "duration": 5}, task("c", 5)), {}),
        ("parallelise", line(task("a", 5, resource="bob"), task("b", 5, resource="bob")), {}),
        ("parallelise", replace(TWO, kept=(Kept("timer", "<timer/>", "a"),)), {}),
        ("parallelise", replace(TWO, kept=(Kept("removesTokens", "b", "a"),)), {}),
    ],
)  # fmt: skip
def test_nothing_is_changed_that_could_matter(name: str, one: Net, constraints: dict[str, Any]) -> None:
    assert transformed(name, one, Constraints(**constraints)) == []


def test_without_those_reasons_it_is_changed() -> None:
    assert transformed("merge_identical", BOTH)
    assert transformed("parallelise", TWO)
