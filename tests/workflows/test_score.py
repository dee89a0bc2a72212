from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings

from halflap.errors import WorkflowError
from halflap.workflows.form import read_net
from halflap.workflows.net import Bound, Rule
from halflap.workflows.pieces.facts import Facts
from halflap.workflows.published import example_nets
from halflap.workflows.score import PATTERN_SHARE, score
from halflap.workflows.study import Study
from halflap.workflows.tangle import independence
from halflap.workflows.yawl import read_yawl
from support import ROOT, examples
from workflows.nets import block_nets, net, nets, told_nets
from workflows.timed import line, ruled, task, timed

if TYPE_CHECKING:
    from halflap.workflows.net import Net

ALL = ["sequential", "parallel", "choice", "loop"]


def order() -> Net:
    return read_net(example_nets()["order"])


@settings(max_examples=examples(120))
@given(told_nets(nets(gates=("and", "xor", "or"))))
def test_every_score_is_a_number_from_0_to_1_or_it_is_said_why_not(one: Net) -> None:
    try:
        answer = score(one, ALL, bound=Bound(500)).response()
    except WorkflowError:
        return  # Or-gates that form no block.
    json.dumps(answer, allow_nan=False)
    assert 0 <= answer["total_score"] <= 1
    for found in (*answer["dimension_scores"].values(), *answer["pattern_scores"].values()):
        assert found is None or 0 <= found <= 1
    if answer["dimension_scores"]["performance"] is None:
        assert answer["inconclusive_because"]


def test_a_workflow_that_waits_for_nothing_needless_has_full_performance() -> None:
    found = score(order(), ALL)
    assert found.dimensions["performance"] == 1
    assert found.dimensions["compliance"] == 1
    assert found.advice == ()


class TestTotal:
    def test_it_is_the_dimensions_by_their_weights(self) -> None:
        found = score(order(), [])
        parts = found.dimensions
        assert found.total == pytest.approx(
            0.4 * (parts["performance"] or 0)
            + 0.3 * (parts["maintainability"] or 0)
            + 0.3 * (parts["compliance"] or 0)
        )

    def test_weights_are_made_to_sum_to_one(self) -> None:
        found = score(order(), [], {"performance": 0.2, "maintainability": 0.2, "compliance": 0})
        assert found.weights == {"performance": 0.5, "maintainability": 0.5, "compliance": 0}

    def test_a_weight_that_is_not_given_is_the_default(self) -> None:
        assert score(order(), [], {"performance": 0}).weights == {
            "performance": 0,
            "maintainability": 0.5,
            "compliance": 0.5,
        }

    def test_patterns_are_a_fifth_of_it(self) -> None:
        slow = line(task("a"), task("b"), task("c"))
        without, with_them = score(slow, []), score(slow, ["parallel", "sequential"])
        assert [one.score for one in with_them.patterns.values()] == [0, 0]
        assert with_them.total == pytest.approx((1 - PATTERN_SHARE) * without.total)

    def test_a_pattern_that_there_is_no_place_for_does_not_count(self) -> None:
        found = score(order(), ["loop"])
        assert found.response()["pattern_scores"] == {"loop": None}
        assert found.total == score(order(), []).total


@pytest.mark.parametrize(
    ("patterns", "weights", "paths"),
    [
        (["spiral"], None, ["reference_patterns[0]"]),
        ("parallel", None, ["reference_patterns"]),
        ([], {"speed": 1}, ["scoring_weights.speed"]),
        ([], {"performance": -0.1}, ["scoring_weights.performance"]),
        ([], {"performance": 1.1}, ["scoring_weights.performance"]),
        ([], {"performance": float("nan")}, ["scoring_weights.performance"]),
        ([], {"performance": True}, ["scoring_weights.performance"]),
        ([], {"performance": "much"}, ["scoring_weights.performance"]),
        ([], [0.4], ["scoring_weights"]),
        ([], {"performance": 0, "maintainability": 0, "compliance": 0}, ["scoring_weights"]),
        (
            [],
            {"performance": 0, "maintainability": 0, "compliance": 0, "speed": 1},
            ["scoring_weights.speed", "scoring_weights"],
        ),
        (
            [],
            {"performance": 0, "maintainability": 0, "compliance": 10**400},
            ["scoring_weights.compliance"],
        ),
        (["x", "y"], {"z": 1}, ["reference_patterns[0]", "reference_patterns[1]", "scoring_weights.z"]),
    ],
)
def test_what_cannot_be_meant_is_refused_all_at_once(patterns: Any, weights: Any, paths: list[str]) -> None:
    with pytest.raises(WorkflowError) as caught:
        score(order(), patterns, weights)
    assert [one.path for one in caught.value.problems] == paths
    assert caught.value.seed_code == "INVALID_INPUTS"


def test_true_is_told_as_json_has_it() -> None:
    with pytest.raises(WorkflowError) as caught:
        score(order(), [True], {"performance": True})  # type: ignore[list-item]
    messages = [one.message for one in caught.value.problems]
    assert messages[0].startswith("There is no pattern that is true; there are ")
    assert messages[1] == "Expected a number from 0 to 1, and there is true."


@pytest.mark.parametrize(
    "rule",
    [
        Rule("required", ("d",)),
        Rule("response", ("a", "d")),
        Rule("precedence", ("x", "y")),
        Rule("exclusion", ("b", "c")),
        Rule("separation_of_duties", ("a", "d")),
    ],
)
def test_no_rule_makes_a_workflow_better_that_cannot_be_completed(rule: Rule) -> None:
    gates = {"x": "xor/and", "y": "xor/and", "a": "xor/xor", "b": "xor/and", "c": "xor/and", "d": "and/and"}
    stuck = net(gates, "i>x x>y y>a a>b a>c b>d c>d d>o")
    tasks = {
        name: replace(task, resource=name, reads=frozenset(), writes=frozenset())
        for name, task in stuck.tasks.items()
    }
    one = replace(stuck, tasks=tasks)
    assert score(replace(one, rules=(rule,)), ALL).total <= score(one, ALL).total
    assert score(replace(one, rules=(rule,)), []).dimensions["compliance"] == 0


class TestMaintainability:
    def measured(self, one: Net) -> dict[str, float]:
        return {found.name: found.raw for found in score(one).measures}

    def test_measures_of_a_known_workflow(self) -> None:
        assert self.measured(order()) == {
            # An and-split counts 1, an xor-split its two ways.
            "control_flow_complexity": 3,
            "size": 6,
            # 9 flows for 8 nodes: two more than it takes to reach all, of 49 that there could be.
            "density": 2 / 49,
            "nesting": 1,
            "structuredness": 1,
            "mismatched_gateways": 0,
        }

    def test_an_or_split_counts_all_that_can_be_chosen(self) -> None:
        trip = read_net(example_nets()["trip"])
        assert self.measured(trip)["control_flow_complexity"] == (2**2 - 1) + 2

    def test_gates_that_do_not_match_are_counted(self) -> None:
        found = self.measured(
            net({"a": "xor/and", "b": "xor/and", "c": "xor/and", "d": "xor/and"}, "i>a a>b a>c b>d c>d d>o")
        )
        assert found["mismatched_gateways"] == 1
        assert found["structuredness"] == 0.5


class TestCompliance:
    def test_a_broken_rule_comes_with_a_case(self) -> None:
        one = replace(order(), rules=(Rule("required", ("ship",)), Rule("required", ("receive",))))
        found = score(one)
        assert found.dimensions["compliance"] == 0.75
        (broken, _) = found.response()["raw"]["compliance"]["rules"]
        assert broken["trace"] == ["receive", "check_credit", "check_stock", "decide", "refuse"]
        assert found.advice[0].tasks == ("ship",)

    def test_what_is_not_sound_comes_with_a_trace_and_has_no_performance(self) -> None:
        stuck = net(
            {"a": "xor/xor", "b": "xor/and", "c": "xor/and", "d": "and/and"}, "i>a a>b a>c b>d c>d d>o"
        )
        found = score(stuck)
        answer = found.response()
        assert answer["dimension_scores"]["compliance"] == 0
        assert answer["dimension_scores"]["performance"] is None
        assert answer["raw"]["compliance"]["failures"][0]["trace"] == ["a", "b"]
        assert not answer["conclusive"]
        assert found.total == pytest.approx(0.3 * (found.dimensions["maintainability"] or 0))


class TestPatterns:
    def patterns(self, one: Net) -> dict[str, Any]:
        return {name: (found.score, dict(found.raw)) for name, found in score(one, ALL).patterns.items()}

    def test_needless_order_is_neither_sequential_nor_parallel(self) -> None:
        found = self.patterns(line(task("a"), task("b"), task("c", 1, "b")))
        assert found["sequential"] == (0.5, {"pairs": 2, "dependent": 1})
        assert found["parallel"] == (
            0,
            {"independent_pairs": 2, "side_by_side": 0, "dependent_side_by_side": 0},
        )

    def test_a_loop_should_be_bounded_and_a_choice_decided(self) -> None:
        review = example_nets()["review"]
        assert self.patterns(read_net(review))["loop"][0] == 1
        for one in review["tasks"]:
            one.pop("limit", None)
        assert self.patterns(read_net(review))["loop"][0] == pytest.approx(2 / 3)
        undecided = net({"a": "xor/xor", "b": "xor/and", "c": "xor/and"}, "i>a a>b a>c b>o c>o")
        assert self.patterns(undecided)["choice"][0] == pytest.approx(2 / 3)


WILD = {"a": "xor/xor", "b": "xor/xor", "c": "xor/xor", "d": "xor/and"}
ROUND = "i>a a>b a>c b>c c>b b>d c>d d>o"


class TestPatternsWithoutBlocks:
    def raw(self, one: Net, name: str) -> dict[str, Any]:
        return dict(score(one, [name]).response()["raw"]["patterns"][name])

    def test_a_loop_counts_as_what_it_is(self) -> None:
        wild = net(WILD, ROUND)
        bare = {"loops": 1, "structured": 0, "can_be_left": 1, "bounded": 0}
        assert self.raw(wild, "loop") == bare
        limited = {**wild.tasks, "b": replace(wild.tasks["b"], limit=3)}
        assert self.raw(replace(wild, tasks=limited), "loop") == {**bare, "bounded": 1}

    def test_one_that_only_flows_of_probability_0_lead_out_of_can_not_be_left(self) -> None:
        wild = net(WILD, ROUND)
        flows = tuple(
            replace(flow, probability=float(flow.target != "d")) if flow.source in "bc" else flow
            for flow in wild.flows
        )
        endless = replace(wild, flows=flows)
        assert self.raw(endless, "loop")["can_be_left"] == 0
        assert (
            ("b", "c"),
            "Give a flow by which 'b' and 'c' lead out of the circle a higher probability than 0.",
        ) in [(one.tasks, one.change) for one in score(endless).advice]
        half = tuple(replace(flow, probability=0.5) if flow.source == "b" else flow for flow in endless.flows)
        assert self.raw(replace(wild, flows=half), "loop")["can_be_left"] == 1

    def test_ways_that_begin_with_the_same_are_not_distinct(self) -> None:
        tasks = {
            "s": "xor/xor",
            "p": "xor/and",
            "g": "~xor/and",
            "q": "xor/xor",
            "u": "xor/and",
            "v": "xor/and",
            "z": "xor/and",
        }
        wild = net(tasks, "i>s s>p s>g g>q p>u q>u q>v u>z v>z z>o")
        assert self.raw(wild, "choice") == {"choices": 2, "decided": 0, "distinct": 2, "closed": 0}
        same = {
            **wild.tasks,
            "p": replace(wild.tasks["p"], label="same"),
            "q": replace(wild.tasks["q"], label="same"),
        }
        assert self.raw(replace(wild, tasks=same), "choice")["distinct"] == 1

    def crossed(self) -> Net:
        """Give a workflow in which c may begin as soon as a is done, and e needs d by another way, too."""
        tasks = {"a": "xor/and", "b": "xor/and", "c": "xor/and", "d": "and/and", "e": "and/and"}
        made = net(tasks, "i>a a>b a>c b>d b>e c>d d>e e>o")
        reads = {"a": "", "b": "a", "c": "", "d": "b", "e": "d"}
        known = {
            name: replace(one, reads=frozenset(reads[name]), writes=frozenset(name))
            for name, one in made.tasks.items()
        }
        return replace(made, tasks=known)

    def test_neighbours_are_those_that_follow_each_other_by_flows(self) -> None:
        # a b, a c, b d, b e, c d, d e; of these a b, b d and d e have to be in that order.
        assert self.raw(self.crossed(), "sequential") == {"pairs": 6, "dependent": 3}

    def test_what_is_side_by_side_is_told_by_the_states(self) -> None:
        # c needs nobody and nobody needs c: of its four pairs only that with b is side by side.
        assert self.raw(self.crossed(), "parallel") == {
            "independent_pairs": 4,
            "side_by_side": 1,
            "dependent_side_by_side": 0,
        }

    def test_what_is_side_by_side_though_it_depends_counts_against_it(self) -> None:
        one = self.crossed()
        racing = replace(one, tasks={**one.tasks, "c": replace(one.tasks["c"], reads=frozenset("b"))})
        assert self.raw(racing, "parallel")["dependent_side_by_side"] == 1

    def test_of_what_is_not_sound_it_is_said_why_it_is_not_known(self) -> None:
        stuck = net(
            {"a": "xor/xor", "b": "xor/and", "c": "xor/and", "d": "and/and"}, "i>a a>b a>c b>d c>d d>o"
        )
        answer = score(stuck, ["parallel"]).response()
        assert answer["pattern_scores"] == {"parallel": None}
        assert (
            "Pattern parallel: What can be side by side is not known: the workflow is not sound."
            in answer["inconclusive_because"]
        )

    @settings(max_examples=examples(60))
    @given(ruled(timed(block_nets(leaves=7, gates=("and",), loops=False))))
    def test_by_states_it_is_the_same_as_by_blocks_where_nothing_is_chosen(self, one: Net) -> None:
        by_blocks = self.raw(one, "parallel")
        assert independence(Facts(one), Study(one, by_states=True)).numbers == by_blocks


@pytest.mark.parametrize("name", ["DeadlockingSpecification.xml", "makeTrip2.xml", "orderfulfillment.yawl"])
def test_nets_of_real_specifications_are_scored_or_refused_with_the_reason(name: str) -> None:
    path = ROOT.parent / "shared" / "data" / "yawl" / name
    if not path.exists():
        pytest.skip(f"needs the shared data: {name}")
    for one in read_yawl(path.read_bytes()).nets.values():
        if name == "orderfulfillment.yawl" and one.id in {"Overall", "Carrier_Appointment"}:
            with pytest.raises(WorkflowError, match="Or-gates are understood as matched blocks only"):
                score(one, ALL)
            continue
        found = score(one, ALL)
        assert (found.dimensions["performance"] is None) == (not found.soundness.sound)
        if name.startswith("Deadlocking"):
            assert found.soundness.failures[0].trace == ("a-top",)
            assert found.dimensions["compliance"] == 0
