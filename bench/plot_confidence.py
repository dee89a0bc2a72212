"""Draw how often what is said of the next result holds, by how sure it was said: docs/confidence.svg.

The trials are those of the tests: random prefixes of 2 to 200 observations of the airline's traces, where they are
there, and of generated tools with something rare in them. Run it from anywhere: `python bench/plot_confidence.py`.
"""

from __future__ import annotations

import os
import random
import sys
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from learn.calibration import airline, trials  # noqa: E402 -- the tests are no package that is installed

if TYPE_CHECKING:
    from learn.calibration import Trial

SHARED = Path(os.environ.get("HALFLAP_SHARED", ROOT.parent / "shared"))
TRIALS = 6_000
EDGES = (0.0, 0.3, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0)
LEFT, TOP, SIDE = 64, 40, 320


def point(said: float, held: float) -> tuple[float, float]:
    return LEFT + said * SIDE, TOP + (1 - held) * SIDE


def bins(done: list[Trial]) -> list[tuple[float, float, int]]:
    """Give, for each level, how sure it was said on average, how often it held, of how many."""
    found = []
    for lower, upper in pairwise(EDGES):
        some = [trial for trial in done if lower <= trial.confidence < upper]
        if len(some) >= 10:
            said = sum(trial.confidence for trial in some) / len(some)
            found.append((said, sum(trial.holds for trial in some) / len(some), len(some)))
    return found


def drawn(levels: list[tuple[float, float, int]], title: str) -> str:
    text = 'font-family="sans-serif" font-size="12" fill="#444"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + SIDE + 30} {TOP + SIDE + 64}" role="img">',
        f"<title>{title}</title>",
        f'<rect width="100%" height="100%" fill="#fff"/><text x="{LEFT}" y="22" {text}>{title}</text>',
        f'<rect x="{LEFT}" y="{TOP}" width="{SIDE}" height="{SIDE}" fill="none" stroke="#999"/>',
    ]
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        x, y = point(share, share)
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end" {text}>{share:.2f}</text>')
        parts.append(
            f'<text x="{x:.1f}" y="{TOP + SIDE + 18}" text-anchor="middle" {text}>{share:.2f}</text>'
        )
    (x1, y1), (x2, y2) = point(0, 0), point(1, 1)
    parts.append(f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="#bbb" stroke-dasharray="4 4"/>')
    way = " ".join(f"{x:.1f},{y:.1f}" for x, y in (point(said, held) for said, held, _ in levels))
    parts.append(f'<polyline points="{way}" fill="none" stroke="#2a6f97" stroke-width="1.5"/>')
    for said, held, count in levels:
        x, y = point(said, held)
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{2 + count**0.5 / 8:.1f}" fill="#2a6f97" fill-opacity="0.6">'
            f"<title>said {said:.2f}, held {held:.3f}, of {count}</title></circle>"
        )
    middle = LEFT + SIDE / 2
    parts += [
        f'<text x="{middle}" y="{TOP + SIDE + 42}" text-anchor="middle" {text}>confidence that was said</text>',
        f'<g transform="translate(18 {TOP + SIDE / 2}) rotate(-90)">',
        f'<text text-anchor="middle" {text}>share of next results that held</text></g>',
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def main() -> int:
    path = SHARED / "data" / "airline_traces.jsonl"
    tools = airline(path) if path.exists() else {}
    if not tools:
        print(f"without the airline's traces, which are not in {path.parent}")
    done = list(trials(TRIALS, tools, random.Random(2026)))
    levels = bins(done)
    print("  said    held    of")
    for said, held, count in levels:
        print(f"  {said:.3f}  {held:6.3f}  {count:5}")
    title = f"{len(done):,} random prefixes of 2 to 200 observations"
    (ROOT / "docs" / "confidence.svg").write_text(drawn(levels, title))
    return 0


if __name__ == "__main__":
    sys.exit(main())
