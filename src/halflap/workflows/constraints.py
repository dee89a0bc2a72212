"""What an optimisation has to respect: max_cost, max_parallel, keep_order and fixed."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from halflap.core.errors import WorkflowError
from halflap.workflows.fields import what_is
from halflap.workflows.footprint import Unknown
from halflap.workflows.order import first_order
from halflap.workflows.pieces.facts import Facts
from halflap.workflows.pieces.racing import raced
from halflap.workflows.study import Study

if TYPE_CHECKING:
    from halflap.workflows.net import Net

__all__ = ["CONSTRAINTS", "Constraints", "orderless", "read_constraints"]

CONSTRAINTS = ("max_cost", "max_parallel", "keep_order", "fixed")
_PAIR = 2


@dataclass(frozen=True, slots=True)
class Constraints:
    """What was asked for; nothing, where nothing was."""

    max_cost: float | None = None
    """What a case may cost, by expectation."""
    max_parallel: int | None = None
    """How many tasks may be under way at once."""
    keep_order: bool = False
    """Nothing may come in another order, or side by side."""
    ordered: tuple[tuple[str, str], ...] = ()
    """Of each pair, the first stays before the second."""
    fixed: tuple[str, ...] = ()
    """Tasks that are neither moved, merged nor dropped."""

    def facts(self, net: Net) -> Facts:
        """Give what is known of a workflow under these constraints."""
        return Facts(net, self.fixed, (*self.ordered, *raced(net)))


def read_constraints(value: Any, net: Net, problems: list[tuple[str, str]]) -> Constraints:
    """Read constraints; what is wrong is added to the problems."""
    if value is None:
        return Constraints()
    if not isinstance(value, dict):
        problems.append(("constraints", f"It has to be an object with {', '.join(CONSTRAINTS)}."))
        return Constraints()
    problems += [
        (f"constraints.{key}", f"There is no constraint {key!r}; there are {', '.join(CONSTRAINTS)}.")
        for key in value
        if key not in CONSTRAINTS
    ]
    keep = value.get("keep_order")
    return Constraints(
        _cost(value.get("max_cost"), problems),
        _parallel(value.get("max_parallel"), problems),
        keep is True,
        _ordered(keep, net, problems),
        _tasks(value.get("fixed"), "constraints.fixed", net, problems),
    )


def _cost(value: Any, problems: list[tuple[str, str]]) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        problems.append(
            ("constraints.max_cost", f"It has to be a number of 0 or more, and is {what_is(value)}.")
        )
        return None
    return float(value)


def _parallel(value: Any, problems: list[tuple[str, str]]) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        problems.append(
            (
                "constraints.max_parallel",
                f"It has to be a whole number of 1 or more, and is {what_is(value)}.",
            )
        )
        return None
    return value


def _ordered(value: Any, net: Net, problems: list[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    if value is None or isinstance(value, bool):
        return ()
    if not isinstance(value, list | tuple):
        problems.append(
            ("constraints.keep_order", "It has to be true, or a list of pairs of tasks, as [[first, then]].")
        )
        return ()
    found = []
    can = None if not value else _orders(net)
    for at, pair in enumerate(value):
        path = f"constraints.keep_order[{at}]"
        if not isinstance(pair, list | tuple) or len(pair) != _PAIR:
            problems.append((path, "It has to be a pair of tasks, as [first, then]."))
            continue
        tasks = _tasks(pair, path, net, problems)
        if len(tasks) < _PAIR:
            continue
        first, then = tasks
        if first == then:
            problems.append((path, f"It names '{first}' twice. Name two tasks, as [first, then]."))
            continue
        if can is not None and (then, first) in can and (first, then) not in can:
            problems.append(
                (
                    path,
                    f"The workflow does it the other way round: of the two, '{then}' comes first. Turn the pair, or leave it out.",
                )
            )
            continue
        found.append((first, then))
    return tuple(found)


def _orders(net: Net) -> set[tuple[str, str]] | None:
    """Give the pairs of tasks of which the first can come before the first time of the second; None where that is not known."""
    tasks = {name: replace(task, label=name) for name, task in net.tasks.items()}
    try:
        found = first_order(Study(replace(net, tasks=tasks)))
    except WorkflowError:
        # An or-gate that forms no block: the workflow is refused for that, with all that is wrong with it.
        return None
    return None if isinstance(found, Unknown) else set(found.pairs())


def orderless(net: Net, ordered: tuple[tuple[str, str], ...]) -> list[tuple[str, str]]:
    """Give the pairs that the workflow has no order for: they come either way round, or never both."""
    can = _orders(net) if ordered else None
    if can is None:
        return []
    return [(first, then) for first, then in ordered if ((first, then) in can) == ((then, first) in can)]


def _tasks(value: Any, path: str, net: Net, problems: list[tuple[str, str]]) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list | tuple):
        problems.append((path, "It has to be a list of the ids of tasks."))
        return ()
    found = []
    for at, task in enumerate(value):
        if not isinstance(task, str) or task not in net.tasks:
            problems.append((f"{path}[{at}]", f"There is no task {task!r}."))
        else:
            found.append(task)
    return tuple(found)
