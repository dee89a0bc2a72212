"""The score of a workflow, and what is recommended."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings

from halflap.core.errors import WorkflowError
from halflap.workflows.examples import example_nets
from halflap.workflows.model.form import read_net
from halflap.workflows.score.patterns import PATTERNS
from halflap.workflows.score.score import Scoring, Weights, score
from support import examples
from workflows.nets import described_nets, net, rule
from workflows.timed import line, task

if TYPE_CHECKING:
    from halflap.workflows.model.net import Net

ALL = Scoring(list(PATTERNS))


def order() -> Net:
    return read_net(example_nets()["order"])


@settings(max_examples=examples(120))
@given(described_nets())
def test_every_score_is_from_0_to_1_or_unknown_with_the_reason(one: Net) -> None:
    try:
        answer = score(one, ALL, 500).response()
    except WorkflowError:
        return  # Or-gates that form no block.
    json.dumps(answer, allow_nan=False)
    assert 0 <= answer["total_score"] <= 1
    for found in (*answer["dimension_scores"].values(), *answer["pattern_scores"].values()):
        assert found is None or 0 <= found <= 1
    if answer["dimension_scores"]["performance"] is None:
        assert answer["inconclusive_because"]


def test_the_total_is_the_dimensions_by_their_weights() -> None:
    found = score(order())
    weights = {"performance": 0.4, "maintainability": 0.3, "compliance": 0.3}
    assert found.weights == pytest.approx(weights)
    assert found.total_score == pytest.approx(
        sum(weights[name] * (one or 0) for name, one in found.dimension_scores.items())
    )
    half = {"performance": 0.5, "maintainability": 0.5, "compliance": 0}
    assert score(order(), Scoring([], Weights(0.2, 0.2, 0))).weights == half


def test_measures_of_a_known_workflow() -> None:
    assert {name: one.raw for name, one in score(order()).raw.maintainability.items()} == {
        # An and-split counts 1, an xor-split its two ways.
        "control_flow_complexity": 3,
        "size": 6,
        "nesting": 1,
        "structuredness": 1,
    }
    gates = {"a": "xor/and", "b": "xor/and", "c": "xor/and", "d": "xor/and"}
    odd = score(net(gates, "i>a a>b a>c b>d c>d d>o")).raw.maintainability
    assert odd["structuredness"].raw == 0.5


def test_a_broken_rule_costs_compliance_and_comes_with_a_case() -> None:
    found = score(replace(order(), rules=(rule("required", "ship"), rule("required", "receive"))))
    assert found.dimension_scores["compliance"] == 0.75
    (broken, _) = found.response()["raw"]["compliance"]["rules"]
    assert sorted(broken["trace"]) == ["check_credit", "check_stock", "decide", "receive", "refuse"]
    assert found.recommendations[0].tasks == ("ship",)


def patterns(one: Net) -> dict[str, Any]:
    found = score(one, ALL)
    return {name: (value, found.raw.patterns[name]) for name, value in found.pattern_scores.items()}


def test_needless_order_is_neither_sequential_nor_parallel() -> None:
    found = patterns(line(task("a"), task("b"), task("c", 1, "b")))
    assert found["sequential"] == (0.5, {"places": 2, "good": 1})
    assert found["parallel"] == (0, {"places": 2, "good": 0})


def test_a_loop_should_be_bounded_and_a_choice_decided() -> None:
    review = example_nets()["review"]
    assert patterns(read_net(review))["loop"][0] == 1
    for one in review["tasks"]:
        one.pop("limit", None)
    assert patterns(read_net(review))["loop"][0] == 0.5
    undecided = net({"a": "xor/xor", "b": "xor/and", "c": "xor/and"}, "i>a a>b a>c b>o c>o")
    assert patterns(undecided)["choice"][0] == 0


# Recommendations ------------------------------------------------------------------------------------------


def advised(one: Net) -> list[tuple[str, ...]]:
    return [found.tasks for found in score(one).recommendations]


def test_tasks_that_need_not_wait_are_named_with_the_time_saved() -> None:
    found = score(line(task("a", 1), task("b", 2), task("c", 9))).recommendations
    assert [(one.tasks, one.why.split()[-2]) for one in found] == [(("a", "b"), "1"), (("b", "c"), "2")]


def test_undeclared_data_races_and_mismatched_gates_are_named() -> None:
    assert advised(line({"id": "a"})) == [("a",), ("a",)]
    gates = {"s": "~xor/and", "a": "xor/and", "b": "xor/and", "j": "~and/and"}
    racing = net(gates, "i>s s>a s>b a>j b>j j>o")
    tasks = {
        name: replace(one, duration=1, reads=frozenset(), writes=frozenset("x")) if one.label else one
        for name, one in racing.tasks.items()
    }
    assert ("a", "b") in advised(replace(racing, tasks=tasks))
    gates = {"a": "xor/and", "b": "xor/and", "c": "xor/and", "d": "xor/and"}
    assert ("a", "d") in advised(net(gates, "i>a a>b a>c b>d c>d d>o"))
