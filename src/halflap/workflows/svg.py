"""Parts of SVG pictures of nets."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halflap.workflows.layout import Size, Spot

__all__ = ["around", "label_size", "small", "through"]

_LETTER, _LINE, _PAD = 7.5, 17, 11
_SMALL, _SMALL_LINE, _UNDER = 6.2, 13, 6
_EDGE = 22
_LOOP = 26
_FAINT = ' fill="#64748b" font-size="11"'


def label_size(lines: Sequence[str]) -> Size:
    """Give the room that small text needs on an arrow."""
    return _SMALL * max(map(len, lines), default=0), _SMALL_LINE * len(lines) + _UNDER


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
