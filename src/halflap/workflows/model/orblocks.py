"""Which or-split belongs to which or-join: what a join waits for is only clear in a block with one entry and one exit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from halflap.core.errors import WorkflowError
from halflap.workflows.model.reduce import structure_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from halflap.workflows.model.net import Flow, Net, Specification

__all__ = ["OrBlock", "check_or_gates", "or_blocks"]


@dataclass(frozen=True, slots=True)
class OrBlock:
    """An or-split and its or-join, with the first and the last flow of each way between them."""

    split: str
    join: str
    entries: tuple[Flow, ...]
    exits: tuple[Flow, ...]


def or_blocks(net: Net) -> Mapping[str, OrBlock]:
    """Return the block of each or-split by its task; a `WorkflowError` names all or-gates without one."""
    incoming, outgoing = net.incoming(), net.outgoing()
    splits = [task.id for task in net.tasks.values() if task.split == "or" and len(outgoing[task.id]) > 1]
    joins = {task.id for task in net.tasks.values() if task.join == "or" and len(incoming[task.id]) > 1}
    if not splits and not joins:
        return {}
    distance = {node: at for at, node in enumerate(_reached(net.input, outgoing))}
    found: dict[str, OrBlock] = {}
    # Innermost first: the nearest join that is left then belongs to the split.
    for split in sorted(splits, key=lambda one: -distance.get(one, 0)):
        for join in [node for node in _reached(split, outgoing) if node in joins]:
            block = _block(split, join, incoming, outgoing, net.output)
            if block is not None:
                found[split] = block
                joins.discard(join)
                break
    where = {task: f"tasks[{at}]" for at, task in enumerate(net.tasks)}
    problems = [
        (
            f"{where[split]}.split",
            f"The ways of the or-split of '{split}' do not all meet in one or-join, each by one flow and without other ways in or out. Use and or xor instead.",
        )
        for split in splits
        if split not in found
    ] + [
        (
            f"{where[join]}.join",
            f"The or-join of '{join}' does not end the ways of one or-split, so what it waits for is not defined. Use and or xor instead.",
        )
        for join in net.tasks
        if join in joins
    ]
    if problems:
        raise WorkflowError(problems, "Or-gates are only supported as matched blocks.")
    return found


def check_or_gates(specification: Specification, *, is_yawl: bool) -> None:
    """Refuse or-gates that form no block, each with its place in the file."""
    net = specification.net
    gates = {gate for task in net.tasks.values() for gate in (task.join, task.split)}
    if "or" not in gates or structure_of(net).block is not None:
        return
    try:
        or_blocks(net)
    except WorkflowError as error:
        at = list(specification.nets).index(net.id)
        prefix = f"net {net.id!r}: " if is_yawl else f"nets[{at}]." if len(specification.nets) > 1 else ""
        raise WorkflowError(
            [(f"{prefix}{one.path}", one.message) for one in error.problems], error.what
        ) from None


def _reached(start: str, outgoing: Mapping[str, list[Flow]]) -> Iterator[str]:
    """Yield what flows lead to, the nearest first."""
    seen = {start}
    waiting = [start]
    for node in waiting:
        yield node
        for flow in outgoing[node]:
            if flow.target not in seen:
                seen.add(flow.target)
                waiting.append(flow.target)


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
        way, last = found
        entered = (flow for node in way for flow in incoming[node] if flow.source not in way)
        if way & owned or any(flow is not entry for flow in entered):
            return None
        owned |= way
        exits.append(last)
    return OrBlock(split, join, tuple(entries), tuple(exits))


def _way(
    entry: Flow, join: str, barred: set[str], outgoing: Mapping[str, list[Flow]]
) -> tuple[set[str], Flow] | None:
    """Return the nodes between a flow and the join, and the only flow by which they reach it."""
    if entry.target == join:
        return set(), entry
    way = {entry.target}
    waiting = [entry.target]
    last: list[Flow] = []
    for node in waiting:
        for flow in outgoing[node]:
            if flow.target == join:
                last.append(flow)
            elif flow.target not in way:
                way.add(flow.target)
                waiting.append(flow.target)
    return None if way & barred or len(last) != 1 else (way, last[0])
