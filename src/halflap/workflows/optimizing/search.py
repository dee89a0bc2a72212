"""A search by levels: all that one change can make of the best so far, then all that one more can, and so on.

As long as few were looked at, everything is kept, so that for small workflows nothing is missed; from then on only the best, and those that were passed over last.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.workflows.optimizing.evaluation import Evaluation, Evaluator
    from halflap.workflows.pieces.piece import Layout
    from halflap.workflows.transform import Transformation

__all__ = ["NEW_OF_EACH", "Move", "Path", "beam_search", "budget", "path_to"]

_KEEP_ALL = 500
_FOR_EACH = 500
"""How many workflows may be looked at for each that is gone on from at a level."""
_WORK = 13_000
_FEWEST, _MOST = 120, 1_200
NEW_OF_EACH = 8
"""At least so many new ones are hoped for of each that is gone on from; who brings fewer costs more than it brings."""


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
    most = budget(evaluator)
    keep_all = _KEEP_ALL if most == _MOST else most // 8
    width = max(1, most // _FOR_EACH)
    number = count()
    passed_over: list[tuple[tuple[float, ...], int, Evaluation]] = []
    level = [evaluator.start]
    gone_on_from = 0
    while level:
        following: list[Evaluation] = []
        gone_on_from += len(level)
        for one in level:
            following += _following(evaluator, came, one, most)
        following.sort(key=lambda one: one.rank)
        level = following if evaluator.evaluations < keep_all else _chosen(evaluator.start, following, width)
        going_on = {id(one) for one in level}
        for one in following:
            if id(one) not in going_on:
                heappush(passed_over, (one.rank, next(number), one))
        if not level and passed_over and gone_on_from < most // NEW_OF_EACH:
            # There is time left to go back to the best that was passed over.
            level = [heappop(passed_over)[2]]
    evaluator.cut_short |= bool(passed_over)
    return came


def _following(
    evaluator: Evaluator, came: dict[Layout, Move], one: Evaluation, most: int
) -> Iterator[Evaluation]:
    """Give what one change can make of a workflow, was not seen before, and may be taken."""
    if evaluator.stop(most):
        return
    assert evaluator.start is not None
    for new, what, change in evaluator.neighbours(one.layout):
        if new == evaluator.start.layout or new in came:
            continue
        if evaluator.stop(most):
            return
        came[new] = Move(one.layout, new, change, what)
        found = evaluator.evaluate(new)
        if found.refused is None:
            yield found


def _chosen(start: Evaluation, found: list[Evaluation], width: int) -> list[Evaluation]:
    """Choose whom to go on with: the best, and those that gained most for what they gave up of the footprint."""

    def economy(one: Evaluation) -> float:
        given_up = 0.0 if one.agreement is None else 1 - one.agreement
        return (one.merit - start.merit) / given_up if given_up > 0 else 0.0

    sparing = sorted(found, key=economy, reverse=True)[:width]
    return list({id(one): one for one in (*found[:width], *sparing)}.values())


def path_to(came: dict[Layout, Move], start: Layout, goal: Layout) -> Path:
    """Give the changes from the start to a layout."""
    path: Path = []
    while goal != start:
        move = came[goal]
        path.append(move)
        goal = move.source
    return path[::-1]
