"""Pictures in Mermaid and DOT, in which no name of a tool is read as part of their language."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from halflap.core.text import visible
from halflap.graph.paths import path_text, slot_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from halflap.graph.edges import Edge
    from halflap.graph.ports import Ports
    from halflap.graph.workflow import Given, Match, Task, Workflow

__all__ = ["edges_dot", "edges_mermaid", "entities", "workflow_dot", "workflow_mermaid"]

_MAX_TEXT = 60
_MAX_LINES = 4
_COLOURS = ("#dbeafe", "#dcfce7", "#fef3c7", "#fce7f3", "#ede9fe", "#cffafe", "#ffedd5", "#e2e8f0")
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _.,")
_SHAPES = {"tool": ('["', '"]'), "have": ('(["', '"])'), "missing": ('(["', '"])'), "want": ('{{"', '"}}')}
_DOT_SHAPES = {"tool": "box", "have": "oval", "missing": "oval", "want": "hexagon"}


def workflow_mermaid(workflow: Workflow) -> str:
    return _mermaid(_draw_workflow(workflow))


def workflow_dot(workflow: Workflow) -> str:
    return _dot(_draw_workflow(workflow))


def edges_mermaid(edges: Iterable[Edge], tools: Mapping[str, Ports]) -> str:
    return _mermaid(_draw_edges(edges, tools))


def edges_dot(edges: Iterable[Edge], tools: Mapping[str, Ports]) -> str:
    return _dot(_draw_edges(edges, tools))


@dataclass(frozen=True, slots=True)
class _Box:
    """A tool, a value of `have`, or something wanted or missing."""

    id: str
    lines: tuple[str, ...]
    group: str = ""
    """The server of a tool."""
    kind: Literal["tool", "have", "missing", "want"] = "tool"


@dataclass(frozen=True, slots=True)
class _Arrow:
    """What goes from one box to another."""

    source: str
    target: str
    lines: tuple[str, ...] = ()
    dashed: bool = False
    strong: bool = False
    """It goes to another server."""


@dataclass(frozen=True, slots=True)
class _Drawing:
    """Boxes and arrows; their text comes from servers and can be anything without line ends."""

    boxes: tuple[_Box, ...]
    arrows: tuple[_Arrow, ...]


def _draw_workflow(workflow: Workflow) -> _Drawing:
    """Draw a workflow: the values of `have`, the steps, what is wanted."""
    made = _Sketch()
    for task in workflow.tasks:
        marks = [_shown(task.ports.server)]
        marks += ["for each"] if task.axes else []
        marks += ["page by page"] if task.paginates is not None else []
        name = task.ports.original_name or task.ports.tool
        made.boxes[task.id] = _Box(task.id, (_shown(name), " · ".join(marks)), task.ports.server)
    for task in workflow.tasks:
        for one in task.arguments:
            made.give(task, one)
        made.choose(task.matches, task.id)
        for step in task.sources:
            lines = [
                _shown(f"{path_text(one.source)} → {slot_text(one.slot)}")
                for one in task.arguments
                if one.origin == "step" and one.step == step
            ]
            strong = workflow.order[step].ports.server != task.ports.server
            made.arrows.append(_Arrow(step, task.id, _few(lines), strong=strong))
    for at, wanted in enumerate(workflow.wanted, 1):
        end = made.boxes[f"w{at}"] = _Box(f"w{at}", (_shown(wanted.target.name),), kind="want")
        label = (_shown(path_text(wanted.path)),) if wanted.path else ()
        made.arrows.append(_Arrow(wanted.step, end.id, label))
        made.choose(wanted.matches, end.id)
    return _Drawing(tuple(made.boxes.values()), tuple(made.arrows))


class _Sketch:
    """The boxes and arrows so far, and the box of each value that is given or missing."""

    def __init__(self) -> None:
        self.boxes: dict[str, _Box] = {}
        self.arrows: list[_Arrow] = []
        self._own: dict[tuple[str, str], str] = {}

    def give(self, task: Task, given: Given) -> None:
        """Draw what goes into a step other than from a result."""
        slot = slot_text(given.slot)
        if given.origin == "have":
            self.arrows.append(_Arrow(self._box("have", given.have, given.have), task.id, (_shown(slot),)))
        elif given.origin == "missing":
            box = self._box("missing", f"{task.id} {slot}", f"{slot}?")
            self.arrows.append(_Arrow(box, task.id, (_shown(slot),), dashed=True))

    def choose(self, matches: Iterable[Match], target: str) -> None:
        """Draw filters."""
        for one in matches:
            name = one.given.have
            label = _shown(f"{path_text(one.path)} = {name}")
            self.arrows.append(_Arrow(self._box("have", name, name), target, (label,)))

    def _box(self, kind: Literal["have", "missing"], name: str, text: str) -> str:
        if (kind, name) not in self._own:
            known = self._own[kind, name] = f"v{len(self._own) + 1}"
            self.boxes[known] = _Box(known, (_shown(text),), kind=kind)
        return self._own[kind, name]


def _draw_edges(edges: Iterable[Edge], tools: Mapping[str, Ports]) -> _Drawing:
    """Draw edges; one that only supplies optional parameters is dashed."""
    boxes: dict[str, _Box] = {}
    arrows: list[_Arrow] = []
    listed = sorted(edges, key=lambda one: (one.source, one.target))
    for name in sorted({name for one in listed for name in (one.source, one.target)}):
        ports = tools.get(name)
        server = "" if ports is None else ports.server
        own = name if ports is None else ports.original_name or name
        boxes[name] = _Box(f"t{len(boxes) + 1}", (_shown(own), _shown(server)), server)
    for one in listed:
        lines = [_shown(f"{path_text(link.source)} → {slot_text(link.target)}") for link in one.links]
        source, target = boxes[one.source], boxes[one.target]
        arrows.append(
            _Arrow(
                source.id,
                target.id,
                _few(lines),
                dashed=one.coverage == "optional",
                strong=source.group != target.group,
            )
        )
    return _Drawing(tuple(boxes.values()), tuple(arrows))


def _few(lines: Sequence[str]) -> tuple[str, ...]:
    if len(lines) <= _MAX_LINES:
        return tuple(lines)
    return (*lines[: _MAX_LINES - 1], f"… {len(lines) - _MAX_LINES + 1} more")


def _shown(text: str) -> str:
    return visible(text, _MAX_TEXT)


def _colours(drawing: _Drawing) -> dict[str, str]:
    """Return a colour for each server; many servers share some."""
    groups = sorted({one.group for one in drawing.boxes if one.kind == "tool"})
    return {group: _COLOURS[at % len(_COLOURS)] for at, group in enumerate(groups)}


def _mermaid(drawing: _Drawing) -> str:
    lines = ["flowchart LR"]
    for box in drawing.boxes:
        opening, closing = _SHAPES[box.kind]
        lines.append(f"    {box.id}{opening}{'<br/>'.join(map(entities, box.lines))}{closing}")
    for arrow in drawing.arrows:
        line = "-.->" if arrow.dashed else "==>" if arrow.strong else "-->"
        label = f'|"{"<br/>".join(map(entities, arrow.lines))}"|' if arrow.lines else ""
        lines.append(f"    {arrow.source} {line}{label} {arrow.target}")
    shades = _colours(drawing)
    for at, (group, colour) in enumerate(shades.items()):
        ids = ",".join(one.id for one in drawing.boxes if one.kind == "tool" and one.group == group)
        lines += [f"    classDef server{at} fill:{colour},stroke:#475569", f"    class {ids} server{at}"]
    return "\n".join(lines)


def _dot(drawing: _Drawing) -> str:
    shades = _colours(drawing)
    lines = ["digraph {", "    rankdir=LR", '    node [style=filled, fillcolor=white, fontname="sans-serif"]']
    lines += [f"    {_dot_box(box, shades)}" for box in drawing.boxes]
    lines += [f"    {_dot_arrow(arrow)}" for arrow in drawing.arrows]
    return "\n".join([*lines, "}"])


def _dot_box(box: _Box, shades: Mapping[str, str]) -> str:
    colour = f', fillcolor="{shades[box.group]}"' if box.kind == "tool" else ""
    dashed = ', style="filled,dashed"' if box.kind == "missing" else ""
    return f"{box.id} [label={_quoted(box.lines)}, shape={_DOT_SHAPES[box.kind]}{colour}{dashed}]"


def _dot_arrow(arrow: _Arrow) -> str:
    settings = [f"label={_quoted(arrow.lines)}"] if arrow.lines else []
    settings += ["style=dashed"] if arrow.dashed else ["style=bold"] if arrow.strong else []
    return f"{arrow.source} -> {arrow.target} [{', '.join(settings)}]"


def entities(text: str) -> str:
    """Write all but letters, digits and a few signs as Mermaid's numbered entities."""
    return "".join(
        one if one in _PLAIN or (one.isalpha() and not one.isascii()) else f"#{ord(one)};" for one in text
    )


def _quoted(lines: Iterable[str]) -> str:
    escaped = (one.replace("\\", "\\\\").replace('"', '\\"') for one in lines)
    return '"' + "\\n".join(escaped) + '"'
