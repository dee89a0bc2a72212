"""What a backfill came to: source by source, tool by tool."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from halflap.backfill.found import NOTHING_FOUND, Found
from halflap.core.errors import BackfillError
from halflap.learn import Learned, changes, merge
from halflap.observe import drift_told
from halflap.store import Breach, DriftEvent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halflap.store import StoredShape, ToolKey

__all__ = ["SourceReport", "State", "Summary", "ToolReport", "tool_reports"]

State = Literal["counted", "known", "stopped", "refused", "failed"]


@dataclass(frozen=True, slots=True)
class SourceReport:
    """What came of one source."""

    name: str
    state: State
    """`known` was counted before to its end; `refused` and `failed` say why in `problem`."""
    found: Found = field(default=NOTHING_FOUND)
    """Without the shapes; lines are counted from the beginning of the source."""
    skipped_bytes: int = 0
    """How much of its beginning was counted before."""
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
            "withoutServer": {"results": found.nameless, "tools": list(found.nameless_tools)},
            "bad": [{"line": bad.line, "reason": bad.reason} for bad in found.bad],
            "code": BackfillError.code if self.state in {"refused", "failed"} else None,
            "problem": self.problem,
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True)
class ToolReport:
    """What was learned of one tool."""

    server: str
    tool: str
    is_known: bool
    """Whether the catalogue has it."""
    observations: int
    schema: Literal["new", "changed", "same", "none"]
    """`none`: it returned texts or errors alone."""

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
    """What it all came to."""

    sources: tuple[SourceReport, ...]
    tools: tuple[ToolReport, ...]
    seconds: float
    is_stopped: bool = False
    dry_run: bool = False
    drift: tuple[DriftEvent, ...] = ()
    """What contradicts what had settled before."""
    breaches: tuple[Breach, ...] = ()
    """Where results broke what their tools declare."""

    @property
    def observations(self) -> int:
        return sum(tool.observations for tool in self.tools)

    def count(self, *states: State) -> int:
        return sum(source.state in states for source in self.sources)

    def schemas(self, what: str) -> int:
        return sum(tool.schema == what for tool in self.tools)

    def to_json(self) -> dict[str, Any]:
        return {
            "observations": self.observations,
            "tools": [tool.to_json() for tool in self.tools],
            "newSchemas": self.schemas("new"),
            "changedSchemas": self.schemas("changed"),
            "drift": [*map(_told, self.drift), *map(_told, self.breaches)],
            "sources": [source.to_json() for source in self.sources],
            "alreadyCounted": self.count("known"),
            "seconds": round(self.seconds, 3),
            "interrupted": self.is_stopped,
            "dryRun": self.dry_run,
        }


def _told(one: DriftEvent | Breach) -> dict[str, Any]:
    (told,) = drift_told([one], []) if isinstance(one, DriftEvent) else drift_told([], [one])
    return {"server": one.server, "tool": one.tool, **told}


def tool_reports(before: Sequence[StoredShape], learned: Mapping[ToolKey, Learned]) -> tuple[ToolReport, ...]:
    """Say of each tool how many results were added, and what that did to its schema."""
    known: dict[ToolKey, list[Learned]] = {}
    for one in before:
        known.setdefault(one.key, []).append(one.learned)
    reports = []
    for key, added in sorted(learned.items()):
        # What is known of a tool whose definition nobody knew counts for the one that it turned out to be.
        keys = {key, key._replace(definition_hash="")}
        was = merge(*(one.structured for each in keys for one in known.get(each, ())))
        now = added.structured
        what: Literal["new", "changed", "same", "none"] = (
            "none" if not now.observations
            else "new" if not was.observations
            else "changed" if changes(was, now)
            else "same"
        )  # fmt: skip
        reports.append(ToolReport(key.server, key.tool, bool(key.definition_hash), added.observations, what))
    return tuple(reports)
