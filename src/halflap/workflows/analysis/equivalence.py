"""Whether two workflows have exactly the same complete traces, and if not, a trace that only one of them has.

Trees with the same normal form have the same traces. Otherwise the states of both are explored, and sets of states that the same trace leads to
are compared (Hopcroft and Karp), shorter traces first. Trees with too many states for that may still have different footprints, which is a
proof too, though without a trace.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from halflap.workflows.analysis.footprint import footprint
from halflap.workflows.analysis.states import Space, explore, labels_of, unfolded
from halflap.workflows.model.block import Block, Branches, Loop, Sequence, Step

if TYPE_CHECKING:
    from halflap.workflows.analysis.study import Study
    from halflap.workflows.model.net import Net

_FEW_STATES = 2_000
"""With more states, trees are first compared by their footprints."""
_MEAN_SIZE = 20
"""Sets of states that are larger on average reach the bound sooner: the time goes by their sizes."""


@dataclass(frozen=True, slots=True)
class Distinction:
    """A trace that only one of two has; none is shorter."""

    trace: tuple[str, ...]
    first: bool
    """Whether the first has it."""


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
    most = first.bound
    if first.block is not None and second.block is not None:
        forms = _Forms()
        if forms.of(first.net, first.block) == forms.of(second.net, second.block):
            return Equivalence(equivalent=True, method="blocks")
        few = _by_states(first, second, min(most, _FEW_STATES))
        if few.equivalent is not None:
            return few
        if footprint(first) != footprint(second):
            return Equivalence(equivalent=False, method="blocks")
    return _by_states(first, second, most)


# By states --------------------------------------------------------------------------------------------


def _by_states(first: Study, second: Study, most: int) -> Equivalence:  # noqa: C901 -- one algorithm
    automata = []
    for study in (first, second):
        if study.block is None:
            space = study.space
        else:
            visible = [node for node, bit in study.bits.items() if bit]
            space = explore(unfolded(study.net, study.block, visible), most)
        if space.problem is not None:
            return Equivalence(None, problem=f"'{study.net.id}': {space.problem}")
        automata.append(_Automaton(study, space))
    one, two = automata
    pairs = [(one.start, two.start)]
    came: list[tuple[int, str]] = [(-1, "")]
    classes: dict[tuple[bool, _States], tuple[bool, _States]] = {}

    def class_of(member: tuple[bool, _States]) -> tuple[bool, _States]:
        while (up := classes.get(member, member)) != member:
            classes[member] = classes.get(up, up)
            member = up
        return member

    looked = 0
    # Shorter traces first; a pair of which the classes are known to be the same leads to nothing new.
    for at, (mine, yours) in enumerate(pairs):
        if one.accepts(mine) != two.accepts(yours):
            trace = []
            while at > 0:
                at, label = came[at]  # noqa: PLW2901 -- back to the start
                trace.append(label)
            return Equivalence(False, Distinction(tuple(reversed(trace)), one.accepts(mine)))
        ahead, beside = one.moves(mine), two.moves(yours)
        for label in sorted({**ahead, **beside}):
            pair = (ahead.get(label, _NOWHERE), beside.get(label, _NOWHERE))
            left, right = class_of((True, pair[0])), class_of((False, pair[1]))
            if left != right:
                classes[left] = right
                pairs.append(pair)
                came.append((at, label))
        looked += len(mine) + len(yours)
        if len(pairs) > most or looked > most * _MEAN_SIZE:
            return Equivalence(None, problem=f"More than {most:,} states would have to be compared.")
    return Equivalence(equivalent=True)


_States = frozenset[int]
_NOWHERE: _States = frozenset()


class _Automaton:
    """A determinised space: a state is the set of all states that a trace leads to and from which a case can be completed."""

    def __init__(self, study: Study, space: Space) -> None:
        ending = space.ending()
        self.final = space.final()
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


# Normal forms -----------------------------------------------------------------------------------------

Form = tuple[str, tuple[int, ...]]
"""A kind of block and the numbers of its parts, of which the order matters in a sequence and a loop only; or `=` and a label."""
_NOTHING = 0
"""The form of whatever has only the empty trace."""


class _Forms:
    """Normal forms of trees, by number. Every rule preserves the set of traces, so equal forms prove equal traces; different ones prove nothing."""

    def __init__(self) -> None:
        self._forms: list[Form] = []
        self._skips: list[bool] = []
        """Whether it has the empty trace."""
        self._numbers: dict[Form, int] = {}
        self._add("nothing")

    def of(self, net: Net, block: Block) -> int:
        if isinstance(block, Step):
            task = net.tasks.get(block.node)
            return _NOTHING if task is None or task.label is None else self._add(f"={task.label}")
        parts = [self.of(net, one) for one in block.parts]
        if isinstance(block, Sequence):
            return self._sequence(parts)
        if isinstance(block, Loop):
            return self._loop(*parts)
        assert isinstance(block, Branches)
        return {"and": self._parallel, "xor": self._choice, "or": self._some}[block.kind](parts)

    def _add(self, kind: str, parts: tuple[int, ...] = ()) -> int:
        number = self._numbers.setdefault((kind, parts), len(self._forms))
        if number == len(self._forms):
            skips = [self._skips[part] for part in (parts[:1] if kind == "loop" else parts)]
            self._forms.append((kind, parts))
            self._skips.append(kind[0] != "=" and (any(skips) if kind in {"xor", "or"} else all(skips)))
        return number

    def _flat(self, kind: str, parts: Iterable[int]) -> list[int]:
        """Return parts with those of the same kind taken apart."""
        forms = ((part, self._forms[part]) for part in parts)
        return [one for part, form in forms for one in (form[1] if form[0] == kind else (part,))]

    def _several(self, kind: str, parts: list[int]) -> int:
        return self._add(kind, tuple(parts)) if len(parts) > 1 else parts[0] if parts else _NOTHING

    def _sequence(self, parts: Iterable[int]) -> int:
        return self._several("sequence", [one for one in self._flat("sequence", parts) if one != _NOTHING])

    def _parallel(self, parts: Iterable[int]) -> int:
        return self._several("and", sorted(one for one in self._flat("and", parts) if one != _NOTHING))

    def _choice(self, parts: Iterable[int]) -> int:
        flat = set(self._flat("xor", parts))
        if not any(self._skips[part] for part in flat):
            return self._factored(sorted(flat))
        if any(self._skips[part] for part in flat - {_NOTHING}):
            flat.discard(_NOTHING)
        return self._several("xor", sorted(flat))

    def _factored(self, parts: list[int]) -> int:
        """Take what all ways begin or end with out of a choice."""
        ways = [self._flat("sequence", [part]) for part in parts]
        shortest = min(map(len, ways), default=0)
        begin = next((at for at in range(shortest) if len({way[at] for way in ways}) > 1), shortest)
        rest = shortest - begin
        end = next((at for at in range(rest) if len({way[-1 - at] for way in ways}) > 1), rest)
        if len(ways) == 1 or not begin + end:
            return self._several("xor", parts)
        middle = self._choice(self._sequence(way[begin : len(way) - end]) for way in ways)
        return self._sequence([*ways[0][:begin], middle, *ways[0][len(ways[0]) - end :]])

    def _some(self, parts: Iterable[int]) -> int:
        flat = sorted(self._flat("or", parts))
        return self._several("or", flat) if any(flat) else _NOTHING

    def _loop(self, body: int, again: int) -> int:
        kind, parts = self._forms[body]
        if kind == "loop":
            body, again = parts[0], self._choice([parts[1], again])
        return self._add("loop", (body, again)) if body or again else _NOTHING
