"""The interface of the store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from halflap.graph.lineage import Lineage
    from halflap.learn import Learned
    from halflap.store.records import (
        Breach,
        CallRecord,
        DriftEvent,
        Purged,
        RunRecord,
        ServerRows,
        StoredCatalog,
        StoredEdge,
        StoredShape,
        StoreStatus,
        ToolKey,
        WatermarkChange,
    )

__all__ = ["Store"]


class Store(Protocol):
    """Keeps the catalogue, runs, calls and what was learned. Every method may raise `StoreError`."""

    @property
    def location(self) -> str:
        """The file or URL, without any password."""
        ...

    async def load_catalog(self) -> StoredCatalog: ...

    async def update_server(self, server: str, change: Callable[[ServerRows], ServerRows]) -> ServerRows:
        """Change one server's rows in one transaction. `change` is pure and may run more than once."""
        ...

    # Runs and calls

    async def record(self, *, calls: Sequence[CallRecord] = (), runs: Sequence[RunRecord] = ()) -> None:
        """Write calls and runs in one transaction; existing ones are replaced.

        Once this returns, the records survive the end of this process. With SQLite, the last moments may not survive
        a power failure.
        """
        ...

    async def recent_calls(self, limit: int) -> Sequence[CallRecord]:
        """Return the newest calls, newest first."""
        ...

    async def small_results(self, max_bytes: int, limit: int) -> Sequence[CallRecord]:
        """Return the newest successful calls with a recorded result up to this size, without their arguments."""
        ...

    async def runs(
        self, limit: int, *, principal: str | None = None, before: float | None = None
    ) -> Sequence[RunRecord]:
        """Return the newest runs, newest first, without their output."""
        ...

    async def run(self, identifier: str, *, principal: str | None = None) -> RunRecord | None:
        """Return the run whose identifier is or begins with this one; `UsageError` if several do."""
        ...

    async def calls_of_run(self, identifier: str) -> Sequence[CallRecord]:
        """Return the calls of a run in their order."""
        ...

    async def latencies(self) -> Mapping[tuple[str, str], float]:
        """Return the median duration of recent calls in milliseconds, by server and tool."""
        ...

    async def purge(
        self, *, older_than: float | None = None, keep_bytes: int | None = None, everything: bool = False
    ) -> Purged:
        """Delete runs and calls, oldest first, and free their space on disk."""
        ...

    # What was learned

    async def add_learned(
        self,
        origin: str,
        shapes: Mapping[ToolKey, Learned],
        *,
        lineage: Lineage | None = None,
        watermark: str | None = None,
        observed_calls: Sequence[str] = (),
        sources: Mapping[str, WatermarkChange] | None = None,
        check: Callable[[Mapping[str, str]], None] | None = None,
    ) -> frozenset[str]:
        """Merge what an origin learned, in one transaction with how far it has read.

        `observed_calls` are recorded calls that `shapes` rest on. If any of them was learned from before, nothing is
        added and those are returned: try again without them. `sources` are watermarks of what was read; if another
        process has moved one of them, nothing is added and `StoreAheadError` is raised. `check` receives all
        watermarks in the same transaction; if it raises, nothing is added.
        """
        ...

    async def replace_learned(
        self, origin: str, shapes: Mapping[ToolKey, Learned], lineage: Lineage | None = None
    ) -> None:
        """Replace what is stored of another installation, except where that rests on more results."""
        ...

    async def forget_learned(
        self,
        origin: str | None = None,
        server: str | None = None,
        tool: str | None = None,
        *,
        update_watermark: Callable[[str, str], str | None] | None = None,
    ) -> Sequence[tuple[str, ToolKey]]:
        """Delete what an origin and its sub-origins (`origin:…`) learned about tools, and return what was deleted.

        `update_watermark` receives every origin and watermark in the same transaction, and returns the new watermark or
        None to delete it. The drift of a tool goes with the last that is known about it.
        """
        ...

    async def drop_values(self) -> int:
        """Delete the example values kept with `learning.values`; returns from how many rows."""
        ...

    async def learned(self, *, server: str | None = None, tool: str | None = None) -> Sequence[StoredShape]:
        """Return what every origin learned; `tool` is the server's own name."""
        ...

    async def watermarks(self) -> Mapping[str, str]:
        """Return every origin with its watermark, empty where it has none."""
        ...

    async def unobserved_calls(self, after: str | None, limit: int) -> Sequence[CallRecord]:
        """Return calls with results that nothing was learned from yet, oldest first; `after` is a call's identifier."""
        ...

    async def add_breaches(self, breaches: Sequence[Breach]) -> None:
        """Store breaches; the times of known ones are added up."""
        ...

    async def breaches(self) -> Sequence[Breach]: ...

    async def add_drift(self, events: Sequence[DriftEvent]) -> None:
        """Store drift; of a known event the first time is kept."""
        ...

    async def drift(self, *, server: str | None = None, tool: str | None = None) -> Sequence[DriftEvent]:
        """Return drift, newest first."""
        ...

    # Data flow

    async def lineage(self) -> Mapping[str, Lineage]:
        """Return where each origin saw values go; its tools are `ToolKey`s."""
        ...

    async def replace_edges(
        self, edges: Sequence[StoredEdge], version: str, *, tools: Sequence[tuple[str, str]] | None = None
    ) -> None:
        """Replace the edges from and to these tools (server, original name), or all; `version` marks their inputs."""
        ...

    async def edges_version(self) -> str | None:
        """Return the version passed to the last `replace_edges`."""
        ...

    async def edges(self) -> Sequence[StoredEdge]:
        """Return the stored edges, most certain first."""
        ...

    # The installation

    async def salt(self) -> bytes:
        """Return this installation's secret for digests of arguments."""
        ...

    async def installation_id(self) -> str:
        """Return a random identifier of this installation."""
        ...

    async def add_counters(self, counters: Mapping[str, float]) -> None:
        """Add to counters that last over all runs of the gateway."""
        ...

    async def counters(self) -> Mapping[str, float]: ...

    async def status(self) -> StoreStatus:
        """Check that the store can be written to, and return its version and size."""
        ...

    async def close(self) -> None: ...
