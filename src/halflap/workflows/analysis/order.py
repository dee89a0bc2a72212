"""Which activity can come before another at all: the order that matters where one needs what the other produces.

The footprint only knows direct neighbours, and within a loop everything follows everything. So this looks at first occurrences: whether there is a
complete trace in which `x` is done, `y` was not done before, and is done after.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from halflap.workflows.analysis.footprint import Part, bits_of, others, part_of, spread, union
from halflap.workflows.analysis.study import Study, Unknown
from halflap.workflows.model.block import Block, Branches, Loop, Sequence, Step

if TYPE_CHECKING:
    from halflap.workflows.model.net import Net


@dataclass(frozen=True, slots=True)
class Order:
    """For each activity, those that can be done for the first time after it; bits count along `activities`."""

    activities: tuple[str, ...]
    before: tuple[int, ...]

    def over(self, activities: tuple[str, ...]) -> list[int]:
        """Return `before` with bits counted along other activities."""
        if self.activities == activities:
            return list(self.before)
        place = {activity: at for at, activity in enumerate(activities)}
        found = [0] * len(activities)
        for at, one in enumerate(self.activities):
            later = (self.activities[other] for other in bits_of(self.before[at]))
            if one in place:
                found[place[one]] = union(1 << place[other] for other in later if other in place)
        return found


def first_order(study: Study) -> Order | Unknown:
    before = [0] * len(study.activities)
    if study.block is not None:
        _by_blocks(study, study.block, before)
    elif study.space.problem is not None:
        return Unknown(study.space.problem)
    else:
        _by_states(study, before)
    return Order(study.activities, tuple(before))


def _by_blocks(study: Study, block: Block, before: list[int]) -> None:
    """Summarise each block from the inside out, then pass down what the blocks around it contribute.

    Of an activity in a block two sets count: what can be absent from a trace that has it (w), and what can first be done after it (b). Each
    block around it turns them into b' = (b | w & later) & ~sooner and w' = w & ~sure; composed, that is always b & stays | w & comes.
    """

    def descend(one: Block, part: Part, stays: int, comes: int) -> None:
        if isinstance(one, Step) and part.all:
            before[part.all.bit_length() - 1] |= comes & ~part.all
        steps = _around(one, part.parts)
        for child, summary, (sure, sooner, later) in zip(one.parts, part.parts, steps, strict=True):
            descend(child, summary, stays & ~sooner, (later & ~sooner & stays) | (comes & ~sure))

    descend(block, part_of(block, study.bits), (1 << len(study.activities)) - 1, 0)


def _around(block: Block, parts: list[Part]) -> Iterator[tuple[int, int, int]]:
    """Yield, for each child, what is surely done beside it, what surely before it, and what can be done after it."""
    everything = union(part.all for part in parts)
    pairs = zip(others([part.all for part in parts]), others([part.must for part in parts]), strict=True)
    for (all_before, all_after), (must_before, must_after) in pairs:
        if isinstance(block, Sequence):
            yield must_before | must_after, must_before, all_after
        elif isinstance(block, Loop):
            yield must_before, must_before, everything
        elif isinstance(block, Branches) and block.kind != "xor":
            yield must_before | must_after if block.kind == "and" else 0, 0, all_before | all_after
        else:
            yield 0, 0, 0


def _by_states(study: Study, before: list[int]) -> None:
    avoided = spread({0: (1 << len(before)) - 1}, study.arcs, lambda free, bit: free & ~bit)
    back = [(target, bit, state) for state, bit, target in study.arcs]
    ahead = spread(dict.fromkeys(study.ending, 0), back, lambda seen, bit: seen | bit)
    for state, bit, target in study.arcs:
        if bit:
            before[bit.bit_length() - 1] |= avoided.get(state, 0) & ahead[target] & ~bit


# Dependence -------------------------------------------------------------------------------------------


class ReadsAndWrites(Protocol):
    """Anything that states what it reads and writes, such as a task; None is unknown."""

    @property
    def reads(self) -> frozenset[str] | None: ...

    @property
    def writes(self) -> frozenset[str] | None: ...


@dataclass(frozen=True, slots=True)
class Data:
    """What is read and written; None is unknown."""

    reads: frozenset[str] | None = frozenset()
    writes: frozenset[str] | None = frozenset()

    def __or__(self, other: ReadsAndWrites) -> Data:
        return Data(
            None if self.reads is None or other.reads is None else self.reads | other.reads,
            None if self.writes is None or other.writes is None else self.writes | other.writes,
        )


def depend(one: ReadsAndWrites, other: ReadsAndWrites) -> bool:
    """Return whether the order of two may matter: unless everything they read and write shows that it does not."""
    if one.reads is None or one.writes is None or other.reads is None or other.writes is None:
        return True
    return bool(one.writes & (other.reads | other.writes) or one.reads & other.writes)


def dependents(listed: Iterable[ReadsAndWrites]) -> list[int]:
    """Return for each the ones before it that it depends on, as bits; by shared names, not pair by pair."""
    found = []
    reading: dict[str, int] = defaultdict(int)
    writing: dict[str, int] = defaultdict(int)
    unknown = 0
    for at, data in enumerate(listed):
        bit = 1 << at
        if data.reads is None or data.writes is None:
            found.append(bit - 1)
            unknown |= bit
            continue
        written = union(writing[name] | reading[name] for name in data.writes)
        found.append(unknown | written | union(writing[name] for name in data.reads))
        for names, table in ((data.reads, reading), (data.writes, writing)):
            for name in names:
                table[name] |= bit
    return found


def data_by_label(net: Net) -> dict[str, Data]:
    """Return what all tasks of each label read and write."""
    found: dict[str, Data] = {}
    for task in net.tasks.values():
        if task.label is not None:
            found[task.label] = found.get(task.label, Data()) | task
    return found


def reversals(
    data: Mapping[str, ReadsAndWrites], before: Order, after: Order, *, most: int | None = None
) -> tuple[tuple[str, str], ...]:
    """Return the dependent pairs of which the first always came first and now the second can; at most `most`.

    `data` is that of the old workflow: the new one could claim anything.
    """
    now = after.over(before.activities)
    found: list[tuple[str, str]] = []
    for at, one in enumerate(before.activities):
        for first in bits_of(now[at] & ~before.before[at]):
            if before.before[first] >> at & 1 and depend(data[one], data[before.activities[first]]):
                found.append((before.activities[first], one))
                if len(found) == most:
                    return tuple(found)
    return tuple(sorted(found))
