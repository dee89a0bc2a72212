"""Random workflows whose tasks say how long they take, what they read and write, and who does them."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from halflap.workflows.analysis.order import data_by_label, first_order, reversals
from halflap.workflows.analysis.study import Study
from halflap.workflows.model.block import Tangle
from halflap.workflows.model.build import build
from halflap.workflows.model.form import read_net
from halflap.workflows.model.reduce import tree_of
from halflap.workflows.optimize.constraints import Constraints, Context, Goal
from halflap.workflows.optimize.optimizer import optimize as optimized
from halflap.workflows.optimize.transformations import TRANSFORMATIONS
from workflows.nets import block_net, distinct, rule, trees

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hypothesis.strategies import DrawFn, SearchStrategy

    from halflap.workflows.answers import Optimization
    from halflap.workflows.model.net import Net


def reversed_order(old: Net, new: Net) -> tuple[tuple[str, str], ...]:
    """Return the dependent pairs whose order the new workflow can reverse; none where that is unknown."""
    before, after = first_order(Study(old)), first_order(Study(new))
    if before is None or after is None:
        return ()
    return reversals(data_by_label(old), before, after)


def optimize(
    net: Net, target: str, constraints: Any = None, patterns: Sequence[str] = (), **more: Any
) -> Optimization:
    return optimized(net, Goal.of(target, constraints, patterns), **more)


def transformed(name: str, net: Net, constraints: Constraints | None = None) -> list[tuple[Net, str]]:
    """Return every workflow that one transformation makes of a block-structured one, with what was done."""
    tree = tree_of(net)
    if isinstance(tree, Tangle):
        return []
    context = Context(net, tree, constraints or Constraints())
    (changes,) = (one.changes for one in TRANSFORMATIONS if one.name == name)
    found = {new: what for new, what in changes(context, tree) if new != tree}
    return [(build(net, new), what) for new, what in found.items()]


def line(*tasks: dict[str, Any], **more: Any) -> Net:
    """Make a workflow of tasks one after the other."""
    names = ["i", *(task["id"] for task in tasks), "o"]
    flows = [{"from": one, "to": other} for one, other in itertools.pairwise(names)]
    return read_net({"id": "line", "input": "i", "output": "o", "tasks": list(tasks), "flows": flows, **more})


def task(
    name: str, duration: float = 1, reads: str = "", writes: str | None = None, **more: Any
) -> dict[str, Any]:
    """Say a task in short: what it reads as `a b`; it writes what it is called, if nothing else is said."""
    written = [name] if writes is None else writes.split()
    return {"id": name, "duration": duration, "reads": reads.split(), "writes": written, **more}


@st.composite
def timed(
    draw: DrawFn,
    base: SearchStrategy[Net],
    resources: Sequence[str | None] = (None,),
    *,
    unknown: bool = True,
) -> Net:
    """Give a workflow with durations, data and resources."""
    net = draw(base)
    data = st.frozensets(st.sampled_from("xyz"), max_size=1)
    names = st.one_of(st.none(), data, data) if unknown else data
    tasks = {
        name: one
        if one.label is None
        else replace(
            one,
            duration=draw(st.integers(0, 5)),
            cost=draw(st.integers(0, 3)),
            reads=draw(names),
            writes=draw(names),
            resource=draw(st.sampled_from(resources)),
            idempotent=draw(st.sampled_from([None, True])),
        )
        for name, one in net.tasks.items()
    }
    return replace(net, tasks=tasks)


@st.composite
def busy(draw: DrawFn, leaves: int = 6, *, loops: bool = False) -> Net:
    """Give a workflow in which tasks come again, choices say what they read, and there are ways with nothing on them."""
    made = trees(leaves=leaves, gates=("and", "xor"), loops=loops).map(block_net)
    net = draw(made.filter(lambda one: any(task.label is not None for task in one.tasks.values())))
    data = st.frozensets(st.sampled_from("wxyz"), max_size=1)
    looks: dict[str, dict[str, Any]] = {}
    tasks = {}
    for name, one in net.tasks.items():
        if one.label is None:
            tasks[name] = replace(one, reads=draw(st.one_of(st.none(), data)) if one.split == "xor" else None)
            continue
        # Few labels, so that some are the same.
        label = "abcd"[ord(one.label) % 4]
        if label not in looks:
            looks[label] = {
                "duration": draw(st.integers(1, 5)),
                "reads": draw(data),
                "writes": draw(data),
                "idempotent": draw(st.booleans()),
            }
        tasks[name] = replace(one, label=label, **looks[label])
    return replace(net, tasks=tasks)


@st.composite
def lines(draw: DrawFn, most: int = 6) -> Net:
    """Give tasks one after the other, each of which needs some of those before it."""
    made = []
    for at in range(draw(st.integers(2, most))):
        needs = draw(st.sets(st.integers(0, at - 1), max_size=2)) if at else set()
        reads = " ".join(f"t{other}" for other in sorted(needs))
        made.append(task(f"t{at}", draw(st.integers(1, 9)), reads))
    return line(*made)


def small_nets(leaves: int = 5, **options: Any) -> SearchStrategy[Net]:
    """Give small workflows in which every task has a label of its own."""
    return trees(leaves=leaves, silent=False, **options).map(distinct).map(block_net)


@st.composite
def ruled(draw: DrawFn, base: SearchStrategy[Net]) -> Net:
    """Give a workflow with rules, which hold or not."""
    net = draw(base)
    seen = [name for name, one in net.tasks.items() if one.label is not None]
    if len(seen) < 2:
        return net
    kinds = draw(st.lists(st.sampled_from(["precedence", "response", "exclusion", "required"]), max_size=2))
    rules = []
    for kind in kinds:
        pair = tuple(draw(st.permutations(seen))[:2])
        rules.append(rule(kind, *(pair[:1] if kind == "required" else pair)))
    return replace(net, rules=tuple(rules))
