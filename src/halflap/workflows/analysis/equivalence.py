"""Whether two workflows have exactly the same complete traces, and if not, a trace that only one of them has.

Block-structured workflows are compared by their normal forms, and where those differ part by part; others by their states.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from halflap.workflows.analysis.automaton import Automaton, Budget, Distinction, PastBoundError, compared
from halflap.workflows.analysis.normal_form import Forms
from halflap.workflows.analysis.parts import parts_to_compare

if TYPE_CHECKING:
    from halflap.workflows.analysis.study import Study

__all__ = ["Equivalence", "equivalence"]


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
    exact = True
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
            found.append(Distinction(tuple(whole), difference.first, difference.shortest))
            # What surrounds a part may be longer in one whole than in the other.
            exact = exact and difference.shortest and pair.is_even(forms)
    if not found:
        return Equivalence(None if problem else True, method="blocks", problem=problem)
    best = min(found, key=lambda one: len(one.trace))
    least = min(forms.shortest[first], forms.shortest[second])
    shortest = (exact and problem is None) or len(best.trace) == least
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
