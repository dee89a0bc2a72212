"""Which activity can come before another at all: the order that counts where one needs what the other gives.

The footprint tells of neighbours alone, and within a loop everything follows everything. So what is looked at is
the first time: whether there is a complete trace in which `x` is done, `y` was not done before, and is done after.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from halflap.workflows.block import inside_out
from halflap.workflows.footprint import Unknown

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
    without: dict[int, int]
    """For each of its activities, by number, those that can be absent from a trace that has it."""
    before: dict[int, int]
    """For each of its activities, those that can be done for the first time after it."""


def order_by_blocks(study: Study, tree: Block) -> Order:
    """Find the order from the tree, from the inside out."""
    activities, tasks = study.activities, study.net.tasks
    number = {activity: at for at, activity in enumerate(activities)}
    every = (1 << len(activities)) - 1
    done: list[_Part] = []
    for block in inside_out(tree):
        if not block.children:
            label = None if block.task is None else tasks[block.task].label
            at = None if label is None else number[label]
            done.append(
                _Part(0, 0, {}, {})
                if at is None
                else _Part(1 << at, 1 << at, {at: every & ~(1 << at)}, {at: 0})
            )
            continue
        parts = done[-len(block.children) :]
        del done[-len(block.children) :]
        done.append(_loop(parts[0], parts[1]) if block.kind == "loop" else _several(block.kind, parts))
    (whole,) = done
    return Order(activities, tuple(whole.before.get(at, 0) for at in range(len(activities))))


def _several(kind: str, parts: list[_Part]) -> _Part:
    made = _Part(0, -1 if kind in {"xor", "or"} else 0, {}, {})
    for part in parts:
        made.all |= part.all
        made.must = made.must & part.must if kind in {"xor", "or"} else made.must | part.must
    # For each part, what the others before and after it have in all their traces, and in any.
    musts, alls = [part.must for part in parts], [part.all for part in parts]
    must_before, must_after = _unions(musts)
    all_before, all_after = _unions(alls)
    for at, part in enumerate(parts):
        if kind == "sequence":
            absent, avoided, later = must_before[at] | must_after[at], must_before[at], all_after[at]
        elif kind == "and":
            absent, avoided, later = must_before[at] | must_after[at], 0, all_before[at] | all_after[at]
        else:
            absent, avoided, later = 0, 0, 0 if kind == "xor" else all_before[at] | all_after[at]
        for one, without in part.without.items():
            made.without[one] = made.without.get(one, 0) | (without & ~absent)
            before = (part.before[one] | (without & later)) & ~avoided
            made.before[one] = made.before.get(one, 0) | before
    return made


def _loop(again: _Part, between: _Part) -> _Part:
    everything = again.all | between.all
    made = _Part(everything, again.must, dict(again.without), {})
    for one, without in again.without.items():
        made.before[one] = again.before[one] | (without & everything)
    for one, without in between.without.items():
        free = ~again.must
        made.without[one] = made.without.get(one, 0) | (without & free)
        made.before[one] = made.before.get(one, 0) | ((between.before[one] | (without & everything)) & free)
    return made


def _unions(sets: list[int]) -> tuple[list[int], list[int]]:
    """Give, for each place, the union of all before it, and of all after it."""
    before, after = [0] * len(sets), [0] * len(sets)
    for at in range(1, len(sets)):
        before[at] = before[at - 1] | sets[at - 1]
        after[-1 - at] = after[-at] | sets[-at]
    return before, after


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
