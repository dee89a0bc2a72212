"""The goal of an optimisation, its constraints, and the context of a transformation: the tasks and their estimated times.

An order to keep is expressed as data: tasks that share a tie depend on each other like tasks that write the same name.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from operator import or_
from typing import Annotated, ClassVar

from pydantic import ConfigDict, Field

from halflap.workflows.analysis.order import Data, depend
from halflap.workflows.answers import Target  # noqa: TC001 -- pydantic reads it
from halflap.workflows.model.block import Block, Branches, Loop, Step, blocks_in, is_choice
from halflap.workflows.model.net import STRICT, Net
from halflap.workflows.score.facts import TIE, Facts
from halflap.workflows.score.patterns import Pattern  # noqa: TC001 -- pydantic reads it
from halflap.workflows.score.timing import Timing


@dataclass(frozen=True)
class Constraints:
    """Limits on an optimisation."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    max_parallel: Annotated[int, Field(ge=1)] | None = None
    """How many tasks may run at the same time."""
    keep_order: tuple[tuple[str, str], ...] = ()
    """Pairs of tasks that keep their order."""
    fixed: tuple[str, ...] = ()
    """Tasks that are not moved."""

    def problems(self, net: Net) -> Iterator[tuple[str, str]]:
        """Yield the names that are not tasks of a workflow."""
        named = [(f"fixed[{at}]", task) for at, task in enumerate(self.fixed)]
        named += [(f"keep_order[{at}]", task) for at, pair in enumerate(self.keep_order) for task in pair]
        for path, task in named:
            if task not in net.tasks:
                yield f"constraints.{path}", f"There is no task {task!r}."


@dataclass(frozen=True)
class Goal:
    """The goal of an optimisation."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    optimization_target: Target
    constraints: Constraints = field(default_factory=Constraints)
    reference_patterns: tuple[Pattern, ...] = ()


class Context:
    """What transformations use of the workflow that they change."""

    def __init__(self, net: Net, tree: Block, constraints: Constraints) -> None:
        ties: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
        for at, nodes in enumerate([*constraints.keep_order, *_races(Facts(net), tree)]):
            for node in nodes:
                ties[node] |= {f"{TIE}order[{at}]"}
        self.facts = Facts(net, constraints.fixed, ties)
        self.timing = Timing(self.facts)
        self.max_parallel = constraints.max_parallel
        self.arranged: dict[Block, list[Block]] = {}
        """Faster arrangements of each block, so that they are made once."""


def _races(facts: Facts, tree: Block) -> Iterator[set[str]]:
    """Yield, for each parallel branch, its nodes that race: something in another branch uses their data.

    They keep their order within the branch; otherwise the other branch could see the second without the first.
    """
    racing: set[str] = set()
    branches: list[set[str]] = []
    for block in blocks_in(tree):
        if not isinstance(block, Branches) or block.kind == "xor":
            continue
        data = [facts.data(part) for part in block.parts]
        before = list(accumulate(data, or_, initial=Data()))
        after = list(accumulate(reversed(data), or_, initial=Data()))[::-1]
        for at, part in enumerate(block.parts):
            inside = list(blocks_in(part))
            looks = [(one.node, facts.data(one)) for one in inside if isinstance(one, Step)]
            gates = [one for one in inside if isinstance(one, Branches | Loop) and is_choice(one)]
            looks += [(one.split or "", facts.choice(one)) for one in gates]
            racing |= {node for node, own in looks if depend(own, before[at] | after[at + 1])}
            branches.append({node for node, _ in looks})
    yield from (branch & racing for branch in branches)
