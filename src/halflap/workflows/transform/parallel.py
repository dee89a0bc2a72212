"""Parallelise what need not wait, and serialise where more runs at once than allowed.

The atoms of a stretch are arranged by what each needs: unconnected groups in parallel, connected ones cut in two, again and again. Plans are
compared by their estimated times and become blocks only when one is chosen: there are many of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from halflap.workflows.analysis.states import bits_of
from halflap.workflows.model.block import Branches, Way, depth, parts_of, sequence
from halflap.workflows.score.critical import Atoms, critical_path, fused
from halflap.workflows.transform.ground import named

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from halflap.workflows.model.block import Block
    from halflap.workflows.transform.ground import Ground

__all__ = ["parallelise", "serialise"]

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
    if ground.constraints.keep_order is True:
        return
    parts = fused(parts_of(block))
    for start, end in _windows(len(parts)):
        old = sequence(parts[start:end])
        if old not in ground.arranged:
            ground.arranged[old] = tuple(_arrangements(ground, old))
        for new in ground.arranged[old]:
            what = f"Put {named(ground.facts.doing(old))} in parallel, as far as they are independent."
            yield sequence((*parts[:start], new, *parts[end:])), what


def _windows(count: int) -> Iterator[tuple[int, int]]:
    """Yield the stretches to look at, long ones first: all of a short sequence, some of each length of a longer one."""
    if not count:
        return
    yield 0, count
    lengths: list[tuple[int, int]] = [(length, 1) for length in range(count - 1, 1, -1)]
    if count > _ALL_WINDOWS:
        lengths = [(1 << power, 1 << power >> 1) for power in range((count - 1).bit_length() - 1, 0, -1)]
        lengths += [(3, 1)] if count <= _THREES else []
    for length, step in lengths:
        for start in range(0, count - length + 1, step):
            yield start, start + length


def _arrangements(ground: Ground, old: Block) -> Iterator[Block]:
    """Yield faster arrangements of a block, for each number of tasks that may run at once."""
    timing = ground.timing
    if timing.estimate(old) <= critical_path(ground.facts, old) + _CLOSE:
        return
    most = ground.constraints.max_parallel
    widths: list[int | None] = [None] if most is None else [None, *range(most, 1, -1)]
    arranger = _Arranger(ground, old)
    seen = {old}
    for width in widths:
        key = (tuple(arranger.atoms), tuple(arranger.needs), width)
        if key not in ground.plans:
            ground.plans[key] = arranger.arranged(width)
        new = ground.plans[key]
        if new not in seen and timing.estimate(new) < timing.estimate(old) - _CLOSE:
            seen.add(new)
            yield new


def serialise(ground: Ground, block: Block) -> Iterator[tuple[Block, str]]:
    """Put two parallel branches in sequence, where more runs at once than allowed."""
    most = ground.constraints.max_parallel
    if most is None or not isinstance(block, Branches) or block.kind != "and":
        return
    if ground.timing.width(block) <= most:
        return
    for one, other in combinations(block.ways, 2):
        both = Way(sequence((one.block, other.block)))
        ways = tuple(both if way is one else way for way in block.ways if way is not other)
        new: Block = Branches("and", ways, block.split, block.join) if len(ways) > 1 else both.block
        names = named([*ground.facts.doing(one.block)[:1], *ground.facts.doing(other.block)[:1]])
        yield new, f"Put {names}, and what belongs to them, in sequence, so that less runs at once."


# Arranging --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Plan:
    """Atoms in sequence, or plans in sequence or in parallel."""

    time: float
    depth: int
    count: int
    """How many are in sequence."""
    load: Mapping[str, float]
    """How long each resource works on it."""
    atoms: tuple[int, ...] = ()
    parts: tuple[_Plan, ...] = ()
    parallel: bool = False

    @property
    def rank(self) -> tuple[float, int, int]:
        return round(self.time, 9), self.depth, self.count


class _Arranger:
    """The atoms of a block, and what each needs."""

    def __init__(self, ground: Ground, block: Block) -> None:
        found = Atoms(block)
        needed = found.needed(ground.facts)
        # A condition or silent task that does nothing would be a branch of its own.
        left = _in_known_order(
            ground, found.atoms, needed, [at for at, one in enumerate(found.atoms) if not _idle(ground, one)]
        )
        place = {at: new for new, at in enumerate(left)}
        self.atoms = [found.atoms[at] for at in left]
        self.needs = [
            sum(1 << place[other] for other in bits_of(needed[at]) if other in place) for at in left
        ]
        self.needed_by = [0] * len(left)
        for at, needs in enumerate(self.needs):
            for other in bits_of(needs):
                self.needed_by[other] |= 1 << at
        self.times = [ground.timing.estimate(one) for one in self.atoms]
        self.loads = [ground.timing.load(one) for one in self.atoms]
        self.depths = [depth(one) for one in self.atoms]
        self._best: dict[tuple[int, int | None], _Plan] = {}

    def arranged(self, width: int | None) -> Block:
        """Arrange all atoms, with at most so many in parallel."""
        return self._made(self._plan((1 << len(self.atoms)) - 1, width))

    def _made(self, plan: _Plan) -> Block:
        if not plan.parts:
            return sequence(self.atoms[at] for at in plan.atoms)
        parts = [self._made(part) for part in plan.parts]
        return _in_parallel(parts) if plan.parallel else sequence(parts)

    def _plan(self, mask: int, width: int | None) -> _Plan:
        found = self._best.get((mask, width))
        if found is None:
            found = self._best[mask, width] = self._found(mask, width)
        return found

    def _found(self, mask: int, width: int | None) -> _Plan:
        listed = bits_of(mask)
        in_order = self._in_order(listed)
        if len(listed) <= 1 or width == 1:
            return in_order
        groups = self._groups(mask)
        if len(groups) > 1:
            return min((in_order, self._parallel(groups, width)), key=lambda one: one.rank)
        least = self._length(mask) + _CLOSE
        found = in_order
        for cut in self._cuts(mask):
            new = _after(self._plan(cut, width), self._plan(mask & ~cut, width))
            found = min((found, new), key=lambda one: one.rank)
            if found.time <= least and len(listed) > _FEW:
                break
        return found

    def _in_order(self, listed: Sequence[int]) -> _Plan:
        return _Plan(
            sum(self.times[at] for at in listed),
            max((self.depths[at] for at in listed), default=0),
            len(listed),
            _summed([self.loads[at] for at in listed]),
            tuple(listed),
        )

    def _groups(self, mask: int) -> list[int]:
        """Return the connected groups."""
        found = []
        left = mask
        while left:
            group = new = left & -left
            while new:
                reached = 0
                for at in bits_of(new):
                    reached |= (self.needs[at] | self.needed_by[at]) & mask
                new = reached & ~group
                group |= reached
            found.append(group)
            left &= ~group
        return found

    def _parallel(self, groups: list[int], width: int | None) -> _Plan:
        """Put groups in parallel; where there are more than allowed, some of them in sequence."""
        if width is None:
            return _together([self._plan(group, None) for group in groups])
        alone = [self._plan(group, 1) for group in groups]
        if len(groups) <= width:
            # The spare width goes to the longest.
            longest = max(range(len(groups)), key=lambda at: (alone[at].time, -at))
            alone[longest] = self._plan(groups[longest], width - len(groups) + 1)
            return _together(alone)
        lanes = [0] * width
        loads = [0.0] * width
        for at in sorted(range(len(groups)), key=lambda at: (-alone[at].time, at)):
            lane = min(range(width), key=lambda lane: (loads[lane], lane))
            lanes[lane] |= groups[at]
            loads[lane] += alone[at].time
        return _together([self._in_order(bits_of(lane)) for lane in lanes if lane])

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
            cuts.append((self._length(cut) + self._length(mask & ~cut), cut))
        return [min(cuts, key=lambda one: one[0])[1]] if cuts else [1 << listed[0]]

    def _ends(self, mask: int) -> dict[int, float]:
        """Return when each atom would end if it waited only for what it needs."""
        ends: dict[int, float] = {}
        for at in bits_of(mask):
            start = max((ends[other] for other in bits_of(self.needs[at] & mask)), default=0.0)
            ends[at] = start + self.times[at]
        return ends

    def _length(self, mask: int) -> float:
        return max(self._ends(mask).values(), default=0.0)


def _in_known_order(ground: Ground, atoms: list[Block], needed: list[int], left: list[int]) -> list[int]:
    """Return the same atoms in the same order, however they stood, so that they are arranged once."""
    left = sorted(left, key=lambda at: ground.numbers.setdefault(atoms[at], len(ground.numbers)))
    done = ~sum(1 << at for at in left)
    order: list[int] = []
    while left:
        at = next(at for at in left if not needed[at] & ~done)
        left.remove(at)
        order.append(at)
        done |= 1 << at
    return order


def _idle(ground: Ground, block: Block) -> bool:
    removable = all(ground.facts.removable(node) for node in ground.facts.steps(block))
    return removable and not any(isinstance(part, Branches) for part in parts_of(block))


def _after(one: _Plan, other: _Plan) -> _Plan:
    return _Plan(
        one.time + other.time,
        max(one.depth, other.depth),
        one.count + other.count,
        _summed([one.load, other.load]),
        parts=(one, other),
    )


def _together(plans: list[_Plan]) -> _Plan:
    load = _summed([plan.load for plan in plans])
    return _Plan(
        max(*(plan.time for plan in plans), *load.values()),
        max(plan.depth + (not plan.parallel) for plan in plans),
        1,
        load,
        parts=tuple(plans),
        parallel=True,
    )


def _summed(loads: Sequence[Mapping[str, float]]) -> Mapping[str, float]:
    found: dict[str, float] = {}
    for load in loads:
        for resource, time in load.items():
            found[resource] = found.get(resource, 0.0) + time
    return found


def _in_parallel(branches: list[Block]) -> Block:
    ways = [
        Way(inner)
        for branch in branches
        for inner in (
            [way.block for way in branch.ways]
            if isinstance(branch, Branches) and branch.kind == "and"
            else [branch]
        )
    ]
    return Branches("and", tuple(ways)) if len(ways) > 1 else ways[0].block
