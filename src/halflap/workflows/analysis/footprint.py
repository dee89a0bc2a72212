"""The footprint: which activities directly follow each other in the complete traces of a workflow.

Two independent methods find it: from the tree, and from all states. An activity is a label; several tasks may share it, and silent tasks
have none. Sets of activities are numbers, with a bit for each.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Sequence as List
from dataclasses import dataclass
from functools import reduce
from itertools import islice
from operator import and_, or_
from typing import TYPE_CHECKING, Literal

from halflap.workflows.answers import Difference
from halflap.workflows.model.block import Block, Branches, Loop, Sequence, Step

if TYPE_CHECKING:
    from halflap.workflows.analysis.study import Study

Relation = Literal["→", "←", "||", "#"]
_RELATIONS: tuple[Relation, ...] = ("#", "←", "→", "||")


@dataclass(frozen=True, slots=True)
class BitMatrix:
    """For each activity a set of others, as bits in the order of `activities`, which are sorted."""

    activities: tuple[str, ...]
    rows: tuple[int, ...]

    def named(self, bits: int) -> list[str]:
        return [self.activities[at] for at in bits_of(bits)]

    def over(self, activities: tuple[str, ...]) -> list[int]:
        """Return the rows of other activities, with bits counted along those."""
        if self.activities == activities:
            return list(self.rows)
        place = {activity: at for at, activity in enumerate(activities)}
        found = [0] * len(activities)
        for one, row in zip(self.activities, self.rows, strict=True):
            if one in place:
                found[place[one]] = union(1 << place[other] for other in self.named(row) if other in place)
        return found


@dataclass(frozen=True, slots=True)
class Footprint(BitMatrix):
    """Which activities begin, end and directly follow each other (`rows`), over all complete traces."""

    starts: int
    ends: int
    empty_trace: bool
    """Whether a case can be complete with no visible activity."""

    def start_activities(self) -> list[str]:
        return self.named(self.starts)

    def end_activities(self) -> list[str]:
        return self.named(self.ends)

    def matrix(self) -> list[list[Relation]]:
        """Return the relation of each activity, by row, to each, by column."""
        return [
            [relation(row, column, at) for at in range(len(self.activities))]
            for row, column in zip(self.rows, transposed(self.rows), strict=True)
        ]


def footprint(study: Study) -> Footprint | None:
    """Return the footprint; None if the study has a problem."""
    if study.block is not None:
        return by_blocks(study, study.block)
    return None if study.problem is not None else by_states(study)


def bits_of(number: int) -> list[int]:
    """Return the positions of the bits that are set, lowest first."""
    found = []
    while number:
        lowest = number & -number
        number ^= lowest
        found.append(lowest.bit_length() - 1)
    return found


def union(sets: Iterable[int]) -> int:
    return reduce(or_, sets, 0)


def others(sets: List[int]) -> list[tuple[int, int]]:
    """Return, for each position, the union of everything before it and of everything after it."""
    before, after = [0] * len(sets), [0] * len(sets)
    for at in range(1, len(sets)):
        before[at] = before[at - 1] | sets[at - 1]
        after[-1 - at] = after[-at] | sets[-at]
    return list(zip(before, after, strict=True))


def transposed(rows: List[int]) -> list[int]:
    """Return the columns of a square of bits."""
    columns = zip(*(f"{row:0{len(rows)}b}" for row in reversed(rows)), strict=True)
    return [int("".join(column), 2) for column in columns][::-1]


def relation(row: int, column: int, at: int) -> Relation:
    """Return how an activity relates to another, by what follows it and what it follows."""
    return _RELATIONS[2 * (row >> at & 1) + (column >> at & 1)]


# By blocks --------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Summary:
    """The activities of a block."""

    first: int
    last: int
    all: int
    must: int
    """Those that every trace of the block has."""
    skips: bool
    """Whether it can be passed with nothing visible."""
    parts: list[Summary]


def summary_of(block: Block, bits: Mapping[str, int]) -> Summary:
    if isinstance(block, Step):
        bit = bits.get(block.node, 0)
        return Summary(bit, bit, bit, bit, not bit, [])
    parts = [summary_of(one, bits) for one in block.parts]
    everything = union(part.all for part in parts)
    if isinstance(block, Sequence):
        first = last = 0
        skips = True
        for part in parts:
            first |= part.first if skips else 0
            last = part.last | (last if part.skips else 0)
            skips = skips and part.skips
        return Summary(first, last, everything, union(part.must for part in parts), skips, parts)
    if isinstance(block, Loop):
        body, again = parts
        first = body.first | (again.first if body.skips else 0)
        last = body.last | (again.last if body.skips else 0)
        return Summary(first, last, everything, body.must, body.skips, parts)
    parallel = isinstance(block, Branches) and block.kind == "and"
    first, last = union(part.first for part in parts), union(part.last for part in parts)
    must = reduce(or_ if parallel else and_, (part.must for part in parts))
    return Summary(
        first, last, everything, must, (all if parallel else any)(one.skips for one in parts), parts
    )


def by_blocks(study: Study, block: Block) -> Footprint:
    """Summarise each block from the inside out, then pass down what follows it from the outside in."""
    follows = [0] * len(study.activities)

    def descend(one: Block, part: Summary, after: int, parallel: int) -> None:
        """`after` can follow the last activities of the block, `parallel` any of them."""
        if isinstance(one, Step) and part.all:
            follows[part.all.bit_length() - 1] |= after | parallel
        for child, summary, (then, with_it) in zip(
            one.parts, part.parts, _following(one, part.parts, after, parallel), strict=True
        ):
            descend(child, summary, then, with_it)

    whole = summary_of(block, study.bits)
    descend(block, whole, 0, 0)
    return Footprint(study.activities, tuple(follows), whole.first, whole.last, whole.skips)


def _following(block: Block, parts: list[Summary], after: int, parallel: int) -> Iterator[tuple[int, int]]:
    """Yield for each part what can follow its end, and what can follow anything in it."""
    if isinstance(block, Sequence):
        found = []
        for part in reversed(parts):
            found.append((after, parallel))
            after = part.first | (after if part.skips else 0)
        yield from reversed(found)
    elif isinstance(block, Loop):
        body, again = parts
        yield after | again.first | (body.first if again.skips else 0), parallel
        yield body.first | ((after | again.first) if body.skips else 0), parallel
    elif isinstance(block, Branches):
        for before, later in others([part.all for part in parts]):
            yield after, parallel | (before | later if block.kind != "xor" else 0)


# By states --------------------------------------------------------------------------------------------


def spread(
    found: dict[int, int], arcs: Iterable[tuple[int, int, int]], carried: Callable[[int, int], int]
) -> dict[int, int]:
    """Propagate sets along arcs until nothing changes."""
    out: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for source, bit, target in arcs:
        out[source].append((bit, target))
    waiting = list(found)
    while waiting:
        source = waiting.pop()
        for bit, target in out[source]:
            new = carried(found[source], bit) | found.get(target, 0)
            if new != found.get(target):
                found[target] = new
                waiting.append(target)
    return found


def by_states(study: Study) -> Footprint:
    final = study.space.final
    if final is None:
        return Footprint((), (), 0, 0, empty_trace=False)
    begun = len(study.activities)
    # What can be the last visible activity when a state is reached; bit `begun` for none yet.
    last = spread({0: 1 << begun}, study.arcs, lambda seen, bit: bit or seen)
    follows = [0] * (begun + 1)
    for state, bit, _ in study.arcs:
        for at in bits_of(last[state]) if bit else ():
            follows[at] |= bit
    # Activities that no complete trace has are left out.
    alive = bits_of(union(follows))

    def kept(bits: int) -> int:
        return sum(1 << new for new, old in enumerate(alive) if bits >> old & 1)

    return Footprint(
        tuple(study.activities[at] for at in alive),
        tuple(kept(follows[at]) for at in alive),
        kept(follows[begun]),
        kept(last[final]),
        bool(last[final] >> begun & 1),
    )


# Agreement --------------------------------------------------------------------------------------------


class Agreement:
    """Two footprints compared, over the activities of both; neither is empty."""

    def __init__(self, first: Footprint, second: Footprint) -> None:
        self.activities = tuple(sorted({*first.activities, *second.activities}))
        self._first, self._second = first.over(self.activities), second.over(self.activities)
        self._back = transposed(self._first), transposed(self._second)
        rows = zip(self._first, self._second, *self._back, strict=True)
        self._unlike = [(one ^ two) | (before ^ after) for one, two, before, after in rows]
        self.differing = sum(row.bit_count() for row in self._unlike)
        self.cells = 1 - self.differing / len(self.activities) ** 2
        """The share of equal cells. It is high for large footprints: one swap is a few cells of thousands."""
        self._ends = [
            ({*first.start_activities()}, {*second.start_activities()}),
            ({*first.end_activities()}, {*second.end_activities()}),
        ]

    @property
    def directly_follows(self) -> float:
        """The share of common pairs of direct neighbours (Jaccard), with the begin and end of a case as neighbours."""
        common = sum(len(one & two) for one, two in self._ends)
        either = sum(len(one | two) for one, two in self._ends)
        for one, two in zip(self._first, self._second, strict=True):
            common += (one & two).bit_count()
            either += (one | two).bit_count()
        return common / either

    def differences(self, most: int) -> list[Difference]:
        """Return the differing cells, the first ones of many."""
        cells = ((at, column) for at, unlike in enumerate(self._unlike) for column in bits_of(unlike))
        return [
            Difference(
                row=self.activities[at],
                column=self.activities[column],
                original=relation(self._first[at], self._back[0][at], column),
                optimized=relation(self._second[at], self._back[1][at], column),
            )
            for at, column in islice(cells, most)
        ]
