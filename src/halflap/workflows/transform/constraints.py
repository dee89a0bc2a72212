"""What a transformation may look at: the tasks and their estimated times, and the constraints it has to respect.

An order to keep is expressed as data: tasks that share a tie depend on each other like tasks that write the same name.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from operator import or_
from typing import Annotated, ClassVar

from pydantic import ConfigDict, Field

from halflap.core.text import join
from halflap.workflows.analysis.order import Data, depend
from halflap.workflows.model.block import Block, Branches, Loop, Step, Tangle, blocks_in, is_choice
from halflap.workflows.model.net import STRICT, Amount, Net
from halflap.workflows.score.facts import TIE, Facts
from halflap.workflows.score.timing import Timing

_MAX_NAMED = 6


@dataclass(frozen=True)
class Constraints:
    """The constraints that were given."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    max_cost: Amount | None = None
    """The mean cost of a case."""
    max_parallel: Annotated[int, Field(ge=1)] | None = None
    """How many tasks may be under way at once."""
    keep_order: bool | tuple[tuple[str, str], ...] = False
    """Nothing may be reordered or made parallel; or pairs of tasks that keep their order."""
    fixed: tuple[str, ...] = ()
    """Tasks that are neither moved, merged nor dropped."""

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        return () if isinstance(self.keep_order, bool) else self.keep_order

    def facts(self, net: Net, tree: Block) -> Facts:
        """Return the facts about a net, with ties for every order that has to be kept."""
        ties: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
        for at, pair in enumerate(self.pairs):
            for task in pair:
                ties[task] |= {f"{TIE}keep_order[{at}]"}
        for task in net.tasks if self.keep_order is True else ():
            ties[task] |= {f"{TIE}keep_order"}
        for at, nodes in enumerate(_races(Facts(net), tree)):
            for node in nodes:
                ties[node] |= {f"{TIE}race[{at}]"}
        return Facts(net, self.fixed, ties)

    def problems(self, net: Net) -> Iterator[tuple[str, str]]:
        """Yield what does not fit a workflow."""
        places: dict[str, tuple[str, ...]] = {
            f"constraints.fixed[{at}]": (task,) for at, task in enumerate(self.fixed)
        }
        places |= {f"constraints.keep_order[{at}]": pair for at, pair in enumerate(self.pairs)}
        for path, tasks in places.items():
            for task in tasks:
                if task not in net.tasks:
                    yield path, f"There is no task {task!r}."
            if len(set(tasks)) < len(tasks):
                yield path, "It must be a pair of two tasks."


def _races(facts: Facts, tree: Block) -> list[set[str]]:
    """Return, for each parallel branch, its nodes that race: something beside them uses their data.

    They keep their order within the branch; otherwise what runs beside could see the second without the first.
    """
    racing: set[str] = set()
    branches: list[set[str]] = []
    for block in blocks_in(tree):
        # Outside of blocks, whatever is between two gates may run beside everything else.
        tangled = isinstance(block, Tangle) and any(corner.kind != "xor" for corner in block.corners)
        if not tangled and not (isinstance(block, Branches) and block.kind != "xor"):
            continue
        data = [facts.data(part) for part in block.parts]
        before = list(accumulate(data, or_, initial=Data()))
        after = list(accumulate(reversed(data), or_, initial=Data()))[::-1]
        for at, part in enumerate(block.parts):
            beside = before[at] | after[at + 1]
            looks = [(one.node, facts.data(one)) for one in blocks_in(part) if isinstance(one, Step)]
            looks += [
                (one.split or "", facts.choice(one))
                for one in blocks_in(part)
                if isinstance(one, Branches | Loop) and is_choice(one)
            ]
            racing |= {node for node, own in looks if depend(own, beside)}
            branches.append({node for node, _ in looks})
    return [branch & racing for branch in branches]


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """A workflow that is to be changed."""

    facts: Facts
    constraints: Constraints
    timing: Timing
    arranged: dict[Block, list[Block]] = field(default_factory=dict)
    """Faster arrangements of each block, so that they are made once."""

    @classmethod
    def of(cls, net: Net, tree: Block, constraints: Constraints) -> Ground:
        facts = constraints.facts(net, tree)
        return cls(facts, constraints, Timing(facts))


def named(tasks: Iterable[str]) -> str:
    return join((f"'{task}'" for task in tasks), limit=_MAX_NAMED)
