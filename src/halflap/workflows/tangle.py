"""Pairs of tasks of a workflow that is not made of blocks: which follow each other and have to, which could be side by side and are.

What is not in blocks has no parts to be compared as a whole; so the tasks themselves are. Who follows whom is told by the flows; what one
case can have, in which order, and what is side by side, by the states.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from halflap.workflows.dependence import depend, dependents
from halflap.workflows.pieces.piece import NOTHING, Said, Step, Way
from halflap.workflows.soundness import soundness
from halflap.workflows.states import bits_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.workflows.net import Flow, Net
    from halflap.workflows.pieces.facts import Data, Facts
    from halflap.workflows.states import Space
    from halflap.workflows.study import Study

__all__ = ["Counted", "independence", "neighbours"]

_MOST_TASKS = 2_000


@dataclass(frozen=True, slots=True)
class Counted:
    """How many pairs there are, and how many of them are as they should be; None, with the reason, where that is not known."""

    numbers: Mapping[str, int] | None
    problem: str | None = None


def neighbours(facts: Facts, net: Net) -> Counted:
    """Count the tasks that directly follow another, with nothing between but gates that do not choose, and those that depend on it."""
    outgoing = net.outgoing()
    pairs: set[tuple[str, str]] = set()
    for task in net.tasks:
        if facts.routes(task) or _splits(net, outgoing, task):
            continue
        waiting, seen = [flow.target for flow in outgoing[task]], {task}
        while waiting:
            node = waiting.pop()
            if node in net.tasks and not facts.routes(node):
                if node != task:
                    pairs.add((task, node))
            elif node not in seen and not _splits(net, outgoing, node):
                seen.add(node)
                waiting += [flow.target for flow in outgoing[node]]
    dependent = sum(_depend(facts, net, outgoing, first, then) for first, then in pairs)
    return Counted({"pairs": len(pairs), "dependent": dependent})


def _splits(net: Net, outgoing: Mapping[str, list[Flow]], node: str) -> bool:
    task = net.tasks.get(node)
    return len(outgoing[node]) > 1 and (task is None or task.split != "and")


def _data(facts: Facts, net: Net, outgoing: Mapping[str, list[Flow]], node: str) -> Data:
    """Give what a task reads and writes, what it chooses by among it."""
    found = facts.data(Step(node))
    if _splits(net, outgoing, node):
        ways = [
            Way(NOTHING, said=Said(flow.predicate, flow.probability, flow.default, flow.order))
            for flow in outgoing[node]
        ]
        found |= facts.choice(node, ways)
    return found


def _depend(facts: Facts, net: Net, outgoing: Mapping[str, list[Flow]], one: str, other: str) -> bool:
    mine, yours = (_data(facts, net, outgoing, node) for node in (one, other))
    return depend(mine, yours) or (one, other) in facts.ties or (other, one) in facts.ties


def independence(facts: Facts, study: Study) -> Counted:
    """Count the pairs of tasks that one case can have and of which neither needs the other, and those that are side by side."""
    net = study.net
    judged = soundness(study)
    if not judged.sound:
        why = judged.problem or "the workflow is not sound."
        return Counted(None, f"What can be side by side is not known: {why}")
    if len(net.tasks) > _MOST_TASKS:
        return Counted(
            None, f"What can be side by side is not looked at for more than {_MOST_TASKS:,} tasks."
        )
    names = list(net.tasks)
    number = {name: at for at, name in enumerate(names)}
    after = _after(study.space, number)
    beside = _beside(study.space, number)
    outgoing, incoming = net.outgoing(), net.incoming()
    clash = dependents(_data(facts, net, outgoing, name) for name in names)
    for one, other in facts.ties:
        if one in number and other in number:
            clash[number[one]] |= 1 << number[other]
    everything = (1 << len(names)) - 1
    for at, name in enumerate(names):
        # Who takes a token that others could take depends on whatever makes it be first.
        if any(
            flow.source in net.conditions and _splits(net, outgoing, flow.source) for flow in incoming[name]
        ):
            clash[at] = everything
    clash = [
        (one | other) & ~(1 << at) for at, (one, other) in enumerate(zip(clash, _turned(clash), strict=True))
    ]
    needed = [
        (after[at] & clash[at] | (after[at] if _splits(net, outgoing, one) else 0)) & ~beside[at] & ~(1 << at)
        for at, one in enumerate(names)
    ]
    needs = _turned(needed)
    _close(needs)
    linked = [one | other for one, other in zip(needs, _turned(needs), strict=True)]
    before = _turned(after)
    doing = sum(1 << at for at, one in enumerate(names) if not facts.routes(one))
    independent = together = races = 0
    for at in bits_of(doing):
        both = doing & ((1 << at) - 1) & (after[at] | before[at] | beside[at])
        bad = both & beside[at] & clash[at]
        free = both & ~bad & ~linked[at]
        races += bad.bit_count()
        independent += free.bit_count()
        together += (free & beside[at]).bit_count()
    return Counted(
        {"independent_pairs": independent, "side_by_side": together, "dependent_side_by_side": races}
    )


def _turned(rows: list[int]) -> list[int]:
    columns = [0] * len(rows)
    for at, row in enumerate(rows):
        for other in bits_of(row):
            columns[other] |= 1 << at
    return columns


def _close(needs: list[int]) -> None:
    """Add what is needed by others between."""
    for through in range(len(needs)):
        for at in range(len(needs)):
            if needs[at] >> through & 1:
                needs[at] |= needs[through]


def _after(space: Space, number: Mapping[str, int]) -> list[int]:
    """Give for each task those that a case can have after it, as bits."""
    ahead = [0] * len(space.markings)
    changed = True
    while changed:
        changed = False
        for state in range(len(space.markings) - 1, -1, -1):
            found = ahead[state]
            for step, target in space.steps[state]:
                task = space.machine.steps[step].task
                found |= ahead[target] | (0 if task is None else 1 << number[task])
            changed |= found != ahead[state]
            ahead[state] = found
    after = [0] * len(number)
    for steps in space.steps:
        for step, target in steps:
            task = space.machine.steps[step].task
            if task is not None:
                after[number[task]] |= ahead[target]
    return after


def _beside(space: Space, number: Mapping[str, int]) -> list[int]:
    """Give for each task those that can be begun while it can, without either taking what the other needs, as bits."""
    steps = space.machine.steps
    together: dict[tuple[int, tuple[int, ...]], int] = {}
    """For each step, and the places that have tokens to spare, those that can be taken in the same state."""
    for marking, out in zip(space.markings, space.steps, strict=True):
        enabled = sum(1 << step for step, _ in out)
        for step, _ in out:
            key = (step, marking.more)
            together[key] = together.get(key, 0) | enabled
    found = [0] * len(number)
    for (at, spare), others in together.items():
        one = steps[at]
        for other in (steps[step] for step in bits_of(others)):
            named = one.task is not None and other.task is not None and one.task != other.task
            if named and set(one.takes) & set(other.takes) <= set(spare):
                found[number[one.task or ""]] |= 1 << number[other.task or ""]
    return found
