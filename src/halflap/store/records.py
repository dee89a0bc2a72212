"""The values that the store keeps: runs, calls, the catalogue, and what was learned about tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from halflap.learn import Learned

INTERRUPTED = "interrupted"
"""Outcome of a run whose process ended before the run did."""
RUNNING = "running"
"""Outcome of a run that has not ended, or whose gateway died unnoticed."""
SENT = "sent"
"""Outcome of a call without an answer yet, or whose gateway died before the answer."""
TOOL_ERROR = "tool_error"
"""Outcome of a call that the tool itself reported as failed."""
LIVE = "live"
"""Origin of what this gateway observed itself."""


class ToolKey(NamedTuple):
    """Identifies a tool definition: server, the server's own name for the tool, hash.

    Never the namespaced name, which is ours. An empty hash means history whose definition is unknown.
    """

    server: str
    tool: str
    definition_hash: str


class WatermarkChange(NamedTuple):
    """How far a source had been read, and is read now."""

    before: str | None
    now: str


@dataclass(frozen=True, slots=True)
class StoredServer:
    """A server as it was last listed."""

    name: str
    fingerprint: str
    listed_at: float
    ttl_seconds: float | None = None
    protocol_version: str | None = None
    server_info: str | None = None
    instructions: str | None = None
    features: str | None = None
    """What it offers besides tools, as JSON that the catalogue reads and writes; None if that is unknown."""


@dataclass(frozen=True, slots=True)
class StoredTool:
    """A tool's definition as last listed and as accepted."""

    server: str
    original_name: str
    name: str
    definition: Mapping[str, Any]
    hash: str
    accepted: Mapping[str, Any]
    accepted_hash: str
    first_seen: float
    last_seen: float
    position: int
    removed: bool = False


@dataclass(frozen=True, slots=True)
class ServerRows:
    """Everything stored about one server, and the names given to the tools of all servers."""

    server: StoredServer | None = None
    tools: Sequence[StoredTool] = ()
    names: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Namespaced name → (server, original name)."""


@dataclass(frozen=True, slots=True)
class StoredCatalog:
    """The catalogue of all servers."""

    servers: Mapping[str, StoredServer] = field(default_factory=dict)
    tools: Sequence[StoredTool] = ()
    names: Mapping[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One call of a tool."""

    id: str
    run: str | None
    parent: str | None
    principal: str
    server: str
    tool: str
    """The server's own name for it; what was asked for, if there is no such tool."""
    definition_hash: str
    """Empty if there is no such tool."""
    started_at: float
    duration_ms: float | None = None
    """None while it is under way."""
    outcome: str = SENT
    """`sent`, `ok`, `tool_error`, `cancelled`, or the code of the error."""
    argument_bytes: int = 0
    result_bytes: int = 0
    breach: str | None = None
    """Where the result broke the declared output schema."""
    error: str | None = None
    """The message of the error that was raised."""
    arguments: str | None = None
    """As JSON; None if not recorded."""
    result: str | None = None
    """As JSON, in the form that `Result.from_wire` reads; None if there is none or it is not recorded."""
    arguments_cut: bool = False
    """Whether texts and lists were shortened because the whole was too large."""
    result_cut: bool = False
    line: int | None = None
    """The line of the program that made it; None if that is not known, as for a call that waits in `gather`."""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run of a program."""

    id: str
    principal: str
    kind: str
    """`program`, `script` or `dspy`."""
    name: str | None
    code: str | None
    code_hash: str
    started_at: float
    duration_ms: float | None = None
    """None while it runs."""
    outcome: str = RUNNING
    """`running`, `ok`, `mistaken`, `interrupted`, or why it ended: `failed`, `timeout`, `cpu`, …"""
    error: str | None = None
    output: str | None = None
    """The whole output, however little of it went back to the model."""
    output_bytes: int = 0
    calls: int = 0
    cpu_ms: float | None = None
    memory_bytes: int | None = None
    sandbox: str | None = None
    process: str | None = None
    """Names the process that makes it; see `interrupt_runs`."""


@dataclass(frozen=True, slots=True)
class Breach:
    """A place where results broke the output schema that their tool declares."""

    server: str
    tool: str
    """The server's own name for it."""
    definition_hash: str
    path: str
    expected: str
    first_at: float
    last_at: float
    times: int


AnyRecord = CallRecord | RunRecord | Breach


@dataclass(frozen=True, slots=True)
class StoredShape:
    """What one origin learned about one tool."""

    server: str
    tool: str
    definition_hash: str
    origin: str
    learned: Learned

    @property
    def key(self) -> ToolKey:
        return ToolKey(self.server, self.tool, self.definition_hash)


@dataclass(frozen=True, slots=True)
class DriftEvent:
    """A result that contradicted a settled shape."""

    server: str
    tool: str
    """The server's own name for it."""
    definition_hash: str
    path: str
    what: str
    before: str
    now: str
    at: float
    """When it was first seen."""
    observations: int
    """How many results the contradicted shape rested on."""
    confidence: float
    """How certain that shape was."""


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """The version and size of a store that could be written to."""

    version: int
    size_bytes: int
    runs: int
    calls: int
    learned: int
    """Tool definitions about which something was learned."""
    oldest: float | None
    """When the oldest run or call began."""


@dataclass(frozen=True, slots=True)
class Activity:
    """Calls in consecutive spans of time, the oldest first, and what programs did not pass on to the model."""

    since: float
    span_seconds: float
    calls: tuple[int, ...]
    """In each span."""
    errors: tuple[int, ...]
    """Those of them that failed; cancelled ones did not."""
    median_ms: tuple[float | None, ...]
    """Of the calls in each span; None where there were none."""
    slow_ms: tuple[float | None, ...]
    """The 95th percentile, likewise."""
    result_bytes: int
    """Results that programs got, of all calls that are recorded."""
    output_bytes: int
    """What the same programs printed for the model."""
    oldest: float | None
    """When the oldest recorded call began."""


@dataclass(frozen=True, slots=True)
class Purged:
    """How many runs and calls were deleted."""

    runs: int = 0
    calls: int = 0

    def __bool__(self) -> bool:
        return bool(self.runs or self.calls)

    def __add__(self, other: Purged) -> Purged:
        return Purged(self.runs + other.runs, self.calls + other.calls)
