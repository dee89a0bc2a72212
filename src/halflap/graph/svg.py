"""Pictures as SVG, laid out in layers: what feeds stands left of what it feeds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from halflap.graph.drawing import draw_edges, draw_workflow
from halflap.graph.picture import colours
from halflap.schema import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from halflap.graph.drawing import Arrow, Box, Drawing
    from halflap.graph.edge import Edge, Ports
    from halflap.graph.workflow import Workflow

__all__ = ["edges_svg", "svg", "workflow_svg"]

_LETTER, _LINE, _PAD = 7.3, 17, 12
_SMALL = 6.0
_GAP, _BETWEEN, _EDGE = 70, 26, 24
_SWEEPS = 8
_LOOP = 26
_FAINT = ' fill="#64748b" font-size="11"'


@dataclass
class _Spot:
    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        return self.y + self.height / 2


def workflow_svg(workflow: Workflow) -> str:
    """Draw a workflow as SVG."""
    return svg(draw_workflow(workflow))


def edges_svg(edges: Iterable[Edge], tools: Mapping[str, Ports]) -> str:
    """Draw what feeds what as SVG."""
    return svg(draw_edges(edges, tools))


def svg(drawing: Drawing) -> str:
    """Write a drawing as SVG."""
    spots = _spots(drawing)
    shades = colours(drawing)
    width = max((one.x + one.width for one in spots.values()), default=0.0) + _EDGE
    height = max((one.y + one.height for one in spots.values()), default=0.0) + _EDGE + _LOOP
    legend = _legend(shades, height) if any(shades) else []
    height += _LINE * 1.5 if legend else 0
    wide = max([width, *(20 + 30 * len(legend) + _LETTER * sum(map(len, shades)) for _ in legend[:1])])
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0f} {height:.0f}" '
        f'width="{wide:.0f}" height="{height:.0f}" font-family="system-ui, sans-serif" font-size="13">'
        '<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
        'orient="auto-start-reverse"><path d="M0 0L10 5L0 10z" fill="#475569"/></marker></defs>'
        '<rect width="100%" height="100%" fill="white"/>'
    )
    parts = [_line(arrow, spots) for arrow in drawing.arrows]
    parts += [_box(box, spots[box.id], shades) for box in drawing.boxes]
    parts += [_label(arrow, spots) for arrow in drawing.arrows if arrow.lines]
    return "\n".join([head, *parts, *legend, "</svg>"])


def _spots(drawing: Drawing) -> dict[str, _Spot]:
    """Place the boxes: a column for each layer, in it those near each other that belong together."""
    layers = _layers(drawing)
    boxes = {one.id: one for one in drawing.boxes}
    spots: dict[str, _Spot] = {}
    x = float(_EDGE)
    tallest = max((sum(_height(boxes[one]) + _BETWEEN for one in layer) for layer in layers), default=0.0)
    for at, layer in enumerate(layers):
        widest = max(_width(boxes[one]) for one in layer)
        y = _EDGE + (tallest - sum(_height(boxes[one]) + _BETWEEN for one in layer)) / 2
        for one in layer:
            width = _width(boxes[one])
            spots[one] = _Spot(x + (widest - width) / 2, y, width, _height(boxes[one]))
            y += _height(boxes[one]) + _BETWEEN
        here, after = set(layer), set(layers[at + 1]) if at + 1 < len(layers) else set()
        labels = [
            _SMALL * max(map(len, arrow.lines))
            for arrow in drawing.arrows
            if arrow.lines
            and (
                (arrow.source in here and arrow.target in after)
                or (arrow.target in here and arrow.source in after)
            )
        ]
        x += widest + _GAP + max(labels, default=0.0)
    return spots


def _layers(drawing: Drawing) -> list[list[str]]:
    """Give each box a layer after all that it comes from, as far as cycles let it."""
    into: dict[str, list[str]] = {one.id: [] for one in drawing.boxes}
    out: dict[str, list[str]] = {one.id: [] for one in drawing.boxes}
    for arrow in _forward(drawing):
        into[arrow.target].append(arrow.source)
        out[arrow.source].append(arrow.target)
    depth: dict[str, int] = {}
    left = {one: len(into[one]) for one in into}
    ready = [one for one in into if not left[one]]
    for one in ready:
        depth[one] = max((depth[source] + 1 for source in into[one]), default=0)
        for target in out[one]:
            left[target] -= 1
            if not left[target]:
                ready.append(target)
    # What has nothing before it stands right before what it feeds, not far off at the left.
    for one in reversed(ready):
        if out[one] and not into[one]:
            depth[one] = min(depth[target] for target in out[one]) - 1
    layers: list[list[str]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for one in into:
        layers[depth[one]].append(one)
    layers = [one for one in layers if one]
    for sweep in range(_SWEEPS):
        beside = into if sweep % 2 == 0 else out
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            at = {one: place for other in layers for place, one in enumerate(other)}
            middle = {
                one: sum(at[other] for other in beside[one]) / len(beside[one]) if beside[one] else at[one]
                for one in layer
            }
            layer.sort(key=lambda one: (middle[one], at[one]))
    return layers


def _forward(drawing: Drawing) -> list[Arrow]:
    """Leave out the arrows that close a cycle: found by going depth first, without recursion."""
    out: dict[str, list[Arrow]] = {one.id: [] for one in drawing.boxes}
    for arrow in drawing.arrows:
        out[arrow.source].append(arrow)
    state: dict[str, int] = {}
    kept: list[Arrow] = []
    for box in drawing.boxes:
        if box.id in state:
            continue
        state[box.id] = 1
        stack = [(box.id, iter(out[box.id]))]
        while stack:
            name, arrows = stack[-1]
            following = next(arrows, None)
            if following is None:
                state[name] = 2
                stack.pop()
            elif state.get(following.target) != 1:
                kept.append(following)
                if following.target not in state:
                    state[following.target] = 1
                    stack.append((following.target, iter(out[following.target])))
    return kept


def _width(box: Box) -> float:
    return 2 * _PAD + _LETTER * max(map(len, box.lines))


def _height(box: Box) -> float:
    return 2 * _PAD + _LINE * len(box.lines)


def _box(box: Box, spot: _Spot, shades: Mapping[str, str]) -> str:
    fill = shades[box.group] if box.kind == "tool" else "white"
    dashed = ' stroke-dasharray="5 4"' if box.kind == "missing" else ""
    round_ = {"tool": 6, "want": 0}.get(box.kind, 16)
    thick = 2 if box.kind == "want" else 1
    lines = "".join(
        f'<tspan x="{spot.x + spot.width / 2:.1f}" dy="{0 if at == 0 else _LINE}"'
        f"{_FAINT if at else ''}>{escape(line)}</tspan>"
        for at, line in enumerate(box.lines)
    )
    return (
        f'<rect x="{spot.x:.1f}" y="{spot.y:.1f}" width="{spot.width:.1f}" height="{spot.height:.1f}" rx="{round_}" '
        f'fill="{fill}" stroke="#475569" stroke-width="{thick}"{dashed}/>'
        f'<text text-anchor="middle" x="{spot.x + spot.width / 2:.1f}" y="{spot.y + _PAD + 13:.1f}">{lines}</text>'
    )


def _ends(arrow: Arrow, spots: Mapping[str, _Spot]) -> tuple[float, float, float, float]:
    source, target = spots[arrow.source], spots[arrow.target]
    if source.x + source.width <= target.x:
        return source.x + source.width, source.middle, target.x, target.middle
    if target.x + target.width <= source.x:
        return source.x, source.middle + 6, target.x + target.width, target.middle + 6
    return source.x + source.width, source.middle, target.x + target.width, target.middle


def _line(arrow: Arrow, spots: Mapping[str, _Spot]) -> str:
    style = ' stroke-dasharray="6 4"' if arrow.dashed else ""
    thick = 2.4 if arrow.strong else 1.2
    if arrow.source == arrow.target:
        spot = spots[arrow.source]
        x, y = spot.x + spot.width / 2, spot.y + spot.height
        path = f"M{x - 14:.1f} {y:.1f}C{x - 14:.1f} {y + _LOOP:.1f} {x + 14:.1f} {y + _LOOP:.1f} {x + 14:.1f} {y:.1f}"
    else:
        x1, y1, x2, y2 = _ends(arrow, spots)
        bend = max(30.0, abs(x2 - x1) / 2)
        turn = 1 if x2 >= x1 else -1
        same = abs(x2 - x1) < bend / 2
        x3, x4 = (x1 + bend, x2 + bend) if same else (x1 + turn * bend, x2 - turn * bend)
        path = f"M{x1:.1f} {y1:.1f}C{x3:.1f} {y1:.1f} {x4:.1f} {y2:.1f} {x2:.1f} {y2:.1f}"
    return f'<path d="{path}" fill="none" stroke="#475569" stroke-width="{thick}"{style} marker-end="url(#tip)"/>'


def _label(arrow: Arrow, spots: Mapping[str, _Spot]) -> str:
    if arrow.source == arrow.target:
        spot = spots[arrow.source]
        x, y = spot.x + spot.width / 2, spot.y + spot.height + _LOOP
    else:
        x1, y1, x2, y2 = _ends(arrow, spots)
        x, y = (x1 + x2) / 2, (y1 + y2) / 2 - 4 - 6 * (len(arrow.lines) - 1)
    return _text_lines(arrow.lines, x, y)


def _text_lines(lines: Sequence[str], x: float, y: float) -> str:
    spans = "".join(
        f'<tspan x="{x:.1f}" dy="{0 if at == 0 else 13}">{escape(line)}</tspan>'
        for at, line in enumerate(lines)
    )
    return (
        f'<text text-anchor="middle" x="{x:.1f}" y="{y:.1f}" font-size="11" fill="#334155" stroke="white" '
        f'stroke-width="3" paint-order="stroke">{spans}</text>'
    )


def _legend(shades: Mapping[str, str], y: float) -> list[str]:
    parts: list[str] = []
    x = float(_EDGE)
    for group, colour in shades.items():
        name = escape(visible(group, 40))
        parts.append(
            f'<rect x="{x:.1f}" y="{y - 4:.1f}" width="12" height="12" fill="{colour}" stroke="#475569"/>'
            f'<text x="{x + 17:.1f}" y="{y + 7:.1f}" font-size="11">{name}</text>'
        )
        x += 30 + _LETTER * len(group[:40])
    return parts
