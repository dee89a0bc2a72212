"""Counts of data flow: how often, and in how many runs, one tool's result held another's argument."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from halflap.graph.paths import VALUE, Path, path_text

if TYPE_CHECKING:
    from halflap.graph.ports import Ports


class Flow(NamedTuple):
    """A flow from a place in a result to a place in an argument; paths as `path_text` writes them."""

    source: Any
    """A tool: a name, or a server and the tool's name there."""
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
        return Lineage.sum((self, other)) if self.counts and other.counts else self if self.counts else other

    @classmethod
    def sum(cls, parts: Iterable[Lineage]) -> Lineage:
        return _summed((flow, count) for part in parts for flow, count in part.counts.items())

    def between(self, source: Hashable, target: Hashable) -> Sequence[tuple[str, str, int]]:
        """Return the ways from one tool to another as path, path and times, most frequent first."""
        return self._by_pair.get((source, target), ())

    @property
    def pairs(self) -> Iterable[tuple[Any, Any]]:
        """The pairs of tools with any flow."""
        return self._by_pair.keys()

    @cached_property
    def _by_pair(self) -> dict[tuple[Any, Any], tuple[tuple[str, str, int], ...]]:
        found: dict[tuple[Any, Any], list[tuple[str, str, int]]] = {}
        for flow, count in self.counts.items():
            ways = found.setdefault((flow.source, flow.target), [])
            ways.append((flow.source_path, flow.target_path, count.times))
        return {pair: tuple(sorted(ways, key=lambda way: (-way[2], way))) for pair, ways in found.items()}

    def named(self, name_of: Callable[[Any], Hashable | None]) -> Lineage:
        """Return the same under other names of the tools, without those that have none."""
        tools = {tool for flow in self.counts for tool in (flow.source, flow.target)}
        names = {tool: name_of(tool) for tool in tools}
        return _summed(
            (flow._replace(source=names[flow.source], target=names[flow.target]), count)
            for flow, count in self.counts.items()
            if names[flow.source] is not None and names[flow.target] is not None
        )


NO_LINEAGE = Lineage()


def fitted(lineage: Lineage, tools: Mapping[str, Ports]) -> Lineage:
    """Return the same with the paths that tools are known to have.

    From one value it cannot be told whether a key is a field or data: `by.alice.id`. The tool's schema tells that it is
    `by.{}.id`.
    """
    known: dict[tuple[str, bool, str], str] = {}

    def fit(tool: str, text: str, *, is_source: bool) -> str:
        if (tool, is_source, text) not in known:
            ports = tools.get(tool)
            parts = () if ports is None else ports.places if is_source else ports.slots
            known[tool, is_source, text] = _fit(text, [one.path for one in parts])
        return known[tool, is_source, text]

    return _summed(
        (
            flow._replace(
                source_path=fit(flow.source, flow.source_path, is_source=True),
                target_path=fit(flow.target, flow.target_path, is_source=False),
            ),
            count,
        )
        for flow, count in lineage.counts.items()
    )


def _fit(text: str, paths: Iterable[Path]) -> str:
    known = {path_text(path): path for path in paths}
    fitting = [
        one
        for one, path in known.items()
        if VALUE in path and re.fullmatch(re.escape(one).replace(r"\{\}", r"\w+"), text)
    ]
    return text if text in known else min(fitting, key=lambda one: (one.count("{}"), one), default=text)


def _summed(counts: Iterable[tuple[Flow, Count]]) -> Lineage:
    found: dict[Flow, Count] = {}
    for flow, count in counts:
        known = found.get(flow)
        found[flow] = count if known is None else Count(known.times + count.times, known.runs + count.runs)
    return Lineage(found)
