"""Whether a workflow is made of blocks, and of which: reduced to one arrow, what that carries is its tree exactly."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from halflap.workflows.block import EMPTY, Block
from halflap.workflows.reduction import Reduction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halflap.workflows.net import Gate, Net
    from halflap.workflows.reduction import Place

__all__ = ["Mismatch", "Structure", "structure"]


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A split whose ways come together in a join of another kind."""

    split: str
    split_kind: Gate
    join: str
    join_kind: Gate


@dataclass(frozen=True, slots=True)
class Structure:
    """The tree of a workflow, or why there is none."""

    tree: Block | None
    problem: str | None = None
    gates: tuple[str, ...] = ()
    """The tasks and conditions at whose gates nothing fits, as they are listed in the workflow."""
    mismatches: tuple[Mismatch, ...] = ()


@dataclass(slots=True, eq=False)
class _Tree:
    """A block that is being put together; a task or nothing is no `_Tree`, but its id or None."""

    kind: Literal["sequence", "and", "xor", "or", "loop"]
    parts: deque[_Growing]
    """Each with its place among the ways of its split; in a sequence and a loop their order counts."""


_Part = _Tree | str | None


class _Growing(NamedTuple):
    rank: int
    """Its place among the ways out of its gate."""
    does: _Part


class _Trees(Reduction[_Growing]):
    def __init__(self, net: Net) -> None:
        super().__init__(
            net,
            lambda node: _Growing(0, node if node in net.tasks else None),
            lambda rank, _: _Growing(rank, None),
        )

    def series(self, before: _Growing, after: _Growing) -> _Growing:
        return _Growing(before.rank, _in_sequence(before.does, after.does))

    def branches(self, split: Place[_Growing], join: Place[_Growing], ways: Sequence[_Growing]) -> _Growing:
        assert split.kind == join.kind
        first, *others = ways
        tree = first.does
        if not (isinstance(tree, _Tree) and tree.kind == split.kind):
            tree = _Tree(split.kind, deque([first]))
        tree.parts.extend(others)
        return _Growing(min(way.rank for way in ways), tree)

    def loop(
        self, join: Place[_Growing], split: Place[_Growing], forth: _Growing, back: _Growing
    ) -> _Growing:
        del join, split
        return _Growing(forth.rank, _Tree("loop", deque([_Growing(0, forth.does), _Growing(1, back.does)])))


def structure(net: Net) -> Structure:
    """Find the tree of a workflow, if it is made of blocks."""
    reduction = _Trees(net)
    reduction.run()
    if reduction.whole is not None:
        return Structure(_finished(reduction.whole.does))
    open_gates = [gate for gate in reduction.places if len(gate.into) > 1 or len(gate.out) > 1]
    mismatches = tuple(
        Mismatch(split.node, split.kind, join.node, join.kind)
        for split in open_gates
        for join in {id(way.target): way.target for way in split.out.values()}.values()
        if len(reduction.together(split, join)) > 1 and split.kind != join.kind
    )
    gates = tuple(dict.fromkeys(gate.node for gate in open_gates))
    if mismatches:
        first = mismatches[0]
        problem = (
            f"'{first.split}' splits by {first.split_kind}, and '{first.join}', where its ways come together, "
            f"joins by {first.join_kind}."
        )
    elif gates:
        named = ", ".join(f"'{gate}'" for gate in gates[:5]) + (", …" if len(gates) > 5 else "")  # noqa: PLR2004 (as many as can be read)
        problem = f"The gates of {named} do not form blocks with one way in and one way out."
    else:
        problem = "Not every task is on a way from the input to the output."
    return Structure(None, problem, gates, mismatches)


def _in_sequence(first: _Part, second: _Part) -> _Part:
    if first is None:
        return second
    if second is None:
        return first
    front = first if isinstance(first, _Tree) and first.kind == "sequence" else None
    rear = second if isinstance(second, _Tree) and second.kind == "sequence" else None
    # The shorter goes into the longer, so that long sequences are not copied again and again.
    if front is not None and (rear is None or len(front.parts) >= len(rear.parts)):
        front.parts.extend(rear.parts if rear is not None else [_Growing(0, second)])
        return front
    if rear is not None:
        rear.parts.extendleft(reversed(front.parts) if front is not None else [_Growing(0, first)])
        return rear
    return _Tree("sequence", deque([_Growing(0, first), _Growing(0, second)]))


def _finished(part: _Part) -> Block:
    """Make a tree of what was put together; blocks of one kind within one another become one."""
    done: list[Block] = []
    waiting: list[tuple[_Part, bool]] = [(part, False)]
    while waiting:
        one, opened = waiting.pop()
        if not isinstance(one, _Tree):
            done.append(EMPTY if one is None else Block("task", task=one))
        elif not opened:
            waiting.append((one, True))
            ordered = list(one.parts)
            if one.kind not in {"sequence", "loop"}:
                ordered.sort(key=lambda way: way.rank)
            waiting.extend((child, False) for _, child in reversed(ordered))
        else:
            count = len(one.parts)
            children = done[-count:]
            del done[-count:]
            if one.kind in {"and", "xor", "sequence"}:
                children = [
                    inner
                    for child in children
                    for inner in (child.children if child.kind == one.kind else (child,))
                ]
            done.append(Block(one.kind, tuple(children)))
    return done[0]
