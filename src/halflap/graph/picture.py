"""Pictures as text that others draw: Mermaid and DOT, in which nothing that a tool is called is read as their language."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halflap.graph.drawing import draw_edges, draw_workflow

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from halflap.graph.drawing import Arrow, Box, Drawing
    from halflap.graph.edge import Edge, Ports
    from halflap.graph.workflow import Workflow

__all__ = [
    "COLOURS",
    "colours",
    "dot",
    "edges_dot",
    "edges_mermaid",
    "entities",
    "mermaid",
    "workflow_dot",
    "workflow_mermaid",
]

COLOURS = ("#dbeafe", "#dcfce7", "#fef3c7", "#fce7f3", "#ede9fe", "#cffafe", "#ffedd5", "#e2e8f0")
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _.,")
_SHAPES = {"tool": ('["', '"]'), "have": ('(["', '"])'), "missing": ('(["', '"])'), "want": ('{{"', '"}}')}
_DOT_SHAPES = {"tool": "box", "have": "oval", "missing": "oval", "want": "hexagon"}


def workflow_mermaid(workflow: Workflow) -> str:
    """Draw a workflow in Mermaid."""
    return mermaid(draw_workflow(workflow))


def workflow_dot(workflow: Workflow) -> str:
    """Draw a workflow in DOT."""
    return dot(draw_workflow(workflow))


def edges_mermaid(edges: Iterable[Edge], tools: Mapping[str, Ports]) -> str:
    """Draw what feeds what in Mermaid."""
    return mermaid(draw_edges(edges, tools))


def edges_dot(edges: Iterable[Edge], tools: Mapping[str, Ports]) -> str:
    """Draw what feeds what in DOT."""
    return dot(draw_edges(edges, tools))


def colours(drawing: Drawing) -> dict[str, str]:
    """Give each server a colour; of many servers, some share one."""
    groups = sorted({one.group for one in drawing.boxes if one.kind == "tool"})
    return {group: COLOURS[at % len(COLOURS)] for at, group in enumerate(groups)}


def mermaid(drawing: Drawing) -> str:
    """Write a drawing in Mermaid."""
    lines = ["flowchart LR"]
    for box in drawing.boxes:
        opening, closing = _SHAPES[box.kind]
        lines.append(f"    {box.id}{opening}{'<br/>'.join(map(entities, box.lines))}{closing}")
    for arrow in drawing.arrows:
        line = "-.->" if arrow.dashed else "==>" if arrow.strong else "-->"
        label = f'|"{"<br/>".join(map(entities, arrow.lines))}"|' if arrow.lines else ""
        lines.append(f"    {arrow.source} {line}{label} {arrow.target}")
    shades = colours(drawing)
    for at, (group, colour) in enumerate(shades.items()):
        ids = ",".join(one.id for one in drawing.boxes if one.kind == "tool" and one.group == group)
        lines += [f"    classDef server{at} fill:{colour},stroke:#475569", f"    class {ids} server{at}"]
    return "\n".join(lines)


def dot(drawing: Drawing) -> str:
    """Write a drawing in DOT."""
    shades = colours(drawing)
    lines = ["digraph {", "    rankdir=LR", '    node [style=filled, fillcolor=white, fontname="sans-serif"]']
    lines += [f"    {_dot_box(box, shades)}" for box in drawing.boxes]
    lines += [f"    {_dot_arrow(arrow)}" for arrow in drawing.arrows]
    return "\n".join([*lines, "}"])


def _dot_box(box: Box, shades: Mapping[str, str]) -> str:
    colour = f', fillcolor="{shades[box.group]}"' if box.kind == "tool" else ""
    dashed = ', style="filled,dashed"' if box.kind == "missing" else ""
    return f"{box.id} [label={_quoted(box.lines)}, shape={_DOT_SHAPES[box.kind]}{colour}{dashed}]"


def _dot_arrow(arrow: Arrow) -> str:
    settings = [f"label={_quoted(arrow.lines)}"] if arrow.lines else []
    settings += ["style=dashed"] if arrow.dashed else ["style=bold"] if arrow.strong else []
    return f"{arrow.source} -> {arrow.target} [{', '.join(settings)}]"


def entities(text: str) -> str:
    """Write all but letters, digits and a few signs as Mermaid's numbered characters."""
    return "".join(
        one if one in _PLAIN or (one.isalpha() and not one.isascii()) else f"#{ord(one)};" for one in text
    )


def _quoted(lines: Iterable[str]) -> str:
    escaped = (one.replace("\\", "\\\\").replace('"', '\\"') for one in lines)
    return '"' + "\\n".join(escaped) + '"'
