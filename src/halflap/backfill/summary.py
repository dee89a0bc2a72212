"""The summary of a backfill, by source and by tool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from halflap.core.errors import BackfillError
from halflap.learn import Learned, changes, merge

if TYPE_CHECKING:
    from halflap.store import StoredShape, ToolKey

State = Literal["counted", "known", "stopped", "refused", "failed"]
SchemaChange = Literal["new", "changed", "same", "none"]
_MAX_NAMES = 20
MAX_BAD_LINES = 100
"""Bad lines listed per source; further ones are only counted."""


class BadLine(NamedTuple):
    """A line that could not be read, counted from 1."""

    line: int
    reason: str


@dataclass(slots=True)
class Counts:
    """Counts of what a log contained."""

    bytes: int = 0
    lines: int = 0
    observations: int = 0
    bad: list[BadLine] = field(default_factory=list)
    bad_count: int = 0
    other: int = 0
    """Lines of valid JSON in an unknown format."""
    first_other: int = 0
    unpaired: int = 0
    """Calls without a result and results without a call."""
    nameless: int = 0
    """Results of tools whose server is unknown."""
    nameless_tools: set[str] = field(default_factory=set)

    @property
    def is_nameless(self) -> bool:
        """Whether all results are of tools whose server is unknown."""
        return bool(self.nameless) and not self.observations

    def blame(self, line: int, reason: str) -> None:
        self.bad_count += 1
        if len(self.bad) < MAX_BAD_LINES:
            self.bad.append(BadLine(line, reason))

    def renumber(self, line: int) -> None:
        """Convert line numbers of this part, which starts at `line`, to those of the whole log."""
        self.bad = [BadLine(line - 1 + one.line, one.reason) for one in self.bad]
        self.first_other += line - 1 if self.other else 0

    def add(self, later: Counts) -> None:
        """Add the counts of a later part of the same log."""
        first_other = self.first_other or later.first_other
        for one in fields(self):
            mine, theirs = getattr(self, one.name), getattr(later, one.name)
            setattr(self, one.name, mine | theirs if isinstance(mine, set) else mine + theirs)
        self.first_other = first_other
        del self.bad[MAX_BAD_LINES:]


@dataclass(frozen=True, slots=True)
class SourceReport:
    """The outcome for one source."""

    name: str
    state: State
    """`known`: already read to its end; `refused` and `failed`: see `problem`."""
    found: Counts = field(default_factory=Counts)
    """Line numbers are those of the source."""
    skipped_bytes: int = 0
    """Bytes that earlier runs had read."""
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
            "bad": [bad._asdict() for bad in found.bad],
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
    """`none` if all results were text or errors."""


@dataclass(frozen=True, slots=True)
class Summary:
    """The outcome of a backfill."""

    sources: tuple[SourceReport, ...]
    tools: tuple[ToolReport, ...]
    seconds: float
    is_stopped: bool
    dry_run: bool

    @property
    def observations(self) -> int:
        return sum(tool.observations for tool in self.tools)

    def count(self, *states: State) -> int:
        return sum(source.state in states for source in self.sources)

    def schemas(self, change: SchemaChange) -> int:
        return sum(tool.schema == change for tool in self.tools)

    def to_json(self) -> dict[str, Any]:
        return {
            "observations": self.observations,
            "tools": [
                {
                    "server": one.server,
                    "tool": one.tool,
                    "inCatalogue": one.is_known,
                    "observations": one.observations,
                    "schema": one.schema,
                }
                for one in self.tools
            ],
            "newSchemas": self.schemas("new"),
            "changedSchemas": self.schemas("changed"),
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
        # Includes what was learned before the tool's definition was known.
        keys = {key, key._replace(definition_hash="")}
        was = merge(*(one.results for each in keys for one in known.get(each, ())))
        now = added.results
        change: SchemaChange = "same"
        if now.root.kinds.keys() <= {"string"}:
            change = "none"
        elif not was.observations:
            change = "new"
        elif changes(was, now):
            change = "changed"
        reports.append(
            ToolReport(key.server, key.tool, bool(key.definition_hash), added.observations, change)
        )
    return tuple(reports)
