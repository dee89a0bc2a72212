"""Our own search, level by level: everything one change can make of the best so far, then everything one more can.

As long as few were measured everything is kept, so that nothing is missed for small workflows; then only the best, and last those passed over.
"""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from halflap.workflows.optimize.evaluate import Evaluation, Evaluator

__all__ = ["NEW_OF_EACH", "beam_search"]

_KEEP_ALL = 500
_FOR_EACH = 500
"""How many workflows may be measured for each that a level continues with."""
NEW_OF_EACH = 8
"""At most one in so many of the budget is expanded: one that yields fewer costs more than it brings."""


def beam_search(evaluator: Evaluator) -> None:
    """Fill the evaluator with candidates."""
    most = evaluator.budget
    keep_all = min(_KEEP_ALL, most if most > _KEEP_ALL else most // 8)
    width = max(1, most // _FOR_EACH)
    number = count()
    passed_over: list[tuple[tuple[float, ...], int, Evaluation]] = []
    level = [evaluator.start]
    seen = {evaluator.start.structure}
    expanded = 0
    while level:
        following: list[Evaluation] = []
        expanded += len(level)
        for one in level:
            new = [found for found in evaluator.neighbours(one.structure) if found.structure not in seen]
            seen |= {found.structure for found in new}
            following += new
        following.sort(key=lambda one: one.rank)
        level = following if evaluator.evaluations < keep_all else _chosen(evaluator.start, following, width)
        chosen = {id(one) for one in level}
        for one in following:
            if id(one) not in chosen:
                heappush(passed_over, (one.rank, next(number), one))
        if not level and passed_over and expanded < most // NEW_OF_EACH and not evaluator.stop():
            level = [heappop(passed_over)[2]]
    evaluator.cut_short |= bool(passed_over)


def _chosen(start: Evaluation, found: list[Evaluation], width: int) -> list[Evaluation]:
    """Choose the best, and those that gained most for what they gave up of the footprint."""

    def economy(one: Evaluation) -> float:
        given_up = 0.0 if one.agreement is None else 1 - one.agreement
        return (one.merit - start.merit) / given_up if given_up > 0 else 0.0

    sparing = sorted(found, key=economy, reverse=True)[:width]
    return list({id(one): one for one in (*found[:width], *sparing)}.values())
