"""A suggested plan as a net: its steps become tasks, its order flows, and the data between steps reads and writes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from halflap.graph.paths import Path, many, path_text, slot_text
from halflap.workflows.model.net import Condition, Flow, Kept, Net, Task

if TYPE_CHECKING:
    from halflap.graph.workflow import Given, Workflow
    from halflap.graph.workflow import Task as Step

_EACH, _PAGES, _SOME = "fan_out", "pages", "only_where"
BEYOND = {
    _EACH: "is called for many, or makes a list of many",
    _PAGES: "is called for every page",
    _SOME: "takes only some items",
}
"""What a step can do and a task cannot express."""
_INPUT, _OUTPUT, _BEGIN, _END = "input", "output", "begin", "end"


def suggested_net(workflow: Workflow) -> Net:
    """Return the net of a suggested plan."""
    steps = {one.id: one for one in workflow.tasks}
    ends = _free(_INPUT, steps), _free(_OUTPUT, steps)
    kept = tuple(kept for one in workflow.tasks for kept in _beyond(workflow, one))
    tasks = {name: _task(one) for name, one in steps.items()}
    flows = [Flow(source, one.id) for one in workflow.tasks for source in one.sources]
    leading = {flow.source for flow in flows}
    first = [one.id for one in workflow.tasks if not one.sources]
    last = [name for name in steps if name not in leading]
    before, after = [], []
    for ones, name, end in ((first, _BEGIN, ends[0]), (last, _END, ends[1])):
        gate = ones[0]
        if len(ones) > 1:
            gate = _free(name, {**steps, **dict.fromkeys(ends)})
            tasks[gate] = Task(gate, None, join="and", split="and", reads=frozenset(), writes=frozenset())
        if name == _BEGIN:
            before = [Flow(end, gate), *(Flow(gate, one) for one in ones if one != gate)]
        else:
            after = [*(Flow(one, gate) for one in ones if one != gate), Flow(gate, end)]
    notes = tuple(
        f"'{one.at}' {BEYOND[one.name]} ({one.text}). A net cannot express that; the program of the suggestion does it."
        for one in kept
    )
    conditions = {end: Condition(end) for end in ends}
    return Net("suggested", *ends, tasks, conditions, (*before, *flows, *after), kept=kept, notes=notes)


def _free(name: str, taken: Any) -> str:
    return name if name not in taken else _free(f"{name}_", taken)


def _dots(name: str, path: Path) -> str:
    return ".".join([name, *(part.key for part in path)])


def _beyond_reference(given: Given) -> bool:
    """Return whether an argument takes more than one reference can express."""
    return given.each or (
        given.origin == "step" and (many(given.source) > 0 or many(given.slot) > 0 or _dotted(given.source))
    )


def _task(step: Step) -> Task:
    ports = step.ports
    reads = {*step.sources, *(one.have for one in step.arguments if one.origin == "have")}
    reads |= {match.given.have for match in step.matches}
    return Task(
        step.id,
        ports.original_name or ports.tool,
        join="and" if len(step.sources) > 1 else "xor",
        duration=None if ports.latency_ms is None else ports.latency_ms / 1000,
        reads=frozenset(reads),
        writes=frozenset({step.id}),
        idempotent=True if ports.changes is False and not ports.is_destructive else None,
        tool=ports.tool,
        arguments=_arguments(step),
    )


def _arguments(step: Step) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for one in step.arguments:
        value = _value(one)
        if value is None or any(part.kind != "key" for part in one.slot):
            continue
        at = found
        for part in one.slot[:-1]:
            at = at.setdefault(part.key, {})
        at[one.slot[-1].key] = value
    return found


def _value(given: Given) -> Any:
    """Return a value or a reference to it; None for a default, or where no reference leads."""
    if given.origin == "step":
        if many(given.source) or _dotted(given.source):
            return None
        return {"from": _dots(given.step, given.source)}
    if given.origin == "missing":
        return {"from": slot_text(given.slot)}
    if given.origin == "have":
        if given.value is None:
            return {"from": given.have}
        return {"value": given.value} if isinstance(given.value, dict | list) else given.value
    return None


def _beyond(workflow: Workflow, step: Step) -> Iterator[Kept]:
    """Yield what a step does that a task cannot express."""
    several = [f"{one.step or 'given'}: {path_text(one.path)}" for one in step.axes]
    taken = [one for one in step.arguments if _beyond_reference(one) and not step.axes]
    several += [f"{one.step or one.have}: {path_text(one.source)}" for one in taken]
    if several:
        yield Kept(_EACH, ", ".join(dict.fromkeys(several)), step.id)
    if step.paginates is not None:
        yield Kept(_PAGES, step.ports.tool, step.id)
    chosen = workflow.choosing(step.id)
    if chosen:
        yield Kept(_SOME, ", ".join(path_text(one.path) for one in chosen), step.id)


def _dotted(path: Path) -> bool:
    return any(part.kind == "key" and ("." in part.key or not part.key) for part in path)
