"""The state space of a net: markings of places, the steps between them, and how each was first reached.

A task with several ways in or out is several steps. One whose join and split are both choices first takes, then chooses, so that there are as
many steps as flows and not as their products. An or-split decides about its ways one after the other; a way that is not taken gets its token
at the join at once, which then waits for all.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from halflap.workflows.model.orblocks import or_blocks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halflap.workflows.model.net import Bound, Flow, Net, Task

__all__ = [
    "Machine",
    "MachineBuilder",
    "Marking",
    "Space",
    "Stepper",
    "Transition",
    "bits_of",
    "explore",
    "machine_of",
]

_CLOCK_EVERY = 512


def bits_of(number: int) -> list[int]:
    """Return the positions of the bits that are set, lowest first."""
    found = []
    while number:
        lowest = number & -number
        number ^= lowest
        found.append(lowest.bit_length() - 1)
    return found


# Places and steps -------------------------------------------------------------------------------------


class Transition(NamedTuple):
    """Can happen when every place it takes from has a token."""

    task: str | None
    """None for an internal step, such as choosing a way."""
    label: str | None
    takes: tuple[int, ...]
    gives: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Machine:
    """Places by number, with their names, and the steps between them."""

    places: tuple[str, ...]
    steps: tuple[Transition, ...]
    start: int
    end: int


class MachineBuilder:
    def __init__(self) -> None:
        self.places: list[str] = []
        self.steps: list[Transition] = []

    def place(self, name: str = "") -> int:
        self.places.append(name)
        return len(self.places) - 1

    def step(
        self, takes: Sequence[int], gives: Sequence[int], *, task: str | None = None, label: str | None = None
    ) -> None:
        self.steps.append(Transition(task, label, tuple(takes), tuple(gives)))

    def choose_some(self, at: int, ways: Sequence[int], skipped: Sequence[int], name: str = "") -> None:
        """From `at`, take at least one of the ways; for each other one, mark its place in `skipped`."""
        none_yet, some = at, -1
        last = len(ways) - 1
        for number, (way, skip) in enumerate(zip(ways, skipped, strict=True)):
            if number == last:
                self.step([none_yet], [way])
                self.step([some], [way])
                self.step([some], [skip])
                break
            after_none, after_some = self.place(name), self.place(name)
            self.step([none_yet], [way, after_some])
            self.step([none_yet], [skip, after_none])
            if number:
                self.step([some], [way, after_some])
                self.step([some], [skip, after_some])
            none_yet, some = after_none, after_some

    def machine(self, start: int, end: int) -> Machine:
        return Machine(tuple(self.places), tuple(self.steps), start, end)


def machine_of(net: Net) -> Machine:
    """Return a net as places and steps; or-gates that form no block raise a `WorkflowError`."""
    return _NetMachine(net).machine()


class _NetMachine:
    def __init__(self, net: Net) -> None:
        self.net = net
        self.blocks = or_blocks(net)
        self.build = MachineBuilder()
        self.named = {condition: self.build.place(condition) for condition in net.conditions}
        self.held: dict[Flow, int] = {}
        """The place that a flow leads out of or into."""
        for flow in net.flows:
            if flow.source in self.named:
                self.held[flow] = self.named[flow.source]
                if flow.target in self.named:
                    self.build.step([self.held[flow]], [self.named[flow.target]])
            elif flow.target in self.named:
                self.held[flow] = self.named[flow.target]
            else:
                self.held[flow] = self.build.place(flow.key)
        self.within: dict[str, int] = {}
        """The place from which a task chooses where its token goes."""
        self.waits = {block.join: self.waiting(block.exits) for block in self.blocks.values()}

    def machine(self) -> Machine:
        incoming, outgoing = self.net.incoming(), self.net.outgoing()
        for task in self.net.tasks.values():
            takes = self.waits.get(task.id) or [self.held[flow] for flow in incoming[task.id]]
            gives = [self.held[flow] for flow in outgoing[task.id]]
            if not takes:
                continue
            one_of = task.join == "xor" and len(takes) > 1
            for taken in [[take] for take in takes] if one_of else [takes]:
                if task.split == "xor" and len(gives) > 1 and not one_of:
                    for give in gives:
                        self.build.step(taken, [give], task=task.id, label=task.label)
                else:
                    self.build.step(taken, self.given(task, gives), task=task.id, label=task.label)
        return self.build.machine(self.named[self.net.input], self.named[self.net.output])

    def waiting(self, exits: Sequence[Flow]) -> list[int]:
        """Return what an or-join takes: a place for each way, which nothing else takes from."""
        places = []
        for flow in exits:
            place = self.held[flow]
            if flow.source in self.named:
                place = self.build.place(flow.key)
                self.build.step([self.held[flow]], [place])
            places.append(place)
        return places

    def given(self, task: Task, gives: list[int]) -> list[int]:
        if task.split == "and" or len(gives) <= 1:
            return gives
        if task.id not in self.within:
            name = f"within {task.id}"
            chosen = self.within[task.id] = self.build.place(name)
            if task.split == "xor":
                for give in gives:
                    self.build.step([chosen], [give])
            else:
                block = self.blocks[task.id]
                ways = [self.held[flow] for flow in block.entries]
                self.build.choose_some(chosen, ways, self.waits[block.join], name)
        return [self.within[task.id]]


# Markings ---------------------------------------------------------------------------------------------


class Marking(NamedTuple):
    """Where the tokens are."""

    places: int
    """A bit for each place with a token."""
    more: tuple[int, ...] = ()
    """The places of further tokens, in order; sound nets never have any."""


class Stepper:
    """Which steps are enabled in a marking, and the marking after each."""

    def __init__(self, machine: Machine) -> None:
        self.steps = machine.steps
        self.takes = [sum(1 << place for place in step.takes) for step in machine.steps]
        self.gives = [sum(1 << place for place in set(step.gives)) for step in machine.steps]
        self.plain = [len(set(step.gives)) == len(step.gives) for step in machine.steps]
        self.first: list[list[int]] = [[] for _ in machine.places]
        for number, step in enumerate(machine.steps):
            self.first[min(step.takes)].append(number)
        self.start = Marking(1 << machine.start)
        self.end = Marking(1 << machine.end)

    def enabled(self, marking: Marking) -> list[int]:
        found = []
        places = left = marking.places
        while left:
            lowest = left & -left
            left ^= lowest
            for number in self.first[lowest.bit_length() - 1]:
                takes = self.takes[number]
                if places & takes == takes:
                    found.append(number)
        return found

    def after(self, marking: Marking, number: int) -> Marking:
        if not marking.more and self.plain[number]:
            rest = marking.places & ~self.takes[number]
            if not rest & self.gives[number]:
                return Marking(rest | self.gives[number])
        places, more = marking.places, list(marking.more)
        step = self.steps[number]
        for place in step.takes:
            if place in more:
                more.remove(place)
            else:
                places &= ~(1 << place)
        for place in step.gives:
            if places >> place & 1:
                more.append(place)
            else:
                places |= 1 << place
        return Marking(places, tuple(sorted(more)))


@dataclass(slots=True, eq=False)
class Space:
    """The states that were found: the start first, nearer ones before those further away."""

    machine: Machine
    markings: list[Marking]
    came: list[tuple[int, int]]
    """For each state, the one it was first reached from, and by which step."""
    steps: list[list[tuple[int, int]]] = field(default_factory=list)
    """For each explored state, the steps out of it and where they lead."""
    problem: str | None = None
    """Why not everything was explored."""
    unbounded: tuple[int, int] | None = None
    """Two states, the second reached from the first, with all its tokens and more."""

    def way_to(self, state: int) -> list[Transition]:
        found = []
        while state:
            state, step = self.came[state]
            found.append(self.machine.steps[step])
        return found[::-1]

    def reaches_end(self, state: int) -> bool:
        return bool(self.markings[state].places >> self.machine.end & 1)

    def final(self) -> int | None:
        """Return the state in which a case is complete, if it was found."""
        wanted = Marking(1 << self.machine.end)
        return next((at for at, marking in enumerate(self.markings) if marking == wanted), None)

    def leading_to(self, goals: set[int]) -> set[int]:
        """Return the explored states from which one of these can be reached."""
        back: list[list[int]] = [[] for _ in self.markings]
        for state, steps in enumerate(self.steps):
            for _, target in steps:
                back[target].append(state)
        found = set(goals)
        waiting = sorted(goals)
        while waiting:
            for state in back[waiting.pop()]:
                if state not in found:
                    found.add(state)
                    waiting.append(state)
        return found


def explore(machine: Machine, bound: Bound) -> Space:
    """Find the states of a machine, up to a bound. Unbounded growth is recognised as such."""
    stepper = Stepper(machine)
    space = Space(machine, [stepper.start], [(-1, -1)])
    numbers = {stepper.start: 0}
    until = None if bound.seconds is None else time.monotonic() + bound.seconds
    state = 0
    while state < len(space.markings):
        if until is not None and state % _CLOCK_EVERY == 0 and time.monotonic() > until:
            space.problem = f"Only {state:,} states could be explored within {bound.seconds:g} s."
            return space
        marking = space.markings[state]
        out: list[tuple[int, int]] = []
        for step in stepper.enabled(marking):
            reached = stepper.after(marking, step)
            number = numbers.get(reached)
            if number is None:
                number = numbers[reached] = len(space.markings)
                space.markings.append(reached)
                space.came.append((state, step))
                smaller = _covered(space, number) if reached.more else None
                if smaller is not None:
                    space.unbounded = (smaller, number)
                    space.problem = "The workflow is unbounded: a repetition adds a token each time."
                    return space
            out.append((step, number))
        space.steps.append(out)
        state += 1
        if len(space.markings) > bound.states and state < len(space.markings):
            space.problem = f"There are more than {bound.states:,} states."
            return space
    return space


def _covered(space: Space, state: int) -> int | None:
    """Return a state on the way to this one whose tokens it has all, and more."""
    marking = space.markings[state]
    before = space.came[state][0]
    while before >= 0:
        smaller = space.markings[before]
        if not smaller.places & ~marking.places and _within(smaller.more, marking.more):
            return before
        before = space.came[before][0]
    return None


def _within(smaller: tuple[int, ...], larger: tuple[int, ...]) -> bool:
    rest = iter(larger)
    return all(any(place == other for other in rest) for place in smaller)
