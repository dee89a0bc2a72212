"""What has to stay in order because of others beside it: two tasks that do not need each other, but both of which race with a third.

Who reads twice, one after the other, while somebody else writes may see the old and then the new, and never the new and then the
old. Side by side it could. So where a workflow lets tasks race, those that one of the others races with keep their order.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from halflap.workflows.dependence import depend
from halflap.workflows.pieces.facts import Data, Facts
from halflap.workflows.pieces.piece import Branching, Loop, Series, Step, Way
from halflap.workflows.pieces.taking import layout_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from halflap.workflows.net import Net
    from halflap.workflows.pieces.piece import Piece

__all__ = ["raced"]


def raced(net: Net) -> frozenset[tuple[str, str]]:
    """Give the pairs of tasks that keep their order because a third races with both."""
    layout, facts = layout_of(net), Facts(net)
    pieces = [link.way.piece for link in layout.links]
    found: set[tuple[str, str]] = set()
    for piece in pieces:
        for one in _blocks(piece):
            _between(facts, [way.piece for way in one.ways], found)
    # Where gates are in no block, whatever is between two of them may go on beside all others.
    if layout.piece is None and any(corner.kind != "xor" for corner in layout.corners):
        _between(facts, pieces, found)
    return frozenset(found)


def _inside(piece: Piece) -> list[Piece]:
    if isinstance(piece, Step):
        return []
    if isinstance(piece, Series):
        return list(piece.parts)
    if isinstance(piece, Branching):
        return [way.piece for way in piece.ways]
    return [piece.body, piece.again.piece]


def _blocks(piece: Piece) -> Iterator[Branching]:
    """Give the blocks in which things go on beside each other."""
    if isinstance(piece, Branching) and piece.kind != "xor":
        yield piece
    for part in _inside(piece):
        yield from _blocks(part)


def _looks(facts: Facts, piece: Piece) -> Iterator[tuple[str, Data]]:
    """Give each task with its data, and each choice with what it is made by, under the name of a task in it."""
    if isinstance(piece, Step):
        yield piece.node, facts.data(piece)
    elif isinstance(piece, Loop) or (isinstance(piece, Branching) and piece.kind != "and"):
        ways = (
            (piece.again, Way(Series(()), said=piece.leave)) if isinstance(piece, Loop) else tuple(piece.ways)
        )
        name = min(facts.steps(piece), default=piece.split)
        if name is not None:
            yield name, facts.choice(piece.split, ways)
    for part in _inside(piece):
        yield from _looks(facts, part)


def _between(facts: Facts, pieces: Sequence[Piece], found: set[tuple[str, str]]) -> None:
    looks = [list(_looks(facts, piece)) for piece in pieces]
    for at, piece in enumerate(pieces):
        others = {data for other, listed in enumerate(looks) if other != at for _, data in listed}
        touched = {frozenset(name for name, mine in looks[at] if depend(mine, data)) for data in others}
        if all(len(names) < 2 for names in touched):  # noqa: PLR2004 (an order is of two)
            continue
        beside = {
            frozenset((one, other))
            for block in _blocks(piece)
            for mine, yours in combinations(block.ways, 2)
            for one in facts.steps(mine.piece)
            for other in facts.steps(yours.piece)
        }
        for names in touched:
            found.update(pair for pair in combinations(sorted(names), 2) if frozenset(pair) not in beside)
