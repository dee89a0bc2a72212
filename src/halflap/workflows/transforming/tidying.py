"""What is there for nothing goes: silent tasks and conditions, empty branches, blocks within blocks of their kind, dead tasks. All keep the traces."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from halflap.workflows.checking import structure_problems
from halflap.workflows.pieces.piece import (
    NOTHING,
    PLAIN,
    Branching,
    Loop,
    Series,
    Step,
    Way,
    parts_of,
    series,
)
from halflap.workflows.pieces.putting import net_of
from halflap.workflows.pieces.taking import layout_of
from halflap.workflows.soundness import soundness
from halflap.workflows.study import Study
from halflap.workflows.timing.playing import shares
from halflap.workflows.transforming.ground import named

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from halflap.workflows.pieces.piece import Layout, Piece
    from halflap.workflows.transforming.ground import Changed, Ground

__all__ = ["flatten", "remove_dead", "remove_silent"]


def remove_silent(ground: Ground, layout: Layout) -> Iterator[Changed]:
    """Take out all silent tasks, conditions and branches that do nothing, at once."""
    gone: list[str] = []
    pieces = [_without(ground, link.way.piece, gone) for link in layout.links]
    new = layout.with_pieces(pieces)
    if new != layout:
        what = f"Took out {named(gone)}, which nothing is seen of." if gone else "Took out empty branches."
        yield new, what


def _without(ground: Ground, piece: Piece, gone: list[str], after: Piece | None = None) -> Piece:
    """Give a piece without what does nothing; `after` is what comes next, whose choice it may be."""
    if isinstance(piece, Step):
        if not ground.facts.removable(piece.node) or _waits_for_choice(ground, piece.node, after):
            return piece
        gone.append(piece.node)
        return NOTHING
    if isinstance(piece, Series):
        parts = piece.parts
        following: list[Piece | None] = [*parts, after][1:]
        return series(_without(ground, part, gone, then) for part, then in zip(parts, following, strict=True))
    if isinstance(piece, Branching):
        ways = tuple(replace(way, piece=_without(ground, way.piece, gone)) for way in piece.ways)
        return _fewer(replace(piece, ways=ways))
    loop = replace(
        piece,
        body=_without(ground, piece.body, gone, piece),
        again=replace(piece.again, piece=_without(ground, piece.again.piece, gone)),
    )
    return NOTHING if loop.body == loop.again.piece == NOTHING else loop


def _fewer(piece: Branching) -> Piece:
    """Give a block without branches that are empty, if that is the same."""
    ways = piece.ways
    if piece.kind == "and":
        ways = tuple(way for way in ways if way.piece != NOTHING)
        if len(ways) < 2:  # noqa: PLR2004 (one branch is beside nothing)
            return ways[0].piece if ways else NOTHING
    elif all(way.piece == NOTHING for way in ways) and not piece.told_elsewhere:
        return NOTHING
    return replace(piece, ways=ways)


def _waits_for_choice(ground: Ground, node: str, after: Piece | None) -> bool:
    """Tell whether a condition is where a choice waits for who comes first."""
    if node in ground.facts.net.tasks:
        return False
    return isinstance(after, Branching | Loop) and after.split == node


def flatten(ground: Ground, layout: Layout) -> Iterator[Changed]:
    """Make one block of blocks of a kind with nothing between them, everywhere at once."""
    new = layout.with_pieces([_flat(ground, link.way.piece) for link in layout.links])
    if new != layout:
        yield new, "Made one block of blocks of the same kind within one another."


def _flat(ground: Ground, piece: Piece) -> Piece:
    if isinstance(piece, Step):
        return piece
    if isinstance(piece, Series):
        return series(_flat(ground, part) for part in piece.parts)
    if isinstance(piece, Loop):
        again = replace(piece.again, piece=_flat(ground, piece.again.piece))
        return replace(piece, body=_flat(ground, piece.body), again=again)
    outer = [replace(way, piece=_flat(ground, way.piece)) for way in piece.ways]
    ways: list[Way] = []
    for way, chance in zip(outer, shares([way.weight for way in outer]), strict=True):
        inner = _alone(ground, way.piece)
        taken = (
            None if inner is None or inner.kind != piece.kind else _taken_in(piece, outer, way, inner, chance)
        )
        ways += [way] if taken is None else taken
    return replace(piece, ways=tuple(ways))


def _alone(ground: Ground, piece: Piece) -> Branching | None:
    """Give the block that is all that a way has, but for what does nothing."""
    parts = [
        part for part in parts_of(piece) if not (isinstance(part, Step) and ground.facts.removable(part.node))
    ]
    # A condition before it may be where it is waited for who comes first.
    waits = any(
        isinstance(part, Step) and part.node not in ground.facts.net.tasks for part in parts_of(piece)
    )
    return parts[0] if len(parts) == 1 and isinstance(parts[0], Branching) and not waits else None


def _taken_in(
    piece: Branching, outer: Sequence[Way], way: Way, inner: Branching, chance: float
) -> Sequence[Way] | None:
    """Give the ways of an inner block as ways of the outer one; None where that is not the same."""
    if piece.kind == "and" or (way.said == PLAIN and inner.split == piece.split):
        return inner.ways
    if not _plain([*outer, *inner.ways]) or piece.partial or inner.partial:
        return None
    if piece.kind == "or":
        # How likely an inner way is depends on whether it is come to at all.
        return inner.ways if all(one.said == PLAIN for one in (*outer, *inner.ways)) else None
    known = _known(outer)
    if known != _known(inner.ways):
        return None
    likely = [chance * share for share in shares([one.weight for one in inner.ways])]
    return [
        replace(one, weight=p if known else 1.0, said=one.said._replace(probability=p) if known else one.said)
        for one, p in zip(inner.ways, likely, strict=True)
    ]


def _plain(ways: Sequence[Way]) -> bool:
    return not any(way.said.rules for way in ways)


def _known(ways: Sequence[Way]) -> bool:
    return all(way.said.probability is not None for way in ways)


def remove_dead(ground: Ground, layout: Layout) -> Iterator[Changed]:
    """Take out tasks that are never done; what is made of blocks has none."""
    if layout.piece is not None:
        return
    net = net_of(ground.facts.net, layout)
    judged = soundness(Study(net))
    dead = {failure.task for failure in judged.failures if failure.kind == "dead_task" and failure.task}
    if not dead or len(dead) < len(judged.failures) or not all(map(ground.facts.droppable, dead)):
        return
    flows = tuple(flow for flow in net.flows if flow.source not in dead and flow.target not in dead)
    used = {net.input, net.output} | {node for flow in flows for node in (flow.source, flow.target)}
    new = replace(
        net,
        tasks={name: task for name, task in net.tasks.items() if name not in dead},
        conditions={name: one for name, one in net.conditions.items() if name in used},
        flows=flows,
    )
    if not structure_problems(new) and soundness(Study(new)).sound:
        yield layout_of(new), f"Took out {named(sorted(dead))}, which can never be done."
