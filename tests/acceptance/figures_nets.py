"""Random pairs of workflow nets, and whether verdicts on them are those of the oracle."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from acceptance.figures_oracle import TooLargeError, behaviour

if TYPE_CHECKING:
    from collections.abc import Iterable
    from random import Random

    from acceptance.figures_oracle import Behaviour, Net

Tree = tuple[str, Any]
"""("leaf", label or None), ("loop", [body, redo]), ("seq", parts), or a key of GATES and parts."""

LABELS = "abcde"
GATES = {
    "and": ("and", "and"),
    "xor": ("xor", "xor"),
    "or": ("or", "or"),
    "torn": ("and", "xor"),
    "stuck": ("xor", "and"),
}
"""How a block is split and joined; `torn` and `stuck` do not match, so most nets with them are unsound."""


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
    """Shuffle unordered parts and add silent steps, which changes no trace; rarely change a label or a gate."""
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
    """Connect tasks at random, each on a path from input to output; most of these nets are not sound."""
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
        """Return which verdicts in an answer of `gepa_validate_footprint` are right."""
        one, two = self.behaviours
        if answer.get("error"):
            return dict.fromkeys(("soundness", "footprint", "equivalence"), False)
        sides = ("original_workflow", "optimized_workflow")
        found = {"soundness": [answer["sound"][side] for side in sides] == [one.sound, two.sound]}
        if not one.bounded or not two.bounded:
            return found
        if self.shows_nothing:
            verdict = answer["validation_passed"], answer["footprint_compatibility"], bool(answer["reasons"])
            return {**found, "footprint": verdict == (False, None, True)}
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
    """Make a net and a variant that may be equivalent, or two unrelated nets."""
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
