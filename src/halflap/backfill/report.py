"""What a backfill did, source by source and tool by tool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from halflap.backfill.found import Counts
from halflap.core.errors import BackfillError
from halflap.learn import Learned, changes, merge
from halflap.observe import drift_json

if TYPE_CHECKING:
    from halflap.store import DriftEvent, StoredShape, ToolKey

__all__ = ["SourceReport", "State", "Summary", "ToolReport", "tool_reports"]

State = Literal["counted", "known", "stopped", "refused", "failed"]
_MAX_NAMES = 20
SchemaChange = Literal["new", "changed", "same", "none"]


@dataclass(frozen=True, slots=True)
class SourceReport:
    """What came of one source."""

    name: str
    state: State
    """`known`: counted before, to its end; `refused` and `failed`: see `problem`."""
    found: Counts = field(default_factory=Counts)
    """Line numbers are those of the source."""
    skipped_bytes: int = 0
    """How much of it was counted before."""
    problem: str | None = None
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        found = self.found
        return {
            "source": self.name,
            "state": self.state,
            "observations": found.observations,
            "bytes": found.bytes,
            "skippedBytes": self.skipped_bytes,
            "lines": found.lines,
            "badLines": found.bad_count,
            "otherLines": found.other,
            "unpaired": found.unpaired,
            "withoutServer": {"results": found.nameless, "tools": sorted(found.nameless_tools)[:_MAX_NAMES]},
            "bad": [{"line": bad.line, "reason": bad.reason} for bad in found.bad],
            "code": BackfillError.code if self.state in {"refused", "failed"} else None,
            "problem": self.problem,
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True)
class ToolReport:
    """What was learned about one tool."""

    server: str
    tool: str
    is_known: bool
    """Whether the catalogue has it."""
    observations: int
    schema: SchemaChange
    """`none`: it only returned text or errors."""

    def to_json(self) -> dict[str, Any]:
        return {
            "server": self.server,
            "tool": self.tool,
            "inCatalogue": self.is_known,
            "observations": self.observations,
            "schema": self.schema,
        }


@dataclass(frozen=True, slots=True)
class Summary:
    """What a backfill did."""

    sources: tuple[SourceReport, ...]
    tools: tuple[ToolReport, ...]
    seconds: float
    is_stopped: bool = False
    dry_run: bool = False
    drift: tuple[DriftEvent, ...] = ()

    @property
    def observations(self) -> int:
        return sum(tool.observations for tool in self.tools)

    def count(self, *states: State) -> int:
        return sum(source.state in states for source in self.sources)

    def schemas(self, change: SchemaChange) -> int:
        return sum(tool.schema == change for tool in self.tools)

    def to_json(self) -> dict[str, Any]:
        drift = [{"server": one.server, "tool": one.tool, **drift_json([one], [])[0]} for one in self.drift]
        return {
            "observations": self.observations,
            "tools": [tool.to_json() for tool in self.tools],
            "newSchemas": self.schemas("new"),
            "changedSchemas": self.schemas("changed"),
            "drift": drift,
            "sources": [source.to_json() for source in self.sources],
            "alreadyCounted": self.count("known"),
            "seconds": round(self.seconds, 3),
            "interrupted": self.is_stopped,
            "dryRun": self.dry_run,
        }


def tool_reports(before: Sequence[StoredShape], learned: Mapping[ToolKey, Learned]) -> tuple[ToolReport, ...]:
    """Return for each tool how many results were added, and whether its schema changed."""
    known: dict[ToolKey, list[Learned]] = {}
    for one in before:
        known.setdefault(one.key, []).append(one.learned)
    reports = []
    for key, added in sorted(learned.items()):
        # What was learned before the definition was known counts for the tool, too.
        keys = {key, key._replace(definition_hash="")}
        was = merge(*(one.structured for each in keys for one in known.get(each, ())))
        now = added.structured
        change: SchemaChange = "same"
        if not now.observations:
            change = "none"
        elif not was.observations:
            change = "new"
        elif changes(was, now):
            change = "changed"
        reports.append(
            ToolReport(key.server, key.tool, bool(key.definition_hash), added.observations, change)
        )
    return tuple(reports)
