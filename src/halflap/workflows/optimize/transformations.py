"""The transformations: remove what does nothing, parallelise what need not wait, serialise where too much runs in parallel.

To parallelise, the atoms of a window are arranged by what each needs: unconnected groups in parallel, connected ones cut in two,
recursively.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from halflap.workflows.analysis.footprint import bits_of
from halflap.workflows.model.block import (
    NOTHING,
    PLAIN,
    Block,
    Branches,
    Loop,
    Step,
    blocks_in,
    is_choice,
    is_parallel,
    mapped,
    parallel,
    parts_of,
    sequence,
)
from halflap.workflows.model.net import quoted
from halflap.workflows.score.facts import Atoms, Facts, fused
from halflap.workflows.score.timing import Timing, critical_path

if TYPE_CHECKING:
    from halflap.workflows.model.net import Net
    from halflap.workflows.optimize.goal import Constraints

_ALL_WINDOWS = 8
"""Up to this many parts every window is tried."""
_THREES = 24
_EVERY_CUT = 7
"""Up to this many atoms all cuts are tried."""
_FEW = 5
_CLOSE = 1e-9


class Context:
    """The workflow that is changed: its tasks, and their times."""

    def __init__(self, net: Net, constraints: Constraints) -> None:
        self.facts = Facts(net, constraints.fixed, constraints.keep_order)
        self.timing = Timing(self.facts)
        self.max_parallel = constraints.max_parallel
        self.arranged: dict[Block, list[Block]] = {}
        """Faster arrangements of each block, so that they are made once."""


def remove_silent(context: Context, tree: Block) -> Iterator[tuple[Block, str]]:
    """Remove all silent tasks, conditions and branches that do nothing, in one step."""
    net = context.facts.net
    deciding = {one.split for one in blocks_in(tree) if isinstance(one, Branches | Loop) and is_choice(one)}
    # At a condition with several flows out of it, an event outside decides.
    steps = context.facts.steps(tree) - (deciding & net.conditions.keys())
    gone = [node for node in (*net.conditions, *net.tasks) if node in steps and context.facts.removable(node)]

    def change(one: Block) -> Block:
        if isinstance(one, Step) and one.node in gone:
            return NOTHING
        if is_parallel(one):
            branches = [
                branch
                for part in one.parts
                for branch in (part.parts if is_parallel(part) else (part,))
                if branch != NOTHING
            ]
            made = replace(one, parts=tuple(branches), choices=(PLAIN,) * len(branches))
            return made if len(branches) > 1 else sequence(branches)
        if not isinstance(one, Branches | Loop) or any(part != NOTHING for part in one.parts):
            return one
        # These predicates decide about the other branches of the gate, too.
        stated = isinstance(one, Branches) and one.partial and any(choice.decides for choice in one.choices)
        return one if stated else NOTHING

    what = (
        f"Removed {quoted(gone)}: silent, and without effect."
        if gone
        else "Merged nested blocks, or removed empty ones."
    )
    yield mapped(tree, change), what


def parallelise(context: Context, block: Block) -> Iterator[tuple[Block, str]]:
    """Put independent parts of a window of a sequence in parallel: each window of the whole, then of each branch within."""
    yield from _rearranged(context, block)
    parts = parts_of(block)
    for at, part in enumerate(parts):
        for inner, branch in enumerate(part.parts):
            for new, what in parallelise(context, branch):
                changed = part.with_parts((*part.parts[:inner], new, *part.parts[inner + 1 :]))
                yield sequence((*parts[:at], changed, *parts[at + 1 :])), what


def _rearranged(context: Context, block: Block) -> Iterator[tuple[Block, str]]:
    parts = fused(parts_of(block))
    for start, end in _windows(len(parts)):
        old = sequence(parts[start:end])
        if old not in context.arranged:
            context.arranged[old] = _faster(context, old)
        for new in context.arranged[old]:
            what = f"Put {quoted(context.facts.doing(old))} in parallel where they are independent."
            yield sequence((*parts[:start], new, *parts[end:])), what


def _windows(count: int) -> Iterator[tuple[int, int]]:
    """Yield the windows to try, long ones first: all of a short sequence, some of each length of a longer one."""
    lengths = [(length, 1) for length in range(count, 1, -1)]
    if count > _ALL_WINDOWS:
        powers = range((count - 1).bit_length() - 1, 0, -1)
        lengths = [(count, 1), *((1 << power, 1 << power >> 1) for power in powers)]
        lengths += [(3, 1)] if count <= _THREES else []
    elif count == 1:
        lengths = [(1, 1)]
    for length, step in lengths:
        for start in range(0, count - length + 1, step):
            yield start, start + length


def _faster(context: Context, old: Block) -> list[Block]:
    """Return faster arrangements of a block: the fastest, and one with no more in parallel than is allowed."""
    time = context.timing.mean(old)
    if time <= critical_path(context.facts, old) + _CLOSE:
        return []
    arranger = _Arranger(context, old)
    # A condition or silent task that only routes would become a separate branch.
    removable = context.facts.removable
    left = [
        at for at, one in enumerate(arranger.atoms) if not (isinstance(one, Step) and removable(one.node))
    ]
    fastest = arranger.arranged(sum(1 << at for at in left))
    found = dict.fromkeys((fastest, _narrowed(context, fastest)))
    return [new for new in found if context.timing.mean(new) < time - _CLOSE]


def serialise(context: Context, tree: Block) -> Iterator[tuple[Block, str]]:
    """Put parallel branches in sequence wherever more can run in parallel than allowed."""
    yield (
        _narrowed(context, tree),
        "Put the shortest parallel branches in sequence, so that less runs in parallel.",
    )


def _narrowed(context: Context, tree: Block) -> Block:
    most, timing = context.max_parallel, context.timing

    def change(block: Block) -> Block:
        if most is None or not is_parallel(block):
            return block
        branches = list(block.parts)
        while len(branches) > 1 and sum(map(timing.width, branches)) > most:
            branches.sort(key=timing.mean, reverse=True)
            branches[-2:] = [sequence(branches[-2:])]
        return block if len(branches) == len(block.parts) else parallel(branches)

    return mapped(tree, change)


class _Arranger:
    """The atoms of a block, and what each needs. Sets of them are numbers, with a bit for each."""

    def __init__(self, context: Context, block: Block) -> None:
        found = Atoms(context.facts, block)
        self.atoms, self.needs, self.timing = found.atoms, found.needs, context.timing
        self.times = [context.timing.mean(one) for one in self.atoms]
        self._best: dict[int, Block] = {}
        self._lengths: dict[int, float] = {}

    def arranged(self, some: int) -> Block:
        """Return the fastest arrangement of some atoms."""
        if some not in self._best:
            groups = self._groups(some)
            if len(groups) > 1:
                self._best[some] = parallel(map(self.arranged, groups))
            else:
                self._best[some] = min(self._sequences(some), key=self._rank)
        return self._best[some]

    def _sequences(self, some: int) -> Iterator[Block]:
        """Yield connected atoms in their order, and cut in two in ways that may be faster."""
        listed = bits_of(some)
        yield sequence(self.atoms[at] for at in listed)
        least = self._length(some) + _CLOSE
        for cut in self._cuts(some):
            made = sequence(map(self.arranged, (cut, some & ~cut)))
            yield made
            # Of many, the first that is as fast as the data allows.
            if len(listed) > _FEW and self.timing.mean(made) <= least:
                return

    def _rank(self, block: Block) -> tuple[float, int, int]:
        return round(self.timing.mean(block), 9), block.depth, len(parts_of(block))

    def _groups(self, some: int) -> list[int]:
        """Return the connected groups."""
        found: list[int] = []
        for at in bits_of(some):
            group = 1 << at | self.needs[at] & some
            for other in [one for one in found if one & group]:
                found.remove(other)
                group |= other
            found.append(group)
        return sorted(found)

    def _cuts(self, some: int) -> list[int]:
        """Return the sets that can come first: with each atom everything it needs. Of many, the one at the best moment."""
        listed = bits_of(some)
        if len(listed) <= _EVERY_CUT:
            cuts = [0]
            for at in listed:
                cuts += [cut | 1 << at for cut in cuts if not self.needs[at] & some & ~cut]
            return sorted({*cuts} - {0, some})
        ends = self._ends(some)
        moments = sorted(set(ends.values()))[:-1]
        found = [sum(1 << at for at in listed if ends[at] <= moment) for moment in moments]
        return [min(found, key=lambda cut: self._length(cut) + self._length(some & ~cut))] if found else []

    def _length(self, some: int) -> float:
        if some not in self._lengths:
            self._lengths[some] = max(self._ends(some).values())
        return self._lengths[some]

    def _ends(self, some: int) -> dict[int, float]:
        """Return when each atom would end if it waited only for what it needs."""
        ends: dict[int, float] = {}
        for at in bits_of(some):
            start = max((ends[other] for other in bits_of(self.needs[at] & some)), default=0.0)
            ends[at] = start + self.times[at]
        return ends


class Transformation(NamedTuple):
    """A change: each tree that it can make of one, with what was done."""

    name: str
    keeps_traces: bool
    changes: Callable[[Context, Block], Iterable[tuple[Block, str]]]


TRANSFORMATIONS = (
    Transformation("remove_silent", True, remove_silent),
    Transformation("parallelise", False, parallelise),
    Transformation("serialise", False, serialise),
)
