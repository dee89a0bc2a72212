"""Cheap filters first: a choice that need not wait is made before work that only one of its ways needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halflap.workflows.analysis.order import depend
from halflap.workflows.model.block import NOTHING, Branches, Step, parts_of, sequence, stretches
from halflap.workflows.score.critical import fused
from halflap.workflows.transform.ground import named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.workflows.analysis.order import Data
    from halflap.workflows.model.block import Block, Structure
    from halflap.workflows.transform.ground import Changed, Ground

__all__ = ["filter_first"]

_TWO = 2


def filter_first(ground: Ground, structure: Structure) -> Iterator[Changed]:
    """Make a choice before work that only one of its ways needs; of two nested filters, ask the inner one first."""
    whole = frozenset(node for block in structure.blocks for node in ground.facts.steps(block))

    def change(block: Block) -> Iterator[tuple[Block, str]]:
        parts = fused(parts_of(block))
        for at, part in enumerate(parts):
            swapped = _inner_first(ground, part, whole)
            if swapped is not None:
                yield sequence((*parts[:at], swapped[0], *parts[at + 1 :])), swapped[1]
            later = _before_work(ground, parts[at - 1], part, whole) if at else None
            if later is not None:
                yield sequence((*parts[: at - 1], later[0], *parts[at + 1 :])), later[1]

    if not ground.constraints.keep_order:
        yield from structure.rewritten(change, stretches)


def _filter(block: Block) -> tuple[Block, Branches] | None:
    """Take a choice apart into the steps that decide and the ways to choose from."""
    parts = parts_of(block)
    if not parts or not isinstance(parts[-1], Branches) or parts[-1].kind != "xor" or parts[-1].partial:
        return None
    head = sequence(parts[:-1])
    return (head, parts[-1]) if all(isinstance(part, Step) for part in parts_of(head)) else None


def _asks(ground: Ground, head: Block, choice: Branches) -> Data:
    """Return what is read and written to decide."""
    return ground.facts.data(head) | ground.facts.choice(choice.split, choice.ways)


def _serves_only(ground: Ground, work: Block, where: frozenset[str], whole: frozenset[str]) -> bool:
    """Return whether everything a block writes is only used by certain tasks, so that it is not needed without them."""
    facts = ground.facts
    writes = facts.data(work).writes
    if writes is None or not all(facts.droppable(node) for node in facts.steps(work)):
        return False
    for node in whole - where - facts.steps(work):
        data = facts.data(Step(node))
        if data.reads is None or data.writes is None or writes & (data.reads | data.writes):
            return False
    return True


def _before_work(ground: Ground, work: Block, part: Block, whole: frozenset[str]) -> tuple[Block, str] | None:
    """Move work behind a choice, into the only way that needs it."""
    facts = ground.facts
    found = _filter(part)
    if found is None or not facts.doing(work):
        return None
    head, choice = found
    data = facts.data(work)
    if data.writes is None or not data.writes or depend(_asks(ground, head, choice), data):
        return None
    needing = [at for at, way in enumerate(choice.ways) if facts.depend(work, way.block)]
    if len(needing) != 1 or any(facts.depend(work, one) for one in parts_of(head)):
        return None
    way = choice.ways[needing[0]].block
    reads = facts.data(way).reads
    if reads is None or not data.writes <= reads or not _serves_only(ground, work, facts.steps(way), whole):
        return None
    what = f"Moved {named(facts.doing(work))} behind the choice of '{choice.split}', into the only way that needs it."
    return sequence((head, choice.with_block(needing[0], sequence((work, way))))), what


def _inner_first(ground: Ground, part: Block, whole: frozenset[str]) -> tuple[Block, str] | None:
    """Of two filters, one directly within the other, ask the inner one first."""
    outer = _filter(part)
    if outer is None or len(outer[1].ways) != _TWO:
        return None
    head, choice = outer
    for stop, go in ((0, 1), (1, 0)):
        within = fused(parts_of(choice.ways[go].block))
        inner = _filter(within[0]) if len(within) == 1 else None
        if inner is None or len(inner[1].ways) != _TWO or choice.ways[stop].block != NOTHING:
            continue
        inner_head, inner_choice = inner
        stops = [at for at, way in enumerate(inner_choice.ways) if way.block == NOTHING]
        if len(stops) != 1 or ground.facts.depend(head, inner_head):
            continue
        if depend(_asks(ground, head, choice), _asks(ground, inner_head, inner_choice)):
            continue
        work = inner_choice.ways[1 - stops[0]].block
        if not _serves_only(ground, head, ground.facts.steps(work), whole):
            continue
        later = sequence((head, choice.with_block(go, work)))
        first = sequence((inner_head, inner_choice.with_block(1 - stops[0], later)))
        one = named(ground.facts.doing(inner_head)) or f"'{inner_choice.split}'"
        other = named(ground.facts.doing(head)) or f"'{choice.split}'"
        return first, f"Asked {one} before {other}."
    return None
