"""Better choices: what all ways have in common is done once, and a choice is made before work that only one of its ways needs."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from halflap.workflows.analysis.order import depend
from halflap.workflows.model.block import Branches, Sequence, Step, inner, parts_of, sequence
from halflap.workflows.score.critical import fused
from halflap.workflows.transform.ground import named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.workflows.model.block import Block
    from halflap.workflows.transform.ground import Ground

__all__ = ["filter_first", "merge_identical"]


def merge_identical(ground: Ground, block: Block) -> Iterator[tuple[Block, str]]:
    """Merge ways of a choice that are the same, or begin or end the same."""
    if not isinstance(block, Branches) or block.kind != "xor":
        return
    at = f"the choice of '{block.split}'"
    # Predicates are evaluated in order, so ways with them are not merged.
    if not any(way.choice.decides for way in block.ways):
        yield from _merged(ground, block)
    inside = [fused(parts_of(way.block)) for way in block.ways]
    if not all(inside):
        return
    if _all_same(ground, [parts[-1] for parts in inside]):
        what = named(ground.facts.doing(inside[0][-1])) or "the common end"
        yield (
            sequence((_with(block, [parts[:-1] for parts in inside]), inside[0][-1])),
            f"Moved {what} behind {at}.",
        )
    first = inside[0][0]
    decided = not block.partial and sum(way.choice.predicate is None for way in block.ways) <= 1
    needs = not decided or depend(ground.facts.choice(block.split, block.ways), ground.facts.data(first))
    if not needs and _all_same(ground, [parts[0] for parts in inside]):
        what = named(ground.facts.doing(first)) or "the common beginning"
        rest = replace(_with(block, [parts[1:] for parts in inside]), split=None)
        yield sequence((first, rest)), f"Moved {what} before {at}."


def _merged(ground: Ground, block: Branches) -> Iterator[tuple[Block, str]]:
    for at, one in enumerate(block.ways):
        for later in range(at + 1, len(block.ways)):
            other = block.ways[later]
            if not _all_same(ground, [one.block, other.block]):
                continue
            chances = (one.choice.probability, other.choice.probability)
            probability = None if chances[0] is None or chances[1] is None else chances[0] + chances[1]
            choice = one.choice._replace(probability=probability)
            way = replace(one, weight=one.weight + other.weight, choice=choice)
            ways = (*block.ways[:at], way, *block.ways[at + 1 : later], *block.ways[later + 1 :])
            what = named(ground.facts.doing(other.block)) or "an empty way"
            new: Block = replace(block, ways=ways) if len(ways) > 1 else way.block
            yield new, f"Merged the identical branches of '{block.split}': {what}."


def _with(block: Branches, inside: list[list[Block]]) -> Branches:
    pairs = zip(block.ways, inside, strict=True)
    return replace(block, ways=tuple(replace(way, block=sequence(parts)) for way, parts in pairs))


def _all_same(ground: Ground, blocks: list[Block]) -> bool:
    """Return whether all are like the first, and the others may go."""
    droppable = ground.facts.droppable
    return all(
        _same(ground, blocks[0], one) and all(map(droppable, ground.facts.steps(one))) for one in blocks[1:]
    )


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
    if not isinstance(one, Step | Sequence) and not isinstance(other, Step | Sequence):
        ways = [[(way.choice, way.weight) for way in block.ways] for block in (one, other)]
        kinds = [getattr(block, "kind", "loop") for block in (one, other)]
        same_gate = kinds[0] in {"xor", "or"} and one.split == other.split is not None
        if ways[0] != ways[1] or kinds[0] != kinds[1] or same_gate:
            return False
    return all(_same(ground, a, b) for a, b in zip(inner(one), inner(other), strict=True))


def filter_first(ground: Ground, block: Block) -> Iterator[tuple[Block, str]]:
    """Make a choice before work that only one of its ways needs."""
    if ground.constraints.keep_order is True:
        return
    facts = ground.facts
    parts = fused(parts_of(block))
    for at, (work, part) in enumerate(pairwise(parts)):
        *head, choice = parts_of(part) or (part,)
        data = facts.data(work)
        if not isinstance(choice, Branches) or choice.kind != "xor" or choice.partial or not data.writes:
            continue
        if not facts.doing(work) or not all(isinstance(one, Step) for one in head):
            continue
        asks = facts.data(sequence(head)) | facts.choice(choice.split, choice.ways)
        needing = [way for way, one in enumerate(choice.ways) if facts.depend(work, one.block)]
        if len(needing) != 1 or depend(asks, data) or any(facts.depend(work, one) for one in head):
            continue
        way = choice.ways[needing[0]].block
        if _serves_only(ground, work, way):
            new = sequence((*head, choice.with_block(needing[0], sequence((work, way)))))
            what = f"Moved {named(facts.doing(work))} behind the choice of '{choice.split}', into the only way that needs it."
            yield sequence((*parts[:at], new, *parts[at + 2 :])), what


def _serves_only(ground: Ground, work: Block, way: Block) -> bool:
    """Return whether everything a block writes is read by one way and used nowhere else, so that it is not needed without it."""
    facts = ground.facts
    writes, reads = facts.data(work).writes, facts.data(way).reads
    if writes is None or reads is None or not writes <= reads:
        return False
    if not all(map(facts.droppable, facts.steps(work))):
        return False
    # The tasks of the original: one that is gone by now is not missed.
    for node in facts.net.tasks.keys() - facts.steps(way) - facts.steps(work):
        data = facts.data(Step(node))
        if data.reads is None or data.writes is None or writes & (data.reads | data.writes):
            return False
    return True
