"""Nets for tests: written down in short, and random ones of both kinds, made of blocks and of anything."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from halflap.workflows.model.net import (
    Condition,
    Flow,
    Gate,
    Kept,
    Net,
    OrderRule,
    PairRule,
    RequiredRule,
    Rule,
    Task,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hypothesis.strategies import DrawFn, SearchStrategy

Tree = tuple[Any, ...]
"""("task", label or None) | ("seq" | "and" | "xor" | "or", [tree, …]) | ("loop", body, redo)"""

LABELS = "abcdefgh"


def net(
    tasks: Mapping[str, str] | str, flows: str, *, conditions: str = "", input_: str = "i", output: str = "o"
) -> Net:
    """Make a net: tasks as `a b c` or as {id: `xor/and`, with ~ before a silent one}, flows as `i>a a>b b>o`."""
    gates = dict.fromkeys(tasks.split(), "xor/and") if isinstance(tasks, str) else dict(tasks)
    made: dict[str, Task] = {}
    for name, gate in gates.items():
        join, _, split = gate.removeprefix("~").partition("/")
        made[name] = Task(name, None if gate.startswith("~") else name, _gate(join), _gate(split))
    places = {name: Condition(name) for name in (input_, *conditions.split(), output)}
    pairs = [one.partition(">") for one in flows.split()]
    return Net("net", input_, output, made, places, tuple(Flow(one, two) for one, _, two in pairs))


def rule(kind: Any, *tasks: str) -> Rule:
    if kind == "required":
        return RequiredRule(kind, *tasks)
    return (
        OrderRule(kind, *tasks)
        if kind in {"precedence", "response"}
        else PairRule(kind, (tasks[0], tasks[1]))
    )


def _gate(text: str) -> Gate:
    assert text in {"and", "xor", "or"}
    return text  # type: ignore[return-value]


class _Building:
    """Lays out the blocks of a tree, one after the other."""

    def __init__(self) -> None:
        self.tasks: dict[str, Task] = {}
        self.flows: list[Flow] = []

    def task(self, label: str | None, join: Gate = "xor", split: Gate = "and") -> str:
        name = f"t{len(self.tasks)}"
        self.tasks[name] = Task(name, label, join, split)
        return name

    def block(self, tree: Tree) -> tuple[str, str]:
        """Give the first and the last task of a block."""
        match tree:
            case ("task", label):
                only = self.task(label)
                return only, only
            case ("seq", parts):
                ends = [self.block(part) for part in parts]
                self.flows += [Flow(one[1], two[0]) for one, two in pairwise(ends)]
                return ends[0][0], ends[-1][1]
            case ("loop", body, redo):
                begin, end = self.task(None, "xor", "and"), self.task(None, "xor", "xor")
                first, last = self.block(body)
                again, back = self.block(redo)
                self.flows += [Flow(begin, first), Flow(last, end), Flow(end, again), Flow(back, begin)]
                return begin, end
            case (gate, parts):
                split, join = self.task(None, "xor", gate), self.task(None, gate, "and")
                for part in parts:
                    first, last = self.block(part)
                    self.flows += [Flow(split, first), Flow(last, join)]
                return split, join
        raise AssertionError(tree)


def block_net(tree: Tree) -> Net:
    """Make the net of a tree of blocks, with silent tasks for gates."""
    built = _Building()
    first, last = built.block(tree)
    flows = (Flow("i", first), *built.flows, Flow(last, "o"))
    return Net("blocks", "i", "o", built.tasks, {"i": Condition("i"), "o": Condition("o")}, flows)


def trees(
    *, leaves: int = 8, gates: Sequence[Gate] = ("and", "xor"), loops: bool = True, silent: bool = True
) -> SearchStrategy[Tree]:
    """Give random trees of blocks; the labels of two tasks may be the same."""
    labels: SearchStrategy[str | None] = st.sampled_from(LABELS)
    single = st.tuples(st.just("task"), st.one_of(labels, st.none()) if silent else labels)

    def wider(inner: SearchStrategy[Tree]) -> SearchStrategy[Tree]:
        several = st.lists(inner, min_size=2, max_size=4)
        kinds: list[SearchStrategy[Tree]] = [st.tuples(st.just(kind), several) for kind in ("seq", *gates)]
        if loops:
            kinds.append(st.tuples(st.just("loop"), inner, inner))
        return st.one_of(kinds)

    return st.recursive(single, wider, max_leaves=leaves)


def distinct(tree: Tree) -> Tree:
    """Give every task that is not silent a label of its own."""
    count = iter(range(10_000))

    def renamed(one: Tree) -> Tree:
        match one:
            case ("task", None):
                return one
            case ("task", _):
                return ("task", f"x{next(count)}")
            case ("loop", body, redo):
                return ("loop", renamed(body), renamed(redo))
            case (kind, parts):
                return (kind, [renamed(part) for part in parts])
        raise AssertionError(one)

    return renamed(tree)


def block_nets(**options: Any) -> SearchStrategy[Net]:
    """Give random nets that are made of blocks."""
    return trees(**options).map(block_net)


@st.composite
def general_nets(draw: DrawFn, *, most: int = 6, gates: Sequence[Gate] = ("and", "xor")) -> Net:
    """Give random nets with every node on a way from the input to the output, sound or not."""
    names = [f"t{at}" for at in range(draw(st.integers(1, most)))]
    tasks: dict[str, Task] = {}
    for name in names:
        label = draw(st.one_of(st.sampled_from(LABELS), st.just(name), st.none()))
        tasks[name] = Task(name, label, draw(st.sampled_from(gates)), draw(st.sampled_from(gates)))
    pairs: dict[tuple[str, str], None] = {}
    for at, name in enumerate(names):
        pairs[draw(st.sampled_from(["i", *names[:at]])), name] = None
        pairs[name, draw(st.sampled_from([*names[at + 1 :], "o"]))] = None
    for _ in range(draw(st.integers(0, 3))):
        pairs[draw(st.sampled_from(names)), draw(st.sampled_from(names))] = None
    conditions = {"i": Condition("i"), "o": Condition("o")}
    flows: list[Flow] = []
    for at, (one, two) in enumerate(pairs):
        if one == "i" or two == "o" or draw(st.integers(0, 3)):
            flows.append(Flow(one, two))
            continue
        # A condition with a name; one that is there already is a place that several share.
        known = [place for place in conditions if place not in {"i", "o"}]
        place = draw(st.sampled_from([f"c{at}", *known]))
        conditions.setdefault(place, Condition(place))
        flows += [Flow(one, place), Flow(place, two)]
    return Net("general", "i", "o", tasks, conditions, tuple(dict.fromkeys(flows)))


def nets(*, most: int = 6, leaves: int = 8, gates: Sequence[Gate] = ("and", "xor")) -> SearchStrategy[Net]:
    """Give random nets of both kinds."""
    return st.one_of(block_nets(leaves=leaves, gates=gates), general_nets(most=most, gates=gates))


_TEXTS = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"]), min_size=1).filter(
    str.strip
)
_AMOUNTS = st.one_of(st.none(), st.integers(0, 1000), st.floats(0, 1e6))
_NAMES = st.one_of(st.none(), st.frozensets(_TEXTS, max_size=3))
_KEPT = st.sampled_from(
    [
        Kept("timer", "t", "t0"),
        Kept("fan_out", "step: items[] < 3", "t0"),
        Kept("documentation", "why"),
        Kept("timer", "", "gone"),
        Kept("odd", "of a flow that may be there", "t0 -> t1"),
    ]
)
PREDICATES = ["x > 3", "order.total >= 10.5 and not paid", 'state == "new" or state == null', "true", "ok"]


@st.composite
def told_nets(draw: DrawFn, base: SearchStrategy[Net] | None = None) -> Net:
    """Give random nets that say something of everything: durations, data, probabilities, predicates, rules."""
    one = draw(nets(gates=("and", "xor", "or")) if base is None else base)
    tasks: dict[str, Task] = {}
    for name, task in one.tasks.items():
        tasks[name] = replace(
            task,
            label=draw(st.sampled_from([task.label, None, name, draw(_TEXTS)])),
            duration=draw(_AMOUNTS),
            cost=draw(_AMOUNTS),
            reads=draw(_NAMES),
            writes=draw(_NAMES),
            resource=draw(st.one_of(st.none(), _TEXTS)),
            idempotent=draw(st.sampled_from([None, True, False])),
            tool=draw(st.one_of(st.none(), _TEXTS)),
            arguments=draw(
                st.one_of(st.none(), st.dictionaries(_TEXTS, st.one_of(_TEXTS, _AMOUNTS), max_size=2))
            ),
            limit=draw(st.one_of(st.none(), st.integers(1, 9))),
        )
    flows: list[Flow] = []
    out = one.outgoing()
    first = {node: listed[0] for node, listed in out.items() if listed}
    for flow in one.flows:
        chooses = tasks.get(flow.source)
        if chooses is None or chooses.split == "and":
            flows.append(flow)
            continue
        flows.append(
            replace(
                flow,
                predicate=draw(st.sampled_from([None, *PREDICATES])),
                probability=1 / len(out[flow.source]) if chooses.duration is None else None,
                default=flow is first[flow.source] and draw(st.booleans()),
                order=draw(st.one_of(st.none(), st.integers(-5, 5))),
            )
        )
    rules: list[Rule] = []
    if len(tasks) > 1:
        pair = tuple(draw(st.permutations(sorted(tasks)))[:2])
        kinds = draw(
            st.lists(st.sampled_from(["precedence", "response", "exclusion", "separation_of_duties"]))
        )
        rules = [rule(kind, *pair) for kind in kinds]
    conditions = {
        name: replace(place, label=draw(st.one_of(st.none(), _TEXTS)))
        for name, place in one.conditions.items()
    }
    return replace(
        one,
        tasks=tasks,
        conditions=conditions,
        flows=tuple(flows),
        rules=(*rules, rule("required", next(iter(tasks)))),
        label=draw(st.one_of(st.none(), _TEXTS)),
        notes=tuple(draw(st.lists(_TEXTS, max_size=2))),
        kept=tuple(draw(st.lists(_KEPT, max_size=2))),
    )
