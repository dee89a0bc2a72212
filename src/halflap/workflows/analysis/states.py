"""The state space: markings of places, the steps between them, and how each was first reached.

A machine of places and steps is made of a net, or of its tree. In a net, a task with several ways in or out is several steps. One whose join and
split are both choices first takes, then chooses, so that there are as many steps as flows and not as their products. An or-split
decides about its ways one after the other; a way that is not taken gets its token at the join at once, which then waits for all.
Steps have weights, so that the simulator plays the same machines.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from collections.abc import Sequence as List
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from halflap.workflows.model.block import (
    Block,
    Branches,
    Choice,
    Loop,
    Sequence,
    Step,
    or_chances,
    sequence,
    shares,
    steps_of,
)
from halflap.workflows.model.checks import or_blocks

if TYPE_CHECKING:
    from halflap.workflows.model.net import Flow, Net

Marking = tuple[int, ...]
"""The places with tokens, in order; one with several tokens occurs several times."""


class Transition(NamedTuple):
    """Can happen when every place it takes from has a token."""

    takes: tuple[int, ...]
    gives: tuple[int, ...]
    tasks: tuple[str, ...] = ()
    """What is done: nothing in an internal step such as choosing a way, several tasks in a step for a whole block."""
    weight: float = 1.0
    """Its probability among those that take from the same place."""


class Machine:
    """Places by number, with their names, and the steps between them."""

    def __init__(self) -> None:
        self.places: list[str] = []
        self.steps: list[Transition] = []
        self.start = self.end = 0

    def place(self, name: str = "") -> int:
        self.places.append(name)
        return len(self.places) - 1

    def step(
        self, takes: List[int], gives: List[int], tasks: Iterable[str] = (), weight: float = 1.0
    ) -> None:
        self.steps.append(Transition(tuple(takes), tuple(gives), tuple(tasks), weight))

    def choose_some(self, at: int, ways: List[int], skipped: List[int], chances: List[float]) -> None:
        """From `at`, take at least one of the ways; for each other one, mark its place in `skipped`."""
        name = self.places[at]
        none_yet, some = at, -1
        for number, (way, skip, chance) in enumerate(zip(ways, skipped, chances, strict=True)):
            left = 1 - prod(1 - one for one in chances[number:])
            first = chance / left if left else 1.0
            is_last = number == len(ways) - 1
            after_none, after_some = ([], []) if is_last else ([self.place(name)], [self.place(name)])
            self.step([none_yet], [way, *after_some], weight=first)
            if not is_last:
                self.step([none_yet], [skip, *after_none], weight=1 - first)
            if some >= 0:
                self.step([some], [way, *after_some], weight=chance)
                self.step([some], [skip, *after_some], weight=1 - chance)
            if not is_last:
                (none_yet,), (some,) = after_none, after_some

    @cached_property
    def by_place(self) -> dict[int, list[int]]:
        """Steps by the first place that they take from."""
        found: dict[int, list[int]] = defaultdict(list)
        for number, step in enumerate(self.steps):
            found[step.takes[0]].append(number)
        return found

    def enabled(self, marking: Marking) -> list[int]:
        return [
            number
            for place in dict.fromkeys(marking)
            for number in self.by_place[place]
            if all(one in marking for one in self.steps[number].takes)
        ]

    def after(self, marking: Marking, number: int) -> Marking:
        step = self.steps[number]
        left = list(marking)
        for place in step.takes:
            left.remove(place)
        left += step.gives
        left.sort()
        return tuple(left)


# Machines ---------------------------------------------------------------------------------------------


def machine_of(net: Net) -> Machine:  # noqa: C901, PLR0912 -- a case for each kind of gate
    """Return a net as places and steps; or-gates that form no block raise a `WorkflowError`."""
    made = Machine()
    blocks = or_blocks(net)
    named = {condition: made.place(condition) for condition in net.conditions}
    made.start, made.end = named[net.input], named[net.output]
    held: dict[Flow, int] = {}
    for flow in net.flows:
        ends = [named[end] for end in (flow.source, flow.target) if end in named]
        held[flow] = ends[0] if ends else made.place(flow.key)
        if len(ends) > 1:
            made.step(ends[:1], ends[1:])
    waits: dict[str, list[int]] = {}
    """What an or-join takes: a place for each way, which nothing else takes from."""
    for block in blocks.values():
        waits[block.join] = [
            made.place(last.key) if last.source in named else held[last] for _, last in block.ways
        ]
        for (_, last), place in zip(block.ways, waits[block.join], strict=True):
            if place != held[last]:
                made.step([held[last]], [place])
    incoming, outgoing = net.incoming(), net.outgoing()
    chances = {
        flow: chance
        for node, flows in outgoing.items()
        if net.chooses(node, flows)
        for flow, chance in zip(flows, shares(list(map(Choice.of, flows))), strict=True)
    }
    for task in net.tasks.values():
        before, after = incoming[task.id], outgoing[task.id]
        takes = [([held[flow]], chances.get(flow, 1.0) if flow.source in named else 1.0) for flow in before]
        if task.join != "xor" and before:
            takes = [(waits.get(task.id) or [held[flow] for flow in before], 1.0)]
        gives = [([held[flow]], chances.get(flow, 1.0)) for flow in after]
        if not net.chooses(task.id, after):
            gives = [([held[flow] for flow in after], 1.0)]
        elif task.split == "or" or len(takes) > 1:
            begun = made.place(f"within {task.id}")
            if task.split == "or":
                firsts = [first for first, _ in blocks[task.id].ways]
                ways, skipped = [held[first] for first in firsts], waits[blocks[task.id].join]
                made.choose_some(begun, ways, skipped, or_chances(list(map(Choice.of, firsts))))
            for given, weight in gives if task.split == "xor" else ():
                made.step([begun], given, weight=weight)
            gives = [([begun], 1.0)]
        for taken, likely in takes:
            for given, weight in gives:
                made.step(taken, given, [task.id], likely * weight)
    return made


def unfolded(net: Net, tree: Block, wanted: Collection[str]) -> Machine:  # noqa: C901 -- a case for each kind of block
    """Return a block-structured net as places and steps, with everything but the wanted nodes in as few steps as possible.

    A part without wanted nodes is one step, which does what a shortest case of it does: its tasks are shown, and so is whether it can
    be passed with nothing visible. So what the wanted nodes can do stays the same, and there are few states.
    """
    made = Machine()
    made.start, made.end = made.place(), made.place()
    matters = set(wanted)

    def is_wanted(block: Block) -> bool:
        return not matters.isdisjoint(steps_of(block))

    def lay(block: Block, begin: int, finish: int, weight: float = 1.0) -> None:  # noqa: C901 -- as above
        """Add the steps from one place to another; `weight` is that of the first ones."""
        if isinstance(block, Branches) and block.kind != "and" and is_wanted(block):
            # Each gate chooses at its own place, which has its name.
            if weight < 1:
                made.step([begin], [len(made.places)], weight=weight)
                begin, weight = made.place(), 1.0
            made.places[begin] = block.split or ""
        if isinstance(block, Step) or not is_wanted(block):
            made.step([begin], [finish], shortest_case(net, block), weight)
        elif isinstance(block, Sequence):
            first, *parts = _grouped(block.parts, is_wanted)
            places = [*(made.place() for _ in parts), finish]
            lay(first, begin, places[0], weight)
            for part, one, other in zip(parts, places, places[1:], strict=False):
                lay(part, one, other)
        elif isinstance(block, Loop):
            here, there = made.place(), made.place(block.split or "")
            leave, back = shares(block.choices)
            made.step([begin], [here], weight=weight)
            made.step([there], [finish], weight=leave)
            lay(block.parts[0], here, there)
            lay(block.parts[1], there, here, back)
        elif isinstance(block, Branches) and block.kind == "xor":
            for part, chance in zip(block.parts, block.chances, strict=True):
                lay(part, begin, finish, weight * chance)
        elif isinstance(block, Branches):
            pairs = sorted(zip(block.parts, block.chances, strict=True), key=lambda one: is_wanted(one[0]))
            parts, chances = [part for part, _ in pairs], [chance for _, chance in pairs]
            parts = _grouped(parts, is_wanted) if block.kind == "and" else parts
            ways, done = [made.place() for _ in parts], [made.place() for _ in parts]
            if block.kind == "and":
                made.step([begin], ways, weight=weight)
            else:
                made.choose_some(begin, ways, done, chances)
            made.step(done, [finish])
            for part, one, other in zip(parts, ways, done, strict=True):
                lay(part, one, other)

    lay(tree, made.start, made.end)
    return made


def _grouped(parts: Iterable[Block], is_wanted: Callable[[Block], bool]) -> list[Block]:
    """Join neighbours that are not wanted."""
    found: list[Block] = []
    for wanted, group in groupby(parts, is_wanted):
        together = list(group)
        found += together if wanted else [sequence(together)]
    return found


def shortest_case(net: Net, block: Block) -> list[str]:
    """Return the tasks of a case of a block with as few visible ones as possible."""
    if isinstance(block, Step):
        return [block.node] if block.node in net.tasks else []
    cases = [shortest_case(net, part) for part in block.parts]
    if isinstance(block, Loop):
        return cases[0]
    if isinstance(block, Branches) and block.kind != "and":
        return min(cases, key=lambda case: (len(labels_of(net, case)), len(case)))
    return [task for case in cases for task in case]


def labels_of(net: Net, tasks: Iterable[str]) -> list[str]:
    """Return what one sees of tasks: their labels, without silent ones."""
    return [label for task in tasks if (label := net.tasks[task].label) is not None]


# Exploring --------------------------------------------------------------------------------------------


@dataclass(eq=False)
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

    def way_to(self, state: int) -> list[str]:
        """Return the tasks on a shortest way to a state."""
        found: list[Transition] = []
        while state:
            state, step = self.came[state]
            found.append(self.machine.steps[step])
        return [task for step in reversed(found) for task in step.tasks]

    @cached_property
    def final(self) -> int | None:
        """The state in which a case is complete, if it was found."""
        wanted = (self.machine.end,)
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

    @cached_property
    def ending(self) -> set[int]:
        """The states from which a case can be completed; none where not all states are known."""
        return set() if self.final is None or self.problem is not None else self.leading_to({self.final})


def explore(machine: Machine, most: int) -> Space:
    """Find the states of a machine, up to a bound. Unbounded growth is recognised as such."""
    space = Space(machine, [(machine.start,)], [(-1, -1)])
    numbers = {space.markings[0]: 0}
    for state, marking in enumerate(space.markings):
        out: list[tuple[int, int]] = []
        for step in machine.enabled(marking):
            reached = machine.after(marking, step)
            number = numbers.setdefault(reached, len(space.markings))
            if number == len(space.markings):
                space.markings.append(reached)
                space.came.append((state, step))
                smaller = _covered(space, number)
                if smaller is not None:
                    space.unbounded = (smaller, number)
                    space.problem = "The workflow is unbounded: a repetition adds a token each time."
                    return space
            out.append((step, number))
        space.steps.append(out)
        if len(space.markings) > most and state + 1 < len(space.markings):
            space.problem = f"There are more than {most:,} states."
            return space
    return space


def _covered(space: Space, state: int) -> int | None:
    """Return a state on the way to this one whose tokens it has all, and more."""
    marking = space.markings[state]
    if len(set(marking)) == len(marking):
        # What grows without end puts several tokens into one place sooner or later.
        return None
    before = space.came[state][0]
    while before >= 0:
        rest = iter(marking)
        if all(any(place == other for other in rest) for place in space.markings[before]):
            return before
        before = space.came[before][0]
    return None
