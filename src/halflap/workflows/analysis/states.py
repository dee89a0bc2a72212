"""The state space: the markings that a Petri net can reach, and the transitions between them.

The Petri net is made of a workflow net, or of its tree. A task with several flows in or out becomes several transitions. If both
its join and its split choose, it first takes a token and then chooses: the transitions add up instead of multiplying. An or-split
has a transition for each set of branches; a branch that is not taken gets its token at the join immediately, which waits for all.
Transitions have weights, so that the simulator plays the same nets.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from collections.abc import Sequence as List
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby, product
from math import prod
from typing import TYPE_CHECKING, NamedTuple, TypeVar

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
N = TypeVar("N", bound=Hashable)
L = TypeVar("L")


class Transition(NamedTuple):
    """Can fire when every place it takes from has a token."""

    takes: tuple[int, ...]
    gives: tuple[int, ...]
    tasks: tuple[str, ...] = ()
    """What is done: nothing where a branch is chosen, several tasks where a whole block is one transition."""
    weight: float = 1.0
    """Its probability among those that take from the same place."""


class PetriNet:
    """Places by number, with their names, and the transitions between them."""

    def __init__(self) -> None:
        self.places: list[str] = []
        self.transitions: list[Transition] = []
        self.start = self.end = 0

    def place(self, name: str = "") -> int:
        self.places.append(name)
        return len(self.places) - 1

    def add(self, takes: List[int], gives: List[int], tasks: Iterable[str] = (), weight: float = 1.0) -> None:
        self.transitions.append(Transition(tuple(takes), tuple(gives), tuple(tasks), weight))

    @cached_property
    def by_place(self) -> dict[int, list[int]]:
        """Transitions by the first place that they take from."""
        found: dict[int, list[int]] = defaultdict(list)
        for number, transition in enumerate(self.transitions):
            found[transition.takes[0]].append(number)
        return found

    def enabled(self, marking: Marking) -> list[int]:
        return [
            number
            for place in dict.fromkeys(marking)
            for number in self.by_place[place]
            if all(one in marking for one in self.transitions[number].takes)
        ]

    def fire(self, marking: Marking, number: int) -> Marking:
        transition = self.transitions[number]
        left = list(marking)
        for place in transition.takes:
            left.remove(place)
        left += transition.gives
        left.sort()
        return tuple(left)


# Petri nets of workflows ------------------------------------------------------------------------------


def _some_taken(
    branches: List[int], skipped: List[int], chances: List[float]
) -> Iterator[tuple[list[int], float]]:
    """Yield every choice of an or-split: the places it marks, of a branch not taken that in `skipped`, and its probability."""
    for choice in product((True, False), repeat=len(branches)):
        if any(choice):
            marked = [
                one if taken else other for taken, one, other in zip(choice, branches, skipped, strict=True)
            ]
            yield marked, prod(one if taken else 1 - one for taken, one in zip(choice, chances, strict=True))


def petri_net_of(net: Net) -> PetriNet:  # noqa: C901 -- a case for each kind of gate
    """Return the Petri net of a workflow; or-gates that form no block raise a `WorkflowError`."""
    made = PetriNet()
    blocks = or_blocks(net)
    named = {condition: made.place(condition) for condition in net.conditions}
    made.start, made.end = named[net.input], named[net.output]
    place_of: dict[Flow, int] = {}
    for flow in net.flows:
        ends = [named[end] for end in (flow.source, flow.target) if end in named]
        place_of[flow] = ends[0] if ends else made.place(flow.key)
    waits: dict[str, list[int]] = {}
    """What an or-join takes: a place for each branch, which nothing else takes from."""
    for block in blocks.values():
        waits[block.join] = [
            made.place(last.key) if last.source in named else place_of[last] for _, last in block.branches
        ]
        for (_, last), place in zip(block.branches, waits[block.join], strict=True):
            if place != place_of[last]:
                made.add([place_of[last]], [place])
    incoming, outgoing = net.incoming(), net.outgoing()
    chances = {
        flow: chance
        for node, flows in outgoing.items()
        if net.chooses(node, flows)
        for flow, chance in zip(flows, shares(list(map(Choice.of, flows))), strict=True)
    }
    for task in net.tasks.values():
        before, after = incoming[task.id], outgoing[task.id]
        takes = [
            ([place_of[flow]], chances.get(flow, 1.0) if flow.source in named else 1.0) for flow in before
        ]
        if task.join != "xor" and before:
            takes = [(waits.get(task.id) or [place_of[flow] for flow in before], 1.0)]
        gives = [([place_of[flow]], chances.get(flow, 1.0)) for flow in after]
        if not net.chooses(task.id, after):
            gives = [([place_of[flow] for flow in after], 1.0)]
        elif task.split == "or":
            firsts = [first for first, _ in blocks[task.id].branches]
            branches, skipped = [place_of[first] for first in firsts], waits[blocks[task.id].join]
            gives = list(_some_taken(branches, skipped, or_chances(list(map(Choice.of, firsts)))))
        if len(takes) > 1 and len(gives) > 1:
            begun = made.place(f"within {task.id}")
            for given, weight in gives:
                made.add([begun], given, weight=weight)
            gives = [([begun], 1.0)]
        for taken, likely in takes:
            for given, weight in gives:
                made.add(taken, given, [task.id], likely * weight)
    return made


def petri_net_of_tree(net: Net, tree: Block, wanted: Collection[str]) -> PetriNet:  # noqa: C901 -- a case for each kind of block
    """Return the Petri net of a block-structured workflow, with as few transitions as possible for all but the wanted nodes.

    A part without wanted nodes is one transition, which does what a shortest case of it does: its tasks are shown, and so is
    whether it can be passed with nothing visible. So what the wanted nodes can do stays the same, and there are few states.
    """
    made = PetriNet()
    made.start, made.end = made.place(), made.place()
    matters = set(wanted)

    def is_wanted(block: Block) -> bool:
        return not matters.isdisjoint(steps_of(block))

    def lay(block: Block, begin: int, finish: int, weight: float = 1.0) -> None:  # noqa: C901 -- as above
        """Add the transitions from one place to another; `weight` is that of the first ones."""
        if isinstance(block, Branches) and block.kind != "and" and is_wanted(block):
            # Each gate chooses at a separate place, which has its name.
            if weight < 1:
                made.add([begin], [len(made.places)], weight=weight)
                begin, weight = made.place(), 1.0
            made.places[begin] = block.split or ""
        if isinstance(block, Step) or not is_wanted(block):
            made.add([begin], [finish], shortest_case(net, block), weight)
        elif isinstance(block, Sequence):
            first, *parts = _grouped(block.parts, is_wanted)
            places = [*(made.place() for _ in parts), finish]
            lay(first, begin, places[0], weight)
            for part, one, other in zip(parts, places, places[1:], strict=False):
                lay(part, one, other)
        elif isinstance(block, Loop):
            here, there = made.place(), made.place(block.split or "")
            leave, back = shares(block.choices)
            made.add([begin], [here], weight=weight)
            made.add([there], [finish], weight=leave)
            lay(block.parts[0], here, there)
            lay(block.parts[1], there, here, back)
        elif isinstance(block, Branches) and block.kind == "xor":
            for part, chance in zip(block.parts, block.chances, strict=True):
                lay(part, begin, finish, weight * chance)
        elif isinstance(block, Branches):
            pairs = sorted(zip(block.parts, block.chances, strict=True), key=lambda one: is_wanted(one[0]))
            parts, chances = [part for part, _ in pairs], [chance for _, chance in pairs]
            parts = _grouped(parts, is_wanted) if block.kind == "and" else parts
            branches, done = [made.place() for _ in parts], [made.place() for _ in parts]
            taken = [(branches, 1.0)] if block.kind == "and" else _some_taken(branches, done, chances)
            for marked, chance in taken:
                made.add([begin], marked, weight=weight * chance)
            made.add(done, [finish])
            for part, one, other in zip(parts, branches, done, strict=True):
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
    """Return the labels of tasks, without silent ones."""
    return [label for task in tasks if (label := net.tasks[task].label) is not None]


# Exploring --------------------------------------------------------------------------------------------


@dataclass(eq=False)
class StateSpace:
    """The states that were found: the start first, nearer ones before those further away."""

    petri_net: PetriNet
    markings: list[Marking]
    parents: list[tuple[int, int]]
    """For each state, the one it was first reached from, and by which transition."""
    edges: list[list[tuple[int, int]]] = field(default_factory=list)
    """For each explored state, the transitions out of it and where they lead."""
    problem: str | None = None
    """Why not everything was explored."""
    unbounded: tuple[int, int] | None = None
    """Two states, the second reached from the first, with all its tokens and more."""

    def path_to(self, state: int) -> list[str]:
        """Return the tasks on a shortest path to a state."""
        found: list[Transition] = []
        while state:
            state, number = self.parents[state]
            found.append(self.petri_net.transitions[number])
        return [task for transition in reversed(found) for task in transition.tasks]

    @cached_property
    def final(self) -> int | None:
        """The state in which a case is complete, if it was found."""
        wanted = (self.petri_net.end,)
        return next((at for at, marking in enumerate(self.markings) if marking == wanted), None)

    def reaching(self, goals: set[int]) -> set[int]:
        """Return the explored states from which one of these can be reached."""
        back: list[list[int]] = [[] for _ in self.markings]
        for state, edges in enumerate(self.edges):
            for _, target in edges:
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
    def completable(self) -> set[int]:
        """The states from which a case can be completed; none where not all states are known."""
        return set() if self.final is None or self.problem is not None else self.reaching({self.final})


def explore(petri_net: PetriNet, most: int) -> StateSpace:
    """Find the reachable states, up to a bound. Unbounded growth is recognised as such."""
    space = StateSpace(petri_net, [(petri_net.start,)], [(-1, -1)])
    numbers = {space.markings[0]: 0}
    for state, marking in enumerate(space.markings):
        out: list[tuple[int, int]] = []
        for transition in petri_net.enabled(marking):
            reached = petri_net.fire(marking, transition)
            number = numbers.setdefault(reached, len(space.markings))
            if number == len(space.markings):
                space.markings.append(reached)
                space.parents.append((state, transition))
                smaller = _covered(space, number)
                if smaller is not None:
                    space.unbounded = (smaller, number)
                    space.problem = "The workflow is unbounded: a repetition adds a token each time."
                    return space
            out.append((transition, number))
        space.edges.append(out)
        if len(space.markings) > most and state + 1 < len(space.markings):
            space.problem = f"There are more than {most:,} states."
            return space
    return space


def _covered(space: StateSpace, state: int) -> int | None:
    """Return a state on the path to this one whose tokens it has all, and more."""
    marking = space.markings[state]
    if len(set(marking)) == len(marking):
        # What grows without end puts several tokens into one place sooner or later.
        return None
    before = space.parents[state][0]
    while before >= 0:
        rest = iter(marking)
        if all(any(place == other for other in rest) for place in space.markings[before]):
            return before
        before = space.parents[before][0]
    return None


def shortest_path(
    start: N, edges: Callable[[N], Iterable[tuple[L, N]]], is_goal: Callable[[N], bool]
) -> tuple[N, list[L]] | None:
    """Return the nearest goal and the labels on a shortest path to it, by breadth-first search."""
    parents: dict[N, tuple[N, L] | None] = {start: None}
    waiting = [start]
    for node in waiting:
        if is_goal(node):
            path: list[L] = []
            at = node
            while (step := parents[at]) is not None:
                at, label = step
                path.append(label)
            return node, path[::-1]
        for label, target in edges(node):
            if target not in parents:
                parents[target] = (node, label)
                waiting.append(target)
    return None
