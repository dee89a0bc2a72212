"""Whether a workflow can be run with what is given, or all the reasons why not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halflap.core.errors import WorkflowError
from halflap.workflows.net import ITEM
from halflap.workflows.predicates import names, parse
from halflap.workflows.running.values import DEEPEST, references, resolved, sources, too_deep
from halflap.workflows.soundness import soundness
from halflap.workflows.study import Study
from halflap.workflows.suggested import EACH, PAGES, SOME

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from halflap.workflows.net import Flow, Net

__all__ = ["check_runnable"]

_PREFIXES = ("mcp__", "script__", "dspy__")
_BEYOND = {
    "removesTokens": "a cancellation set",
    "removesTokensFromFlow": "a cancellation set",
    "timer": "a timer",
    "minimum": "multiple instances",
    "maximum": "multiple instances",
    "threshold": "multiple instances",
    "creationMode": "multiple instances",
    "miDataInput": "multiple instances",
    "miDataOutput": "multiple instances",
    EACH: "calls for each of many",
    PAGES: "a call for every page",
    SOME: "a choice among items",
    "predicate": "a predicate in a language that is not understood",
}


_LACKING = {
    EACH: "A task is called for the items of one list (`each`), and this one goes through several, or makes a list of many.",
    PAGES: "A task is one call, or one for each item: that a page leads to the next is nothing that a net can say.",
    SOME: "A task takes a list as it is: to choose among its items is nothing that a net can say.",
}


def check_runnable(net: Net, arguments: Mapping[str, Any]) -> None:
    """Raise a `WorkflowError` with every reason why a workflow cannot be run."""
    problems = _nested(net, arguments)
    if not problems:
        problems += _names(net, arguments)
    problems += [*_tasks(net), *_choices(net), *_kept(net)]
    what = f"The workflow {net.id!r} cannot be run."
    try:
        judged = soundness(Study(net))
    except WorkflowError as error:
        problems += error.problems
    else:
        if judged.sound is None:
            problems.append(("", f"Whether it is sound is not known: {judged.problem}"))
        for one in judged.failures:
            after = f"After {', '.join(one.trace)}: " if one.trace else ""
            problems.append(("", f"It is not sound. {after}{one.why}"))
    if problems:
        raise WorkflowError(problems, what)


def _tasks(net: Net) -> Iterator[tuple[str, str]]:
    for at, task in enumerate(net.tasks.values()):
        if task.tool is None:
            if task.label is not None:
                message = f"'{task.id}' has no tool. Name the one that does it, or make it silent with a label of null."
                yield f"tasks[{at}].tool", message
            elif task.each is not None:
                yield (
                    f"tasks[{at}].each",
                    f"'{task.id}' has no tool that could be called for each. Name it, or take this out.",
                )
        elif not task.tool.startswith(_PREFIXES) or not task.tool.isidentifier():
            message = f"{task.tool!r} is not the name of a tool. Write it as `halflap list` does: mcp__<server>__<tool>."
            yield f"tasks[{at}].tool", message


def _nested(net: Net, arguments: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Find what is nested too deeply to be looked at any further."""
    message = f"It is nested too deeply: it may have {DEEPEST} levels. Let a tool make it."
    places = {f"tasks[{at}].arguments": task.arguments for at, task in enumerate(net.tasks.values())}
    places |= {f"tasks[{at}].each": task.each for at, task in enumerate(net.tasks.values())}
    given = {f"--arg {name}": value for name, value in arguments.items()}
    return [(path, message) for path, value in {**places, **given}.items() if too_deep(value)]


def _choices(net: Net) -> Iterator[tuple[str, str]]:
    places = {id(flow): at for at, flow in enumerate(net.flows)}
    for node, flows in net.outgoing().items():
        if len(flows) <= 1:
            continue
        if node in net.conditions:
            message = f"Several flows lead out of '{node}': which is taken is up to what happens outside. Let a task with an xor-split choose."
            yield f"flows[{places[id(flows[0])]}].from", message
        elif net.tasks[node].split != "and":
            yield from (
                (
                    f"flows[{places[id(flow)]}]",
                    f"When it is taken is not said. Give the flow from '{node}' to '{flow.target}' a predicate, or make it the default.",
                )
                for flow in flows
                if flow.predicate is None and not flow.default
            )


def _kept(net: Net) -> Iterator[tuple[str, str]]:
    for one in net.kept:
        if one.name in _BEYOND:
            then = f"Do without it, and take <{one.name}> out of `kept`."
            if one.name in {EACH, PAGES, SOME}:
                then = (
                    f"{_LACKING[one.name]} Run the suggestion's program instead: `halflap suggest … --program > program.py`, "
                    "then `halflap run program.py`."
                )
            about = f" ({one.text})" if one.name in _LACKING else ""
            yield one.at, f"It has {_BEYOND[one.name]}{about}, which can't be run. {then}"


def _names(net: Net, arguments: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Look whether all that is spoken of is there: given, or made by some task."""
    made = sources(net)
    used: set[str] = set()
    known = made.keys() | arguments.keys()
    for path, spoken in _spoken_of(net):
        first = resolved(spoken, known)[0]
        used.add(first)
        if first not in made and first not in arguments:
            yield path, f"There is no {first!r}. Give it with --arg {first}=…, or let a task write it."
    for name in arguments:
        if name in net.tasks:
            yield "", f"--arg {name}: that is a task. Give the value another name."
        elif name not in used:
            yield "", f"--arg {name}: nothing in the workflow speaks of it."


def _spoken_of(net: Net) -> Iterator[tuple[str, tuple[str, ...]]]:
    for at, task in enumerate(net.tasks.values()):
        if task.tool is not None:
            yield from references(task.each, f"tasks[{at}].each")
            found = references(dict(task.arguments or {}), f"tasks[{at}].arguments")
            yield from (one for one in found if task.each is None or one[1][0] != ITEM)
    outgoing = net.outgoing()
    for at, flow in enumerate(net.flows):
        if _chooses(net, flow, outgoing) and flow.predicate is not None:
            yield from ((f"flows[{at}].predicate", name) for name in sorted(names(parse(flow.predicate))))


def _chooses(net: Net, flow: Flow, outgoing: Mapping[str, list[Flow]]) -> bool:
    task = net.tasks.get(flow.source)
    return task is not None and task.split != "and" and len(outgoing[flow.source]) > 1
