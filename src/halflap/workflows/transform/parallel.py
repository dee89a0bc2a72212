"""Parallelise what need not wait, and serialise where more runs at once than allowed.

The atoms of a stretch are arranged by what each needs: unconnected groups in parallel, connected ones cut in two, again and again. Plans are
compared by their estimated times and become blocks only when one is chosen: there are many of them.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from halflap.workflows.analysis.footprint import bits_of
from halflap.workflows.model.block import Branches, Step, depth, parallel, parts_of, replaced, sequence
from halflap.workflows.score.facts import Atoms, fused
from halflap.workflows.score.timing import critical_path
from halflap.workflows.transform.ground import named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.workflows.model.block import Block
    from halflap.workflows.transform.ground import Ground

_ALL_WINDOWS = 8
"""Up to this many parts every stretch is looked at."""
_THREES = 24
_EVERY_CUT = 7
"""Up to this many atoms all cuts are tried."""
_FEW = 5
"""Beyond this many the first cut that is as fast as possible is taken."""
_CLOSE = 1e-9


def parallelise(ground: Ground, block: Block) -> Iterator[tuple[Block, str]]:
    """Put independent parts of each stretch of a sequence in parallel."""
    parts = fused(parts_of(block))
    for start, end in _windows(len(parts)):
        old = sequence(parts[start:end])
        if old not in ground.arranged:
            ground.arranged[old] = list(_faster(ground, old))
        for new in ground.arranged[old]:
            what = f"Put {named(ground.facts.doing(old))} in parallel, as far as they are independent."
            yield sequence((*parts[:start], new, *parts[end:])), what


def _windows(count: int) -> Iterator[tuple[int, int]]:
    """Yield the stretches to look at, long ones first: all of a short sequence, some of each length of a longer one."""
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


def _faster(ground: Ground, old: Block) -> Iterator[Block]:
    """Yield faster arrangements of a block: the fastest, and the fastest with no more in parallel than is allowed."""
    time = ground.timing.mean(old)
    if time <= critical_path(ground.facts, old) + _CLOSE:
        return
    arranger = _Arranger(ground, old)
    widths = {len(arranger.atoms), ground.constraints.max_parallel or len(arranger.atoms)}
    for new in dict.fromkeys(map(arranger.arranged, sorted(widths))):
        if ground.timing.mean(new) < time - _CLOSE:
            yield new


def serialise(ground: Ground, block: Block) -> Iterator[tuple[Block, str]]:
    """Put two parallel branches in sequence, where more runs at once than allowed."""
    most = ground.constraints.max_parallel
    if most is None or not isinstance(block, Branches) or block.kind != "and":
        return
    if ground.timing.width(block) <= most:
        return
    for one, other in combinations(range(len(block.parts)), 2):
        both = sequence((block.parts[one], block.parts[other]))
        parts = [part for at, part in enumerate(replaced(block.parts, one, both)) if at != other]
        names = named([task for at in (one, other) for task in ground.facts.doing(block.parts[at])[:1]])
        yield (
            parallel(parts),
            f"Put {names}, and what belongs to them, in sequence, so that less runs at once.",
        )


class _Plan(NamedTuple):
    """An arrangement, and what it is compared by."""

    time: float
    depth: int
    pieces: int
    atoms: tuple[int, ...] = ()
    """In sequence."""
    parts: tuple[_Plan, ...] = ()
    """In sequence, or in parallel."""
    parallel: bool = False


def _rank(plan: _Plan) -> tuple[float, int, int]:
    return plan[:3]


class _Arranger:
    """The atoms of a block, and what each needs."""

    def __init__(self, ground: Ground, block: Block) -> None:
        facts, found = ground.facts, Atoms(ground.facts, block)
        # A condition or silent task that does nothing would be a branch on its own.
        left = [
            at
            for at, one in enumerate(found.atoms)
            if not isinstance(one, Step) or not facts.removable(one.node)
        ]
        place = {at: new for new, at in enumerate(left)}
        self.atoms = [found.atoms[at] for at in left]
        self.needs = [sum(1 << place[one] for one in bits_of(found.needs[at]) if one in place) for at in left]
        self.times = [ground.timing.mean(one) for one in self.atoms]
        self.depths = [depth(one) for one in self.atoms]
        self._best: dict[tuple[int, int], _Plan] = {}

    def arranged(self, width: int) -> Block:
        """Arrange all atoms, with at most `width` in parallel."""
        return self._made(self._plan((1 << len(self.atoms)) - 1, width))

    def _made(self, plan: _Plan) -> Block:
        if not plan.parts:
            return sequence(self.atoms[at] for at in plan.atoms)
        parts = [self._made(part) for part in plan.parts]
        return parallel(parts) if plan.parallel else sequence(parts)

    def _plan(self, mask: int, width: int) -> _Plan:
        if (mask, width) not in self._best:
            self._best[mask, width] = self._found(mask, width)
        return self._best[mask, width]

    def _found(self, mask: int, width: int) -> _Plan:
        """Return the best plan for some atoms."""
        in_order = self._in_order(mask)
        if mask.bit_count() <= 1 or width == 1:
            return in_order
        groups = self._groups(mask)
        if len(groups) > 1:
            return min(in_order, self._side_by_side(groups, width), key=_rank)
        least = max(self._ends(mask).values()) + _CLOSE
        found = in_order
        for cut in self._cuts(mask):
            one, other = self._plan(cut, width), self._plan(mask & ~cut, width)
            time = round(one.time + other.time, 9)
            new = _Plan(time, max(one.depth, other.depth), one.pieces + other.pieces, parts=(one, other))
            found = min(found, new, key=_rank)
            if found.time <= least and mask.bit_count() > _FEW:
                break
        return found

    def _in_order(self, mask: int) -> _Plan:
        atoms = bits_of(mask)
        depths = (self.depths[at] for at in atoms)
        time = round(sum(self.times[at] for at in atoms), 9)
        return _Plan(time, max(depths, default=0), len(atoms), tuple(atoms))

    def _groups(self, mask: int) -> list[int]:
        """Return the connected groups."""
        found: list[int] = []
        for at in bits_of(mask):
            group = 1 << at | self.needs[at] & mask
            for other in [one for one in found if one & group]:
                found.remove(other)
                group |= other
            found.append(group)
        return sorted(found)

    def _side_by_side(self, groups: list[int], width: int) -> _Plan:
        """Put groups in parallel; where there are too many, those that take longest get a lane first."""
        if sum(groups).bit_count() <= width:
            plans = [self._plan(group, width) for group in groups]
        elif len(groups) <= width:
            plans = [self._plan(group, 1) for group in groups]
            longest = max(range(len(groups)), key=lambda at: (plans[at].time, -at))
            # The spare width goes to the longest.
            plans[longest] = self._plan(groups[longest], width - len(groups) + 1)
        else:
            lanes, loads = [0] * width, [0.0] * width
            for group in sorted(groups, key=lambda one: -self._in_order(one).time):
                lane = min(range(width), key=lambda lane: loads[lane])
                lanes[lane] |= group
                loads[lane] += self._in_order(group).time
            plans = [self._in_order(lane) for lane in lanes if lane]
        deepest = max(plan.depth + (not plan.parallel) for plan in plans)
        return _Plan(max(plan.time for plan in plans), deepest, 1, parts=tuple(plans), parallel=True)

    def _cuts(self, mask: int) -> list[int]:
        """Return the sets that can come first: with each atom everything it needs."""
        listed = bits_of(mask)
        if len(listed) <= _EVERY_CUT:
            found = [0]
            for at in listed:
                found += [cut | 1 << at for cut in found if not self.needs[at] & mask & ~cut]
            return sorted({cut for cut in found if cut and cut != mask})
        ends = self._ends(mask)
        cuts: list[tuple[float, int]] = []
        for end in sorted(set(ends.values()))[:-1]:
            cut = sum(1 << at for at in listed if ends[at] <= end)
            length = max(self._ends(cut).values()) + max(self._ends(mask & ~cut).values())
            cuts.append((length, cut))
        return [min(cuts)[1]] if cuts else [1 << listed[0]]

    def _ends(self, mask: int) -> dict[int, float]:
        """Return when each atom would end if it waited only for what it needs."""
        ends: dict[int, float] = {}
        for at in bits_of(mask):
            start = max((ends[other] for other in bits_of(self.needs[at] & mask)), default=0.0)
            ends[at] = start + self.times[at]
        return ends
