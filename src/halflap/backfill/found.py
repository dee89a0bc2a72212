"""What was found in a log or a part of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from halflap.graph.lineage import NO_LINEAGE

if TYPE_CHECKING:
    from halflap.graph.lineage import Lineage
    from halflap.learn import Learned
    from halflap.store import ToolKey

__all__ = ["MAX_BAD_LINES", "BadLine", "Counts", "Knowledge"]

MAX_BAD_LINES = 100
"""Bad lines of a source that are reported one by one; the others are counted."""


class BadLine(NamedTuple):
    """A line that could not be read, counted from 1."""

    line: int
    reason: str


@dataclass(slots=True)
class Counts:
    """How much of what was in a log."""

    bytes: int = 0
    lines: int = 0
    observations: int = 0
    bad: list[BadLine] = field(default_factory=list)
    bad_count: int = 0
    other: int = 0
    """Lines that are JSON in no known form."""
    first_other: int = 0
    unpaired: int = 0
    """Calls without a result and results without a call."""
    nameless: int = 0
    """Results of tools whose server is not known."""
    nameless_tools: set[str] = field(default_factory=set)

    @property
    def is_nameless(self) -> bool:
        """Whether there were results, but none of a tool whose server is known."""
        return bool(self.nameless) and not self.observations

    def blame(self, line: int, reason: str) -> None:
        self.bad_count += 1
        if len(self.bad) < MAX_BAD_LINES:
            self.bad.append(BadLine(line, reason))

    def renumber(self, line: int) -> None:
        """Count lines as in the whole log, of which this part begins at a line."""
        self.bad = [BadLine(line - 1 + one.line, one.reason) for one in self.bad]
        self.first_other += line - 1 if self.other else 0

    def add(self, later: Counts) -> None:
        """Add what was found in a later part of the same log."""
        self.bytes += later.bytes
        self.lines += later.lines
        self.observations += later.observations
        self.bad = [*self.bad, *later.bad][:MAX_BAD_LINES]
        self.bad_count += later.bad_count
        self.other += later.other
        self.first_other = self.first_other or later.first_other
        self.unpaired += later.unpaired
        self.nameless += later.nameless
        self.nameless_tools |= later.nameless_tools


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What logs told about tools; merging commutes and associates."""

    shapes: Mapping[ToolKey, Learned] = field(default_factory=dict)
    lineage: Lineage = NO_LINEAGE

    def merge(self, other: Knowledge) -> Knowledge:
        shapes = dict(self.shapes)
        for key, learned in other.shapes.items():
            shapes[key] = shapes[key].merge(learned) if key in shapes else learned
        return Knowledge(shapes, self.lineage.merge(other.lineage))
