"""A search by levels: all that one change can make of the best so far, then all that one more can, and so on.

As long as few were looked at, everything is kept, so that for small workflows nothing is missed; from then on only the best.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from halflap.workflows.optimizing.evaluation import Evaluation, Evaluator
    from halflap.workflows.pieces.piece import Layout
    from halflap.workflows.transform import Transformation

__all__ = ["Move", "Path", "beam_search", "best_of", "path_to"]

_KEEP_ALL = 500
_WIDTH = 3
_WORK = 20_000
_FEWEST, _MOST = 150, 2_000


@dataclass(frozen=True, slots=True)
class Move:
    """One change, from one layout to another."""

    source: Layout
    target: Layout
    transformation: Transformation
    what: str


Path = list[Move]


def budget(evaluator: Evaluator) -> int:
    """Tell how many workflows are looked at: the larger they are, the fewer."""
    return max(_FEWEST, min(_MOST, _WORK // max(1, len(evaluator.original.tasks))))


def beam_search(evaluator: Evaluator) -> dict[Layout, Move]:
    """Look for better workflows; give for each that was found the change that it came by."""
    assert evaluator.start is not None
    came: dict[Layout, Move] = {}
    level = [evaluator.start]
    most = budget(evaluator)
    keep_all = min(_KEEP_ALL, most // 2)
    while level:
        following: list[Evaluation] = []
        for one in level:
            for new, what, change in evaluator.neighbours(one.layout):
                if new == evaluator.start.layout or new in came:
                    continue
                if evaluator.evaluations >= most:
                    return came
                came[new] = Move(one.layout, new, change, what)
                found = evaluator.evaluate(new)
                if found.refused is None:
                    following.append(found)
        following.sort(key=lambda one: one.rank)
        level = following if evaluator.evaluations < keep_all else _chosen(evaluator.start, following)
    return came


def _chosen(start: Evaluation, found: list[Evaluation]) -> list[Evaluation]:
    """Choose whom to go on with: the best, and those that gained most for what they gave up of the footprint."""

    def economy(one: Evaluation) -> float:
        given_up = 0.0 if one.agreement is None else 1 - one.agreement
        return (one.total - start.total) / given_up if given_up > 0 else 0.0

    sparing = sorted(found, key=economy, reverse=True)[:_WIDTH]
    return list({id(one): one for one in (*found[:_WIDTH], *sparing)}.values())


def best_of(evaluator: Evaluator) -> list[Evaluation]:
    """Give all that may be taken, the best first; of those that are alike, what was found first."""
    allowed = [one for one in evaluator.found.values() if one.refused is None]
    return sorted(allowed, key=lambda one: one.rank)


def path_to(came: dict[Layout, Move], start: Layout, goal: Layout) -> Path:
    """Give the changes from the start to a layout."""
    path: Path = []
    while goal != start:
        move = came[goal]
        path.append(move)
        goal = move.source
    return path[::-1]
