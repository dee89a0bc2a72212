"""The behaviour of a workflow net by brute force: the token game, without the product's code."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Net = dict[str, Any]
Marking = frozenset[tuple[str, int]]
States = frozenset[Marking]

BEGIN: Marking = frozenset([("i", 1)])
DONE: Marking = frozenset([("o", 1)])
MOST_STATES = 1_500


class TooLargeError(Exception):
    """The net has more states than brute force should visit."""


@dataclass(frozen=True)
class Behaviour:
    """The behaviour of a net; an unbounded one is only known to be unsound."""

    sound: bool
    bounded: bool = True
    arcs: dict[Marking, list[tuple[str, Marking]]] = field(default_factory=dict)
    """The tasks enabled in each state, with the state that follows."""
    steps: dict[Marking, list[tuple[str | None, Marking]]] = field(default_factory=dict)
    """Labels and next states, for states from which the end can still be reached."""

    @property
    def labelled(self) -> list[tuple[str, Marking]]:
        return [
            (label, after) for steps in self.steps.values() for label, after in steps if label is not None
        ]

    @property
    def labels(self) -> set[str]:
        return {label for label, _ in self.labelled}

    def relations(self) -> tuple[set[str], set[str], set[tuple[str, str]]]:
        """Return the first and last labels of complete traces, and the directly-follows pairs."""
        return (
            {label for label, _ in self.visible(self.start())},
            {label for label, after in self.labelled if DONE in self.closure([after])},
            {
                (label, then)
                for label, after in self.labelled
                for then, _ in self.visible(self.closure([after]))
            },
        )

    def start(self) -> States:
        return self.closure([BEGIN] if BEGIN in self.steps else [])

    def closure(self, states: Iterable[Marking]) -> States:
        """Add the states that are reached by silent steps."""
        found = dict.fromkeys(states)
        waiting = list(found)
        for state in waiting:
            new = [after for label, after in self.steps[state] if label is None and after not in found]
            found |= dict.fromkeys(new)
            waiting += new
        return frozenset(found)

    def visible(self, states: States) -> set[tuple[str, Marking]]:
        return {(label, after) for one in states for label, after in self.steps[one] if label is not None}

    def after(self, states: States, label: str) -> States:
        return self.closure(after for seen, after in self.visible(states) if seen == label)

    def accepts(self, trace: Iterable[str]) -> bool:
        here = self.start()
        for label in trace:
            here = self.after(here, label)
        return DONE in here

    def same_traces(self, other: Behaviour) -> bool:
        waiting = [(self.start(), other.start())]
        seen = set(waiting)
        for one, two in waiting:
            if (DONE in one) != (DONE in two) or bool(one) != bool(two):
                return False
            labels = {label for label, _ in self.visible(one) | other.visible(two)}
            new = {(self.after(one, label), other.after(two, label)) for label in labels} - seen
            seen |= new
            waiting += new
        return True


def behaviour(net: Net) -> Behaviour:
    """Visit every state of a net."""
    labels = {task["id"]: task["label"] for task in net["tasks"]}
    moves = list(_moves(net))
    parents: dict[Marking, Marking | None] = {BEGIN: None}
    arcs: dict[Marking, list[tuple[str, Marking]]] = {}
    waiting = [BEGIN]
    for here in waiting:
        arcs[here] = []
        for task, takes, gives in moves:
            tokens = Counter(dict(here))
            tokens.subtract(takes)
            if min(tokens.values()) < 0:
                continue
            tokens.update(gives)
            after = frozenset((place, count) for place, count in tokens.items() if count)
            arcs[here].append((task, after))
            if after in parents:
                continue
            if any(all(tokens[place] >= count for place, count in one) for one in _ancestors(here, parents)):
                return Behaviour(sound=False, bounded=False)
            if len(parents) >= MOST_STATES:
                raise TooLargeError
            parents[after] = here
            waiting.append(after)
    live = _leading_to_the_end(arcs)
    sound = (
        live == arcs.keys()
        and all(state == DONE or "o" not in dict(state) for state in arcs)
        and labels.keys() == {task for steps in arcs.values() for task, _ in steps}
    )
    steps = {one: [(labels[task], after) for task, after in arcs[one] if after in live] for one in live}
    return Behaviour(sound, arcs=arcs, steps=steps)


def _moves(net: Net) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield every way to fire a task, with the places it takes tokens from and puts tokens into."""
    conditions = {"i", "o", *(one["id"] for one in net["conditions"])}
    ends = [(flow["from"], flow["to"]) for flow in net["flows"]]
    place = {
        (one, two): one if one in conditions else two if two in conditions else f"{one}>{two}"
        for one, two in ends
    }
    for task in net["tasks"]:
        name = task["id"]
        for takes in _options(task["join"], name, [place[flow] for flow in ends if flow[1] == name]):
            for gives in _options(task["split"], name, [place[flow] for flow in ends if flow[0] == name]):
                yield name, takes, gives


def _options(gate: str, name: str, places: list[str]) -> Iterator[list[str]]:
    if gate == "and":
        yield places
    elif gate == "xor":
        yield from ([place] for place in places)
    else:
        # A further place remembers what the or-split `sN` chose, so that its join `jN` waits for exactly that.
        for size in range(1, len(places) + 1):
            for chosen in combinations(range(len(places)), size):
                yield [f"{name[1:]} chose {chosen}", *(places[number] for number in chosen)]


def _ancestors(here: Marking | None, parents: dict[Marking, Marking | None]) -> Iterator[Marking]:
    while here is not None:
        yield here
        here = parents[here]


def _leading_to_the_end(arcs: dict[Marking, list[tuple[str, Marking]]]) -> set[Marking]:
    before: dict[Marking, set[Marking]] = {}
    for state, steps in arcs.items():
        for _, after in steps:
            before.setdefault(after, set()).add(state)
    found = {DONE} & arcs.keys()
    waiting = list(found)
    for state in waiting:
        new = before.get(state, set()) - found
        found |= new
        waiting += new
    return found
