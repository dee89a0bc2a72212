"""What need not wait is done side by side: parts of a series are arranged anew, so that only what depends on each other keeps its order.

Arranged are the atoms of `timing.critical`. Those that hang together by nothing are put side by side; those that do are
cut in two, the first before the second, where it takes least time; and so on with each. For few atoms
every cut is tried. What comes out is made of blocks again, so that it can be compared with what it came from.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from halflap.workflows.pieces.piece import Branching, Way, parts_of, series
from halflap.workflows.timing.critical import critical_path, fused
from halflap.workflows.transforming.arranger import Arranger
from halflap.workflows.transforming.ground import each_piece, each_stretch, named

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from halflap.workflows.pieces.piece import Layout, Piece
    from halflap.workflows.transforming.ground import Changed, Ground

__all__ = ["parallelise", "serialise"]

_ALL_WINDOWS = 8
_SOME_WINDOWS = 24
_CLOSE = 1e-9


def parallelise(ground: Ground, layout: Layout) -> Iterator[Changed]:
    """Put what does not depend on each other side by side, in each stretch of a series."""
    if ground.constraints.keep_order:
        return

    def change(piece: Piece) -> Iterator[tuple[Piece, str]]:
        parts = fused(parts_of(piece))
        if len(parts) == 1:
            yield from _arranged(ground, (), parts, ())
        for start, end in _windows(len(parts)):
            yield from _arranged(ground, parts[:start], parts[start:end], parts[end:])

    yield from each_stretch(layout, change)


def _windows(count: int) -> Iterator[tuple[int, int]]:
    """Give the stretches to look at, long ones first: of a short series all, of a longer one some of each length."""
    if count < 2:  # noqa: PLR2004 (there is nothing to arrange)
        return
    yield 0, count
    if count <= _ALL_WINDOWS:
        for length in range(count - 1, 1, -1):
            for start in range(count - length + 1):
                yield start, start + length
        return
    lengths = [1 << power for power in range((count - 1).bit_length() - 1, 0, -1)]
    for length in [*lengths, *([3] if count <= _SOME_WINDOWS else [])]:
        for start in range(0, count - length + 1, max(1, length // 2)):
            yield start, start + length


def _arranged(
    ground: Ground, before: Sequence[Piece], window: Sequence[Piece], after: Sequence[Piece]
) -> Iterator[tuple[Piece, str]]:
    old = series(window)
    if old not in ground.arranged:
        ground.arranged[old] = tuple(_anew(ground, old))
    for new in ground.arranged[old]:
        what = f"Put {named(ground.doing(old))} side by side, as far as they do not need each other."
        yield series((*before, new, *after)), what


def _anew(ground: Ground, old: Piece) -> Iterator[Piece]:
    """Give a piece arranged anew, for each number of things that may be done at once."""
    if ground.timing.rough(old) <= critical_path(ground.facts, old) + _CLOSE:
        return
    most = ground.constraints.max_parallel
    widths: list[int | None] = [None] if most is None else [None, *range(most, 1, -1)]
    arrangers = [Arranger(ground, old)]
    if ground.by_label is not None:
        arrangers.append(Arranger(ground, old, ground.by_label))
    seen = {old}
    for arranger, width in product(arrangers, widths):
        key = (arranger.numbers, tuple(arranger.needs), width)
        if key not in ground.found:
            ground.found[key] = arranger.arranged(width)
        new = ground.found[key]
        if new in seen or ground.timing.rough(new) >= ground.timing.rough(old) - _CLOSE:
            continue
        seen.add(new)
        yield new


def serialise(ground: Ground, layout: Layout) -> Iterator[Changed]:
    """Put two branches one after the other, where more is done at once than may be."""
    most = ground.constraints.max_parallel

    def change(piece: Piece) -> Iterator[tuple[Piece, str]]:
        if (
            not isinstance(piece, Branching)
            or piece.kind != "and"
            or ground.timing.width(piece) <= (most or 0)
        ):
            return
        for at, one in enumerate(piece.ways):
            for later in range(at + 1, len(piece.ways)):
                other = piece.ways[later]
                both = Way(series((one.piece, other.piece)))
                ways = (*piece.ways[:at], both, *piece.ways[at + 1 : later], *piece.ways[later + 1 :])
                new: Piece = Branching("and", ways, piece.split, piece.join) if len(ways) > 1 else both.piece
                names = named([*ground.doing(one.piece)[:1], *ground.doing(other.piece)[:1]])
                yield (
                    new,
                    f"Put {names}, and what belongs to them, one after the other, so that less is done at once.",
                )

    if most is not None and any(ground.timing.width(link.way.piece) > most for link in layout.links):
        yield from each_piece(layout, change)
