"""What is known about tools, as it is kept: under which key, from which origin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.learn import Learned

__all__ = ["LIVE", "Advance", "Condition", "DriftEvent", "StoredEdge", "StoredShape", "ToolKey"]

LIVE = "live"
"""The origin of what this gateway sees itself."""


class ToolKey(NamedTuple):
    """What knowledge is about: a tool as its server calls it, as it was defined.

    Never the namespaced name, which is ours. A hash of "" is history whose definition nobody knows.
    """

    server: str
    tool: str
    definition_hash: str


class Advance(NamedTuple):
    """How far something is read now, and was before."""

    before: str | None
    now: str


@dataclass(frozen=True, slots=True)
class Condition:
    """How a store is: its version, and how much is in it. That it was told means that it could be written to."""

    version: int
    size_bytes: int
    runs: int
    calls: int
    learned: int
    """How many tools something was learned of, each definition counted."""
    oldest: float | None
    """When the oldest of the runs and calls began."""


@dataclass(frozen=True, slots=True)
class StoredShape:
    """What one origin learned of one tool; when it was first and last seen stands in the shapes."""

    server: str
    tool: str
    definition_hash: str
    origin: str
    learned: Learned

    @property
    def key(self) -> ToolKey:
        return ToolKey(self.server, self.tool, self.definition_hash)


@dataclass(frozen=True, slots=True)
class StoredEdge:
    """That one tool's results can supply another's arguments, as it was when that was last worked out."""

    source: ToolKey
    target: ToolKey
    coverage: str
    confidence: float
    kinds: tuple[str, ...]
    """The kinds of evidence for it."""
    mappings: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class DriftEvent:
    """A result that contradicted what was settled: where, what, since when."""

    server: str
    tool: str
    """As the server calls it."""
    definition_hash: str
    path: str
    what: str
    before: str
    now: str
    at: float
    observations: int
    """On how many results that rested which was contradicted."""
    confidence: float
    """How sure it was."""
    origin: str = LIVE
    """What told it. Of what is told by logs, `at` is when they were read: nothing says which came first."""
