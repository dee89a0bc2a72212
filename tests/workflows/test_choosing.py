"""What is taken of all that was found, what stands beside it in the Pareto front, and what is said of both."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from halflap.errors import WorkflowError
from halflap.workflows.constraints import Constraints
from halflap.workflows.dependence import reversals
from halflap.workflows.form import read_net
from halflap.workflows.optimize import optimize
from halflap.workflows.optimizing import genetic
from halflap.workflows.optimizing.evaluation import Evaluator
from halflap.workflows.pieces.racing import raced
from halflap.workflows.pieces.taking import layout_of
from halflap.workflows.score import score
from halflap.workflows.study import Study
from halflap.workflows.transforming.ground import Ground
from support import examples
from workflows.nets import block_net
from workflows.timed import busy, line, lines, small_nets, task, timed

if TYPE_CHECKING:
    from halflap.workflows.net import Net
    from halflap.workflows.optimize import Engine
    from halflap.workflows.optimizing.evaluation import Evaluation, Target
    from workflows.nets import Tree

ENGINES: list[Engine] = ["beam", "gepa"] if genetic.is_there() else ["beam"]
MEASURES = ("expected_makespan", "expected_cost", "size", "total_score")


def shared_label() -> Net:
    """Two tasks are seen as B: the one writes what x reads, the other has nothing to do with it; x always comes before B."""
    free = [task(name, 4, "", "") for name in "pqr"]
    return line(
        task("x", 3, "z", ""),
        task("b1", 3, "", "", label="B"),
        *free,
        task("s", 2, "", ""),
        task("b2", 1, "", "z", label="B"),
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_the_best_that_is_permitted_is_taken_however_many_better_ones_are_not(engine: Engine) -> None:
    one = shared_label()
    found = optimize(one, "performance", engine=engine)
    # B stays behind x: 3 and 3. Without that it would be 4.
    assert found.after.times.makespan == 6
    assert all(reversals(Study(one), Study(front.net)) == () for front in found.front)


SMALL = st.one_of(timed(small_nets(5, gates=("and", "xor"))), busy(5), lines(5))


def vector(one: Evaluation) -> tuple[float, float, int]:
    return round(one.times.makespan or 0, 9), round(one.times.cost or 0, 9), one.size


@settings(max_examples=examples(300))
@given(
    SMALL,
    st.sampled_from(["performance", "behavioral", "balanced"]),
    st.sampled_from([None, 1, 2]),
    st.data(),
)
def test_the_front_is_all_that_may_be_taken_and_is_not_dominated(
    one: Net, target: Target, most: int | None, data: st.DataObject
) -> None:
    wanted = Constraints(max_parallel=most)
    evaluator = Evaluator(Ground(wanted.facts(one), wanted), layout_of(one), target)
    assert evaluator.start is not None
    waiting = [evaluator.start]
    for here in waiting:
        for new, _, _ in evaluator.neighbours(here.layout):
            fresh = new not in evaluator.found
            known = evaluator.evaluate(new)
            if fresh and known.refused is None:
                waiting.append(known)
        assume(len(evaluator.found) < 400)
    least = min(known.excess for known in waiting)
    vectors = {vector(known) for known in waiting if known.excess == least}
    best = {
        mine
        for mine in vectors
        if not any(
            yours != mine and all(a <= b for a, b in zip(yours, mine, strict=True)) for yours in vectors
        )
    }
    engine = data.draw(st.sampled_from(ENGINES))
    constraints = None if most is None else {"max_parallel": most}
    found = optimize(one, target, constraints, engine=engine)
    early = any("before all sequences" in note for note in found.notes)
    assert early or {vector(front) for front in found.front} == best
    assert len({vector(front) for front in found.front}) == len(found.front)
    assert found.after in found.front or target == "balanced"
    said = any("not in the Pareto front" in note for note in found.notes)
    assert said == (found.after not in found.front)


def test_the_front_holds_nothing_that_is_beyond_a_constraint_where_it_can_be_kept() -> None:
    beside = block_net(("and", [("task", "a"), ("task", "b"), ("task", "c")]))
    tasks = {name: replace(one, reads=frozenset(), writes=frozenset()) for name, one in beside.tasks.items()}
    found = optimize(replace(beside, tasks=tasks), "performance", {"max_parallel": 1}, engine="beam")
    assert [(front.times.width, front.times.makespan) for front in found.front] == [(1, 3)]


def test_what_has_the_better_score_though_another_is_smaller_is_taken_with_a_note() -> None:
    # Without the silent task there would be less, but what there is would hang together more closely.
    small = read_net(
        {
            "id": "small",
            "input": "i",
            "output": "o",
            "tasks": [
                {"id": "a", "split": "xor", "duration": 2, "reads": [], "writes": []},
                {"id": "end", "label": None},
                {"id": "b", "duration": 4, "reads": [], "writes": ["x"]},
            ],
            "flows": [
                {"from": "i", "to": "a"},
                {"from": "a", "to": "end", "predicate": "z > 0"},
                {"from": "a", "to": "b", "default": True},
                {"from": "b", "to": "end"},
                {"from": "end", "to": "o"},
            ],
        }
    )
    found = optimize(small, "balanced", engine="beam")
    (other,) = found.front
    assert found.net == small
    assert other.size < found.after.size
    assert other.total < found.after.total
    (note,) = found.notes
    assert note.startswith("What was taken is not in the Pareto front")
    assert not any(one["chosen"] for one in found.response()["pareto_front"])


def test_leaving_work_out_is_no_loss_though_the_critical_path_is_shorter_then() -> None:
    look = {"label": "look", "duration": 5, "reads": ["x"], "writes": ["y"], "idempotent": True}
    twice = line(
        {"id": "once", **look}, {"id": "again", **look}, *(task(name, 4, "", "") for name in "abcde")
    )
    found = optimize(twice, "balanced", {"keep_order": True}, engine="beam")
    assert "again" not in found.net.tasks
    assert found.after.times.makespan == 25


def looping() -> Net:
    """A loop, and then a task of the same person that does not need it: side by side, cases have to be played out."""
    net = block_net(("seq", [("loop", ("task", "a"), ("task", "b")), ("task", "c"), ("task", "d")]))
    data = {"a": 3, "b": 2, "c": 4, "d": 5}
    tasks = {
        name: replace(one, reads=frozenset())
        if one.label is None
        else replace(
            one,
            duration=data[one.label],
            reads=frozenset(),
            writes=frozenset([one.label]),
            resource="bob" if one.label in "ac" else None,
        )
        for name, one in net.tasks.items()
    }
    return replace(net, tasks=tasks)


def gained(answer: dict[str, Any], name: str) -> float:
    return math.fsum(one["gain"][name] for one in answer["transformations"])


@pytest.mark.parametrize("engine", ENGINES)
def test_gains_add_up_where_times_are_simulated(engine: Engine) -> None:
    answer = optimize(looping(), "performance", engine=engine).response()
    before, after = answer["metrics"]["before"], answer["metrics"]["after"]
    assert after["method"] == "simulated"
    assert after["expected_makespan"] < before["expected_makespan"]
    for name in MEASURES:
        sign = -1 if name == "total_score" else 1
        assert gained(answer, name) == pytest.approx(sign * (before[name] - after[name]), abs=1e-9)
    assert {one["method"] for one in answer["pareto_front"]} <= {"exact", "simulated"}


@settings(max_examples=examples(150))
@given(
    timed(small_nets(6, gates=("and", "xor"), loops=True), ("bob", None)),
    st.sampled_from(["performance", "behavioral", "balanced"]),
)
def test_gains_add_up_to_the_difference_of_the_metrics(one: Net, target: Target) -> None:
    answer = optimize(one, target, engine="beam").response()
    before, after = answer["metrics"]["before"], answer["metrics"]["after"]
    for name in MEASURES:
        sign = -1 if name == "total_score" else 1
        assert gained(answer, name) == pytest.approx(sign * (before[name] - after[name]), abs=1e-9)


def test_metrics_are_those_of_a_score_whatever_is_to_stay() -> None:
    one = line(task("a", 2), task("b", 3), task("c", 4, "a"))
    found = optimize(one, "performance", {"fixed": ["b"], "keep_order": [["a", "b"]]}, engine="beam")
    told, scored = found.before, score(one)
    assert told.total == pytest.approx(scored.total)
    assert told.times.critical_path == 6


class TestKeepOrder:
    def test_a_pair_the_wrong_way_round_is_refused(self) -> None:
        one = line(task("a", 2), task("b", 3))
        with pytest.raises(WorkflowError) as caught:
            optimize(one, "performance", {"keep_order": [["b", "a"]]}, engine="beam")
        (problem,) = caught.value.problems
        assert problem.path == "constraints.keep_order[0]"
        assert "the other way round: of the two, 'a' comes first" in problem.message

    def test_it_goes_by_tasks_and_not_by_what_they_are_called(self) -> None:
        same: dict[str, Any] = {"label": "look", "duration": 3}
        one = line(task("a", 2), task("b", writes="", **same), task("c", 4), task("d", writes="", **same))
        found = optimize(one, "performance", {"keep_order": [["c", "d"]]}, engine="beam")
        assert not found.notes
        with pytest.raises(WorkflowError, match=r"keep_order\[0\]"):
            optimize(one, "performance", {"keep_order": [["c", "b"]]}, engine="beam")

    def test_a_task_is_not_before_itself(self) -> None:
        with pytest.raises(WorkflowError, match="names 'a' twice"):
            optimize(line(task("a"), task("b")), "performance", {"keep_order": [["a", "a"]]}, engine="beam")

    def test_of_a_pair_without_an_order_it_is_said_that_nothing_is_kept(self) -> None:
        both = block_net(("and", [("task", "a"), ("task", "b")]))
        first, then = (name for name, one in both.tasks.items() if one.label is not None)
        found = optimize(both, "performance", {"keep_order": [[first, then]]}, engine="beam")
        assert found.notes == (
            f"'keep_order' of '{first}' and '{then}' keeps nothing: the workflow has no order for them.",
        )


@pytest.mark.parametrize("engine", ENGINES)
def test_of_what_is_equally_fast_the_one_with_more_of_the_patterns_is_taken(engine: Engine) -> None:
    # `free` can wait for the first and still be done in time, which takes one gate less; or be beside all of them.
    one = line(task("a", 5, "y", ""), task("b", 3, "", "y"), task("c", 2, "y", ""), task("free", 2, "", ""))
    plain = optimize(one, "performance", engine=engine)
    steered = optimize(one, "performance", None, ["parallel"], engine=engine)
    assert plain.after.times.makespan == steered.after.times.makespan == 10
    assert plain.after.size < steered.after.size
    scores = [score(found.net, ["parallel"]).patterns["parallel"].score for found in (plain, steered)]
    assert scores[0] == pytest.approx(2 / 3)
    assert scores[1] == 1
    assert any("less of the patterns that were asked for" in note for note in steered.notes)


def test_a_search_that_ends_early_says_so_and_one_that_does_not_says_nothing() -> None:
    many = line(*(task(f"t{at}", 1 + at % 5, f"t{at - 3}" if at > 2 else "") for at in range(30)))
    (note,) = optimize(many, "performance", engine="beam").notes
    assert "before all sequences of changes were tried" in note
    assert not optimize(shared_label(), "performance", engine="beam").notes


def test_what_one_beside_them_races_with_keeps_its_order() -> None:
    # Nothing is known of `wild`: who looks before it does something, and who looks later, may see other things.
    net = block_net(("and", [("task", "wild"), ("seq", [("task", "first"), ("task", "second")])]))
    tasks = {
        name: replace(one, duration=5, reads=frozenset("x"), writes=frozenset())
        if one.label in {"first", "second"}
        else one
        for name, one in net.tasks.items()
    }
    racing = replace(net, tasks=tasks)
    assert optimize(racing, "performance", engine="beam").after.times.makespan == 10
    calm = {
        name: replace(one, reads=frozenset(), writes=frozenset("y")) if one.label == "wild" else one
        for name, one in tasks.items()
    }
    assert optimize(replace(net, tasks=calm), "performance", engine="beam").after.times.makespan == 5


def _beside(**reads_of: str) -> Net:
    """Give `write_y` before `read_z`, beside `write_z` before `look`, with what the last of them reads; in it, `deep` beside both."""
    inner: Tree = ("seq", [("task", "write_y"), ("task", "read_z")])
    if "deep" in reads_of:
        inner = ("and", [inner, ("task", "deep")])
    net = block_net(("and", [inner, ("seq", [("task", "write_z"), ("task", "look")])]))
    writes = {"write_y": "y", "write_z": "z"}
    reads = {"read_z": "z", **reads_of}
    tasks = {
        name: replace(
            one,
            duration=5,
            reads=frozenset(reads.get(one.label or "", "")),
            writes=frozenset(writes.get(one.label or "", "")),
        )
        for name, one in net.tasks.items()
    }
    return replace(net, tasks=tasks)


def test_two_that_race_each_with_another_keep_their_order() -> None:
    # Else `look` could miss what was written before `read_z`, which missed what was written before `look`.
    assert optimize(_beside(look="y"), "performance", engine="beam").after.times.makespan == 10
    # Nobody looks at y beside it, so nobody can tell.
    assert optimize(_beside(look=""), "performance", engine="beam").after.times.makespan == 5
    # One of the two races within the branch, the other with what is beside that.
    net = _beside(look="", deep="yz")
    labels = {frozenset(net.tasks[one].label for one in pair) for pair in raced(net)}
    assert labels == {frozenset(("read_z", "write_y"))}
