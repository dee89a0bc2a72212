"""What was found in a log or a part of one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from halflap.graph.lineage import NO_LINEAGE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.graph.lineage import Lineage
    from halflap.learn import Learned
    from halflap.store import ToolKey

__all__ = ["MAX_BAD_LINES", "BadLine", "Counts", "Knowledge"]

MAX_BAD_LINES = 100
"""Bad lines of a source that are reported one by one; the others are counted."""
_MAX_NAMES = 20


class BadLine(NamedTuple):
    """A line that could not be read, counted from 1."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class Counts:
    """How much of what was in a log; merging adds up what was found right behind."""

    bytes: int = 0
    lines: int = 0
    observations: int = 0
    bad: tuple[BadLine, ...] = ()
    bad_count: int = 0
    other: int = 0
    """Lines that are JSON in no known form."""
    first_other: int = 0
    unpaired: int = 0
    """Calls without a result and results without a call."""
    nameless: int = 0
    """Results of tools whose server is not known."""
    nameless_tools: tuple[str, ...] = ()
    cut_short: bool = False
    """Reading was interrupted."""

    def merge(self, later: Counts) -> Counts:
        bad = [BadLine(self.lines + one.line, one.reason) for one in later.bad]
        return Counts(
            bytes=self.bytes + later.bytes,
            lines=self.lines + later.lines,
            observations=self.observations + later.observations,
            bad=(*self.bad, *bad)[:MAX_BAD_LINES],
            bad_count=self.bad_count + later.bad_count,
            other=self.other + later.other,
            first_other=self.first_other or (later.first_other and self.lines + later.first_other),
            unpaired=self.unpaired + later.unpaired,
            nameless=self.nameless + later.nameless,
            nameless_tools=tuple(sorted({*self.nameless_tools, *later.nameless_tools})[:_MAX_NAMES]),
            cut_short=self.cut_short or later.cut_short,
        )


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What logs told about tools; merging commutes and associates."""

    shapes: Mapping[ToolKey, Learned] = field(default_factory=dict)
    lineage: Lineage = NO_LINEAGE

    def merge(self, other: Knowledge) -> Knowledge:
        return Knowledge(
            merge_learned(self.shapes, other.shapes),
            self.lineage.merge(other.lineage),
        )


def merge_learned(one: Mapping[ToolKey, Learned], other: Mapping[ToolKey, Learned]) -> dict[ToolKey, Learned]:
    merged = dict(one)
    for key, learned in other.items():
        known = merged.get(key)
        merged[key] = learned if known is None else known.merge(learned)
    return merged
