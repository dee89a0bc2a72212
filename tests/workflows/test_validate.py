"""The verdict on two workflows, in each mode."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from halflap.errors import UsageError, WorkflowError
from halflap.workflows.dependence import depend
from halflap.workflows.net import Bound, Task
from halflap.workflows.validate import validate_footprint
from workflows.nets import block_net, net, nets

if TYPE_CHECKING:
    from halflap.workflows.net import Net
    from halflap.workflows.validation import Mode

MODES: list[Mode] = ["strict", "balanced", "lenient"]


def sequence(names: str, **data: tuple[str, str]) -> Net:
    """Give a sequence of tasks; of each, `reads, writes` as words; those of which nothing is said read and write nothing."""
    listed = names.split()
    flows = " ".join(f"{one}>{other}" for one, other in zip(["i", *listed], [*listed, "o"], strict=True))
    return with_data(net(names, flows), **data)


def with_data(one: Net, **data: tuple[str, str]) -> Net:
    tasks = {}
    for name, task in one.tasks.items():
        reads, writes = data.get(name, ("", ""))
        tasks[name] = replace(task, reads=frozenset(reads.split()), writes=frozenset(writes.split()))
    return replace(one, tasks=tasks)


LONG = "a b c d e f g h i1 j k l"
DATA = {"c": ("", "order"), "e": ("order", "")}


def test_the_same_workflow_passes_in_every_mode() -> None:
    for mode in MODES:
        verdict = validate_footprint(sequence("a b c"), sequence("a b c"), mode)
        assert verdict.passed
        assert verdict.conclusive
        assert verdict.reasons == ()
        assert verdict.anomalies == ()


def test_independent_tasks_may_change_places_in_balanced_mode_and_not_in_strict() -> None:
    old, new = sequence(LONG), sequence(LONG.replace("c d", "d c"))
    assert validate_footprint(old, new).passed
    strict = validate_footprint(old, new, "strict")
    assert not strict.passed
    assert strict.reasons == (
        "The traces are not the same; the counterexample is one that only one of the two has.",
    )


def test_what_depends_on_something_may_not_come_before_it() -> None:
    old = sequence(LONG, **DATA)
    new = sequence(LONG.replace("c d e", "e d c"), **DATA)
    verdict = validate_footprint(old, new)
    assert not verdict.passed
    assert verdict.reasons == ("The order of 1 pair that depend on each other can be reversed.",)
    (turned,) = [one for one in verdict.anomalies if one.kind == "reversed_order"]
    assert turned.message == "'e' depends on 'c', which came before it, and now it can come first."
    # The two are no neighbours, before or after: in the footprint they have nothing to do with each other.
    assert verdict.agreement is not None
    assert ("c", "e") not in {(one.row, one.column) for one in verdict.agreement.differences}
    assert validate_footprint(old, new, "lenient").passed


def test_nor_at_the_same_time() -> None:
    rest = [("task", name) for name in LONG.split()[5:]]
    together = ("and", [("task", "c"), ("seq", [("task", "e"), ("task", "d")])])
    new = block_net(("seq", [("task", "a"), ("task", "b"), together, *rest]))
    verdict = validate_footprint(sequence(LONG, **DATA), new)
    assert [one.message for one in verdict.anomalies] == [
        "'e' depends on 'c', which came before it, and now it can come first."
    ]


def test_within_a_loop_the_order_counts_too() -> None:
    turn, turned = ("seq", [("task", "a"), ("task", "b")]), ("seq", [("task", "b"), ("task", "a")])
    old, new = (block_net(("loop", body, ("task", "x"))) for body in (turn, turned))
    verdict = validate_footprint(old, new)
    assert "reversed_order" in {one.kind for one in verdict.anomalies}


def test_tasks_that_do_not_say_what_they_read_and_write_depend_on_everything() -> None:
    old = net("a b c", "i>a a>b b>c c>o")
    verdict = validate_footprint(old, net("a b c", "i>a a>c c>b b>o"))
    assert [one.message for one in verdict.anomalies if one.kind == "reversed_order"] == [
        "'c' depends on 'b', which came before it, and now it can come first."
    ]
    assert (
        "original_workflow: what 'a', 'b', 'c' read and write is not said, so everything counts as depending on it."
        in verdict.warnings
    )


def test_what_a_task_reads_is_taken_from_the_original() -> None:
    old = sequence("a b", a=("", "x"), b=("x", ""))
    verdict = validate_footprint(old, sequence("b a"))
    assert "reversed_order" in {one.kind for one in verdict.anomalies}


@pytest.mark.parametrize(
    ("one", "other", "answer"),
    [
        (("", "x"), ("x", ""), True),
        (("x", ""), ("", "x"), True),
        (("", "x"), ("", "x"), True),
        (("x", ""), ("x", ""), False),
        (("x", "y"), ("z", "w"), False),
    ],
)
def test_dependence(one: tuple[str, str], other: tuple[str, str], answer: bool) -> None:
    def made(data: tuple[str, str]) -> Task:
        return Task("t", "t", reads=frozenset(data[0].split()), writes=frozenset(data[1].split()))

    assert depend(made(one), made(other)) is answer
    assert depend(made(one), Task("u", "u", reads=frozenset())) is True


def test_lenient_needs_the_same_activities() -> None:
    verdict = validate_footprint(sequence(LONG), sequence(LONG.replace("c ", "")), "lenient")
    assert verdict.reasons == ("The activities are not the same.",)
    assert [one.message for one in verdict.anomalies] == ["No complete case of it has 'c'."]


def test_too_little_agreement_fails_in_each_mode() -> None:
    old = sequence("a b c d")
    wide = with_data(block_net(("and", [("task", name) for name in "abcd"])))
    verdict = validate_footprint(old, wide)
    assert verdict.reasons[0].startswith("The footprints agree in 0.250 of the cells; 0.8 are needed.")
    assert validate_footprint(old, wide, "lenient").reasons[0].endswith("0.5 are needed.")


def test_what_is_not_sound_passes_in_no_mode_though_it_has_the_same_traces() -> None:
    old = sequence("a b")
    stuck = with_data(
        net(
            {"a": "xor/xor", "b": "xor/and", "x": "~and/and"},
            "i>a a>p a>q p>b b>o q>x r>x x>r",
            conditions="p q r",
        )
    )
    for mode in MODES:
        verdict = validate_footprint(old, stuck, mode)
        assert verdict.equivalence.equivalent is True
        assert "The optimised workflow is not sound." in verdict.reasons
        stuck_at = next(one for one in verdict.anomalies if one.kind == "option_to_complete")
        assert (stuck_at.workflow, stuck_at.trace) == ("optimized_workflow", ("a",))


def test_past_the_bound_strict_does_not_pass_and_the_answer_says_why() -> None:
    names = [("task", f"t{at}") for at in range(12)]
    wide = block_net(("and", names))
    written_out = block_net(("xor", [("and", names), ("seq", [names[0], ("and", names[1:])])]))
    for mode in MODES:
        verdict = validate_footprint(wide, written_out, mode, Bound(states=200))
        assert not verdict.conclusive
        assert verdict.unknown == ("Equivalence of traces: More than 200 states would have to be compared.",)
        assert verdict.passed == (mode != "strict")
        assert verdict.response()["behavioral_equivalence"] is None


def test_where_the_footprint_is_not_known_nothing_passes() -> None:
    names = [f"t{at}" for at in range(8)]
    gates = {"s": "xor/and", **dict.fromkeys(names, "xor/and"), "j": "and/and", "k": "and/and"}
    flows = "i>s " + " ".join(f"s>{name} {name}>j" for name in names) + " t0>x x>k j>k k>o"
    one = net(gates, flows, conditions="x")
    for mode in MODES:
        verdict = validate_footprint(one, one, mode, Bound(states=50))
        assert not verdict.passed
        assert not verdict.conclusive
        assert verdict.response()["footprint_compatibility"] is None
        assert len(verdict.unknown) == 5


def test_what_can_never_be_completed_is_an_error_that_says_why() -> None:
    stuck = net({"a": "xor/xor", "b": "and/and"}, "i>a a>c a>d c>b d>b b>o", conditions="c d")
    with pytest.raises(WorkflowError) as refused:
        validate_footprint(stuck, sequence("a b"))
    (problem,) = refused.value.problems
    assert problem.path == "original_workflow"
    assert problem.message == (
        "No case of it can be completed. After a: Nothing can happen any more: 'b' waits for 'd'."
    )


def test_or_gates_that_form_no_block_are_told_for_both_at_once() -> None:
    odd = net({"s": "xor/or", "a": "xor/and", "b": "xor/and"}, "i>s s>a s>b a>o b>o")
    with pytest.raises(WorkflowError) as refused:
        validate_footprint(odd, odd)
    assert [problem.path for problem in refused.value.problems] == [
        "original_workflow.tasks[0].split",
        "optimized_workflow.tasks[0].split",
    ]


def test_a_mode_that_there_is_not_is_refused() -> None:
    wrong: Any = "harsh"
    with pytest.raises(UsageError, match="strict, balanced, lenient"):
        validate_footprint(sequence("a"), sequence("a"), wrong)


def test_the_response_has_every_field() -> None:
    response = validate_footprint(sequence("a b c"), sequence("a c b")).response()
    assert json.loads(json.dumps(response)) == response
    assert response == {
        "validation_passed": False,
        "validation_mode": "balanced",
        "reasons": ["The footprints agree in 0.333 of the cells; 0.8 are needed."],
        "footprint_compatibility": pytest.approx(1 / 3),
        "directly_follows_similarity": 0,
        "behavioral_equivalence": False,
        "counterexample": {"trace": ["a", "b", "c"], "only_in": "original_workflow", "shortest": True},
        "differences": [
            {"row": "a", "column": "b", "original": "→", "optimized": "#"},
            {"row": "a", "column": "c", "original": "#", "optimized": "→"},
            {"row": "b", "column": "a", "original": "←", "optimized": "#"},
            {"row": "b", "column": "c", "original": "→", "optimized": "←"},
            {"row": "c", "column": "a", "original": "#", "optimized": "←"},
            {"row": "c", "column": "b", "original": "←", "optimized": "→"},
        ],
        "differing_cells": 6,
        "activities": ["a", "b", "c"],
        "start_activities": {"original_workflow": ["a"], "optimized_workflow": ["a"]},
        "end_activities": {"original_workflow": ["c"], "optimized_workflow": ["b"]},
        "sound": {"original_workflow": True, "optimized_workflow": True},
        "anomalies": [
            {
                "kind": "end_activities",
                "workflow": "optimized_workflow",
                "message": "A case ends with 'b'; in the original it ends with 'c'.",
                "trace": None,
            }
        ],
        "warnings": [],
        "conclusive": True,
        "inconclusive_because": [],
    }


@given(nets(), nets(), st.sampled_from(MODES))
def test_strict_passes_only_what_agrees_in_everything(one: Net, other: Net, mode: Mode) -> None:
    try:
        verdict = validate_footprint(one, other, mode, Bound(states=2_000))
    except WorkflowError as error:
        assume("can't be compared with" not in str(error))
        raise
    json.dumps(verdict.response())
    assert verdict.passed == (not verdict.reasons)
    if mode == "strict" and verdict.passed:
        assert verdict.equivalence.equivalent is True
        assert verdict.agreement is None or verdict.agreement.cells == 1
    if mode != "strict" and verdict.passed:
        assert verdict.soundness[1].sound is True


@given(nets(gates=("and", "xor")))
def test_a_workflow_stands_for_itself_or_it_is_said_why_not(one: Net) -> None:
    try:
        verdict = validate_footprint(one, one, "balanced", Bound(states=5_000))
    except WorkflowError:
        assume(False)
    assert verdict.passed == (verdict.soundness[0].sound is True)


def test_what_is_told_of_each_is_by_the_names_of_the_arguments() -> None:
    one = net("a b", "i>a a>b b>o")
    told = validate_footprint(one, one).response()
    for key in ("sound", "start_activities", "end_activities"):
        assert list(told[key]) == ["original_workflow", "optimized_workflow"]


def test_that_most_have_nothing_to_do_with_each_other_is_said_where_agreement_is_high() -> None:
    # 3 activities: 1 - 4/9 of the cells agree, and that is not much.
    little = validate_footprint(net("a b c", "i>a a>b b>c c>o"), net("a b c", "i>c c>b b>a a>o"))
    assert little.agreement is not None
    assert 0.5 <= little.agreement.cells < 0.8
    assert not any("nothing to do with each other" in one for one in little.warnings)
    names = [f"t{at}" for at in range(12)]
    line, back = (
        net(" ".join(names), " ".join(f"{one}>{two}" for one, two in pairwise(["i", *listed, "o"])))
        for listed in (names, names[::-1])
    )
    much = validate_footprint(line, back)
    assert much.agreement is not None
    assert much.agreement.cells >= 0.8
    assert any("nothing to do with each other" in one for one in much.warnings)
