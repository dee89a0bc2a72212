"""What is recommended of a workflow: the task, the change, and what would come of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from halflap.workflows.form import read_net
from halflap.workflows.score import score
from workflows.nets import net
from workflows.timed import line, task

if TYPE_CHECKING:
    from halflap.workflows.net import Net


def advised(one: Net) -> list[tuple[tuple[str, ...], str]]:
    return [(found.tasks, found.change) for found in score(one).advice]


def test_tasks_that_need_not_wait_are_named_with_what_it_would_save() -> None:
    found = score(line(task("a", 3), task("b", 2))).advice
    assert [(one.tasks, one.change, one.why) for one in found] == [
        (
            ("a", "b"),
            "Do 'a' and 'b' side by side.",
            "Neither needs what the other gives; that would save 2.",
        )
    ]


SELDOM: dict[str, Any] = {
    "id": "seldom",
    "input": "i",
    "output": "o",
    "tasks": [
        task("s", 1, writes="", split="xor"),
        task("a", 10, writes=""),
        task("b", 10, writes=""),
        task("c", 10, writes=""),
        task("j", 1, reads="s", join="xor"),
    ],
    "flows": [
        {"from": "i", "to": "s"},
        {"from": "s", "to": "a", "probability": 0.1},
        {"from": "a", "to": "b"},
        {"from": "b", "to": "j"},
        {"from": "s", "to": "c", "probability": 0.9},
        {"from": "c", "to": "j"},
        {"from": "j", "to": "o"},
    ],
}


def test_what_is_promised_of_a_way_that_is_seldom_taken_is_what_comes_of_it() -> None:
    before = score(read_net(SELDOM))
    promised = next(one for one in before.advice if one.tasks == ("a", "b"))
    gates: list[dict[str, Any]] = [
        {"id": "p", "label": None, "reads": [], "writes": []},
        {"id": "r", "label": None, "join": "and", "reads": [], "writes": []},
    ]
    pairs = [("s", "p"), ("p", "a"), ("p", "b"), ("a", "r"), ("b", "r"), ("r", "j")]
    flows = [
        one for one in SELDOM["flows"] if (one["from"], one["to"]) not in {("s", "a"), ("a", "b"), ("b", "j")}
    ]
    flows += [{"from": one, "to": two, **({"probability": 0.1} if one == "s" else {})} for one, two in pairs]
    after = score(read_net({**SELDOM, "tasks": [*SELDOM["tasks"], *gates], "flows": flows}))
    saved = (before.performance.makespan or 0) - (after.performance.makespan or 0)
    assert saved == pytest.approx(1)
    assert promised.why == "Neither needs what the other gives; that would save 1."


def test_a_choice_that_need_not_be_waited_for_is_named_as_one() -> None:
    assert (("s", "j"), "Do the choice at 's' and 'j' side by side.") in advised(read_net(SELDOM))


def test_what_saves_most_comes_first() -> None:
    found = score(line(task("a", 1), task("b", 2), task("c", 9))).advice
    assert [one.tasks for one in found] == [("b", "c"), ("a", "b")]


def test_of_a_workflow_that_is_not_made_of_blocks_no_saving_is_promised() -> None:
    tasks = {
        "a": "xor/and",
        "x": "xor/and",
        "y": "xor/and",
        "b": "xor/and",
        "c": "xor/and",
        "d": "and/and",
        "e": "and/and",
    }
    wild = net(tasks, "i>a a>x a>c x>y y>b b>d b>e c>d d>e e>o")
    known = {
        name: replace(one, duration=3, reads=frozenset(), writes=frozenset())
        for name, one in wild.tasks.items()
    }
    found = [one for one in score(replace(wild, tasks=known)).advice if one.tasks == ("x", "y")]
    assert [one.why for one in found] == ["Neither needs what the other gives."]


def test_a_loop_that_is_never_left_is_named_with_its_probability() -> None:
    endless = net({"a": "xor/and", "b": "xor/xor"}, "i>a a>b b>a b>o")
    flows = tuple(
        replace(flow, probability=float(flow.target == "a")) if flow.source == "b" else flow
        for flow in endless.flows
    )
    found = score(replace(endless, flows=flows))
    change = "Give the flow out of the loop at 'b' a higher probability, and the way back a lower one than 1."
    assert (("b",), change) in [(one.tasks, one.change) for one in found.advice]
    answer = found.response()
    assert answer["raw"]["performance"]["method"] is None
    assert "'b'" in answer["inconclusive_because"][0]


def test_several_are_spoken_of_as_several() -> None:
    found = score(line({"id": "a"}, {"id": "b"})).advice
    assert [(one.change, one.why) for one in found] == [
        (
            "Say what 'a' and 'b' read and write.",
            "Until then everything has to wait for them, and they for everything.",
        ),
        ("Give 'a' and 'b' durations.", "How long they take is not said; 1 is taken for each."),
    ]


def test_what_is_not_said_is_asked_for() -> None:
    assert advised(line({"id": "a"})) == [
        (("a",), "Say what 'a' reads and writes."),
        (("a",), "Give 'a' a duration."),
    ]


def test_a_race_is_named() -> None:
    racing = net(
        {"s": "~xor/and", "a": "xor/and", "b": "xor/and", "j": "~and/and"}, "i>s s>a s>b a>j b>j j>o"
    )
    tasks = {
        name: replace(one, duration=1, reads=frozenset(), writes=frozenset("x")) if one.label else one
        for name, one in racing.tasks.items()
    }
    assert (("a", "b"), "Put 'a' and 'b' one after the other.") in advised(replace(racing, tasks=tasks))


def test_gates_that_do_not_match_are_named() -> None:
    found = advised(
        net({"a": "xor/and", "b": "xor/and", "c": "xor/and", "d": "xor/and"}, "i>a a>b a>c b>d c>d d>o")
    )
    assert (("a", "d"), "Make the join of 'd' and, or the split of 'a' xor.") in found


def test_a_silent_task_for_nothing_is_named() -> None:
    assert (("s",), "Take 's' out.") in advised(line(task("a"), {"id": "s", "label": None}))
