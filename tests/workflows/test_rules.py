"""Rules over the tasks of a workflow: they hold, or there is a case that breaks them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from halflap.workflows.score.score import score
from support import examples
from workflows import brute
from workflows.nets import block_nets, net, rule

if TYPE_CHECKING:
    from halflap.workflows.model.net import Net, Rule


def verdict(one: Net, which: Rule) -> dict[str, Any]:
    found = score(replace(one, rules=(which,)))
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
    words = brute.traces(brute.behaviour_of(one), 8)
    found = verdict(one, rule(kind, *(first, second)[: 1 if kind == "required" else 2]))
    assert found["holds"] is (found["trace"] is None)
    assert not found["holds"] or not any(breaks(kind, word, first, second) for word in words)
    if found["trace"] is not None:
        word = tuple(name for name in found["trace"] if name in named)
        assert breaks(kind, word, first, second)
        assert word in words or len(word) > 8


# Two ways that cross, so that there are no blocks.
WILD = net(
    {"a": "xor/and", "b": "xor/and", "c": "xor/and", "d": "xor/and", "e": "and/and", "f": "and/and"},
    "i>a a>b a>c b>d b>e c>e d>f e>f f>o",
)


@pytest.mark.parametrize(
    ("which", "trace"),
    [
        (rule("precedence", "b", "e"), None),
        (rule("exclusion", "d", "e"), ["a", "b", "c", "d", "e", "f"]),
        # Nobody is known to do them.
        (rule("separation_of_duties", "d", "e"), ["a", "b", "c", "d", "e", "f"]),
    ],
)
def test_a_rule_over_an_unstructured_net_holds_or_a_case_breaks_it(
    which: Rule, trace: list[str] | None
) -> None:
    found = verdict(WILD, which)
    assert found["holds"] == (trace is None)
    assert found["trace"] is None if trace is None else sorted(found["trace"]) == trace
