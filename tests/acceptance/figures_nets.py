"""Random workflow nets, and a brute-force oracle for them: the plain token game, with nothing of the product."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from random import Random

Net = dict[str, Any]
Tree = tuple[str, Any]
"""("leaf", label or None), ("loop", [body, redo]), ("seq", parts), or a key of GATES and parts."""
Marking = frozenset[tuple[str, int]]
States = frozenset[Marking]

BEGIN: Marking = frozenset([("i", 1)])
DONE: Marking = frozenset([("o", 1)])
LABELS = "abcde"
GATES = {
    "and": ("and", "and"),
    "xor": ("xor", "xor"),
    "or": ("or", "or"),
    "torn": ("and", "xor"),
    "stuck": ("xor", "and"),
}
"""How a block is split and joined; two kinds do not fit together, which makes most nets with them unsound."""
MOST_STATES = 1_500


class TooLargeError(Exception):
    """The net has more states than brute force should visit."""


# Nets ------------------------------------------------------------------------------------------------


def _tree(random: Random, leaves: int) -> Tree:
    if leaves == 1:
        return ("leaf", random.choice([*LABELS, None]))
    kind = random.choice(
        ["seq", "seq", "seq", "and", "xor", "or", "xor", "loop", random.choice(["torn", "stuck"])]
    )
    cuts = sorted(
        random.sample(range(1, leaves), 1 if kind == "loop" else min(leaves - 1, random.randint(1, 2)))
    )
    return (kind, [_tree(random, end - begin) for begin, end in pairwise([0, *cuts, leaves])])


def _variant(random: Random, tree: Tree) -> Tree:
    """Shuffle what has no order and add silent steps, which changes no trace; rarely change a label or a gate."""
    kind, parts = tree
    changes = random.random() < 0.1
    if kind == "leaf":
        return (kind, random.choice(LABELS) if changes else parts)
    parts = [_variant(random, part) for part in parts]
    if kind == "seq":
        parts.insert(random.randint(0, len(parts)), ("leaf", None))
    elif kind != "loop":
        random.shuffle(parts)
        kind = random.choice(list(GATES)) if changes else kind
    return (kind, parts)


def _laid_out(tree: Tree) -> Net:
    """Lay out a tree with silent tasks for gates; an or-split `sN` belongs to the or-join `jN`."""
    tasks: dict[str, tuple[str | None, str, str]] = {}
    flows: list[tuple[str, str]] = []

    def lay(part: Tree) -> tuple[str, str]:
        kind, parts = part
        number = len(tasks)
        first, last = f"s{number}", f"j{number}"
        if kind == "leaf":
            tasks[first] = (parts, "xor", "and")
            return first, first
        split, join = GATES.get(kind, ("and", "xor"))
        tasks[first] = (None, "xor", split)
        ends = [lay(one) for one in parts]
        if kind == "seq":
            flows.extend((one[1], two[0]) for one, two in pairwise([(first, first), *ends]))
            return first, ends[-1][1]
        if kind == "loop":
            (body, end), (redo, back) = ends
            tasks[last] = (None, "xor", "xor")
            flows.extend([(first, body), (end, last), (last, redo), (back, first)])
        else:
            tasks[last] = (None, join, "and")
            flows.extend(flow for begin, end in ends for flow in ((first, begin), (end, last)))
        return first, last

    first, last = lay(tree)
    return _net(tasks, [("i", first), *flows, (last, "o")])


def _tangled(random: Random) -> Net:
    """Connect tasks at random, each on a way from the input to the output; most such nets are not sound."""
    gates = ["and", "xor", "xor"]
    names = [f"t{number}" for number in range(random.randint(1, 6))]
    tasks = {
        name: (random.choice([*LABELS, None]), random.choice(gates), random.choice(gates)) for name in names
    }
    pairs: dict[tuple[str, str], None] = {}
    for at, name in enumerate(names):
        pairs[random.choice(["i", *names[:at]]), name] = None
        pairs[name, random.choice([*names[at + 1 :], "o"])] = None
    for _ in range(random.randint(0, 2)):
        pairs[random.choice(names), random.choice(names)] = None
    flows: list[tuple[str, str]] = []
    for number, (one, two) in enumerate(pairs):
        place = f"c{random.randint(0, number)}"
        direct = one == "i" or two == "o" or random.random() < 0.7
        flows += [(one, two)] if direct else [(one, place), (place, two)]
    return _net(tasks, dict.fromkeys(flows))


def _net(tasks: dict[str, tuple[str | None, str, str]], flows: Iterable[tuple[str, str]]) -> Net:
    flows = list(flows)
    places = {end for flow in flows for end in flow} - tasks.keys() - {"i", "o"}
    return {
        "id": "net",
        "input": "i",
        "output": "o",
        "tasks": [
            {"id": name, "label": label, "join": join, "split": split}
            for name, (label, join, split) in tasks.items()
        ],
        "conditions": [{"id": place} for place in sorted(places)],
        "flows": [{"from": one, "to": two} for one, two in flows],
    }


# The token game --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Behaviour:
    """What a net can do; of an unbounded one only that it is not sound."""

    sound: bool
    bounded: bool = True
    steps: dict[Marking, list[tuple[str | None, Marking]]] = field(default_factory=dict)
    """Labels and next states, of the states from which the case can still be completed."""

    @property
    def labelled(self) -> list[tuple[str, Marking]]:
        return [
            (label, after) for steps in self.steps.values() for label, after in steps if label is not None
        ]

    @property
    def labels(self) -> set[str]:
        return {label for label, _ in self.labelled}

    def relations(self) -> tuple[set[str], set[str], set[tuple[str, str]]]:
        """Return what complete traces begin with, what they end with, and what directly follows what."""
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
        """Add the states that silent steps lead to."""
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
    return Behaviour(sound, steps=steps)


def _moves(net: Net) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield every way in which a task can happen, with the places that it takes tokens from and puts tokens in."""
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
        # A further place remembers which branches the split chose, so that its join waits for exactly those.
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


# Verdicts --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """Two nets, and the verdicts of brute force on them."""

    nets: tuple[Net, Net]
    behaviours: tuple[Behaviour, Behaviour]

    @property
    def shows_nothing(self) -> bool:
        """Whether one of the nets has no complete trace with a label."""
        return any(side.bounded and not side.labels for side in self.behaviours)

    def judge(self, answer: dict[str, Any]) -> dict[str, bool]:
        """Return of each verdict in an answer of `gepa_validate_footprint` whether it is right."""
        one, two = self.behaviours
        if self.shows_nothing:
            return {"footprint": answer.get("code") == "INVALID_INPUTS"}
        if answer.get("error"):
            return dict.fromkeys(("soundness", "footprint", "equivalence"), False)
        sides = ("original_workflow", "optimized_workflow")
        found = {"soundness": [answer["sound"][side] for side in sides] == [one.sound, two.sound]}
        if not one.bounded or not two.bounded:
            return found
        ends = [[set(answer[f"{end}_activities"][side]) for end in ("start", "end")] for side in sides]
        cells = {
            (cell["row"], cell["column"], cell["original"], cell["optimized"])
            for cell in answer["differences"]
        }
        found["footprint"] = (
            ends == [list(side.relations()[:2]) for side in (one, two)] and cells == self._differences()
        )
        same, shown = one.same_traces(two), answer["counterexample"]
        found["equivalence"] = answer["behavioral_equivalence"] is same and (
            same
            or [side.accepts(shown["trace"]) for side in (one, two)]
            == [shown["only_in"] == side for side in sides]
        )
        return found

    def _differences(self) -> set[tuple[str, str, str, str]]:
        one, two = (side.relations()[2] for side in self.behaviours)
        labels = self.behaviours[0].labels | self.behaviours[1].labels
        cells = (
            (row, column, _sign(one, row, column), _sign(two, row, column))
            for row in labels
            for column in labels
        )
        return {cell for cell in cells if cell[2] != cell[3]}


def _sign(follows: set[tuple[str, str]], row: str, column: str) -> str:
    forth, back = (row, column) in follows, (column, row) in follows
    return "||" if forth and back else "→" if forth else "←" if back else "#"


def random_case(random: Random) -> Case:
    """Make a net and a variant that may do the same, or two nets that have nothing to do with each other."""
    while True:
        tree = _tree(random, random.randint(2, 7))
        first = _laid_out(tree) if random.random() < 0.8 else _tangled(random)
        second = _laid_out(_variant(random, tree)) if random.random() < 0.7 else _tangled(random)
        try:
            case = Case((first, second), (behaviour(first), behaviour(second)))
        except TooLargeError:
            continue
        # There is little to judge where nothing is ever completed: one such case in five is enough.
        if not case.shows_nothing or random.random() < 0.2:
            return case
