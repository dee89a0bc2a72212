"""The composition root: create the parts of a gateway, connect them, and close them in reverse order.

This module is slow to import, so the gateway imports it in a thread while `halflap serve` answers a client's first
requests. The MCP library is the slowest, and is loaded when the first server is needed (`Lazy`).
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from hashlib import sha256
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from halflap import __version__
from halflap.calls import (
    Calls,
    Journal,
    Policy,
    Recorder,
    Redactor,
    Retention,
    Writer,
    configured_secrets,
)
from halflap.catalog import Catalog, Finder
from halflap.dspy.library import Library
from halflap.dspy.programs import DspyPrograms
from halflap.dspy.runner import Runner
from halflap.gateway.doctor import Doctor
from halflap.gateway.lazy import Closable, Lazy
from halflap.gateway.learned import LearnedSchemas
from halflap.gateway.metrics import Metrics
from halflap.gateway.passing import PassThrough
from halflap.gateway.tools import Tools
from halflap.observe import GraphSync, Knowledge, Learner
from halflap.sandbox.check.checker import Checker
from halflap.sandbox.check.process import Examiner
from halflap.sandbox.choose import choose
from halflap.sandbox.programs import Programs
from halflap.sandbox.run.host import Services
from halflap.scripts import ScriptFolder, Scripts
from halflap.store import open_store_or_memory

if TYPE_CHECKING:
    from pathlib import Path

    from halflap.catalog.view import Seen
    from halflap.config import Config, Profile
    from halflap.core.values import ClientChannel, ServerEvent, Tool
    from halflap.gateway.compose import Composer
    from halflap.lint.live import Linter
    from halflap.sandbox.run.report import OutputPlace
    from halflap.store import Store
    from halflap.upstream import Pool


class Host(NamedTuple):
    """The process that the parts run in."""

    servers: Mapping[str, Any]
    """MCP server objects of this process, by name."""
    list_roots: Callable[[ClientChannel | None], Awaitable[list[dict[str, Any]]]]
    on_event: Callable[[ServerEvent], None]
    refresh_stale: bool


def _store_place(config: Config) -> Path | str:
    return config.store.url or config.store.path or config.data_dir / "halflap.db"


def _journal(config: Config) -> Journal:
    """Return the journal of the configured store: each store has its own."""
    place = sha256(str(_store_place(config)).encode()).hexdigest()[:8]
    return Journal(config.data_dir / f"unrecorded-{place}.jsonl")


async def build(config: Config, host: Host) -> Parts:
    """Open the store and the catalogue, and create all parts; no server is started."""
    store = await open_store_or_memory(_store_place(config))
    opened: Closable = store
    try:
        opened = parts = Parts(config, store, host)
        await parts.start()
    except BaseException:
        await opened.close()
        raise
    return parts


class Parts:
    """The parts of a gateway; each gets earlier ones through its constructor, and later ones as functions."""

    def __init__(self, config: Config, store: Store, host: Host) -> None:
        self._config = config
        self._host = host
        self.store = store
        self.pool = Lazy(self._open_pool)
        self.catalog = Catalog(config, store, self.pool, refresh_stale=host.refresh_stale)

        # Records
        self._redactor = Redactor(configured_secrets(config))
        running = None if store.trouble else config.data_dir / "running"
        rules = config.tools
        named = {*(rules.allow or ()), *rules.block, *rules.read_only, *rules.destructive}
        self.retention = Retention(store, config.traces, named)
        writer = Writer(store, _journal(config), self.retention.note_written)
        self.recorder = Recorder(store, self._redactor, config.traces, running, writer)

        # Learning
        policy = Policy(config)
        learning, lineage = config.learning, config.graph.lineage
        knowledge = Knowledge(store, values=learning.values, is_used=learning.enabled)
        self._syncs: list[GraphSync] = []
        self._learner = Learner(
            store,
            knowledge,
            values=learning.values,
            lineage=lineage,
            redact=self._redactor.value,
            before_writing=self.recorder.flush,
            on_learned=self._learned_more,
        )
        self.learned = LearnedSchemas(config, store, self.catalog, knowledge, self._learner, self.recorder)

        # Tools and calls
        observe = self._learner.take if learning.enabled else None
        self.calls = Calls(self.catalog, self.pool, policy, self.recorder, observe)
        # Programs
        checker = Checker(
            Examiner(),
            seen_by=self.calls.seen_by,
            settle=self.catalog.ensure_listed,
            is_broken=lambda tool: self.scripts.is_broken(tool) or self.dspy.is_broken(tool),
            is_breached=self.calls.validators.is_broken,
            learned=self.learned.type_of,
        )
        services = Services(
            config=config.execution,
            sandbox=choose(config.execution),
            checker=checker,
            call=self.calls.call,
            snapshot=lambda principal: self.calls.seen_by(principal).snapshot,
            policy=policy,
            recorder=self.recorder,
            ensure_listed=self.catalog.ensure_listed,
            output_place=self._output_place(),
        )
        self.programs = Programs(services, self._code_of)
        self.scripts = Scripts(
            ScriptFolder(config.data_dir / "scripts"),
            absorb=self.catalog.absorb,
            programs=self.programs,
            call=self.calls.call,
            accept=self.catalog.accept,
        )
        self.dspy = DspyPrograms(
            Library(config.programs.root),
            Runner(config.programs, tool=self._tool, data_dir=config.data_dir),
            call_tool=self.calls.call,
            absorb=self.catalog.absorb,
            settle=self.catalog.ensure_listed,
            under_rules=self.programs.under_rules,
            recorder=self.recorder,
            names=lambda tool, principal: policy.names(tool, policy.profile_of(principal)),
            is_offered=config.uses_programs,
        )
        self.catalog.register(self.scripts)
        if config.uses_programs:
            self.catalog.register(self.dspy)

        self._views: dict[Profile, Parts] = {}
        self._create_views(None)
        self.metrics = Metrics(store, self.catalog, self._sync, self.learned)
        self.doctor = Doctor(
            config=config,
            store=store,
            recorder=self.recorder,
            catalog=self.catalog,
            pool=self.pool,
            scripts=self.scripts,
            programs=self.programs,
            dspy=self.dspy,
            learned=self.learned,
            metrics=self.metrics,
        )

    def _create_views(self, profile: Profile | None) -> None:
        """Create the parts that answer questions, limited to what a profile may see."""
        config, store, policy = self._config, self.store, self.calls.policy
        seen: Seen = self.catalog if profile is None else self.calls.view(profile)
        self.seen = seen
        self.finder = Finder(seen, self.learned.signatures)
        self.tools = Tools(seen, self.calls, self.learned, profile)
        self.passing = PassThrough(config, seen, self.pool, self.calls, profile)
        self._profile = profile
        self._sync = GraphSync(
            store,
            lambda: seen.snapshot,
            self.learned.knowledge,
            is_destructive=policy.is_destructive,
            changes=policy.changes,
            lineage=config.graph.lineage,
        )
        self._syncs.append(self._sync)

    def seen_by(self, principal: str) -> Parts:
        """Return the parts for a principal: those that answer questions show only what its profile permits."""
        profile = self.calls.policy.profile_of(principal)
        if profile is None:
            return self
        if profile not in self._views:
            self._views[profile] = view = copy.copy(self)
            view._create_views(profile)  # noqa: SLF001 -- our own
        return self._views[profile]

    async def start(self) -> None:
        """Load the catalogue, and start the background work."""
        await self.catalog.load()
        await self.calls.validators.load(self.store)
        if not self._config.learning.values:
            await self.learned.drop_values()
        self.retention.start()
        self.recorder.start()
        await self.catalog.reread()

    async def close(self) -> None:
        """Close the parts; each may still write to those closed after it."""
        opened: list[Closable] = [self.store, self.recorder, self.retention, self._learner]
        opened += [self.pool, self.catalog, self.dspy, self.programs]
        async with AsyncExitStack() as closing:
            for part in opened:
                closing.push_async_callback(part.close)

    async def composer(self) -> Composer:
        """Return the composer, which is slow to import and therefore loaded on first use."""
        module = await asyncio.to_thread(import_module, "halflap.gateway.compose")
        made: Composer = module.Composer(
            self.seen, self.finder, self.calls.policy, self._profile, self._sync, self.learned
        )
        return made

    async def linter(self) -> Linter:
        """Return the linter, also loaded on first use."""
        module = await asyncio.to_thread(import_module, "halflap.lint.live")
        made: Linter = module.Linter(
            self._config, self.store, self.catalog, self.pool.get, self.learned.of_all, self.learned.breaches
        )
        return made

    async def _open_pool(self) -> Pool:
        upstream = await asyncio.to_thread(import_module, "halflap.upstream")
        hooks = upstream.Hooks(
            version=__version__,
            log_folder=self._config.data_dir / "logs",
            redact=self._redactor.text,
            credentials=upstream.credential_store(self._config, self._redactor.replace_secrets),
            last_versions={name: one.protocol_version for name, one in self.catalog.snapshot.servers.items()},
            in_process=self._host.servers,
            list_roots=self._host.list_roots,
            on_listing=self.catalog.absorb,
            on_features=self.catalog.absorb_features,
            on_event=self._host.on_event,
        )
        pool: Pool = upstream.Pool(self._config.servers, hooks)
        return pool

    def _learned_more(self) -> None:
        for sync in self._syncs:
            sync.learned()

    def _tool(self, name: str) -> Tool | None:
        return self.catalog.snapshot.tools.get(name)

    def _code_of(self, tool: str) -> str | None:
        return self.scripts.code_of(tool) or self.dspy.code_of(tool)

    def _output_place(self) -> OutputPlace:
        if self._config.traces.record != "full":
            return "off"
        return "stored" if self.store.trouble is None else "memory"
