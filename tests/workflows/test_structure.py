"""Which nets are made of blocks, and of which."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given

from halflap.workflows.block import block_text, depth_of, tasks_of
from halflap.workflows.structure import Mismatch, structure
from workflows.nets import block_net, net, nets, trees

if TYPE_CHECKING:
    from halflap.workflows.net import Net
    from workflows.nets import Tree as Shape


@pytest.mark.parametrize(
    ("tasks", "flows", "conditions", "text"),
    [
        ("a b", "i>a a>b b>o", "", "sequence(a, b)"),
        ("a b", "i>a i>b a>o b>o", "", "xor(a, b)"),
        ("a b c", "i>a a>p p>b b>p p>c c>o", "p", "sequence(a, loop(empty, b), c)"),
        (
            {"a": "xor/or", "b": "xor/and", "c": "xor/and", "d": "or/and"},
            "i>a a>b a>c a>d b>d c>d d>o",
            "",
            "sequence(a, or(b, c, empty), d)",
        ),
        (
            {"a": "xor/and", "b": "xor/and", "c": "xor/and", "d": "and/and", "e": "xor/and", "f": "and/and"},
            "i>a a>b a>c a>e b>d c>d d>f e>f f>o",
            "",
            "sequence(a, and(sequence(and(b, c), d), e), f)",
        ),
    ],
)
def test_blocks_are_found(tasks: dict[str, str] | str, flows: str, conditions: str, text: str) -> None:
    found = structure(net(tasks, flows, conditions=conditions)).tree
    assert found is not None
    assert block_text(found) == text


def test_gates_that_do_not_match_or_form_no_blocks_are_named() -> None:
    gates = {"a": "xor/and", "b": "xor/and", "c": "xor/and", "d": "xor/and"}
    found = structure(net(gates, "i>a a>b a>c b>d c>d d>o"))
    assert (found.tree, found.mismatches) == (None, (Mismatch("a", "and", "d", "xor"),))
    gates = {"a": "xor/and", "b": "xor/and", "c": "xor/and", "d": "and/and", "e": "xor/and", "f": "and/and"}
    found = structure(net(gates, "i>a a>b a>c b>d b>e c>d d>f e>f f>o"))
    assert (found.tree, found.gates) == (None, ("a", "b", "d", "f"))
    gates = {"s": "xor/or", "a": "xor/and", "b": "xor/and", "j": "or/and", "c": "xor/and", "k": "or/and"}
    assert structure(net(gates, "i>s s>a s>b a>j b>j s>c c>k j>k k>o")).tree is None


def test_thousands_of_blocks_within_one_another_are_no_problem() -> None:
    # A loop around a loop around a loop: each task has the next one between its two times.
    names = [f"t{at}" for at in range(2_000)]
    flows = [f"i>{names[0]}", f"{names[0]}>o"]
    for outer, inner in pairwise(names):
        flows += [f"{outer}>{inner}", f"{inner}>{outer}"]
    found = structure(net(dict.fromkeys(names, "xor/xor"), " ".join(flows))).tree
    assert found is not None
    assert depth_of(found) == len(names) - 1


def shape(tree: Shape, names: list[str]) -> str:
    """Write a tree as it should be found in its net: its gates are silent tasks."""
    number = iter(names)

    def text(one: Shape) -> list[str]:
        match one:
            case ("task", _):
                return [next(number)]
            case ("seq", parts):
                return [inner for part in parts for inner in text(part)]
            case ("loop", body, redo):
                first, last = next(number), next(number)
                inner = [first, *text(body), last]
                return [f"loop({sequence(inner)}, {sequence(text(redo))})"]
            case (kind, parts):
                split, join = next(number), next(number)
                inside = ", ".join(sequence(text(part)) for part in parts)
                return [split, f"{kind}({inside})", join]
        raise AssertionError(one)

    return sequence(text(tree))


def sequence(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"sequence({', '.join(parts)})"


@given(trees(leaves=15, gates=("and", "xor", "or")))
def test_the_tree_that_is_found_is_the_one_that_the_net_was_made_of(tree: Shape) -> None:
    one = block_net(tree)
    found = structure(one).tree
    assert found is not None
    assert block_text(found) == shape(tree, list(one.tasks))


@given(nets(gates=("and", "xor", "or")))
def test_every_task_is_in_the_tree_once_or_there_is_none(one: Net) -> None:
    found = structure(one)
    assert (found.tree is None) == (found.problem is not None)
    if found.tree is not None:
        assert sorted(tasks_of(found.tree)) == sorted(one.tasks)
