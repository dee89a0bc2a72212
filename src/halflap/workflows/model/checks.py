"""Structural mistakes of a net: flows to nowhere, choices that contradict themselves, and or-gates that form no block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from halflap.core.errors import WorkflowError, WorkflowProblem
from halflap.core.suggest import did_you_mean
from halflap.workflows.predicates import parse

if TYPE_CHECKING:
    from halflap.workflows.model.net import Flow, Net, Specification

_CLOSE = 1e-6
_MAX_OR_BRANCHES = 12
"""Of an or-split: each further one doubles the choices."""


def structure_problems(net: Net) -> list[WorkflowProblem]:
    """Return what is wrong with a net."""
    where = {node: f"tasks[{at}]" for at, node in enumerate(net.tasks)}
    where |= {node: f"conditions[{at}]" for at, node in enumerate(net.conditions)}
    where |= {net.output: "output", net.input: "input"}
    found = list(_references(net)) or [*_flows(net), *_choices(net, where)]
    return [WorkflowProblem(path, message) for path, message in found]


def _references(net: Net) -> Iterator[tuple[str, str]]:
    nodes = [*net.tasks, *net.conditions]
    for at, flow in enumerate(net.flows):
        for key, node in (("from", flow.source), ("to", flow.target)):
            if node not in net.tasks and node not in net.conditions:
                hint = did_you_mean(node, nodes)
                yield f"flows[{at}].{key}", f"There is no task or condition {node!r}. {hint}".rstrip()
    for at, rule in enumerate(net.rules):
        for task in rule.tasks:
            if task not in net.tasks:
                hint = did_you_mean(task, net.tasks)
                yield f"rules[{at}]", f"There is no task {task!r}. {hint}".rstrip()
        if len(set(rule.tasks)) < len(rule.tasks):
            yield f"rules[{at}]", f"It names {rule.tasks[0]!r} twice. Name two tasks."


def _flows(net: Net) -> Iterator[tuple[str, str]]:
    if net.input == net.output:
        yield "output", "Input and output are the same condition. Give the output its own id."
    seen: dict[tuple[str, str], int] = {}
    for at, flow in enumerate(net.flows):
        earlier = seen.setdefault((flow.source, flow.target), at)
        if earlier != at:
            yield f"flows[{at}]", f"{flow.key!r} is already flows[{earlier}]. Remove one of them."
        if {flow.source, flow.target} <= net.conditions.keys():
            both = f"{flow.source!r} and {flow.target!r} are both conditions."
            yield f"flows[{at}]", f"{both} Put a silent task between them."
        if flow.target == net.input:
            yield f"flows[{at}].to", f"{net.input!r} is the input: nothing may lead into it."
        if flow.source == net.output:
            yield f"flows[{at}].from", f"{net.output!r} is the output: nothing may lead out of it."
        if flow.predicate is not None:
            try:
                parse(flow.predicate)
            except WorkflowError as error:
                yield f"flows[{at}].predicate", error.problems[0].message


def _nearest(start: str, following: Mapping[str, list[str]]) -> Iterator[str]:
    """Yield a node and all that it leads to, the nearest first."""
    seen = {start: None}
    waiting = [start]
    for node in waiting:
        yield node
        new = dict.fromkeys(one for one in following[node] if one not in seen)
        seen |= new
        waiting += new


def _choices(net: Net, where: Mapping[str, str]) -> Iterator[tuple[str, str]]:  # noqa: C901 -- one mistake after the other
    """Find attributes of flows that choose nothing, several defaults, and probabilities that do not fit."""
    places = {id(flow): f"flows[{at}]" for at, flow in enumerate(net.flows)}
    for node, flows in net.outgoing().items():
        task = net.tasks.get(node)
        if task is None or task.split == "and":
            kind = "a condition: the first task takes the token"
            useless = {"predicate": None, "default": False, "order": None}
            if task is not None:
                kind = "an and-split: all flows are taken"
                useless |= {"probability": None} if len(flows) > 1 else {}
            for flow in flows:
                for key, default in useless.items():
                    if getattr(flow, key) is not default:
                        message = f"{node!r} is {kind}. Remove it, or use a task with an xor-split."
                        yield f"{places[id(flow)]}.{key}", message
        else:
            for flow in [one for one in flows if one.default][1:]:
                yield f"{places[id(flow)]}.default", f"{node!r} has another default. Keep one."
        chances = [flow.probability for flow in flows if flow.probability is not None]
        if chances and (net.chooses(node, flows) or (task and len(flows) == 1)):
            for flow in (one for one in flows if one.probability is None):
                message = f"It is missing, though other flows out of {node!r} have one."
                yield f"{places[id(flow)]}.probability", message
            exclusive = task is None or task.split == "xor" or len(flows) == 1
            if exclusive and len(chances) == len(flows) and abs(sum(chances) - 1) > _CLOSE:
                yield where[node], f"The probabilities out of {node!r} sum to {sum(chances):g}, not to 1."


# Or-gates ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OrBlock:
    """The or-join that closes an or-split, with the first and the last flow of each branch between them."""

    join: str
    branches: tuple[tuple[Flow, Flow], ...]


def or_blocks(net: Net) -> dict[str, OrBlock]:
    """Return the block of each or-split by its task; a `WorkflowError` names all or-gates without one.

    What an or-join waits for is only clear in a block with one entry and one exit.
    """
    incoming, outgoing = net.incoming(), net.outgoing()
    splits = [task.id for task in net.tasks.values() if task.split == "or" and len(outgoing[task.id]) > 1]
    joins = [task.id for task in net.tasks.values() if task.join == "or" and len(incoming[task.id]) > 1]
    ahead = {node: [flow.target for flow in flows] for node, flows in outgoing.items()}
    found: dict[str, OrBlock] = {}
    for split in splits:
        near = (node for node in _nearest(split, ahead) if node in joins)
        block = next(filter(None, (_or_block(net, split, join, incoming, outgoing) for join in near)), None)
        found |= {} if block is None else {split: block}
    closed = {block.join for block in found.values()}
    unclosed = "The branches of the or-split of '{}' do not all meet in one or-join, each by one flow and without other flows in or out. Use and or xor instead."
    unopened = "The or-join of '{}' does not end the branches of one or-split, so what it waits for is not defined. Use and or xor instead."
    where = {task: f"tasks[{at}]" for at, task in enumerate(net.tasks)}
    problems = [(f"{where[one]}.split", unclosed.format(one)) for one in splits if one not in found]
    problems += [(f"{where[one]}.join", unopened.format(one)) for one in joins if one not in closed]
    wide = [one for one in splits if len(outgoing[one]) > _MAX_OR_BRANCHES]
    problems += [
        (f"{where[one]}.split", f"At most {_MAX_OR_BRANCHES} branches are supported.") for one in wide
    ]
    if problems:
        raise WorkflowError(problems, "Or-gates are only supported as matched blocks.")
    return found


def check_or_gates(specification: Specification) -> None:
    """Raise a `WorkflowError` with all or-gates that form no block."""
    for at, net in enumerate(specification.nets.values()):
        try:
            or_blocks(net)
        except WorkflowError as error:
            prefix = f"nets[{at}]." if len(specification.nets) > 1 else ""
            problems = [(f"{prefix}{one.path}", one.message) for one in error.problems]
            raise WorkflowError(problems, error.what) from None


def _or_block(
    net: Net,
    split: str,
    join: str,
    incoming: Mapping[str, list[Flow]],
    outgoing: Mapping[str, list[Flow]],
) -> OrBlock | None:
    """Return the block if each branch is a region with one entry and one exit, and no other flow leads into the join."""
    branches: list[tuple[Flow, Flow]] = []
    owned = {split, net.output}
    ahead = {node: [flow.target for flow in flows] for node, flows in outgoing.items()} | {join: []}
    for entry in outgoing[split]:
        region = {*_nearest(entry.target, ahead)} - {join}
        exits = [flow for node in region for flow in outgoing[node] if flow.target == join]
        last = entry if entry.target == join else exits[0] if len(exits) == 1 else None
        entered = [flow for node in region for flow in incoming[node] if flow.source not in region]
        if last is None or region & owned or any(flow is not entry for flow in entered):
            return None
        owned |= region
        branches.append((entry, last))
    return OrBlock(join, tuple(branches)) if len(branches) == len(incoming[join]) else None
