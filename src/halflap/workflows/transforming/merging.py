"""What several branches of a choice have in common is done once: whole branches, how they end, how they begin. All keep the traces."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from halflap.workflows.dependence import depend
from halflap.workflows.pieces.piece import Branching, Loop, Series, Step, parts_of, series
from halflap.workflows.predicates import parse, write
from halflap.workflows.predicates.language import Logic
from halflap.workflows.timing.critical import fused
from halflap.workflows.transforming.ground import each_piece, named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.workflows.pieces.piece import Layout, Piece, Way
    from halflap.workflows.transforming.ground import Changed, Ground

__all__ = ["merge_identical"]

_TWO = 2


def merge_identical(ground: Ground, layout: Layout) -> Iterator[Changed]:
    """Merge branches of a choice that are the same, or begin or end the same."""

    def change(piece: Piece) -> Iterator[tuple[Piece, str]]:
        if not isinstance(piece, Branching) or piece.kind != "xor":
            return
        yield from _branches(ground, piece)
        yield from _ends(ground, piece)
        yield from _begins(ground, piece)

    yield from each_piece(layout, change)


def _same(ground: Ground, one: Piece, other: Piece) -> bool:
    """Tell whether two pieces do the same, with tasks that are the same but for their ids."""
    match one, other:
        case Step(), Step():
            tasks = ground.facts.net.tasks
            mine, yours = tasks.get(one.node), tasks.get(other.node)
            if mine is None or yours is None:
                return mine is yours
            return replace(mine, id="", join="xor", split="and") == replace(
                yours, id="", join="xor", split="and"
            )
        case Series(), Series():
            return len(one.parts) == len(other.parts) and all(
                _same(ground, a, b) for a, b in zip(one.parts, other.parts, strict=True)
            )
        case Branching(), Branching():
            return (
                one.kind == other.kind
                and len(one.ways) == len(other.ways)
                and (one.kind == "and" or one.split is None or other.split != one.split)
                and all(
                    (a.said, a.weight) == (b.said, b.weight) and _same(ground, a.piece, b.piece)
                    for a, b in zip(one.ways, other.ways, strict=True)
                )
            )
        case Loop(), Loop():
            return (
                (one.again.said, one.again.weight, one.leave, one.leave_weight)
                == (other.again.said, other.again.weight, other.leave, other.leave_weight)
                and _same(ground, one.body, other.body)
                and _same(ground, one.again.piece, other.again.piece)
            )
    return False


def _may_go(ground: Ground, piece: Piece) -> bool:
    return all(ground.facts.droppable(node) for node in ground.facts.steps(piece))


def _branches(ground: Ground, piece: Branching) -> Iterator[tuple[Piece, str]]:
    """Merge two branches that are the same."""
    for at, one in enumerate(piece.ways):
        for later in range(at + 1, len(piece.ways)):
            other = piece.ways[later]
            if not _same(ground, one.piece, other.piece) or not _may_go(ground, other.piece):
                continue
            way = _either(piece, at, later)
            if way is None:
                continue
            ways = (*piece.ways[:at], way, *piece.ways[at + 1 : later], *piece.ways[later + 1 :])
            new: Piece = replace(piece, ways=ways) if len(ways) > 1 else way.piece
            what = named(ground.doing(other.piece)) or "nothing"
            yield new, f"Merged the branches of '{piece.split}' that do the same: {what} is there once."


def _either(piece: Branching, at: int, later: int) -> Way | None:
    """Give the way that is taken if one of two would be; None where that can't be said."""
    one, other = piece.ways[at], piece.ways[later]
    weight = one.weight + other.weight
    chances = (one.said.probability, other.said.probability)
    probability = None if chances[0] is None or chances[1] is None else chances[0] + chances[1]
    if not any(way.said.rules for way in piece.ways):
        return replace(one, weight=weight, said=one.said._replace(probability=probability))
    if len(piece.ways) == _TWO and not piece.partial:
        return one
    return None if piece.partial else _either_by_predicate(piece, one, other, weight, probability)


def _either_by_predicate(
    piece: Branching, one: Way, other: Way, weight: float, probability: float | None
) -> Way | None:
    # Predicates are looked at one after the other: only neighbours in that order can be made one.
    order = sorted(
        (way for way in piece.ways if not way.said.default),
        key=lambda way: (way.said.order is None, way.said.order or 0, way.rank),
    )
    if one.said.default or other.said.default:
        default, asked = (one, other) if one.said.default else (other, one)
        if order[-1] is not asked:
            return None
        return replace(one, weight=weight, said=default.said._replace(probability=probability))
    first, second = order.index(one), order.index(other)
    if abs(first - second) != 1 or one.said.predicate is None or other.said.predicate is None:
        return None
    both = write(Logic("or", (parse(one.said.predicate), parse(other.said.predicate))))
    said = min((one, other), key=order.index).said
    return replace(one, weight=weight, said=said._replace(predicate=both, probability=probability))


def _ends(ground: Ground, piece: Branching) -> Iterator[tuple[Piece, str]]:
    """Let what all branches end with come after the choice."""
    inner = [fused(parts_of(way.piece)) for way in piece.ways]
    if any(not parts for parts in inner):
        return
    lasts = [parts[-1] for parts in inner]
    if all(_same(ground, lasts[0], one) and _may_go(ground, one) for one in lasts[1:]):
        ways = tuple(
            replace(way, piece=series(parts[:-1])) for way, parts in zip(piece.ways, inner, strict=True)
        )
        what = named(ground.doing(lasts[0])) or "what they end with"
        yield (
            series((replace(piece, ways=ways), lasts[0])),
            f"Put {what} behind the choice of '{piece.split}', once.",
        )


def _begins(ground: Ground, piece: Branching) -> Iterator[tuple[Piece, str]]:
    """Let what all branches begin with come before the choice, if the choice can wait for it."""
    inner = [fused(parts_of(way.piece)) for way in piece.ways]
    if piece.partial or any(not parts for parts in inner):
        return
    firsts = [parts[0] for parts in inner]
    if sum(way.said.predicate is None for way in piece.ways) > 1:
        return
    if depend(ground.facts.choice(piece.split, piece.ways), ground.facts.data(firsts[0])):
        return
    if all(_same(ground, firsts[0], one) and _may_go(ground, one) for one in firsts[1:]):
        ways = tuple(
            replace(way, piece=series(parts[1:])) for way, parts in zip(piece.ways, inner, strict=True)
        )
        what = named(ground.doing(firsts[0])) or "what they begin with"
        choice = replace(piece, ways=ways, split=None)
        yield series((firsts[0], choice)), f"Put {what} before the choice of '{piece.split}', once."
