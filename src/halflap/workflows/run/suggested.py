"""A suggested plan as a net: its steps become tasks, its order flows, and the data between steps reads and writes."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from halflap.graph.paths import path_text, slot_text
from halflap.workflows.model.net import Condition, Flow, Kept, Net, Task

if TYPE_CHECKING:
    from halflap.graph.workflow import Given, Workflow
    from halflap.graph.workflow import Task as Step

BEYOND = "suggestion"
"""The name under which a net keeps what a step does and a task cannot express."""


def suggested_net(workflow: Workflow) -> Net:
    """Return the net of a suggested plan."""
    tasks = {one.id: _task(one) for one in workflow.tasks}
    begin, end = _free("input", tasks), _free("output", tasks)
    flows = [Flow(source, one.id) for one in workflow.tasks for source in one.sources]
    leading = {flow.source for flow in flows}
    first = [one.id for one in workflow.tasks if not one.sources]
    last = [name for name in tasks if name not in leading]
    split = _gate("begin", first, tasks, (begin, end))
    join = _gate("end", last, tasks, (begin, end))
    flows = [Flow(begin, split), *(Flow(split, one) for one in first if one != split), *flows]
    flows += [*(Flow(one, join) for one in last if one != join), Flow(join, end)]
    kept = tuple(Kept(BEYOND, text, one.id) for one in workflow.tasks for text in _beyond(workflow, one))
    notes = tuple(
        f"'{one.at}' {one.text}. A net cannot express that; the program of the suggestion does it."
        for one in kept
    )
    conditions = {name: Condition(name) for name in (begin, end)}
    return Net("suggested", begin, end, tasks, conditions, tuple(flows), kept=kept, notes=notes)


def _gate(name: str, ones: list[str], tasks: dict[str, Task], taken: Collection[str]) -> str:
    """Return the task if there is only one, or a new silent one that joins or splits several."""
    if len(ones) == 1:
        return ones[0]
    name = _free(name, {*tasks, *taken})
    tasks[name] = Task(name, None, join="and", split="and", reads=frozenset(), writes=frozenset())
    return name


def _free(name: str, taken: Collection[str]) -> str:
    return name if name not in taken else _free(f"{name}_", taken)


def _task(step: Step) -> Task:
    ports = step.ports
    reads = {*step.sources, *(one.have for one in step.arguments if one.origin == "have")}
    reads |= {match.given.have for match in step.matches}
    arguments: dict[str, Any] = {}
    for one in step.arguments:
        if one.origin == "default" or one.convert or not _is_single(one):
            continue
        at = arguments
        for part in one.slot[:-1]:
            at = at.setdefault(part.key, {})
        at[one.slot[-1].key] = _value(one)
    return Task(
        step.id,
        ports.original_name or ports.tool,
        join="and" if len(step.sources) > 1 else "xor",
        duration=None if ports.latency_ms is None else ports.latency_ms / 1000,
        reads=frozenset(reads),
        writes=frozenset({step.id}),
        idempotent=True if ports.changes is False and not ports.is_destructive else None,
        tool=ports.tool,
        arguments=arguments,
    )


def _value(given: Given) -> Any:
    """Return a value, or a reference to it."""
    if given.origin == "step":
        return {"from": ".".join([given.step, *(part.key for part in given.source)])}
    if given.origin == "missing":
        return {"from": slot_text(given.slot)}
    if given.value is None:
        return {"from": given.have}
    return {"value": given.value} if isinstance(given.value, dict | list) else given.value


def _is_single(given: Given) -> bool:
    """Return whether an argument is one value that one reference can express."""
    dotted = any("." in part.key or not part.key for part in given.source)
    return not given.each and not dotted and all(part.kind == "key" for part in (*given.slot, *given.source))


def _beyond(workflow: Workflow, step: Step) -> Iterator[str]:
    """Yield what a step does that a task cannot express."""
    several = [f"{one.step or 'given'}: {path_text(one.path)}" for one in step.axes]
    if not several:
        taken = [one for one in step.arguments if one.origin != "default" and not _is_single(one)]
        several = [f"{one.step or one.have}: {path_text(one.source)}" for one in taken]
    if several:
        yield f"is called once per item, or collects a list ({', '.join(dict.fromkeys(several))})"
    for one in step.arguments:
        if one.convert:
            yield f"converts {one.step}: {path_text(one.source)} to {'text' if one.convert == 'str' else 'a number'}"
    if step.paginates is not None:
        yield f"is called for every page ({step.ports.tool})"
    chosen = workflow.choosing(step.id)
    if chosen:
        yield f"takes only some items ({', '.join(path_text(one.path) for one in chosen)})"
