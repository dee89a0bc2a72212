"""Rules over the tasks of a workflow: they hold, or there is a case that breaks them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from acceptance.figures_oracle import TooLargeError
from halflap.workflows.model.net import MAX_STATES, Rule
from halflap.workflows.score.score import score
from support import examples
from workflows import brute
from workflows.nets import block_nets, net, rule

if TYPE_CHECKING:
    from halflap.workflows.model.net import Net

RULE_KINDS: dict[str, int] = {
    "precedence": 2,
    "response": 2,
    "exclusion": 2,
    "separation_of_duties": 2,
    "required": 1,
}
"""How many tasks each kind of rule names."""


def verdict(one: Net, which: Rule, bound: int = MAX_STATES) -> dict[str, Any]:
    found = score(replace(one, rules=(which,)), bound=bound)
    (rule_result,) = found.response()["raw"]["compliance"]["rules"]
    return dict(rule_result)


def breaks(kind: str, word: brute.Word, first: str, second: str) -> bool:
    """Return whether a trace breaks a rule, by its definition."""
    match kind:
        case "required":
            return first not in word
        case "exclusion":
            return first in word and second in word
        case "precedence":
            return second in word and first not in word[: word.index(second)]
        case "response":
            return first in word and second not in word[len(word) - word[::-1].index(first) :]
    raise AssertionError(kind)


@settings(max_examples=examples(400))
@given(
    block_nets(leaves=5, gates=("and", "xor", "or"), silent=False, distinct=True),
    st.sampled_from(["required", "exclusion", "precedence", "response"]),
    st.data(),
)
def test_a_rule_holds_if_no_trace_breaks_it(one: Net, kind: str, data: st.DataObject) -> None:
    # Labels are the ids here.
    named = [name for name, task in one.tasks.items() if task.label is not None]
    assume(len(named) > 1)
    first, second = data.draw(st.permutations(named))[:2]
    try:
        words = brute.traces(brute.behaviour_of(one), 8)
    except TooLargeError:
        assume(False)
    found = verdict(one, rule(kind, *(first, second)[: RULE_KINDS[kind]]))
    assert found["holds"] is (found["trace"] is None)
    assert not found["holds"] or not any(breaks(kind, word, first, second) for word in words)
    if found["trace"] is not None:
        word = tuple(name for name in found["trace"] if name in named)
        assert breaks(kind, word, first, second)
        assert word in words or len(word) > 8


CHOICE = net({"a": "xor/xor", "b": "xor/and", "c": "xor/and", "d": "xor/and"}, "i>a a>b a>c b>d c>d d>o")
# Two ways that cross, so that there are no blocks.
WILD = net(
    {"a": "xor/and", "b": "xor/and", "c": "xor/and", "d": "xor/and", "e": "and/and", "f": "and/and"},
    "i>a a>b a>c b>d b>e c>e d>f e>f f>o",
)


@pytest.mark.parametrize(
    ("one", "which", "trace"),
    [
        (CHOICE, rule("precedence", "a", "d"), None),
        (CHOICE, rule("precedence", "b", "d"), ["a", "c", "d"]),
        (CHOICE, rule("response", "a", "b"), ["a", "c", "d"]),
        (CHOICE, rule("exclusion", "b", "c"), None),
        (CHOICE, rule("required", "b"), ["a", "c", "d"]),
        (CHOICE, rule("separation_of_duties", "a", "d"), ["a", "b", "d"]),
        (CHOICE, rule("separation_of_duties", "b", "c"), None),
        (WILD, rule("precedence", "b", "e"), None),
        (WILD, rule("exclusion", "d", "e"), ["a", "b", "c", "d", "e", "f"]),
    ],
)
def test_a_rule_holds_or_there_is_a_case_that_breaks_it(
    one: Net, which: Rule, trace: list[str] | None
) -> None:
    found = verdict(one, which)
    assert found["holds"] == (trace is None)
    assert found["trace"] is None if trace is None else sorted(found["trace"]) == sorted(trace)
