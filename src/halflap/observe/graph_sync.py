"""Keep the graph of tools up to date with the catalogue, with what is learned, and with lineage."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from halflap.core.errors import StoreError
from halflap.graph.lineage import Lineage, fitted

if TYPE_CHECKING:
    from halflap.catalog import Snapshot
    from halflap.core.values import Tool
    from halflap.graph.edges import Graph
    from halflap.graph.ports import Ports
    from halflap.observe.knowledge import Knowledge
    from halflap.observe.known import Known
    from halflap.store import Store, ToolKey

logger = logging.getLogger(__name__)

T = TypeVar("T")

_FRESH_SECONDS = 60.0
"""After this long the store is read again: a backfill or another gateway may have added something."""


class GraphSync:
    """The graph of the callable tools: built when first needed, then updated where something changed."""

    def __init__(
        self,
        store: Store,
        snapshot: Callable[[], Snapshot],
        knowledge: Knowledge,
        *,
        is_destructive: Callable[[Tool], bool],
        changes: Callable[[Tool], bool | None] = lambda _: None,
        lineage: bool = True,
    ) -> None:
        self._store = store
        self._snapshot = snapshot
        self._knowledge = knowledge
        self._is_destructive = is_destructive
        self._changes = changes
        self._uses_lineage = lineage and knowledge.is_used
        self._graph: Graph | None = None
        self._versions: dict[str, str] = {}
        """The version of what each tool in the graph was built from."""
        self._seen: Snapshot | None = None
        self._latencies: Mapping[tuple[str, str], float] = {}
        self._lineage = Lineage()
        self._read_at = -math.inf
        self._lock = asyncio.Lock()

    async def graph(self) -> Graph:
        """Return the current graph. It keeps changing, so do not hold on to it."""
        async with self._lock:
            return await self._current()

    async def run(self, work: Callable[[Graph], T]) -> T:
        """Compute something from the graph in a thread, while nothing changes it."""
        async with self._lock:
            return await asyncio.to_thread(work, await self._current())

    def learned(self) -> None:
        """Read everything again with the next question, since something was learned."""
        self._read_at = -math.inf

    async def _current(self) -> Graph:
        now = asyncio.get_running_loop().time()
        if self._graph is None or now - self._read_at > _FRESH_SECONDS:
            self._read_at = now
            await self._read()
            await self._update()
        elif self._snapshot() is not self._seen:
            await self._update()
        assert self._graph is not None
        return self._graph

    async def _read(self) -> None:
        """Read latencies and lineage from the store."""
        try:
            self._latencies = await self._store.latencies()
            if self._uses_lineage:
                self._lineage = Lineage.sum((await self._store.lineage()).values())
        except StoreError as error:
            logger.warning("%s Links are computed without lineage and latencies.", error)

    async def _update(self) -> None:
        """Update the graph where the catalogue or what is known has changed."""
        snapshot = self._snapshot()
        tools = [snapshot.tools[name] for name in sorted(snapshot.callable)]
        known = await self._knowledge.of_all(tools)
        versions = {tool.name: self._version(tool, known.get(tool.name)) for tool in tools}
        changed = [tool for tool in tools if self._versions.get(tool.name) != versions[tool.name]]
        gone = self._versions.keys() - versions.keys()
        await asyncio.to_thread(self._change, changed, known, gone, snapshot)
        self._versions, self._seen = versions, snapshot

    def _change(
        self, changed: Sequence[Tool], known: Mapping[str, Known], gone: Collection[str], snapshot: Snapshot
    ) -> None:
        from halflap.graph.edges import Graph  # noqa: PLC0415 -- most gateways never need edges

        if self._graph is None:
            self._graph = Graph(self._ports(tool, known.get(tool.name)) for tool in changed)
        else:
            for tool in changed:
                self._graph.put(self._ports(tool, known.get(tool.name)))
            for name in gone:
                self._graph.remove(name)
        if self._uses_lineage:
            named = self._lineage.named(_naming(snapshot))
            self._graph.follow(fitted(named, dict(self._graph.tools)))

    def _ports(self, tool: Tool, learned: Known | None) -> Ports:
        from halflap.graph.ports import ports_of  # noqa: PLC0415 -- as above

        return ports_of(
            tool,
            None if learned is None else learned.type,
            is_destructive=self._is_destructive(tool),
            changes=self._changes(tool),
            latency_ms=self._latencies.get((tool.server, tool.original_name)),
            learned_confidence=0.0 if learned is None else learned.confidence,
        )

    def _version(self, tool: Tool, known: Known | None) -> str:
        learned = "" if known is None else f"{known.version} {known.confidence:.2f}"
        return f"{tool.hash} {learned} {self._latencies.get((tool.server, tool.original_name))}"


def _naming(snapshot: Snapshot) -> Callable[[ToolKey], str | None]:
    """Return a function from a key to the name of the callable tool with that definition, if there is one."""
    tools = {(tool.server, tool.original_name): tool for tool in snapshot.tools.values()}

    def name(key: ToolKey) -> str | None:
        tool = tools.get((key.server, key.tool))
        # Lineage of an unknown definition counts for the current one.
        if tool is None or key.definition_hash not in {tool.schema_hash, tool.hash, ""}:
            return None
        return tool.name if snapshot.is_callable(tool.name) else None

    return name
