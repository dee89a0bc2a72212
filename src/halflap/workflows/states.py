"""Every state that a workflow can be in, as far as a bound allows, and how each is reached.

A marking is the set of places with a token, as the bits of a number, and beside it the places of further tokens, which
a workflow without mistakes never has. Where a marking has all tokens of one that it came from, and more, the same can
be done again and again: the workflow is unbounded, and that is found as such.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from halflap.workflows.machine import Machine, Step
    from halflap.workflows.net import Bound

__all__ = ["Marking", "Space", "Stepper", "bits_of", "explore"]

_LOOK_AT_CLOCK_EVERY = 512


def bits_of(number: int) -> list[int]:
    """Give the places of the bits that are set, in order."""
    found = []
    while number:
        lowest = number & -number
        number ^= lowest
        found.append(lowest.bit_length() - 1)
    return found


class Marking(NamedTuple):
    """Where the tokens are."""

    places: int
    """A bit for each place that has a token."""
    more: tuple[int, ...] = ()
    """The places of further tokens, in order."""


class Stepper:
    """What can happen in a marking, and what becomes of it."""

    def __init__(self, machine: Machine) -> None:
        self.takes = [sum(1 << place for place in step.takes) for step in machine.steps]
        self.gives = [sum(1 << place for place in set(step.gives)) for step in machine.steps]
        self.plain = [len(set(step.gives)) == len(step.gives) for step in machine.steps]
        self.steps = machine.steps
        self.first: list[list[int]] = [[] for _ in machine.places]
        for number, step in enumerate(machine.steps):
            self.first[min(step.takes)].append(number)
        self.start = Marking(1 << machine.start)
        self.end = Marking(1 << machine.end)

    def enabled(self, marking: Marking) -> list[int]:
        """Give the steps that can be taken, by their numbers, in order."""
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
        """Give the marking after a step."""
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
    """The states that were found, the start first, nearer ones before those that are further away."""

    machine: Machine
    markings: list[Marking]
    came: list[tuple[int, int]]
    """For each state, the one that it was first reached from, and by which step; the start has none."""
    steps: list[list[tuple[int, int]]] = field(default_factory=list)
    """For each state that was looked at, the steps out of it and where they lead."""
    problem: str | None = None
    """Why not all was looked at; the states of `steps` are complete all the same."""
    unbounded: tuple[int, int] | None = None
    """Two states, the second of which came from the first and has all its tokens and more."""

    def way_to(self, state: int) -> list[Step]:
        """Give the steps from the start to a state."""
        found = []
        while state:
            state, step = self.came[state]
            found.append(self.machine.steps[step])
        return found[::-1]

    def end_reached(self, state: int) -> bool:
        return bool(self.markings[state].places >> self.machine.end & 1)

    def final(self) -> int | None:
        """Give the state in which a case is complete, if it was found."""
        wanted = Marking(1 << self.machine.end)
        return next((at for at, marking in enumerate(self.markings) if marking == wanted), None)

    def leading_to(self, goals: set[int]) -> set[int]:
        """Give the states from which one of these can be reached, over states that were looked at."""
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
    """Find the states of a workflow, up to a bound."""
    stepper = Stepper(machine)
    space = Space(machine, [stepper.start], [(-1, -1)])
    numbers = {stepper.start: 0}
    until = None if bound.seconds is None else time.monotonic() + bound.seconds
    state = 0
    while state < len(space.markings):
        if until is not None and state % _LOOK_AT_CLOCK_EVERY == 0 and time.monotonic() > until:
            space.problem = (
                f"Not all states could be looked at within {bound.seconds:g} s; {state:,} of them were."
            )
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
                if reached.more:
                    smaller = _covered(space, number)
                    if smaller is not None:
                        space.unbounded = (smaller, number)
                        space.problem = "The workflow is unbounded: something can be repeated that leaves a token more each time."
                        return space
            out.append((step, number))
        space.steps.append(out)
        state += 1
        if len(space.markings) > bound.states and state < len(space.markings):
            space.problem = f"There are more than {bound.states:,} states."
            return space
    return space


def _covered(space: Space, state: int) -> int | None:
    """Find a state on the way to this one whose tokens it has all, and more."""
    marking = space.markings[state]
    before = space.came[state][0]
    while before >= 0:
        smaller = space.markings[before]
        if not smaller.places & ~marking.places and _within(smaller.more, marking.more):
            return before
        before = space.came[before][0]
    return None


def _within(smaller: tuple[int, ...], larger: tuple[int, ...]) -> bool:
    """Tell whether one bag of places, in order, is in another."""
    if len(smaller) > len(larger):
        return False
    rest = iter(larger)
    return all(any(place == other for other in rest) for place in smaller)
