"""What was found in a stretch of a log: shapes and counts, put together in the order of the stretches."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from halflap.backfill.broken import merge_places
from halflap.graph.lineage import NO_LINEAGE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.backfill.broken import Places
    from halflap.graph.lineage import Lineage
    from halflap.learn import Learned
    from halflap.store import ToolKey

__all__ = [
    "MOST_NAMES",
    "MOST_SHOWN",
    "NOTHING_FOUND",
    "BadLine",
    "Counted",
    "Found",
    "Stretch",
    "Tree",
    "merge_broken",
]

MOST_SHOWN = 100
"""So many bad lines of a source are named; the others are counted."""
MOST_NAMES = 20


class Counted(NamedTuple):
    """The beginning of a log that was counted before."""

    origin: str
    lines: int
    is_former: bool = False
    """Whether the log was counted on from there, so that it is known only if nothing follows."""


class BadLine(NamedTuple):
    """A line that could not be read, counted from 1."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class Found:
    """What a stretch of a log had in it. Merging is associative, and `NOTHING_FOUND` its unit."""

    shapes: Mapping[ToolKey, Learned] = field(default_factory=dict)
    broken: Mapping[ToolKey, Places] = field(default_factory=dict)
    """Where results broke what their tools declare."""
    lineage: Lineage = NO_LINEAGE
    bytes: int = 0
    """How far was read."""
    lines: int = 0
    observations: int = 0
    bare: int = 0
    """How many of them are of tools that the log names without a server."""
    bad: tuple[BadLine, ...] = ()
    bad_count: int = 0
    other: int = 0
    """Lines that are JSON, and nothing that we know."""
    first_other: int = 0
    """The line of the first, or 0."""
    unpaired: int = 0
    """Calls without a result, and results without a call."""
    nameless: int = 0
    """Results of tools that nobody knows whose they are."""
    nameless_tools: tuple[str, ...] = ()
    crowded: bool = False
    """There were more tools than any log of calls has."""
    cut_short: bool = False
    """It was told to stop before the end."""
    needs_order: bool = False
    """Lines belong together here: the file has to be read in one piece."""

    def merge(self, later: Found) -> Found:
        """Put this together with what was found right behind it."""
        if not later.bytes and later == NOTHING_FOUND:
            return self
        shapes = dict(self.shapes)
        for key, learned in later.shapes.items():
            known = shapes.get(key)
            shapes[key] = learned if known is None else known.merge(learned)
        shifted = (
            BadLine(self.lines + bad.line, bad.reason) for bad in later.bad[: MOST_SHOWN - len(self.bad)]
        )
        return Found(
            shapes=shapes,
            broken=merge_broken(self.broken, later.broken),
            lineage=self.lineage.merge(later.lineage),
            bytes=self.bytes + later.bytes,
            lines=self.lines + later.lines,
            observations=self.observations + later.observations,
            bare=self.bare + later.bare,
            bad=(*self.bad, *shifted),
            bad_count=self.bad_count + later.bad_count,
            other=self.other + later.other,
            first_other=self.first_other or (later.first_other and self.lines + later.first_other),
            unpaired=self.unpaired + later.unpaired,
            nameless=self.nameless + later.nameless,
            nameless_tools=tuple(sorted({*self.nameless_tools, *later.nameless_tools})[:MOST_NAMES]),
            crowded=self.crowded or later.crowded,
            cut_short=self.cut_short or later.cut_short,
            needs_order=self.needs_order or later.needs_order,
        )


def merge_broken(one: Mapping[ToolKey, Places], other: Mapping[ToolKey, Places]) -> dict[ToolKey, Places]:
    """Put together where declarations were broken."""
    return {key: merge_places(one.get(key, {}), other.get(key, {})) for key in one.keys() | other.keys()}


NOTHING_FOUND = Found()


class Tree:
    """Puts stretches together as they come, like with like: the small ones are merged with small ones."""

    def __init__(self) -> None:
        self._levels: list[tuple[int, Found]] = []

    def add(self, found: Found) -> None:
        height = 0
        while self._levels and self._levels[-1][0] == height:
            found = self._levels.pop()[1].merge(found)
            height += 1
        self._levels.append((height, found))

    def whole(self) -> Found:
        """Give all of it, as one."""
        whole = NOTHING_FOUND
        for _, found in reversed(self._levels):
            whole = found.merge(whole)
        self._levels = [(len(self._levels), whole)] if self._levels else []
        return whole


@dataclass(frozen=True, slots=True)
class Stretch:
    """What was found in a stream, and what it was up to there."""

    found: Found
    """Of what came behind `counted`."""
    position: int
    lines: int
    digest: str
    """The hash of everything up to `position`."""
    counted: int
    """How much of it had been counted before."""
    known: Counted | None = None
    """Which of the known contents it begins with, if it was given any."""
