"""Diagrams in Mermaid and DOT; names of tools are escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from halflap.core.text import visible
from halflap.graph.paths import path_text, slot_text

if TYPE_CHECKING:
    from halflap.graph.edges import Edge
    from halflap.graph.ports import Ports
    from halflap.graph.workflow import Match, Task, Workflow

_MAX_TEXT = 60
_MAX_LINES = 4
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _.,")

_Kind = Literal["tool", "silent", "place", "value", "want"]
_SHAPES: dict[_Kind, tuple[str, str]] = {
    "tool": ('["', '"]'),
    "silent": ('[["', '"]]'),
    "place": ('(("', '"))'),
    "value": ('(["', '"])'),
    "want": ('{{"', '"}}'),
}


class _Arrow(NamedTuple):
    """A connection between two boxes."""

    source: str
    target: str
    lines: Sequence[str] = ()
    dashed: bool = False
    strong: bool = False
    """Whether it leads to another server."""


class Drawing:
    """Boxes and arrows; their text comes from servers and can be anything."""

    def __init__(self) -> None:
        self.boxes: dict[str, tuple[_Kind, list[str]]] = {}
        self.arrows: list[_Arrow] = []
        self._values: dict[str, str] = {}

    def box(self, name: str, kind: _Kind, *lines: str) -> str:
        self.boxes[name] = kind, [_shown(one) for one in lines]
        return name

    def arrow(
        self, source: str, target: str, lines: Sequence[str], *, dashed: bool = False, strong: bool = False
    ) -> None:
        few = [_shown(one) for one in lines[:_MAX_LINES]]
        if len(lines) > _MAX_LINES:
            few[-1] = f"… {len(lines) - _MAX_LINES + 1} more"
        self.arrows.append(_Arrow(source, target, few, dashed, strong))

    def value(self, key: str, text: str) -> str:
        """Return the box of a value that is given or missing."""
        if key not in self._values:
            self._values[key] = self.box(f"v{len(self._values) + 1}", "value", text)
        return self._values[key]

    def mermaid(self) -> str:
        lines = ["flowchart LR"]
        for name, (kind, texts) in self.boxes.items():
            opening, closing = _SHAPES[kind]
            lines.append(f"    {name}{opening}{'<br/>'.join(map(_entities, texts)) or ' '}{closing}")
        for arrow in self.arrows:
            line = "-.->" if arrow.dashed else "==>" if arrow.strong else "-->"
            label = f'|"{"<br/>".join(map(_entities, arrow.lines))}"|' if arrow.lines else ""
            lines.append(f"    {arrow.source} {line}{label} {arrow.target}")
        return "\n".join(lines)

    def dot(self) -> str:
        lines = ["digraph {", "    rankdir=LR", "    node [shape=box]"]
        lines += [f"    {name} [label={_quoted(texts)}]" for name, (_, texts) in self.boxes.items()]
        for arrow in self.arrows:
            style = ", style=dashed" if arrow.dashed else ", style=bold" if arrow.strong else ""
            lines.append(f"    {arrow.source} -> {arrow.target} [label={_quoted(arrow.lines)}{style}]")
        return "\n".join([*lines, "}"])


def workflow_mermaid(workflow: Workflow) -> str:
    """Draw a workflow: the values of `have`, the steps, and the result."""
    made = Drawing()
    for task in workflow.tasks:
        marks = [task.ports.server]
        marks += ["for each"] if task.axes else []
        marks += ["page by page"] if task.paginates is not None else []
        made.box(task.id, "tool", task.ports.name, " · ".join(marks))
    for task in workflow.tasks:
        _draw_arguments(made, workflow, task)
    for at, wanted in enumerate(workflow.wanted, 1):
        end = made.box(f"w{at}", "want", wanted.target.name)
        made.arrow(wanted.step, end, [path_text(wanted.path)] if wanted.path else [])
        _draw_filters(made, wanted.matches, end)
    return made.mermaid()


def _draw_arguments(made: Drawing, workflow: Workflow, task: Task) -> None:
    for one in task.arguments:
        slot = slot_text(one.slot)
        if one.origin == "have":
            made.arrow(made.value(one.have, one.have), task.id, [slot])
        elif one.origin == "missing":
            made.arrow(made.value(f"{task.id} {slot}", f"{slot}?"), task.id, [slot], dashed=True)
    _draw_filters(made, task.matches, task.id)
    for step in task.sources:
        given = [one for one in task.arguments if one.origin == "step" and one.step == step]
        lines = [f"{path_text(one.source)} → {slot_text(one.slot)}" for one in given]
        strong = workflow.order[step].ports.server != task.ports.server
        made.arrow(step, task.id, lines, strong=strong)


def _draw_filters(made: Drawing, matches: Iterable[Match], target: str) -> None:
    for one in matches:
        name = one.given.have
        made.arrow(made.value(name, name), target, [f"{path_text(one.path)} = {name}"])


def edges_mermaid(edges: Iterable[Edge], tools: Mapping[str, Ports]) -> str:
    return _draw_edges(edges, tools).mermaid()


def edges_dot(edges: Iterable[Edge], tools: Mapping[str, Ports]) -> str:
    return _draw_edges(edges, tools).dot()


def _draw_edges(edges: Iterable[Edge], tools: Mapping[str, Ports]) -> Drawing:
    """Draw edges; one that only supplies optional parameters is dashed."""
    made = Drawing()
    listed = sorted(edges, key=lambda one: (one.source, one.target))
    names = sorted({name for one in listed for name in (one.source, one.target)})
    boxes = {
        name: made.box(f"t{at}", "tool", tools[name].name, tools[name].server)
        for at, name in enumerate(names, 1)
    }
    for one in listed:
        lines = [f"{path_text(link.source)} → {slot_text(link.target)}" for link in one.links]
        strong = tools[one.source].server != tools[one.target].server
        dashed = one.coverage == "optional"
        made.arrow(boxes[one.source], boxes[one.target], lines, dashed=dashed, strong=strong)
    return made


def _shown(text: str) -> str:
    return visible(text, _MAX_TEXT)


def _entities(text: str) -> str:
    """Write all but letters, digits and a few signs as Mermaid's numbered entities."""
    return "".join(
        one if one in _PLAIN or (one.isalpha() and not one.isascii()) else f"#{ord(one)};" for one in text
    )


def _quoted(lines: Iterable[str]) -> str:
    escaped = (one.replace("\\", "\\\\").replace('"', '\\"') for one in lines)
    return '"' + "\\n".join(escaped) + '"'
