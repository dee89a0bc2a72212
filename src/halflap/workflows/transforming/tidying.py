"""What is there for nothing goes: silent tasks and conditions, empty branches, blocks within blocks of their kind, dead tasks. All keep the traces."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from halflap.workflows.checking import structure_problems
from halflap.workflows.pieces.piece import NOTHING, PLAIN, Branching, Loop, Series, Step, Way, series
from halflap.workflows.pieces.putting import net_of
from halflap.workflows.pieces.taking import layout_of
from halflap.workflows.soundness import soundness
from halflap.workflows.study import Study
from halflap.workflows.timing.playing import shares
from halflap.workflows.transforming.ground import named

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from halflap.workflows.pieces.piece import Layout, Piece, Said
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
    """Make one block of blocks of a kind that stand directly within one another, everywhere at once."""
    _ = ground
    new = layout.with_pieces([_flat(link.way.piece) for link in layout.links])
    if new != layout:
        yield new, "Made one block of blocks of the same kind within one another."


def _flat(piece: Piece) -> Piece:
    if isinstance(piece, Step):
        return piece
    if isinstance(piece, Series):
        return series(_flat(part) for part in piece.parts)
    if isinstance(piece, Loop):
        return replace(
            piece, body=_flat(piece.body), again=replace(piece.again, piece=_flat(piece.again.piece))
        )
    ways: list[Way] = []
    outer = [replace(way, piece=_flat(way.piece)) for way in piece.ways]
    chances = shares([way.weight for way in outer])
    known = [way.said.probability is not None for way in outer]
    for way, chance in zip(outer, chances, strict=True):
        inner = way.piece
        if not (isinstance(inner, Branching) and inner.kind == piece.kind):
            ways.append(way)
        elif piece.kind == "and" or (way.said == PLAIN and inner.split == piece.split):
            ways += inner.ways
        elif _plain([*outer, *inner.ways]) and all(known) == _known(inner.ways) == any(known):
            ways += [
                replace(
                    one,
                    weight=chance * share if all(known) else 1.0,
                    said=_likely(one.said, chance * share) if all(known) else one.said,
                )
                for one, share in zip(inner.ways, shares([one.weight for one in inner.ways]), strict=True)
            ]
        else:
            ways.append(way)
    if piece.kind == "or" and any(isinstance(way.piece, Branching) for way in piece.ways):
        # How likely each way of an inner or-split is depends on whether it is come to at all.
        ways = ways if all(way.said == PLAIN for way in ways) else list(outer)
    return replace(piece, ways=tuple(ways))


def _plain(ways: Sequence[Way]) -> bool:
    return not any(way.said.rules for way in ways)


def _known(ways: Sequence[Way]) -> bool:
    return all(way.said.probability is not None for way in ways)


def _likely(said: Said, probability: float) -> Said:
    return said._replace(probability=probability)


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
