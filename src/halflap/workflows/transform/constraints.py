"""What an optimisation has to respect: max_cost, max_parallel, keep_order and fixed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import ConfigDict, Field

from halflap.core.errors import WorkflowError
from halflap.workflows.analysis.order import depend, first_order
from halflap.workflows.analysis.study import Study, Unknown
from halflap.workflows.model.block import Branches, Loop, Step, blocks_in
from halflap.workflows.model.net import Amount  # noqa: TC001 -- pydantic reads it
from halflap.workflows.model.reduce import structure_of
from halflap.workflows.score.facts import Facts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from halflap.workflows.analysis.order import Data
    from halflap.workflows.model.block import Block
    from halflap.workflows.model.net import Net

__all__ = ["Constraints", "raced"]


@dataclass(frozen=True)
class Constraints:
    """The constraints that were given."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid", strict=True)
    max_cost: Amount | None = None
    """The mean cost of a case."""
    max_parallel: Annotated[int, Field(ge=1)] | None = None
    """How many tasks may be under way at once."""
    keep_order: bool | tuple[tuple[str, str], ...] = False
    """Nothing may be reordered or made parallel; or of each pair, the first task stays before the second."""
    fixed: tuple[str, ...] = ()
    """Tasks that are neither moved, merged nor dropped."""

    @property
    def ordered(self) -> tuple[tuple[str, str], ...]:
        return () if isinstance(self.keep_order, bool) else self.keep_order

    def facts(self, net: Net) -> Facts:
        return Facts(net, self.fixed, (*self.ordered, *raced(net)))

    def problems(self, net: Net) -> Iterator[tuple[str, str]]:
        """Yield what does not fit a workflow: unknown tasks, and orders that it does not have."""
        places: dict[str, tuple[str, ...]] = {
            f"constraints.fixed[{at}]": (task,) for at, task in enumerate(self.fixed)
        }
        places |= {f"constraints.keep_order[{at}]": pair for at, pair in enumerate(self.ordered)}
        can = _orders(net) if self.ordered else set()
        for path, tasks in places.items():
            unknown = [task for task in tasks if task not in net.tasks]
            first, then = tasks[0], tasks[-1]
            if unknown:
                yield path, f"There is no task {unknown[0]!r}."
            elif len(set(tasks)) < len(tasks):
                yield path, "It must be a pair of two tasks, [first, then]."
            elif (then, first) in can and (first, then) not in can:
                yield (
                    path,
                    f"In the workflow '{then}' comes before '{first}'. Swap the pair, or leave it out.",
                )

    def without_effect(self, net: Net) -> list[tuple[str, str]]:
        """Return the pairs for which the workflow has no order: either way round, or never both."""
        can = _orders(net) if self.ordered else set()
        pairs = self.ordered if can else ()
        return [(first, then) for first, then in pairs if ((first, then) in can) == ((then, first) in can)]


def _orders(net: Net) -> set[tuple[str, str]]:
    """Return the pairs of tasks of which the first can come before the first occurrence of the second."""
    tasks = {name: replace(task, label=name) for name, task in net.tasks.items()}
    try:
        found = first_order(Study(replace(net, tasks=tasks)))
    except WorkflowError:
        return set()
    return set() if isinstance(found, Unknown) else set(found.pairs())


# Races -------------------------------------------------------------------------------------------------


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
