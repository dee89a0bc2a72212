"""Trace equivalence: whether two workflows have exactly the same complete traces, and if not, a trace that only one of them has.

Trees with the same normal form are equivalent. Otherwise the state spaces of both are determinised, and walked together, shorter
traces first. Trees with different footprints are not equivalent: then only few states are explored, to find a counterexample.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from halflap.workflows.analysis.footprint import footprint
from halflap.workflows.analysis.states import StateSpace, explore, labels_of, petri_net_of_tree, shortest_path
from halflap.workflows.model.block import Block, Branches, Loop, Step

if TYPE_CHECKING:
    from halflap.workflows.analysis.study import Study
    from halflap.workflows.model.net import Net

_FEW_STATES = 2_000
_MEAN_SIZE = 20
"""States in a set, on average: comparing larger sets takes longer, so the bound is reached sooner."""


@dataclass(frozen=True, slots=True)
class Equivalence:
    """What is known; None where it is not."""

    equivalent: bool | None
    trace: tuple[str, ...] | None = None
    """A shortest trace that only one of the two has."""
    only_in_first: bool = False
    problem: str | None = None
    """Why it is not known."""


def equivalence(first: Study, second: Study) -> Equivalence:
    """Compare two workflows, within the bound of the first."""
    differs = False
    if first.block is not None and second.block is not None:
        if _form(first.net, first.block) == _form(second.net, second.block):
            return Equivalence(equivalent=True)
        differs = footprint(first) != footprint(second)
    found = _by_states(first, second, min(first.bound, _FEW_STATES) if differs else first.bound)
    return Equivalence(equivalent=False) if differs and found.equivalent is None else found


_NOTHING: tuple[Any, ...] = ("sequence", ())


def _form(net: Net, block: Block) -> tuple[Any, ...]:
    """Return the normal form of a tree. Equal forms have equal traces; different ones prove nothing."""
    if isinstance(block, Step):
        task = net.tasks.get(block.node)
        return _NOTHING if task is None or task.label is None else ("task", task.label)
    kind = "loop" if isinstance(block, Loop) else block.kind if isinstance(block, Branches) else "sequence"
    parts = [_form(net, part) for part in block.parts]
    if kind != "loop":
        parts = [inner for part in parts for inner in (part[1] if part[0] == kind else (part,))]
    if kind in {"sequence", "and"}:
        parts = [part for part in parts if part != _NOTHING]
    if kind in {"and", "or"}:
        parts.sort()
    elif kind == "xor":
        parts = sorted(set(parts))
    if all(part == _NOTHING for part in parts):
        return _NOTHING
    return parts[0] if len(parts) == 1 else (kind, tuple(parts))


# By states --------------------------------------------------------------------------------------------


class _TooManyError(Exception):
    """More states would have to be compared than the bound allows."""


def _by_states(first: Study, second: Study, most: int) -> Equivalence:
    automata = []
    for study in (first, second):
        space = study.space if study.block is None else _visible_space(study, study.block, most)
        if space.problem is not None:
            return Equivalence(None, problem=f"'{study.net.id}': {space.problem}")
        automata.append(_Automaton(study, space))
    one, two = automata
    compared = size = 0

    def edges(pair: _Pair) -> Iterator[tuple[str, _Pair]]:
        nonlocal compared, size
        compared += 1
        size += len(pair[0]) + len(pair[1])
        if compared > most or size > most * _MEAN_SIZE:
            raise _TooManyError
        mine, yours = one.moves(pair[0]), two.moves(pair[1])
        for label in sorted({**mine, **yours}):
            yield label, (mine.get(label, _NOWHERE), yours.get(label, _NOWHERE))

    def differs(pair: _Pair) -> bool:
        return one.accepts(pair[0]) != two.accepts(pair[1])

    try:
        found = shortest_path((one.start, two.start), edges, differs)
    except _TooManyError:
        return Equivalence(None, problem=f"More than {most:,} states would have to be compared.")
    if found is None:
        return Equivalence(equivalent=True)
    (mine, _), trace = found
    return Equivalence(False, tuple(trace), one.accepts(mine))


def _visible_space(study: Study, block: Block, most: int) -> StateSpace:
    visible = [node for node, bit in study.bits.items() if bit]
    return explore(petri_net_of_tree(study.net, block, visible), most)


_States = frozenset[int]
_Pair = tuple[_States, _States]
_NOWHERE: _States = frozenset()


class _Automaton:
    """A determinised state space: its states are the sets of completable states that a trace leads to."""

    def __init__(self, study: Study, space: StateSpace) -> None:
        completable = space.completable
        self.final = space.final
        labels = [labels_of(study.net, one.tasks) for one in space.petri_net.transitions]
        self.silent: dict[int, list[int]] = {}
        self.visible: dict[int, list[tuple[str, int]]] = {}
        for state in completable:
            edges = [(labels[one], target) for one, target in space.edges[state] if target in completable]
            self.silent[state] = [target for shown, target in edges if not shown]
            self.visible[state] = [(shown[0], target) for shown, target in edges if shown]
        self.start = self._closed([0] if 0 in completable else [])

    def accepts(self, states: _States) -> bool:
        return self.final in states

    def moves(self, states: _States) -> dict[str, _States]:
        reached: dict[str, list[int]] = {}
        for state in states:
            for label, target in self.visible[state]:
                reached.setdefault(label, []).append(target)
        return {label: self._closed(targets) for label, targets in reached.items()}

    def _closed(self, states: Iterable[int]) -> _States:
        found = set(states)
        waiting = list(found)
        while waiting:
            new = [state for state in self.silent[waiting.pop()] if state not in found]
            found.update(new)
            waiting += new
        return frozenset(found)
