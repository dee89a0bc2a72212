"""Whether two workflows have exactly the same complete traces, and if not, a trace that only one of them has.

Block-structured workflows are compared by their normal forms, and where those differ part by part; others by their states.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from halflap.workflows.analysis.normal_form import Forms
from halflap.workflows.analysis.parts import parts_to_compare
from halflap.workflows.analysis.states import Stepper

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping

    from halflap.workflows.analysis.states import Machine, Marking
    from halflap.workflows.analysis.study import Study
    from halflap.workflows.model.net import Bound

__all__ = ["Automaton", "Budget", "Distinction", "Equivalence", "PastBoundError", "compared", "equivalence"]


@dataclass(frozen=True, slots=True)
class Equivalence:
    """What is known; None where it is not."""

    equivalent: bool | None
    difference: Distinction | None = None
    method: Literal["blocks", "states"] = "states"
    problem: str | None = None
    """Why it is not known."""


def equivalence(first: Study, second: Study) -> Equivalence:
    """Compare two workflows, within the bound of the first."""
    budget = Budget(first.bound)
    if first.block is not None and second.block is not None:
        return _by_parts(first, second, budget)
    try:
        found = compared(_automaton(first, budget), _automaton(second, budget))
    except PastBoundError as error:
        return Equivalence(None, problem=str(error))
    return Equivalence(equivalent=found is None, difference=found)


def _by_parts(one: Study, two: Study, budget: Budget) -> Equivalence:
    assert one.block is not None
    assert two.block is not None
    forms = Forms()
    first, second = forms.of(one.net, one.block), forms.of(two.net, two.block)
    found: list[Distinction] = []
    problem: str | None = None
    for pair in parts_to_compare(forms, first, second):
        lengths = forms.shortest[pair.first], forms.shortest[pair.second]
        try:
            if lengths[0] != lengths[1]:
                # A trace that is shorter than any of the other tells them apart, and none shorter does.
                in_first = lengths[0] < lengths[1]
                trace = forms.trace(pair.first if in_first else pair.second)
                difference: Distinction | None = Distinction(tuple(trace), in_first, shortest=True)
            else:
                sides = (Automaton(forms.machine(form), budget) for form in (pair.first, pair.second))
                difference = compared(*sides)
        except PastBoundError as error:
            problem = str(error)
            continue
        if difference is not None:
            whole = pair.whole_trace(forms, difference.trace, first=difference.first)
            # What surrounds a part may be longer in one whole than in the other.
            alone = difference.shortest and not pair.around
            found.append(Distinction(tuple(whole), difference.first, alone))
    if not found:
        return Equivalence(None if problem else True, method="blocks", problem=problem)
    best = min(found, key=lambda one: len(one.trace))
    least = min(forms.shortest[first], forms.shortest[second])
    shortest = (problem is None and all(one.shortest for one in found)) or len(best.trace) == least
    return Equivalence(False, Distinction(best.trace, best.first, shortest), "blocks")


def _automaton(study: Study, budget: Budget) -> Automaton:
    if study.block is not None:
        forms = Forms()
        return Automaton(forms.machine(forms.of(study.net, study.block)), budget)
    space = study.space
    if space.unbounded is not None:
        raise PastBoundError(f"'{study.net.id}': {space.problem}")
    if space.problem is not None:
        return Automaton(space.machine, budget)
    return Automaton(space.machine, budget, {space.markings[state] for state in study.ending})


# Automata ----------------------------------------------------------------------------------------------


_SHORTEST_WITHIN = 1_000
"""So many pairs are visited to find a shortest difference."""
_CLOCK_EVERY = 256
_MAX_TOKENS = 100


class PastBoundError(Exception):
    """The bound does not allow to look further; the message says which."""


class Budget:
    """What may still be explored."""

    def __init__(self, bound: Bound) -> None:
        self.bound = bound
        self.spent = 0
        self.until = None if bound.seconds is None else time.monotonic() + bound.seconds

    def spend(self) -> None:
        self.spent += 1
        if self.spent > self.bound.states:
            raise PastBoundError(f"More than {self.bound.states:,} states would have to be compared.")
        if self.until is not None and self.spent % _CLOCK_EVERY == 0 and time.monotonic() > self.until:
            raise PastBoundError(f"They could not be compared within {self.bound.seconds:g} s.")


class Automaton:
    """A determinised machine: a state is the set of markings after a trace. States are made when asked for."""

    def __init__(self, machine: Machine, budget: Budget, ending: Container[Marking] | None = None) -> None:
        """Begin; `ending` are the markings that can lead to the end, if that is known."""
        self.budget = budget
        self.ending = ending
        self.stepper = Stepper(machine)
        self.labels = [step.label for step in machine.steps]
        consumers = [0] * len(machine.places)
        for step in machine.steps:
            for place in step.takes:
                consumers[place] += 1
        self.forced = [
            step.label is None and all(consumers[place] == 1 for place in step.takes)
            for step in machine.steps
        ]
        """Silent steps without an alternative: taking them at once loses no trace."""
        self.sets: list[frozenset[Marking]] = []
        self._numbers: dict[frozenset[Marking], int] = {}
        self._moves: dict[int, dict[str, int]] = {}
        self.nowhere = self._number([])
        self.start = self._number([self.stepper.start])

    def accepts(self, state: int) -> bool:
        return self.stepper.end in self.sets[state]

    def moves(self, state: int) -> Mapping[str, int]:
        """Return the visible continuations, sorted, and where each leads."""
        found = self._moves.get(state)
        if found is None:
            reached: dict[str, set[Marking]] = {}
            for marking in self.sets[state]:
                for step in self.stepper.enabled(marking):
                    label = self.labels[step]
                    if label is not None:
                        reached.setdefault(label, set()).add(self.stepper.after(marking, step))
            numbered = {label: self._number(reached[label]) for label in sorted(reached)}
            found = {label: number for label, number in numbered.items() if number != self.nowhere}
            self._moves[state] = found
        return found

    def completion(self, state: int) -> list[str] | None:
        """Return some trace from here to the end; over markings, since determinising is only needed to compare."""
        start = min(self.sets[state])
        seen = {start}
        path: list[tuple[Marking, Iterator[int], str | None]] = [
            (start, iter(self.stepper.enabled(start)), None)
        ]
        while path:
            marking, steps, _ = path[-1]
            if marking == self.stepper.end:
                return [label for *_, label in path if label is not None]
            for step in steps:
                after = self.stepper.after(marking, step)
                if after not in seen and (self.ending is None or after in self.ending):
                    self.budget.spend()
                    seen.add(after)
                    path.append((after, iter(self.stepper.enabled(after)), self.labels[step]))
                    break
            else:
                path.pop()
        return None

    def _number(self, markings: Iterable[Marking]) -> int:
        """Return the state of these markings and all that silent steps lead to."""
        found: set[Marking] = set()
        kept: set[Marking] = set()
        waiting = [self._settled(marking) for marking in markings]
        while waiting:
            marking = waiting.pop()
            if marking in found or (self.ending is not None and marking not in self.ending):
                continue
            found.add(marking)
            self.budget.spend()
            if len(marking.more) > _MAX_TOKENS:
                raise PastBoundError("The tokens in one of them keep growing.")
            for step in self.stepper.enabled(marking):
                if self.labels[step] is None:
                    waiting.append(self._settled(self.stepper.after(marking, step)))
                else:
                    kept.add(marking)
            if marking == self.stepper.end:
                kept.add(marking)
        one = frozenset(kept)
        number = self._numbers.setdefault(one, len(self.sets))
        if number == len(self.sets):
            self.sets.append(one)
        return number

    def _settled(self, marking: Marking) -> Marking:
        """Take the forced steps; no more than there are steps, since they may form a cycle."""
        for _ in self.labels:
            forced = next((step for step in self.stepper.enabled(marking) if self.forced[step]), None)
            if forced is None:
                break
            marking = self.stepper.after(marking, forced)
        return marking


@dataclass(frozen=True, slots=True)
class Distinction:
    """A trace that only one of two has."""

    trace: tuple[str, ...]
    first: bool
    """Whether the first has it."""
    shortest: bool
    """Whether it is known that no shorter one exists."""


def compared(first: Automaton, second: Automaton) -> Distinction | None:
    """Return a trace that only one of the two has; None is a proof that there is none."""
    return _Comparison(first, second).run()


class _Comparison:
    """Pairs of states that the same trace leads to, shorter traces first."""

    def __init__(self, first: Automaton, second: Automaton) -> None:
        self.first, self.second = first, second
        self.pairs = [(first.start, second.start)]
        self.came: list[tuple[int, str]] = [(-1, "")]
        self.classes: dict[tuple[bool, int], tuple[bool, int]] = {}
        self.alone: int | None = None
        """The first pair of which only one side goes on."""

    def run(self) -> Distinction | None:
        for at, (one, two) in enumerate(self.pairs):
            accepts = self.first.accepts(one)
            if accepts != self.second.accepts(two):
                return Distinction(tuple(self.trace_to(at)), accepts, shortest=True)
            if self.alone is None and (self.first.nowhere == one) != (self.second.nowhere == two):
                self.alone = at
            if self.alone is not None and len(self.pairs) > _SHORTEST_WITHIN:
                return self.completed(self.alone)
            try:
                self.expand(at)
            except PastBoundError:
                if self.alone is None:
                    raise
                return self.completed(self.alone)
        return None

    def expand(self, at: int) -> None:
        one, two = self.pairs[at]
        ahead, beside = self.first.moves(one), self.second.moves(two)
        for label in sorted({**ahead, **beside}):
            pair = ahead.get(label, self.first.nowhere), beside.get(label, self.second.nowhere)
            mine, yours = self.class_of((True, pair[0])), self.class_of((False, pair[1]))
            if mine != yours:
                self.classes[mine] = yours
                self.pairs.append(pair)
                self.came.append((at, label))

    def class_of(self, one: tuple[bool, int]) -> tuple[bool, int]:
        while (up := self.classes.get(one, one)) != one:
            self.classes[one] = self.classes.get(up, up)
            one = up
        return one

    def trace_to(self, at: int) -> list[str]:
        found = []
        while at > 0:
            at, label = self.came[at]
            found.append(label)
        return found[::-1]

    def completed(self, at: int) -> Distinction:
        """Complete a trace that only one side can begin."""
        one, two = self.pairs[at]
        in_first = one != self.first.nowhere
        rest = self.first.completion(one) if in_first else self.second.completion(two)
        if rest is None:
            raise PastBoundError("One of them can begin something of which it is unknown whether it ends.")
        return Distinction((*self.trace_to(at), *rest), in_first, shortest=False)
