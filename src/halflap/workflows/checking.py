"""Whether a net holds together: ways in and out, every node on a path, and what flows may say where."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from halflap.errors import WorkflowError, WorkflowProblem
from halflap.workflows.net import RULE_KINDS
from halflap.workflows.predicates import parse
from halflap.workflows.predicates.language import Constant

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from halflap.workflows.net import Flow, Net

__all__ = ["check_net", "remarks", "structure_problems"]

_CLOSE = 1e-6


def check_net(net: Net) -> None:
    """Raise every problem of a net at once, if it has any."""
    problems = structure_problems(net)
    if problems:
        raise WorkflowError(problems, f"The workflow {net.id!r} is not as it has to be.")


def structure_problems(net: Net, places: Mapping[str, str] | None = None) -> list[WorkflowProblem]:
    """Find what is wrong with a net that has the right form; `places` are the paths of its nodes, as written."""
    where = dict(places or {})
    for at, task in enumerate(net.tasks):
        where.setdefault(task, f"tasks[{at}]")
    for at, condition in enumerate(net.conditions):
        where.setdefault(condition, f"conditions[{at}]")
    where |= {net.output: "output", net.input: "input"}
    nowhere = [
        WorkflowProblem(f"flows[{at}].{key}", f"There is no task or condition {node!r}.")
        for at, flow in enumerate(net.flows)
        for key, node in (("from", flow.source), ("to", flow.target))
        if node not in net.tasks and node not in net.conditions
    ]
    if nowhere:
        return nowhere
    found = [
        *_ends(net),
        *_flows(net),
        *_ways(net, where),
        *_splits(net, where),
        *_rules(net),
    ]
    return [WorkflowProblem(path, message) for path, message in found]


def remarks(net: Net) -> tuple[str, ...]:
    """Give what is no mistake, and may be a surprise: behaviour is over control flow, and looks at no predicate."""
    found: list[str] = []
    for flow in net.flows:
        if flow.predicate is None:
            continue
        try:
            said = parse(flow.predicate)
        except WorkflowError:
            continue
        if isinstance(said, Constant) and isinstance(said.value, bool):
            word = "always" if said.value else "never"
            found.append(
                f"The predicate of {flow.source!r} to {flow.target!r} is {flow.predicate}: it is {word} taken when it "
                "runs. For behaviour it is a choice like any other."
            )
    return tuple(found)


def _ends(net: Net) -> Iterator[tuple[str, str]]:
    if net.input == net.output:
        yield "output", "The input and the output are the same condition. Give the output an id of its own."
    for at, flow in enumerate(net.flows):
        if flow.target == net.input:
            yield (
                f"flows[{at}].to",
                f"{net.input!r} is the input: nothing may lead into it. Take another condition for the loop.",
            )
        if flow.source == net.output and net.input != net.output:
            yield f"flows[{at}].from", f"{net.output!r} is the output: nothing may lead out of it."


def _flows(net: Net) -> Iterator[tuple[str, str]]:
    seen: dict[tuple[str, str], int] = {}
    for at, flow in enumerate(net.flows):
        earlier = seen.setdefault((flow.source, flow.target), at)
        if earlier != at:
            yield (
                f"flows[{at}]",
                f"{flow.source!r} to {flow.target!r} is already flows[{earlier}]. Take one of them out.",
            )
        if flow.source in net.conditions and flow.target in net.conditions:
            yield (
                f"flows[{at}]",
                f"{flow.source!r} and {flow.target!r} are both conditions. Put a task between them, silent if nothing is done.",
            )


def _ways(net: Net, where: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    ahead: dict[str, list[str]] = {}
    back: dict[str, list[str]] = {}
    for flow in net.flows:
        ahead.setdefault(flow.source, []).append(flow.target)
        back.setdefault(flow.target, []).append(flow.source)
    reached, ending = _reached(net.input, ahead), _reached(net.output, back)
    if net.output not in reached:
        yield "output", f"No way leads from {net.input!r} to {net.output!r}. Add the flows that are missing."
    for node in (*net.conditions, *net.tasks):
        if node in {net.input, net.output}:
            continue
        kind = "task" if node in net.tasks else "condition"
        if node not in reached:
            yield (
                where[node],
                f"No way leads from {net.input!r} to {kind} {node!r}. Add a flow to it, or take it out.",
            )
        if node not in ending:
            yield (
                where[node],
                f"No way leads from {kind} {node!r} to {net.output!r}. Add a flow from it, or take it out.",
            )


def _reached(start: str, following: Mapping[str, Iterable[str]]) -> set[str]:
    found, left = {start}, [start]
    while left:
        for node in following.get(left.pop(), ()):
            if node not in found:
                found.add(node)
                left.append(node)
    return found


def _splits(net: Net, where: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    out: dict[str, list[tuple[int, Flow]]] = {}
    for at, flow in enumerate(net.flows):
        out.setdefault(flow.source, []).append((at, flow))
    for node, flows in out.items():
        task = net.tasks.get(node)
        gate = None if task is None else task.split
        yield from _said(node, gate, flows)
        if task is not None and len(flows) == 1:
            yield from _alone(flows[0])
        elif gate != "and":
            yield from _probabilities(node, gate, flows, where)


def _said(node: str, gate: str | None, flows: list[tuple[int, Flow]]) -> Iterator[tuple[str, str]]:
    """Find what is said of flows that nobody chooses among, or of which the first that comes is taken."""
    if gate in {"xor", "or"}:
        defaults = [at for at, flow in flows if flow.default]
        for at in defaults[1:]:
            yield (
                f"flows[{at}].default",
                f"{node!r} has a default already, flows[{defaults[0]}]. Keep one of them.",
            )
        return
    what = (
        f"{node!r} is an and-split: all of its flows are taken. Make its split xor or or, or take"
        if gate == "and"
        else f"{node!r} is a condition: what comes first takes the token. Let a task with an xor-split decide, or take"
    )
    for at, flow in flows:
        said = {
            "predicate": flow.predicate is not None,
            "default": flow.default,
            "order": flow.order is not None,
            "probability": gate == "and" and flow.probability is not None and len(flows) > 1,
        }
        for key in (key for key, there in said.items() if there):
            yield f"flows[{at}].{key}", f"{what} the {key} out."


def _alone(one: tuple[int, Flow]) -> Iterator[tuple[str, str]]:
    at, flow = one
    if flow.probability is not None and not math.isclose(flow.probability, 1, abs_tol=_CLOSE):
        yield (
            f"flows[{at}].probability",
            f"It is the only flow out of {flow.source!r}, so its probability is 1, and not {flow.probability:g}.",
        )


def _probabilities(
    node: str, gate: str | None, flows: list[tuple[int, Flow]], where: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    given = [flow.probability for _, flow in flows if flow.probability is not None]
    if not given:
        return
    if len(given) < len(flows):
        for at, flow in flows:
            if flow.probability is None:
                yield (
                    f"flows[{at}].probability",
                    f"It is missing, though other flows out of {node!r} have one. Give all or none.",
                )
    elif gate != "or" and not math.isclose(sum(given), 1, abs_tol=_CLOSE):
        yield (
            where[node],
            f"The probabilities of the flows out of {node!r} sum to {sum(given):g}. Make them sum to 1.",
        )


def _rules(net: Net) -> Iterator[tuple[str, str]]:
    for at, rule in enumerate(net.rules):
        if len(rule.tasks) != RULE_KINDS[rule.kind]:
            yield (
                f"rules[{at}]",
                f"A rule {rule.kind} names {RULE_KINDS[rule.kind]} tasks, and not {len(rule.tasks)}.",
            )
        for task in rule.tasks:
            if task in net.conditions:
                yield f"rules[{at}]", f"{task!r} is a condition. A rule names tasks by their ids."
            elif task not in net.tasks:
                yield f"rules[{at}]", f"There is no task {task!r}. A rule names tasks by their ids."
        if any(count > 1 for count in Counter(rule.tasks).values()):
            yield f"rules[{at}]", f"It names {rule.tasks[0]!r} twice. Name two tasks."
