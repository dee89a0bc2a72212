"""How to arrange atoms of which some need others: what hangs together by nothing side by side, the rest cut in two, again and again.

Plans are compared by their times and put together as pieces only when one is chosen: there are many of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from halflap.workflows.maintainability import deep
from halflap.workflows.pieces.piece import Branching, Way, parts_of, series
from halflap.workflows.timing.critical import Atoms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halflap.workflows.pieces.facts import Facts
    from halflap.workflows.pieces.piece import Piece
    from halflap.workflows.transforming.ground import Ground

__all__ = ["Arranger"]

_EVERY_CUT = 7
"""Up to how many atoms all ways to cut them are tried."""
_FEW = 5
"""Up to how many the first cut that takes no longer than it must is not taken for the best."""
_CLOSE = 1e-9
_DIGITS = 9


@dataclass(frozen=True, slots=True, eq=False)
class _Plan:
    """Atoms one after the other, or other plans one after the other, or side by side."""

    time: float
    deep: int
    count: int
    """How many are one after the other."""
    load: Mapping[str, float]
    """How long each resource works on it."""
    atoms: tuple[int, ...] = ()
    parts: tuple[_Plan, ...] = ()
    beside: bool = False

    @property
    def rank(self) -> tuple[float, int, int]:
        return round(self.time, _DIGITS), self.deep, self.count


class Arranger:
    """The atoms of a piece, and what needs what."""

    def __init__(self, ground: Ground, piece: Piece, facts: Facts | None = None) -> None:
        """Begin; other facts than those of the workflow may say what needs what."""
        found = Atoms(piece)
        needed = found.needed(facts or ground.facts)
        numbers = [ground.facts.number(one) for one in found.atoms]
        # A condition or silent task that does nothing would be a branch of its own.
        left = [at for at, one in enumerate(found.atoms) if not _idle(ground, one)]
        left.sort(key=lambda at: numbers[at])
        # The same atoms come in the same order, however they stood, so that they are arranged once.
        order: list[int] = []
        done = ~sum(1 << at for at in left)
        while left:
            at = next(at for at in left if not needed[at] & ~done)
            left.remove(at)
            order.append(at)
            done |= 1 << at
        place = {at: new for new, at in enumerate(order)}
        self.atoms = [found.atoms[at] for at in order]
        self.numbers = tuple(numbers[at] for at in order)
        self.needs = [sum(1 << place[other] for other in place if needed[at] >> other & 1) for at in order]
        self.needed_by = [0] * len(order)
        for at, needs in enumerate(self.needs):
            for other in _bits(needs):
                self.needed_by[other] |= 1 << at
        self.everything = (1 << len(order)) - 1
        self.times = [ground.timing.rough(one) for one in self.atoms]
        self.loads = [ground.timing.load(one) for one in self.atoms]
        self.deeps = [deep(one) for one in self.atoms]
        self._best: dict[tuple[int, int | None], _Plan] = {}

    def arranged(self, width: int | None) -> Piece:
        """Arrange all, with at most so many things at once."""
        return self._made(self._plan(self.everything, width))

    def _made(self, plan: _Plan) -> Piece:
        if not plan.parts:
            return series(self.atoms[at] for at in plan.atoms)
        parts = [self._made(part) for part in plan.parts]
        return _side_by_side(parts) if plan.beside else series(parts)

    def _plan(self, mask: int, width: int | None) -> _Plan:
        found = self._best.get((mask, width))
        if found is None:
            found = self._best[mask, width] = self._found(mask, width)
        return found

    def _found(self, mask: int, width: int | None) -> _Plan:
        listed = _bits(mask)
        in_order = self._in_order(listed)
        if len(listed) < 2 or width == 1:  # noqa: PLR2004 (there is nothing to arrange)
            return in_order
        groups = self._groups(mask)
        if len(groups) > 1:
            return min((in_order, self._beside(groups, width)), key=lambda one: one.rank)
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
            max((self.deeps[at] for at in listed), default=0),
            len(listed),
            _summed([self.loads[at] for at in listed]),
            tuple(listed),
        )

    def _groups(self, mask: int) -> list[int]:
        """Give what hangs together."""
        found = []
        left = mask
        while left:
            group = new = left & -left
            while new:
                reached = 0
                for at in _bits(new):
                    reached |= (self.needs[at] | self.needed_by[at]) & mask
                new = reached & ~group
                group |= reached
            found.append(group)
            left &= ~group
        return found

    def _beside(self, groups: list[int], width: int | None) -> _Plan:
        """Put groups side by side; where there are more than may be, some one after the other."""
        if width is None:
            return _together([self._plan(group, None) for group in groups])
        alone = [self._plan(group, 1) for group in groups]
        if len(groups) <= width:
            # What is to spare goes to the longest.
            longest = max(range(len(groups)), key=lambda at: (alone[at].time, -at))
            alone[longest] = self._plan(groups[longest], width - len(groups) + 1)
            return _together(alone)
        lanes: list[int] = [0] * width
        loads = [0.0] * width
        for at in sorted(range(len(groups)), key=lambda at: (-alone[at].time, at)):
            lane = min(range(width), key=lambda lane: (loads[lane], lane))
            lanes[lane] |= groups[at]
            loads[lane] += alone[at].time
        # In a lane all stay in the order that they had.
        return _together([self._in_order(_bits(lane)) for lane in lanes if lane])

    def _cuts(self, mask: int) -> list[int]:
        """Give the sets that can come first: with each atom all that it needs."""
        listed = _bits(mask)
        if len(listed) <= _EVERY_CUT:
            found = [0]
            for at in listed:
                found += [cut | 1 << at for cut in found if not self.needs[at] & mask & ~cut]
            return sorted({cut for cut in found if cut and cut != mask})
        ends = self._ends(mask)
        cuts: list[tuple[float, int, int]] = []
        for end in sorted(set(ends.values()))[:-1]:
            cut = sum(1 << at for at in listed if ends[at] <= end)
            cuts.append((self._length(cut) + self._length(mask & ~cut), len(cuts), cut))
        return [cut for _, _, cut in sorted(cuts)[:1]] or [1 << listed[0]]

    def _ends(self, mask: int) -> dict[int, float]:
        """Give when each atom would end if it waited for what it needs alone."""
        ends: dict[int, float] = {}
        for at in _bits(mask):
            start = max((ends[other] for other in _bits(self.needs[at] & mask)), default=0.0)
            ends[at] = start + self.times[at]
        return ends

    def _length(self, mask: int) -> float:
        return max(self._ends(mask).values(), default=0.0)


def _idle(ground: Ground, piece: Piece) -> bool:
    return all(ground.facts.removable(node) for node in ground.facts.steps(piece)) and not any(
        isinstance(part, Branching) for part in parts_of(piece)
    )


def _after(one: _Plan, other: _Plan) -> _Plan:
    return _Plan(
        one.time + other.time,
        max(one.deep, other.deep),
        one.count + other.count,
        _summed([one.load, other.load]),
        parts=(one, other),
    )


def _together(plans: list[_Plan]) -> _Plan:
    load = _summed([plan.load for plan in plans])
    return _Plan(
        max(*(plan.time for plan in plans), *load.values()),
        max(plan.deep + (not plan.beside) for plan in plans),
        1,
        load,
        parts=tuple(plans),
        beside=True,
    )


def _summed(loads: Sequence[Mapping[str, float]]) -> Mapping[str, float]:
    found: dict[str, float] = {}
    for load in loads:
        for resource, time in load.items():
            found[resource] = found.get(resource, 0.0) + time
    return found


def _side_by_side(branches: list[Piece]) -> Piece:
    ways = [
        Way(inner)
        for branch in branches
        for inner in (
            [way.piece for way in branch.ways]
            if isinstance(branch, Branching) and branch.kind == "and"
            else [branch]
        )
    ]
    return Branching("and", tuple(ways)) if len(ways) > 1 else ways[0].piece


def _bits(mask: int) -> list[int]:
    found = []
    while mask:
        lowest = mask & -mask
        mask ^= lowest
        found.append(lowest.bit_length() - 1)
    return found
