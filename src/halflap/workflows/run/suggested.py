"""A suggested plan as a net: its steps become tasks, its order flows, and the data between steps reads and writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from halflap.graph.paths import many, path_text, slot_text
from halflap.workflows.model.net import ITEM, Condition, Flow, Kept, Net, Task

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from halflap.graph.paths import Path
    from halflap.graph.workflow import Given, Workflow
    from halflap.graph.workflow import Task as Step

_EACH, _PAGES, _SOME = "fan_out", "pages", "only_where"
BEYOND = {
    _EACH: "goes through several lists, or makes a list of many",
    _PAGES: "is called for every page",
    _SOME: "takes only some items",
}
"""What a step can do and a task cannot express."""
_INPUT, _OUTPUT, _BEGIN, _END = "input", "output", "begin", "end"


def suggested_net(workflow: Workflow) -> Net:
    """Return the net of a suggested plan."""
    steps = {one.id: one for one in workflow.tasks}
    ends = _free(_INPUT, steps), _free(_OUTPUT, steps)
    loops = _loops(workflow)
    kept = tuple(kept for one in workflow.tasks for kept in _beyond(workflow, one, loops))
    tasks = {name: _task(one, loops.get(name)) for name, one in steps.items()}
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


@dataclass(frozen=True, slots=True)
class _Loop:
    """A step that is called for each item of a list, and which of its arguments come from the item."""

    over: Any
    """The list, or the reference to it."""
    items: dict[Path, str]
    """References into the item, by argument."""


def _loops(workflow: Workflow) -> dict[str, _Loop]:
    """Return the steps that are called for each item of one list: a given one, one in a result, or the results of another such step."""
    found: dict[str, _Loop] = {}
    for step in workflow.tasks:
        if (
            len(step.axes) == 1
            and step.paginates is None
            and not any(many(one.slot) for one in step.arguments)
        ):
            loop = _over_hand(step) if not step.axes[0].step else _over_step(workflow, step, found)
            if loop is not None:
                found[step.id] = loop
    return found


def _over_hand(step: Step) -> _Loop | None:
    each = [one for one in step.arguments if one.each]
    if {one.have for one in each} != {step.axes[0].path[0].key} or any(
        many(one.source) for one in step.arguments
    ):
        return None
    value = each[0].value
    over = (
        list(value) if isinstance(value, list | tuple) else {"from": each[0].have} if value is None else None
    )
    return None if over is None else _Loop(over, {one.slot: ITEM for one in each})


def _over_step(workflow: Workflow, step: Step, found: Mapping[str, _Loop]) -> _Loop | None:
    axis = step.axes[0]
    taken = [one for one in step.arguments if one.origin == "step"]
    around = {one.step for one in taken if workflow.order[one.step].axes}
    if (
        any(one.each for one in step.arguments)
        or around - found.keys()
        or any(_dotted(one.source) for one in taken)
    ):
        return None
    if around:
        # That step returned a list with a result for each item; the items themselves are gone.
        (source, *others) = around
        beside = any(many(one.source) for one in taken)
        if others or beside or workflow.order[source].axes != step.axes:
            return None
        return _Loop(
            {"from": source}, {one.slot: _of_item(one.source) for one in taken if one.step == source}
        )
    path = axis.path[:-1]
    if many(path) or _dotted(path) or axis.path[-1].kind == "key":
        return None
    of_item = [one for one in taken if many(one.source)]
    depth = len(axis.path)
    if any(
        one.step != axis.step or one.source[:depth] != axis.path or many(one.source) > 1 for one in of_item
    ):
        return None
    over = {"from": ".".join([axis.step, *(part.key for part in path)])}
    return _Loop(over, {one.slot: _of_item(one.source[depth:]) for one in of_item})


def _of_item(path: Path) -> str:
    return ".".join([ITEM, *(part.key for part in path)])


def _task(step: Step, loop: _Loop | None) -> Task:
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
        arguments=_arguments(step, {} if loop is None else loop.items),
        each=None if loop is None else loop.over,
    )


def _arguments(step: Step, items: Mapping[Path, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for one in step.arguments:
        value = {"from": items[one.slot]} if one.slot in items else _value(one)
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
        return {"from": ".".join([given.step, *(part.key for part in given.source)])}
    if given.origin == "missing":
        return {"from": slot_text(given.slot)}
    if given.origin == "have":
        if given.value is None:
            return {"from": given.have}
        return {"value": given.value} if isinstance(given.value, dict | list) else given.value
    return None


def _beyond(workflow: Workflow, step: Step, said: Mapping[str, _Loop]) -> Iterator[Kept]:
    """Yield what a step does that a task cannot express."""
    loops = [] if step.id in said else [f"{one.step or 'given'}: {path_text(one.path)}" for one in step.axes]
    # So are lists within an argument; and no path leads to a key with a dot.
    loops += [
        f"{one.step}: {path_text(one.source)}"
        for one in step.arguments
        if one.origin == "step"
        and not step.axes
        and (many(one.source) or many(one.slot) or _dotted(one.source))
    ]
    loops += [
        f"each of {one.have}" for one in step.arguments if one.origin == "have" and one.each and not step.axes
    ]
    if loops and step.id not in said:
        yield Kept(_EACH, ", ".join(dict.fromkeys(loops)), step.id)
    if step.paginates is not None:
        yield Kept(_PAGES, step.ports.tool, step.id)
    chosen = workflow.choosing(step.id)
    if chosen:
        yield Kept(_SOME, ", ".join(path_text(one.path) for one in chosen), step.id)


def _dotted(path: Path) -> bool:
    return any(part.kind == "key" and ("." in part.key or not part.key) for part in path)
