"""Parallelise what need not wait, and serialise where more runs at once than allowed."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from halflap.workflows.model.block import Branches, Way, parts_of, rewritten, sequence, stretches
from halflap.workflows.score.critical import critical_path, fused
from halflap.workflows.transform.arrange import Arranger
from halflap.workflows.transform.ground import named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.workflows.model.block import Block, Structure
    from halflap.workflows.transform.ground import Changed, Ground

__all__ = ["parallelise", "serialise"]

_ALL_WINDOWS = 8
_THREES = 24
_CLOSE = 1e-9


def parallelise(ground: Ground, structure: Structure) -> Iterator[Changed]:
    """Put independent parts of each stretch of a sequence in parallel."""

    def change(block: Block) -> Iterator[tuple[Block, str]]:
        parts = fused(parts_of(block))
        for start, end in _windows(len(parts)):
            old = sequence(parts[start:end])
            if old not in ground.arranged:
                ground.arranged[old] = tuple(_arrangements(ground, old))
            for new in ground.arranged[old]:
                what = f"Put {named(ground.facts.doing(old))} in parallel, as far as they are independent."
                yield sequence((*parts[:start], new, *parts[end:])), what

    if not ground.constraints.keep_order:
        yield from structure.rewritten(change, stretches)


def _windows(count: int) -> Iterator[tuple[int, int]]:
    """Yield the stretches to look at, long ones first: all of a short sequence, some of each length of a longer one."""
    if not count:
        return
    yield 0, count
    lengths: list[tuple[int, int]] = [(length, 1) for length in range(count - 1, 1, -1)]
    if count > _ALL_WINDOWS:
        lengths = [(1 << power, 1 << power >> 1) for power in range((count - 1).bit_length() - 1, 0, -1)]
        lengths += [(3, 1)] if count <= _THREES else []
    for length, step in lengths:
        for start in range(0, count - length + 1, step):
            yield start, start + length


def _arrangements(ground: Ground, old: Block) -> Iterator[Block]:
    """Yield faster arrangements of a block, for each number of tasks that may run at once."""
    timing = ground.timing
    if timing.estimate(old) <= critical_path(ground.facts, old) + _CLOSE:
        return
    most = ground.constraints.max_parallel
    widths: list[int | None] = [None] if most is None else [None, *range(most, 1, -1)]
    arrangers = [Arranger(ground, old)]
    if ground.by_label is not None:
        arrangers.append(Arranger(ground, old, ground.by_label))
    seen = {old}
    for arranger, width in product(arrangers, widths):
        key = (tuple(arranger.atoms), tuple(arranger.needs), width)
        if key not in ground.plans:
            ground.plans[key] = arranger.arranged(width)
        new = ground.plans[key]
        if new not in seen and timing.estimate(new) < timing.estimate(old) - _CLOSE:
            seen.add(new)
            yield new


def serialise(ground: Ground, structure: Structure) -> Iterator[Changed]:
    """Put two parallel branches in sequence, where more runs at once than allowed."""
    most = ground.constraints.max_parallel
    doing, width = ground.facts.doing, ground.timing.width

    def change(block: Block) -> Iterator[tuple[Block, str]]:
        if not isinstance(block, Branches) or block.kind != "and" or width(block) <= (most or 0):
            return
        for at, one in enumerate(block.ways):
            for later in range(at + 1, len(block.ways)):
                other = block.ways[later]
                both = Way(sequence((one.block, other.block)))
                ways = (*block.ways[:at], both, *block.ways[at + 1 : later], *block.ways[later + 1 :])
                new: Block = Branches("and", ways, block.split, block.join) if len(ways) > 1 else both.block
                names = named([*doing(one.block)[:1], *doing(other.block)[:1]])
                yield new, f"Put {names}, and what belongs to them, in sequence, so that less runs at once."

    if most is not None and any(width(block) > most for block in structure.blocks):
        yield from structure.rewritten(change, rewritten)
