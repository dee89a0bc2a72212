"""What need not wait is done side by side: parts of a series are arranged anew, so that only what depends on each other keeps its order.

Arranged are the atoms of `timing.critical`. Those that hang together by nothing are put side by side; those that do are
cut in two, the first before the second, where it takes least time; and so on with each. For few atoms
every cut is tried. What comes out is made of blocks again, so that it can be compared with what it came from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from halflap.workflows.maintainability import deep
from halflap.workflows.pieces.piece import Branching, Way, parts_of, series
from halflap.workflows.timing.critical import Atoms, critical_path, fused
from halflap.workflows.transforming.ground import each_piece, each_stretch, named

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from halflap.workflows.pieces.piece import Layout, Piece
    from halflap.workflows.transforming.ground import Changed, Ground

__all__ = ["parallelise", "serialise"]

_EVERY_CUT = 8
"""Up to how many atoms all ways to cut them are tried."""
_FEW = 5
"""Up to how many the first cut that takes no longer than it must is not taken for the best."""
_ALL_WINDOWS = 8
_SOME_WINDOWS = 24
_CLOSE = 1e-9


def parallelise(ground: Ground, layout: Layout) -> Iterator[Changed]:
    """Put what does not depend on each other side by side, in each stretch of a series."""
    if ground.constraints.keep_order:
        return

    def change(piece: Piece) -> Iterator[tuple[Piece, str]]:
        parts = fused(parts_of(piece))
        if len(parts) == 1:
            yield from _arranged(ground, (), parts, ())
        for start, end in _windows(len(parts)):
            yield from _arranged(ground, parts[:start], parts[start:end], parts[end:])

    yield from each_stretch(layout, change)


def _windows(count: int) -> Iterator[tuple[int, int]]:
    """Give the stretches to look at, long ones first: of a short series all, of a longer one some of each length."""
    if count < 2:  # noqa: PLR2004 (there is nothing to arrange)
        return
    yield 0, count
    if count <= _ALL_WINDOWS:
        for length in range(count - 1, 1, -1):
            for start in range(count - length + 1):
                yield start, start + length
        return
    lengths = [1 << power for power in range((count - 1).bit_length() - 1, 0, -1)]
    for length in [*lengths, *([3] if count <= _SOME_WINDOWS else [])]:
        for start in range(0, count - length + 1, max(1, length // 2)):
            yield start, start + length


def _arranged(
    ground: Ground, before: Sequence[Piece], window: Sequence[Piece], after: Sequence[Piece]
) -> Iterator[tuple[Piece, str]]:
    old = series(window)
    if old not in ground.arranged:
        ground.arranged[old] = tuple(_anew(ground, old))
    for new in ground.arranged[old]:
        what = f"Put {named(ground.doing(old))} side by side, as far as they do not need each other."
        yield series((*before, new, *after)), what


def _anew(ground: Ground, old: Piece) -> Iterator[Piece]:
    """Give a piece arranged anew, for each number of things that may be done at once."""
    if ground.timing.expected(old) <= critical_path(ground.facts, old) + _CLOSE:
        return
    arranger = _Arranger(ground, old)
    most = ground.constraints.max_parallel
    widths: list[int | None] = [None] if most is None else [None, *range(most, 1, -1)]
    seen = {old}
    for width in widths:
        key = (arranger.numbers, tuple(arranger.needs), width)
        if key not in ground.found:
            ground.found[key] = arranger.best(arranger.everything, width)
        new = ground.found[key]
        if new in seen or ground.timing.expected(new) >= ground.timing.expected(old) - _CLOSE:
            continue
        seen.add(new)
        yield new


class _Arranger:
    def __init__(self, ground: Ground, piece: Piece) -> None:
        self.timing = ground.timing
        found = Atoms(piece)
        needed = found.needed(ground.facts)
        numbers = [ground.facts.number(one) for one in found.atoms]
        # A condition or silent task that does nothing would be a branch of its own.
        left = [at for at, one in enumerate(found.atoms) if not self._idle(ground, one)]
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
        self._best: dict[tuple[int, int | None], Piece] = {}

    @staticmethod
    def _idle(ground: Ground, piece: Piece) -> bool:
        return all(ground.facts.removable(node) for node in ground.facts.steps(piece)) and not any(
            isinstance(part, Branching) for part in parts_of(piece)
        )

    def best(self, mask: int, width: int | None) -> Piece:
        """Arrange some atoms, with at most so many things at once."""
        found = self._best.get((mask, width))
        if found is None:
            found = self._best[mask, width] = self._found(mask, width)
        return found

    def _found(self, mask: int, width: int | None) -> Piece:
        listed = _bits(mask)
        in_order = series(self.atoms[at] for at in listed)
        if len(listed) < 2 or width == 1:  # noqa: PLR2004 (there is nothing to arrange)
            return in_order
        groups = self._groups(mask)
        if len(groups) > 1:
            return min((in_order, self._beside(groups, width)), key=self._key)
        least = self._length(mask) + _CLOSE
        found = in_order
        for cut in self._cuts(mask):
            new = series((self.best(cut, width), self.best(mask & ~cut, width)))
            found = min((found, new), key=self._key)
            if self.timing.expected(found) <= least and len(listed) > _FEW:
                break
        return found

    def _key(self, piece: Piece) -> tuple[float, int, int]:
        return round(self.timing.expected(piece), 9), deep(piece), len(parts_of(piece))

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

    def _beside(self, groups: list[int], width: int | None) -> Piece:
        """Put groups side by side; where there are more than may be, some one after the other."""
        if width is None or len(groups) <= width:
            spare = None if width is None else width - len(groups)
            branches = [self.best(group, None if width is None else 1) for group in groups]
            longest = max(range(len(groups)), key=lambda at: (self.timing.expected(branches[at]), -at))
            if spare:
                branches[longest] = self.best(groups[longest], spare + 1)
            elif width is None:
                branches = [self.best(group, None) for group in groups]
            return _side_by_side(branches)
        lanes: list[list[int]] = [[] for _ in range(width)]
        loads = [0.0] * width
        alone = {group: self.best(group, 1) for group in groups}
        for group in sorted(groups, key=lambda one: (-self.timing.expected(alone[one]), one)):
            lane = min(range(width), key=lambda at: (loads[at], at))
            lanes[lane].append(group)
            loads[lane] += self.timing.expected(alone[group])
        # In a lane all stay in the order that they had.
        return _side_by_side(
            [
                series(self.atoms[at] for at in sorted(at for group in lane for at in _bits(group)))
                for lane in lanes
                if lane
            ]
        )

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
            ends[at] = start + self.timing.expected(self.atoms[at])
        return ends

    def _length(self, mask: int) -> float:
        return max(self._ends(mask).values(), default=0.0)


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


def serialise(ground: Ground, layout: Layout) -> Iterator[Changed]:
    """Put two branches one after the other, where more is done at once than may be."""
    most = ground.constraints.max_parallel

    def change(piece: Piece) -> Iterator[tuple[Piece, str]]:
        if (
            not isinstance(piece, Branching)
            or piece.kind != "and"
            or ground.timing.width(piece) <= (most or 0)
        ):
            return
        for at, one in enumerate(piece.ways):
            for later in range(at + 1, len(piece.ways)):
                other = piece.ways[later]
                both = Way(series((one.piece, other.piece)))
                ways = (*piece.ways[:at], both, *piece.ways[at + 1 : later], *piece.ways[later + 1 :])
                new: Piece = Branching("and", ways, piece.split, piece.join) if len(ways) > 1 else both.piece
                names = named([*ground.doing(one.piece)[:1], *ground.doing(other.piece)[:1]])
                yield (
                    new,
                    f"Put {names}, and what belongs to them, one after the other, so that less is done at once.",
                )

    if most is not None and any(ground.timing.width(link.way.piece) > most for link in layout.links):
        yield from each_piece(layout, change)
