"""Nets for tests: written down in short, and random ones, block-structured and not."""

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
ENDS = {"i": Condition("i"), "o": Condition("o")}


def net(tasks: Mapping[str, str] | str, flows: str, *, conditions: str = "") -> Net:
    """Make a net: tasks as `a b c` or as {id: `xor/and`, with ~ before a silent one}, flows as `i>a a>b b>o`."""
    gates = dict.fromkeys(tasks.split(), "xor/and") if isinstance(tasks, str) else dict(tasks)
    made: dict[str, Task] = {}
    for name, gate in gates.items():
        join, _, split = gate.removeprefix("~").partition("/")
        made[name] = Task(name, None if gate.startswith("~") else name, _gate(join), _gate(split))
    places = ENDS | {name: Condition(name) for name in conditions.split()}
    pairs = [one.partition(">") for one in flows.split()]
    return Net("net", "i", "o", made, places, tuple(Flow(one, two) for one, _, two in pairs))


def _gate(text: str) -> Gate:
    assert text in {"and", "xor", "or"}
    return text  # type: ignore[return-value]


def rule(kind: Any, *tasks: str) -> Rule:
    if kind == "required":
        return RequiredRule(kind, *tasks)
    if kind in {"precedence", "response"}:
        return OrderRule(kind, *tasks)
    return PairRule(kind, (tasks[0], tasks[1]))


# Block-structured -------------------------------------------------------------------------------------


def block_net(tree: Tree) -> Net:
    """Make the net of a tree, with silent tasks for gates: a split `sN` and its join `jN`, whose ways have the same order."""
    tasks: dict[str, Task] = {}
    flows: list[Flow] = []

    def task(label: str | None, join: Gate = "xor", split: Gate = "and", *, name: str = "") -> str:
        name = name or f"t{len(tasks)}"
        tasks[name] = Task(name, label, join, split)
        return name

    def lay(one: Tree) -> tuple[str, str]:
        """Lay out a block; return its first and its last task."""
        match one:
            case ("task", label):
                only = task(label)
                return only, only
            case ("seq", parts):
                ends = [lay(part) for part in parts]
                flows.extend(Flow(one[1], two[0]) for one, two in pairwise(ends))
                return ends[0][0], ends[-1][1]
            case ("loop", body, redo):
                begin, end = task(None), task(None, "xor", "xor")
                first, last = lay(body)
                again, back = lay(redo)
                flows.extend([Flow(begin, first), Flow(last, end), Flow(end, again), Flow(back, begin)])
                return begin, end
            case (gate, parts):
                number = len(tasks)
                split = task(None, "xor", gate, name=f"s{number}")
                join = task(None, gate, "and", name=f"j{number}")
                for first, last in map(lay, parts):
                    flows.extend([Flow(split, first), Flow(last, join)])
                return split, join
        raise AssertionError(one)

    first, last = lay(tree)
    return Net("blocks", "i", "o", tasks, ENDS, (Flow("i", first), *flows, Flow(last, "o")))


def trees(
    *, leaves: int = 8, gates: Sequence[Gate] = ("and", "xor"), loops: bool = True, silent: bool = True
) -> SearchStrategy[Tree]:
    """Generate trees of blocks; two tasks may have the same label."""
    labels: SearchStrategy[str | None] = st.sampled_from(LABELS)
    single = st.tuples(st.just("task"), st.one_of(labels, st.none()) if silent else labels)

    def wider(inner: SearchStrategy[Tree]) -> SearchStrategy[Tree]:
        several = st.lists(inner, min_size=2, max_size=4)
        kinds: list[SearchStrategy[Tree]] = [st.tuples(st.just(kind), several) for kind in ("seq", *gates)]
        if loops:
            kinds.append(st.tuples(st.just("loop"), inner, inner))
        return st.one_of(kinds)

    return st.recursive(single, wider, max_leaves=leaves)


def block_nets(*, distinct: bool = False, **options: Any) -> SearchStrategy[Net]:
    """Generate block-structured nets, with `distinct` labels if asked."""
    found = trees(**options).map(block_net)
    return found.map(_with_distinct_labels) if distinct else found


def _with_distinct_labels(one: Net) -> Net:
    tasks = {name: replace(task, label=task.label and name) for name, task in one.tasks.items()}
    return replace(one, tasks=tasks)


# Any --------------------------------------------------------------------------------------------------


@st.composite
def general_nets(draw: DrawFn, *, most: int = 6, gates: Sequence[Gate] = ("and", "xor")) -> Net:
    """Generate nets with every node on a path from the input to the output, sound or not."""
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
    conditions = dict(ENDS)
    flows: list[Flow] = []
    for at, (one, two) in enumerate(pairs):
        if one == "i" or two == "o" or draw(st.integers(0, 3)):
            flows.append(Flow(one, two))
            continue
        # A named condition, new or shared.
        place = draw(st.sampled_from([f"c{at}", *(name for name in conditions if name not in ENDS)]))
        conditions.setdefault(place, Condition(place))
        flows += [Flow(one, place), Flow(place, two)]
    return Net("general", "i", "o", tasks, conditions, tuple(dict.fromkeys(flows)))


def nets(
    *, most: int = 6, leaves: int = 8, gates: Sequence[Gate] = ("and", "xor", "or")
) -> SearchStrategy[Net]:
    """Generate nets of both kinds; or-gates are in blocks."""
    return st.one_of(block_nets(leaves=leaves, gates=gates), general_nets(most=most))


# With everything that a net can state -----------------------------------------------------------------

_TEXTS = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"]), min_size=1).filter(
    str.strip
)
_AMOUNTS = st.one_of(st.none(), st.integers(0, 1000), st.floats(0, 1e6))
_ATTRIBUTES: dict[str, SearchStrategy[Any]] = {
    "duration": _AMOUNTS,
    "cost": _AMOUNTS,
    "reads": st.one_of(st.none(), st.frozensets(_TEXTS, max_size=3)),
    "writes": st.one_of(st.none(), st.frozensets(_TEXTS, max_size=3)),
    "resource": st.one_of(st.none(), _TEXTS),
    "idempotent": st.sampled_from([None, True, False]),
    "tool": st.one_of(st.none(), _TEXTS),
    "arguments": st.one_of(st.none(), st.dictionaries(_TEXTS, st.one_of(_TEXTS, _AMOUNTS), max_size=2)),
    "limit": st.one_of(st.none(), st.integers(1, 9)),
}
_KEPT = [
    Kept("timer", "t", "t0"),
    Kept("documentation", "why"),
    Kept("timer", "", "gone"),
    Kept("odd", "of a flow that may exist", "t0 -> t1"),
]
PREDICATES = ["x > 3", "order.total >= 10.5 and not paid", 'state == "new" or state == null', "true", "ok"]


@st.composite
def described_nets(draw: DrawFn, base: SearchStrategy[Net] | None = None) -> Net:
    """Generate nets with durations, data, probabilities, predicates, rules, labels and notes."""
    one = draw(nets() if base is None else base)
    tasks = {
        name: replace(
            task,
            label=draw(st.sampled_from([task.label, None, name, draw(_TEXTS)])),
            **{key: draw(values) for key, values in _ATTRIBUTES.items()},
        )
        for name, task in one.tasks.items()
    }
    flows: list[Flow] = []
    for source, listed in one.outgoing().items():
        chooses = source in tasks and tasks[source].split != "and"
        likely = 1 / len(listed) if chooses and tasks[source].duration is None else None
        for at, flow in enumerate(listed):
            stated: dict[str, Any] = {}
            if chooses:
                stated["predicate"] = draw(st.sampled_from([None, *PREDICATES]))
                stated["default"] = at == 0 and draw(st.booleans())
                stated["order"] = draw(st.one_of(st.none(), st.integers(-5, 5)))
            flows.append(replace(flow, probability=likely, **stated))
    rules: list[Rule] = [rule("required", next(iter(tasks)))]
    if len(tasks) > 1:
        pair = draw(st.permutations(sorted(tasks)))[:2]
        kinds = st.sampled_from(["precedence", "response", "exclusion", "separation_of_duties"])
        rules += [rule(kind, *pair) for kind in draw(st.lists(kinds))]
    labels = st.one_of(st.none(), _TEXTS)
    return replace(
        one,
        tasks=tasks,
        conditions={name: replace(place, label=draw(labels)) for name, place in one.conditions.items()},
        flows=tuple(flows),
        rules=tuple(rules),
        label=draw(labels),
        notes=tuple(draw(st.lists(_TEXTS, max_size=2))),
        kept=tuple(draw(st.lists(st.sampled_from(_KEPT), max_size=2))),
    )
