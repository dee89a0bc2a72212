"""What was done already is not done again: a task that is idempotent goes if the same was surely done before, and nothing changed since."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
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
    _walk(_Going(ground, found), layout.piece, {})
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
            task.each,
            sorted(task.reads or ()),
            sorted(task.writes or ()),
        ],
        sort_keys=True,
        default=repr,
    )


@dataclass(slots=True)
class _Going:
    """What is found on the way, and what others may do meanwhile."""

    ground: Ground
    found: list[tuple[str, str]]
    meanwhile: Data = field(default_factory=Data)

    def beside(self, data: Data) -> _Going:
        return _Going(self.ground, self.found, self.meanwhile | data)


def _walk(going: _Going, piece: Piece, known: _Known, *, decides: bool = False) -> _Known:
    """Go through a piece with what was done before it, and give what was after; what repeats is found."""
    if isinstance(piece, Step):
        return _step(going, piece.node, known, decides=decides)
    if isinstance(piece, Series):
        for at, part in enumerate(piece.parts):
            after = piece.parts[at + 1] if at + 1 < len(piece.parts) else None
            chosen = isinstance(after, Branching) and isinstance(part, Step) and after.split == part.node
            last = decides and at + 1 == len(piece.parts)
            known = _walk(going, part, known, decides=chosen or last)
        return known
    if isinstance(piece, Branching):
        if piece.kind == "xor":
            ends = [_walk(going, way.piece, known) for way in piece.ways]
            return {look: task for look, task in ends[0].items() if all(look in one for one in ends)}
        return _beside(going, piece.kind, piece.ways, known)
    whole = going.ground.facts.data(piece)
    known = _walk(going, piece.body, _still(going.ground, known, whole), decides=True)
    _walk(going, piece.again.piece, known)
    return known


def _beside(going: _Going, kind: str, ways: Sequence[Way], known: _Known) -> _Known:
    data = [going.ground.facts.data(way.piece) for way in ways]
    together: _Known = {}
    for at, way in enumerate(ways):
        others = Data()
        for other, one in enumerate(data):
            if other != at:
                others |= one
        after = _walk(going.beside(others), way.piece, _still(going.ground, known, others))
        together |= after if kind == "and" else {}
    everything = Data()
    for one in data:
        everything |= one
    return {**_still(going.ground, known, everything), **together}


def _still(ground: Ground, known: _Known, data: Data) -> _Known:
    return {look: task for look, task in known.items() if not depend(ground.facts.data(Step(task)), data)}


def _step(going: _Going, node: str, known: _Known, *, decides: bool) -> _Known:
    facts = going.ground.facts
    task = facts.net.tasks.get(node)
    if task is None or facts.routes(node):
        return known
    data = facts.data(Step(node))
    if not task.idempotent or data.reads is None or data.writes is None or task.label is None:
        return _still(going.ground, known, data)
    look = _look(task)
    first = known.get(look)
    if first is not None:
        if facts.droppable(node) and not decides and first != node:
            going.found.append((node, first))
        return known
    known = _still(going.ground, known, data)
    # What others may change meanwhile is not sure to hold.
    return known if depend(data, going.meanwhile) else {**known, look: node}


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
