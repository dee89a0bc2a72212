"""Random workflows with durations, data and resources, and shortcuts to optimise them."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from halflap.workflows.analysis.order import data_by_label, first_order, reversals
from halflap.workflows.analysis.study import Study
from halflap.workflows.model.block import Unstructured
from halflap.workflows.model.build import build
from halflap.workflows.model.form import read_net, validated
from halflap.workflows.model.reduce import tree_of
from halflap.workflows.optimize.goal import Constraints, Goal
from halflap.workflows.optimize.optimizer import optimize as optimized
from halflap.workflows.optimize.transformations import TRANSFORMATIONS, Context
from workflows.nets import rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hypothesis.strategies import DrawFn, SearchStrategy

    from halflap.workflows.answers import Optimization
    from halflap.workflows.model.net import Net


def reversed_order(old: Net, new: Net) -> tuple[tuple[str, str], ...]:
    """Return the dependent pairs whose order the new workflow can reverse; none where that is unknown."""
    before, after = first_order(Study(old)), first_order(Study(new))
    return () if before is None or after is None else reversals(data_by_label(old), before, after)


def optimize(
    net: Net, target: str, constraints: Any = None, patterns: Sequence[str] = (), **more: Any
) -> Optimization:
    asked = {"optimization_target": target, "constraints": constraints or {}, "reference_patterns": patterns}
    return optimized(net, validated(Goal, asked), **more)


def transformed(name: str, net: Net) -> list[Net]:
    """Return every workflow that one transformation makes of a block-structured one."""
    tree = tree_of(net)
    if isinstance(tree, Unstructured):
        return []
    (changes,) = (one.changes for one in TRANSFORMATIONS if one.name == name)
    found = dict.fromkeys(new for new, _ in changes(Context(net, Constraints()), tree) if new != tree)
    return [build(net, new) for new in found]


def line(*tasks: dict[str, Any], **more: Any) -> Net:
    """Make a workflow of tasks one after the other."""
    names = ["i", *(task["id"] for task in tasks), "o"]
    flows = [{"from": one, "to": other} for one, other in itertools.pairwise(names)]
    return read_net({"id": "line", "input": "i", "output": "o", "tasks": list(tasks), "flows": flows, **more})


def task(
    name: str, duration: float = 1, reads: str = "", writes: str | None = None, **more: Any
) -> dict[str, Any]:
    """Describe a task in short: what it reads as `a b`; by default it writes its own name."""
    written = [name] if writes is None else writes.split()
    return {"id": name, "duration": duration, "reads": reads.split(), "writes": written, **more}


@st.composite
def timed(draw: DrawFn, base: SearchStrategy[Net], resources: Sequence[str | None] = (None,)) -> Net:
    """Add durations, data and resources to workflows."""
    net = draw(base)
    data = st.frozensets(st.sampled_from("xyz"), max_size=1)
    names = st.one_of(st.none(), data, data, data)
    tasks = {
        name: replace(one, reads=draw(names))
        if one.label is None
        else replace(
            one,
            duration=draw(st.integers(0, 5)),
            reads=draw(names),
            writes=draw(names),
            resource=draw(st.sampled_from(resources)),
        )
        for name, one in net.tasks.items()
    }
    return replace(net, tasks=tasks)


@st.composite
def lines(draw: DrawFn, most: int = 6) -> Net:
    """Generate tasks one after the other, each of which needs some of those before it."""
    made = []
    for at in range(draw(st.integers(2, most))):
        needs = draw(st.sets(st.integers(0, at - 1), max_size=2)) if at else set()
        reads = " ".join(f"t{other}" for other in sorted(needs))
        made.append(task(f"t{at}", draw(st.integers(1, 9)), reads))
    return line(*made)


@st.composite
def ruled(draw: DrawFn, base: SearchStrategy[Net]) -> Net:
    """Add rules to workflows, which hold or not."""
    net = draw(base)
    seen = [name for name, one in net.tasks.items() if one.label is not None]
    if len(seen) < 2:
        return net
    kinds = draw(st.lists(st.sampled_from(["precedence", "response", "exclusion", "required"]), max_size=2))
    pairs = [draw(st.permutations(seen))[: 1 if kind == "required" else 2] for kind in kinds]
    return replace(net, rules=tuple(rule(kind, *pair) for kind, pair in zip(kinds, pairs, strict=True)))
