"""How long cases take, and the critical path."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings

from halflap.workflows.examples import example_nets
from halflap.workflows.model.form import read_net
from halflap.workflows.score.score import score
from support import examples
from workflows.nets import block_net, net, trees
from workflows.timed import line, task

if TYPE_CHECKING:
    from halflap.workflows.answers import Times
    from halflap.workflows.model.net import Net
    from workflows.nets import Tree


def times(one: Net) -> Times:
    return score(one).raw.performance


def block(gate: str, *durations: float, probabilities: tuple[float, ...] = (), **more: Any) -> Net:
    """Return a block of tasks with these durations."""
    one = block_net((gate, [("task", f"x{at}") for at in range(len(durations))]))
    tasks, flows = dict(one.tasks), list(one.flows)
    for at, duration in enumerate(durations):
        # The two gates come first.
        tasks[f"t{at + 2}"] = replace(tasks[f"t{at + 2}"], duration=duration, **more)
    for at, flow in enumerate(flows):
        if flow.source == "s0" and probabilities:
            flows[at] = replace(flow, probability=probabilities[int(flow.target[1:]) - 2])
    return replace(one, tasks=tasks, flows=tuple(flows))


@pytest.mark.parametrize(
    ("one", "makespan"),
    [
        (block("xor", 10, 20, probabilities=(0.9, 0.1)), 11),
        # {a}, {b} and {a, b} are equally likely.
        (block("or", 3, 6), (3 + 6 + 6) / 3),
        # Written and read 1 / 0.6 times, then published.
        (read_net(example_nets()["review"]), 40 / 0.6 + 1),
        (block("and", 2, 7, 3, resource="bob"), 12),
        (line({"id": "a"}, {"id": "b", "label": None}, {"id": "c", "duration": 0.5}), 1.5),
    ],
    ids=["choice", "or", "loop", "one resource", "undeclared"],
)
def test_the_expected_time_of_a_workflow(one: Net, makespan: float) -> None:
    found = times(one)
    assert found.expected_makespan == pytest.approx(makespan, abs=6 * (found.standard_error or 0) + 1e-6)


def test_an_unstructured_net_is_timed_too() -> None:
    # d waits for b, and e for b and c.
    wild = net(
        {"a": "xor/and", "b": "xor/and", "c": "xor/and", "d": "xor/and", "e": "and/and", "f": "and/and"},
        "i>a a>b a>c b>d b>e c>e d>f e>f f>o",
    )
    long = {"a": 1, "b": 2, "c": 5, "d": 9, "e": 1, "f": 1}
    tasks = {name: replace(one, duration=long[name]) for name, one in wild.tasks.items()}
    # Without choices all cases are the same: a, b, d, f is the longest path.
    assert times(replace(wild, tasks=tasks)).expected_makespan == 1 + 2 + 9 + 1


def test_the_critical_path_follows_the_data() -> None:
    found = score(line(task("a", 2), task("b", 5, "a"), task("c", 8, "a"), task("d", 1, "b")))
    known = found.raw.performance
    assert (known.critical_path, known.expected_makespan) == (10, 16)
    assert found.dimension_scores["performance"] == 10 / 16
    # A task with undeclared data waits for all.
    assert times(line(task("a", 2), {"id": "b", "duration": 3}, task("c", 4))).critical_path == 9


def test_an_endless_or_unsound_net_has_no_time_and_the_reason() -> None:
    endless = net({"a": "xor/xor"}, "i>a a>a a>o")
    flows = tuple(
        replace(flow, probability=float(flow.target == "a")) if flow.source == "a" else flow
        for flow in endless.flows
    )
    stuck = net({"a": "xor/xor", "b": "xor/and", "c": "xor/and", "d": "and/and"}, "i>a a>b a>c b>d c>d d>o")
    for one in (replace(endless, flows=flows), stuck):
        found = score(one)
        assert (found.raw.performance.expected_makespan, found.dimension_scores["performance"]) == (
            None,
            None,
        )
        assert found.inconclusive_because


def distribution(tree: Tree) -> dict[float, float]:
    """Return the probability of each duration, if a label is the duration of its task."""
    found: defaultdict[float, float] = defaultdict(float)
    match tree:
        case ("task", label):
            found["abcdefgh".index(label) if label else 0] = 1
        case ("xor", parts):
            for part in parts:
                for time, chance in distribution(part).items():
                    found[time] += chance / len(parts)
        case (kind, parts):
            for case in product(*(distribution(part).items() for part in parts)):
                took = [time for time, _ in case]
                found[sum(took) if kind == "seq" else max(took)] += prod(chance for _, chance in case)
    return found


@settings(max_examples=examples(200))
@given(trees(leaves=7, gates=("and", "xor"), loops=False))
def test_the_expected_time_is_that_of_all_cases(tree: Tree) -> None:
    one = block_net(tree)
    tasks = {
        name: replace(each, duration="abcdefgh".index(each.label) if each.label else 0)
        for name, each in one.tasks.items()
    }
    found = times(replace(one, tasks=tasks))
    expected = sum(time * chance for time, chance in distribution(tree).items())
    assert found.expected_makespan == pytest.approx(expected, abs=6 * (found.standard_error or 0) + 1e-6)
