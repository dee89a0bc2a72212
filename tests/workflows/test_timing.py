from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halflap.workflows.form import read_net
from halflap.workflows.performance import performance
from halflap.workflows.pieces.facts import Facts
from halflap.workflows.pieces.taking import layout_of
from halflap.workflows.published import example_nets
from halflap.workflows.score import score
from halflap.workflows.study import Study
from halflap.workflows.timing.critical import Atoms, critical_path
from halflap.workflows.timing.makespan import Timing
from halflap.workflows.timing.tokens import simulated
from support import examples
from workflows.nets import block_net, block_nets, net
from workflows.timed import line, ruled, task, timed

if TYPE_CHECKING:
    from halflap.workflows.net import Net
    from halflap.workflows.performance import Performance
    from halflap.workflows.pieces.facts import Data
    from halflap.workflows.pieces.piece import Piece


def times(one: Net) -> Performance:
    return performance(Study(one), layout_of(one), Facts(one))


def block(gate: str, *durations: float, probabilities: tuple[float, ...] = (), **more: Any) -> Net:
    """Make a block of tasks that take so long."""
    one = block_net((gate, [("task", f"x{at}") for at in range(len(durations))]))
    long = dict(zip([name for name, made in one.tasks.items() if made.label], durations, strict=True))
    tasks = {
        name: replace(made, duration=long.get(name), **(more if name in long else {}))
        for name, made in one.tasks.items()
    }
    flows = [
        replace(flow, probability=probabilities[at]) if probabilities and flow.source == "t0" else flow
        for at, flow in [(sum(f.source == "t0" for f in one.flows[:n]), f) for n, f in enumerate(one.flows)]
    ]
    return replace(one, tasks=tasks, flows=tuple(flows))


class TestKnownTimes:
    def test_one_after_the_other_is_the_sum(self) -> None:
        assert times(line(task("a", 2), task("b", 3))).makespan == 5

    def test_side_by_side_is_the_longest(self) -> None:
        assert times(block("and", 2, 7, 3)).makespan == 7

    def test_a_choice_is_by_its_probabilities(self) -> None:
        assert times(block("xor", 10, 20, probabilities=(0.9, 0.1))).makespan == pytest.approx(11)

    def test_a_choice_of_which_nothing_is_said_is_even(self) -> None:
        assert times(block("xor", 10, 20)).makespan == 15

    def test_an_or_split_takes_the_longest_of_those_that_are_chosen(self) -> None:
        # Of the three that are not nothing: {a}, {b}, {a, b}, each as likely.
        assert times(block("or", 3, 6)).makespan == pytest.approx((3 + 6 + 6) / 3)

    def test_a_loop_is_left_by_its_probability(self) -> None:
        # Written and read once, and again with 0.4: 1 / 0.6 times; then published.
        assert times(read_net(example_nets()["review"])).makespan == pytest.approx(40 / 0.6 + 1)

    def test_the_mean_of_the_longest_is_not_the_longest_mean(self) -> None:
        two = block_net(
            ("and", [("xor", [("task", "a"), ("task", "b")]), ("xor", [("task", "c"), ("task", "d")])])
        )
        long = {"a": 0, "b": 4, "c": 0, "d": 4}
        two = replace(
            two,
            tasks={name: replace(one, duration=long.get(one.label or "")) for name, one in two.tasks.items()},
        )
        # Both are short in one case of four.
        assert times(two).makespan == pytest.approx(3)

    def test_a_resource_does_one_thing_at_a_time(self) -> None:
        assert times(block("and", 2, 7, 3, resource="bob")).makespan == 12

    def test_a_resource_is_free_while_others_work(self) -> None:
        # Each begins with bob, and goes on alone: 1 + 10 for the first, 1 + 1 + 10 for the second.
        two = block_net(
            ("and", [("seq", [("task", "a"), ("task", "b")]), ("seq", [("task", "c"), ("task", "d")])])
        )
        who = {"a": ("bob", 1), "b": (None, 10), "c": ("bob", 1), "d": (None, 10)}
        made = {
            name: replace(one, resource=who[one.label][0], duration=who[one.label][1]) if one.label else one
            for name, one in two.tasks.items()
        }
        assert times(replace(two, tasks=made)).makespan == 12

    def test_what_is_not_said_takes_one_and_what_is_silent_nothing(self) -> None:
        assert (
            times(line({"id": "a"}, {"id": "b", "label": None}, {"id": "c", "duration": 0.5})).makespan == 1.5
        )

    def test_a_loop_that_is_never_left_has_no_time(self) -> None:
        endless = net({"a": "xor/xor"}, "i>a a>a a>o")
        flows = tuple(
            replace(flow, probability=float(flow.target == "a")) if flow.source == "a" else flow
            for flow in endless.flows
        )
        found = times(replace(endless, flows=flows))
        assert (found.makespan, found.score) == (None, None)
        assert found.problem == "The loop at 'a' is never left: the way back is taken with probability 1."
        assert found.method is None

    def test_nor_has_one_that_is_not_made_of_blocks(self) -> None:
        tasks = {"a": "xor/xor", "b": "xor/xor", "c": "xor/xor", "d": "xor/and"}
        wild = net(tasks, "i>a a>b a>c b>c c>b b>d c>d d>o")
        flows = tuple(
            replace(flow, probability=float(flow.target != "d")) if flow.source in "bc" else flow
            for flow in wild.flows
        )
        found = times(replace(wild, flows=flows))
        assert (found.makespan, found.method) == (None, None)
        assert re.fullmatch(
            "The loop at '[bc]' is never left: the way back is taken with probability 1.", found.problem or ""
        )

    @pytest.mark.parametrize("wild", [False, True])
    def test_what_is_too_large_to_be_summed_has_no_time(self, wild: bool) -> None:
        one = block_net(("and", [("task", "a"), ("seq", [("task", "b"), ("task", "c")])]))
        if wild:
            tasks = {"a": "xor/xor", "b": "xor/xor", "c": "xor/xor", "d": "xor/and"}
            one = net(tasks, "i>a a>b a>c b>c c>b b>d c>d d>o")
        tasks_ = {name: replace(each, duration=1e308) for name, each in one.tasks.items()}
        found = times(replace(one, tasks=tasks_))
        assert (found.score, found.makespan) == (None, None)
        assert "too large to be summed" in (found.problem or "")

    def test_cost_and_width(self) -> None:
        found = times(block("xor", 1, 1, probabilities=(0.25, 0.75), cost=8))
        assert (found.cost, found.width) == (8, 1)
        assert times(block("and", 1, 1, cost=8)).cost == 16
        assert times(block("and", 1, 1)).width == 2


class TestCriticalPath:
    def test_only_what_is_needed_is_waited_for(self) -> None:
        found = times(line(task("a", 2), task("b", 5, "a"), task("c", 8, "a"), task("d", 1, "b")))
        assert (found.critical_path, found.makespan) == (10, 16)
        assert found.score == 10 / 16

    def test_what_is_not_known_waits_for_all(self) -> None:
        assert times(line(task("a", 2), {"id": "b", "duration": 3}, task("c", 4))).critical_path == 9

    def test_a_choice_waits_for_what_its_predicates_read(self) -> None:
        def chosen(predicate: str) -> float | None:
            return times(
                read_net(
                    {
                        "id": "n", "input": "i", "output": "o",
                        "tasks": [task("a", 5), task("b", 3), {"id": "c", "label": None, "split": "xor"}, task("d", 1), task("e", 1)],
                        "flows": [
                            {"from": "i", "to": "a"}, {"from": "a", "to": "b"}, {"from": "b", "to": "c"},
                            {"from": "c", "to": "d", "predicate": predicate}, {"from": "c", "to": "e", "default": True},
                            {"from": "d", "to": "o"}, {"from": "e", "to": "o"},
                        ],
                    }
                )
            ).critical_path  # fmt: skip

        assert chosen("a > 1") == 6
        assert chosen("b > 1") == 5
        assert chosen("a > b") == 6


@settings(max_examples=examples(200))
@given(
    st.one_of(
        timed(block_nets(leaves=7, gates=("and", "xor", "or"))),
        timed(block_nets(leaves=6, gates=("and", "xor", "or")), ("bob", "eve", None)),
    )
)
def test_what_is_counted_for_blocks_is_what_cases_with_tokens_take(one: Net) -> None:
    # Two ways that have nothing in common but the clock: by pieces, and by tokens in the net.
    facts, piece = Facts(one), layout_of(one).piece
    assert piece is not None
    found = Timing(facts).time(piece)
    cases = simulated(one, facts, 500, seed=1)
    assert found.value is not None
    if found.method == "exact":
        assert found.value == pytest.approx(cases.time, abs=6 * cases.error + 1e-6)
        assert critical_path(facts, piece) <= found.value + 1e-6
    assert Timing(facts).cost(piece) == pytest.approx(cases.cost, rel=0.5, abs=1)


def test_what_is_not_made_of_blocks_is_played_out() -> None:
    # Both d and e wait for b, and e for c, too: no block fits that.
    wild = net(
        {"a": "xor/and", "b": "xor/and", "c": "xor/and", "d": "xor/and", "e": "and/and", "f": "and/and"},
        "i>a a>b a>c b>d b>e c>e d>f e>f f>o",
    )
    long = {"a": 1, "b": 2, "c": 5, "d": 9, "e": 1, "f": 1}
    timed_wild = replace(
        wild, tasks={name: replace(one, duration=long[name]) for name, one in wild.tasks.items()}
    )
    assert layout_of(wild).piece is None
    found = times(timed_wild)
    # No choice in it, so every case takes as long: by a, b, d, f.
    assert (found.makespan, found.error, found.method) == (1 + 2 + 9 + 1, 0, "simulated")


def test_what_is_not_sound_has_no_time_and_it_is_said_why() -> None:
    stuck = net({"a": "xor/xor", "b": "xor/and", "c": "xor/and", "d": "and/and"}, "i>a a>b a>c b>d c>d d>o")
    found = times(stuck)
    assert found.makespan is None
    assert found.problem is not None
    assert "it is not sound: Nothing can happen any more" in found.problem


@settings(max_examples=examples(60))
@given(ruled(timed(block_nets(leaves=10))))
def test_what_depends_on_what_is_the_same_pair_by_pair(one: Net) -> None:
    facts, piece = Facts(one), layout_of(one).piece
    assert piece is not None
    atoms = Atoms(piece)
    assert atoms.depends(facts) == [
        sum(1 << other for other in range(at) if facts.depend(atoms.atoms[other], each))
        for at, each in enumerate(atoms.atoms)
    ]


def test_work_grows_as_the_workflow_does_and_not_as_its_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = 0
    data = Facts.data

    def counted(facts: Facts, piece: Piece) -> Data:
        nonlocal asked
        asked += 1
        return data(facts, piece)

    monkeypatch.setattr(Facts, "data", counted)
    counts = []
    for size in (50, 200):
        asked = 0
        score(line(*({"id": f"t{at}"} for at in range(size))))
        counts.append(asked)
    assert counts[1] < 5 * counts[0]
