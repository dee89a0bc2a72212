"""Whether two workflows have the same traces, and a trace that shows it if not."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from halflap.workflows.equivalence import equivalence
from halflap.workflows.net import Bound
from halflap.workflows.normalform import Forms
from halflap.workflows.study import Study
from workflows import brute
from workflows.nets import block_net, distinct, net, nets, trees

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

    from halflap.workflows.equivalence import Equivalence
    from halflap.workflows.net import Gate, Net
    from workflows.nets import Tree

GATES: tuple[Gate, ...] = ("and", "xor", "or")
LONGEST = 5
SMALL = Bound(states=10_000)


def task(label: str | None) -> Tree:
    return ("task", label)


A, B, C, D, NOTHING = task("a"), task("b"), task("c"), task("d"), task(None)


def many(count: int, prefix: str = "t") -> list[Tree]:
    return [task(f"{prefix}{at}") for at in range(count)]


def same(one: Tree, other: Tree, bound: Bound = SMALL) -> Equivalence:
    return equivalence(Study(block_net(one), bound), Study(block_net(other), bound))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("seq", [A, NOTHING, B]), ("seq", [A, B])),
        (("seq", [A, ("seq", [B, C])]), ("seq", [("seq", [A, B]), C])),
        (("and", [A, ("and", [B, C])]), ("and", [C, A, B])),
        (("xor", [A, ("xor", [B, A])]), ("xor", [B, A])),
        (("or", [A, ("or", [B, C])]), ("or", [C, B, A])),
        (("or", [A, B, NOTHING]), ("and", [("xor", [A, NOTHING]), ("xor", [NOTHING, B])])),
        (("xor", [NOTHING, ("or", [A, B])]), ("and", [("xor", [A, NOTHING]), ("xor", [NOTHING, B])])),
        (("loop", ("loop", A, B), C), ("loop", A, ("xor", [B, C]))),
        (("xor", [NOTHING, ("loop", A, NOTHING)]), ("loop", NOTHING, A)),
        (("loop", NOTHING, ("loop", NOTHING, ("xor", [A, NOTHING]))), ("loop", NOTHING, A)),
        (("loop", ("xor", [A, NOTHING]), ("xor", [B, NOTHING])), ("loop", NOTHING, ("xor", [A, B]))),
    ],
)
def test_what_is_written_in_two_ways_has_one_form(one: Tree, other: Tree) -> None:
    forms = Forms()
    numbers = []
    for tree in (one, other):
        study = Study(block_net(tree))
        assert study.tree is not None
        numbers.append(forms.of(study.net, study.tree))
    assert numbers[0] == numbers[1]
    assert same(one, other).equivalent is True


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("xor", [("seq", [A, B]), ("seq", [A, C])]), ("seq", [A, ("xor", [B, C])])),
        (("xor", [("seq", [A, B]), ("seq", [B, A])]), ("and", [A, B])),
        (("seq", [A, ("loop", NOTHING, ("seq", [B, A]))]), ("loop", A, B)),
    ],
)
def test_what_has_two_forms_may_have_the_same_traces_all_the_same(one: Tree, other: Tree) -> None:
    assert same(one, other).equivalent is True


def test_a_counterexample_says_who_can_do_it() -> None:
    found = same(("seq", [A, B]), ("and", [A, B]))
    assert (found.equivalent, found.trace, found.only_in, found.shortest) == (
        False,
        ("b", "a"),
        "second",
        True,
    )
    back = same(("and", [A, B]), ("seq", [A, B]))
    assert (back.trace, back.only_in) == (("b", "a"), "first")


def test_a_hundred_parallel_tasks_are_no_problem_where_all_else_is_the_same() -> None:
    wide = ("and", many(100))
    found = same(("seq", [wide, ("loop", A, B)]), ("seq", [wide, ("and", [A, B])]), Bound(states=100))
    assert found.equivalent is False
    assert found.trace is not None
    assert len(found.trace) == 101
    assert found.trace[-1] == "a"
    assert (found.only_in, found.shortest) == ("first", True)


def test_parts_that_are_parallel_to_a_hundred_others_are_compared_alone() -> None:
    factored = ("seq", [A, ("xor", [B, C])])
    written_out = ("xor", [("seq", [A, B]), ("seq", [A, C])])
    found = same(("and", [*many(100), factored]), ("and", [written_out, *many(100)]), Bound(states=100))
    assert (found.equivalent, found.method) == (True, "blocks")


def test_a_long_sequence_made_parallel_is_told_at_once_with_a_shortest_trace() -> None:
    found = same(("seq", many(40)), ("and", many(40)))
    assert (found.equivalent, found.only_in) == (False, "second")
    assert found.trace is not None
    assert sorted(found.trace) == sorted(f"t{at}" for at in range(40))


def test_a_task_that_was_left_out_of_two_hundred_is_told_at_once() -> None:
    whole = many(200)
    found = same(("seq", whole), ("seq", [*whole[:90], *whole[91:]]), Bound(states=100))
    assert found.equivalent is False
    assert found.trace is not None
    assert len(found.trace) in {199, 200}
    assert ("t90" in found.trace) == (found.only_in == "first")


def test_past_the_bound_it_is_not_known() -> None:
    # The same sixteen in parallel, once written so that the form does not tell: every trace begins in one of two ways.
    wide = ("and", many(16))
    twice = ("xor", [wide, ("seq", [task("t0"), ("and", many(16)[1:])])])
    found = same(wide, twice, Bound(states=1_000))
    assert found.equivalent is None
    assert found.problem == "More than 1,000 states would have to be compared."


def test_past_the_time_it_is_not_known() -> None:
    wide = ("and", many(16))
    twice = ("xor", [wide, ("seq", [task("t0"), ("and", many(16)[1:])])])
    found = same(wide, twice, Bound(seconds=0))
    assert (found.equivalent, found.problem) == (None, "They could not be compared within 0 s.")


def test_of_an_unbounded_net_it_is_not_known_and_said_why() -> None:
    grows = net({"a": "xor/and", "b": "xor/and", "c": "xor/and"}, "i>a a>b b>a a>c c>o")
    found = equivalence(Study(grows), Study(grows))
    assert found.equivalent is None
    assert "unbounded" in str(found.problem)


def agrees(found: Equivalence, one: set[brute.Word], other: set[brute.Word]) -> bool:
    """Tell whether an answer fits all traces up to a length."""
    unlike = one ^ other
    if found.equivalent is not False:
        return not unlike
    assert found.trace is not None
    if len(found.trace) <= LONGEST and (found.trace in one) is not (found.only_in == "first"):
        return False
    if len(found.trace) <= LONGEST and found.trace not in unlike:
        return False
    shortest = min((len(word) for word in unlike), default=LONGEST + 1)
    return len(found.trace) == shortest if found.shortest and unlike else len(found.trace) >= shortest


@given(nets(leaves=5, most=5), nets(leaves=5, most=5))
def test_equivalence_agrees_with_all_traces_of_small_nets(one: Net, other: Net) -> None:
    try:
        words, others = brute.traces(one, LONGEST), brute.traces(other, LONGEST)
    except brute.TooMuchError:
        assume(False)
    for by_states in (False, True):
        found = equivalence(Study(one, SMALL, by_states=by_states), Study(other, SMALL, by_states=by_states))
        if found.equivalent is not None:
            assert agrees(found, words, others)
        if found.trace is not None:
            assert brute.accepts(one, found.trace) == (found.only_in == "first")
            assert brute.accepts(other, found.trace) == (found.only_in == "second")


@st.composite
def changed(draw: DrawFn) -> tuple[Tree, Tree]:
    """Give a tree, and what becomes of it by a few changes, some of which keep its traces."""
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


@given(changed())
def test_by_forms_and_parts_it_is_the_same_as_by_states(pair: tuple[Tree, Tree]) -> None:
    one, other = (block_net(tree) for tree in pair)
    by_parts = equivalence(Study(one, SMALL), Study(other, SMALL))
    by_states = equivalence(Study(one, SMALL, by_states=True), Study(other, SMALL, by_states=True))
    assume(by_parts.equivalent is not None and by_states.equivalent is not None)
    assert by_parts.equivalent == by_states.equivalent
    if by_parts.trace is not None and by_states.trace is not None and by_states.shortest:
        assert len(by_parts.trace) >= len(by_states.trace)
        assert not by_parts.shortest or len(by_parts.trace) == len(by_states.trace)


@given(changed())
def test_a_counterexample_is_a_trace_of_the_one_tree_and_not_of_the_other(pair: tuple[Tree, Tree]) -> None:
    found = same(*pair)
    if found.trace is not None:
        assume(len(found.trace) <= 6)
        try:
            first, second = (found.trace in brute.tree_traces(tree, len(found.trace)) for tree in pair)
        except brute.TooMuchError:
            assume(False)
        assert (first, second) == (found.only_in == "first", found.only_in == "second")


def test_every_pair_of_small_trees_is_told_right() -> None:
    leaves = [A, B, NOTHING]
    small: list[Tree] = [
        *leaves,
        *((kind, [one, other]) for kind in ("seq", *GATES) for one, other in product(leaves, leaves)),
        *(("loop", one, other) for one, other in product(leaves, leaves)),
    ]
    words = [brute.tree_traces(tree, LONGEST) for tree in small]
    for at, one in enumerate(small):
        for other in range(at, len(small)):
            assert agrees(same(one, small[other]), words[at], words[other]), (one, small[other])
