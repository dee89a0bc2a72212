"""What a gateway consists of: built when it is needed, closed in order.

What is built is loaded then, too: `halflap serve` answers its client's first questions without any of it.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from halflap import __version__
from halflap.config import ServerConfig
from halflap.core.errors import ToolHeldError, UsageError
from halflap.core.values import DSPY, OWN, SCRIPTS, CallContext
from halflap.gateway.keeping import drop_values, open_kept

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from halflap.calls import Breaches, Calls, Recorder, Redactor, Retention
    from halflap.catalog import Catalog, Finder, Refresher, Snapshot
    from halflap.config import Config
    from halflap.core.errors import HalflapError
    from halflap.core.values import Listing, Result, Tool
    from halflap.execution import Programs
    from halflap.execution.report import Kept
    from halflap.observe import Edges, Knowledge, Known, Learning
    from halflap.programs.source import DspyPrograms
    from halflap.schema import ToolSchema, Type
    from halflap.scripts import Scripts
    from halflap.store import Store
    from halflap.upstream import Pool

__all__ = ["FIRST_LISTING_SECONDS", "Parts", "with_learned"]

FIRST_LISTING_SECONDS = 10.0
"""So long after it was asked for its tools, at most, an answer waits for a server never listed before."""


_OWN = tuple(f"{name}__" for name in OWN)


class _Closing(Protocol):
    async def close(self) -> None: ...


class Parts:
    """The parts, and how they are put together."""

    def __init__(self, config: Config, servers: Mapping[str, Any] | None = None) -> None:
        self._in_process = servers or {}
        """Server objects of this process, by the names that they have as upstreams."""
        self.config = _with_servers(config, self._in_process)
        self.store_trouble: str | None = None
        """Why nothing is kept, when nothing is."""
        self._opening: asyncio.Task[None] | None = None
        self._store: Store | None = None
        self._catalog: Catalog | None = None
        self._breaches: Breaches | None = None
        self._knowledge: Knowledge | None = None
        """None where nothing is to be learned, and nothing that was is to be shown."""
        self._learning: Learning | None = None
        self._edges: Edges | None = None
        self._calls: Calls | None = None
        self._recorder: Recorder | None = None
        self._redactor: Redactor | None = None
        self._retention: Retention | None = None
        self._pool: Pool | None = None
        self._connecting = asyncio.Lock()
        self._listings: Refresher | None = None
        self._finder: Finder | None = None
        self._programs: Programs | None = None
        self._scripts: Scripts | None = None
        self._dspy: DspyPrograms | None = None
        self._roots: Callable[[], Awaitable[Sequence[Mapping[str, Any]]]] | None = None

    async def prepare(self) -> None:
        """Open the store and the catalogue; once, however many ask for it."""
        if self._opening is None:
            self._opening = asyncio.create_task(self._open(), name="open gateway")
        await asyncio.shield(self._opening)

    async def _open(self) -> None:
        for name in ("calls", "scripts"):
            await asyncio.to_thread(import_module, f"halflap.{name}")
        from halflap.calls import (  # noqa: PLC0415 -- see the top
            Breaches,
            Calls,
            Policy,
            Recorder,
            Redactor,
            Retention,
            configured_secrets,
        )
        from halflap.catalog import Catalog, Finder, Refresher  # noqa: PLC0415 -- see the top
        from halflap.scripts import Folder, Scripts  # noqa: PLC0415 -- see the top

        self._store, self.store_trouble = await open_kept(self.config)
        self._catalog = Catalog(self.config, self._store)
        await self._catalog.load()
        enabled = [server.name for server in self.config.servers if not server.disabled]
        self._finder = Finder(self._catalog)
        self._scripts = Scripts(
            Folder(self.config.data_dir / "scripts"),
            absorb=self._absorb_own,
            programs=self.programs,
            call=self.call_tool,
            accept=self.accept,
        )
        own: dict[str, Callable[[], Awaitable[Mapping[str, HalflapError]]]] = {SCRIPTS: self._scripts.look}
        if self.config.uses_programs:
            own[DSPY] = self._look_at_dspy
        self._listings = Refresher(self._catalog, enabled, self._connections, own)
        redactor = self._redactor = Redactor(configured_secrets(self.config))
        underway = None if self.store_trouble is not None else self.config.data_dir / "running"
        self._recorder = Recorder(self._store, redactor, self.config.traces, underway)
        self._breaches = Breaches(self._store)
        await self._breaches.load()
        if not self.config.learning.values:
            await drop_values(self._store)
        if self.config.learning.enabled:
            await self._open_learning(self._store, self._recorder, redactor)
        self._calls = Calls(
            Policy(self.config),
            self._recorder,
            lambda: self.snapshot,
            self._breaches,
            None if self._learning is None else self._learning.take,
        )
        if self._learning is not None:
            await self._weave()
        self._calls.register(self._scripts)
        self._retention = Retention(self._store, self.config.traces)
        self._retention.start()
        await self._scripts.look()
        if self.config.uses_programs:
            await self._look_at_dspy()

    async def _open_learning(self, store: Store, recorder: Recorder, redactor: Redactor) -> None:
        observe = await asyncio.to_thread(import_module, "halflap.observe")
        values = self.config.learning.values
        self._knowledge = observe.Knowledge(store, enums=values)
        self._learning = observe.Learning(
            store,
            self._knowledge,
            values=values,
            lineage=self.config.graph.lineage,
            redact=redactor.value,
            before_writing=recorder.flush,
            on_changed=lambda keys: None if self._edges is None else self._edges.changed(keys),
            on_flows=lambda flows: None if self._edges is None else self._edges.flowed(flows),
        )

    async def _weave(self) -> Edges:
        """Build what keeps the graph, if it is not built."""
        observe = await asyncio.to_thread(import_module, "halflap.observe")
        if self._edges is None:
            assert self._store is not None
            assert self._calls is not None
            self._edges = observe.Edges(
                self._store,
                lambda: self.snapshot,
                self._knowledge,
                is_destructive=self._calls.policy.is_destructive,
                changes=self._calls.policy.changes,
                lineage=self.config.graph.lineage,
            )
        return self._edges

    async def _weaving(self) -> Edges:
        await self.prepare()
        return await self._weave()

    async def _connections(self) -> Pool:
        """Give the pool of servers. The protocol library takes a while to load, and reading needs none of it."""
        await self.prepare()
        async with self._connecting:
            if self._pool is None:
                assert self._calls is not None
                assert self._redactor is not None
                upstream = await asyncio.to_thread(import_module, "halflap.upstream")
                self._pool = upstream.Pool(
                    self.config.servers,
                    version=__version__,
                    log_folder=self.config.data_dir / "logs",
                    list_roots=self._list_roots,
                    on_listing=(await self._asker()).absorb,
                    last_versions={
                        name: server.protocol_version for name, server in self.snapshot.servers.items()
                    },
                    redact=self._redactor.text,
                    in_process=self._in_process,
                )
                for source in self._pool:
                    self._calls.register(source)
            return self._pool

    async def close(self) -> None:
        """Stop every server and write down what is left to write."""
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.wait([self._opening])
        # In this order: what ends first may still have something for those after it.
        parts: tuple[_Closing | None, ...] = (
            self._programs,
            self._dspy,
            self._listings,
            self._pool,
            self._learning,
            self._edges,
            self._retention,
            self._breaches,
            self._recorder,
            self._store,
        )
        for part in parts:
            if part is not None:
                await part.close()

    @property
    def snapshot(self) -> Snapshot:
        """The catalogue as it is now."""
        if self._catalog is not None:
            return self._catalog.snapshot
        from halflap.catalog import Snapshot  # noqa: PLC0415 -- see the top

        return Snapshot()

    @property
    def recorder(self) -> Recorder:
        """What writes down runs and calls; there when the gateway is prepared."""
        assert self._recorder is not None
        return self._recorder

    async def programs(self) -> Programs:
        """Give what runs programs; the sandbox itself starts when the first one comes."""
        await self.prepare()
        if self._programs is None:
            parts = [
                await asyncio.to_thread(import_module, f"halflap.execution.{name}")
                for name in ("programs", "choose", "check.checker", "check.examiner")
            ]
            assert self._calls is not None
            assert self._recorder is not None
            if self._programs is None:
                self._programs = parts[0].Programs(
                    self.config.execution,
                    parts[1].choose(self.config.execution),
                    parts[2].Checker(
                        parts[3].Examiner(),
                        snapshot=lambda: self.snapshot,
                        settle=self._settle,
                        servers=[server.name for server in self.config.servers if not server.disabled],
                        is_broken=lambda name: any(one.is_broken(name) for one in self._own()),
                        is_breached=self._calls.breaches.has,
                        learned=self._learned_type,
                    ),
                    call=self.call_tool,
                    snapshot=lambda: self.snapshot,
                    policy=self._calls.policy,
                    recorder=self._recorder,
                    settle=self._settle,
                    keeps=self._keeps(),
                    code_of=self._code_of,
                    schema_of=self._schema_of,
                )
        return self._programs

    def _keeps(self) -> Kept:
        if self.config.traces.record != "full":
            return "off"
        return "stored" if self.store_trouble is None else "memory"

    @property
    def scripts(self) -> Scripts:
        """The saved scripts; there when the gateway is open."""
        assert self._scripts is not None
        return self._scripts

    async def dspy(self) -> DspyPrograms:
        """Give the saved DSPy programs. What they need is loaded when they are first asked for."""
        await self.prepare()
        return await self._saved()

    async def _saved(self) -> DspyPrograms:
        opening = await asyncio.to_thread(import_module, "halflap.gateway.saved")
        if self._dspy is None:
            assert self._calls is not None
            assert self._recorder is not None
            self._dspy = opening.open_programs(
                self.config,
                call=self.call_tool,
                snapshot=lambda: self.snapshot,
                absorb=self._absorb_own,
                settle=self._settle,
                unavailable=lambda: (
                    {} if self._listings is None else self._listings.unavailable(self._pool or ())
                ),
                policy=self._calls.policy,
                recorder=self._recorder,
            )
            self._calls.register(self._dspy)
        return self._dspy

    async def _look_at_dspy(self) -> dict[str, HalflapError]:
        return await (await self._saved()).look()

    def _own(self) -> list[Scripts | DspyPrograms]:
        return [one for one in (self._scripts, self._dspy) if one is not None]

    def _code_of(self, tool: str) -> str | None:
        return next((code for one in self._own() if (code := one.code_of(tool)) is not None), None)

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any], context: CallContext | None = None
    ) -> Result:
        """Call a tool with its arguments as a mapping, on somebody's behalf."""
        listings = await self._asker()
        assert self._calls is not None
        with self._calls.finding(name, arguments, context or CallContext()):
            # What is our own needs no server to be found.
            await listings.find(name, () if name.startswith(_OWN) else await self._connections())
        assert self._catalog is not None
        try:
            return await self._calls.call(name, arguments, context or CallContext())
        except ToolHeldError:
            # It may have been accepted meanwhile, by `halflap trust` in another process.
            await self._catalog.load()
            if name in self.snapshot.held:
                raise
            return await self._calls.call(name, arguments, context or CallContext())

    async def accept(self, names: Iterable[str]) -> tuple[str, ...]:
        """Accept the changed definitions of these tools; gives those that had changed."""
        await self.prepare()
        assert self._catalog is not None
        return await self._catalog.accept(names)

    def offer_roots(self, roots: Callable[[], Awaitable[Sequence[Mapping[str, Any]]]]) -> None:
        """Have somebody asked for roots when a server wants them; to be said before the gateway is opened."""
        self._roots = roots

    async def roots_changed(self) -> None:
        """Pass on that the roots are others now."""
        if self._pool is not None:
            await self._pool.roots_changed()

    async def _asker(self) -> Refresher:
        await self.prepare()
        assert self._listings is not None
        return self._listings

    async def _settle(self) -> None:
        await (await self._asker()).ensure_listed(wait_seconds=FIRST_LISTING_SECONDS, refresh_stale=True)

    async def _learned_type(self, tool: Tool) -> tuple[Type, str] | None:
        """Say what a tool was seen to return, for the check. It does not wait for what is not looked at yet."""
        known = None if self._knowledge is None else await self._knowledge.of(tool)
        return None if known is None or known.stub is None else (known.stub, known.version)

    async def _schema_of(self, tool: Tool) -> ToolSchema:
        from halflap.calls import aside  # noqa: PLC0415 -- see the top
        from halflap.schema import parse_schema  # noqa: PLC0415 -- as above

        parsed = await aside(partial(parse_schema, tool), tool.input_schema, tool.output_schema)
        return with_learned(parsed, None if self._knowledge is None else await self._knowledge.of(tool))

    async def _traces(self) -> Store:
        """Give the store with all in it that happened so far."""
        await self.prepare()
        assert self._recorder is not None
        assert self._store is not None
        await self._recorder.flush()
        await self._recorder.tell_interrupted()
        return self._store

    async def _absorb_own(self, listing: Listing) -> None:
        assert self._catalog is not None
        if not self._catalog.has(listing):
            await self._catalog.absorb(listing)

    async def _list_roots(self) -> list[dict[str, Any]]:
        roots: list[dict[str, Any]] = [{"uri": uri} for uri in self.config.roots]
        if self._roots is not None:
            with contextlib.suppress(Exception):
                roots += [dict(root) for root in await self._roots()]
        return roots


def _with_servers(config: Config, names: Iterable[str]) -> Config:
    added = tuple(ServerConfig(name=name, transport="memory") for name in names)
    for server in config.servers:
        if server.name in {one.name for one in added}:
            raise UsageError(
                f"Server {server.name!r} is in the configuration and among `servers`. Rename one of them."
            )
    return replace(config, servers=(*config.servers, *added)) if added else config


def with_learned(schema: ToolSchema, known: Known | None) -> ToolSchema:
    """Add to a schema what was learned."""
    if known is None:
        return schema
    return replace(schema, learned_schema=known.schema, learned_type=known.stub)
