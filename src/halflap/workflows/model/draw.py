"""A net as a picture: text for Mermaid or Graphviz to draw."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halflap.graph.draw import Drawing

if TYPE_CHECKING:
    from halflap.workflows.model.net import Net

_SIGNS = {"and": "∧", "xor": "\u00d7", "or": "○"}


def drawing(net: Net) -> Drawing:
    made = Drawing()
    incoming, outgoing = net.incoming(), net.outgoing()
    names: dict[str, str] = {}
    for node in dict.fromkeys((net.input, *net.tasks, *net.conditions, net.output)):
        name = names[node] = f"n{len(names) + 1}"
        task = net.tasks.get(node)
        if task is None:
            mark = {net.input: "▶", net.output: "■"}.get(node)
            made.box(name, "place", *_lines([mark], [net.conditions[node].label]))
            continue
        duration = None if task.duration is None else f"{task.duration:g} s"
        cost = None if task.cost is None else f"cost {task.cost:g}"
        gates = [f"{_SIGNS[task.join]} join" if len(incoming[node]) > 1 else None]
        gates += [f"{_SIGNS[task.split]} split" if len(outgoing[node]) > 1 else None]
        lines = _lines([task.label or "τ"], [duration, cost, task.resource], gates)
        made.box(name, "tool" if task.label else "silent", *lines)
    xpaths = {one.at: one.text for one in net.kept if one.name == "predicate"}
    for flow in net.flows:
        chance = None if flow.probability is None else f"{flow.probability:g}"
        stated = [chance, "default" if flow.default else None]
        made.arrow(
            names[flow.source], names[flow.target], _lines([flow.predicate or xpaths.get(flow.key)], stated)
        )
    return made


def _lines(*lines: list[str | None]) -> list[str]:
    """Return each line with its words; without empty lines."""
    return [" · ".join(" ".join(one.split()) for one in line if one) for line in lines if any(line)]
