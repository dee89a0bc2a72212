"""The composition root: builds the parts, registers the tool sources, offers the use cases."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from contextlib import asynccontextmanager
from copy import deepcopy
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halflap import __version__
from halflap.calls import (
    Calls,
    Policy,
    Recorder,
    Redactor,
    Retention,
    aside,
    configured_secrets,
    describe,
)
from halflap.catalog import (
    FIRST_LISTING_SECONDS,
    Catalog,
    Finder,
    Hit,
    Listings,
    ServerReport,
    Snapshot,
    report,
)
from halflap.config import Config, load_config
from halflap.errors import (
    RunNotFoundError,
    StoreBrokenError,
    StoreError,
    StoreTooNewError,
    ToolHeldError,
)
from halflap.schema import ToolSchema, parse_schema
from halflap.scripts import Folder, Scripts
from halflap.store import open_store
from halflap.values import SCRIPTS, CallContext, Changes, RegisteredTool

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence

    from halflap.errors import ArgumentProblem
    from halflap.execution import Execution, Programs
    from halflap.store import CallRecord, Purged, RunRecord, Store
    from halflap.upstream import Pool
    from halflap.values import Listing, Result, Tool

__all__ = ["FIRST_LISTING_SECONDS", "Gateway"]

logger = logging.getLogger(__name__)


class Gateway:
    """All of a person's tools in one place.

        async with Gateway.open(config) as gateway:
            for tool in await gateway.tools():
                print(tool.name)
            result = await gateway.call("mcp__time__get_current_time", timezone="Europe/Berlin")

    Opening reads the catalogue that the last run left; no server starts before it is needed.
    """

    def __init__(self, config: Config) -> None:
        self.config = config
        self.store_trouble: str | None = None
        """Why nothing is kept, when nothing is."""
        self._opening: asyncio.Task[None] | None = None
        self._store: Store | None = None
        self._catalog: Catalog | None = None
        self._calls: Calls | None = None
        self._recorder: Recorder | None = None
        self._retention: Retention | None = None
        self._pool: Pool | None = None
        self._connecting = asyncio.Lock()
        self._listings: Listings | None = None
        self._finder: Finder | None = None
        self._programs: Programs | None = None
        self._scripts: Scripts | None = None
        self._roots: Callable[[], Awaitable[Sequence[Mapping[str, Any]]]] | None = None

    @classmethod
    @asynccontextmanager
    async def open(
        cls, config: Config | Mapping[str, Any] | str | Path | None = None
    ) -> AsyncIterator[Gateway]:
        """Open a gateway on a `Config`, a mapping in its form, a file's path, or the user's own file."""
        gateway = cls(await _configured(config))
        try:
            await gateway.prepare()
            yield gateway
        finally:
            await gateway.close()

    # Opening and closing ---------------------------------------------------------------------------

    async def prepare(self) -> None:
        """Open the store and the catalogue; once, however many ask for it."""
        if self._opening is None:
            self._opening = asyncio.create_task(self._open(), name="open gateway")
        await asyncio.shield(self._opening)

    async def _open(self) -> None:
        self._store = await self._open_store()
        self._catalog = Catalog(self.config, self._store)
        await self._catalog.load()
        enabled = [server.name for server in self.config.servers if not server.disabled]
        self._finder = Finder(self._catalog)
        self._scripts = Scripts(
            Folder(self.config.data_dir / "scripts"),
            absorb=self._absorb_scripts,
            programs=self.programs,
            call=self.call_tool,
            accept=self.accept,
        )
        self._listings = Listings(self._catalog, enabled, self._connections, self._scripts.look)
        self._recorder = Recorder(self._store, Redactor(configured_secrets(self.config)), self.config.traces)
        self._calls = Calls(Policy(self.config), self._recorder, lambda: self.snapshot)
        self._calls.register(self._scripts)
        self._retention = Retention(self._store, self.config.traces)
        self._retention.start()
        await self._scripts.look()

    async def _connections(self) -> Pool:
        """Give the pool of servers. The protocol library takes a while to load, and reading needs none of it."""
        await self.prepare()
        async with self._connecting:
            if self._pool is None:
                assert self._calls is not None
                upstream = await asyncio.to_thread(import_module, "halflap.upstream")
                self._pool = upstream.Pool(
                    self.config.servers,
                    version=__version__,
                    log_folder=self.config.data_dir / "logs",
                    list_roots=self._list_roots,
                    on_listing=(await self._asker()).absorb,
                    spoke={name: server.protocol_version for name, server in self.snapshot.servers.items()},
                )
                for source in self._pool:
                    self._calls.register(source)
            return self._pool

    async def _open_store(self) -> Store:
        configured = self.config.store
        place = configured.url or configured.path or self.config.data_dir / "halflap.db"
        try:
            return await open_store(place)
        except (StoreTooNewError, ToolHeldError, StoreBrokenError):
            raise
        except StoreError as error:
            # A home that cannot be written to is no reason to do without one's tools.
            self.store_trouble = str(error)
            logger.warning("%s Going on in memory: the next start will not remember this one.", error)
            return await open_store(None)

    async def close(self) -> None:
        """Stop every server and write down what is left to write."""
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.wait([self._opening])
        if self._programs is not None:
            await self._programs.close()
        if self._listings is not None:
            await self._listings.close()
        if self._pool is not None:
            await self._pool.close()
        if self._retention is not None:
            await self._retention.close()
        if self._recorder is not None:
            await self._recorder.close()
        if self._store is not None:
            await self._store.close()

    @property
    def snapshot(self) -> Snapshot:
        """The catalogue as it is now."""
        return Snapshot() if self._catalog is None else self._catalog.snapshot

    # What there is -----------------------------------------------------------------------------------

    async def tools(self, *, wait_seconds: float = FIRST_LISTING_SECONDS) -> tuple[RegisteredTool, ...]:
        """Give all callable tools, sorted by name.

        Servers never listed before are started and waited for, at most so long; a list that is past
        its time is given as it is, and brought up to date behind.
        """
        await self.settle(wait_seconds=wait_seconds)
        snapshot = self.snapshot
        reasons = self.unavailable()
        # In a thread: everything is copied, and there may be much of it.
        return await asyncio.to_thread(
            lambda: tuple(self._registered(snapshot.tools[name], reasons) for name in snapshot.callable)
        )

    async def settle(self, *, wait_seconds: float, behind: bool = True) -> None:
        """List the servers that were never listed, and wait for them; `behind` that, the stale ones too."""
        await (await self._asker()).settle(wait_seconds=wait_seconds, behind=behind)

    async def warm_up(self) -> None:
        """Open, and list behind the servers that nothing is known of yet; the others wait until needed.

        The sandbox is made ready, too: the first program then starts as quickly as any.
        """
        (await self._asker()).ask_unlisted()
        await (await self.programs()).ready()

    async def refresh(self, server: str | None = None) -> Changes:
        """List one server or all of them anew, and say what was added, removed and changed.

        A server that cannot be listed keeps the tools it had. If only one was asked for, its
        `UpstreamError` is raised.
        """
        return await (await self._asker()).refresh(server)

    async def inspect(self, name: str) -> dict[str, Any]:
        """Say what a tool takes and returns, who serves it, and what its server says of itself."""
        tool, _ = await self._look_up(name)
        assert self._calls is not None
        unchecked = await self._calls.checks.unchecked(tool)
        work = partial(
            describe,
            tool,
            self.snapshot,
            self._calls.policy,
            self.unavailable().get(tool.server),
            unchecked,
        )
        return await aside(work, tool.description, tool.input_schema, tool.output_schema)

    async def search(
        self, query: str, *, limit: int = 10, server: str | None = None, behind: bool = True
    ) -> list[Hit]:
        """Find callable tools by what they do, best first; an exact name is always first."""
        await self.settle(wait_seconds=FIRST_LISTING_SECONDS, behind=behind)
        assert self._finder is not None
        return await self._finder.search(query, limit, server)

    async def get_schema(self, tool_name: str) -> ToolSchema:
        """Give a tool's schema, parsed. One past its time is given marked stale, and asked for anew behind."""
        tool, stale = await self._look_up(tool_name)
        return await aside(partial(_parsed, tool, stale=stale), tool.input_schema, tool.output_schema)

    async def get_schemas(self, tool_names: Iterable[str]) -> dict[str, ToolSchema]:
        """Give several; an unknown name raises `ToolNotFoundError` after all others are resolved."""
        names = list(dict.fromkeys(tool_names))
        found = await asyncio.gather(*(self.get_schema(name) for name in names), return_exceptions=True)
        for one in found:
            if isinstance(one, BaseException):
                raise one
        return {schema.tool_name: schema for schema in found if isinstance(schema, ToolSchema)}

    async def validate_arguments(self, tool_name: str, arguments: Mapping[str, Any]) -> list[ArgumentProblem]:
        """Say everything that is wrong with these arguments, without calling anything."""
        schema = await self.get_schema(tool_name)
        return await asyncio.to_thread(schema.validate_arguments, arguments)

    def unavailable(self) -> dict[str, str]:
        """Say which servers cannot be reached at the moment, and why."""
        return {} if self._listings is None else self._listings.unavailable(self._pool or ())

    async def reports(self) -> tuple[ServerReport, ...]:
        """Give every server's state, in the order of the configuration."""
        pool, snapshot = await self._connections(), self.snapshot
        return tuple([await asyncio.to_thread(report, upstream, snapshot) for upstream in pool])

    @property
    def store_place(self) -> str:
        """Where the store is, fit to be shown."""
        return "" if self._store is None else self._store.place

    # What happened -----------------------------------------------------------------------------------

    @property
    def recorder(self) -> Recorder:
        """What writes down runs and calls; there when the gateway is prepared."""
        assert self._recorder is not None
        return self._recorder

    async def runs(
        self, limit: int = 20, principal: str | None = None, before: float | None = None
    ) -> Sequence[RunRecord]:
        """Give the newest runs, newest first and without their output: all, or one principal's."""
        return await (await self._traces()).runs(limit, principal=principal, before=before)

    async def run(
        self, identifier: str, principal: str | None = None
    ) -> tuple[RunRecord, Sequence[CallRecord]]:
        """Give a run and its calls, by its identifier or the beginning of it.

        For a principal, the runs of others do not exist.
        """
        store = await self._traces()
        found = await store.run(identifier, principal=principal)
        if found is None:
            raise RunNotFoundError(identifier)
        return found, await store.calls_of_run(found.id)

    async def purge_runs(self, *, older_than: float | None = None, everything: bool = False) -> Purged:
        """Take out runs and calls: those that began before a time, or all; else what retention would."""
        store = await self._traces()
        if everything or older_than is not None:
            return await store.purge(older_than=older_than, everything=everything)
        assert self._retention is not None
        return await self._retention.enforce()

    async def recent_calls(self, limit: int = 20) -> Sequence[CallRecord]:
        """Give the newest calls, newest first."""
        return await (await self._traces()).recent_calls(limit)

    # What can be done --------------------------------------------------------------------------------

    async def call(self, name: str, /, **arguments: Any) -> Result:
        """Call a tool by its namespaced name."""
        return await self.call_tool(name, arguments)

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any], context: CallContext | None = None
    ) -> Result:
        """Call a tool with its arguments as a mapping, on somebody's behalf."""
        listings = await self._asker()
        # A script needs no server to be found.
        await listings.find(name, () if name.startswith(f"{SCRIPTS}__") else await self._connections())
        assert self._calls is not None
        assert self._catalog is not None
        try:
            return await self._calls.call(name, arguments, context or CallContext())
        except ToolHeldError:
            # It may have been accepted meanwhile, by `halflap trust` in another process.
            await self._catalog.load()
            if name in self.snapshot.held:
                raise
            return await self._calls.call(name, arguments, context or CallContext())

    async def execute(self, code: str, context: CallContext | None = None) -> Execution:
        """Run a Python program over the tools, in the sandbox.

        A program that fails is an answer, too: see `Execution.outcome`. Raises `SandboxError` where no
        program can run.
        """
        await self._know_scripts_of(code)
        return await (await self.programs()).execute(code, context or CallContext())

    async def needing_confirmation(self, code: str) -> tuple[Tool, ...]:
        """Give the tools that a program, or a script that it names, may call only with the person's word."""
        await self._know_scripts_of(code)
        return await (await self.programs()).destructive(code)

    async def programs(self) -> Programs:
        """Give what runs programs; the sandbox itself starts when the first one comes."""
        await self.prepare()
        if self._programs is None:
            parts = [
                await asyncio.to_thread(import_module, f"halflap.execution.{name}")
                for name in ("programs", "choose")
            ]
            assert self._calls is not None
            assert self._recorder is not None
            if self._programs is None:
                self._programs = parts[0].Programs(
                    self.config.execution,
                    parts[1].choose(self.config.execution),
                    call=self.call_tool,
                    snapshot=lambda: self.snapshot,
                    policy=self._calls.policy,
                    recorder=self._recorder,
                    settle=partial(self.settle, wait_seconds=FIRST_LISTING_SECONDS),
                    code_of=self.scripts.code_of,
                )
        return self._programs

    @property
    def scripts(self) -> Scripts:
        """The saved scripts; there when the gateway is open."""
        assert self._scripts is not None
        return self._scripts

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

    # Within ------------------------------------------------------------------------------------------

    async def _asker(self) -> Listings:
        await self.prepare()
        assert self._listings is not None
        return self._listings

    async def _traces(self) -> Store:
        """Give the store with all in it that happened so far."""
        await self.prepare()
        assert self._recorder is not None
        assert self._store is not None
        await self._recorder.flush()
        return self._store

    async def _look_up(self, name: str) -> tuple[Tool, bool]:
        """Find a tool, and say whether its definition is past its time; if so, it is asked for behind."""
        listings = await self._asker()
        tool = await listings.find(name, self._pool or ())
        assert self._catalog is not None
        stale = self._catalog.is_stale_schema(tool)
        if stale:
            listings.ask(tool.server)
        return tool, stale

    async def _know_scripts_of(self, code: str) -> None:
        """See to it that the catalogue has the scripts as they are now, if a program names any."""
        await self.prepare()
        if f"{SCRIPTS}__" in code:
            await self.scripts.look()

    async def _absorb_scripts(self, listing: Listing) -> None:
        assert self._catalog is not None
        if not self._catalog.has(listing):
            await self._catalog.absorb(listing)

    def _registered(self, tool: Tool, reasons: Mapping[str, str]) -> RegisteredTool:
        return RegisteredTool(
            name=tool.name,
            description=tool.description,
            # Copies: what a caller does to them must not reach the catalogue.
            parameters=deepcopy(tool.input_schema),
            output_schema=deepcopy(tool.output_schema),
            handler=partial(self.call, tool.name),
            server=tool.server,
            original_name=tool.original_name,
            annotations=tool.annotations,
            definition_hash=tool.hash,
            unavailable=reasons.get(tool.server),
        )

    async def _list_roots(self) -> list[dict[str, Any]]:
        roots: list[dict[str, Any]] = [{"uri": uri} for uri in self.config.roots]
        if self._roots is not None:
            with contextlib.suppress(Exception):
                roots += [dict(root) for root in await self._roots()]
        return roots


def _parsed(tool: Tool, *, stale: bool) -> ToolSchema:
    # Copies: what a caller does to them must not reach the catalogue.
    own = replace(tool, input_schema=deepcopy(tool.input_schema), output_schema=deepcopy(tool.output_schema))
    return parse_schema(own, stale=stale)


async def _configured(config: Config | Mapping[str, Any] | str | Path | None) -> Config:
    if isinstance(config, Config):
        return config
    if config is None or isinstance(config, str | Path):
        return await asyncio.to_thread(load_config, config)
    return await asyncio.to_thread(Config.from_mapping, dict(config))
