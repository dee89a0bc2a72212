"""A workflow as places and steps: what takes tokens where, and gives them where.

A task with several ways in or out is several steps. One whose joins and splits both are choices first takes, then
chooses, so that the steps are as many as its flows and not as their products. An or-split decides for one of its ways
after the other; a way that is not taken gets its token at the join at once, which then waits for all: that is to
wait for those that were chosen, as the ways of a matched block have nothing to do with one another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from halflap.workflows.orblocks import or_blocks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halflap.workflows.net import Flow, Net, Task
    from halflap.workflows.orblocks import OrBlock

__all__ = ["Builder", "Machine", "Step", "machine_of"]


@dataclass(frozen=True, slots=True)
class Step:
    """Something that can happen when there is a token in each place that it takes from."""

    task: str | None
    """The task that is done by it; None for a step of no meaning, such as the choice of a way."""
    label: str | None
    """What is seen of it; None for nothing."""
    takes: tuple[int, ...]
    gives: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Machine:
    """Places by number, with what they are called, and the steps between them."""

    places: tuple[str, ...]
    steps: tuple[Step, ...]
    start: int
    end: int


class Builder:
    """Places and steps that are being put together."""

    def __init__(self) -> None:
        self.places: list[str] = []
        self.steps: list[Step] = []

    def place(self, name: str = "") -> int:
        self.places.append(name)
        return len(self.places) - 1

    def step(
        self, takes: Sequence[int], gives: Sequence[int], *, task: str | None = None, label: str | None = None
    ) -> None:
        self.steps.append(Step(task, label, tuple(takes), tuple(gives)))

    def choose_some(self, at: int, ways: Sequence[int], skipped: Sequence[int], name: str) -> None:
        """From `at`, go at least one of the ways; of each other one, mark what stands for having skipped it."""
        none_yet, some = at, -1
        last = len(ways) - 1
        for number, (way, skip) in enumerate(zip(ways, skipped, strict=True)):
            after_none = self.place(name) if number < last else -1
            after_some = self.place(name) if number < last else -1
            if number == last:
                self.step([none_yet], [way])
            else:
                self.step([none_yet], [way, after_some])
                self.step([none_yet], [skip, after_none])
            if number:
                rest = [] if number == last else [after_some]
                self.step([some], [way, *rest])
                self.step([some], [skip, *rest])
            none_yet, some = after_none, after_some

    def machine(self, start: int, end: int) -> Machine:
        return Machine(tuple(self.places), tuple(self.steps), start, end)


def machine_of(net: Net) -> Machine:
    """Take a workflow as places and steps; or-gates that form no block are refused, with the reason."""
    return _Taking(net).machine()


class _Taking:
    """A workflow that is being taken apart."""

    def __init__(self, net: Net) -> None:
        self.net = net
        self.blocks = or_blocks(net)
        self.build = Builder()
        self.named = {condition: self.build.place(condition) for condition in net.conditions}
        self.held: dict[Flow, int] = {}
        """The place that a flow leads out of, or into."""
        for flow in net.flows:
            if flow.source in self.named:
                self.held[flow] = self.named[flow.source]
                if flow.target in self.named:
                    self.build.step([self.held[flow]], [self.named[flow.target]])
            elif flow.target in self.named:
                self.held[flow] = self.named[flow.target]
            else:
                self.held[flow] = self.build.place(f"{flow.source} -> {flow.target}")
        self.within: dict[str, int] = {}
        """The place from which a task chooses where its token goes."""
        self.waits = {block.join: self.waits_of(block) for block in self.blocks.values()}

    def machine(self) -> Machine:
        incoming, outgoing = self.net.incoming(), self.net.outgoing()
        for task in self.net.tasks.values():
            takes = self.waits.get(task.id) or [self.held[flow] for flow in incoming[task.id]]
            gives = [self.held[flow] for flow in outgoing[task.id]]
            if not takes:
                continue  # Nothing leads to it, so it is never done.
            one_of = task.join == "xor" and len(takes) > 1
            for taken in [[take] for take in takes] if one_of else [takes]:
                if task.split == "xor" and len(gives) > 1 and not one_of:
                    for give in gives:
                        self.build.step(taken, [give], task=task.id, label=task.label)
                else:
                    given = self.given(task, gives)
                    self.build.step(taken, given, task=task.id, label=task.label)
        return self.build.machine(self.named[self.net.input], self.named[self.net.output])

    def waits_of(self, block: OrBlock) -> list[int]:
        """Give what the or-join of a block takes: a place for each way, which nothing else takes from."""
        places = []
        for flow in block.exits:
            place = self.held[flow]
            if flow.source in self.named:
                place = self.build.place(f"{flow.source} -> {flow.target}")
                self.build.step([self.held[flow]], [place])
            places.append(place)
        return places

    def given(self, task: Task, gives: list[int]) -> list[int]:
        """Give where a task gives tokens to; where it chooses, that is a place within it."""
        if task.split == "and" or len(gives) <= 1:
            return gives
        if task.id not in self.within:
            chosen = self.within[task.id] = self.build.place(f"within {task.id}")
            if task.split == "xor":
                for give in gives:
                    self.build.step([chosen], [give])
            else:
                block = self.blocks[task.id]
                ways = [self.held[flow] for flow in block.entries]
                self.build.choose_some(chosen, ways, self.waits[block.join], f"within {task.id}")
        return [self.within[task.id]]
