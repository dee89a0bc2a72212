"""The critical path: how long a case would take if everything waited only for the data it needs.

A block is taken as atoms (tasks, choices with the task that decides, loops) in their order. An atom waits for an earlier one only if it depends on
it, and the longest chain is the critical path. A choice counts by its probabilities, a loop by how often it is done; resources do not count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from halflap.workflows.analysis.order import dependents
from halflap.workflows.model.block import NOTHING, Branches, Loop, Sequence, Step, parts_of, sequence
from halflap.workflows.score.durations import certain, longest, shares

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Sequence as List

    from halflap.workflows.model.block import Block
    from halflap.workflows.score.facts import Facts

__all__ = ["Atoms", "EndlessError", "closure", "critical_path", "fused", "or_chances", "way_back"]

NEARLY_ALWAYS = 1 - 1e-6
"""A loop whose way back is more likely than this has no end one could wait for."""


class EndlessError(Exception):
    """A loop is never left, or hardly ever."""

    def __init__(self, split: str | None = None, back: float | None = None) -> None:
        where = "A loop" if split is None else f"The loop at '{split}'"
        how = "" if back is None else f": the way back is taken with probability {back:.10g}"
        super().__init__(f"{where} is never left, or hardly ever{how}.")


def way_back(loop: Loop) -> float:
    """Return the probability of the way back."""
    back = shares([loop.again.weight, loop.leave_weight])[0]
    if back > NEARLY_ALWAYS:
        raise EndlessError(loop.split, back)
    return back


def or_chances(block: Branches) -> list[float]:
    """Return the probability of each way of an or-split by itself; one half where none is given."""
    found = [0.5 if way.choice.probability is None else way.weight for way in block.ways]
    if any(chance > 0 for chance in found):
        return found
    default = next((at for at, way in enumerate(block.ways) if way.choice.default), 0)
    return [1.0 if at == default else 0.0 for at in range(len(found))]


def fused(parts: List[Block]) -> list[Block]:
    """Join each choice with what decides it: the node before it, or the loop with the same gate."""
    found: list[Block] = []
    for part in parts:
        chooses = isinstance(part, Branches) and part.kind != "and" and part.split is not None
        if chooses and isinstance(part, Branches) and found and _gate(found[-1]) == part.split:
            found[-1] = sequence((found[-1], part))
        else:
            found.append(part)
    return found


def _gate(block: Block) -> str | None:
    last = parts_of(block)[-1] if parts_of(block) else block
    if isinstance(last, Step):
        return last.node
    return last.split if isinstance(last, Loop) else None


class Atoms:
    """The atoms of a block, and for each those that come before it, as bits."""

    def __init__(self, block: Block) -> None:
        self.atoms: list[Block] = []
        self.before: list[int] = []
        self._add(block, 0)

    def _add(self, block: Block, before: int) -> int:
        added = 0
        for part in fused(parts_of(block)):
            if isinstance(part, Branches) and part.kind == "and":
                inside = 0
                for way in part.ways:
                    inside |= self._add(way.block, before | added)
                added |= inside
            elif part != NOTHING:
                bit = 1 << len(self.atoms)
                self.atoms.append(part)
                self.before.append(before | added)
                added |= bit
        return added

    def depends(self, facts: Facts) -> list[int]:
        """Return for each atom the earlier listed ones it depends on, whether they come before it or run beside it."""
        found = dependents(facts.data(one) for one in self.atoms)
        if facts.ties:
            holding: dict[str, int] = {}
            for at, one in enumerate(self.atoms):
                mine = facts.tied(one)
                for first, then in facts.ties:
                    found[at] |= holding.get(then, 0) if first in mine else 0
                    found[at] |= holding.get(first, 0) if then in mine else 0
                for node in mine:
                    holding[node] = holding.get(node, 0) | 1 << at
        return found

    def needed(self, facts: Facts) -> list[int]:
        """Return for each atom those before it that it depends on, as bits."""
        return [depends & before for depends, before in zip(self.depends(facts), self.before, strict=True)]


def closure(needed: List[int]) -> list[int]:
    """Return for each atom everything it needs, directly or through others, as bits."""
    found: list[int] = []
    for needs in needed:
        everything = needs
        for last in _latest(needs, found):
            everything |= found[last]
        found.append(everything)
    return found


def _latest(needs: int, closed: List[int]) -> Iterator[int]:
    """Yield what is waited for, without those that one of the others has waited for already."""
    while needs:
        last = needs.bit_length() - 1
        yield last
        needs &= ~(closed[last] | 1 << last)


def critical_path(facts: Facts, block: Block) -> float:
    """Return how long a block takes at least, on average; raises `EndlessError` for a loop that is never left."""
    atoms = Atoms(block)
    needed = atoms.needed(facts)
    closed = closure(needed)
    ends: list[float] = []
    for one, needs in zip(atoms.atoms, needed, strict=True):
        start = max((ends[last] for last in _latest(needs, closed)), default=0.0)
        ends.append(start + _of_atom(facts, one))
    return max(ends, default=0.0)


def _of_atom(facts: Facts, block: Block) -> float:
    match block:
        case Step():
            return facts.duration(block.node)
        case Sequence(parts):
            return sum(_of_atom(facts, part) for part in parts)
        case Branches():
            inside = [critical_path(facts, way.block) for way in block.ways]
            if block.kind == "xor":
                return sum(
                    p * one for p, one in zip(shares([w.weight for w in block.ways]), inside, strict=True)
                )
            done = zip(or_chances(block), inside, strict=True)
            return longest([(p, certain(one)) for p, one in done if p]).mean
        case Loop():
            back = way_back(block)
            once, again = critical_path(facts, block.body), critical_path(facts, block.again.block)
            return (once + back * again) / (1 - back)
