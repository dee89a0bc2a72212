"""A net as a picture: Mermaid for others to draw, and SVG laid out in layers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import unescape
from typing import TYPE_CHECKING, Literal
from xml.sax.saxutils import escape

from halflap.core.errors import WorkflowError
from halflap.core.text import visible
from halflap.graph.draw import entities
from halflap.workflows.layout import Spot, lay_out, places_of
from halflap.workflows.svg import around, label_size, small, through

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.workflows.net import Flow, Net, Task

__all__ = ["net_mermaid", "net_svg"]

_LONGEST = 60
_SIGNS = {"and": "∧", "xor": "\u00d7", "or": "○"}
_LETTER, _LINE, _PAD, _GATE = 7.5, 17, 11, 18
_ROUND, _UNDER, _EDGE, _LOOP = 30.0, 16, 22, 26
_SMALL = 6.2
_SILENT = "τ"
_MOST_PLACES = 200_000
"""Laying out takes some seconds for that many."""


@dataclass(frozen=True, slots=True)
class _Node:
    """A task or a condition as it is drawn; gates only where there is something to join or to split."""

    id: str
    kind: Literal["task", "silent", "condition", "input", "output"]
    lines: tuple[str, ...]
    join: str = ""
    split: str = ""

    @property
    def round(self) -> bool:
        return self.kind in {"condition", "input", "output"}


@dataclass(frozen=True, slots=True)
class _Arrow:
    source: str
    target: str
    lines: tuple[str, ...]


def net_mermaid(net: Net) -> str:
    """Draw a net in Mermaid: conditions are round, the gates stand under a task's name."""
    nodes, arrows = _drawn(net)
    lines = ["flowchart LR"]
    for node in nodes:
        gates = [f"{_SIGNS[node.join]} join"] if node.join else []
        gates += [f"{_SIGNS[node.split]} split"] if node.split else []
        words = [*node.lines, *([" · ".join(gates)] if gates else [])]
        if node.kind in {"input", "output"}:
            words = ["▶" if node.kind == "input" else "■", *words]
        text = "<br/>".join(map(entities, words)) or " "
        opening, closing = ('(("', '"))') if node.round else ('["', '"]')
        lines.append(f"    {node.id}{opening}{text}{closing}")
    for arrow in arrows:
        label = f'|"{"<br/>".join(map(entities, arrow.lines))}"|' if arrow.lines else ""
        lines.append(f"    {arrow.source} -->{label} {arrow.target}")
    silent = ",".join(node.id for node in nodes if node.kind == "silent")
    if silent:
        lines += ["    classDef silent stroke-dasharray:4 3,color:#64748b", f"    class {silent} silent"]
    return "\n".join(lines)


def net_svg(net: Net) -> str:
    """Draw a net as SVG: conditions are circles, gates are strips at a task's sides, what comes first stands left."""
    nodes, arrows = _drawn(net)
    sizes = {node.id: _size(node) for node in nodes}
    ends = [(one.source, one.target, label_size(one.lines)) for one in arrows]
    places = places_of(sizes, ends)
    if places > _MOST_PLACES:
        raise WorkflowError(
            [
                (
                    "",
                    f"{places:,} boxes and bends of arrows would have to be placed; at most {_MOST_PLACES:,} are. Draw it as Mermaid, or take parts of it out into nets of their own.",
                )
            ],
            f"The workflow {net.id!r} is too large to be drawn as SVG.",
        )
    laid = lay_out(sizes, ends)
    # An arrow ends at the circle, though the name under it may be wider.
    shapes = {node.id: _middle(laid.boxes[node.id]) if node.round else laid.boxes[node.id] for node in nodes}
    spots = [*laid.boxes.values(), *(one for one in laid.labels if one is not None)]
    spots += [spot for way in laid.ways for spot in way]
    width = max((one.x + one.width for one in spots), default=0.0) + _EDGE
    height = max((one.y + one.height for one in spots), default=0.0) + _LOOP + _EDGE
    parts = [_head(width, height)]
    for arrow, way, label in zip(arrows, laid.ways, laid.labels, strict=True):
        own = laid.boxes[arrow.source]
        if arrow.source == arrow.target:
            path = around(own)
        else:
            path = through([shapes[arrow.source], *way[1:-1], shapes[arrow.target]])
        parts.append(
            f'<path d="{path}" fill="none" stroke="#475569" stroke-width="1.2" marker-end="url(#tip)"/>'
        )
        if arrow.lines:
            at = Spot(own.x, own.y + own.height + _LOOP, own.width, 0) if label is None else label
            parts.append(small(arrow.lines, at.x + at.width / 2, at.y + 10))
    parts += [_shape(node, laid.boxes[node.id]) for node in nodes]
    return "\n".join([*parts, "</svg>"])


def _drawn(net: Net) -> tuple[list[_Node], list[_Arrow]]:
    into = {name: len(flows) for name, flows in net.incoming().items()}
    out = {name: len(flows) for name, flows in net.outgoing().items()}
    ordered = dict.fromkeys((net.input, *net.tasks, *net.conditions, net.output))
    names = {name: f"n{at}" for at, name in enumerate(ordered, 1)}
    nodes: list[_Node] = []
    for name in ordered:
        task = net.tasks.get(name)
        if task is not None:
            join, split = task.join if into[name] > 1 else "", task.split if out[name] > 1 else ""
            kind: Literal["task", "silent"] = "silent" if task.label is None else "task"
            nodes.append(_Node(names[name], kind, _told(task), join, split))
            continue
        label = net.conditions[name].label
        where: Literal["condition", "input", "output"] = (
            "input" if name == net.input else "output" if name == net.output else "condition"
        )
        nodes.append(_Node(names[name], where, () if label is None else (_shown(label),)))
    kept = {one.at: one.text for one in net.kept if one.name == "predicate"}
    arrows = [_Arrow(names[flow.source], names[flow.target], _said(flow, kept)) for flow in net.flows]
    return nodes, arrows


def _told(task: Task) -> tuple[str, ...]:
    marks = [f"{task.duration:g} s"] if task.duration is not None else []
    marks += [f"cost {task.cost:g}"] if task.cost is not None else []
    marks += [_shown(task.resource)] if task.resource is not None else []
    name = _SILENT if task.label is None else _shown(task.label)
    return (name, " · ".join(marks)) if marks else (name,)


def _said(flow: Flow, kept: Mapping[str, str]) -> tuple[str, ...]:
    predicate = flow.predicate
    if predicate is None and (raw := kept.get(f"{flow.source} -> {flow.target}")):
        predicate = unescape(re.sub("<[^>]*>", "", raw))
    words = [_shown(predicate)] if predicate is not None else []
    marks = [f"{flow.probability:g}"] if flow.probability is not None else []
    marks += ["default"] if flow.default else []
    return (*words, " · ".join(marks)) if marks else tuple(words)


def _shown(text: str) -> str:
    return visible(" ".join(text.split()), _LONGEST)


def _size(node: _Node) -> tuple[float, float]:
    if node.round:
        wide = _SMALL * max(map(len, node.lines), default=0)
        # As much above as below, so that the circle is in the middle.
        return max(_ROUND, wide), _ROUND + 2 * _UNDER * bool(node.lines)
    gates = _GATE * (bool(node.join) + bool(node.split))
    return (
        2 * _PAD + _LETTER * max(map(len, node.lines)) + gates,
        2 * _PAD + _LINE * len(node.lines),
    )


def _middle(spot: Spot) -> Spot:
    return Spot(spot.x + (spot.width - _ROUND) / 2, spot.y, _ROUND, spot.height)


def _head(width: float, height: float) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" font-family="system-ui, sans-serif" font-size="13">'
        '<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" '
        'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L10 5L0 10z" fill="#475569"/></marker>'
        '</defs><rect width="100%" height="100%" fill="white"/>'
    )


def _shape(node: _Node, spot: Spot) -> str:
    return _circle(node, spot) if node.round else _box(node, spot)


def _circle(node: _Node, spot: Spot) -> str:
    x, y, half = spot.x + spot.width / 2, spot.middle, _ROUND / 2
    inner = {
        "input": f'<path d="M{x - 5:.1f} {y - 7:.1f}L{x + 8:.1f} {y:.1f}L{x - 5:.1f} {y + 7:.1f}z" fill="#16a34a"/>',
        "output": f'<rect x="{x - 6:.1f}" y="{y - 6:.1f}" width="12" height="12" fill="#dc2626"/>',
    }.get(node.kind, "")
    name = small(node.lines, x, y + half + 12) if node.lines else ""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{half:.1f}" fill="white" stroke="#475569"/>{inner}{name}'


def _box(node: _Node, spot: Spot) -> str:
    left, right = _GATE * bool(node.join), _GATE * bool(node.split)
    dashed = ' stroke-dasharray="4 3"' if node.kind == "silent" else ""
    fill = "#f8fafc" if node.kind == "silent" else "#dbeafe"
    middle = spot.x + left + (spot.width - left - right) / 2
    faint = ' fill="#64748b" font-size="11"'
    lines = "".join(
        f'<tspan x="{middle:.1f}" dy="{_LINE if at else 0}"{faint if at else ""}>{escape(line)}</tspan>'
        for at, line in enumerate(node.lines)
    )
    return (
        f'<rect x="{spot.x:.1f}" y="{spot.y:.1f}" width="{spot.width:.1f}" height="{spot.height:.1f}" rx="4" '
        f'fill="{fill}" stroke="#475569"{dashed}/>'
        + _strip(spot, spot.x, node.join)
        + _strip(spot, spot.x + spot.width - _GATE, node.split)
        + f'<text text-anchor="middle" x="{middle:.1f}" y="{spot.y + _PAD + 13:.1f}">{lines}</text>'
    )


def _strip(spot: Spot, x: float, gate: str) -> str:
    if not gate:
        return ""
    return (
        f'<rect x="{x:.1f}" y="{spot.y:.1f}" width="{_GATE}" height="{spot.height:.1f}" rx="3" fill="#e2e8f0" '
        f'stroke="#475569"><title>{gate}</title></rect>'
        f'<text text-anchor="middle" x="{x + _GATE / 2:.1f}" y="{spot.middle + 5:.1f}">{_SIGNS[gate]}</text>'
    )
