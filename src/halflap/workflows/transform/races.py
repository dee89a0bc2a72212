"""Order that must be kept because of parallel branches: two tasks that do not need each other, but both race with another branch.

A branch that reads twice in sequence while another writes may see old then new, but never new then old; in parallel it could. So of the
tasks of one branch, those that race with anything beside them keep their order.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from halflap.workflows.analysis.order import depend
from halflap.workflows.model.block import Branches, Loop, Step, blocks_in
from halflap.workflows.model.reduce import structure_of
from halflap.workflows.score.facts import Facts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from halflap.workflows.analysis.order import Data
    from halflap.workflows.model.block import Block
    from halflap.workflows.model.net import Net

__all__ = ["raced"]


def raced(net: Net) -> frozenset[tuple[str, str]]:
    """Return the pairs of tasks that keep their order because both race with something beside them."""
    structure, facts = structure_of(net), Facts(net)
    groups = [[way.block for way in one.ways] for block in structure.blocks for one in _parallel_in(block)]
    # Outside of blocks, whatever is between two gates may run beside everything else.
    if structure.block is None and any(corner.kind != "xor" for corner in structure.corners):
        groups.append(structure.blocks)
    racing = frozenset(name for group in groups for name in _racing(facts, group))
    return frozenset(pair for group in groups for block in group for pair in _ordered(facts, block, racing))


def _parallel_in(block: Block) -> Iterator[Branches]:
    return (one for one in blocks_in(block) if isinstance(one, Branches) and one.kind != "xor")


def _looks(facts: Facts, block: Block) -> Iterator[tuple[str, Data]]:
    """Yield each task with its data, and each choice with what it reads, under the name of a task in it."""
    for one in blocks_in(block):
        if isinstance(one, Step):
            yield one.node, facts.data(one)
        elif isinstance(one, Loop) or (isinstance(one, Branches) and one.kind != "and"):
            name = min(facts.steps(one), default=one.split)
            if name is not None:
                yield name, facts.choice(one.split, one.ways)


def _racing(facts: Facts, blocks: Sequence[Block]) -> Iterator[str]:
    """Yield what depends on something in another of these blocks, which run in parallel."""
    looks = [list(_looks(facts, block)) for block in blocks]
    known = [{data for _, data in listed} for listed in looks]
    for at, listed in enumerate(looks):
        others = set().union(*(data for other, data in enumerate(known) if other != at))
        touched = {mine for mine in known[at] if any(depend(mine, data) for data in others)}
        yield from (name for name, mine in listed if mine in touched)


def _ordered(facts: Facts, block: Block, racing: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Yield the pairs of racing tasks in one branch that are not parallel in it."""
    names = sorted({name for name, _ in _looks(facts, block)} & racing)
    beside = {
        frozenset((one, other))
        for parallel in (_parallel_in(block) if len(names) > 1 else ())
        for mine, yours in combinations(parallel.ways, 2)
        for one in facts.steps(mine.block)
        for other in facts.steps(yours.block)
    }
    yield from (pair for pair in combinations(names, 2) if frozenset(pair) not in beside)
