"""Which activity can come before another at all: the order that counts where one needs what the other gives.

The footprint tells of neighbours alone, and within a loop everything follows everything. So what is looked at is
the first time: whether there is a complete trace in which `x` is done, `y` was not done before, and is done after.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from halflap.workflows.block import inside_out
from halflap.workflows.footprint import Unknown, unions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.workflows.block import Block
    from halflap.workflows.states import Space
    from halflap.workflows.study import Study

__all__ = ["Order", "first_order", "order_by_blocks", "order_by_states"]


@dataclass(frozen=True, slots=True)
class Order:
    """For each activity, those that can be done for the first time after it; the bits count along `activities`."""

    activities: tuple[str, ...]
    before: tuple[int, ...]

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Give each pair of which the first can come before the first time of the second."""
        for at, one in enumerate(self.activities):
            bits = self.before[at]
            while bits:
                lowest = bits & -bits
                bits ^= lowest
                yield one, self.activities[lowest.bit_length() - 1]


def first_order(study: Study) -> Order | Unknown:
    """Find the order of a workflow's activities, by its blocks if it is made of them."""
    return order_by_states(study) if study.tree is None else order_by_blocks(study, study.tree)


@dataclass(slots=True)
class _Part:
    """What is known of a block."""

    all: int
    must: int
    """Those that every trace of it has."""


_NOTHING = _Part(0, 0)


def order_by_blocks(study: Study, tree: Block) -> Order:
    """Find the order from the tree: what is in each block from the inside out, what that leaves from the outside in.

    Of a task in a block two things count: what can be absent from a trace that has it (`w`), and what can be done for the
    first time after it (`b`). Out of a block that stands beside others come `b' = (b | w & later) & ~sooner` and
    `w' = w & ~sure`. From the outside in, those steps together are always `b & stays | w & comes`.
    """
    activities, tasks = study.activities, study.net.tasks
    number = {activity: at for at, activity in enumerate(activities)}
    every = (1 << len(activities)) - 1
    parts: dict[Block, _Part] = {}
    for block in inside_out(tree):
        if block.children:
            parts[block] = _part(block, [parts[child] for child in block.children])
        elif block.task is None or (label := tasks[block.task].label) is None:
            parts[block] = _NOTHING
        else:
            parts[block] = _Part(1 << number[label], 1 << number[label])
    before = [0] * len(activities)
    waiting = [(tree, every, 0)]
    while waiting:
        block, stays, comes = waiting.pop()
        if block.children:
            steps = _steps(block, [parts[child] for child in block.children])
            waiting += [
                (child, stays & ~sooner, (later & ~sooner & stays) | (comes & ~sure))
                for child, (sure, sooner, later) in zip(block.children, steps, strict=True)
            ]
        elif parts[block].all:
            own = parts[block].all
            before[own.bit_length() - 1] |= comes & ~own
    return Order(activities, tuple(before))


def _part(block: Block, parts: list[_Part]) -> _Part:
    everything = sure = 0
    for part in parts:
        everything |= part.all
        sure |= part.must
    if block.kind == "loop":
        sure = parts[0].must
    elif block.kind in {"xor", "or"}:
        sure = parts[0].must
        for part in parts[1:]:
            sure &= part.must
    return _Part(everything, sure)


def _steps(block: Block, parts: list[_Part]) -> Iterator[tuple[int, int, int]]:
    """Give, for each child, what is surely done beside it, what surely before it, and what can be done after it."""
    all_before, all_after = unions([part.all for part in parts])
    must_before, must_after = unions([part.must for part in parts])
    everything = all_after[0] | parts[0].all
    for at in range(len(parts)):
        match block.kind:
            case "sequence":
                yield must_before[at] | must_after[at], must_before[at], all_after[at]
            case "and":
                yield must_before[at] | must_after[at], 0, all_before[at] | all_after[at]
            case "or":
                yield 0, 0, all_before[at] | all_after[at]
            case "loop":
                yield must_before[at], must_before[at], everything
            case _:
                yield 0, 0, 0


def order_by_states(study: Study) -> Order | Unknown:
    """Find the order from all states; where there are too many, or ever more, say so."""
    space, ending = study.space, study.ending
    if space.problem is not None:
        return Unknown(space.problem)
    number = {activity: at for at, activity in enumerate(study.activities)}
    before = [0] * len(number)
    avoided, ahead = _avoided(space, number, ending), _ahead(space, number, ending)
    for state in ending:
        for step, target in space.steps[state]:
            label = space.machine.steps[step].label
            if label is not None and target in ending:
                own = 1 << number[label]
                before[number[label]] |= avoided[state] & ahead[target] & ~own
    return Order(study.activities, tuple(before))


def _avoided(space: Space, number: dict[str, int], ending: set[int]) -> list[int]:
    """Give, for each state, the activities that can be absent on the way to it."""
    found = [0] * len(space.markings)
    found[0] = (1 << len(number)) - 1
    waiting = [0]
    while waiting:
        state = waiting.pop()
        for step, target in space.steps[state]:
            label = space.machine.steps[step].label
            free = found[state] if label is None else found[state] & ~(1 << number[label])
            if target in ending and free & ~found[target]:
                found[target] |= free
                waiting.append(target)
    return found


def _ahead(space: Space, number: dict[str, int], ending: set[int]) -> list[int]:
    """Give, for each state, the activities that can still be done on a way to the end."""
    back: dict[int, list[tuple[int, int]]] = {}
    for state in ending:
        for step, target in space.steps[state]:
            if target in ending:
                back.setdefault(target, []).append((step, state))
    found = [0] * len(space.markings)
    waiting = sorted(ending)
    while waiting:
        target = waiting.pop()
        for step, state in back.get(target, ()):
            label = space.machine.steps[step].label
            seen = found[target] | (0 if label is None else 1 << number[label])
            if seen & ~found[state]:
                found[state] |= seen
                waiting.append(state)
    return found
