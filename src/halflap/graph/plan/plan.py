"""Plans for what is wanted, with what is missing and who could provide it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from halflap.core.suggest import closest
from halflap.graph.draw import workflow_mermaid
from halflap.graph.effects import may_change as changes
from halflap.graph.emit import program
from halflap.graph.paths import Path, many, path_text, slot_text
from halflap.graph.plan.build import workflow_of
from halflap.graph.plan.have import Have
from halflap.graph.plan.search import Search
from halflap.graph.plan.want import field_places
from halflap.schema import compact

if TYPE_CHECKING:
    from halflap.graph.edges import Graph
    from halflap.graph.ports import Ports, Slot
    from halflap.graph.workflow import Target, Task, Workflow

__all__ = ["Missing", "Planned", "plan", "workflow_json"]

_UNUSED = 2.5
"""A value in `have` that a plan ignores: more than a longer chain that uses it."""
_MAX_PROVIDERS = 5
_LOOKED_AT = 50
_MAX_NEAR = 5
_MAX_MISSING = 20


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
    if not want:
        return Planned(())
    known = Have(have)
    search = Search(graph, want, known, may_use=may_use, may_change=may_change)
    made = [workflow_of(search, one) for one in search.best(limit)]
    made = [replace(one, cost=one.cost + _UNUSED * len(one.unused)) for one in made]
    made.sort(key=lambda one: one.cost)
    if not made:
        return Planned((), tuple(_no_field(graph, search, one) for one in want))
    best = made[0]
    return Planned(
        tuple(made),
        tuple(_missing(graph, search, best.order[step], slot) for step, slot in best.missing[:_MAX_MISSING]),
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


def _missing(graph: Graph, search: Search, task: Task, path: Path) -> Missing:
    """Describe a parameter that the best workflow leaves open."""
    ports = task.ports
    slots = [one for one in ports.slots if one.path[: len(path)] == path]
    if not slots:
        return Missing(ports.tool, slot_text(path))
    slot = slots[0]
    refused = search.have.refused(ports, slot)
    note = "" if refused is None else f"`have` has {refused!r}, which is of another type."
    providers = _providers(graph, search, ports, slot)
    chooses = [one.pop("chooses") for one in providers]
    if not note and any(chooses) and changes(ports):
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
    sources = list(islice(graph.sources(ports, slot), _LOOKED_AT))
    sources.sort(key=lambda one: changes(graph.tools[one[0]]))
    found = []
    for source, best in sources[:_MAX_PROVIDERS]:
        path = best.given.place.path
        one = _provider(graph, search, source, path) | {"chooses": bool(many(path))}
        found.append(one | ({"crosses_servers": True} if graph.tools[source].server != ports.server else {}))
    return found


def _provider(graph: Graph, search: Search, tool: str, path: Path) -> dict[str, Any]:
    ports = graph.tools[tool]
    needs = sorted(ports.required - search.have.values.keys())
    told: dict[str, Any] = {"tool": tool, "path": path_text(path), "needs": needs}
    return told | ({"may_change_something": True} if changes(ports) else {})


def _no_field(graph: Graph, search: Search, target: Target) -> Missing:
    """Describe a field that no allowed tool returns, with tools that do and with similar names."""
    returning = sorted(field_places(graph, target.name), key=lambda one: -one[1])[:_MAX_PROVIDERS]
    if returning:
        could = tuple(_provider(graph, search, one.tool, one.place.path) for one, _ in returning)
        return Missing(None, target.name, could_provide=could, note="No tool that may be used returns it.")
    names = {place.path[-1].key for one in graph.tools.values() for place in one.places if place.path}
    near = closest(target.name, sorted(names - {""}), limit=_MAX_NEAR)
    return Missing(
        None, target.name, near=tuple(near), note="No tool is known to return a field of this name."
    )
