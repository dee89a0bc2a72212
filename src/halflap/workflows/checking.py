"""Whether a net holds together: ways in and out, every node on a path, and what flows may say where."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from halflap.core.errors import WorkflowError, WorkflowProblem
from halflap.workflows.net import RULE_KINDS
from halflap.workflows.predicates import parse
from halflap.workflows.predicates.language import Constant

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

    from halflap.workflows.net import Flow, Net

__all__ = ["Doubts", "ambiguous", "check_net", "graph_problems", "remarks", "structure_problems"]

_CLOSE = 1e-6


@dataclass(frozen=True, slots=True)
class Doubts:
    """What could not be read of a net, so that nothing is concluded from it; an input or output that could not is ''."""

    ways: bool = False
    """Some flow leads from or to nobody knows where."""
    sources: bool = False
    """Some flow leads from nobody knows where."""
    splits: frozenset[str] = frozenset()
    """The tasks of which the split is not known."""
    chances: frozenset[int] = frozenset()
    """The flows of which the probability is not known, by number."""
    rules: tuple[str, ...] | None = None
    """The paths of the rules, where some could not be read."""


_NONE = Doubts()


def check_net(net: Net) -> None:
    """Raise every problem of a net at once, if it has any."""
    problems = structure_problems(net)
    if problems:
        raise WorkflowError(problems, f"The workflow {net.id!r} is not as it has to be.")


def structure_problems(
    net: Net, places: Mapping[str, str] | None = None, doubts: Doubts | None = None
) -> list[WorkflowProblem]:
    """Find what is wrong with a net that has the right form; `places` are the paths of its nodes, as written.

    With `doubts` it is what could be read of one: only what is wrong whatever the rest says is told.
    """
    where = _where(net, places)
    if doubts is None:
        nowhere = [
            WorkflowProblem(f"flows[{at}].{key}", f"There is no task or condition {node!r}.")
            for at, flow in enumerate(net.flows)
            for key, node in (("from", flow.source), ("to", flow.target))
            if node not in net.tasks and node not in net.conditions
        ]
        if nowhere:
            return nowhere
    found = [
        *_graph(net, where, doubts or _NONE),
        *_splits(net, where, doubts or _NONE),
        *_rules(net, doubts or _NONE),
    ]
    return [WorkflowProblem(path, message) for path, message in found]


def ambiguous(flows: Iterable[Flow], nodes: Container[str]) -> Iterator[tuple[int, str]]:
    """Find flows that go by the name of something else, with their numbers: what is kept is found by `source -> target`."""
    seen: dict[str, tuple[str, str]] = {}
    for at, flow in enumerate(flows):
        ends = (flow.source, flow.target)
        name = " -> ".join(ends)
        other = seen.setdefault(name, ends)
        if all(ends) and (name in nodes or other != ends):
            what = "a task or condition" if name in nodes else f"the flow from {other[0]!r} to {other[1]!r}"
            yield (
                at,
                (
                    f"{flow.source!r} to {flow.target!r} goes by the name {name!r}, and so does {what}. "
                    "Take an id without ' -> '."
                ),
            )


def graph_problems(net: Net) -> bool:
    """Tell whether something is wrong with the ways of a net: where they begin, end and lead."""
    return any(True for _ in _graph(net, _where(net, None), _NONE))


def _where(net: Net, places: Mapping[str, str] | None) -> dict[str, str]:
    where = dict(places or {})
    for at, task in enumerate(net.tasks):
        where.setdefault(task, f"tasks[{at}]")
    for at, condition in enumerate(net.conditions):
        where.setdefault(condition, f"conditions[{at}]")
    return where | {net.output: "output", net.input: "input"}


def _graph(net: Net, where: Mapping[str, str], doubts: Doubts) -> Iterator[tuple[str, str]]:
    yield from _ends(net)
    yield from _flows(net)
    # Of one condition that is both, nothing of this is true when the output has got its own id.
    if not doubts.ways and (net.input != net.output or not net.input):
        yield from _ways(net, where)


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
    if net.input and net.input == net.output:
        yield "output", "The input and the output are the same condition. Give the output an id of its own."
        return
    for at, flow in enumerate(net.flows):
        if flow.target and flow.target == net.input:
            yield (
                f"flows[{at}].to",
                f"{net.input!r} is the input: nothing may lead into it. Take another condition for the loop.",
            )
        if flow.source and flow.source == net.output:
            yield f"flows[{at}].from", f"{net.output!r} is the output: nothing may lead out of it."


def _flows(net: Net) -> Iterator[tuple[str, str]]:
    seen: dict[tuple[str, str], int] = {}
    for at, flow in enumerate(net.flows):
        if not flow.source or not flow.target:
            continue
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
    nodes = (*net.conditions, *net.tasks)
    reached, ending = _reached(net.input, ahead), _reached(net.output, back)
    # Where a way begins or ends that should not is told, and not what only lies on it.
    first = _leading([node for node in nodes if node not in reached], ahead) if net.input else ()
    last = _leading([node for node in nodes if node not in ending], back) if net.output else ()
    alone = True
    for node in nodes:
        if node in {net.input, net.output}:
            continue
        kind = "task" if node in net.tasks else "condition"
        if node in first:
            alone = False
            yield (
                where[node],
                f"No way leads from {net.input!r} to {kind} {node!r}. Add a flow to it, or take it out.",
            )
        if node in last:
            alone = False
            yield (
                where[node],
                f"No way leads from {kind} {node!r} to {net.output!r}. Add a flow from it, or take it out.",
            )
    if alone and net.input and net.output and net.output not in reached:
        yield "output", f"No way leads from {net.input!r} to {net.output!r}. Add the flows that are missing."


def _leading(nodes: Sequence[str], following: Mapping[str, Iterable[str]]) -> set[str]:
    """Give the fewest of some nodes that lead to all of them; of those that lead to each other the first that is listed."""
    # Who begins is seen by none before it, and in the other direction by none after it.
    for _ in range(2):
        found: set[str] = set()
        begin: list[str] = []
        for node in nodes:
            if node not in found:
                begin.append(node)
                _reached(node, following, found)
        nodes = begin[::-1]
    return set(nodes)


def _reached(start: str, following: Mapping[str, Iterable[str]], found: set[str] | None = None) -> set[str]:
    """Add what can be reached to what was found, but for what is behind that."""
    found = set() if found is None else found
    found.add(start)
    left = [start]
    while left:
        for node in following.get(left.pop(), ()):
            if node not in found:
                found.add(node)
                left.append(node)
    return found


def _splits(net: Net, where: Mapping[str, str], doubts: Doubts) -> Iterator[tuple[str, str]]:
    out: dict[str, list[tuple[int, Flow]]] = {}
    for at, flow in enumerate(net.flows):
        if flow.source in net.tasks or flow.source in net.conditions:
            out.setdefault(flow.source, []).append((at, flow))
    for node, flows in out.items():
        task = net.tasks.get(node)
        gate = None if task is None else task.split
        known = node not in doubts.splits
        whole = not doubts.sources and not any(at in doubts.chances for at, _ in flows)
        if known:
            yield from _said(node, gate, flows)
        if task is not None and len(flows) == 1:
            yield from _alone(flows[0]) if whole else ()
        elif gate != "and" and known:
            yield from _missing(node, flows, doubts)
            yield from _summed(node, flows, where) if whole and gate != "or" else ()


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


def _missing(node: str, flows: list[tuple[int, Flow]], doubts: Doubts) -> Iterator[tuple[str, str]]:
    without = [at for at, flow in flows if flow.probability is None and at not in doubts.chances]
    for at in without if len(without) < len(flows) else ():
        yield (
            f"flows[{at}].probability",
            f"It is missing, though other flows out of {node!r} have one. Give all or none.",
        )


def _summed(node: str, flows: list[tuple[int, Flow]], where: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    given = [flow.probability for _, flow in flows if flow.probability is not None]
    if len(given) == len(flows) and not math.isclose(sum(given), 1, abs_tol=_CLOSE):
        yield (
            where[node],
            f"The probabilities of the flows out of {node!r} sum to {sum(given):g}. Make them sum to 1.",
        )


def _rules(net: Net, doubts: Doubts) -> Iterator[tuple[str, str]]:
    for at, rule in enumerate(net.rules):
        path = f"rules[{at}]" if doubts.rules is None else doubts.rules[at]
        if len(rule.tasks) != RULE_KINDS[rule.kind]:
            yield (
                path,
                f"A rule {rule.kind} names {RULE_KINDS[rule.kind]} tasks, and not {len(rule.tasks)}.",
            )
        for task in rule.tasks:
            if task in net.conditions:
                yield path, f"{task!r} is a condition. A rule names tasks by their ids."
            elif doubts.rules is None and task not in net.tasks:
                yield path, f"There is no task {task!r}. A rule names tasks by their ids."
        if any(count > 1 for count in Counter(rule.tasks).values()):
            yield path, f"It names {rule.tasks[0]!r} twice. Name two tasks."
