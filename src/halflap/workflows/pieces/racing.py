"""What has to stay in order because of others beside it: two tasks that do not need each other, but both of which race.

Who reads twice, one after the other, while somebody else writes may see the old and then the new, and never the new and then the
old. Side by side it could. It takes no third that races with both: if a comes before b here and c before d there, and a races with
d and b with c, then not both c and a can see what the other side did last. So of the tasks of one branch, those that race with
anything beside them keep their order.
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

_TWO = 2
"""It takes two for an order."""


def raced(net: Net) -> frozenset[tuple[str, str]]:
    """Give the pairs of tasks that keep their order because both race with something beside them."""
    layout, facts = layout_of(net), Facts(net)
    pieces = [link.way.piece for link in layout.links]
    groups = [[way.piece for way in one.ways] for piece in pieces for one in _blocks(piece)]
    # Where gates are in no block, whatever is between two of them may go on beside all others.
    if layout.piece is None and any(corner.kind != "xor" for corner in layout.corners):
        groups.append(pieces)
    racing = frozenset(name for group in groups for name in _racing(facts, group))
    if len(racing) < _TWO:
        return frozenset()
    return frozenset(pair for group in groups for piece in group for pair in _ordered(facts, piece, racing))


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


def _racing(facts: Facts, pieces: Sequence[Piece]) -> Iterator[str]:
    """Give what depends on something in another of these pieces, which go on beside each other."""
    looks = [list(_looks(facts, piece)) for piece in pieces]
    known = [{data for _, data in listed} for listed in looks]
    for at, listed in enumerate(looks):
        others = set().union(*(data for other, data in enumerate(known) if other != at))
        touched = {mine for mine in known[at] if any(depend(mine, data) for data in others)}
        yield from (name for name, mine in listed if mine in touched)


def _ordered(facts: Facts, piece: Piece, racing: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Give the pairs of those that race, in one branch, which are not beside each other in it."""
    names = sorted({name for name, _ in _looks(facts, piece)} & racing)
    if len(names) < _TWO:
        return
    beside = {
        frozenset((one, other))
        for block in _blocks(piece)
        for mine, yours in combinations(block.ways, 2)
        for one in facts.steps(mine.piece)
        for other in facts.steps(yours.piece)
    }
    yield from (pair for pair in combinations(names, 2) if frozenset(pair) not in beside)
