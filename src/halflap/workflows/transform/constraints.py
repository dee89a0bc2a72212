"""What an optimisation has to respect: max_cost, max_parallel, keep_order and fixed."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from halflap.core.errors import WorkflowError
from halflap.core.text import join
from halflap.workflows.analysis.order import first_order
from halflap.workflows.analysis.study import Study, Unknown
from halflap.workflows.score.facts import Facts
from halflap.workflows.transform.races import raced

if TYPE_CHECKING:
    from halflap.workflows.model.net import Net

__all__ = ["Constraints", "read_constraints", "unordered"]

_KNOWN = ("max_cost", "max_parallel", "keep_order", "fixed")
_PAIR = 2


@dataclass(frozen=True, slots=True)
class Constraints:
    """The constraints that were given."""

    max_cost: float | None = None
    """The mean cost of a case."""
    max_parallel: int | None = None
    """How many tasks may be under way at once."""
    keep_order: bool = False
    """Nothing may be reordered or made parallel."""
    ordered: tuple[tuple[str, str], ...] = ()
    """Of each pair, the first stays before the second."""
    fixed: tuple[str, ...] = ()
    """Tasks that are neither moved, merged nor dropped."""

    def facts(self, net: Net) -> Facts:
        return Facts(net, self.fixed, (*self.ordered, *raced(net)))


def read_constraints(value: Any, net: Net, problems: list[tuple[str, str]]) -> Constraints:
    """Read constraints; mistakes are added to the problems."""
    if value is None:
        return Constraints()
    if not isinstance(value, dict):
        problems.append(("constraints", f"It must be an object with {join(_KNOWN)}."))
        return Constraints()
    problems += [
        (f"constraints.{key}", f"There is no constraint {key!r}; there are {join(_KNOWN)}.")
        for key in value
        if key not in _KNOWN
    ]
    cost, parallel, keep = (value.get(key) for key in ("max_cost", "max_parallel", "keep_order"))
    if cost is not None and (
        isinstance(cost, bool) or not isinstance(cost, int | float) or not 0 <= cost < math.inf
    ):
        problems.append(("constraints.max_cost", "It must be a number of 0 or more."))
        cost = None
    if parallel is not None and (isinstance(parallel, bool) or not isinstance(parallel, int) or parallel < 1):
        problems.append(("constraints.max_parallel", "It must be a whole number of 1 or more."))
        parallel = None
    return Constraints(
        cost,
        parallel,
        keep is True,
        _ordered(keep, net, problems),
        _tasks(value.get("fixed"), "constraints.fixed", net, problems),
    )


def _ordered(value: Any, net: Net, problems: list[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    if value is None or isinstance(value, bool):
        return ()
    if not isinstance(value, list | tuple):
        problems.append(("constraints.keep_order", "It must be true, or a list of pairs [first, then]."))
        return ()
    found = []
    can = _orders(net) if value else None
    for at, pair in enumerate(value):
        path = f"constraints.keep_order[{at}]"
        if not isinstance(pair, list | tuple) or len(pair) != _PAIR or pair[0] == pair[1]:
            problems.append((path, "It must be a pair of two tasks, [first, then]."))
            continue
        tasks = _tasks(pair, path, net, problems)
        if len(tasks) < _PAIR:
            continue
        first, then = tasks
        if can is not None and (then, first) in can and (first, then) not in can:
            problems.append(
                (path, f"In the workflow '{then}' comes before '{first}'. Swap the pair, or leave it out.")
            )
            continue
        found.append((first, then))
    return tuple(found)


def _orders(net: Net) -> set[tuple[str, str]] | None:
    """Return the pairs of tasks of which the first can come before the first occurrence of the second."""
    tasks = {name: replace(task, label=name) for name, task in net.tasks.items()}
    try:
        found = first_order(Study(replace(net, tasks=tasks)))
    except WorkflowError:
        return None
    return None if isinstance(found, Unknown) else set(found.pairs())


def unordered(net: Net, ordered: tuple[tuple[str, str], ...]) -> list[tuple[str, str]]:
    """Return the pairs for which the workflow has no order: either way round, or never both."""
    can = _orders(net) if ordered else None
    if can is None:
        return []
    return [(first, then) for first, then in ordered if ((first, then) in can) == ((then, first) in can)]


def _tasks(value: Any, path: str, net: Net, problems: list[tuple[str, str]]) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list | tuple):
        problems.append((path, "It must be a list of task ids."))
        return ()
    known = [isinstance(task, str) and task in net.tasks for task in value]
    problems += [
        (f"{path}[{at}]", f"There is no task {value[at]!r}.") for at, there in enumerate(known) if not there
    ]
    return tuple(task for task, there in zip(value, known, strict=True) if there)
