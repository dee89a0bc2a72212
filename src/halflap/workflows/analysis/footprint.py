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
from operator import and_, or_
from typing import Literal

from halflap.workflows.analysis.study import Study, Unknown
from halflap.workflows.answers import Difference
from halflap.workflows.model.block import Block, Branches, Loop, Sequence, Step

Relation = Literal["→", "←", "||", "#"]
_RELATIONS: tuple[Relation, ...] = ("#", "←", "→", "||")


@dataclass(frozen=True, slots=True)
class Footprint:
    """Which activities begin, end and directly follow each other, over all complete traces."""

    activities: tuple[str, ...]
    """Sorted; the bits of the numbers below count from the first."""
    starts: int
    ends: int
    follows: tuple[int, ...]
    """For each activity, those that can come right after it."""
    empty_trace: bool
    """Whether a case can be complete with no visible activity."""

    def start_activities(self) -> list[str]:
        return self.named(self.starts)

    def end_activities(self) -> list[str]:
        return self.named(self.ends)

    def named(self, bits: int) -> list[str]:
        return [self.activities[at] for at in bits_of(bits)]

    def matrix(self) -> list[list[Relation]]:
        """Return the relation of each activity, by row, to each, by column."""
        back = transposed(self.follows)
        return [
            [relation(row, column, at) for at in range(len(self.activities))]
            for row, column in zip(self.follows, back, strict=True)
        ]

    def over(self, activities: tuple[str, ...]) -> list[int]:
        """Return `follows` with bits counted along other activities."""
        if self.activities == activities:
            return list(self.follows)
        place = {activity: at for at, activity in enumerate(activities)}
        rows = [0] * len(activities)
        for at, one in enumerate(self.activities):
            rows[place[one]] = union(1 << place[other] for other in self.named(self.follows[at]))
        return rows


def footprint(study: Study) -> Footprint | Unknown:
    return _by_states(study) if study.block is None else _by_blocks(study, study.block)


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
class Part:
    """The activities of a block."""

    first: int
    last: int
    all: int
    must: int
    """Those that every trace of the block has."""
    skips: bool
    """Whether it can be passed with nothing visible."""
    parts: list[Part]


def part_of(block: Block, bits: Mapping[str, int]) -> Part:
    if isinstance(block, Step):
        bit = bits.get(block.node, 0)
        return Part(bit, bit, bit, bit, not bit, [])
    parts = [part_of(one, bits) for one in block.parts]
    everything = union(part.all for part in parts)
    if isinstance(block, Sequence):
        first = last = 0
        skips = True
        for part in parts:
            first |= part.first if skips else 0
            last = part.last | (last if part.skips else 0)
            skips = skips and part.skips
        return Part(first, last, everything, union(part.must for part in parts), skips, parts)
    if isinstance(block, Loop):
        body, again = parts
        first = body.first | (again.first if body.skips else 0)
        last = body.last | (again.last if body.skips else 0)
        return Part(first, last, everything, body.must, body.skips, parts)
    parallel = isinstance(block, Branches) and block.kind == "and"
    first, last = union(part.first for part in parts), union(part.last for part in parts)
    must = reduce(or_ if parallel else and_, (part.must for part in parts))
    return Part(first, last, everything, must, (all if parallel else any)(one.skips for one in parts), parts)


def _by_blocks(study: Study, block: Block) -> Footprint:
    """Summarise each block from the inside out, then pass down what follows it from the outside in."""
    follows = [0] * len(study.activities)

    def descend(one: Block, part: Part, after: int, beside: int) -> None:
        """`after` can follow what comes last in the block, `beside` anything in it."""
        if isinstance(one, Step) and part.all:
            follows[part.all.bit_length() - 1] |= after | beside
        for child, summary, (then, with_it) in zip(
            one.parts, part.parts, _following(one, part.parts, after, beside), strict=True
        ):
            descend(child, summary, then, with_it)

    whole = part_of(block, study.bits)
    descend(block, whole, 0, 0)
    return Footprint(study.activities, whole.first, whole.last, tuple(follows), whole.skips)


def _following(block: Block, parts: list[Part], after: int, beside: int) -> Iterator[tuple[int, int]]:
    """Yield for each part what can follow its end, and what can follow anything in it."""
    if isinstance(block, Sequence):
        found = []
        for part in reversed(parts):
            found.append((after, beside))
            after = part.first | (after if part.skips else 0)
        yield from reversed(found)
    elif isinstance(block, Loop):
        body, again = parts
        yield after | again.first | (body.first if again.skips else 0), beside
        yield body.first | ((after | again.first) if body.skips else 0), beside
    elif isinstance(block, Branches):
        for before, later in others([part.all for part in parts]):
            yield after, beside | (before | later if block.kind != "xor" else 0)


# By states --------------------------------------------------------------------------------------------


def spread(
    found: dict[int, int], arcs: Iterable[tuple[int, int, int]], carried: Callable[[int, int], int]
) -> dict[int, int]:
    """Carry sets along arcs until nothing is added any more."""
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


def _by_states(study: Study) -> Footprint | Unknown:
    if study.space.problem is not None:
        return Unknown(study.space.problem)
    final = study.space.final()
    if final is None:
        return Footprint((), 0, 0, (), empty_trace=False)
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
        kept(follows[begun]),
        kept(last[final]),
        tuple(kept(follows[at]) for at in alive),
        bool(last[final] >> begun & 1),
    )


# Agreement --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two footprints compared, over the activities of both."""

    activities: tuple[str, ...]
    cells: float
    """The share of equal cells. It is high for anything large: one swap is a few cells of thousands."""
    directly_follows: float
    """The share of common pairs of direct neighbours (Jaccard)."""
    differing: int
    differences: tuple[Difference, ...]
    """The differing cells, at most as many as were asked for."""


def agreement(first: Footprint, second: Footprint, most: int = 0) -> Agreement | None:
    """Compare two footprints and list at most `most` differences; None if one is empty, which agrees with nothing."""
    if not first.activities or not second.activities:
        return None
    activities = tuple(sorted({*first.activities, *second.activities}))
    one, two = first.over(activities), second.over(activities)
    one_back, two_back = transposed(one), transposed(two)
    differing = 0
    listed: list[Difference] = []
    for at, row in enumerate(activities):
        unlike = (one[at] ^ two[at]) | (one_back[at] ^ two_back[at])
        differing += unlike.bit_count()
        listed += [
            Difference(
                row=row,
                column=activities[column],
                original=relation(one[at], one_back[at], column),
                optimized=relation(two[at], two_back[at], column),
            )
            for column in (bits_of(unlike)[: most - len(listed)] if len(listed) < most else ())
        ]
    both = sum((a & b).bit_count() for a, b in zip(one, two, strict=True))
    either = sum((a | b).bit_count() for a, b in zip(one, two, strict=True))
    return Agreement(
        activities,
        1 - differing / len(activities) ** 2,
        both / either if either else 1.0,
        differing,
        tuple(listed),
    )
