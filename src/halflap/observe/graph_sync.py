"""Keep the graph up to date with the catalogue, with what is learned, and with where values were seen to go.

It is built when first asked for and changed where something changed. Its edges are computed on demand; only those that
values were seen to follow are stored.
"""

from __future__ import annotations

import asyncio
import logging
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeVar

from halflap.core.errors import StoreError
from halflap.graph.lineage import NO_LINEAGE, Lineage, fitted
from halflap.observe.knowledge import key_of
from halflap.store import StoredEdge

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from halflap.catalog import Snapshot
    from halflap.core.values import Tool
    from halflap.graph.edges import Graph
    from halflap.graph.ports import Ports
    from halflap.observe.knowledge import Knowledge
    from halflap.observe.known import Known
    from halflap.store import Store, ToolKey

__all__ = ["Edges"]

logger = logging.getLogger(__name__)

T = TypeVar("T")

_FRESH_SECONDS = 60.0
"""After this long, what a backfill or another gateway may have added is read in the background."""
_REST_SECONDS = 1.0
"""After a change, further ones are awaited for this long before edges are stored."""


class Edges:
    """The graph of the callable tools, and the part of it in the store."""

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
        self._follows = lineage and knowledge is not None
        self._graph: Graph | None = None
        self._versions: dict[str, str] = {}
        """What each tool in the graph was read from."""
        self._flows = NO_LINEAGE
        self._new_flows = NO_LINEAGE
        self._learned: set[ToolKey] = set()
        self._seen: Snapshot | None = None
        self._latencies: Mapping[tuple[str, str], float] = {}
        self._read_at = 0.0
        self._lock = asyncio.Lock()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._closed = False

    async def graph(self) -> Graph:
        """Return the graph as it is now. It keeps changing: ask again when working with it for long."""
        async with self._lock:
            return await self._current()

    async def run(self, work: Callable[[Graph], T]) -> T:
        """Compute something from the graph in a thread, while nothing changes it."""
        async with self._lock:
            return await asyncio.to_thread(work, await self._current())

    async def _current(self) -> Graph:
        if self._graph is None:
            await self._read()
            await self._update(everything=True)
        elif self._learned or self._new_flows.counts or self._snapshot() is not self._seen:
            await self._update()
        if asyncio.get_running_loop().time() - self._read_at > _FRESH_SECONDS:
            self._begin("refresh", self._refresh)
        assert self._graph is not None
        return self._graph

    async def rebuild(self) -> Graph:
        """Build everything again, and store the edges that values were seen to follow."""
        async with self._lock:
            if self._knowledge is not None:
                self._knowledge.forget()
            self._graph, self._versions = None, {}
            graph = await self._current()
            await self._keep(always=True)
            return graph

    def changed(self, keys: Sequence[ToolKey]) -> None:
        """Note tools of which something new is known."""
        self._learned.update(keys)

    def flowed(self, lineage: Lineage) -> None:
        """Note where values were seen to go."""
        if self._follows:
            self._new_flows = self._new_flows.merge(lineage)
            self._begin("store", self._store_later)

    async def close(self) -> None:
        """Finish what is under way, and start nothing more."""
        self._closed = True
        waiting = self._tasks.pop("store", None)
        if waiting is not None:
            waiting.cancel()
        tasks = [task for task in (waiting, *self._tasks.values()) if task is not None]
        if tasks:
            await asyncio.wait(tasks)

    def _begin(self, name: str, work: Callable[[], Any]) -> None:
        running = self._tasks.get(name)
        if not self._closed and (running is None or running.done()):
            self._tasks[name] = asyncio.create_task(self._logged(work), name=f"{name} edges")

    async def _logged(self, work: Callable[[], Any]) -> None:
        try:
            await work()
        except StoreError as error:
            logger.warning("%s Edges are computed, but not stored.", error)
        except Exception:
            logger.exception("The graph could not be updated")

    async def _store_later(self) -> None:
        await asyncio.sleep(_REST_SECONDS)
        await self.graph()
        async with self._lock:
            await self._keep()

    async def _refresh(self) -> None:
        async with self._lock:
            await self._read()
            await self._update(everything=True)

    async def _read(self) -> None:
        """Read latencies and lineage from the store."""
        self._read_at = asyncio.get_running_loop().time()
        try:
            self._latencies = await self._store.latencies()
            counted = (await self._store.lineage()).values() if self._follows else ()
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
            or (learned and key_of(tool) in learned)
        }
        known = await self._known([tools[name] for name in sorted(names)])
        versions = {name: self._version(tools[name], known.get(name)) for name in names}
        names = {name for name in names if self._versions.get(name) != versions[name]}
        gone = self._versions.keys() - tools.keys()
        flows, self._flows = self._flows, self._flows.merge(self._new_flows)
        follows = bool(names or gone or everything or self._flows is not flows)
        self._new_flows = NO_LINEAGE
        await asyncio.to_thread(self._change, [tools[name] for name in sorted(names)], known, gone)
        self._versions = {name: one for name, one in self._versions.items() if name not in gone} | versions
        self._seen = snapshot
        assert self._graph is not None
        if self._follows and follows:
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

    async def _known(self, tools: Sequence[Tool]) -> Mapping[str, Known]:
        return {} if self._knowledge is None or not tools else await self._knowledge.of_all(tools)

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

    async def _keep(self, *, always: bool = False) -> None:
        """Store the edges that values were seen to follow, unless they are stored already."""
        graph, snapshot = self._graph, self._seen
        if graph is None or snapshot is None:
            return
        named = self._flows.named(_naming(snapshot))
        parts = [sorted(self._versions.items()), named.to_json()]
        mark = sha256(repr(parts).encode(errors="replace")).hexdigest()
        if not always and await self._store.edges_version() == mark:
            return
        edges = await asyncio.to_thread(lambda: [graph.edge(*pair) for pair in named.pairs])
        rows = [
            StoredEdge(
                key_of(snapshot.tools[edge.source]),
                key_of(snapshot.tools[edge.target]),
                edge.coverage,
                edge.confidence,
                tuple(sorted(edge.kinds)),
                tuple(link.to_json() for link in edge.links),
            )
            for edge in edges
            if edge is not None
        ]
        await self._store.replace_edges(rows, mark)


def _naming(snapshot: Snapshot) -> Callable[[ToolKey], str | None]:
    """Return a function from a key to the tool it means now: of another definition of a tool it says nothing."""
    tools = {(tool.server, tool.original_name): tool for tool in snapshot.tools.values()}

    def name(key: ToolKey) -> str | None:
        tool = tools.get((key.server, key.tool))
        # History without a definition counts for the present one.
        if tool is None or key.definition_hash not in {tool.schema_hash, tool.hash, ""}:
            return None
        return None if tool.name in snapshot.blocked or tool.name in snapshot.held else tool.name

    return name
