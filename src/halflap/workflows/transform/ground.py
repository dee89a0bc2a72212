"""What a transformation may look at: the tasks, estimated times, and the constraints."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from halflap.core.text import join
from halflap.workflows.score.timing import Timing

if TYPE_CHECKING:
    from halflap.workflows.model.block import Block
    from halflap.workflows.model.net import Net
    from halflap.workflows.score.facts import Facts
    from halflap.workflows.transform.constraints import Constraints

_MAX_NAMED = 6


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
