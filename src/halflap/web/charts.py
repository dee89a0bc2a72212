"""Coordinates of small SVG charts, as attributes: the Content-Security-Policy forbids inline styles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["HEIGHT", "WIDTH", "Bar", "Lines", "Span", "bars", "lines", "timeline"]

WIDTH, HEIGHT = 600, 80
_LEAST = 1.5
"""Height of the smallest bar that is not zero."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of all calls, with a smaller one of those that failed."""

    x: float
    width: float
    y: float
    height: float
    failed_y: float
    failed_height: float
    count: int
    failed: int


@dataclass(frozen=True, slots=True)
class Lines:
    """Two lines as points of SVG polylines, interrupted at gaps."""

    middle: tuple[str, ...]
    high: tuple[str, ...]
    top: float | None
    """The value at the upper edge."""


@dataclass(frozen=True, slots=True)
class Span:
    """A bar on a timeline, in per cent of the whole."""

    start: float
    width: float


def bars(counts: Sequence[int], failed: Sequence[int]) -> list[Bar]:
    most = max(counts, default=0) or 1
    width = WIDTH / max(1, len(counts))

    def height(count: int) -> float:
        return max(_LEAST, count / most * HEIGHT) if count else 0.0

    return [
        Bar(
            round(at * width, 1),
            round(width * 0.8, 1),
            round(HEIGHT - height(count), 1),
            round(height(count), 1),
            round(HEIGHT - height(bad), 1),
            round(height(bad), 1),
            count,
            bad,
        )
        for at, (count, bad) in enumerate(zip(counts, failed, strict=True))
    ]


def lines(middle: Sequence[float | None], high: Sequence[float | None]) -> Lines:
    top = max((one for one in high if one is not None), default=None)
    return Lines(_pieces(middle, top or 1.0), _pieces(high, top or 1.0), top)


def _pieces(values: Sequence[float | None], top: float) -> tuple[str, ...]:
    width = WIDTH / max(1, len(values))
    pieces: list[list[str]] = [[]]
    for at, value in enumerate(values):
        if value is None:
            pieces.append([])
        else:
            x, y = (at + 0.5) * width, HEIGHT - value / top * (HEIGHT - 4) - 2
            pieces[-1].append(f"{x:.1f},{y:.1f}")
    # A single minute is drawn as a dash, since a line needs two points.
    return tuple(" ".join(one if len(one) > 1 else _dash(one[0])) for one in pieces if one)


def _dash(point: str) -> list[str]:
    x, _, y = point.partition(",")
    return [f"{float(x) - 2:.1f},{y}", f"{float(x) + 2:.1f},{y}"]


def timeline(spans: Sequence[tuple[float, float]], begin: float, end: float) -> list[Span]:
    """Return where each (start, end) lies between two times."""
    whole = max(end - begin, 1e-6)

    def place(start: float, stop: float) -> Span:
        share = min(99.5, max(0.0, (start - begin) / whole * 100))
        return Span(round(share, 2), round(min(100 - share, max(0.5, (stop - start) / whole * 100)), 2))

    return [place(start, stop) for start, stop in spans]
