"""The search: continue from the best workflow found so far, again and again, until nothing is left or the budget is spent.

Every other time the one is taken that gained most for what it gave up of the footprint: the fastest may leave no room for further changes.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from halflap.workflows.model.block import Structure
    from halflap.workflows.optimize.evaluate import Evaluation, Evaluator

__all__ = ["Frontier", "best_first_search"]

_NEW_OF_EACH = 8
"""At most one in this many of the budget is expanded: one that yields fewer costs more than it brings."""


class Frontier:
    """What was found, and of that what was not yet continued from."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.children: dict[Structure, list[Evaluation]] = {}
        """What one change makes of each that was expanded, best first."""
        self._seen = {evaluator.start.structure}
        self._by_rank: list[tuple[tuple[float, ...], int, Structure]] = []
        self._by_economy: list[tuple[tuple[float, ...], int, Structure]] = []
        self._turn = 0
        self._add(evaluator.start)

    def _add(self, one: Evaluation) -> None:
        given_up = 0.0 if one.agreement is None else 1 - one.agreement
        gained = one.merit - self.evaluator.start.merit
        number = len(self._seen)
        heappush(self._by_rank, (one.rank, number, one.structure))
        if given_up > 0:
            heappush(self._by_economy, ((-gained / given_up,), number, one.structure))

    def expand(self, structure: Structure) -> list[Evaluation]:
        """Return what one change makes of a workflow, best first; nothing if the budget is spent."""
        if structure not in self.children:
            full = len(self.children) >= self.evaluator.budget // _NEW_OF_EACH
            if full or self.evaluator.stop():
                return []
            found = sorted(self.evaluator.neighbours(structure), key=lambda one: one.rank)
            self.children[structure] = found
            for one in found:
                if one.structure not in self._seen:
                    self._seen.add(one.structure)
                    self._add(one)
        return self.children[structure]

    def next(self) -> Structure | None:
        """Return the next workflow to continue from."""
        self._turn += 1
        heaps = (
            (self._by_economy, self._by_rank) if self._turn % 2 == 0 else (self._by_rank, self._by_economy)
        )
        for heap in heaps:
            while heap:
                structure = heappop(heap)[2]
                if structure not in self.children:
                    return structure
        return None

    def finish(self) -> None:
        """Note whether something was left that could have been continued from."""
        self.evaluator.cut_short |= self.next() is not None


def best_first_search(evaluator: Evaluator) -> None:
    """Fill the evaluator with candidates."""
    frontier = Frontier(evaluator)
    while (structure := frontier.next()) is not None:
        frontier.expand(structure)
        if structure not in frontier.children:
            evaluator.cut_short = True
            return
