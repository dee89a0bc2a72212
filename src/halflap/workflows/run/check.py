"""Whether a workflow can be run with the given arguments, or all the reasons why not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from halflap.core.errors import WorkflowError
from halflap.workflows.analysis.soundness import soundness
from halflap.workflows.analysis.study import Study
from halflap.workflows.model.net import CANCELLATION, FIXING, Net
from halflap.workflows.predicates import names, parse
from halflap.workflows.run.suggested import BEYOND

_PREFIXES = ("mcp__", "script__", "dspy__")


def check_runnable(net: Net, arguments: Mapping[str, Any]) -> None:
    """Raise a `WorkflowError` with every reason why a workflow cannot be run."""
    problems = [*_names(net, arguments), *_tasks(net), *_choices(net), *_kept(net)]
    try:
        study = Study(net)
        judged = soundness(study)
    except WorkflowError as error:
        problems += error.problems
    else:
        if judged.sound is None:
            problems.append(("", f"Whether it is sound is unknown: {study.problem}"))
        problems += [("", f"It is not sound. {one.sentence}") for one in judged.failures]
    if problems:
        raise WorkflowError(problems, f"The workflow {net.id!r} cannot be run.")


def _tasks(net: Net) -> Iterator[tuple[str, str]]:
    for at, task in enumerate(net.tasks.values()):
        if task.tool is None:
            if task.label is not None:
                message = f"'{task.id}' has no tool. Name one, or make it silent with a label of null."
                yield f"tasks[{at}].tool", message
        elif not task.tool.startswith(_PREFIXES) or not task.tool.isidentifier():
            message = (
                f"{task.tool!r} is not the name of a tool. `halflap list` shows them: mcp__<server>__<tool>."
            )
            yield f"tasks[{at}].tool", message


def _choices(net: Net) -> Iterator[tuple[str, str]]:
    places = {id(flow): at for at, flow in enumerate(net.flows)}
    xpaths = {one.at for one in net.kept if one.name == "predicate"}
    for node, flows in net.outgoing().items():
        if len(flows) > 1 and node in net.conditions:
            message = f"Several flows lead out of '{node}': which is taken depends on events outside. Let a task with an xor-split choose."
            yield f"flows[{places[id(flows[0])]}].from", message
        for flow in flows if net.chooses(node, flows) and node in net.tasks else ():
            if flow.key in xpaths:
                message = f"The task '{node}' chooses by XPath, which is not evaluated. Give its flows predicates of their own."
                yield f"flows[{places[id(flow)]}].predicate", message
            elif flow.predicate is None and not flow.default:
                message = (
                    f"Give the flow from '{node}' to '{flow.target}' a predicate, or make it the default."
                )
                yield f"flows[{places[id(flow)]}]", message


def _kept(net: Net) -> Iterator[tuple[str, str]]:
    for one in net.kept:
        if one.name == BEYOND:
            then = "Run the suggestion's program instead: `halflap suggest … --program > program.py`, then `halflap run program.py`."
            yield one.at, f"It {one.text}, which a net cannot express. {then}"
        elif one.name in FIXING | CANCELLATION:
            yield one.at, f"It has <{one.name}>, which cannot be run. Remove it."


def _names(net: Net, arguments: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Check that every name that is used is given, or made known by some task."""
    known = sources(net) | arguments.keys()
    used: set[str] = set()
    for path, reference in _used(net):
        first = reference[0]
        used.add(first)
        if first not in known:
            yield path, f"There is no {first!r}. Give it with --arg {first}=…, or let a task write it."
    for name in arguments:
        if name in net.tasks:
            yield "", f"--arg {name}: that is a task. Use another name."
        elif name not in used:
            yield "", f"--arg {name}: nothing in the workflow uses it."


def _used(net: Net) -> Iterator[tuple[str, tuple[str, ...]]]:
    for at, task in enumerate(net.tasks.values()):
        if task.tool is not None:
            yield from references(dict(task.arguments or {}), f"tasks[{at}].arguments")
    outgoing = net.outgoing()
    for at, flow in enumerate(net.flows):
        if flow.predicate is not None and net.chooses(flow.source, outgoing[flow.source]):
            yield from ((f"flows[{at}].predicate", name) for name in sorted(names(parse(flow.predicate))))


# References --------------------------------------------------------------------------------------------


def reference(value: Any) -> tuple[str, ...] | None:
    """Return the path of `{"from": "task.key"}`; None for anything else."""
    if isinstance(value, dict) and set(value) == {"from"} and isinstance(value["from"], str):
        return tuple(value["from"].split("."))
    return None


def is_literal(value: Any) -> bool:
    """Return whether it is `{"value": …}`, which is taken as it is, whatever it looks like."""
    return isinstance(value, dict) and set(value) == {"value"}


def references(value: Any, path: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the references anywhere in a value, with their places."""
    found = reference(value)
    if found is not None:
        yield path, found
    elif isinstance(value, dict) and not is_literal(value):
        for key, one in value.items():
            yield from references(one, f"{path}.{key}")
    elif isinstance(value, list | tuple):
        for at, one in enumerate(value):
            yield from references(one, f"{path}[{at}]")


def sources(net: Net) -> set[str]:
    """Return the names that tasks make known: their ids, and what they write."""
    tools = [task for task in net.tasks.values() if task.tool is not None]
    return {name for task in tools for name in (task.id, *(task.writes or ()))}
