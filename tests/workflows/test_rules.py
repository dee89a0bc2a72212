from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halflap.workflows.net import RULE_KINDS, Bound, Rule
from halflap.workflows.pieces.facts import Facts
from halflap.workflows.pieces.taking import layout_of
from halflap.workflows.rules import verdict_by_pieces, verdict_by_states
from halflap.workflows.study import Study
from support import examples
from workflows.nets import block_nets, net

if TYPE_CHECKING:
    from halflap.workflows.net import Net, RuleKind


@settings(max_examples=examples(400))
@given(block_nets(leaves=7, gates=("and", "xor", "or")), st.sampled_from(sorted(RULE_KINDS)), st.data())
def test_both_ways_to_judge_a_rule_agree(one: Net, kind: RuleKind, data: st.DataObject) -> None:
    if len(one.tasks) < 2:
        return
    rule = Rule(kind, tuple(data.draw(st.permutations(sorted(one.tasks)))[: RULE_KINDS[kind]]))
    facts, piece = Facts(one), layout_of(one).piece
    assert piece is not None
    by_pieces, by_states = verdict_by_pieces(facts, piece, rule), verdict_by_states(Study(one), rule)
    assert by_pieces.holds == by_states.holds == verdict_by_pieces(facts, piece, rule, told=False).holds
    if by_states.trace is not None:
        assert by_pieces.trace is not None
        # Both give a shortest case that breaks it, if not the same.
        assert len(by_pieces.trace) == len(by_states.trace)
        assert _possible(one, by_pieces.trace)


def _possible(one: Net, trace: tuple[str, ...]) -> bool:
    """Tell whether a workflow can do exactly these tasks, in this order, and is then complete."""
    space = Study(one).space
    now = {0}
    for task in (*trace, None):
        waiting = sorted(now)
        reached = set(now)
        for state in waiting:
            for step, target in space.steps[state]:
                if space.machine.steps[step].task is None and target not in reached:
                    reached.add(target)
                    waiting.append(target)
        if task is None:
            return space.final() in reached
        now = {
            target
            for state in reached
            for step, target in space.steps[state]
            if space.machine.steps[step].task == task
        }
    return False


CHOICE = net({"a": "xor/xor", "b": "xor/and", "c": "xor/and", "d": "xor/and"}, "i>a a>b a>c b>d c>d d>o")


@pytest.mark.parametrize(
    ("rule", "trace"),
    [
        (Rule("precedence", ("a", "d")), None),
        (Rule("precedence", ("b", "d")), ("a", "c", "d")),
        (Rule("response", ("b", "d")), None),
        (Rule("response", ("a", "b")), ("a", "c", "d")),
        (Rule("exclusion", ("b", "c")), None),
        (Rule("exclusion", ("a", "b")), ("a", "b", "d")),
        (Rule("required", ("d",)), None),
        (Rule("required", ("b",)), ("a", "c", "d")),
        (Rule("separation_of_duties", ("a", "d")), ("a", "b", "d")),
        (Rule("separation_of_duties", ("b", "c")), None),
    ],
)
def test_a_rule_holds_or_there_is_a_case_that_breaks_it(rule: Rule, trace: tuple[str, ...] | None) -> None:
    piece = layout_of(CHOICE).piece
    assert piece is not None
    for found in (verdict_by_pieces(Facts(CHOICE), piece, rule), verdict_by_states(Study(CHOICE), rule)):
        assert found.holds == (trace is None)
        assert found.trace == trace


def test_duties_are_separate_if_their_resources_are_known_and_differ() -> None:
    def judged(one: str | None, other: str | None) -> tuple[bool | None, str | None]:
        tasks = {
            **CHOICE.tasks,
            "a": replace(CHOICE.tasks["a"], resource=one),
            "d": replace(CHOICE.tasks["d"], resource=other),
        }
        found = verdict_by_states(
            Study(replace(CHOICE, tasks=tasks)), Rule("separation_of_duties", ("a", "d"))
        )
        return found.holds, found.why

    assert judged("eve", "bob") == (True, None)
    assert judged("eve", "eve") == (False, "'eve' does both 'a' and 'd'.")
    assert judged("eve", None)[1] == (
        "It is not said who does 'd', so it can't be shown that 'a' and 'd' are done by different resources."
    )


STUCK = net({"a": "xor/xor", "b": "xor/and", "c": "xor/and", "d": "and/and"}, "i>a a>b a>c b>d c>d d>o")


@pytest.mark.parametrize("kind", sorted(RULE_KINDS))
def test_of_a_workflow_that_no_case_can_complete_no_rule_holds(kind: RuleKind) -> None:
    one = replace(STUCK, tasks={name: replace(task, resource=name) for name, task in STUCK.tasks.items()})
    found = verdict_by_states(Study(one), Rule(kind, ("a", "d")[: RULE_KINDS[kind]]))
    if kind == "required":
        assert (found.holds, found.why) == (
            False,
            "No case can be completed, so there is none that has 'a'.",
        )
    else:
        assert found.holds is None
        assert found.why is not None
        assert found.why.endswith("is not judged: no case of the workflow can be completed.")


def test_duties_are_not_known_to_be_separate_where_it_is_not_known_whether_there_is_a_case() -> None:
    one = replace(STUCK, tasks={name: replace(task, resource=name) for name, task in STUCK.tasks.items()})
    found = verdict_by_states(Study(one, Bound(1)), Rule("separation_of_duties", ("a", "d")))
    assert found.holds is None


def test_past_the_bound_it_is_not_known() -> None:
    wild = net(
        {"a": "xor/and", "b": "xor/and", "c": "xor/and", "d": "xor/and", "e": "and/and", "f": "and/and"},
        "i>a a>b a>c b>d b>e c>e d>f e>f f>o",
    )
    found = verdict_by_states(Study(wild, Bound(2)), Rule("required", ("a",)))
    assert found.holds is None
    assert found.why is not None
    assert "There are more than 2 states." in found.why
