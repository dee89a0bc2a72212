"""Cheap filters first: a choice that need not wait is made before the work that only one of its ways needs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from halflap.workflows.dependence import depend
from halflap.workflows.pieces.piece import NOTHING, Branching, Step, parts_of, series
from halflap.workflows.timing.critical import fused
from halflap.workflows.transforming.ground import each_stretch, named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.workflows.pieces.facts import Data
    from halflap.workflows.pieces.piece import Layout, Piece
    from halflap.workflows.transforming.ground import Changed, Ground

__all__ = ["filter_first"]

_TWO = 2


def filter_first(ground: Ground, layout: Layout) -> Iterator[Changed]:
    """Make a choice before what only one of its ways needs; of two filters in a row, ask the other first."""
    if ground.constraints.keep_order:
        return
    whole = frozenset(node for link in layout.links for node in ground.facts.steps(link.way.piece))

    def change(piece: Piece) -> Iterator[tuple[Piece, str]]:
        parts = fused(parts_of(piece))
        for at, part in enumerate(parts):
            swapped = _other_first(ground, part, whole)
            if swapped is not None:
                yield series((*parts[:at], swapped[0], *parts[at + 1 :])), swapped[1]
            later = _before_work(ground, parts[at - 1], part, whole) if at else None
            if later is not None:
                yield series((*parts[: at - 1], later[0], *parts[at + 1 :])), later[1]

    yield from each_stretch(layout, change)


def _filter(piece: Piece) -> tuple[Piece, Branching] | None:
    """Take a choice apart into who decides and what is chosen from."""
    parts = parts_of(piece)
    if not parts or not isinstance(parts[-1], Branching) or parts[-1].kind != "xor" or parts[-1].partial:
        return None
    head = series(parts[:-1])
    if not all(isinstance(part, Step) for part in parts_of(head)):
        return None
    return head, parts[-1]


def _asks(ground: Ground, head: Piece, choice: Branching) -> Data:
    """Give what is read and written to decide."""
    return ground.facts.data(head) | ground.facts.choice(choice.split, choice.ways)


def _serves(ground: Ground, work: Piece, where: frozenset[str], whole: frozenset[str]) -> bool:
    """Tell whether all that a piece writes is for certain tasks alone, so that it need not be done without them."""
    writes = ground.facts.data(work).writes
    if writes is None or not all(ground.facts.droppable(node) for node in ground.facts.steps(work)):
        return False
    others = whole - where - ground.facts.steps(work)
    for node in others:
        data = ground.facts.data(Step(node))
        if data.reads is None or data.writes is None or writes & (data.reads | data.writes):
            return False
    return True


def _before_work(ground: Ground, work: Piece, part: Piece, whole: frozenset[str]) -> tuple[Piece, str] | None:
    """Move work behind a choice, into the only one of its ways that needs it."""
    found = _filter(part)
    if found is None or not ground.doing(work):
        return None
    head, choice = found
    data = ground.facts.data(work)
    if data.writes is None or not data.writes or depend(_asks(ground, head, choice), data):
        return None
    if any(ground.facts.depend(work, one) for one in parts_of(head)):
        return None
    needing = [at for at, way in enumerate(choice.ways) if ground.facts.depend(work, way.piece)]
    if len(needing) != 1:
        return None
    (at,) = needing
    way = choice.ways[at]
    where = ground.facts.steps(way.piece)
    reads = ground.facts.data(way.piece).reads
    if reads is None or not data.writes <= reads or not _serves(ground, work, where, whole):
        return None
    ways = (*choice.ways[:at], replace(way, piece=series((work, way.piece))), *choice.ways[at + 1 :])
    what = f"Moved {named(ground.doing(work))} behind the choice of '{choice.split}', into the one way that needs it."
    return series((head, replace(choice, ways=ways))), what


def _other_first(ground: Ground, part: Piece, whole: frozenset[str]) -> tuple[Piece, str] | None:
    """Of two filters, one directly within the other, ask the inner one first."""
    outer = _filter(part)
    if outer is None or len(outer[1].ways) != _TWO:
        return None
    head, choice = outer
    for stop, go in ((0, 1), (1, 0)):
        within = fused(parts_of(choice.ways[go].piece))
        inner = _filter(within[0]) if len(within) == 1 else None
        if inner is None or len(inner[1].ways) != _TWO or choice.ways[stop].piece != NOTHING:
            continue
        inner_head, inner_choice = inner
        stops = [at for at, way in enumerate(inner_choice.ways) if way.piece == NOTHING]
        if len(stops) != 1:
            continue
        mine, yours = _asks(ground, head, choice), _asks(ground, inner_head, inner_choice)
        if depend(mine, yours) or ground.facts.depend(head, inner_head):
            continue
        work = inner_choice.ways[1 - stops[0]]
        if not _serves(ground, head, ground.facts.steps(work.piece), whole):
            continue
        later = series((head, _with_way(choice, go, work.piece)))
        first = series((inner_head, _with_way(inner_choice, 1 - stops[0], later)))
        asked = (named(ground.doing(inner_head)), named(ground.doing(head)))
        names = tuple(
            one or f"'{split}'" for one, split in zip(asked, (inner_choice.split, choice.split), strict=True)
        )
        return first, f"Asked {names[0]} before {names[1]}."
    return None


def _with_way(choice: Branching, at: int, piece: Piece) -> Branching:
    ways = (*choice.ways[:at], replace(choice.ways[at], piece=piece), *choice.ways[at + 1 :])
    return replace(choice, ways=ways)
