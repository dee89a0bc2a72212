"""Keep the graph up to date with the catalogue, with what is learned, and with where values were seen to go."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, TypeVar

from halflap.core.errors import StoreError
from halflap.graph.lineage import NO_LINEAGE, Lineage, fitted
from halflap.observe.knowledge import key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from halflap.catalog import Snapshot
    from halflap.core.values import Tool
    from halflap.graph.edges import Graph
    from halflap.graph.ports import Ports
    from halflap.observe.knowledge import Knowledge
    from halflap.observe.known import Known
    from halflap.store import Store, ToolKey

__all__ = ["GraphSync"]

logger = logging.getLogger(__name__)

T = TypeVar("T")

_FRESH_SECONDS = 60.0
"""After this long, what a backfill or another gateway may have added is read in the background."""


class GraphSync:
    """The graph of the callable tools: built when first asked for, then changed where something changed."""

    def __init__(
        self,
        store: Store,
        snapshot: Callable[[], Snapshot],
        knowledge: Knowledge | None,
        *,
        is_destructive: Callable[[Tool], bool],
        changes: Callable[[Tool], bool | None] = lambda _: None,
        lineage: bool = True,
    ) -> None:
        self._store = store
        self._snapshot = snapshot
        self._knowledge = knowledge
        """None where learning is off."""
        self._is_destructive = is_destructive
        self._changes = changes
        self._uses_lineage = lineage and knowledge is not None
        self._graph: Graph | None = None
        self._versions: dict[str, str] = {}
        """What each tool in the graph was built from."""
        self._flows = self._new_flows = NO_LINEAGE
        self._learned: set[ToolKey] = set()
        self._seen: Snapshot | None = None
        self._latencies: Mapping[tuple[str, str], float] = {}
        self._read_at = 0.0
        self._lock = asyncio.Lock()
        self._refreshing: asyncio.Task[None] | None = None

    async def graph(self) -> Graph:
        """Return the graph as it is now. It keeps changing: ask again when working with it for long."""
        async with self._lock:
            return await self._current()

    async def run(self, work: Callable[[Graph], T]) -> T:
        """Compute something from the graph in a thread, while nothing changes it."""
        async with self._lock:
            return await asyncio.to_thread(work, await self._current())

    def learned(self, keys: Sequence[ToolKey], lineage: Lineage) -> None:
        """Note tools of which something new is known, and where values were seen to go."""
        self._learned.update(keys)
        if self._uses_lineage:
            self._new_flows = self._new_flows.merge(lineage)

    async def close(self) -> None:
        if self._refreshing is not None:
            await asyncio.wait([self._refreshing])

    async def _current(self) -> Graph:
        if self._graph is None:
            await self._read()
            await self._update(everything=True)
        elif self._learned or self._new_flows.counts or self._snapshot() is not self._seen:
            await self._update()
        is_old = asyncio.get_running_loop().time() - self._read_at > _FRESH_SECONDS
        if is_old and (self._refreshing is None or self._refreshing.done()):
            self._refreshing = asyncio.create_task(self._refresh(), name="refresh the graph")
        assert self._graph is not None
        return self._graph

    async def _refresh(self) -> None:
        async with self._lock:
            try:
                await self._read()
                await self._update(everything=True)
            except Exception:
                logger.exception("The graph could not be updated")

    async def _read(self) -> None:
        """Read latencies and lineage from the store."""
        self._read_at = asyncio.get_running_loop().time()
        try:
            self._latencies = await self._store.latencies()
            counted = (await self._store.lineage()).values() if self._uses_lineage else ()
        except StoreError as error:
            logger.warning("%s Where values went is not known.", error)
        else:
            self._flows, self._new_flows = Lineage.sum(counted), NO_LINEAGE

    async def _update(self, *, everything: bool = False) -> None:
        """Change the graph where the catalogue or what is known has changed."""
        snapshot = self._snapshot()
        learned, self._learned = self._learned, set()
        tools = {name: snapshot.tools[name] for name in snapshot.callable}
        before = {} if self._seen is None else self._seen.tools
        names = {
            name
            for name, tool in tools.items()
            if everything
            or name not in self._versions
            or name not in before
            or before[name].hash != tool.hash
            or key_of(tool) in learned
        }
        asked = [tools[name] for name in sorted(names)]
        known = {} if self._knowledge is None or not asked else await self._knowledge.of_all(asked)
        versions = {name: self._version(tools[name], known.get(name)) for name in names}
        changed = [tool for tool in asked if self._versions.get(tool.name) != versions[tool.name]]
        gone = self._versions.keys() - tools.keys()
        await asyncio.to_thread(self._change, changed, known, gone)
        self._versions = {name: one for name, one in self._versions.items() if name not in gone} | versions
        self._seen = snapshot
        has_new_flows = bool(self._new_flows.counts)
        self._flows, self._new_flows = self._flows.merge(self._new_flows), NO_LINEAGE
        assert self._graph is not None
        if self._uses_lineage and (changed or gone or everything or has_new_flows):
            ports = dict(self._graph.tools)
            named = await asyncio.to_thread(lambda: fitted(self._flows.named(_naming(snapshot)), ports))
            self._graph.follow(named)

    def _change(self, tools: Sequence[Tool], known: Mapping[str, Known], gone: set[str]) -> None:
        from halflap.graph.edges import Graph  # noqa: PLC0415 -- most gateways learn, and are never asked for edges

        ports = (self._ports(tool, known.get(tool.name)) for tool in tools)
        if self._graph is None:
            self._graph = Graph(ports)
            return
        for one in ports:
            self._graph.put(one)
        for name in gone:
            self._graph.remove(name)

    def _ports(self, tool: Tool, learned: Known | None) -> Ports:
        from halflap.graph.inputs import ports_of  # noqa: PLC0415 -- as above

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
        # History without a definition counts for the present one.
        if tool is None or key.definition_hash not in {tool.schema_hash, tool.hash, ""}:
            return None
        return tool.name if snapshot.is_callable(tool.name) else None

    return name
