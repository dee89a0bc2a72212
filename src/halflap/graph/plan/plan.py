"""Plans for what is wanted, with what is missing and who could provide it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from halflap.core.suggest import closest
from halflap.graph.draw import workflow_mermaid
from halflap.graph.effects import may_change as changes
from halflap.graph.emit import program
from halflap.graph.naming import words_of
from halflap.graph.paths import path_text, slot_text
from halflap.graph.plan.build import workflow_of
from halflap.graph.plan.have import Have
from halflap.graph.workflow import Target, Workflow
from halflap.graph.plan.search import Search
from halflap.schema import compact

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from halflap.graph.edges import Graph
    from halflap.graph.workflow import Task
    from halflap.graph.ports import Ports, Slot

__all__ = ["Missing", "Planned", "plan", "workflow_json"]

_UNUSED = 2.5
"""A value in `have` that a plan ignores: more than a longer chain that uses it."""
_MAX_PROVIDERS = 5
_MAX_NEAR = 5


@dataclass(frozen=True, slots=True)
class Missing:
    """A parameter that nothing supplies, or a field that no tool returns."""

    tool: str | None
    parameter: str
    type: str = ""
    description: str = ""
    could_provide: tuple[Mapping[str, Any], ...] = ()
    near: tuple[str, ...] = ()
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        told: dict[str, Any] = {"tool": self.tool, "parameter": self.parameter}
        told |= {"type": self.type} if self.type else {}
        told |= {"description": self.description} if self.description else {}
        told |= {"could_provide": list(self.could_provide), "near": [{"name": one} for one in self.near]}
        return told | ({"note": self.note} if self.note else {})


@dataclass(frozen=True, slots=True)
class Planned:
    """Workflows, best first, and what the best of them lacks."""

    suggestions: tuple[Workflow, ...]
    missing: tuple[Missing, ...] = ()


def plan(
    graph: Graph,
    *,
    want: Sequence[Target],
    have: Mapping[str, Any],
    limit: int = 3,
    may_change: bool = False,
    may_use: Callable[[str], bool] = lambda _: True,
) -> Planned:
    """Find the cheapest workflows for what is wanted; see `search` for what is minimised.

    Tools that may change something are used only where they are wanted, or on the way with `may_change`. Nothing is
    called.
    """
    known = Have(have)
    search = Search(graph, want, known, may_use=may_use, may_change=may_change)
    made = [workflow_of(search, one) for one in search.best(limit)]
    made = [replace(one, cost=one.cost + _UNUSED * len(one.unused)) for one in made]
    made.sort(key=lambda one: one.cost)
    if not made:
        return Planned((), tuple(_no_field(graph, one) for one in want))
    best = made[0]
    return Planned(
        tuple(made), tuple(_missing(graph, search, best.order[step], slot) for step, slot in best.missing)
    )


def workflow_json(workflow: Workflow, *, with_program: bool = True) -> dict[str, Any]:
    """Return a workflow as the tools show it."""
    told = {
        "tools": [one.ports.tool for one in workflow.tasks],
        "confidence": round(workflow.confidence, 3),
        "cost": round(workflow.cost, 3),
        "steps": [_task_json(workflow, one) for one in workflow.tasks],
        "missing": [
            {"step": step, "tool": workflow.order[step].ports.tool, "parameter": slot_text(slot)}
            for step, slot in workflow.missing
        ],
        "unused": [{"name": name, "why": why} for name, why in workflow.unused],
        "mermaid": workflow_mermaid(workflow),
    }
    return told | ({"program": program(workflow)} if with_program else {})


def _task_json(workflow: Workflow, task: Task) -> dict[str, Any]:
    pages = task.paginates
    return {
        "id": task.id,
        "tool": task.ports.tool,
        "server": task.ports.server,
        "may_change_something": changes(task.ports),
        "arguments": {slot_text(one.slot): one.to_json() for one in task.arguments},
        "fan_out": [one.to_json() for one in task.axes] or None,
        "paginates": None
        if pages is None
        else {"from": path_text(pages.source), "to": slot_text(pages.target)},
        "only_where": [one.to_json() for one in workflow.choosing(task.id)],
        "crosses_servers": workflow.crossings(task),
    }


def _missing(graph: Graph, search: Search, task: Task, path: tuple[Any, ...]) -> Missing:
    """Describe a parameter that the best workflow leaves open."""
    ports = task.ports
    slots = [one for one in ports.slots if one.path[: len(path)] == path]
    if not slots:
        return Missing(ports.tool, slot_text(path))
    slot = slots[0]
    refused = search.have.refused(ports, slot)
    note = "" if refused is None else f"`have` has {refused!r}, which is of another type."
    providers = [] if note else _providers(graph, search, ports, slot)
    chooses = [one.pop("chooses") for one in providers]
    if any(chooses) and changes(ports):
        note = "Choose one value: a tool that may change something is not called for each of many."
    return Missing(
        ports.tool,
        slot_text(path),
        compact(slot.type)[:200],
        slot.description[:300],
        tuple(providers),
        note=note,
    )


def _providers(graph: Graph, search: Search, ports: Ports, slot: Slot) -> list[dict[str, Any]]:
    """Return the tools that could provide a value, reads first, each with what it needs itself."""
    found: list[dict[str, Any]] = []
    table = graph.table(ports, slot)
    sources = [one for one in graph.sources_of_slot(ports, slot) if one in table]
    for source in sorted(sources[:50], key=lambda one: changes(graph.tools[one]))[:_MAX_PROVIDERS]:
        best, other = table[source][0], graph.tools[source]
        one: dict[str, Any] = {"tool": source, "path": path_text(best.given.place.path)}
        one["needs"] = sorted(other.required - search.have.values.keys())
        one["chooses"] = any(step.kind != "key" for step in best.given.place.path)
        if changes(other):
            one["may_change_something"] = True
        if other.server != ports.server:
            one["crosses_servers"] = True
        found.append(one)
    return found


def _no_field(graph: Graph, target: Target) -> Missing:
    """Describe a field that no tool returns, with names that are close."""
    words = words_of(target.name)
    names = {
        step.key
        for one in graph.tools.values()
        for place in one.places
        for step in place.path[-1:]
        if step.kind == "key"
    }
    near = [one for one in sorted(names) if words and words[-1] in words_of(one)]
    near = near or closest(target.name, sorted(names), limit=_MAX_NEAR)
    note = (
        "No tool that may be used returns it." if near else "No tool is known to return a field of this name."
    )
    return Missing(None, target.name, near=tuple(near[:_MAX_NEAR]), note=note)
