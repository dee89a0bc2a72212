"""What is kept between runs: the values, and the protocol of whatever keeps them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from halflap.store.facts import LIVE, Advance, Condition, DriftEvent, StoredEdge, StoredShape, ToolKey

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from halflap.graph.lineage import Lineage
    from halflap.learn import Learned

__all__ = [
    "INTERRUPTED",
    "LIVE",
    "MISTAKEN",
    "RUNNING",
    "SENT",
    "TOOL_ERROR",
    "Advance",
    "Breach",
    "CallRecord",
    "Condition",
    "DriftEvent",
    "Purged",
    "RunRecord",
    "ServerRows",
    "Store",
    "StoredCatalog",
    "StoredEdge",
    "StoredServer",
    "StoredShape",
    "StoredTool",
    "ToolKey",
]

INTERRUPTED = "interrupted"
"""The outcome of a run whose process ended before it did: it was killed, or the machine went down."""
MISTAKEN = "mistaken"
"""The outcome of a run that never began: the check before it found a mistake in the program."""
RUNNING = "running"
"""The outcome of a run that has not ended, or of which nobody has found yet that its gateway died in the middle of it."""
SENT = "sent"
"""The outcome of a call that has no answer yet, or whose gateway died before it came."""
TOOL_ERROR = "tool_error"
"""How a call ended of which the tool itself said that it failed."""


@dataclass(frozen=True, slots=True)
class StoredServer:
    """What a server said of itself when it was last listed."""

    name: str
    fingerprint: str
    listed_at: float
    ttl_seconds: float | None = None
    protocol_version: str | None = None
    server_info: str | None = None
    instructions: str | None = None


@dataclass(frozen=True, slots=True)
class StoredTool:
    """A tool's definition as last listed, and as it was when it was accepted."""

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
    """All that is kept of one server, and every name that any server's tool ever got."""

    server: StoredServer | None = None
    tools: Sequence[StoredTool] = ()
    names: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Namespaced name → (server, original name)."""


@dataclass(frozen=True, slots=True)
class StoredCatalog:
    """The whole catalogue as it was left."""

    servers: Mapping[str, StoredServer] = field(default_factory=dict)
    tools: Sequence[StoredTool] = ()
    names: Mapping[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One call: who, what, when, with what, how it ended."""

    id: str
    run: str | None
    parent: str | None
    principal: str
    server: str
    tool: str
    """As the server calls it; what was asked for, if there is no such tool."""
    definition_hash: str
    """Empty if there is no such tool."""
    started_at: float
    duration_ms: float | None
    """None while it is under way."""
    outcome: str
    """`sent` while it is under way, `ok`, `tool_error` (the tool said so), `cancelled`, or the code of the error."""
    argument_bytes: int
    result_bytes: int
    breach: str | None = None
    """Where the result broke the declared output schema."""
    error: str | None = None
    """What the error said that was raised."""
    arguments: str | None = None
    """As JSON; None if they are not recorded."""
    result: str | None = None
    """As JSON, in the form that `Result.from_wire` reads; None if there is none, or it is not recorded."""
    arguments_cut: bool = False
    """Whether texts and lists in it were shortened because it was too large to be kept whole."""
    result_cut: bool = False


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run of a program: who, what, when, how it ended, what it said and what it took."""

    id: str
    principal: str
    kind: str
    """`program`, `script` if it was saved under a name, or `dspy` for a DSPy program."""
    name: str | None
    code: str | None
    code_hash: str
    started_at: float
    duration_ms: float | None = None
    """None while it runs."""
    outcome: str = RUNNING
    """`running`, `ok`, `mistaken` if the check kept it from running, `interrupted` if its process was gone, or why it ended: `failed`, `timeout`, `cpu`, …"""
    error: str | None = None
    output: str | None = None
    """The whole of it, however little of it went back to the model."""
    output_bytes: int = 0
    calls: int = 0
    cpu_ms: float | None = None
    memory_bytes: int | None = None
    sandbox: str | None = None


@dataclass(frozen=True, slots=True)
class Breach:
    """A place where results have broken what their tool declares: which, since when, how often."""

    server: str
    tool: str
    """As the server calls it."""
    definition_hash: str
    path: str
    expected: str
    first_at: float
    last_at: float
    times: int
    origin: str = LIVE
    """What told it: `live` if any call through us did, else `backfill`."""


@dataclass(frozen=True, slots=True)
class Purged:
    """How much was taken out."""

    runs: int = 0
    calls: int = 0

    def __bool__(self) -> bool:
        return bool(self.runs or self.calls)

    def __add__(self, other: Purged) -> Purged:
        return Purged(self.runs + other.runs, self.calls + other.calls)


class Store(Protocol):
    """Keeps the catalogue, the runs, the calls and what was learned. Every method may raise `StoreError`."""

    @property
    def place(self) -> str:
        """Where it is, fit to be shown: no password."""
        ...

    async def load_catalog(self) -> StoredCatalog:
        """Give the whole catalogue."""
        ...

    async def update_server(self, server: str, change: Callable[[ServerRows], ServerRows]) -> ServerRows:
        """Change one server's rows in one transaction. `change` is pure, and may run more than once."""
        ...

    async def record(self, *, calls: Sequence[CallRecord] = (), runs: Sequence[RunRecord] = ()) -> None:
        """Write calls and runs in one transaction; one that is there already is replaced.

        What is written outlives this process; with SQLite, the last moments may not outlive a power failure.
        """
        ...

    async def record_calls(self, records: Sequence[CallRecord]) -> None:
        """Write calls; one that is there already is replaced."""
        ...

    async def record_runs(self, records: Sequence[RunRecord]) -> None:
        """Write runs; one that is there already is replaced."""
        ...

    async def breaches(self) -> Sequence[Breach]:
        """Give every breach of a declaration that was ever noted."""
        ...

    async def add_breaches(self, breaches: Sequence[Breach]) -> None:
        """Note breaches; of one that is known, the times are added up."""
        ...

    async def add_learned(
        self,
        origin: str,
        shapes: Mapping[ToolKey, Learned],
        *,
        lineage: Lineage | None = None,
        watermark: str | None = None,
        observed_calls: Sequence[str] = (),
        sources: Mapping[str, Advance] | None = None,
        look: Callable[[Mapping[str, str]], None] | None = None,
    ) -> frozenset[str]:
        """Add to what an origin learned, and where it saw values go, in one transaction with how far it has read.

        `watermark` says where the origin goes on; `observed_calls` are calls of ours whose results are in `shapes`. If
        something was learned from any of them before, those are given, and nothing is added: leave them out.
        `sources` are what it was learned from, where that has watermarks of its own, each with how far it was read
        before, too: if somebody else has read on meanwhile, that is a `StoreAheadError`, and nothing is added. In
        the same transaction `look` is given every origin with its watermark; if it raises, nothing is added either.
        """
        ...

    async def replace_learned(
        self, origin: str, shapes: Mapping[ToolKey, Learned], lineage: Lineage | None = None
    ) -> None:
        """Put what another installation learned in the place of what is here of it, unless that rests on more."""
        ...

    async def forget_learned(
        self,
        origin: str | None = None,
        server: str | None = None,
        tool: str | None = None,
        *,
        remark: Callable[[str, str], str | None] | None = None,
    ) -> Sequence[tuple[str, ToolKey]]:
        """Take out what an origin, and those whose names go on with a colon, learned of a server or of a tool; gives what.

        In the same transaction `remark` says what becomes of every watermark: it is given its origin and its text, and
        gives the text, or None if it is to go. What drifted goes with the last that is known of a tool.
        """
        ...

    async def drop_values(self) -> int:
        """Take out the values that were kept with `learning.values`; gives of how many rows."""
        ...

    async def learned(self, *, server: str | None = None, tool: str | None = None) -> Sequence[StoredShape]:
        """Give what every origin learned: of all tools, one server's, or one, as its server calls it."""
        ...

    async def lineage(self) -> Mapping[str, Lineage]:
        """Give where every origin saw values go; tools are `ToolKey`s."""
        ...

    async def put_edges(
        self, edges: Sequence[StoredEdge], mark: str, *, of: Sequence[tuple[str, str]] | None = None
    ) -> None:
        """Keep edges in the place of those from and to these tools, by server and name, or of all.

        `mark` says what they were worked out from.
        """
        ...

    async def edges_mark(self) -> str | None:
        """Say what the edges that are kept were worked out from."""
        ...

    async def edges(self) -> Sequence[StoredEdge]:
        """Give the edges that were kept last, the surest first."""
        ...

    async def latencies(self) -> Mapping[tuple[str, str], float]:
        """Give how many milliseconds a call took, by server and tool: the median of those that are recorded."""
        ...

    async def add_meters(self, meters: Mapping[str, float]) -> None:
        """Add to numbers that are counted over all runs of the gateway."""
        ...

    async def meters(self) -> Mapping[str, float]:
        """Give these numbers."""
        ...

    async def watermark(self, origin: str) -> str | None:
        """Say how far an origin has read."""
        ...

    async def origins(self) -> Mapping[str, str]:
        """Give every origin with its watermark, which is empty where it has none."""
        ...

    async def unobserved_calls(self, after: str | None, limit: int) -> Sequence[CallRecord]:
        """Give calls with results that nothing was learned from yet, the oldest first; `after` is an identifier."""
        ...

    async def salt(self) -> bytes:
        """Give what the digests of arguments are made with: a secret of this installation."""
        ...

    async def installation(self) -> str:
        """Give the name of this installation, which is like no other's and says nothing."""
        ...

    async def add_drift(self, events: Sequence[DriftEvent]) -> None:
        """Note drift; of what is known already, the first time counts."""
        ...

    async def drift(self, *, server: str | None = None, tool: str | None = None) -> Sequence[DriftEvent]:
        """Give what drifted, the newest first."""
        ...

    async def recent_calls(self, limit: int) -> Sequence[CallRecord]:
        """Give the newest calls, newest first."""
        ...

    async def short_results(self, most_bytes: int, limit: int) -> Sequence[CallRecord]:
        """Give the newest calls that ended well with a recorded result of no more than so many bytes, newest first.

        What was passed to them is left out.
        """
        ...

    async def runs(
        self, limit: int, *, principal: str | None = None, before: float | None = None
    ) -> Sequence[RunRecord]:
        """Give the newest runs, newest first, each without its output: somebody's alone, or older ones."""
        ...

    async def run(self, identifier: str, *, principal: str | None = None) -> RunRecord | None:
        """Give the run with this identifier, or the one that begins so; `UsageError` if several do."""
        ...

    async def calls_of_run(self, identifier: str) -> Sequence[CallRecord]:
        """Give the calls that were made within a run, in their order."""
        ...

    async def purge(
        self, *, older_than: float | None = None, keep_bytes: int | None = None, everything: bool = False
    ) -> Purged:
        """Take out runs and calls, the oldest first, and nothing else; they are gone from the disk too.

        Those that began before a time, those beyond so many bytes, or all.
        """
        ...

    async def condition(self) -> Condition:
        """Write something, and say how the store is; `StoreError` if it cannot be written to."""
        ...

    async def close(self) -> None:
        """Let go of it."""
        ...
