"""Where values were seen to go: how often, and in how many runs, one tool's result held another's argument."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

__all__ = ["NO_LINEAGE", "Count", "Flow", "Lineage"]

_FIELDS = 6
_MOST = 1 << 53
"""More than anybody counted, and what every database and reader of JSON can hold."""


class Flow(NamedTuple):
    """A way from a place in a result to a place in an argument; paths as `path_text` writes them."""

    source: Any
    """A tool, under whatever whoever counts knows it by: a name, or a server's and the tool's there."""
    source_path: str
    target: Any
    target_path: str


class Count(NamedTuple):
    """How many calls took a value this way, and in how many runs."""

    times: int
    runs: int


@dataclass(frozen=True)
class Lineage:
    """Counts of flows. Merging adds them up: it commutes, associates, and `NO_LINEAGE` is its unit."""

    counts: Mapping[Flow, Count] = field(default_factory=dict)

    def merge(self, other: Lineage) -> Lineage:
        """Add up two."""
        if not other.counts:
            return self
        if not self.counts:
            return other
        counts = dict(self.counts)
        for flow, count in other.counts.items():
            known = counts.get(flow)
            counts[flow] = (
                count if known is None else Count(known.times + count.times, known.runs + count.runs)
            )
        return Lineage(counts)

    @classmethod
    def sum(cls, parts: Iterable[Lineage]) -> Lineage:
        """Add up any number of them, in one go."""
        counts: dict[Flow, Count] = {}
        for part in parts:
            for flow, count in part.counts.items():
                known = counts.get(flow, Count(0, 0))
                counts[flow] = Count(known.times + count.times, known.runs + count.runs)
        return cls(counts) if counts else NO_LINEAGE

    def between(self, source: Hashable, target: Hashable) -> Sequence[tuple[str, str, int]]:
        """Give the ways from one tool to another, as path, path and times; those that were taken most come first."""
        return self._by_pair.get((source, target), ())

    def targets(self, source: Hashable) -> frozenset[Any]:
        """Give the tools that values of this one went to."""
        return frozenset(to for start, to in self._by_pair if start == source)

    @property
    def pairs(self) -> Iterable[tuple[Any, Any]]:
        """The pairs of tools between which anything went."""
        return self._by_pair.keys()

    @cached_property
    def _by_pair(self) -> dict[tuple[Any, Any], tuple[tuple[str, str, int], ...]]:
        found: dict[tuple[Any, Any], list[tuple[str, str, int]]] = {}
        for flow, count in self.counts.items():
            ways = found.setdefault((flow.source, flow.target), [])
            ways.append((flow.source_path, flow.target_path, count.times))
        return {pair: tuple(sorted(ways, key=lambda way: (-way[2], way))) for pair, ways in found.items()}

    def named(self, name_of: Callable[[Any], Hashable | None]) -> Lineage:
        """Give the same under other names of the tools, without those that have none; what becomes one is added up."""
        counts: dict[Flow, Count] = {}
        names: dict[Any, Hashable | None] = {}
        for flow, count in self.counts.items():
            for tool in (flow.source, flow.target):
                if tool not in names:
                    names[tool] = name_of(tool)
            source, target = names[flow.source], names[flow.target]
            if source is None or target is None:
                continue
            renamed = Flow(source, flow.source_path, target, flow.target_path)
            known = counts.get(renamed, Count(0, 0))
            counts[renamed] = Count(known.times + count.times, known.runs + count.runs)
        return Lineage(counts)

    def to_json(self) -> list[list[Any]]:
        """Give it as JSON, in an order that depends on nothing but what is in it."""
        rows = [
            [_plain(flow.source), flow.source_path, _plain(flow.target), flow.target_path, *count]
            for flow, count in self.counts.items()
        ]
        return sorted(rows, key=lambda row: [repr(part) for part in row])

    @classmethod
    def from_json(cls, data: Any) -> Lineage:
        """Read it again; `ValueError` where it is none. Tools that are no texts come back as tuples."""
        if not isinstance(data, list):
            raise ValueError("it is no list.")  # noqa: TRY004 -- all that is wrong with it is told in one way
        counts: dict[Flow, Count] = {}
        for row in data:
            if not isinstance(row, list) or len(row) != _FIELDS:
                raise ValueError("an entry is none.")
            source, source_path, target, target_path, times, runs = row
            if type(source_path) is not str or type(target_path) is not str:
                raise ValueError("a path is no text.")
            if (
                type(times) is not int
                or type(runs) is not int
                or not 0 <= runs <= times
                or not 0 < times < _MOST
            ):
                raise ValueError("a count is none.")
            flow = Flow(_tool(source), source_path, _tool(target), target_path)
            if flow in counts:
                raise ValueError("an entry is there twice.")
            counts[flow] = Count(times, runs)
        return cls(counts)


NO_LINEAGE = Lineage()


def _plain(tool: Any) -> Any:
    return tool if isinstance(tool, str) else list(tool)


def _tool(written: Any) -> Any:
    if isinstance(written, str):
        return written
    if isinstance(written, list) and all(isinstance(part, str) for part in written):
        return tuple(written)
    raise ValueError("a tool is none.")
