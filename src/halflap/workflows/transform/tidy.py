"""Remove what does nothing: silent tasks and conditions, empty branches, blocks within blocks of their kind, dead tasks. All keep the traces."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from halflap.workflows.analysis.soundness import soundness
from halflap.workflows.analysis.study import Study
from halflap.workflows.model.block import (
    NOTHING,
    PLAIN,
    Branches,
    Loop,
    Sequence,
    Step,
    Way,
    parts_of,
    sequence,
)
from halflap.workflows.model.build import build
from halflap.workflows.model.checks import structure_problems
from halflap.workflows.model.reduce import structure_of
from halflap.workflows.score.durations import shares
from halflap.workflows.transform.ground import named

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Sequence as List

    from halflap.workflows.model.block import Block, Structure
    from halflap.workflows.transform.ground import Changed, Ground

__all__ = ["flatten", "remove_dead", "remove_silent"]


def remove_silent(ground: Ground, structure: Structure) -> Iterator[Changed]:
    """Remove all silent tasks, conditions and branches that do nothing, at once."""
    gone: list[str] = []
    new = structure.with_blocks([_without(ground, block, gone) for block in structure.blocks])
    if new != structure:
        yield new, f"Removed {named(gone)}, which show nothing." if gone else "Removed empty branches."


def _without(ground: Ground, block: Block, gone: list[str], after: Block | None = None) -> Block:
    """Return a block without what does nothing; `after` is what follows, whose choice a condition may be."""
    if isinstance(block, Step):
        deferred = isinstance(after, Branches | Loop) and after.split == block.node
        if not ground.facts.removable(block.node) or (deferred and block.node not in ground.facts.net.tasks):
            return block
        gone.append(block.node)
        return NOTHING
    if isinstance(block, Sequence):
        following: list[Block | None] = [*block.parts, after][1:]
        return sequence(
            _without(ground, part, gone, then) for part, then in zip(block.parts, following, strict=True)
        )
    if isinstance(block, Branches):
        ways = tuple(replace(way, block=_without(ground, way.block, gone)) for way in block.ways)
        return _fewer(replace(block, ways=ways))
    body = _without(ground, block.body, gone, block)
    again = replace(block.again, block=_without(ground, block.again.block, gone))
    return NOTHING if body == again.block == NOTHING else replace(block, body=body, again=again)


def _fewer(block: Branches) -> Block:
    """Return branches without empty ones, if that is the same."""
    if block.kind == "and":
        ways = tuple(way for way in block.ways if way.block != NOTHING)
        if len(ways) <= 1:
            return ways[0].block if ways else NOTHING
        return replace(block, ways=ways)
    elsewhere = block.partial and any(way.choice.decides for way in block.ways)
    return NOTHING if all(way.block == NOTHING for way in block.ways) and not elsewhere else block


def flatten(ground: Ground, structure: Structure) -> Iterator[Changed]:
    """Merge blocks of a kind that are directly within one another, everywhere at once."""
    new = structure.with_blocks([_flat(ground, block) for block in structure.blocks])
    if new != structure:
        yield new, "Merged nested blocks of the same kind."


def _flat(ground: Ground, block: Block) -> Block:
    if isinstance(block, Step):
        return block
    if isinstance(block, Sequence):
        return sequence(_flat(ground, part) for part in block.parts)
    if isinstance(block, Loop):
        again = replace(block.again, block=_flat(ground, block.again.block))
        return replace(block, body=_flat(ground, block.body), again=again)
    outer = [replace(way, block=_flat(ground, way.block)) for way in block.ways]
    ways: list[Way] = []
    for way, chance in zip(outer, shares([way.weight for way in outer]), strict=True):
        inside = _alone(ground, way.block)
        taken = _taken_in(block, outer, way, inside, chance) if inside and inside.kind == block.kind else None
        ways += [way] if taken is None else taken
    return replace(block, ways=tuple(ways))


def _alone(ground: Ground, block: Block) -> Branches | None:
    """Return the block that is all a way has, apart from what does nothing."""
    facts = ground.facts
    if any(isinstance(part, Step) and part.node in facts.net.conditions for part in parts_of(block)):
        return None
    parts = [part for part in parts_of(block) if not (isinstance(part, Step) and facts.removable(part.node))]
    return parts[0] if len(parts) == 1 and isinstance(parts[0], Branches) else None


def _taken_in(
    block: Branches, outer: List[Way], way: Way, inside: Branches, chance: float
) -> List[Way] | None:
    """Return the ways of an inner block as ways of the outer one; None where that is not the same."""
    if block.kind == "and" or (way.choice == PLAIN and inside.split == block.split):
        return inside.ways
    every = (*outer, *inside.ways)
    if any(one.choice.decides for one in every) or block.partial or inside.partial:
        return None
    if block.kind == "or":
        return inside.ways if all(one.choice == PLAIN for one in every) else None
    known = _known(outer)
    if known != _known(inside.ways):
        return None
    likely = [chance * share for share in shares([one.weight for one in inside.ways])]
    return [
        replace(
            one,
            weight=p if known else 1.0,
            choice=one.choice._replace(probability=p) if known else one.choice,
        )
        for one, p in zip(inside.ways, likely, strict=True)
    ]


def _known(ways: List[Way]) -> bool:
    return all(way.choice.probability is not None for way in ways)


def remove_dead(ground: Ground, structure: Structure) -> Iterator[Changed]:
    """Remove tasks that never happen; a block-structured net has none."""
    if structure.block is not None:
        return
    net = build(ground.facts.net, structure)
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
        yield structure_of(new), f"Removed {named(sorted(dead))}, which can never happen."
