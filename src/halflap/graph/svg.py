"""Pictures as SVG, laid out in layers: what feeds stands left of what it feeds."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from halflap.core.text import visible
from halflap.graph.drawing import draw_edges, draw_workflow
from halflap.graph.layout import lay_out
from halflap.graph.picture import colours

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from halflap.graph.drawing import Arrow, Box, Drawing
    from halflap.graph.edge import Edge, Ports
    from halflap.graph.layout import Size, Spot
    from halflap.graph.workflow import Workflow

__all__ = ["around", "edges_svg", "label_size", "small", "svg", "through", "workflow_svg"]

_LETTER, _LINE, _PAD = 7.5, 17, 11
_SMALL, _SMALL_LINE, _UNDER = 6.2, 13, 6
_EDGE = 22
_LOOP = 26
_FAINT = ' fill="#64748b" font-size="11"'
_LONGEST_SERVER = 40


def workflow_svg(workflow: Workflow) -> str:
    """Draw a workflow as SVG."""
    return svg(draw_workflow(workflow))


def edges_svg(edges: Iterable[Edge], tools: Mapping[str, Ports]) -> str:
    """Draw what feeds what as SVG: a colour for each server, dashed what only supplies what is optional."""
    return svg(draw_edges(edges, tools))


def svg(drawing: Drawing) -> str:
    """Write a drawing as SVG."""
    sizes = {one.id: _box_size(one) for one in drawing.boxes}
    laid = lay_out(sizes, [(one.source, one.target, label_size(one.lines)) for one in drawing.arrows])
    shades = colours(drawing)
    spots = [*laid.boxes.values(), *(one for one in laid.labels if one is not None)]
    below = max((one.y + one.height for one in spots), default=0.0) + _LOOP + _LINE
    legend, legend_width = _legend(shades, below)
    width = max([*(one.x + one.width for one in spots), legend_width]) + _EDGE
    height = below + _LINE + _EDGE / 2
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" font-family="system-ui, sans-serif" font-size="13">'
        '<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" '
        'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L10 5L0 10z" fill="#475569"/></marker></defs>'
        '<rect width="100%" height="100%" fill="white"/>'
    )
    parts: list[str] = []
    for arrow, way, label in zip(drawing.arrows, laid.ways, laid.labels, strict=True):
        own = laid.boxes[arrow.source]
        parts.append(_line(arrow, around(own) if arrow.source == arrow.target else through(way)))
        if label is not None and arrow.lines:
            parts.append(small(arrow.lines, label.x + label.width / 2, label.y + _SMALL_LINE - 3))
        elif arrow.lines:
            parts.append(small(arrow.lines, own.x + own.width / 2, own.y + own.height + _LOOP + _UNDER))
    parts += [_box(one, laid.boxes[one.id], shades) for one in drawing.boxes]
    return "\n".join([head, *parts, *legend, "</svg>"])


def _box_size(box: Box) -> Size:
    return 2 * _PAD + _LETTER * max(map(len, box.lines)), 2 * _PAD + _LINE * len(box.lines)


def label_size(lines: Sequence[str]) -> Size:
    """Give the room that small text needs on an arrow."""
    return _SMALL * max(map(len, lines), default=0), _SMALL_LINE * len(lines) + _UNDER


def _box(box: Box, spot: Spot, shades: Mapping[str, str]) -> str:
    fill = shades[box.group] if box.kind == "tool" else "white"
    dashed = ' stroke-dasharray="5 4"' if box.kind == "missing" else ""
    corner = {"tool": 6, "want": 0}.get(box.kind, 16)
    thick = 2 if box.kind == "want" else 1
    middle = spot.x + spot.width / 2
    lines = "".join(
        f'<tspan x="{middle:.1f}" dy="{_LINE if at else 0}"{_FAINT if at else ""}>{escape(line)}</tspan>'
        for at, line in enumerate(box.lines)
    )
    return (
        f'<rect x="{spot.x:.1f}" y="{spot.y:.1f}" width="{spot.width:.1f}" height="{spot.height:.1f}" rx="{corner}" '
        f'fill="{fill}" stroke="#475569" stroke-width="{thick}"{dashed}/>'
        f'<text text-anchor="middle" x="{middle:.1f}" y="{spot.y + _PAD + 13:.1f}">{lines}</text>'
    )


def _line(arrow: Arrow, path: str) -> str:
    dashed = ' stroke-dasharray="6 4"' if arrow.dashed else ""
    thick = 2.6 if arrow.strong else 1.2
    return f'<path d="{path}" fill="none" stroke="#475569" stroke-width="{thick}"{dashed} marker-end="url(#tip)"/>'


def around(spot: Spot) -> str:
    """Write the way of an arrow from a box to itself."""
    x, y, low = spot.x + spot.width / 2, spot.y + spot.height, spot.y + spot.height + _LOOP
    return f"M{x - 16:.1f} {y:.1f}C{x - 16:.1f} {low:.1f} {x + 16:.1f} {low:.1f} {x + 16:.1f} {y:.1f}"


def through(way: Sequence[Spot]) -> str:
    """Write the way of an arrow: level under its label and past boxes, bent in between."""
    forth = way[0].x < way[-1].x
    first, *between, last = way
    x = first.x + first.width if forth else first.x
    y = first.middle
    path = f"M{x:.1f} {y:.1f}"
    for spot in between:
        near, far = (spot.x, spot.x + spot.width) if forth else (spot.x + spot.width, spot.x)
        level = spot.y + spot.height - 2
        path += _bend(x, y, near, level) + f"H{far:.1f}"
        x, y = far, level
    return path + _bend(x, y, last.x if forth else last.x + last.width, last.middle)


def _bend(x1: float, y1: float, x2: float, y2: float) -> str:
    half = (x1 + x2) / 2
    return f"C{half:.1f} {y1:.1f} {half:.1f} {y2:.1f} {x2:.1f} {y2:.1f}"


def small(lines: Sequence[str], x: float, y: float) -> str:
    """Write small text, its first line at a height, its middle at a distance from the left."""
    spans = "".join(
        f'<tspan x="{x:.1f}" dy="{_SMALL_LINE if at else 0}">{escape(line)}</tspan>'
        for at, line in enumerate(lines)
    )
    return f'<text text-anchor="middle" x="{x:.1f}" y="{y:.1f}" font-size="11" fill="#334155">{spans}</text>'


def _legend(shades: Mapping[str, str], y: float) -> tuple[list[str], float]:
    parts: list[str] = []
    x = float(_EDGE)
    for group, colour in shades.items():
        name = visible(group, _LONGEST_SERVER)
        parts.append(
            f'<rect x="{x:.1f}" y="{y - 10:.1f}" width="12" height="12" fill="{colour}" stroke="#475569"/>'
            f'<text x="{x + 17:.1f}" y="{y:.1f}" font-size="11">{escape(name)}</text>'
        )
        x += 34 + _SMALL * len(name)
    return parts, x
