"""Whether two workflows have the same traces, and a trace that shows it if not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from halflap.workflows.analysis.equivalence import equivalence
from halflap.workflows.analysis.study import Study
from support import examples
from workflows import brute
from workflows.nets import block_net, distinct, net, nets, trees

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

    from halflap.workflows.analysis.equivalence import Equivalence
    from halflap.workflows.model.net import Gate, Net
    from workflows.nets import Tree

GATES: tuple[Gate, ...] = ("and", "xor", "or")
LONGEST = 5
SMALL = 10_000


def task(label: str | None) -> Tree:
    return ("task", label)


A, B, C, NOTHING = task("a"), task("b"), task("c"), task(None)


def many(count: int) -> list[Tree]:
    return [task(f"t{at}") for at in range(count)]


def same(one: Tree, other: Tree, bound: int = SMALL) -> Equivalence:
    return equivalence(Study(block_net(one), bound), Study(block_net(other), bound))


def difference(found: Equivalence) -> tuple[tuple[str, ...], str]:
    assert found.equivalent is False
    assert found.trace is not None
    return found.trace, "first" if found.only_in_first else "second"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("seq", [A, NOTHING, B]), ("seq", [A, B])),
        (("and", [A, ("and", [B, C])]), ("and", [C, A, B])),
        (("xor", [A, ("xor", [B, A])]), ("xor", [B, A])),
        (("or", [A, B, NOTHING]), ("and", [("xor", [A, NOTHING]), ("xor", [NOTHING, B])])),
        (("loop", ("loop", A, B), C), ("loop", A, ("xor", [B, C]))),
        (("xor", [NOTHING, ("loop", A, NOTHING)]), ("loop", NOTHING, A)),
        (("xor", [("seq", [A, B]), ("seq", [A, C])]), ("seq", [A, ("xor", [B, C])])),
        (("xor", [("seq", [A, B]), ("seq", [B, A])]), ("and", [A, B])),
    ],
)
def test_what_is_written_in_two_ways_has_the_same_traces(one: Tree, other: Tree) -> None:
    assert same(one, other).equivalent is True


def test_a_choice_that_is_remembered_differs_from_one_that_is_not() -> None:
    free = net("a b c d e", "i>a i>b a>p b>p p>c c>q q>d q>e d>o e>o", conditions="p q")
    remembered = net(
        {"a": "xor/and", "b": "xor/and", "c": "xor/and", "d": "and/and", "e": "and/and"},
        "i>a i>b a>p b>p p>c c>q q>d q>e a>m m>d b>n n>e d>o e>o",
        conditions="p q m n",
    )
    found = equivalence(Study(remembered), Study(free))
    assert difference(found) == (("a", "c", "e"), "second")


def test_a_hundred_parallel_tasks_are_no_problem_where_all_else_differs_little() -> None:
    wide = ("and", many(100))
    found = same(("seq", [wide, ("loop", A, B)]), ("seq", [wide, ("and", [A, B])]), 100)
    assert (found.equivalent, found.trace) == (False, None)


def test_past_the_bound_it_is_not_known() -> None:
    wide = ("and", many(16))
    twice = ("xor", [wide, ("seq", [task("t0"), ("and", many(16)[1:])])])
    found = same(wide, twice, 1_000)
    assert found.equivalent is None
    assert found.problem


def agrees(found: Equivalence, one: set[brute.Word], other: set[brute.Word]) -> bool:
    """Return whether an answer fits all traces up to a length."""
    unlike = one ^ other
    if found.equivalent is not False:
        return not unlike
    trace, only_in = difference(found)
    if len(trace) <= LONGEST and (trace not in unlike or (trace in one) is not (only_in == "first")):
        return False
    shortest = min((len(word) for word in unlike), default=LONGEST + 1)
    return len(trace) == shortest if unlike else len(trace) >= shortest


@settings(max_examples=examples(400))
@given(nets(leaves=5, most=5), nets(leaves=5, most=5))
def test_equivalence_agrees_with_all_traces_of_small_nets(one: Net, other: Net) -> None:
    try:
        words, others = brute.traces(one, LONGEST), brute.traces(other, LONGEST)
    except brute.TooMuchError:
        assume(False)
    found = equivalence(Study(one, SMALL), Study(other, SMALL))
    if found.equivalent is not None:
        assert agrees(found, words, others)
    if found.equivalent is False:
        trace, only_in = difference(found)
        assert brute.accepts(one, trace) == (only_in == "first")
        assert brute.accepts(other, trace) == (only_in == "second")


@st.composite
def changed(draw: DrawFn) -> tuple[Tree, Tree]:
    """Return a tree, and what becomes of it by a few changes, some of which keep its traces."""
    tree = draw(trees(leaves=7, gates=GATES))
    if draw(st.booleans()):
        tree = distinct(tree)

    def change(one: Tree) -> Tree:
        how = draw(st.integers(0, 9))
        match one:
            case ("task", label):
                made: list[Tree] = [
                    task(draw(st.sampled_from([label, None, "a", "z"]))),
                    ("seq", [one, NOTHING]),
                    ("xor", [one, one]),
                ]
                return made[how] if how < len(made) else one
            case ("loop", body, redo):
                if how == 0:
                    return ("loop", change(redo), change(body))
                return (
                    ("loop", ("loop", body, redo), redo) if how == 1 else ("loop", change(body), change(redo))
                )
            case (kind, parts):
                parts = [change(part) for part in parts]
                if how == 0:
                    parts = parts[::-1]
                if how == 1:
                    kind = draw(st.sampled_from(["seq", *GATES]))
                return (kind, [(kind, parts[:2]), *parts[2:]] if how == 2 and len(parts) > 2 else parts)
        raise AssertionError(one)

    return tree, change(tree)


@settings(max_examples=examples(400))
@given(changed())
def test_a_verdict_on_changed_trees_fits_their_traces(pair: tuple[Tree, Tree]) -> None:
    found = same(*pair)
    assume(found.equivalent is not None)
    try:
        one, other = (brute.tree_traces(tree, LONGEST) for tree in pair)
    except brute.TooMuchError:
        assume(False)
    assert agrees(found, one, other)
