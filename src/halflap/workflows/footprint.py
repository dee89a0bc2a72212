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
    from collections.abc import Iterator

    from halflap.workflows.block import Block
    from halflap.workflows.study import Study

__all__ = ["Footprint", "Relation", "Unknown", "footprint", "footprint_by_blocks", "footprint_by_states"]

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
        before = _turned(self.follows)
        return tuple(
            tuple(
                _RELATIONS[bool(forth >> at & 1), bool(back >> at & 1)] for at in range(len(self.activities))
            )
            for forth, back in zip(self.follows, before, strict=True)
        )

    def named(self, bits: int) -> Iterator[str]:
        """Give the activities of these bits."""
        while bits:
            lowest = bits & -bits
            bits ^= lowest
            yield self.activities[lowest.bit_length() - 1]


_RELATIONS: dict[tuple[bool, bool], Relation] = {
    (True, False): "→",
    (False, True): "←",
    (True, True): "||",
    (False, False): "#",
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


def footprint_by_blocks(study: Study, tree: Block) -> Footprint:
    """Find the footprint from the tree, from the inside out."""
    activities, tasks = study.activities, study.net.tasks
    number = {activity: at for at, activity in enumerate(activities)}
    follows = [0] * len(activities)
    done: list[_Part] = []
    for block in inside_out(tree):
        if block.kind in {"task", "empty"}:
            label = None if block.task is None else tasks[block.task].label
            bit = 0 if label is None else 1 << number[label]
            done.append(_Part(bit, bit, bit, label is None))
            continue
        parts = done[-len(block.children) :]
        del done[-len(block.children) :]
        if block.kind == "sequence":
            done.append(_sequence(parts, follows))
        elif block.kind == "loop":
            done.append(_loop(parts[0], parts[1], follows))
        else:
            if block.kind != "xor":
                _interleave(parts, follows)
            done.append(
                _Part(
                    _union(part.first for part in parts),
                    _union(part.last for part in parts),
                    _union(part.all for part in parts),
                    all(part.skips for part in parts)
                    if block.kind == "and"
                    else any(part.skips for part in parts),
                )
            )
    (whole,) = done
    return Footprint(activities, whole.first, whole.last, tuple(follows), whole.skips)


def _union(sets: Iterator[int]) -> int:
    found = 0
    for one in sets:
        found |= one
    return found


def _follow(before: int, after: int, follows: list[int]) -> None:
    while before:
        lowest = before & -before
        before ^= lowest
        follows[lowest.bit_length() - 1] |= after


def _sequence(parts: list[_Part], follows: list[int]) -> _Part:
    first = last = everything = 0
    skips = True
    for part in parts:
        _follow(last, part.first, follows)
        if skips:
            first |= part.first
        last = part.last | (last if part.skips else 0)
        everything |= part.all
        skips = skips and part.skips
    return _Part(first, last, everything, skips)


def _loop(again: _Part, between: _Part, follows: list[int]) -> _Part:
    _follow(again.last, between.first, follows)
    _follow(between.last, again.first, follows)
    if between.skips:
        _follow(again.last, again.first, follows)
    if again.skips:
        _follow(between.last, between.first, follows)
    return _Part(
        again.first | (between.first if again.skips else 0),
        again.last | (between.last if again.skips else 0),
        again.all | between.all,
        again.skips,
    )


def _interleave(parts: list[_Part], follows: list[int]) -> None:
    """Let everything in one part be followed by everything in each other."""
    before = 0
    earlier = []
    for part in parts:
        earlier.append(before)
        before |= part.all
    later = 0
    for at in range(len(parts) - 1, -1, -1):
        _follow(parts[at].all, earlier[at] | later, follows)
        later |= parts[at].all


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


def _turned(rows: tuple[int, ...]) -> list[int]:
    columns = [0] * len(rows)
    for at, row in enumerate(rows):
        _follow(row, 1 << at, columns)
    return columns
