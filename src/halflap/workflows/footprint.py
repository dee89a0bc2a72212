"""What directly follows what in the traces of a workflow, and what two activities are to each other by that.

There are two ways to find it, which know nothing of each other: from the tree of blocks, from the inside out, and from
all states. An activity is a label: several tasks may have it, and silent tasks have none. What counts are the traces
of cases that are complete.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from halflap.workflows.block import inside_out

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from halflap.workflows.block import Block
    from halflap.workflows.study import Study

__all__ = [
    "Footprint",
    "Relation",
    "Unknown",
    "footprint",
    "footprint_by_blocks",
    "footprint_by_states",
    "turned",
    "unions",
]

Relation = Literal["→", "←", "||", "#"]


@dataclass(frozen=True, slots=True)
class Footprint:
    """Which activities begin, end and directly follow each other, in all complete traces together."""

    activities: tuple[str, ...]
    """In alphabetical order; the bits of the numbers below count from the first."""
    starts: int
    ends: int
    follows: tuple[int, ...]
    """For each activity, those that can come right after it."""
    empty_trace: bool
    """Whether a case can be complete with nothing to be seen of it."""

    def relation(self, one: str, other: str) -> Relation:
        """Tell what two activities are to each other; `#` where one of them is not there."""
        number = {activity: at for at, activity in enumerate(self.activities)}
        if one not in number or other not in number:
            return "#"
        forth = self.follows[number[one]] >> number[other] & 1
        back = self.follows[number[other]] >> number[one] & 1
        return _RELATIONS[bool(forth), bool(back)]

    def start_activities(self) -> tuple[str, ...]:
        return tuple(self.named(self.starts))

    def end_activities(self) -> tuple[str, ...]:
        return tuple(self.named(self.ends))

    def directly_follows(self) -> Iterator[tuple[str, str]]:
        """Give all pairs, in order."""
        for at, one in enumerate(self.activities):
            for other in self.named(self.follows[at]):
                yield one, other

    def matrix(self) -> tuple[tuple[Relation, ...], ...]:
        """Give the relation of each activity, by row, to each, by column."""
        count = len(self.activities)
        return tuple(
            # A digit for each cell, of both directions: as text they are gone through in one go.
            tuple(map(_DRAWN.__getitem__, reversed(f"{2 * _digits(follows) + _digits(before):0{count}x}")))
            for follows, before in zip(self.follows, self.precedes(), strict=True)
        )

    def precedes(self) -> tuple[int, ...]:
        """Give, for each activity, those that can come right before it."""
        return tuple(turned(self.follows))

    def named(self, bits: int) -> Iterator[str]:
        """Give the activities of these bits."""
        return (self.activities[at] for at in _bits(bits))


_RELATIONS: dict[tuple[bool, bool], Relation] = {
    (True, False): "→",
    (False, True): "←",
    (True, True): "||",
    (False, False): "#",
}
_DRAWN: dict[str, Relation] = {
    str(2 * forth + back): relation for (forth, back), relation in _RELATIONS.items()
}


@dataclass(frozen=True, slots=True)
class Unknown:
    """There is no answer, and why."""

    why: str


def footprint(study: Study) -> Footprint | Unknown:
    """Find the footprint of a workflow, by its blocks if it is made of them."""
    return footprint_by_states(study) if study.tree is None else footprint_by_blocks(study, study.tree)


@dataclass(slots=True)
class _Part:
    """What is known of a block."""

    first: int
    last: int
    all: int
    skips: bool
    """Whether it can be gone through with nothing to be seen."""


_NOTHING = _Part(0, 0, 0, skips=True)


def footprint_by_blocks(study: Study, tree: Block) -> Footprint:
    """Find the footprint from the tree: what is in each block from the inside out, what follows it from the outside in.

    So every block is looked at twice, however deep it stands, and not once for each that it stands in.
    """
    activities, tasks = study.activities, study.net.tasks
    number = {activity: at for at, activity in enumerate(activities)}
    parts: dict[Block, _Part] = {}
    for block in inside_out(tree):
        if block.children:
            parts[block] = _part(block, [parts[child] for child in block.children])
        elif block.task is None or (label := tasks[block.task].label) is None:
            parts[block] = _NOTHING
        else:
            bit = 1 << number[label]
            parts[block] = _Part(bit, bit, bit, skips=False)
    follows = [0] * len(activities)
    # With each block: what can follow what comes last in it, and what can follow anything in it.
    waiting = [(tree, 0, 0)]
    while waiting:
        block, after, beside = waiting.pop()
        if block.children:
            waiting += _within(block, [parts[child] for child in block.children], after, beside)
        elif parts[block].all:
            follows[parts[block].all.bit_length() - 1] |= after | beside
    whole = parts[tree]
    return Footprint(activities, whole.first, whole.last, tuple(follows), whole.skips)


def _part(block: Block, parts: list[_Part]) -> _Part:
    if block.kind == "sequence":
        return _sequence(parts)
    if block.kind == "loop":
        again, between = parts
        return _Part(
            again.first | (between.first if again.skips else 0),
            again.last | (between.last if again.skips else 0),
            again.all | between.all,
            again.skips,
        )
    return _Part(
        _union(part.first for part in parts),
        _union(part.last for part in parts),
        _union(part.all for part in parts),
        all(part.skips for part in parts) if block.kind == "and" else any(part.skips for part in parts),
    )


def _sequence(parts: list[_Part]) -> _Part:
    first = last = everything = 0
    skips = True
    for part in parts:
        if skips:
            first |= part.first
        last = part.last | (last if part.skips else 0)
        everything |= part.all
        skips = skips and part.skips
    return _Part(first, last, everything, skips)


def _within(block: Block, parts: list[_Part], after: int, beside: int) -> Iterator[tuple[Block, int, int]]:
    """Give each child of a block with what can follow what comes last in it, and what can follow anything in it."""
    if block.kind == "sequence":
        for child, part in zip(reversed(block.children), reversed(parts), strict=True):
            yield child, after, beside
            after = part.first | (after if part.skips else 0)
    elif block.kind == "loop":
        (again, between), (first, second) = parts, block.children
        yield first, after | between.first | (again.first if between.skips else 0), beside
        yield second, again.first | ((after | between.first) if again.skips else 0), beside
    elif block.kind == "xor":
        yield from ((child, after, beside) for child in block.children)
    else:
        # Everything in one branch can be followed by everything in each other.
        before, later = unions([part.all for part in parts])
        for at, child in enumerate(block.children):
            yield child, after, beside | before[at] | later[at]


def unions(sets: list[int]) -> tuple[list[int], list[int]]:
    """Give, for each place, the union of all before it, and of all after it."""
    before, after = [0] * len(sets), [0] * len(sets)
    for at in range(1, len(sets)):
        before[at] = before[at - 1] | sets[at - 1]
        after[-1 - at] = after[-at] | sets[-at]
    return before, after


def _union(sets: Iterator[int]) -> int:
    found = 0
    for one in sets:
        found |= one
    return found


def _follow(before: int, after: int, follows: list[int]) -> None:
    for at in _bits(before):
        follows[at] |= after


def _bits(bits: int) -> Iterator[int]:
    """Give the numbers of the bits that are set, the lowest first; in one go over them, however many there are."""
    return (at for at, bit in enumerate(reversed(f"{bits:b}")) if bit == "1")


def footprint_by_states(study: Study) -> Footprint | Unknown:
    """Find the footprint from all states; where there are too many, or ever more, say so."""
    space, ending, final = study.space, study.ending, study.space.final()
    if space.problem is not None:
        return Unknown(space.problem)
    if final is None:
        return Footprint((), 0, 0, (), empty_trace=False)
    activities = study.activities
    number = {activity: at for at, activity in enumerate(activities)}
    begun = len(activities)
    last = _seen_last(study, number, begun)
    follows = [0] * (begun + 1)
    for state in ending:
        for step, target in space.steps[state]:
            label = space.machine.steps[step].label
            if label is not None and target in ending:
                _follow(last[state], 1 << number[label], follows)
    return _without_dead(
        Footprint(
            activities,
            follows[begun],
            last[final] & ~(1 << begun),
            tuple(follows[:begun]),
            bool(last[final] >> begun & 1),
        )
    )


def _seen_last(study: Study, number: dict[str, int], begun: int) -> list[int]:
    """Give, for each state, what can be the last that was seen when it is reached; `begun` for nothing yet."""
    space, ending = study.space, study.ending
    last = [0] * len(space.markings)
    last[0] = 1 << begun
    waiting = [0]
    visited = {0}
    while waiting:
        state = waiting.pop()
        for step, target in space.steps[state]:
            if target not in ending:
                continue
            label = space.machine.steps[step].label
            seen = last[target] | (last[state] if label is None else 1 << number[label])
            if seen != last[target] or target not in visited:
                last[target] = seen
                visited.add(target)
                waiting.append(target)
    return last


def _without_dead(found: Footprint) -> Footprint:
    """Leave out activities that no complete trace has."""
    alive = found.starts
    for follows in found.follows:
        alive |= follows
    keep = [at for at in range(len(found.activities)) if alive >> at & 1]

    def kept(bits: int) -> int:
        return sum(1 << new for new, old in enumerate(keep) if bits >> old & 1)

    return Footprint(
        tuple(found.activities[at] for at in keep),
        kept(found.starts),
        kept(found.ends),
        tuple(kept(found.follows[at]) for at in keep),
        found.empty_trace,
    )


def turned(rows: Sequence[int]) -> list[int]:
    """Give the columns of a square of bits."""
    count = len(rows)
    columns = zip(*(f"{row:0{count}b}" for row in reversed(rows)), strict=True)
    return [int("".join(column), 2) for column in columns][::-1]


def _digits(bits: int) -> int:
    """Give a number of which the hexadecimal digits are the bits of another."""
    return int(f"{bits:b}", 16)
