"""Better choices: what all ways have in common is done once, and a choice is made before work that only one of its ways needs."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence as List
from dataclasses import replace
from itertools import combinations, pairwise

from halflap.workflows.analysis.order import depend
from halflap.workflows.model.block import (
    Block,
    Branches,
    Choice,
    Sequence,
    Step,
    is_choice,
    parts_of,
    replaced,
    sequence,
)
from halflap.workflows.score.facts import fused
from halflap.workflows.transform.ground import Ground, named


def merge_identical(ground: Ground, block: Block) -> Iterator[tuple[Block, str]]:
    """Merge ways of a choice that are the same, or begin or end the same."""
    if not isinstance(block, Branches) or block.kind != "xor":
        return
    facts = ground.facts
    at = f"the choice of '{block.split}'"
    # Predicates are evaluated in order, so ways with them are not merged.
    if not any(choice.decides for choice in block.choices):
        yield from _merged(ground, block)
    inside = [fused(parts_of(part)) for part in block.parts]
    if not all(inside):
        return
    first, last = inside[0][0], inside[0][-1]
    if _all_same(ground, [parts[-1] for parts in inside]):
        rest = block.with_parts(sequence(parts[:-1]) for parts in inside)
        yield sequence((rest, last)), f"Moved {named(facts.doing(last)) or 'the common end'} behind {at}."
    decided = not block.partial and sum(choice.predicate is None for choice in block.choices) <= 1
    tied = facts.tie(block.split).writes
    earlier = decided and not tied and not depend(facts.choice(block), facts.data(first))
    if earlier and _all_same(ground, [parts[0] for parts in inside]):
        rest = replace(block, parts=tuple(sequence(parts[1:]) for parts in inside), split=None)
        yield (
            sequence((first, rest)),
            f"Moved {named(facts.doing(first)) or 'the common beginning'} before {at}.",
        )


def _merged(ground: Ground, block: Branches) -> Iterator[tuple[Block, str]]:
    for one, other in combinations(range(len(block.parts)), 2):
        if _all_same(ground, [block.parts[one], block.parts[other]]):
            both = Choice.together([block.choices[one], block.choices[other]])
            choices = [choice for at, choice in enumerate(replaced(block.choices, one, both)) if at != other]
            parts = [part for at, part in enumerate(block.parts) if at != other]
            what = named(ground.facts.doing(block.parts[other])) or "an empty way"
            new = replace(block, parts=tuple(parts), choices=tuple(choices)) if len(parts) > 1 else parts[0]
            yield new, f"Merged the identical branches of '{block.split}': {what}."


def _all_same(ground: Ground, blocks: List[Block]) -> bool:
    """Return whether all are like the first, and the others may go."""
    facts = ground.facts
    return all(
        _same(ground, blocks[0], one) and all(map(facts.droppable, facts.steps(one))) for one in blocks[1:]
    )


def _same(ground: Ground, one: Block, other: Block) -> bool:
    """Return whether two blocks do the same, with tasks that differ in nothing but their ids."""
    if isinstance(one, Step) and isinstance(other, Step):
        tasks = ground.facts.net.tasks
        mine, yours = tasks.get(one.node), tasks.get(other.node)
        if mine is None or yours is None:
            return mine is yours
        return replace(mine, id="", join="xor", split="and") == replace(yours, id="", join="xor", split="and")
    if type(one) is not type(other) or len(one.parts) != len(other.parts):
        return False
    if not isinstance(one, Sequence):
        stated = [[choice[:5] for choice in getattr(block, "choices", ())] for block in (one, other)]
        alike = stated[0] == stated[1] and getattr(one, "kind", None) == getattr(other, "kind", None)
        # Of one gate, these are different ways.
        same_gate = (
            is_choice(one) and getattr(one, "split", None) == getattr(other, "split", None) is not None
        )
        if not alike or same_gate:
            return False
    return all(_same(ground, a, b) for a, b in zip(one.parts, other.parts, strict=True))


def filter_first(ground: Ground, block: Block) -> Iterator[tuple[Block, str]]:
    """Make a choice before work that only one of its ways needs."""
    facts = ground.facts
    parts = fused(parts_of(block))
    for at, (work, part) in enumerate(pairwise(parts)):
        *head, choice = parts_of(part) or (part,)
        data = facts.data(work)
        if not isinstance(choice, Branches) or choice.kind != "xor" or choice.partial or not data.writes:
            continue
        if not facts.doing(work) or not all(isinstance(one, Step) for one in head):
            continue
        asks = facts.data(sequence(head)) | facts.choice(choice)
        needing = [way for way, one in enumerate(choice.parts) if facts.depend(work, one)]
        if (
            len(needing) == 1
            and not depend(asks, data)
            and _serves_only(ground, work, choice.parts[needing[0]])
        ):
            way = sequence((work, choice.parts[needing[0]]))
            new = sequence((*head, choice.with_parts(replaced(choice.parts, needing[0], way))))
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
        data = facts.data(Step(node=node))
        if data.reads is None or data.writes is None or writes & (data.reads | data.writes):
            return False
    return True
