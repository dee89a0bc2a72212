"""What several branches of a choice have in common is done once: whole branches, how they end, how they begin."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from halflap.workflows.analysis.order import depend
from halflap.workflows.model.block import Branches, Sequence, Step, inner, parts_of, rewritten, sequence
from halflap.workflows.predicates import either
from halflap.workflows.score.critical import fused
from halflap.workflows.transform.ground import named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.workflows.model.block import Block, Structure, Way
    from halflap.workflows.transform.ground import Changed, Ground

__all__ = ["merge_identical"]

_TWO = 2


def merge_identical(ground: Ground, structure: Structure) -> Iterator[Changed]:
    """Merge branches of a choice that are the same, or begin or end the same."""

    def change(block: Block) -> Iterator[tuple[Block, str]]:
        if isinstance(block, Branches) and block.kind == "xor":
            yield from _branches(ground, block)
            yield from _ends(ground, block)
            yield from _begins(ground, block)

    yield from structure.rewritten(change, rewritten)


def _same(ground: Ground, one: Block, other: Block) -> bool:
    """Return whether two blocks do the same, with tasks that differ in nothing but their ids."""
    if isinstance(one, Step) and isinstance(other, Step):
        tasks = ground.facts.net.tasks
        mine, yours = tasks.get(one.node), tasks.get(other.node)
        if mine is None or yours is None:
            return mine is yours
        return replace(mine, id="", join="xor", split="and") == replace(yours, id="", join="xor", split="and")
    if type(one) is not type(other) or len(inner(one)) != len(inner(other)):
        return False
    if not isinstance(one, Sequence) and not isinstance(other, Sequence):
        mine_, yours_ = ([(way.choice, way.weight) for way in block.ways] for block in (one, other))  # type: ignore[union-attr]
        kinds = [getattr(block, "kind", "loop") for block in (one, other)]
        if mine_ != yours_ or kinds[0] != kinds[1]:
            return False
        if kinds[0] in {"xor", "or"} and one.split == other.split is not None:  # type: ignore[union-attr]
            return False
    return all(_same(ground, a, b) for a, b in zip(inner(one), inner(other), strict=True))


def _may_go(ground: Ground, block: Block) -> bool:
    return all(ground.facts.droppable(node) for node in ground.facts.steps(block))


def _branches(ground: Ground, block: Branches) -> Iterator[tuple[Block, str]]:
    for at, one in enumerate(block.ways):
        for later in range(at + 1, len(block.ways)):
            other = block.ways[later]
            if not _same(ground, one.block, other.block) or not _may_go(ground, other.block):
                continue
            way = _either(block, one, other)
            if way is None:
                continue
            ways = (*block.ways[:at], way, *block.ways[at + 1 : later], *block.ways[later + 1 :])
            new: Block = replace(block, ways=ways) if len(ways) > 1 else way.block
            what = named(ground.facts.doing(other.block)) or "an empty way"
            yield new, f"Merged the identical branches of '{block.split}': {what}."


def _either(block: Branches, one: Way, other: Way) -> Way | None:  # noqa: PLR0911 -- one for each case
    """Return the way that is taken if one of two would be; None where that cannot be expressed."""
    chances = (one.choice.probability, other.choice.probability)
    probability = None if chances[0] is None or chances[1] is None else chances[0] + chances[1]
    merged = replace(one, weight=one.weight + other.weight)
    if not any(way.choice.decides for way in block.ways):
        return replace(merged, choice=one.choice._replace(probability=probability))
    if block.partial:
        return None
    if len(block.ways) == _TWO:
        return one
    # Predicates are evaluated in order: only neighbours in that order can be merged.
    order = sorted(
        (way for way in block.ways if not way.choice.default),
        key=lambda way: (way.choice.order is None, way.choice.order or 0, way.rank),
    )
    if one.choice.default or other.choice.default:
        default, asked = (one, other) if one.choice.default else (other, one)
        if order[-1] is not asked:
            return None
        return replace(merged, choice=default.choice._replace(probability=probability))
    mine, yours = one.choice.predicate, other.choice.predicate
    if abs(order.index(one) - order.index(other)) != 1 or mine is None or yours is None:
        return None
    first = min((one, other), key=order.index).choice
    return replace(merged, choice=first._replace(predicate=either(mine, yours), probability=probability))


def _ends(ground: Ground, block: Branches) -> Iterator[tuple[Block, str]]:
    """Move what all branches end with behind the choice."""
    inside = [fused(parts_of(way.block)) for way in block.ways]
    if not all(inside):
        return
    lasts = [parts[-1] for parts in inside]
    if all(_same(ground, lasts[0], one) and _may_go(ground, one) for one in lasts[1:]):
        pairs = zip(block.ways, inside, strict=True)
        ways = tuple(replace(way, block=sequence(parts[:-1])) for way, parts in pairs)
        what = named(ground.facts.doing(lasts[0])) or "the common end"
        yield (
            sequence((replace(block, ways=ways), lasts[0])),
            f"Moved {what} behind the choice of '{block.split}'.",
        )


def _begins(ground: Ground, block: Branches) -> Iterator[tuple[Block, str]]:
    """Move what all branches begin with before the choice, if the choice does not depend on it."""
    inside = [fused(parts_of(way.block)) for way in block.ways]
    if block.partial or not all(inside) or sum(way.choice.predicate is None for way in block.ways) > 1:
        return
    firsts = [parts[0] for parts in inside]
    if depend(ground.facts.choice(block.split, block.ways), ground.facts.data(firsts[0])):
        return
    if all(_same(ground, firsts[0], one) and _may_go(ground, one) for one in firsts[1:]):
        pairs = zip(block.ways, inside, strict=True)
        ways = tuple(replace(way, block=sequence(parts[1:])) for way, parts in pairs)
        what = named(ground.facts.doing(firsts[0])) or "the common beginning"
        new = sequence((firsts[0], replace(block, ways=ways, split=None)))
        yield new, f"Moved {what} before the choice of '{block.split}'."
