"""How well a workflow uses four patterns: sequential, parallel, choice and loop.

Each score is a share: of what is done in sequence, how much has to be; of what could be parallel, how much is; of what choices and loops should
state, how much they do. Outside of blocks only choices are judged. A pattern without an opportunity has no score.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from halflap.workflows.model.block import Branches, Loop, Sequence, Step, blocks_in, inner
from halflap.workflows.score.critical import Atoms, closure, fused

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from halflap.workflows.model.block import Block, Structure, Way
    from halflap.workflows.score.facts import Facts

__all__ = [
    "PATTERNS",
    "Pattern",
    "PatternScore",
    "has_limit",
    "is_decided",
    "loose_choices",
    "pattern_scores",
]

Pattern = Literal["sequential", "parallel", "choice", "loop"]
PATTERNS: tuple[Pattern, ...] = ("sequential", "parallel", "choice", "loop")


@dataclass(frozen=True, slots=True)
class PatternScore:
    """A pattern's score, and what it was counted from."""

    score: float | None
    raw: Mapping[str, int] = field(hash=False)


def pattern_scores(
    facts: Facts, structure: Structure, wanted: Iterable[Pattern] = PATTERNS
) -> dict[Pattern, PatternScore]:
    scorers = {"sequential": _sequential, "parallel": _parallel, "choice": _choice, "loop": _loop}
    return {name: scorers[name](facts, structure) for name in wanted}


def _share(good: int, all_: int, raw: Mapping[str, int]) -> PatternScore:
    return PatternScore(good / all_ if all_ else None, raw)


def _everywhere(structure: Structure) -> Iterator[Block]:
    for block in structure.blocks:
        yield from blocks_in(block)


def _sequential(facts: Facts, structure: Structure) -> PatternScore:
    pairs = needed = 0
    for one in _everywhere(structure):
        if isinstance(one, Sequence):
            parts = [part for part in fused(one.parts) if facts.doing(part)]
            pairs += max(0, len(parts) - 1)
            needed += sum(facts.depend(first, then) for first, then in pairwise(parts))
    return _share(needed, pairs, {"pairs": pairs, "dependent": needed})


def _parallel(facts: Facts, structure: Structure) -> PatternScore:
    independent = beside = races = 0
    for level in _levels(structure):
        atoms = Atoms(level)
        depends = atoms.depends(facts)
        closed = closure([one & before for one, before in zip(depends, atoms.before, strict=True)])
        doing = 0
        for at, one in enumerate(atoms.atoms):
            if not facts.doing(one):
                continue
            apart = doing & ~atoms.before[at]
            clash = apart & depends[at]
            free = doing & ~clash & ~closed[at]
            races += clash.bit_count()
            independent += free.bit_count()
            beside += (free & apart).bit_count()
            doing |= 1 << at
    raw = {"independent_pairs": independent, "side_by_side": beside, "dependent_side_by_side": races}
    return _share(beside, independent + races, raw)


def _levels(structure: Structure) -> Iterator[Block]:
    """Yield the blocks whose atoms can be compared: each whole, and each way of a choice or loop within."""
    yield from structure.blocks
    for one in _everywhere(structure):
        if isinstance(one, Loop) or (isinstance(one, Branches) and one.kind != "and"):
            yield from inner(one)


def _choice(facts: Facts, structure: Structure) -> PatternScore:
    closed = [one for one in _everywhere(structure) if isinstance(one, Branches) and one.kind != "and"]
    loose = loose_choices(structure)
    decided = sum(is_decided(facts, one.split, one.ways) for one in closed)
    decided += sum(is_decided(facts, node, ways) for node, ways in loose)
    looks = [
        [_look(facts, way.block) for way in ways]
        for ways in (*(one.ways for one in closed), *(ways for _, ways in loose))
    ]
    distinct = sum(len(set(one)) == len(one) for one in looks)
    raw = {"choices": len(looks), "decided": decided, "distinct": distinct, "closed": len(closed)}
    return _share(decided + distinct + len(closed), 3 * len(looks), raw)


def loose_choices(structure: Structure) -> list[tuple[str, tuple[Way, ...]]]:
    """Return the choices that are in no block, each with its ways."""
    if structure.block is not None:
        return []
    found = []
    for at, corner in enumerate(structure.corners):
        ways = tuple(link.way for link in structure.links if link.source == at)
        if not corner.joins and corner.kind != "and" and len(ways) > 1:
            found.append((corner.node, ways))
    return found


def is_decided(facts: Facts, split: str | None, ways: tuple[Way, ...]) -> bool:
    """Return whether it is stated how a way is chosen: by what comes first, predicates or at least probabilities."""
    if split in facts.net.conditions:
        return True
    without = sum(way.choice.predicate is None for way in ways)
    return without <= 1 or all(way.choice.probability is not None for way in ways)


def _look(facts: Facts, block: Block) -> object:
    """Return the visible labels of a block and how they are arranged."""
    if isinstance(block, Step):
        task = facts.net.tasks.get(block.node)
        return () if task is None or task.label is None else (task.label,)
    looks = [look for part in inner(block) if (look := _look(facts, part)) or not isinstance(block, Sequence)]
    if isinstance(block, Sequence):
        return tuple(label for look in looks for label in (look if isinstance(look, tuple) else (look,)))
    return (("loop" if isinstance(block, Loop) else block.kind, *looks),)


def _loop(facts: Facts, structure: Structure) -> PatternScore:
    loops = [one for one in _everywhere(structure) if isinstance(one, Loop)]
    left = sum(one.leave_weight > 0 for one in loops)
    bounded = sum(has_limit(facts, facts.steps(one)) for one in loops)
    raw = {"loops": len(loops), "structured": len(loops), "can_be_left": left, "bounded": bounded}
    return _share(len(loops) + left + bounded, 3 * len(loops), raw)


def has_limit(facts: Facts, nodes: Iterable[str]) -> bool:
    """Return whether one of the tasks states how often it may be done."""
    found = (facts.net.tasks.get(node) for node in nodes)
    return any(task is not None and task.limit is not None for task in found)
