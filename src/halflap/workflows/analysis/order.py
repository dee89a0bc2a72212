"""Which activity can come before another at all: the order that matters where one needs what the other produces.

The footprint only has direct neighbours, and within a loop everything follows everything. So this compares first occurrences:
is there a complete trace with an `x` that no `y` precedes and a `y` follows?
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from halflap.workflows.analysis.footprint import (
    BitMatrix,
    Summary,
    bits_of,
    others,
    spread,
    summary_of,
    union,
)
from halflap.workflows.model.block import Block, Branches, Loop, Sequence, Step

if TYPE_CHECKING:
    from halflap.workflows.analysis.study import Study
    from halflap.workflows.model.net import Net


def first_order(study: Study) -> BitMatrix | None:
    """Return for each activity those that can be done for the first time after it; None if the study has a problem."""
    if study.problem is not None:
        return None
    before = [0] * len(study.activities)
    if study.block is not None:
        _by_blocks(study, study.block, before)
    else:
        _by_states(study, before)
    return BitMatrix(study.activities, tuple(before))


def _by_blocks(study: Study, block: Block, before: list[int]) -> None:
    """Summarise each block from the inside out, then pass down what the blocks around it contribute.

    Of an activity in a block two sets count: what can be absent from a trace that has it (w), and what can first be done after
    it (b). Each block around it turns them into b' = (b | w & later) & ~sooner and w' = w & ~sure; composed, that is always
    b & stays | w & comes.
    """

    def descend(one: Block, part: Summary, stays: int, comes: int) -> None:
        if isinstance(one, Step) and part.all:
            before[part.all.bit_length() - 1] |= comes & ~part.all
        steps = _around(one, part.parts)
        for child, summary, (sure, sooner, later) in zip(one.parts, part.parts, steps, strict=True):
            descend(child, summary, stays & ~sooner, (later & ~sooner & stays) | (comes & ~sure))

    descend(block, summary_of(block, study.bits), (1 << len(study.activities)) - 1, 0)


def _around(block: Block, parts: list[Summary]) -> Iterator[tuple[int, int, int]]:
    """Yield, for each child, what is always done in the same case, what always before it, and what can be done after it."""
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
    ahead = spread(dict.fromkeys(study.space.completable, 0), back, lambda seen, bit: seen | bit)
    for state, bit, target in study.arcs:
        if bit:
            before[bit.bit_length() - 1] |= avoided.get(state, 0) & ahead[target] & ~bit


# Dependence -------------------------------------------------------------------------------------------

_ANYTHING = "\0anything"
"""A name that everything reads, and that is written by what does not declare its data: so that depends on everything."""


@dataclass(frozen=True, slots=True)
class Data:
    """Data read and written."""

    reads: frozenset[str] = frozenset({_ANYTHING})
    writes: frozenset[str] = frozenset()

    @classmethod
    def of(cls, reads: frozenset[str] | None, writes: frozenset[str] | None) -> Data:
        """Return what was declared; None is unknown."""
        return UNKNOWN if reads is None or writes is None else Data(reads | {_ANYTHING}, writes)

    @property
    def is_known(self) -> bool:
        return _ANYTHING not in self.writes

    def __or__(self, other: Data) -> Data:
        return Data(self.reads | other.reads, self.writes | other.writes)


UNKNOWN = Data(writes=frozenset({_ANYTHING}))


def depend(one: Data, other: Data) -> bool:
    """Return whether the order of two may matter: unless everything they read and write shows that it does not."""
    return bool(one.writes & (other.reads | other.writes) or one.reads & other.writes)


def dependents(listed: Iterable[Data]) -> list[int]:
    """Return for each the ones before it that it depends on, as bits; by shared names, not pair by pair."""
    found = []
    reading: dict[str, int] = defaultdict(int)
    writing: dict[str, int] = defaultdict(int)
    for at, data in enumerate(listed):
        written = union(writing[name] | reading[name] for name in data.writes)
        found.append(written | union(writing[name] for name in data.reads))
        for names, table in ((data.reads, reading), (data.writes, writing)):
            for name in names:
                table[name] |= 1 << at
    return found


def data_by_label(net: Net) -> dict[str, Data]:
    """Return what all tasks of each label read and write."""
    found: dict[str, Data] = {}
    for task in net.tasks.values():
        if task.label is not None:
            found[task.label] = found.get(task.label, Data()) | Data.of(task.reads, task.writes)
    return found


def reversals(data: Mapping[str, Data], before: BitMatrix, after: BitMatrix) -> tuple[tuple[str, str], ...]:
    """Return the dependent pairs of which the first always came first and now the second can.

    `data` is that of the old workflow: the new one could claim anything.
    """
    now = after.over(before.activities)
    found = [
        (before.activities[first], one)
        for at, one in enumerate(before.activities)
        for first in bits_of(now[at] & ~before.rows[at])
        if before.rows[first] >> at & 1 and depend(data[one], data[before.activities[first]])
    ]
    return tuple(sorted(found))
