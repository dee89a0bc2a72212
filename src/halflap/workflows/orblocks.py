"""Which or-split belongs to which or-join: only as blocks with one way in and one way out is it clear what a join waits for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from halflap.core.errors import WorkflowError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.workflows.net import Flow, Net

__all__ = ["OrBlock", "in_words", "or_blocks"]

_TASK = re.compile(r"tasks\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class OrBlock:
    """An or-split and its or-join, with the first and the last flow of each way between them."""

    split: str
    join: str
    entries: tuple[Flow, ...]
    exits: tuple[Flow, ...]


def or_blocks(net: Net) -> Mapping[str, OrBlock]:
    """Find the block of each or-split, by the id of its task; a `WorkflowError` names all gates that have none."""
    incoming, outgoing = net.incoming(), net.outgoing()
    splits = [task.id for task in net.tasks.values() if task.split == "or" and len(outgoing[task.id]) > 1]
    joins = {task.id for task in net.tasks.values() if task.join == "or" and len(incoming[task.id]) > 1}
    if not splits and not joins:
        return {}
    far = _distances(net, outgoing)
    found: dict[str, OrBlock] = {}
    # The innermost first: what is left of the joins then begins with the one that belongs to the split.
    for split in sorted(splits, key=lambda one: -far.get(one, 0)):
        for join in _ahead(split, joins, outgoing):
            block = _block(split, join, incoming, outgoing, net.output)
            if block is not None:
                found[split] = block
                joins.discard(join)
                break
    where = {task: f"tasks[{at}]" for at, task in enumerate(net.tasks)}
    problems = [
        (
            f"{where[split]}.split",
            f"The ways of the or-split of '{split}' do not all come together, each by one flow and without ways in or out between, in one or-join that has no other flows. Let them, or use and or xor.",
        )
        for split in splits
        if split not in found
    ] + [
        (
            f"{where[join]}.join",
            f"The or-join of '{join}' does not end the ways of one or-split, so it is not clear what it waits for. Let it, or use and or xor.",
        )
        for join in net.tasks
        if join in joins
    ]
    if problems:
        raise WorkflowError(problems, "Or-gates are understood as matched blocks only.")
    return found


def in_words(net: Net, path: str) -> str:
    """Give the place of a gate of a net that came from XML, where tasks have no numbers: by the names of net and task."""
    found = _TASK.match(path)
    return f"net {net.id!r}" if found is None else f"net {net.id!r}, task {list(net.tasks)[int(found[1])]!r}"


def _distances(net: Net, outgoing: Mapping[str, list[Flow]]) -> dict[str, int]:
    far = {net.input: 0}
    waiting = [net.input]
    for node in waiting:
        for flow in outgoing[node]:
            if flow.target not in far:
                far[flow.target] = far[node] + 1
                waiting.append(flow.target)
    return far


def _ahead(split: str, joins: set[str], outgoing: Mapping[str, list[Flow]]) -> list[str]:
    """Give the or-joins that a way of the split leads to, the nearest first."""
    reached = dict.fromkeys([split])
    waiting = [split]
    found = []
    for node in waiting:
        for flow in outgoing[node]:
            if flow.target in joins and flow.target not in found:
                found.append(flow.target)
            if flow.target not in reached:
                reached[flow.target] = None
                waiting.append(flow.target)
    return found


def _block(
    split: str,
    join: str,
    incoming: Mapping[str, list[Flow]],
    outgoing: Mapping[str, list[Flow]],
    output: str,
) -> OrBlock | None:
    entries = outgoing[split]
    if len(entries) != len(incoming[join]):
        return None
    exits: list[Flow] = []
    owned: set[str] = set()
    for entry in entries:
        found = _way(entry, join, {split, output}, outgoing)
        if found is None:
            return None
        way, left = found
        if way & owned or any(
            flow.source not in way and flow is not entry for node in way for flow in incoming[node]
        ):
            return None
        owned |= way
        exits.append(left)
    return OrBlock(split, join, tuple(entries), tuple(exits))


def _way(
    entry: Flow, join: str, barred: set[str], outgoing: Mapping[str, list[Flow]]
) -> tuple[set[str], Flow] | None:
    """Give what is on the way from a flow to the join, and the one flow by which it gets there."""
    if entry.target == join:
        return set(), entry
    way = {entry.target}
    waiting = [entry.target]
    left: list[Flow] = []
    for node in waiting:
        for flow in outgoing[node]:
            if flow.target == join:
                left.append(flow)
            elif flow.target not in way:
                way.add(flow.target)
                waiting.append(flow.target)
    return None if way & barred or len(left) != 1 else (way, left[0])
