from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halflap.errors import WorkflowError
from halflap.workflows.constraints import Constraints
from halflap.workflows.dependence import reversals
from halflap.workflows.equivalence import equivalence
from halflap.workflows.form import read_net, write_net
from halflap.workflows.net import Bound, Rule
from halflap.workflows.optimize import optimize
from halflap.workflows.optimizing import genetic
from halflap.workflows.optimizing.evaluation import Evaluator
from halflap.workflows.pieces.taking import layout_of
from halflap.workflows.soundness import soundness
from halflap.workflows.study import Study
from halflap.workflows.transforming.ground import Ground
from support import examples
from workflows.nets import block_net, block_nets, general_nets, net
from workflows.timed import busy, line, lines, ruled, small_nets, task, timed

if TYPE_CHECKING:
    from halflap.workflows.net import Net
    from halflap.workflows.optimize import Engine
    from halflap.workflows.optimizing.evaluation import Target

TARGETS = st.sampled_from(["performance", "behavioral", "balanced"])
ENGINES: list[Engine] = ["beam", "gepa"] if genetic.is_there() else ["beam"]
SMALL = st.one_of(
    timed(small_nets(5, gates=("and", "xor", "or"))),
    timed(small_nets(5, gates=("and", "xor")), ("bob", None)),
    busy(),
    lines(),
)


def best_by_brute_force(one: Net, target: Target, most: int = 3_000) -> tuple[float, ...] | None:
    """Make every sequence of changes, and give the best rank of what may be taken; None if there are too many."""
    wanted = Constraints()
    evaluator = Evaluator(Ground(wanted.facts(one), wanted), layout_of(one), target)
    assert evaluator.start is not None
    seen = {evaluator.start.layout}
    waiting = [evaluator.start.layout]
    for layout in waiting:
        for new, _, _ in evaluator.neighbours(layout):
            if new not in seen:
                seen.add(new)
                waiting.append(new)
        if len(seen) > most:
            return None
    listed = [evaluator.evaluate(one) for one in seen]
    if any(found.times.method == "estimated" for found in listed):
        return None  # What is best is then decided by looking closely.
    return min(found.rank for found in listed if found.refused is None)


@settings(max_examples=examples(400))
@given(SMALL, TARGETS, st.sampled_from(ENGINES))
def test_the_optimum_found_is_that_of_all_sequences_of_changes(
    one: Net, target: Target, engine: Engine
) -> None:
    expected = best_by_brute_force(one, target)
    if expected is not None:
        assert optimize(one, target, engine=engine).after.rank == expected


@settings(max_examples=examples(300))
@given(SMALL, TARGETS)
@pytest.mark.skipif(len(ENGINES) < 2, reason="gepa is not installed: pip install 'halflap[gepa]'")
def test_both_engines_find_equally_good_workflows(one: Net, target: Target) -> None:
    found = {engine: optimize(one, target, engine=engine) for engine in ENGINES}
    if found["beam"].after.times.method == "exact":
        assert found["gepa"].after.rank == found["beam"].after.rank


@settings(max_examples=examples(300))
@given(
    st.one_of(
        ruled(timed(block_nets(leaves=7, gates=("and", "xor", "or")), (None, "bob"))),
        ruled(busy(7, loops=True)),
        ruled(lines()),
        timed(general_nets()),
    ),
    TARGETS,
)
def test_what_comes_out_is_sound_never_slower_and_keeps_rules_and_the_order_of_data(
    one: Net, target: Target
) -> None:
    try:
        found = optimize(one, target, engine="beam")
    except WorkflowError:
        return
    wanted = Constraints()
    evaluator = Evaluator(Ground(wanted.facts(one), wanted), layout_of(one), target)
    assert read_net(json.loads(json.dumps(write_net(found.net)))) == found.net
    assert soundness(Study(found.net, by_states=True)).sound or (found.net is one and found.notes)
    if found.before.times.makespan is not None:
        assert found.after.times.makespan is not None
        assert found.after.times.makespan <= found.before.times.makespan + 1e-9
    # Looked at anew, from the workflow alone: the rules that held, and what depends on what.
    assert evaluator._rules_broken(layout_of(found.net), Study(found.net)) <= evaluator._broken
    for kept in (found.net, *(front.net for front in found.front)):
        assert kept is one or target == "behavioral" or reversals(Study(one), Study(kept)) == ()
    if target == "behavioral":
        assert equivalence(Study(one), Study(found.net)).equivalent is not False
        assert found.verdict.passed


@settings(max_examples=examples(40))
@given(SMALL, TARGETS, st.integers(0, 5), st.sampled_from(ENGINES))
def test_the_same_seed_gives_the_same_answer(one: Net, target: Target, seed: int, engine: Engine) -> None:
    first, second = (optimize(one, target, seed=seed, engine=engine).response() for _ in range(2))
    assert json.dumps(first) == json.dumps(second)


@settings(max_examples=examples(60))
@given(SMALL, TARGETS)
def test_what_is_optimised_again_is_unchanged(one: Net, target: Target) -> None:
    once = optimize(one, target, engine="beam")
    if target == "balanced":  # It would be held against another original.
        return
    again = optimize(once.net, target, engine="beam")
    assert again.net is once.net
    assert not again.changes


def shop() -> Net:
    return line(
        task("order", 2),
        task("stock", 5, "order"),
        task("credit", 8, "order"),
        task("address", 3, "order"),
        task("ship", 4, "stock credit address"),
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_independent_tasks_are_done_side_by_side(engine: Engine) -> None:
    found = optimize(shop(), "performance", engine=engine)
    assert (found.before.times.makespan, found.after.times.makespan) == (22, 14)
    assert found.after.times.score == 1
    (change,) = found.response()["transformations"]
    assert change["transformation"] == "parallelise"
    assert change["gain"]["expected_makespan"] == 8
    assert not change["keeps_traces"]
    # No new tasks are needed: those that are there split and join.
    assert set(found.net.tasks) == set(shop().tasks)


def test_an_answer_says_all_that_was_done_and_found() -> None:
    answer = optimize(shop(), "performance", seed=7, engine="beam").response()
    assert answer["engine"] == "beam"
    assert answer["seed"] == 7
    assert answer["evaluations"] > 1
    assert answer["metrics"]["before"]["expected_makespan"] == 22
    assert answer["metrics"]["after"]["expected_makespan"] == 14
    assert read_net(answer["optimized_workflow"]).tasks.keys() == shop().tasks.keys()
    assert [one["chosen"] for one in answer["pareto_front"]].count(True) == 1
    for one in answer["pareto_front"]:
        others = [other for other in answer["pareto_front"] if other is not one]
        keys = ("expected_makespan", "expected_cost", "size")
        assert not any(all(other[key] <= one[key] for key in keys) for other in others)
    assert answer["validation"]["validation_mode"] == "lenient"
    assert answer["validation"]["sound"] == {"original_workflow": True, "optimized_workflow": True}


def test_the_behavioral_target_keeps_the_traces_and_makes_it_smaller() -> None:
    tidy = net({"s": "~xor/and", "a": "xor/and", "t": "~xor/and", "b": "xor/and"}, "i>s s>a a>t t>b b>o")
    found = optimize(tidy, "behavioral", engine="beam")
    assert list(found.net.tasks) == ["a", "b"]
    assert found.verdict.mode == "strict"
    assert found.verdict.passed
    assert found.changes[0].keeps_traces


def test_nothing_is_changed_where_the_data_is_not_known() -> None:
    unknown = line({"id": "a", "duration": 5}, {"id": "b", "duration": 5})
    found = optimize(unknown, "performance", engine="beam")
    assert found.net is unknown
    assert found.verdict.passed
    assert found.response()["changed"] is False


def test_balanced_keeps_four_fifths_of_the_footprint() -> None:
    tasks = [task(f"t{at}", 1 + at % 4, f"t{at - 4}" if at > 3 else "") for at in range(8)]
    fast, fair = (optimize(line(*tasks), target, engine="beam") for target in ("performance", "balanced"))
    assert fast.verdict.agreement is not None
    assert fair.verdict.agreement is not None
    assert fast.verdict.agreement.cells < 0.8 <= fair.verdict.agreement.cells
    assert fair.verdict.passed
    assert (
        (fast.after.times.makespan or 0)
        < (fair.after.times.makespan or 0)
        < (fair.before.times.makespan or 0)
    )


class TestConstraints:
    def test_max_parallel_is_kept(self) -> None:
        found = optimize(shop(), "performance", {"max_parallel": 2}, engine="beam")
        assert found.after.times.width == 2
        assert found.after.times.makespan == 14

    def test_what_is_beyond_max_parallel_is_brought_back(self) -> None:
        wide = optimize(shop(), "performance", engine="beam").net
        found = optimize(wide, "performance", {"max_parallel": 1}, engine="beam")
        assert found.after.times.width == 1
        assert found.after.times.makespan == 22
        assert not found.notes

    def test_what_cannot_be_met_is_said(self) -> None:
        dear = line(task("a", cost=5), task("b", cost=5))
        found = optimize(dear, "performance", {"max_cost": 8}, engine="beam")
        assert found.notes == (
            "'max_cost' is not met: there is 2 too much, and no change was found that mends it.",
        )

    def test_max_cost_is_met_by_leaving_out_what_was_done_already(self) -> None:
        look = {
            "label": "look",
            "reads": ["x"],
            "writes": ["y"],
            "idempotent": True,
            "cost": 5,
            "duration": 1,
        }
        twice = line({"id": "a", **look}, {"id": "b", **look})
        found = optimize(twice, "performance", {"max_cost": 8}, engine="beam")
        assert list(found.net.tasks) == ["a"]
        assert not found.notes

    def test_fixed_tasks_stay_where_they_are(self) -> None:
        found = optimize(shop(), "performance", {"fixed": ["credit"]}, engine="beam")
        assert found.net == shop()

    def test_the_order_of_a_pair_is_kept(self) -> None:
        found = optimize(shop(), "performance", {"keep_order": [["stock", "credit"]]}, engine="beam")
        assert found.after.times.makespan == 2 + 5 + 8 + 4

    def test_all_order_is_kept(self) -> None:
        assert optimize(shop(), "performance", {"keep_order": True}, engine="beam").net == shop()

    def test_all_that_is_wrong_is_said_at_once(self) -> None:
        wrong: dict[str, Any] = {
            "max_parallel": 0, "max_cost": -1, "keep_order": [["stock"], ["stock", "nobody"]], "fixed": ["x"], "fast": True,
        }  # fmt: skip
        with pytest.raises(WorkflowError) as caught:
            optimize(shop(), "quick", wrong, ["spiral"])
        assert [one.path for one in caught.value.problems] == [
            "optimization_target",
            "constraints.fast",
            "constraints.max_cost",
            "constraints.max_parallel",
            "constraints.keep_order[0]",
            "constraints.keep_order[1][1]",
            "constraints.fixed[0]",
            "reference_patterns[0]",
        ]
        assert caught.value.seed_code == "INVALID_INPUTS"


def test_rules_are_kept_though_data_would_allow_more() -> None:
    ruled_shop = replace(shop(), rules=(Rule("precedence", ("credit", "address")),))
    found = optimize(ruled_shop, "performance", engine="beam")
    assert found.after.times.makespan == 2 + 8 + 3 + 4


def test_reference_patterns_steer_it() -> None:
    # What little it would save is not worth a block, unless it is a parallel workflow that is wanted.
    slow = line(
        task("z", 9),
        task("a", 100, "z"),
        task("b", 1, "a"),
        task("c", 1, "a"),
        task("d", 100, "b c"),
        task("e", 9, "d"),
    )
    assert not optimize(slow, "balanced", engine="beam").changes
    found = optimize(slow, "balanced", None, ["parallel"], engine="beam")
    assert [one.transformation for one in found.changes] == ["parallelise"]


def test_an_unsound_workflow_is_refused_with_the_trace_that_shows_it() -> None:
    stuck = net({"a": "xor/xor", "b": "xor/and", "c": "xor/and", "d": "and/and"}, "i>a a>b a>c b>d c>d d>o")
    with pytest.raises(WorkflowError, match="After a, b: Nothing can happen any more"):
        optimize(stuck, "performance", engine="beam")


def test_dead_tasks_are_taken_out() -> None:
    # Both conditions never have a token at once, so nothing ever comes of `never`.
    dead = net(
        {"a": "xor/xor", "b": "xor/and", "c": "xor/and", "never": "and/and"},
        "i>a a>p a>q p>b q>c p>never q>never b>o c>o never>o",
        conditions="p q",
    )
    found = optimize(dead, "behavioral", engine="beam")
    assert "never" not in found.net.tasks
    assert found.changes[0].transformation == "remove_dead"
    assert found.verdict.equivalence.equivalent


def test_a_workflow_that_is_not_made_of_blocks_is_made_better_where_it_can_be() -> None:
    # A choice that is joined in two places, and in one of its ways three tasks that need not wait.
    wild = net(
        {"a": "xor/xor", "b": "xor/xor", "c": "xor/and", "d": "xor/and", "e": "xor/and", "f": "xor/and"},
        "i>a a>b a>c b>c b>f c>d d>e e>f f>o",
    )
    assert layout_of(wild).piece is None
    known = replace(
        wild,
        tasks={
            name: replace(one, duration=5, reads=frozenset(), writes=frozenset([name]))
            for name, one in wild.tasks.items()
        },
    )
    found = optimize(known, "performance", engine="beam")
    assert [one.transformation for one in found.changes] == ["parallelise"]
    assert (found.after.times.makespan or 0) < (found.before.times.makespan or 0)
    assert found.after.times.method == "simulated"


@pytest.mark.skipif(len(ENGINES) < 2, reason="gepa is not installed: pip install 'halflap[gepa]'")
def test_gepa_writes_nothing_to_stdout(capfd: pytest.CaptureFixture[str]) -> None:
    assert optimize(shop(), "performance").engine == "gepa"
    assert capfd.readouterr() == ("", "")


def test_without_gepa_our_own_search_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(genetic, "is_there", lambda: False)
    assert optimize(shop(), "performance").engine == "beam"
    with pytest.raises(WorkflowError, match="halflap\\[gepa\\]"):
        optimize(shop(), "performance", engine="gepa")


@pytest.mark.parametrize("engine", ENGINES)
def test_when_the_time_is_up_what_was_found_so_far_is_given_and_it_is_said(engine: Engine) -> None:
    found = optimize(shop(), "performance", engine=engine, bound=Bound(seconds=0))
    assert found.net == shop()
    assert found.notes == ("The search was ended after 0 s; with more time another workflow may be found.",)


def test_deep_nesting_is_refused_and_not_a_crash() -> None:
    tree: Any = ("task", "a")
    for _ in range(150):
        tree = ("loop", tree, ("task", "b"))
    with pytest.raises(WorkflowError, match="nested too deep"):
        optimize(block_net(tree), "performance")
