"""The verdict on two workflows, in each mode."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from halflap.core.errors import WorkflowError
from halflap.workflows.analysis.compare import compare
from workflows.nets import block_net, net, nets

if TYPE_CHECKING:
    from halflap.workflows.answers import Mode, Verdict
    from halflap.workflows.model.net import Net

MODES: list[Mode] = ["strict", "balanced", "lenient"]
LONG = "a b c d e f g h i1 j k l"
DATA = {"c": ("", "order"), "e": ("order", "")}


def sequence(names: str, **data: tuple[str, str]) -> Net:
    """Return a sequence of tasks; of each, `reads, writes` as words, nothing if left out."""
    listed = names.split()
    flows = " ".join(f"{one}>{other}" for one, other in zip(["i", *listed], [*listed, "o"], strict=True))
    return with_data(net(names, flows), **data)


def with_data(one: Net, **data: tuple[str, str]) -> Net:
    tasks = {}
    for name, task in one.tasks.items():
        reads, writes = data.get(name, ("", ""))
        tasks[name] = replace(task, reads=frozenset(reads.split()), writes=frozenset(writes.split()))
    return replace(one, tasks=tasks)


def anomalies(verdict: Verdict) -> set[str]:
    return {one.kind for one in verdict.anomalies}


def test_a_changed_subnet_changes_the_verdict() -> None:
    root, inner, other = sequence("a"), sequence("b c"), sequence("b d")
    old, new = (replace(root, subnets=(replace(one, id="inner"),)) for one in (inner, other))
    verdict = compare(old, new)
    assert (verdict.validation_passed, verdict.behavioral_equivalence) == (False, False)
    assert anomalies(verdict) == {"missing_activity", "added_activity", "end_activities"}
    assert compare(old, old, "strict").validation_passed


def test_independent_tasks_may_be_swapped_in_balanced_mode_and_not_in_strict() -> None:
    old, new = sequence(LONG), sequence(LONG.replace("c d", "d c"))
    assert compare(old, new).validation_passed
    strict = compare(old, new, "strict")
    assert (strict.validation_passed, len(strict.reasons)) == (False, 1)


def test_a_reversed_dependent_pair_fails_balanced_and_passes_lenient() -> None:
    old = sequence(LONG, **DATA)
    turned = sequence(LONG.replace("c d e", "e d c"), **DATA)
    rest = [("task", name) for name in LONG.split()[5:]]
    together = ("and", [("task", "c"), ("seq", [("task", "e"), ("task", "d")])])
    beside = block_net(("seq", [("task", "a"), ("task", "b"), together, *rest]))
    for new in (turned, beside):
        verdict = compare(old, new)
        assert not verdict.validation_passed
        (anomaly,) = [one for one in verdict.anomalies if one.kind == "reversed_order"]
        assert "'e'" in anomaly.message
        assert "'c'" in anomaly.message
        assert compare(old, new, "lenient").validation_passed


def test_tasks_with_undeclared_data_depend_on_everything() -> None:
    verdict = compare(net("a b c", "i>a a>b b>c c>o"), net("a b c", "i>a a>c c>b b>o"))
    assert "reversed_order" in anomalies(verdict)
    assert any("'a', 'b' and 'c'" in one for one in verdict.warnings)


def test_a_loop_and_a_parallel_block_have_one_footprint_and_not_the_same_traces() -> None:
    a, b = ("task", "a"), ("task", "b")
    response = compare(block_net(("loop", a, b)), block_net(("and", [a, b])), "strict").response()
    assert (response["footprint_compatibility"], response["behavioral_equivalence"]) == (1, False)
    assert response["counterexample"]["trace"] == ["a"]
    assert not response["validation_passed"]


def test_an_unsound_net_passes_in_no_mode_though_it_has_the_same_traces() -> None:
    stuck = with_data(
        net(
            {"a": "xor/xor", "b": "xor/and", "x": "~and/and"},
            "i>a a>p a>q p>b b>o q>x r>x x>r",
            conditions="p q r",
        )
    )
    for mode in MODES:
        verdict = compare(sequence("a b"), stuck, mode)
        assert (verdict.validation_passed, verdict.behavioral_equivalence) == (False, True)
        stuck_at = next(one for one in verdict.anomalies if one.kind == "option_to_complete")
        assert (stuck_at.workflow, stuck_at.trace) == ("optimized_workflow", ["a"])


def test_past_the_bound_the_answer_is_inconclusive_and_strict_fails() -> None:
    names = [("task", f"t{at}") for at in range(12)]
    wide = block_net(("and", names))
    written_out = block_net(("xor", [("and", names), ("seq", [names[0], ("and", names[1:])])]))
    for mode in MODES:
        verdict = compare(wide, written_out, mode, 200)
        assert not verdict.conclusive
        assert verdict.validation_passed == (mode != "strict")
        assert verdict.response()["behavioral_equivalence"] is None


STUCK = net({"a": "xor/xor", "b": "and/and"}, "i>a a>c a>d c>b d>b b>o", conditions="c d")
LEAKS = net({"a": "xor/and", "b": "xor/and"}, "i>a a>b a>p b>o", conditions="p")
TRAPPED = net({"a": "xor/and", "b": "xor/and"}, "i>a a>a b>o")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "never",
    [STUCK, LEAKS, TRAPPED, block_net(("task", None))],
    ids=["stuck", "improper", "no path", "silent"],
)
def test_a_workflow_that_never_completes_or_shows_nothing_gets_a_verdict_with_the_reason(
    never: Net, mode: Mode
) -> None:
    for old, new in ((sequence("a b"), never), (never, sequence("a b")), (never, never)):
        answer = compare(old, new, mode).response()
        assert answer["validation_passed"] is False
        assert any("never completes" in one or "shows no activity" in one for one in answer["reasons"])
        assert (answer["footprint_compatibility"], answer["differences"], answer["conclusive"]) == (
            None,
            [],
            True,
        )
        assert answer["behavioral_equivalence"] is (old is new)


@given(nets(), nets(), st.sampled_from(MODES))
def test_a_verdict_is_consistent_with_its_reasons(one: Net, other: Net, mode: Mode) -> None:
    try:
        verdict = compare(one, other, mode, 2_000)
        itself = compare(one, one, "balanced", 2_000)
    except WorkflowError:
        assume(False)
    json.dumps(verdict.response())
    assert verdict.validation_passed == (not verdict.reasons)
    if mode == "strict" and verdict.validation_passed:
        assert verdict.behavioral_equivalence is True
        assert verdict.footprint_compatibility in {None, 1}
    if mode != "strict" and verdict.validation_passed:
        assert verdict.sound["optimized_workflow"] is True
    if itself.conclusive and itself.footprint_compatibility is not None:
        assert itself.validation_passed == (itself.sound["original_workflow"] is True)
