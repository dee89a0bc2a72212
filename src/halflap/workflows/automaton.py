"""Whether two machines have the same traces: made deterministic as far as needed, and compared after Hopcroft and Karp.

States of the two that are reached by the same trace are put in one class; where one of a class can end and another
cannot, the trace that led there is one that only one of them has. Shorter traces are looked at first, so it is a shortest.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from halflap.workflows.states import Stepper, bits_of

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence
    from fractions import Fraction

    from halflap.workflows.machine import Machine
    from halflap.workflows.net import Bound
    from halflap.workflows.states import Marking

__all__ = ["Automaton", "Budget", "Difference", "PastBoundError", "compared"]

_MOST_LOOKED_AT = 2_000
_LOOK_AT_CLOCK_EVERY = 256
_MOST_TOKENS = 100


class PastBoundError(Exception):
    """More would have to be looked at than the bound allows; says what."""


class Budget:
    """What may still be looked at."""

    def __init__(self, bound: Bound) -> None:
        self.bound = bound
        self.spent = 0
        self.until = None if bound.seconds is None else time.monotonic() + bound.seconds

    def spend(self) -> None:
        self.spent += 1
        if self.spent > self.bound.states:
            raise PastBoundError(f"More than {self.bound.states:,} states would have to be compared.")
        late = self.until is not None and self.spent % _LOOK_AT_CLOCK_EVERY == 0
        if late and self.until is not None and time.monotonic() > self.until:
            raise PastBoundError(f"They could not be compared within {self.bound.seconds:g} s.")


class Automaton:
    """A machine of which one state is all that it may be in after a trace; states are found when they are asked for."""

    def __init__(
        self,
        machine: Machine,
        budget: Budget,
        *,
        left: Sequence[Fraction] | None = None,
        ending: Container[Marking] | None = None,
    ) -> None:
        """Begin; `left` is what a token in each place has before it, `ending` the markings that can lead to the end, if known."""
        self.budget = budget
        self.ending = ending
        self.stepper = Stepper(machine)
        self.labels = [step.label for step in machine.steps]
        self.left = left
        consumers = [0] * len(machine.places)
        for step in machine.steps:
            for place in step.takes:
                consumers[place] += 1
        self.forced = [
            step.label is None and all(consumers[place] == 1 for place in step.takes)
            for step in machine.steps
        ]
        """Silent steps that nothing else can be done instead of: taking them at once loses no trace."""
        self.sets: list[frozenset[Marking]] = []
        self._numbers: dict[frozenset[Marking], int] = {}
        self._moves: dict[int, dict[str, int]] = {}
        self._at_least: dict[int, Fraction] = {}
        self._completions: dict[int, tuple[list[str], bool] | None] = {}
        self.nowhere = self._number([])
        self.start = self._number([self.stepper.start])

    def accepts(self, state: int) -> bool:
        """Tell whether a case may be complete here."""
        return self.stepper.end in self.sets[state]

    def moves(self, state: int) -> Mapping[str, int]:
        """Give what can be seen next, in order, and where that leads."""
        found = self._moves.get(state)
        if found is None:
            reached: dict[str, set[Marking]] = {}
            for marking in self.sets[state]:
                for step in self.stepper.enabled(marking):
                    label = self.labels[step]
                    if label is not None:
                        reached.setdefault(label, set()).add(self.stepper.after(marking, step))
            numbered = {label: self._number(reached[label]) for label in sorted(reached)}
            found = self._moves[state] = {
                label: number for label, number in numbered.items() if number != self.nowhere
            }
        return found

    def completion(self, state: int) -> tuple[list[str], bool] | None:
        """Find a trace from here to the end, and whether it is a shortest; None where there is none."""
        if state not in self._completions:
            self._completions[state] = (
                self._searched(state) if self.left is None else (self._downhill(state), True)
            )
        return self._completions[state]

    def _searched(self, state: int) -> tuple[list[str], bool] | None:
        came: dict[int, tuple[int, str]] = {state: (state, "")}
        waiting = [state]
        for one in waiting:
            if self.accepts(one):
                return _way(came, state, one), True
            if len(waiting) > _MOST_LOOKED_AT:
                break
            for label, target in self.moves(one).items():
                if target not in came:
                    came[target] = (one, label)
                    waiting.append(target)
        else:
            return None
        came = {state: (state, "")}
        stack = [state]
        while stack:
            one = stack.pop()
            if self.accepts(one):
                return _way(came, state, one), False
            for label, target in reversed(list(self.moves(one).items())):
                if target not in came:
                    came[target] = (one, label)
                    stack.append(target)
        return None

    def at_least(self, state: int) -> Fraction | int:
        """Tell how long a trace from here to the end is at least; exactly that where it is known of each place."""
        if self.left is None:
            return 0
        if state not in self._at_least:
            self._at_least[state] = min(self._rest(marking) for marking in self.sets[state])
        return self._at_least[state]

    def _downhill(self, state: int) -> list[str]:
        """Take steps that waste nothing: what is left to be done gets less by one with all that is seen."""
        assert self.left is not None
        begin = min(self.sets[state], key=lambda marking: (self._rest(marking), marking))
        came: dict[Marking, tuple[Marking, str | None]] = {}
        stack: list[tuple[Marking, Marking, str | None]] = [(begin, begin, None)]
        wastes = [
            sum(self.left[place] for place in step.gives)
            - sum(self.left[place] for place in step.takes)
            + (step.label is not None)
            for step in self.stepper.steps
        ]
        here = begin
        while here != self.stepper.end:
            here, before, label = stack.pop()
            if here in came:
                continue
            came[here] = (before, label)
            # The first that can be done is taken first; others only where silent steps have gone round in a circle.
            stack.extend(
                (self.stepper.after(here, step), here, self.labels[step])
                for step in reversed(self.stepper.enabled(here))
                if not wastes[step]
            )
        found = []
        while here != begin:
            here, label = came[here]
            if label is not None:
                found.append(label)
        return found[::-1]

    def _rest(self, marking: Marking) -> Fraction:
        assert self.left is not None
        left = self.left
        return sum((left[place] for place in bits_of(marking.places)), start=left[0] * 0)

    def _number(self, markings: Iterable[Marking]) -> int:
        """Give the number of what can be reached from here with nothing to be seen."""
        found: set[Marking] = set()
        kept: set[Marking] = set()
        waiting = [self._settled(marking) for marking in markings]
        while waiting:
            marking = waiting.pop()
            if marking in found or (self.ending is not None and marking not in self.ending):
                continue
            found.add(marking)
            self.budget.spend()
            if len(marking.more) > _MOST_TOKENS:
                raise PastBoundError("There are ever more tokens in one of them.")
            for step in self.stepper.enabled(marking):
                if self.labels[step] is None:
                    waiting.append(self._settled(self.stepper.after(marking, step)))
                else:
                    kept.add(marking)
            if marking == self.stepper.end:
                kept.add(marking)
        one = frozenset(kept)
        number = self._numbers.get(one)
        if number is None:
            number = self._numbers[one] = len(self.sets)
            self.sets.append(one)
        return number

    def _settled(self, marking: Marking) -> Marking:
        """Take the forced steps; as many as there are steps at most, since they may go round in a circle."""
        for _ in self.labels:
            forced = next((step for step in self.stepper.enabled(marking) if self.forced[step]), None)
            if forced is None:
                break
            marking = self.stepper.after(marking, forced)
        return marking


@dataclass(frozen=True, slots=True)
class Difference:
    """A trace that one of two has and the other has not."""

    trace: tuple[str, ...]
    first: bool
    """Whether it is the first of the two that has it."""
    shortest: bool
    """Whether no shorter one tells them apart."""


def compared(first: Automaton, second: Automaton) -> Difference | None:
    """Find a trace that only one of two has; None is a proof that there is none."""
    return _Comparison(first, second).run()


class _Comparison:
    """Pairs of states that the same trace leads to, shorter traces first."""

    def __init__(self, first: Automaton, second: Automaton) -> None:
        self.first, self.second = first, second
        self.classes: dict[tuple[bool, int], tuple[bool, int]] = {}
        self.pairs = [(first.start, second.start)]
        self.came: list[tuple[int, str]] = [(-1, "")]
        self.depths = [0]
        self.best: Difference | None = None
        self.exact = True
        """Whether nothing shorter than the best can have been passed over."""

    def run(self) -> Difference | None:
        try:
            for at, (one, two) in enumerate(self.pairs):
                if self.best is not None and self.at_least(at) >= len(self.best.trace):
                    continue
                if self.first.accepts(one) != self.second.accepts(two):
                    return Difference(tuple(self.trace_to(at)), self.first.accepts(one), self.exact)
                self.go_on(at)
        except PastBoundError:
            if self.best is None:
                raise
            self.exact = False
        return None if self.best is None else Difference(self.best.trace, self.best.first, self.exact)

    def go_on(self, at: int) -> None:
        one, two = self.pairs[at]
        ahead, beside = self.first.moves(one), self.second.moves(two)
        for label in sorted({**ahead, **beside}):
            in_first, in_second = ahead.get(label), beside.get(label)
            if in_first is None:
                self.only_in(self.second, in_second, at, label)
            elif in_second is None:
                self.only_in(self.first, in_first, at, label)
            else:
                mine, yours = self.class_of((True, in_first)), self.class_of((False, in_second))
                if mine != yours:
                    self.classes[mine] = yours
                    self.pairs.append((in_first, in_second))
                    self.came.append((at, label))
                    self.depths.append(self.depths[at] + 1)

    def only_in(self, alone: Automaton, state: int | None, at: int, label: str) -> None:
        """Note what begins in a way that the other cannot begin, if it can be brought to an end."""
        if state is None:
            return
        if self.best is not None and self.depths[at] + 1 + alone.at_least(state) >= len(self.best.trace):
            return
        rest = alone.completion(state)
        if rest is None:
            return
        trace = (*self.trace_to(at), label, *rest[0])
        self.exact = self.exact and rest[1]
        if self.best is None or len(trace) < len(self.best.trace):
            self.best = Difference(trace, alone is self.first, shortest=True)

    def at_least(self, at: int) -> Fraction | int:
        """Tell how long a trace that tells the two apart is at least, if it goes on from here."""
        one, two = self.pairs[at]
        return self.depths[at] + min(self.first.at_least(one), self.second.at_least(two))

    def class_of(self, one: tuple[bool, int]) -> tuple[bool, int]:
        classes = self.classes
        while (up := classes.get(one, one)) != one:
            classes[one] = classes.get(up, up)
            one = up
        return one

    def trace_to(self, at: int) -> list[str]:
        found = []
        while at > 0:
            at, label = self.came[at]
            found.append(label)
        return found[::-1]


def _way(came: Mapping[int, tuple[int, str]], start: int, state: int) -> list[str]:
    found = []
    while state != start:
        state, label = came[state]
        found.append(label)
    return found[::-1]
