"""What was done already is not done again: a task that is idempotent goes if the same was surely done before, and nothing changed since."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from halflap.workflows.dependence import depend
from halflap.workflows.pieces.facts import Data
from halflap.workflows.pieces.piece import NOTHING, Branching, Loop, Series, Step, Way, parts_of, series

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from halflap.workflows.net import Task
    from halflap.workflows.pieces.piece import Layout, Piece
    from halflap.workflows.transforming.ground import Changed, Ground

__all__ = ["drop_duplicates"]

_Known = dict[str, str]
"""What was surely done, and still holds: what it looks like, and the task that did it."""


def drop_duplicates(ground: Ground, layout: Layout) -> Iterator[Changed]:
    """Drop one idempotent task at a time that repeats another."""
    if layout.piece is None:
        return
    found: list[tuple[str, str]] = []
    _walk(ground, layout.piece, {}, found)
    for again, first in found:
        piece = _dropped(layout.piece, again)
        yield (
            layout.with_pieces([piece]),
            f"Dropped '{again}': '{first}' has done the same, and nothing changed since.",
        )


def _look(task: Task) -> str:
    """Give all that matters of what a task does."""
    return json.dumps(
        [
            task.label,
            task.tool,
            None if task.arguments is None else dict(task.arguments),
            sorted(task.reads or ()),
            sorted(task.writes or ()),
        ],
        sort_keys=True,
        default=repr,
    )


def _walk(
    ground: Ground, piece: Piece, known: _Known, found: list[tuple[str, str]], *, decides: bool = False
) -> _Known:
    """Go through a piece with what was done before it, and give what was after; what repeats is found."""
    if isinstance(piece, Step):
        return _step(ground, piece.node, known, found, decides=decides)
    if isinstance(piece, Series):
        for at, part in enumerate(piece.parts):
            after = piece.parts[at + 1] if at + 1 < len(piece.parts) else None
            chosen = isinstance(after, Branching) and isinstance(part, Step) and after.split == part.node
            last = decides and at + 1 == len(piece.parts)
            known = _walk(ground, part, known, found, decides=chosen or last)
        return known
    if isinstance(piece, Branching):
        if piece.kind == "xor":
            ends = [_walk(ground, way.piece, known, found) for way in piece.ways]
            return {look: task for look, task in ends[0].items() if all(look in one for one in ends)}
        return _beside(ground, piece.kind, piece.ways, known, found)
    whole = ground.facts.data(piece)
    known = _walk(ground, piece.body, _still(ground, known, whole), found, decides=True)
    _walk(ground, piece.again.piece, known, found)
    return known


def _beside(
    ground: Ground, kind: str, ways: Sequence[Way], known: _Known, found: list[tuple[str, str]]
) -> _Known:
    data = [ground.facts.data(way.piece) for way in ways]
    together: _Known = {}
    for at, way in enumerate(ways):
        others = Data()
        for other, one in enumerate(data):
            if other != at:
                others |= one
        # Meanwhile the others may change it.
        after = _walk(ground, way.piece, _still(ground, known, others), found)
        together |= _still(ground, after, others) if kind == "and" else {}
    everything = Data()
    for one in data:
        everything |= one
    return {**_still(ground, known, everything), **together}


def _still(ground: Ground, known: _Known, data: Data) -> _Known:
    return {look: task for look, task in known.items() if not depend(ground.facts.data(Step(task)), data)}


def _step(ground: Ground, node: str, known: _Known, found: list[tuple[str, str]], *, decides: bool) -> _Known:
    task = ground.facts.net.tasks.get(node)
    if task is None or ground.facts.routes(node):
        return known
    data = ground.facts.data(Step(node))
    if not task.idempotent or data.reads is None or data.writes is None or task.label is None:
        return _still(ground, known, data)
    look = _look(task)
    first = known.get(look)
    if first is not None:
        if ground.facts.droppable(node) and not decides and first != node:
            found.append((node, first))
        return known
    return {**_still(ground, known, data), look: node}


def _dropped(piece: Piece, node: str) -> Piece:
    if isinstance(piece, Step):
        return NOTHING if piece.node == node else piece
    if isinstance(piece, Series):
        return series(_dropped(part, node) for part in piece.parts)
    if isinstance(piece, Branching):
        ways = tuple(replace(way, piece=_dropped(way.piece, node)) for way in piece.ways)
        if piece.kind == "and":
            ways = tuple(way for way in ways if parts_of(way.piece))
            if len(ways) < 2:  # noqa: PLR2004 (one branch is beside nothing)
                return ways[0].piece if ways else NOTHING
        return replace(piece, ways=ways)
    assert isinstance(piece, Loop)
    return replace(
        piece,
        body=_dropped(piece.body, node),
        again=replace(piece.again, piece=_dropped(piece.again.piece, node)),
    )
