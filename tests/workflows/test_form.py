from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halflap.cli.explaining import explanations
from halflap.errors import WorkflowError
from halflap.workflows.checking import check_net, remarks
from halflap.workflows.form import read_net, read_specification, write_net, write_specification
from halflap.workflows.net import Flow, Kept, Task
from halflap.workflows.specification import Specification
from workflows.nets import nets, told_nets

if TYPE_CHECKING:
    from halflap.workflows.net import Net


def small(**changes: Any) -> dict[str, Any]:
    """Give i → a → b → o, changed."""
    return {
        "id": "small",
        "input": "i",
        "output": "o",
        "tasks": [{"id": "a"}, {"id": "b"}],
        "flows": [{"from": "i", "to": "a"}, {"from": "a", "to": "b"}, {"from": "b", "to": "o"}],
    } | changes


def problems(value: Any) -> list[tuple[str, str]]:
    with pytest.raises(WorkflowError) as caught:
        read_net(value)
    return [(one.path, one.message) for one in caught.value.problems]


def choice(*flows: dict[str, Any], split: str = "xor") -> dict[str, Any]:
    """Give a, which splits into b and c, which both lead to the output."""
    return small(
        tasks=[{"id": "a", "split": split}, {"id": "b"}, {"id": "c"}],
        flows=[
            {"from": "i", "to": "a"},
            {"from": "a", "to": "b", **(flows[0] if flows else {})},
            {"from": "a", "to": "c", **(flows[1] if flows else {})},
            {"from": "b", "to": "o"},
            {"from": "c", "to": "o"},
        ],
    )


@given(told_nets())
def test_what_is_written_reads_back_as_the_same(net: Net) -> None:
    through = json.loads(json.dumps(write_net(net)))
    assert read_net(through) == net
    assert write_net(read_net(through)) == through


@given(nets())
def test_a_specification_reads_back_as_the_same(net: Net) -> None:
    other = replace(net, id="other", kept=(Kept("t0", "timer", "<timer/>"),))
    listed = {net.id: net, "other": other}
    found = Specification("two", "other", listed, "4.0", "processModel", (Kept("", "@uri", ""),), ("a note",))
    assert read_specification(json.loads(json.dumps(write_specification(found)))) == found


def test_without_a_label_the_id_is_the_label_and_null_is_silent() -> None:
    net = read_net(small(tasks=[{"id": "a"}, {"id": "b", "label": None}]))
    assert net.tasks == {"a": Task("a", "a"), "b": Task("b", None)}


def test_what_is_not_said_of_reads_is_not_known_and_an_empty_list_is_nothing() -> None:
    net = read_net(small(tasks=[{"id": "a", "reads": []}, {"id": "b"}]))
    assert net.tasks["a"].reads == frozenset()
    assert net.tasks["b"].reads is None


def test_all_problems_of_form_and_structure_come_at_once() -> None:
    found = problems(
        small(
            tasks=[{"id": "a", "duration": -1}, {"id": "b", "duratoin": 3}, {"id": "c", "limit": 0}],
            rules=[{"kind": "required", "task": "z"}],
        )
    )
    assert [path for path, _ in found] == [
        "tasks[0].duration",
        "tasks[1].duratoin",
        "tasks[2].limit",
        "rules[0].task",
        "tasks[2]",
        "tasks[2]",
    ]
    assert "Did you mean 'duration'?" in found[1][1]


def test_of_more_than_is_read_only_that_is_told() -> None:
    names = [f"t{at}" for at in range(10_001)]
    flows = [{"from": one, "to": two} for one, two in zip(["i", *names], [*names, "o"], strict=True)]
    rules = [{"kind": "required", "task": "t5"}]
    found = problems(small(tasks=[{"id": name} for name in names], flows=flows, rules=rules))
    assert found == [("tasks", "There are 10001; at most 10000 are read.")]


ODD_GATE = {"id": "a", "join": "AND"}
PAIRS = [("i", "a"), ("a", "b"), ("b", "o")]


def tied(*pairs: tuple[str, str]) -> list[dict[str, Any]]:
    return [{"from": one, "to": two} for one, two in pairs]


@pytest.mark.parametrize(
    ("changes", "paths"),
    [
        # What does not hang on the field that is wrong is told beside it.
        (
            {"tasks": [ODD_GATE, {"id": "b"}, {"id": "lonely"}], "flows": tied(*PAIRS, ("o", "a"))},
            ["tasks[0].join", "flows[3].from", "tasks[2]", "tasks[2]"],
        ),
        ({"tasks": [ODD_GATE, {"id": "b"}], "output": "i"}, ["tasks[0].join", "output"]),
        ({"id": 7, "flows": tied(*PAIRS, ("a", "b"))}, ["id", "flows[3]"]),
        (
            {
                "tasks": [{"id": "a", "duration": -1, "split": "or"}, {"id": "b"}, {"id": "c"}],
                "flows": tied(("i", "a"), ("a", "b"), ("a", "c"), ("b", "o"), ("c", "o")),
            },
            ["tasks[0].duration", "tasks[0].split"],
        ),
        (
            {"flows": [*tied(*PAIRS[:1]), {"from": "a", "to": "b", "predicate": "x ="}, *tied(*PAIRS[2:])]},
            ["flows[1].predicate", "flows[1].predicate"],
        ),
        (
            {"rules": [{"kind": "never"}, {"kind": "exclusion", "tasks": ["a", "a"]}]},
            ["rules[0].kind", "rules[1]"],
        ),
        # What follows from it alone is not.
        ({"tasks": [{"id": "a"}, {"name": "b"}]}, ["tasks[1].name", "tasks[1].id"]),
        ({"tasks": [{"id": "a"}, {"id": 7}], "rules": [{"kind": "required", "task": "b"}]}, ["tasks[1].id"]),
        ({"tasks": [{"id": "a"}, {"id": "a"}]}, ["tasks[1].id"]),
        ({"tasks": [{"id": "a"}, "b"]}, ["tasks[1]"]),
        (
            {
                "tasks": [{"id": "a"}, {"id": "b" * 501}],
                "flows": tied(("i", "a"), ("a", "b" * 501), ("b" * 501, "o")),
            },
            ["tasks[1].id", "flows[1].to", "flows[2].from"],
        ),
        ({"tasks": 3}, ["tasks"]),
        ({"flows": {}}, ["flows"]),
        ({"input": None}, ["input"]),
        ({"output": "b"}, ["output"]),
        ({"output": "i", "flows": tied(("i", "a"), ("a", "b"), ("b", "i"))}, ["output"]),
        ({"flows": [*tied(*PAIRS[:2]), {"form": "b", "to": "o"}]}, ["flows[2].form", "flows[2].from"]),
        (
            {
                "tasks": [{"id": "a", "split": "XOR"}, {"id": "b"}],
                "flows": [*tied(PAIRS[0], PAIRS[2]), {"from": "a", "to": "b", "predicate": "x"}],
            },
            ["tasks[0].split"],
        ),
        (
            {
                "tasks": [{"id": "a", "split": "xor"}, {"id": "b"}],
                "flows": [
                    *tied(("i", "a"), ("b", "o")),
                    {"from": "a", "to": "b", "probability": -1},
                    {"from": "a", "to": "o", "probability": 0.4},
                ],
            },
            ["flows[2].probability"],
        ),
    ],
)
def test_as_much_as_can_be_judged_is_told_and_nothing_that_only_follows(
    changes: dict[str, Any], paths: list[str]
) -> None:
    found = problems(small(**changes))
    assert [path for path, _ in found] == paths, found


def test_a_condition_is_not_offered_where_a_rule_wants_a_task() -> None:
    found = problems(
        small(
            output="end",
            flows=tied(("i", "a"), ("a", "b"), ("b", "end")),
            rules=[{"kind": "required", "task": "ends"}],
        )
    )
    assert found == [("rules[0].task", "There is no task 'ends'.")]


def test_a_net_that_could_not_be_read_may_be_the_root() -> None:
    with pytest.raises(WorkflowError) as caught:
        read_specification({"id": "s", "root": "b", "nets": [small(), small(id="b", input=3)]})
    assert [one.path for one in caught.value.problems] == ["nets[1].input"]


@pytest.mark.parametrize(
    ("value", "path", "says"),
    [
        ([], "", "Expected an object, and there is a list."),
        (small(tasks={}), "tasks", "Expected a list"),
        (small(conditions=None), "conditions", "Leave it out"),
        (small(tasks=[{"id": "a"}, {"id": "a"}, {"id": "b"}]), "tasks[1].id", "already the id of tasks[0]"),
        (small(conditions=[{"id": "b"}]), "conditions[0].id", "already the id of tasks[1]"),
        (small(input="a"), "input", "is a task"),
        (small(output="i", flows=[{"from": "i", "to": "a"}]), "output", "the same condition"),
        (small(flows=[{"from": "i", "to": "A"}]), "flows[0].to", "There is no task or condition 'A'."),
        (small(tasks=[{"id": "a", "join": "AND"}, {"id": "b"}]), "tasks[0].join", "one of and, xor, or"),
        (small(tasks=[{"id": "a", "cost": True}, {"id": "b"}]), "tasks[0].cost", "there is true"),
        (
            small(tasks=[{"id": "a", "cost": 10**400}, {"id": "b"}]),
            "tasks[0].cost",
            "Expected a number from 0 to 1e+15",
        ),
        (small(tasks=[{"id": "a", "duration": 1e308}, {"id": "b"}]), "tasks[0].duration", "from 0 to 1e+15"),
        (small(tasks=[{"id": "a", "cost": float("nan")}, {"id": "b"}]), "tasks[0].cost", "from 0 to 1e+15"),
        (small(tasks=[{"id": "a", "reads": "x"}, {"id": "b"}]), "tasks[0].reads", "Expected a list"),
        (small(tasks=[{"id": "a", "label": ""}, {"id": "b"}]), "tasks[0].label", "a text or null"),
        (small(tasks=[{"id": "a" * 600}, {"id": "b"}]), "tasks[0].id", "600 characters"),
        (small(rules=[{"kind": "exclusion", "tasks": ["a"]}]), "rules[0]", "names 2 tasks, and not 1"),
        (small(rules=[{"kind": "exclusion", "tasks": ["a", "a"]}]), "rules[0]", "twice"),
        (small(rules=[{"kind": "required", "task": "i"}]), "rules[0]", "is a condition"),
        (small(rules=[{"kind": "precedence", "first": "a"}]), "rules[0].then", "missing"),
        (small(rules=[{"kind": "never"}]), "rules[0].kind", "one of precedence"),
        (choice({"predicate": "x ="}, {}), "flows[1].predicate", "Write == to compare."),
        (choice({"predicate": "x > 1"}, {}, split="and"), "flows[1].predicate", "and-split"),
        (choice({"default": True}, {}, split="and"), "flows[1].default", "and-split"),
        (choice({"default": True}, {"default": True}), "flows[2].default", "has a default already, flows[1]"),
        (choice({"probability": 0.5}, {"probability": 0.6}), "tasks[0]", "sum to 1.1"),
        (choice({"probability": 0.5}, {}), "flows[2].probability", "Give all or none"),
        (choice({"probability": 1.5}, {"probability": 0.5}), "flows[1].probability", "from 0 to 1"),
    ],
)
def test_each_mistake_is_told_with_its_path_and_what_to_do(value: Any, path: str, says: str) -> None:
    found = problems(value)
    assert any(one == path and says in message for one, message in found), found


def test_the_page_of_errors_shows_what_is_said() -> None:
    value = small(tasks=[{"id": "a"}, {"id": "check"}])
    value["flows"] = [{"from": "i", "to": "a"}, {"from": "a", "to": "chek"}, {"from": "check", "to": "o"}]
    with pytest.raises(WorkflowError) as caught:
        read_net(value)
    said = f"Error [workflow]: {caught.value}"
    shown = [line[4:] for line in explanations()["workflow"].splitlines() if line.startswith("    ")]
    assert said == "\n".join(shown)


def test_a_net_that_was_built_with_flows_to_nowhere_is_told_as_that() -> None:
    net = read_net(small())
    broken = replace(net, flows=(*net.flows, Flow("a", "nowhere", probability=0.5)))
    with pytest.raises(WorkflowError) as caught:
        check_net(broken)
    assert [one.path for one in caught.value.problems] == ["flows[3].to"]


def test_of_very_many_problems_all_are_there_and_the_text_has_the_first() -> None:
    with pytest.raises(WorkflowError) as caught:
        read_net(small(tasks=[{"id": f"t{at}", "cost": -1} for at in range(150)], flows=[]))
    assert len(caught.value.problems) >= 150
    assert str(caught.value).endswith(" more.")


def test_a_whole_number_may_be_written_with_a_point() -> None:
    net = read_net(small(tasks=[{"id": "a", "limit": 3.0}, {"id": "b"}]))
    assert net.tasks["a"].limit == 3


def test_an_or_split_has_a_probability_for_each_flow_that_need_not_sum_to_1() -> None:
    value = choice({"probability": 0.5}, {"probability": 0.9}, split="or")
    value["tasks"] += [{"id": "d", "join": "or"}]
    value["flows"][3:] = [{"from": "b", "to": "d"}, {"from": "c", "to": "d"}, {"from": "d", "to": "o"}]
    assert read_net(value).flows[2].probability == 0.9


def test_several_flows_out_of_a_condition_are_a_deferred_choice() -> None:
    value = small(
        flows=[
            {"from": "i", "to": "a"},
            {"from": "i", "to": "b"},
            {"from": "a", "to": "o"},
            {"from": "b", "to": "o"},
        ]
    )
    assert len(read_net(value).outgoing()["i"]) == 2


@pytest.mark.parametrize(
    ("flows", "path"),
    [
        ([("i", "a"), ("a", "b"), ("b", "o"), ("b", "i")], "flows[3].to"),
        ([("i", "a"), ("a", "b"), ("b", "o"), ("o", "a")], "flows[3].from"),
        ([("i", "a"), ("a", "b"), ("b", "o"), ("a", "b")], "flows[3]"),
        ([("i", "a"), ("a", "b"), ("b", "o"), ("i", "o")], "flows[3]"),
        ([("i", "a"), ("a", "o")], "tasks[1]"),
        ([("i", "a"), ("a", "b")], "tasks[1]"),
    ],
)
def test_a_net_that_does_not_hold_together_is_refused(flows: list[tuple[str, str]], path: str) -> None:
    found = problems(small(flows=[{"from": one, "to": two} for one, two in flows]))
    assert path in {where for where, _ in found}


def test_a_way_that_ends_too_early_is_told_where_it_ends_and_where_it_should_go_on() -> None:
    names = [f"t{at}" for at in range(100)]
    pairs = [("i", "t0"), *pairwise(names), ("t99", "o")]
    pairs.remove(("t49", "t50"))
    flows = [{"from": one, "to": other} for one, other in pairs]
    assert problems(small(tasks=[{"id": name} for name in names], flows=flows)) == [
        ("tasks[49]", "No way leads from task 't49' to 'o'. Add a flow from it, or take it out."),
        ("tasks[50]", "No way leads from 'i' to task 't50'. Add a flow to it, or take it out."),
    ]
    assert problems(small(tasks=[], flows=[])) == [
        ("output", "No way leads from 'i' to 'o'. Add the flows that are missing.")
    ]


@given(st.lists(st.tuples(st.sampled_from("iabcdef"), st.sampled_from("abcdefo")), unique=True))
def test_a_flow_for_each_way_that_is_told_to_be_missing_mends_all_and_none_is_needless(
    pairs: list[tuple[str, str]],
) -> None:
    def told(pairs: list[tuple[str, str]]) -> list[str]:
        flows = [{"from": one, "to": other} for one, other in pairs if (one, other) != ("i", "o")]
        try:
            read_net(small(tasks=[{"id": name} for name in "abcdef"], flows=flows))
        except WorkflowError as error:
            return [one.message for one in error.problems]
        return []

    missing = [
        ("i", message.split("'")[3]) if "from 'i'" in message else (message.split("'")[1], "o")
        for message in told(pairs)
    ]
    assert not told([*pairs, *missing])
    for one in missing:
        assert told([*pairs, *(other for other in missing if other != one)])


def test_a_net_of_somebody_else_may_have_tasks_that_nothing_leads_to_if_only_the_form_counts() -> None:
    value = small(tasks=[{"id": "a"}, {"id": "b"}, {"id": "lost"}])
    assert "lost" in read_net(value, structure=False).tasks


def test_problems_of_a_net_in_a_specification_have_the_path_of_the_net() -> None:
    with pytest.raises(WorkflowError) as caught:
        read_specification(
            {"id": "s", "root": "smal", "nets": [small(tasks=[{"id": "a"}, {"id": "b"}, {"id": "c"}])]}
        )
    assert {one.path for one in caught.value.problems} == {"nets[0].tasks[2]", "root"}


def test_a_single_net_is_a_specification_without_sub_nets() -> None:
    assert read_specification(small()).net == read_net(small())


def test_a_constant_predicate_is_remarked_and_changes_no_behaviour() -> None:
    net = read_net(choice({"predicate": "false"}, {"default": True}))
    assert len(net.flows) == 5
    assert "it is never taken" in remarks(net)[0]
    assert remarks(read_net(small())) == ()


def test_too_many_tasks_are_one_problem_and_not_one_for_each_flow() -> None:
    names = [f"t{at}" for at in range(10_001)]
    flows = [{"from": one, "to": other} for one, other in pairwise(["i", *names, "o"])]
    rules = [{"kind": "required", "task": "t0"}]
    with pytest.raises(WorkflowError) as caught:
        read_net(small(tasks=[{"id": name} for name in names], flows=flows, rules=rules))
    assert [tuple(one) for one in caught.value.problems] == [
        ("tasks", "There are 10001; at most 10000 are read.")
    ]
