"""The composition root: make the parts of a gateway, give each what it needs, and close them in reverse order.

Importing this module takes a while, so the gateway does it in a thread: `halflap serve` answers a client's first
questions meanwhile. The MCP library, the sandbox and DSPy take longest, and are loaded when first needed (`Lazy`).
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack
from importlib import import_module
from typing import TYPE_CHECKING, Any

from halflap import __version__
from halflap.calls import Breaches, Calls, Policy, Recorder, Redactor, Retention, configured_secrets
from halflap.catalog import Catalog, Finder, Refresher
from halflap.core.errors import StoreBrokenError, StoreError, StoreTooNewError
from halflap.core.values import DSPY, SCRIPTS
from halflap.gateway.compose import Composer
from halflap.gateway.doctor import Doctor
from halflap.gateway.execution import Executor
from halflap.gateway.lazy import Lazy
from halflap.gateway.learned import LearnedSchemas
from halflap.gateway.linter import Linter
from halflap.gateway.passing import PassThrough
from halflap.gateway.tools import Tools
from halflap.observe import GraphSync, Knowledge, Learner
from halflap.scripts import ScriptFolder, Scripts
from halflap.store import open_store

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from halflap.catalog import Snapshot
    from halflap.config import Config
    from halflap.core.errors import HalflapError
    from halflap.core.values import ClientChannel, Listing, ServerEvent, Tool
    from halflap.dspy.source import DspyPrograms
    from halflap.gateway.lazy import Closable
    from halflap.sandbox import Programs
    from halflap.sandbox.run.report import Kept
    from halflap.store import Store
    from halflap.upstream import Pool

    ListRoots = Callable[[ClientChannel | None], Awaitable[list[dict[str, Any]]]]

__all__ = ["Parts", "build"]

logger = logging.getLogger(__name__)


async def build(
    config: Config,
    in_process: Mapping[str, Any],
    list_roots: ListRoots,
    on_event: Callable[[ServerEvent], None],
    *,
    refresh_stale: bool,
) -> Parts:
    """Open the store and the catalogue, and connect all parts; no server is started."""
    store = await _open_store(config)
    try:
        parts = Parts(config, store, in_process, list_roots, on_event, refresh_stale=refresh_stale)
    except BaseException:
        await store.close()
        raise
    try:
        await parts.start()
    except BaseException:
        await parts.close()
        raise
    return parts


async def _open_store(config: Config) -> Store:
    """Open the store; if it cannot be opened, one in memory that says why."""
    place = config.store.url or config.store.path or config.data_dir / "halflap.db"
    try:
        return await open_store(place)
    except (StoreTooNewError, StoreBrokenError):
        raise
    except StoreError as error:
        # People can use their tools even where the home folder cannot be written to.
        logger.warning("%s Continuing in memory: the next start will not remember this one.", error)
        store = await open_store(None)
        store.trouble = str(error)
        return store


class Parts:
    """Everything a gateway consists of, in the order in which it is made."""

    def __init__(
        self,
        config: Config,
        store: Store,
        in_process: Mapping[str, Any],
        list_roots: ListRoots,
        on_event: Callable[[ServerEvent], None],
        *,
        refresh_stale: bool,
    ) -> None:
        self._config = config
        self._in_process = in_process
        self._list_roots = list_roots
        self._on_event = on_event
        self.store = store
        self.catalog = Catalog(config, store)

        # Records
        self._redactor = Redactor(configured_secrets(config))
        running = None if store.trouble else config.data_dir / "running"
        self.recorder = Recorder(store, self._redactor, config.traces, running)
        self.retention = Retention(store, config.traces)
        self._breaches = Breaches(store, self.recorder)

        # Learning
        self._policy = Policy(config)
        learning, lineage = config.learning, config.graph.lineage
        knowledge = Knowledge(store, enums=learning.values) if learning.enabled else None
        self._sync = GraphSync(
            store,
            self._snapshot,
            knowledge,
            is_destructive=self._policy.is_destructive,
            changes=self._policy.changes,
            lineage=lineage,
        )
        self._learner: Learner | None = None
        if knowledge is not None:
            self._learner = Learner(
                store,
                knowledge,
                values=learning.values,
                lineage=lineage,
                redact=self._redactor.value,
                before_writing=self.recorder.flush,
                on_learned=self._sync.learned,
            )
        self.learned = LearnedSchemas(
            config=config,
            store=store,
            catalog=self.catalog,
            breaches=self._breaches,
            knowledge=knowledge,
            learner=self._learner,
            recorder=self.recorder,
        )

        # Calls
        observe = None if self._learner is None else self._learner.take
        self.calls = Calls(self._policy, self.recorder, self._snapshot, self._breaches, observe)
        self.pool = Lazy(self._open_pool)
        self.listings = Refresher(
            self.catalog,
            [server.name for server in config.servers if not server.disabled],
            self.pool.get,
            lambda: self.pool.made or (),
            self._own_sources(),
            refresh_stale=refresh_stale,
        )
        finder = Finder(self.catalog)
        self.tools = Tools(self.catalog, self.listings, finder, self.pool, self.calls, self.learned)
        self.passing = PassThrough(config, self.catalog, self.listings, self.pool, self.calls)
        self.programs = Lazy(self._open_programs)
        self.dspy = Lazy(self._open_dspy)
        self.scripts = Scripts(
            ScriptFolder(config.data_dir / "scripts"),
            absorb=self.catalog.absorb_changed,
            programs=self.programs.get,
            call=self.tools.call,
            accept=self.catalog.accept,
        )
        self.calls.register(self.scripts)

        # Answers
        self.executor = Executor(
            config, self.catalog, self._policy, self.tools, self.scripts, self.programs, self.dspy
        )
        self.composer = Composer(
            config=config,
            store=store,
            catalog=self.catalog,
            listings=self.listings,
            finder=finder,
            policy=self._policy,
            sync=self._sync,
            learned=self.learned,
        )
        self.linter = Linter(config, store, self.catalog, self.pool, self.learned)
        self.doctor = Doctor(
            config=config,
            store=store,
            catalog=self.catalog,
            listings=self.listings,
            pool=self.pool,
            scripts=self.scripts,
            programs=self.programs,
            dspy=self.dspy,
            learned=self.learned,
            composer=self.composer,
        )

    async def start(self) -> None:
        """Read what earlier gateways left."""
        await self.catalog.load()
        await self._breaches.load()
        if not self._config.learning.values:
            await self._drop_values()
        self.retention.start()
        await self.scripts.look()
        if self._config.uses_programs:
            await self._list_dspy()

    async def close(self) -> None:
        """Close the parts; each may still write to those that are closed after it."""
        opened: list[Closable] = [self.store, self.recorder, self.retention]
        opened += [] if self._learner is None else [self._learner]
        opened += [self.pool, self.listings, self.dspy, self.programs]
        async with AsyncExitStack() as closing:
            for part in opened:
                closing.push_async_callback(part.close)

    def _snapshot(self) -> Snapshot:
        return self.catalog.snapshot

    def _own_sources(self) -> dict[str, Callable[[], Awaitable[Mapping[str, HalflapError]]]]:
        return {
            SCRIPTS: self._list_scripts,
            **({DSPY: self._list_dspy} if self._config.uses_programs else {}),
        }

    async def _list_scripts(self) -> Mapping[str, HalflapError]:
        return await self.scripts.look()

    async def _list_dspy(self) -> Mapping[str, HalflapError]:
        return await (await self.dspy.get()).look()

    async def _drop_values(self) -> None:
        """Remove values that were learned while `learning.values` was on."""
        try:
            if await self.store.drop_values():
                logger.info("Values that were learned while `learning.values` was on were removed.")
        except StoreError as error:
            # They are not shown in any case.
            logger.warning("Values that were learned before could not be removed: %s", error)

    # Parts that are made when they are first needed

    async def _open_pool(self) -> Pool:
        upstream = await asyncio.to_thread(import_module, "halflap.upstream")
        pool: Pool = upstream.Pool(
            self._config.servers,
            upstream.Hooks(
                version=__version__,
                list_roots=self._list_roots,
                on_listing=self.listings.absorb,
                on_features=self.catalog.absorb_features,
                on_event=self._on_event,
            ),
            log_folder=self._config.data_dir / "logs",
            redact=self._redactor.text,
            last_versions={name: one.protocol_version for name, one in self.catalog.snapshot.servers.items()},
            in_process=self._in_process,
        )
        for server in pool:
            self.calls.register_server(server)
        return pool

    async def _open_dspy(self) -> DspyPrograms:
        library, runner, source = [
            await asyncio.to_thread(import_module, f"halflap.dspy.{name}")
            for name in ("library", "runner", "source")
        ]
        config = self._config
        programs: DspyPrograms = source.DspyPrograms(
            library.Library(config.programs.root),
            runner.Runner(config.programs, tool=self._tool, data_dir=config.data_dir),
            call_tool=self.tools.call,
            absorb=self.catalog.absorb_changed if config.uses_programs else _keep_out,
            settle=self.listings.ensure_listed,
            policy=self._policy,
            execution=config.execution,
            recorder=self.recorder,
            watch=config.programs.watch,
        )
        self.calls.register(programs)
        return programs

    async def _open_programs(self) -> Programs:
        programs, choose, checker, examiner = [
            await asyncio.to_thread(import_module, f"halflap.sandbox.{name}")
            for name in ("programs", "choose", "check.checker", "check.process")
        ]
        execution = self._config.execution
        check = checker.Checker(
            examiner.Examiner(),
            snapshot=self._snapshot,
            settle=self.listings.ensure_listed,
            servers=self.listings.servers,
            is_broken=lambda name: any(one.is_broken(name) for one in self._with_code()),
            is_breached=self._breaches.has,
            learned=self.learned.type_of,
        )
        services = programs.Services(
            config=execution,
            sandbox=choose.choose(execution),
            checker=check,
            call=self.tools.call,
            snapshot=self._snapshot,
            policy=self._policy,
            recorder=self.recorder,
            settle=self.listings.ensure_listed,
            keeps=self._keeps(),
            schema_of=self.learned.schema_of,
        )
        made: Programs = programs.Programs(services, self._code_of)
        return made

    def _tool(self, name: str) -> Tool | None:
        return self.catalog.snapshot.tools.get(name)

    def _with_code(self) -> Sequence[Scripts | DspyPrograms]:
        return [self.scripts] if self.dspy.made is None else [self.scripts, self.dspy.made]

    def _code_of(self, tool: str) -> str | None:
        return next((code for one in self._with_code() if (code := one.code_of(tool)) is not None), None)

    def _keeps(self) -> Kept:
        if self._config.traces.record != "full":
            return "off"
        return "stored" if self.store.trouble is None else "memory"


async def _keep_out(_listing: Listing) -> None:
    """Leave the catalogue as it is."""
