"""What a transformation may look at: the tasks, estimated times, and the constraints."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from halflap.core.text import join
from halflap.workflows.score.timing import Timing

if TYPE_CHECKING:
    from collections.abc import Iterable

    from halflap.workflows.model.block import Block, Structure
    from halflap.workflows.score.facts import Facts
    from halflap.workflows.transform.constraints import Constraints

__all__ = ["Changed", "Ground", "named"]

Changed = tuple["Structure", str]
"""The changed workflow, and what was done."""
_MAX_NAMED = 6


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """A workflow that is to be changed."""

    facts: Facts
    constraints: Constraints
    timing: Timing = field(init=False)
    arranged: dict[Block, tuple[Block, ...]] = field(default_factory=dict)
    """Arrangements of a block, so that each is made once."""
    plans: dict[tuple[tuple[Block, ...], tuple[int, ...], int | None], Block] = field(default_factory=dict)
    """The same by the atoms that are arranged, what each needs, and how many may run at once."""
    numbers: dict[Block, int] = field(default_factory=dict)
    """Atoms in the order in which they were first arranged."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "timing", Timing(self.facts, quick=True))


def named(tasks: Iterable[str]) -> str:
    return join((f"'{task}'" for task in tasks), limit=_MAX_NAMED)
