"""Whether two workflows have exactly the same complete traces, and if not, a trace that only one of them has.

Workflows that are made of blocks are compared by their normal forms, and what differs of these part by part; others by
their states. What is past the bound is not known, and said so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from halflap.workflows.automaton import Automaton, Budget, Difference, PastBoundError, compared
from halflap.workflows.normalform import Forms
from halflap.workflows.normalmachine import machine_of_form
from halflap.workflows.parts import parts_to_compare

if TYPE_CHECKING:
    from halflap.workflows.net import Bound
    from halflap.workflows.parts import Pair
    from halflap.workflows.study import Study

__all__ = ["Equivalence", "equivalence"]


@dataclass(frozen=True, slots=True)
class Equivalence:
    """What is known; None where it is not."""

    equivalent: bool | None
    trace: tuple[str, ...] | None = None
    """The labels of a complete case that only one of the two can do."""
    only_in: Literal["first", "second"] | None = None
    shortest: bool = False
    """Whether no shorter trace tells them apart."""
    method: Literal["blocks", "states"] = "states"
    problem: str | None = None
    """Why it is not known."""


def equivalence(first: Study, second: Study) -> Equivalence:
    """Compare two workflows; the bound is that of the first."""
    forms = Forms()
    if first.tree is not None and second.tree is not None:
        return _by_parts(
            forms, forms.of(first.net, first.tree), forms.of(second.net, second.tree), first.bound
        )
    budget = Budget(first.bound)
    try:
        difference = compared(
            *(
                _general(study, budget)
                if study.tree is None
                else _automaton(forms, forms.of(study.net, study.tree), budget)
                for study in (first, second)
            )
        )
    except PastBoundError as error:
        return Equivalence(None, problem=str(error))
    if difference is None:
        return Equivalence(equivalent=True)
    return _told(difference.trace, "states", in_first=difference.first, shortest=difference.shortest)


def _by_parts(forms: Forms, first: int, second: int, bound: Bound) -> Equivalence:
    found: list[tuple[Pair, Difference]] = []
    problem: str | None = None
    budget = Budget(bound)
    for pair in parts_to_compare(forms, first, second):
        try:
            difference = _shorter(forms, pair) or compared(
                _automaton(forms, pair.first, budget), _automaton(forms, pair.second, budget)
            )
        except PastBoundError as error:
            problem = str(error)
            continue
        if difference is not None:
            found.append((pair, difference))
    if not found:
        return Equivalence(equivalent=None if problem else True, method="blocks", problem=problem)
    traces = [(pair.around_trace(forms, list(one.trace), first=one.first), one.first) for pair, one in found]
    trace, in_first = min(traces, key=lambda one: len(one[0]))
    # What is around the parts may be longer in the one than in the other: then another part's trace may be shorter in that.
    even = all(len(set(pair.length_around(forms))) == 1 for pair, _ in found)
    exact = problem is None and even and all(one.shortest for _, one in found)
    exact = exact or len(trace) == min(forms.shortest[first], forms.shortest[second])
    return _told(tuple(trace), "blocks", in_first=in_first, shortest=exact)


def _shorter(forms: Forms, pair: Pair) -> Difference | None:
    """Tell two parts apart by a trace of the one that is shorter than any of the other; then none shorter does."""
    lengths = forms.shortest[pair.first], forms.shortest[pair.second]
    if lengths[0] == lengths[1]:
        return None
    shorter = pair.first if lengths[0] < lengths[1] else pair.second
    return Difference(tuple(forms.trace(shorter)), shorter == pair.first, shortest=True)


def _automaton(forms: Forms, number: int, budget: Budget) -> Automaton:
    machine, left = machine_of_form(forms, number)
    return Automaton(machine, budget, left=left)


def _general(study: Study, budget: Budget) -> Automaton:
    """Take a workflow by its states; where they are known, without those that lead nowhere."""
    space = study.space
    if space.unbounded is not None:
        raise PastBoundError(f"'{study.net.id}': {space.problem}")
    if space.problem is not None:
        return Automaton(space.machine, budget)
    return Automaton(space.machine, budget, ending={space.markings[state] for state in study.ending})


def _told(
    trace: tuple[str, ...], method: Literal["blocks", "states"], *, in_first: bool, shortest: bool
) -> Equivalence:
    only_in: Literal["first", "second"] = "first" if in_first else "second"
    return Equivalence(equivalent=False, trace=trace, only_in=only_in, shortest=shortest, method=method)
