"""Rules over the tasks of a workflow: they hold, or there is a case that breaks them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from halflap.workflows.model.net import MAX_STATES, Rule
from halflap.workflows.score.score import score
from support import examples
from workflows import brute
from workflows.nets import block_net, distinct, net, rule, trees

if TYPE_CHECKING:
    from halflap.workflows.model.net import Net
    from workflows.nets import Tree


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
    (told,) = found.response()["raw"]["compliance"]["rules"]
    return dict(told)


def breaks(kind: str, word: brute.Word, first: str, second: str) -> bool:
    """Return whether a trace breaks a rule, by what the rule says."""
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
    trees(leaves=5, gates=("and", "xor", "or"), silent=False).map(distinct),
    st.sampled_from(["required", "exclusion", "precedence", "response"]),
    st.data(),
)
def test_a_rule_holds_if_no_trace_breaks_it(tree: Tree, kind: str, data: st.DataObject) -> None:
    one = block_net(tree)
    named = {task.label: name for name, task in one.tasks.items() if task.label is not None}
    assume(len(named) > 1)
    first, second = data.draw(st.permutations(sorted(named)))[:2]
    try:
        words = brute.tree_traces(tree, 8)
    except brute.TooMuchError:
        assume(False)
    broken = [word for word in words if breaks(kind, word, first, second)]
    told = verdict(one, rule(kind, *(named[first], named[second])[: RULE_KINDS[kind]]))
    if broken:
        assert told["holds"] is False
    if told["trace"] is not None:
        # The case is named by tasks, silent ones among them.
        seen = tuple(one.tasks[name].label for name in told["trace"])
        word = tuple(label for label in seen if label is not None)
        assert breaks(kind, word, first, second)
        assert word in words or len(word) > 8
    else:
        assert told["holds"] is True


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
    told = verdict(one, which)
    assert told["holds"] == (trace is None)
    assert told["trace"] is None if trace is None else sorted(told["trace"]) == sorted(trace)


@pytest.mark.parametrize("kind", sorted(RULE_KINDS))
def test_of_a_workflow_that_no_case_can_complete_no_rule_holds(kind: str) -> None:
    stuck = net({"a": "xor/xor", "b": "xor/and", "c": "xor/and", "d": "and/and"}, "i>a a>b a>c b>d c>d d>o")
    one = replace(stuck, tasks={name: replace(task, resource=name) for name, task in stuck.tasks.items()})
    told = verdict(one, rule(kind, *("a", "d")[: RULE_KINDS[kind]]))
    assert told["holds"] is (False if kind == "required" else None)
