"""Structural mistakes of a net: dead ends, flows to nowhere, and choices that contradict themselves."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from halflap.core.errors import WorkflowError, WorkflowProblem
from halflap.core.suggest import did_you_mean
from halflap.workflows.predicates import parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from halflap.workflows.model.net import Flow, Net

__all__ = ["structure_problems"]

_CLOSE = 1e-6


def structure_problems(
    net: Net, places: Mapping[str, str] | None = None, *, complete: bool = True
) -> list[WorkflowProblem]:
    """Return what is wrong with a net. `places` are the paths of its nodes; incomplete ones may have dead ends."""
    where = dict(places or {})
    for kind, nodes in (("tasks", net.tasks), ("conditions", net.conditions)):
        for at, node in enumerate(nodes):
            where.setdefault(node, f"{kind}[{at}]")
    where |= {net.output: "output", net.input: "input"}
    found = list(_references(net))
    if not found:
        found = [*_flows(net), *_choices(net, where)]
        if complete:
            found += [*_ends(net), *_paths(net, where)]
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
    seen: dict[tuple[str, str], int] = {}
    for at, flow in enumerate(net.flows):
        earlier = seen.setdefault((flow.source, flow.target), at)
        if earlier != at:
            yield f"flows[{at}]", f"{flow.key!r} is already flows[{earlier}]. Remove one of them."
        if flow.source in net.conditions and flow.target in net.conditions:
            message = (
                f"{flow.source!r} and {flow.target!r} are both conditions. Put a silent task between them."
            )
            yield f"flows[{at}]", message
        if flow.predicate is not None:
            try:
                parse(flow.predicate)
            except WorkflowError as error:
                yield f"flows[{at}].predicate", error.problems[0].message


def _ends(net: Net) -> Iterator[tuple[str, str]]:
    if net.input == net.output:
        yield "output", "Input and output are the same condition. Give the output its own id."
        return
    for at, flow in enumerate(net.flows):
        if flow.target == net.input:
            yield f"flows[{at}].to", f"{net.input!r} is the input: nothing may lead into it."
        if flow.source == net.output:
            yield f"flows[{at}].from", f"{net.output!r} is the output: nothing may lead out of it."


def _paths(net: Net, where: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Find nodes that are on no path from input to output; of several in a row only where the gap is."""
    if net.input == net.output:
        return
    ahead: dict[str, list[str]] = {}
    back: dict[str, list[str]] = {}
    for flow in net.flows:
        ahead.setdefault(flow.source, []).append(flow.target)
        back.setdefault(flow.target, []).append(flow.source)
    nodes = [node for node in (*net.conditions, *net.tasks) if node not in {net.input, net.output}]
    reached, ending = _reached([net.input], ahead), _reached([net.output], back)
    first = _leading([node for node in nodes if node not in reached], ahead)
    last = _leading([node for node in nodes if node not in ending], back)
    for node in nodes:
        if node in first:
            yield (
                where[node],
                f"No path leads from {net.input!r} to {node!r}. Add a flow to it, or remove it.",
            )
        if node in last:
            yield (
                where[node],
                f"No path leads from {node!r} to {net.output!r}. Add a flow from it, or remove it.",
            )
    if not first and not last and net.output not in reached:
        yield "output", f"No path leads from {net.input!r} to {net.output!r}."


def _reached(starts: Iterable[str], following: Mapping[str, Iterable[str]]) -> set[str]:
    found = set(starts)
    left = list(found)
    while left:
        for node in following.get(left.pop(), ()):
            if node not in found:
                found.add(node)
                left.append(node)
    return found


def _leading(nodes: list[str], following: Mapping[str, Iterable[str]]) -> set[str]:
    """Return the nodes that no other of them leads to; of a cycle, the first that is listed."""
    found: list[str] = []
    covered: set[str] = set()
    for node in nodes:
        if node not in covered:
            behind = _reached([node], following)
            found = [one for one in found if one not in behind]
            covered |= behind
            found.append(node)
    return set(found)


def _choices(net: Net, where: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    places = {id(flow): f"flows[{at}]" for at, flow in enumerate(net.flows)}
    for node, flows in net.outgoing().items():
        task = net.tasks.get(node)
        if task is not None and task.split != "and":
            for flow in [one for one in flows if one.default][1:]:
                yield f"{places[id(flow)]}.default", f"{node!r} has another default. Keep one."
        else:
            yield from _unconditional(net, node, flows, places)
        yield from _probabilities(net, node, flows, places, where[node])


def _probabilities(
    net: Net, node: str, flows: list[Flow], places: Mapping[int, str], where: str
) -> Iterator[tuple[str, str]]:
    chances = [flow.probability for flow in flows if flow.probability is not None]
    if node in net.tasks and len(flows) == 1:
        if chances and not math.isclose(chances[0], 1, abs_tol=_CLOSE):
            path = f"{places[id(flows[0])]}.probability"
            yield path, f"It is the only flow out of {node!r}: its probability is 1, not {chances[0]:g}."
    elif chances and net.splits(node, flows):
        for flow in flows:
            if flow.probability is None:
                message = f"It is missing, though other flows out of {node!r} have one."
                yield f"{places[id(flow)]}.probability", message
        exclusive = node in net.conditions or net.tasks[node].split == "xor"
        if exclusive and len(chances) == len(flows) and abs(sum(chances) - 1) > _CLOSE:
            yield where, f"The probabilities out of {node!r} sum to {sum(chances):g}, not to 1."


def _unconditional(
    net: Net, node: str, flows: list[Flow], places: Mapping[int, str]
) -> Iterator[tuple[str, str]]:
    """Find conditions on flows that are all taken, or of which whichever task comes first takes the token."""
    condition = node in net.conditions
    what = (
        "a condition: whichever task comes first takes the token"
        if condition
        else "an and-split: all flows are taken"
    )
    for flow in flows:
        stated = {
            "predicate": flow.predicate is not None,
            "default": flow.default,
            "order": flow.order is not None,
            "probability": not condition and flow.probability is not None and len(flows) > 1,
        }
        for key in (key for key, there in stated.items() if there):
            yield (
                f"{places[id(flow)]}.{key}",
                f"{node!r} is {what}. Remove it, or use a task with an xor-split.",
            )
