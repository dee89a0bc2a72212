"""Plans for a wanted tool or field, with missing values and the tools that could provide them."""

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
from halflap.graph.plan.need import Have
from halflap.graph.plan.search import Search, field_places
from halflap.graph.workflow import Target
from halflap.schema import compact

if TYPE_CHECKING:
    from halflap.graph.edges import Graph
    from halflap.graph.ports import Ports, Slot
    from halflap.graph.workflow import Task, Workflow

_UNUSED = 2.5
"""A value in `have` that a plan ignores: more than a longer chain that uses it."""
_MAX_PROVIDERS = 5
_LOOKED_AT = 50
_MAX_NEAR = 5
_MAX_MISSING = 20


@dataclass(frozen=True, slots=True)
class Planned:
    """Workflows, best first, and what the best of them lacks: parameters that nothing supplies, or unknown fields."""

    suggestions: tuple[Workflow, ...]
    missing: tuple[dict[str, Any], ...] = ()


def target_of(graph: Graph, text: str) -> Target:
    """Read what is wanted: a tool by any name that only it has, otherwise a field."""
    if text in graph.tools:
        return Target("tool", text)
    named = [one.tool for one in graph.tools.values() if one.original_name == text]
    return Target("tool", named[0]) if len(named) == 1 else Target("field", text)


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
    search = Search(graph, want, Have(have), may_use=may_use, may_change=may_change)
    made = [workflow_of(search, one) for one in search.best(limit)]
    made = [replace(one, cost=one.cost + _UNUSED * len(one.unused)) for one in made]
    made.sort(key=lambda one: one.cost)
    if not made:
        return Planned((), tuple(_no_field(search, one.name) for one in want))
    missing = made[0].missing[:_MAX_MISSING]
    return Planned(
        tuple(made), tuple(_missing(search, made[0].order[step].ports, slot) for step, slot in missing)
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


# What is missing -------------------------------------------------------------------------------------


def _told(
    tool: str | None,
    parameter: str,
    *,
    could_provide: Sequence[Mapping[str, Any]] = (),
    near: Sequence[str] = (),
    note: str = "",
    **more: str,
) -> dict[str, Any]:
    told: dict[str, Any] = {"tool": tool, "parameter": parameter}
    told |= {name: text for name, text in more.items() if text}
    told |= {"could_provide": list(could_provide), "near": [{"name": one} for one in near]}
    return told | ({"note": note} if note else {})


def _missing(search: Search, ports: Ports, path: Path) -> dict[str, Any]:
    """Describe a parameter that the best workflow leaves open."""
    slot = next((one for one in ports.slots if one.path[: len(path)] == path), None)
    if slot is None:
        return _told(ports.tool, slot_text(path))
    refused = search.have.refused(ports, slot)
    note = "" if refused is None else f"`have` has {refused!r}, which is of another type."
    providers, is_list = _providers(search, ports, slot)
    if not note and is_list and changes(ports):
        note = "Choose one value: a tool that may change something is never called once per item."
    return _told(
        ports.tool,
        slot_text(path),
        could_provide=providers,
        type=compact(slot.type)[:200],
        description=slot.description[:300],
        note=note,
    )


def _providers(search: Search, ports: Ports, slot: Slot) -> tuple[list[dict[str, Any]], bool]:
    """Return the tools that could provide a value, reads first, and whether any has many to choose from."""
    tools = search.graph.tools
    sources = list(islice(search.graph.sources(ports, slot), _LOOKED_AT))
    sources = sorted(sources, key=lambda one: changes(tools[one[0]]))[:_MAX_PROVIDERS]
    return [
        _provider(search, source, best.path)
        | ({"crosses_servers": True} if tools[source].server != ports.server else {})
        for source, best in sources
    ], any(many(best.path) for _, best in sources)


def _provider(search: Search, tool: str, path: Path) -> dict[str, Any]:
    ports = search.graph.tools[tool]
    needs = sorted(ports.required - search.have.values.keys())
    told: dict[str, Any] = {"tool": tool, "path": path_text(path), "needs": needs}
    return told | ({"may_change_something": True} if changes(ports) else {})


def _no_field(search: Search, name: str) -> dict[str, Any]:
    """Describe a field that no allowed tool returns, with tools that do and with similar names."""
    returning = sorted(field_places(search.graph, name), key=lambda one: -one[1])[:_MAX_PROVIDERS]
    if returning:
        could = [_provider(search, one.tool, one.place.path) for one, _ in returning]
        return _told(None, name, could_provide=could, note="No tool that may be used returns it.")
    names = {place.path[-1].key for one in search.graph.tools.values() for place in one.places if place.path}
    near = closest(name, sorted(names - {""}), limit=_MAX_NEAR)
    return _told(None, name, near=near, note="No tool is known to return a field of this name.")
