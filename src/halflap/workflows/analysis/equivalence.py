"""Whether two workflows have exactly the same complete traces, and if not, a trace that only one of them has.

Trees with the same normal form have the same traces. Otherwise the states of both are explored, and sets of states that the same trace leads to
are compared, shorter traces first. Trees with different footprints differ, too: then few states are explored for a trace.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from halflap.workflows.analysis.footprint import footprint
from halflap.workflows.analysis.states import Space, explore, labels_of, unfolded
from halflap.workflows.model.block import Block, Branches, Loop, Step

if TYPE_CHECKING:
    from halflap.workflows.analysis.study import Study
    from halflap.workflows.model.net import Net

_FEW_STATES = 2_000
_MEAN_SIZE = 20
"""Sets of states that are larger on average reach the bound sooner: the time goes by their sizes."""


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


def _by_states(first: Study, second: Study, most: int) -> Equivalence:
    automata = []
    for study in (first, second):
        space = study.space if study.block is None else _visible_space(study, study.block, most)
        if space.problem is not None:
            return Equivalence(None, problem=f"'{study.net.id}': {space.problem}")
        automata.append(_Automaton(study, space))
    one, two = automata
    start = (one.start, two.start)
    came: dict[_Pair, tuple[_Pair, str] | None] = {start: None}
    pairs = [start]
    looked = 0
    # Shorter traces first.
    for pair in pairs:
        mine, yours = pair
        if one.accepts(mine) != two.accepts(yours):
            trace = []
            back = came[pair]
            while back is not None:
                trace.append(back[1])
                back = came[back[0]]
            return Equivalence(False, tuple(reversed(trace)), one.accepts(mine))
        ahead, beside = one.moves(mine), two.moves(yours)
        for label in sorted({**ahead, **beside}):
            after = (ahead.get(label, _NOWHERE), beside.get(label, _NOWHERE))
            if after not in came:
                came[after] = (pair, label)
                pairs.append(after)
        looked += len(mine) + len(yours)
        if len(pairs) > most or looked > most * _MEAN_SIZE:
            return Equivalence(None, problem=f"More than {most:,} states would have to be compared.")
    return Equivalence(equivalent=True)


def _visible_space(study: Study, block: Block, most: int) -> Space:
    return explore(unfolded(study.net, block, [node for node, bit in study.bits.items() if bit]), most)


_States = frozenset[int]
_Pair = tuple[_States, _States]
_NOWHERE: _States = frozenset()


class _Automaton:
    """A determinised space: a state is the set of all states that a trace leads to and from which a case can be completed."""

    def __init__(self, study: Study, space: Space) -> None:
        ending = space.ending
        self.final = space.final
        visible = [labels_of(study.net, step.tasks) for step in space.machine.steps]
        self.silent: dict[int, list[int]] = {}
        self.visible: dict[int, list[tuple[str, int]]] = {}
        for state in ending:
            steps = [(visible[step], target) for step, target in space.steps[state] if target in ending]
            self.silent[state] = [target for labels, target in steps if not labels]
            self.visible[state] = [(labels[0], target) for labels, target in steps if labels]
        self.start = self._closed([0] if 0 in ending else [])

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
