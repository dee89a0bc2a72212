"""The footprint: which activities directly follow each other in the complete traces of a workflow.

Two independent methods find it: from the tree of blocks, and from all states. An activity is a label; several tasks may share it, and silent tasks
have none.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING, Literal

from halflap.workflows.analysis.states import bits_of
from halflap.workflows.analysis.study import Unknown
from halflap.workflows.answers import Difference
from halflap.workflows.model.block import Branches, Loop, Sequence, Step, inner

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from collections.abc import Sequence as List

    from halflap.workflows.analysis.study import Study
    from halflap.workflows.model.block import Block

__all__ = [
    "Agreement",
    "Footprint",
    "Part",
    "Relation",
    "agreement",
    "footprint",
    "others",
    "part_of",
    "union",
]

Relation = Literal["→", "←", "||", "#"]
_RELATIONS: tuple[Relation, ...] = ("#", "←", "→", "||")
_DRAWN = {str(at): relation for at, relation in enumerate(_RELATIONS)}


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

    def start_activities(self) -> tuple[str, ...]:
        return tuple(self.named(self.starts))

    def end_activities(self) -> tuple[str, ...]:
        return tuple(self.named(self.ends))

    def precedes(self) -> list[int]:
        """Return, for each activity, those that can come right before it."""
        return transposed(self.follows)

    def matrix(self) -> tuple[tuple[Relation, ...], ...]:
        """Return the relation of each activity, by row, to each, by column."""
        count = len(self.activities)
        return tuple(
            # One hexadecimal digit for each cell, with both directions: fast for millions of cells.
            tuple(_DRAWN[digit] for digit in reversed(f"{2 * _digits(follows) + _digits(before):0{count}x}"))
            for follows, before in zip(self.follows, self.precedes(), strict=True)
        )

    def named(self, bits: int) -> Iterator[str]:
        """Yield the activities of these bits; one pass, however many there are."""
        return (self.activities[at] for at, bit in enumerate(reversed(f"{bits:b}")) if bit == "1")

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


def _digits(bits: int) -> int:
    """Return a number whose hexadecimal digits are the bits of another."""
    return int(f"{bits:b}", 16)


# By blocks --------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Part:
    """The activities of a block, as bits."""

    first: int
    last: int
    all: int
    must: int
    """Those that every trace of the block has."""
    skips: bool
    """Whether it can be passed with nothing visible."""
    parts: list[Part]


def _by_blocks(study: Study, block: Block) -> Footprint:
    """Summarise each block from the inside out, then pass down what follows it from the outside in."""
    follows = [0] * len(study.activities)

    def descend(one: Block, part: Part, after: int, beside: int) -> None:
        """`after` can follow what comes last in the block, `beside` anything in it."""
        if isinstance(one, Step):
            if part.all:
                follows[part.all.bit_length() - 1] |= after | beside
            return
        for child, summary, then, with_it in _following(one, part.parts, after, beside):
            descend(child, summary, then, with_it)

    whole = part_of(block, study.bits)
    descend(block, whole, 0, 0)
    return Footprint(study.activities, whole.first, whole.last, tuple(follows), whole.skips)


def part_of(block: Block, bits: dict[str, int]) -> Part:
    if isinstance(block, Step):
        bit = bits.get(block.node, 0)
        return Part(bit, bit, bit, bit, not bit, [])
    parts = [part_of(one, bits) for one in inner(block)]
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
    parallel = block.kind == "and"
    return Part(
        union(part.first for part in parts),
        union(part.last for part in parts),
        everything,
        reduce(or_ if parallel else and_, (part.must for part in parts)),
        (all if parallel else any)(part.skips for part in parts),
        parts,
    )


def _following(
    block: Sequence | Branches | Loop, parts: list[Part], after: int, beside: int
) -> Iterator[tuple[Block, Part, int, int]]:
    if isinstance(block, Sequence):
        for child, part in zip(reversed(block.parts), reversed(parts), strict=True):
            yield child, part, after, beside
            after = part.first | (after if part.skips else 0)
    elif isinstance(block, Loop):
        body, again = parts
        yield block.body, body, after | again.first | (body.first if again.skips else 0), beside
        leaving = (after | again.first) if body.skips else 0
        yield block.again.block, again, body.first | leaving, beside
    else:
        parallel = [0] * len(parts)
        if block.kind != "xor":
            parallel = [before | later for before, later in others([part.all for part in parts])]
        for way, part, together in zip(block.ways, parts, parallel, strict=True):
            yield way.block, part, after, beside | together


# By states --------------------------------------------------------------------------------------------


def _by_states(study: Study) -> Footprint | Unknown:
    space, ending, final = study.space, study.ending, study.space.final()
    if space.problem is not None:
        return Unknown(space.problem)
    if final is None:
        return Footprint((), 0, 0, (), empty_trace=False)
    begun = len(study.activities)
    last = _seen_last(study, begun)
    follows = [0] * (begun + 1)
    for state in ending:
        for step, target in space.steps[state]:
            bit = study.bits.get(space.machine.steps[step].task or "", 0)
            if bit and target in ending:
                for at in bits_of(last[state]):
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


def _seen_last(study: Study, begun: int) -> list[int]:
    """Return, for each state, what can be the last visible activity when it is reached; bit `begun` for none yet."""
    space, ending = study.space, study.ending
    last = [0] * len(space.markings)
    last[0] = 1 << begun
    waiting = [0]
    while waiting:
        state = waiting.pop()
        for step, target in space.steps[state]:
            bit = study.bits.get(space.machine.steps[step].task or "", 0)
            seen = last[target] | (bit or last[state])
            if target in ending and seen != last[target]:
                last[target] = seen
                waiting.append(target)
    return last


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
    """The differing cells, the first ones if only so many were asked for."""
    missing: tuple[str, ...]
    """Activities that only the first has."""
    added: tuple[str, ...]


def agreement(first: Footprint, second: Footprint, most: int | None = None) -> Agreement | None:
    """Compare two footprints and list at most so many differences; None if one is empty, which agrees with nothing."""
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
        if unlike and (most is None or len(listed) < most):
            listed += [
                Difference(
                    row=row,
                    column=activities[column],
                    original=_RELATIONS[2 * (one[at] >> column & 1) + (one_back[at] >> column & 1)],
                    optimized=_RELATIONS[2 * (two[at] >> column & 1) + (two_back[at] >> column & 1)],
                )
                for column in bits_of(unlike)
            ]
    both = sum((a & b).bit_count() for a, b in zip(one, two, strict=True))
    either = sum((a | b).bit_count() for a, b in zip(one, two, strict=True))
    return Agreement(
        activities,
        1 - differing / len(activities) ** 2,
        both / either if either else 1.0,
        differing,
        tuple(listed[:most]),
        tuple(sorted({*first.activities} - {*second.activities})),
        tuple(sorted({*second.activities} - {*first.activities})),
    )
