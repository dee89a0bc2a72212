"""The search: continue from the best workflow found so far, again and again, until nothing is left or the budget is spent.

Every other time the one is taken that gained most for what it gave up of the footprint: the fastest may leave no room for further changes.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from halflap.workflows.model.block import Block
    from halflap.workflows.optimize.evaluate import Candidate, Evaluator

_NEW_OF_EACH = 8
"""At most one in this many of the budget is expanded: one that yields fewer costs more than it brings."""


class Frontier:
    """What was found, and of that what was not yet continued from."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.children: dict[Block, list[Candidate]] = {}
        """What one change makes of each that was expanded, best first."""
        self._seen: set[Block] = set()
        self._heaps: tuple[list[tuple[tuple[float, ...], int, Block]], ...] = ([], [])
        """By rank, and by gain for what was given up."""
        self._turn = 0
        self._add(evaluator.start)

    def _add(self, one: Candidate) -> None:
        if one.tree in self._seen:
            return
        self._seen.add(one.tree)
        heappush(self._heaps[0], (one.rank, len(self._seen), one.tree))
        if one.agreement < 1:
            gained = one.merit - self.evaluator.start.merit
            heappush(self._heaps[1], ((-gained / (1 - one.agreement),), len(self._seen), one.tree))

    def expand(self, tree: Block) -> list[Candidate]:
        """Return what one change makes of a workflow, best first; nothing if the budget is spent."""
        if tree not in self.children:
            full = len(self.children) >= self.evaluator.budget // _NEW_OF_EACH
            if full or self.evaluator.stop():
                self.evaluator.cut_short = True
                return []
            self.children[tree] = sorted(self.evaluator.neighbours(tree), key=lambda one: one.rank)
            for one in self.children[tree]:
                self._add(one)
        return self.children[tree]

    def next(self) -> Block | None:
        """Return the next workflow to continue from."""
        self._turn += 1
        for heap in (self._heaps[1 - self._turn % 2], self._heaps[self._turn % 2]):
            while heap:
                tree = heappop(heap)[2]
                if tree not in self.children:
                    return tree
        return None


def best_first_search(evaluator: Evaluator) -> None:
    """Fill the evaluator with candidates."""
    frontier = Frontier(evaluator)
    while not evaluator.cut_short and (tree := frontier.next()) is not None:
        frontier.expand(tree)
