"""What a picture shows, whatever it is drawn with: boxes, and arrows between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from halflap.core.text import visible
from halflap.graph.edge import path_text
from halflap.graph.workflow import slot_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from halflap.graph.edge import Edge, Ports
    from halflap.graph.workflow import Given, Match, Task, Workflow

__all__ = ["Arrow", "Box", "Drawing", "draw_edges", "draw_workflow"]

_LONGEST = 60
_MOST_LINES = 4


@dataclass(frozen=True, slots=True)
class Box:
    """A tool, a value at hand, or what is wanted or missing."""

    id: str
    lines: tuple[str, ...]
    group: str = ""
    """The server that it belongs to, if it is a tool."""
    kind: Literal["tool", "have", "missing", "want"] = "tool"


@dataclass(frozen=True, slots=True)
class Arrow:
    """What goes from one to the other."""

    source: str
    target: str
    lines: tuple[str, ...] = ()
    dashed: bool = False
    strong: bool = False
    """It goes to another server."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """Boxes and arrows; the text in them is somebody else's and can be anything that has no line ends."""

    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]


def draw_workflow(workflow: Workflow) -> Drawing:
    """Draw a workflow: what is at hand, the steps, what is wanted."""
    made = _Sketch()
    for task in workflow.tasks:
        marks = [_shown(task.ports.server)]
        marks += ["for each"] if task.axes else []
        marks += ["page by page"] if task.paginates is not None else []
        name = task.ports.original_name or task.ports.tool
        made.boxes[task.id] = Box(task.id, (_shown(name), " · ".join(marks)), task.ports.server)
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
            made.arrows.append(Arrow(step, task.id, _few(lines), strong=strong))
    for at, wanted in enumerate(workflow.wanted, 1):
        end = made.boxes[f"w{at}"] = Box(f"w{at}", (_shown(wanted.target.name),), kind="want")
        label = (_shown(path_text(wanted.path)),) if wanted.path else ()
        made.arrows.append(Arrow(wanted.step, end.id, label))
        made.choose(wanted.matches, end.id)
    return Drawing(tuple(made.boxes.values()), tuple(made.arrows))


class _Sketch:
    """The boxes and arrows so far, and the box of each value that is at hand or missing."""

    def __init__(self) -> None:
        self.boxes: dict[str, Box] = {}
        self.arrows: list[Arrow] = []
        self._own: dict[tuple[str, str], str] = {}

    def give(self, task: Task, given: Given) -> None:
        """Draw what goes into a step from nobody's result."""
        slot = slot_text(given.slot)
        if given.origin == "have":
            self.arrows.append(Arrow(self._box("have", given.have, given.have), task.id, (_shown(slot),)))
        elif given.origin == "missing":
            box = self._box("missing", f"{task.id} {slot}", f"{slot}?")
            self.arrows.append(Arrow(box, task.id, (_shown(slot),), dashed=True))

    def choose(self, matches: Iterable[Match], target: str) -> None:
        """Draw what says which items are meant."""
        for one in matches:
            name, sign = one.given.have, "≠" if one.is_other else "="
            label = _shown(f"{path_text(one.path)} {sign} {name}")
            self.arrows.append(Arrow(self._box("have", name, name), target, (label,)))

    def _box(self, kind: Literal["have", "missing"], name: str, text: str) -> str:
        if (kind, name) not in self._own:
            known = self._own[kind, name] = f"v{len(self._own) + 1}"
            self.boxes[known] = Box(known, (_shown(text),), kind=kind)
        return self._own[kind, name]


def draw_edges(edges: Iterable[Edge], tools: Mapping[str, Ports]) -> Drawing:
    """Draw what feeds what: an arrow that only supplies what is optional is dashed."""
    boxes: dict[str, Box] = {}
    arrows: list[Arrow] = []
    listed = sorted(edges, key=lambda one: (one.source, one.target))
    for name in sorted({name for one in listed for name in (one.source, one.target)}):
        ports = tools.get(name)
        server = "" if ports is None else ports.server
        own = name if ports is None else ports.original_name or name
        boxes[name] = Box(f"t{len(boxes) + 1}", (_shown(own), _shown(server)), server)
    for one in listed:
        lines = [_shown(f"{path_text(link.source)} → {slot_text(link.target)}") for link in one.links]
        source, target = boxes[one.source], boxes[one.target]
        arrows.append(
            Arrow(
                source.id,
                target.id,
                _few(lines),
                dashed=one.coverage == "optional",
                strong=source.group != target.group,
            )
        )
    return Drawing(tuple(boxes.values()), tuple(arrows))


def _few(lines: Sequence[str]) -> tuple[str, ...]:
    if len(lines) <= _MOST_LINES:
        return tuple(lines)
    return (*lines[: _MOST_LINES - 1], f"… {len(lines) - _MOST_LINES + 1} more")


def _shown(text: str) -> str:
    return visible(text, _LONGEST)
