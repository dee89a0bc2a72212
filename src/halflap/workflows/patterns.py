"""How well a workflow uses the four patterns: sequential, parallel, choice and loop.

Each is a share: of what is done one after the other, how much has to be; of what could be done side by side, how much is; of
what choices and loops should say of themselves, how much they do. A pattern that there is no place for has no score.
Of a workflow that is not made of blocks, what is in no block is looked at task by task.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from halflap.workflows.circles import beginnings, circles
from halflap.workflows.pieces.piece import Branching, Loop, Series, parts_of
from halflap.workflows.tangle import independence, neighbours
from halflap.workflows.timing.critical import Atoms, closure, fused

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from halflap.workflows.net import Net
    from halflap.workflows.pieces.facts import Facts
    from halflap.workflows.pieces.piece import Layout, Piece, Way
    from halflap.workflows.study import Study
    from halflap.workflows.tangle import Counted

__all__ = ["PATTERNS", "Pattern", "PatternScore", "pattern_scores"]

Pattern = Literal["sequential", "parallel", "choice", "loop"]
PATTERNS: tuple[Pattern, ...] = ("sequential", "parallel", "choice", "loop")


@dataclass(frozen=True, slots=True)
class PatternScore:
    """A pattern's score, None where there is no place for it, and what it was counted from."""

    score: float | None
    raw: Mapping[str, int] = field(hash=False)
    problem: str | None = None
    """Why it is not known, where it is not."""


def pattern_scores(
    facts: Facts, layout: Layout, study: Study, wanted: Iterable[Pattern] = PATTERNS
) -> dict[Pattern, PatternScore]:
    """Score the patterns that are wanted; `study` is of the workflow that the layout is of."""
    return {name: _scored(name, facts, layout, study) for name in wanted}


def _scored(name: Pattern, facts: Facts, layout: Layout, study: Study) -> PatternScore:
    piece = layout.piece
    match name:
        case "sequential" if piece is not None:
            return _sequential(facts, piece)
        case "sequential":
            return _told(neighbours(facts, study.net), "dependent")
        case "parallel" if piece is not None:
            return _parallel(facts, piece)
        case "parallel":
            return _told(independence(facts, study), "side_by_side")
        case "choice":
            return _choice(facts, layout, study.net)
        case _:
            return _loop(facts, layout)


def _told(found: Counted, good: str) -> PatternScore:
    """Score what was counted of a workflow that is not made of blocks: the share that is as it should be."""
    if found.numbers is None:
        return PatternScore(None, {}, found.problem)
    numbers = found.numbers
    whole = sum(
        numbers[key] for key in ("pairs", "independent_pairs", "dependent_side_by_side") if key in numbers
    )
    return PatternScore(numbers[good] / whole if whole else None, numbers)


def every(piece: Piece) -> Iterator[Piece]:
    """Give a piece, and all within it."""
    yield piece
    if isinstance(piece, Series):
        for part in piece.parts:
            yield from every(part)
    elif isinstance(piece, Branching):
        for way in piece.ways:
            yield from every(way.piece)
    elif isinstance(piece, Loop):
        yield from every(piece.body)
        yield from every(piece.again.piece)


def _does(facts: Facts, piece: Piece) -> bool:
    return any(not facts.routes(node) for node in facts.steps(piece))


def _sequential(facts: Facts, piece: Piece) -> PatternScore:
    pairs = needed = 0
    for one in every(piece):
        if not isinstance(one, Series):
            continue
        parts = [part for part in fused(one.parts) if _does(facts, part)]
        for first, then in pairwise(parts):
            pairs += 1
            needed += facts.depend(first, then)
    return PatternScore(needed / pairs if pairs else None, {"pairs": pairs, "dependent": needed})


def _levels(piece: Piece) -> Iterator[Piece]:
    """Give the pieces whose atoms stand beside each other: the whole, and each way of a choice or a loop within."""
    yield piece
    for one in every(piece):
        if isinstance(one, Branching) and one.kind != "and":
            for way in one.ways:
                yield way.piece
        elif isinstance(one, Loop):
            yield one.body
            yield one.again.piece


def _parallel(facts: Facts, piece: Piece) -> PatternScore:
    independent = beside = races = 0
    for level in _levels(piece):
        atoms = Atoms(level)
        depends = atoms.depends(facts)
        closed = closure([one & before for one, before in zip(depends, atoms.before, strict=True)])
        doing = 0
        for at, one in enumerate(atoms.atoms):
            if not _does(facts, one):
                continue
            apart = doing & ~atoms.before[at]
            clash = apart & depends[at]
            free = doing & ~clash & ~closed[at]
            races += clash.bit_count()
            independent += free.bit_count()
            beside += (free & apart).bit_count()
            doing |= 1 << at
    whole = independent + races
    raw = {"independent_pairs": independent, "side_by_side": beside, "dependent_side_by_side": races}
    return PatternScore(beside / whole if whole else None, raw)


def decidable(facts: Facts, split: str | None, ways: tuple[Way, ...]) -> bool:
    """Tell whether it is said how a way is chosen: by who comes first, by predicates, or at least how likely each is."""
    if split in facts.net.conditions:
        return True
    said = [way.said for way in ways]
    if sum(one.predicate is None for one in said) <= 1 and len(said) > 1:
        return True
    return all(one.probability is not None for one in said)


def _choice(facts: Facts, layout: Layout, net: Net) -> PatternScore:
    choices = decided = distinct = closed = 0
    for link in layout.links:
        for one in every(link.way.piece):
            if isinstance(one, Branching) and one.kind != "and":
                choices += 1
                closed += 1
                decided += decidable(facts, one.split, one.ways)
                looks = [_look(facts, way.piece) for way in one.ways]
                distinct += len(set(looks)) == len(looks)
    if layout.piece is None:
        for at, corner in enumerate(layout.corners):
            links = [link for link in layout.links if link.source == at]
            if not corner.joins and corner.kind != "and" and len(links) > 1:
                choices += 1
                decided += decidable(facts, corner.node, tuple(link.way for link in links))
                begins = beginnings(net, layout, links)
                distinct += sum(map(len, begins)) == len(set().union(*begins))
    raw = {"choices": choices, "decided": decided, "distinct": distinct, "closed": closed}
    return PatternScore((decided + distinct + closed) / (3 * choices) if choices else None, raw)


def _look(facts: Facts, piece: Piece) -> object:
    """Give what a piece looks like from outside: its labels, and how they stand."""
    labels = {node: task.label for node, task in facts.net.tasks.items()}

    def seen(one: Piece) -> object:
        if isinstance(one, Series):
            return tuple(inner for part in one.parts if (inner := seen(part)) is not None) or None
        if isinstance(one, Branching):
            return (one.kind, *(seen(way.piece) for way in one.ways))
        if isinstance(one, Loop):
            return ("loop", seen(one.body), seen(one.again.piece))
        return labels.get(one.node)

    return seen(piece if isinstance(piece, Series) else Series(parts_of(piece)))


def _loop(facts: Facts, layout: Layout) -> PatternScore:
    loops = bounded = left = structured = 0
    for link in layout.links:
        for one in every(link.way.piece):
            if isinstance(one, Loop):
                loops += 1
                structured += 1
                left += one.leave_weight > 0
                bounded += limit_in(facts, facts.steps(one))
    if layout.piece is None:
        for circle in circles(layout):
            loops += 1
            left += circle.left
            bounded += limit_in(facts, circle.steps)
    raw = {"loops": loops, "structured": structured, "can_be_left": left, "bounded": bounded}
    return PatternScore((structured + left + bounded) / (3 * loops) if loops else None, raw)


def limit_in(facts: Facts, nodes: Iterable[str]) -> bool:
    """Tell whether a task of a loop says how often it may be done."""
    found = (facts.net.tasks.get(node) for node in nodes)
    return any(task is not None and task.limit is not None for task in found)
