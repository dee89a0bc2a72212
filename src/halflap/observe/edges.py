"""Keep the graph of what feeds what up to date: built when it is first asked for, then changed where something changed.

What it is built with is loaded then, too: most who learn never ask for it.
"""

from __future__ import annotations

import asyncio
import logging
from functools import reduce
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from halflap.core.errors import StoreError
from halflap.graph.lineage import NO_LINEAGE, Lineage
from halflap.observe.knowledge import key_of
from halflap.schema import parse_schema
from halflap.store import StoredEdge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from halflap.catalog import Snapshot
    from halflap.core.values import Tool
    from halflap.graph.edge import Edge, Ports
    from halflap.graph.graph import Graph
    from halflap.observe.knowledge import Knowledge
    from halflap.observe.known import Known
    from halflap.store import Store, ToolKey

__all__ = ["Edges"]

logger = logging.getLogger(__name__)

_FRESH_SECONDS = 60.0
"""After so long, what a backfill or another gateway may have added is read, behind whoever asks."""
_REST_SECONDS = 1.0
"""After a change, so long is waited for further ones before edges are worked out and kept."""
MOST_KEPT = 10_000
"""The edges of more tools than this are not kept in the store: they are worked out when they are asked for."""
_MOST_AT_ONCE = 2_000
"""Of more tools than this, all edges are worked out only when that is asked for."""


class Edges:
    """The graph of the tools that may be called, and what of it is in the store."""

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
        """None where nothing is learned, and nothing that was is used."""
        self._is_destructive = is_destructive
        self._changes = changes
        self._follows = lineage and knowledge is not None
        self._graph: Graph | None = None
        self._seen: Snapshot | None = None
        """The catalogue that the graph is of."""
        self._versions: dict[str, str] = {}
        """What each tool in the graph was read from."""
        self._learned: set[ToolKey] = set()
        """The tools that something new is known of."""
        self._flows = NO_LINEAGE
        self._new_flows = NO_LINEAGE
        self._latencies: Mapping[tuple[str, str], float] = {}
        self._read_at = 0.0
        self._lock = asyncio.Lock()
        self._gone: set[tuple[str, str]] = set()
        """The tools that are no more, by server and name, and whose edges are still in the store."""
        self._unkept: set[str] | None = set()
        """The tools whose edges in the store are not as they are; None where that holds for all."""
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._closed = False

    async def graph(self) -> Graph:
        """Give the graph as it is now. It goes on to change: whoever works with it for long asks again."""
        async with self._lock:
            if self._graph is None:
                await self._build()
            else:
                await self._change()
                if asyncio.get_running_loop().time() - self._read_at > _FRESH_SECONDS:
                    self._begin("refresh", self._refresh)
            assert self._graph is not None
            return self._graph

    async def rebuild(self) -> Graph:
        """Work everything out anew, and keep it."""
        async with self._lock:
            if self._knowledge is not None:
                self._knowledge.forget()
            await self._build()
            assert self._graph is not None
            await self._keep(always=True)
            return self._graph

    def changed(self, keys: Sequence[ToolKey]) -> None:
        """Take note of tools that something new is known of: their edges are worked out anew, behind."""
        self._learned.update(keys)
        self._later()

    def flowed(self, lineage: Lineage) -> None:
        """Take note of where values were seen to go."""
        if self._follows:
            self._new_flows = self._new_flows.merge(lineage)
            self._later()

    async def close(self) -> None:
        """Let what is under way end, and begin nothing more."""
        self._closed = True
        waiting = self._tasks.pop("catch up", None)
        if waiting is not None:
            # What it would do is done when somebody asks again.
            waiting.cancel()
        tasks = [task for task in (waiting, *self._tasks.values()) if task is not None]
        if tasks:
            await asyncio.wait(tasks)

    # Within ------------------------------------------------------------------------------------------

    def _begin(self, name: str, work: Callable[[], Any]) -> None:
        running = self._tasks.get(name)
        if self._closed or (running is not None and not running.done()):
            return
        self._tasks[name] = asyncio.create_task(self._told(work), name=f"{name} edges")

    async def _told(self, work: Callable[[], Any]) -> None:
        try:
            await work()
        except StoreError as error:
            logger.warning("%s What feeds what is worked out, and not kept.", error)
        except Exception:
            logger.exception("What feeds what could not be worked out")

    def _later(self) -> None:
        if not self._closed and len(self._snapshot().tools) <= _MOST_AT_ONCE:
            self._begin("catch up", self._catch_up)

    async def _catch_up(self) -> None:
        """Work out and keep what changed, when it has come to rest."""
        while self._learned or self._new_flows.counts:
            await asyncio.sleep(_REST_SECONDS)
            await self.graph()

    async def _build(self) -> None:
        snapshot = self._snapshot()
        tools = _callable(snapshot)
        self._learned.clear()
        self._new_flows = NO_LINEAGE
        known = await self._known(tools)
        await self._read()
        ports = await asyncio.to_thread(self._ports, tools, known)
        flows = await asyncio.to_thread(self._named, snapshot, {one.tool: one for one in ports})
        self._graph = await asyncio.to_thread(_made, ports, flows)
        self._seen = snapshot
        self._versions = {tool.name: _version(tool, known.get(tool.name)) for tool in tools}
        self._unkept = None
        if len(tools) <= _MOST_AT_ONCE:
            self._begin("keep", self._keep_behind)

    async def _read(self) -> None:
        """Read what is in the store beside what was learned of each tool."""
        try:
            self._latencies = await self._store.latencies()
            counted = (await self._store.lineage()).values() if self._follows else ()
        except StoreError as error:
            logger.warning("%s Where values went is not known.", error)
        else:
            self._flows = reduce(Lineage.merge, counted, NO_LINEAGE)
        self._read_at = asyncio.get_running_loop().time()

    async def _change(self) -> None:
        """Bring the graph up to date with the catalogue, and with what was seen here."""
        snapshot = self._snapshot()
        learned, self._learned = self._learned, set()
        names = {
            tool.name
            for tool in _callable(snapshot)
            if tool.name not in self._versions or (learned and key_of(tool) in learned)
        }
        if snapshot is not self._seen:
            names |= self._differing(snapshot)
        flows, self._new_flows = self._new_flows, NO_LINEAGE
        await self._put(snapshot, names, flows)

    def _differing(self, snapshot: Snapshot) -> set[str]:
        before = {} if self._seen is None else self._seen.tools
        return {
            name
            for name in (*snapshot.callable, *self._versions)
            if name not in self._versions
            or name not in snapshot.tools
            or name in snapshot.blocked
            or name in snapshot.held
            or name not in before
            or before[name].hash != snapshot.tools[name].hash
        }

    async def _put(self, snapshot: Snapshot, names: set[str], flows: Lineage) -> None:
        assert self._graph is not None
        allowed = set(snapshot.callable)
        tools = [snapshot.tools[name] for name in sorted(names & allowed)]
        gone = (names | self._versions.keys()) - allowed
        known = await self._known(tools)
        ports = await asyncio.to_thread(self._ports, tools, known)
        for name in gone & self._versions.keys():
            gone_one = self._graph.tools[name]
            self._gone.add((gone_one.server, gone_one.original_name))
            self._graph.remove(name)
            del self._versions[name]
        for one in ports:
            self._graph.put(one)
        self._versions |= {tool.name: _version(tool, known.get(tool.name)) for tool in tools}
        if flows.counts or (self._flows.counts and (tools or gone)):
            self._flows = self._flows.merge(flows)
            named = await asyncio.to_thread(self._named, snapshot, dict(self._graph.tools))
            self._graph.follow(named)
            ends = flows.named(_naming(snapshot))
            names |= {str(tool) for pair in ends.pairs for tool in pair}
        self._seen = snapshot
        if names or gone:
            if self._unkept is not None:
                self._unkept |= names | gone
            if len(self._versions) <= _MOST_AT_ONCE:
                self._begin("keep", self._keep_behind)

    async def _refresh(self) -> None:
        """Read what others have added."""
        async with self._lock:
            snapshot = self._snapshot()
            tools = _callable(snapshot)
            known = await self._known(tools)
            names = {
                tool.name
                for tool in tools
                if self._versions.get(tool.name) != _version(tool, known.get(tool.name))
            }
            before, took = self._flows, self._latencies
            await self._read()
            names |= {tool.name for tool in tools if _took(tool, took) != _took(tool, self._latencies)}
            await self._put(snapshot, names, NO_LINEAGE)
            if self._graph is not None and self._flows != before:
                ports = dict(self._graph.tools)
                self._graph.follow(await asyncio.to_thread(self._named, snapshot, ports))

    async def _known(self, tools: Sequence[Tool]) -> Mapping[str, Known]:
        return {} if self._knowledge is None or not tools else await self._knowledge.of_all(tools)

    def _ports(self, tools: Iterable[Tool], known: Mapping[str, Known]) -> list[Ports]:
        from halflap.graph.ports import ports_of  # noqa: PLC0415 -- see the top

        found = []
        for tool in tools:
            learned = known.get(tool.name)
            one = ports_of(
                tool,
                parse_schema(tool),
                None if learned is None else learned.type,
                is_destructive=self._is_destructive(tool),
                changes=self._changes(tool),
                latency_ms=_took(tool, self._latencies),
                learned_confidence=0.0 if learned is None else learned.confidence,
                seen=0 if learned is None or learned.type is not None else learned.observations,
                needed=0 if learned is None else learned.needed,
            )
            found.append(one)
        return found

    def _named(self, snapshot: Snapshot, tools: Mapping[str, Ports]) -> Lineage | None:
        """Give where values went, by the tools' names and places; of another definition of a tool it says nothing."""
        if not self._follows:
            return None
        from halflap.graph.fitted import fitted  # noqa: PLC0415 -- see the top

        return fitted(self._flows.named(_naming(snapshot)), tools)

    # The store ---------------------------------------------------------------------------------------

    async def _keep_behind(self) -> None:
        async with self._lock:
            await self._keep()

    async def _keep(self, *, always: bool = False) -> None:
        """Write the edges of the tools that changed, or all; what is there already is left."""
        graph, unkept = self._graph, self._unkept
        if graph is None or (unkept is not None and not unkept) or len(graph.tools) > MOST_KEPT:
            return
        mark = self._mark()
        if not always and await self._store.edges_version() == mark:
            self._unkept = set()
            return
        assert self._seen is not None
        keys = {name: key_of(tool) for name, tool in self._seen.tools.items()}
        if unkept is None:
            rows = await asyncio.to_thread(lambda: _rows(graph.edges(), keys))
            await self._store.replace_edges(rows, mark)
        else:
            names = {name for name in unkept if name in keys}
            rows = await asyncio.to_thread(lambda: _rows(_edges_of(graph, names), keys))
            ends = {keys[name][:2] for name in names} | self._gone
            await self._store.replace_edges(rows, mark, tools=sorted(ends))
        self._unkept, self._gone = set(), set()

    def _mark(self) -> str:
        """Give what tells one state of all that edges follow from apart from another."""
        parts = [*sorted(self._versions.items()), *(self._flows.to_json() if self._follows else ())]
        return sha256(repr(parts).encode(errors="replace")).hexdigest()


def _made(ports: Iterable[Ports], flows: Lineage | None) -> Graph:
    from halflap.graph.graph import Graph  # noqa: PLC0415 -- see the top

    return Graph(ports, flows)


def _callable(snapshot: Snapshot) -> list[Tool]:
    return [snapshot.tools[name] for name in snapshot.callable]


def _naming(snapshot: Snapshot) -> Callable[[ToolKey], str | None]:
    """Give what says which tool a key means now, if any: of another definition it says nothing."""
    known: dict[str, dict[str, Tool]] = {}

    def name(key: ToolKey) -> str | None:
        if key.server not in known:
            known[key.server] = {one.original_name: one for one in snapshot.by_server.get(key.server, ())}
        tool = known[key.server].get(key.tool)
        # History whose definition nobody knows counts for the present one.
        if tool is None or key.definition_hash not in {tool.schema_hash, tool.hash, ""}:
            return None
        return None if tool.name in snapshot.blocked or tool.name in snapshot.held else tool.name

    return name


def _version(tool: Tool, known: Known | None) -> str:
    read = "" if known is None else f"{known.version} {known.confidence:.2f} {known.needed}"
    return f"{tool.hash} {read}"


def _took(tool: Tool, latencies: Mapping[tuple[str, str], float]) -> float | None:
    return latencies.get((tool.server, tool.original_name))


def _edges_of(graph: Graph, names: Iterable[str]) -> Iterable[Edge]:
    found = {}
    for name in names:
        for edge in (*graph.into(name), *graph.out_of(name)):
            found[edge.source, edge.target] = edge
    return found.values()


def _rows(edges: Iterable[Edge], keys: Mapping[str, ToolKey]) -> list[StoredEdge]:
    return [
        StoredEdge(
            keys[edge.source],
            keys[edge.target],
            edge.coverage,
            edge.confidence,
            tuple(sorted(edge.kinds)),
            tuple(link.to_json() for link in edge.links),
        )
        for edge in edges
    ]
