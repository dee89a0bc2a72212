"""Build the parts of a gateway, give each what it needs, and close them in order.

Most parts are imported here, inside the functions: `halflap serve` answers a client's first questions before the
store, the MCP library or the sandbox are loaded.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from halflap import __version__
from halflap.core.errors import StoreBrokenError, StoreError, StoreTooNewError, ToolHeldError
from halflap.core.values import DSPY, OWN, SCRIPTS, CallContext
from halflap.gateway.compose import FIRST_LISTING_SECONDS, Composer
from halflap.gateway.doctor import Doctor
from halflap.gateway.lazy import Lazy, P
from halflap.gateway.learned import LearnedSchemas
from halflap.gateway.linter import Linter

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from halflap.calls import Calls, Policy, Recorder, Redactor, Retention
    from halflap.catalog import Catalog, Finder, Refresher, Snapshot
    from halflap.config import Config
    from halflap.core.errors import HalflapError
    from halflap.core.values import Listing, Result
    from halflap.dspy.source import DspyPrograms
    from halflap.observe import Edges
    from halflap.sandbox import Programs
    from halflap.sandbox.report import Kept
    from halflap.scripts import Scripts
    from halflap.store import Store
    from halflap.upstream import Pool

    Call = Callable[..., Awaitable[Result]]
    ListRoots = Callable[[], Awaitable[list[dict[str, Any]]]]

__all__ = ["Parts", "build"]

logger = logging.getLogger(__name__)

_OWN_PREFIXES = tuple(f"{name}__" for name in OWN)


@dataclass(frozen=True, slots=True)
class Parts:
    """Everything a gateway consists of."""

    store: Store
    store_trouble: str | None
    """Why the store is only in memory, if it is."""
    catalog: Catalog
    listings: Refresher
    finder: Finder
    recorder: Recorder
    retention: Retention
    calls: Calls
    call: Call
    """Call a tool by name: `await call(name, arguments, context)`."""
    scripts: Scripts
    pool: Lazy[Pool]
    programs: Lazy[Programs]
    dspy: Lazy[DspyPrograms]
    learned: LearnedSchemas
    composer: Composer
    linter: Linter
    doctor: Doctor
    closing: AsyncExitStack

    def unavailable(self) -> dict[str, str]:
        """Return which servers cannot be reached at the moment, and why."""
        return self.listings.unavailable(self.pool.made or ())

    async def close(self) -> None:
        await self.closing.aclose()


async def build(config: Config, in_process: Mapping[str, Any], list_roots: ListRoots) -> Parts:
    """Open the store and the catalogue, and connect all parts; no server is started."""
    for name in ("calls", "observe", "scripts"):
        await asyncio.to_thread(import_module, f"halflap.{name}")
    closing = AsyncExitStack()
    try:
        return await _connect(await _open_base(config, closing), in_process, list_roots)
    except BaseException:
        await closing.aclose()
        raise


@dataclass(frozen=True, slots=True)
class _Base:
    """The parts that need no server and no sandbox."""

    config: Config
    closing: AsyncExitStack
    store: Store
    store_trouble: str | None
    catalog: Catalog
    redactor: Redactor
    recorder: Recorder
    retention: Retention
    policy: Policy
    edges: Edges
    calls: Calls
    learned: LearnedSchemas

    def snapshot(self) -> Snapshot:
        return self.catalog.snapshot

    def closed(self, part: P) -> P:
        """Close this part with the gateway, before those opened earlier, which may still get something from it."""
        self.closing.push_async_callback(part.close)
        return part

    async def absorb(self, listing: Listing) -> None:
        if not self.catalog.has(listing):
            await self.catalog.absorb(listing)


async def _open_base(config: Config, closing: AsyncExitStack) -> _Base:
    from halflap.calls import (  # noqa: PLC0415 -- see the top
        Breaches,
        Calls,
        Policy,
        Recorder,
        Redactor,
        Retention,
        configured_secrets,
    )
    from halflap.catalog import Catalog  # noqa: PLC0415 -- see the top
    from halflap.observe import Edges, Knowledge, Learning  # noqa: PLC0415 -- see the top

    store, trouble = await _open_store(config)
    closing.push_async_callback(store.close)
    catalog = Catalog(config, store)
    await catalog.load()
    redactor = Redactor(configured_secrets(config))
    recorder = Recorder(store, redactor, config.traces, None if trouble else config.data_dir / "running")
    closing.push_async_callback(recorder.close)
    breaches = Breaches(store)
    await breaches.load()
    closing.push_async_callback(breaches.close)
    retention = Retention(store, config.traces)
    closing.push_async_callback(retention.close)
    policy = Policy(config)
    learning, lineage = config.learning, config.graph.lineage
    if not learning.values:
        await _drop_values(store)
    knowledge = Knowledge(store, enums=learning.values) if learning.enabled else None
    edges = Edges(
        store,
        lambda: catalog.snapshot,
        knowledge,
        is_destructive=policy.is_destructive,
        changes=policy.changes,
        lineage=lineage,
    )
    closing.push_async_callback(edges.close)
    learner = None
    if knowledge is not None:
        learner = Learning(
            store,
            knowledge,
            values=learning.values,
            lineage=lineage,
            redact=redactor.value,
            before_writing=recorder.flush,
            on_changed=edges.changed,
            on_flows=edges.flowed,
        )
        closing.push_async_callback(learner.close)
    return _Base(
        config=config,
        closing=closing,
        store=store,
        store_trouble=trouble,
        catalog=catalog,
        redactor=redactor,
        recorder=recorder,
        retention=retention,
        policy=policy,
        edges=edges,
        calls=Calls(
            policy,
            recorder,
            lambda: catalog.snapshot,
            breaches,
            None if learner is None else learner.take,
        ),
        learned=LearnedSchemas(
            config=config,
            store=store,
            store_trouble=trouble,
            catalog=catalog,
            breaches=breaches,
            knowledge=knowledge,
            learner=learner,
        ),
    )


async def _connect(base: _Base, in_process: Mapping[str, Any], list_roots: ListRoots) -> Parts:
    from halflap.catalog import Finder, Refresher  # noqa: PLC0415 -- see the top
    from halflap.scripts import Folder, Scripts  # noqa: PLC0415 -- see the top

    config, catalog, calls = base.config, base.catalog, base.calls

    async def settle() -> None:
        await listings.ensure_listed(wait_seconds=FIRST_LISTING_SECONDS, refresh_stale=True)

    async def look_at_dspy() -> Mapping[str, HalflapError]:
        return await (await dspy.get()).look()

    # What is needed by a part that is made before it is named in a lambda: pool and listings need each other.
    pool = base.closed(Lazy(lambda: _open_pool(base, in_process, list_roots, listings.absorb)))
    call = _Caller(catalog, calls, pool, lambda: listings).call
    dspy = Lazy(lambda: _open_dspy(base, call, settle, lambda: listings.unavailable(pool.made or ())))
    scripts = Scripts(
        Folder(config.data_dir / "scripts"),
        absorb=base.absorb,
        programs=lambda: programs.get(),  # noqa: PLW0108 -- it is made below
        call=call,
        accept=catalog.accept,
    )
    calls.register(scripts)
    own = {SCRIPTS: scripts.look, **({DSPY: look_at_dspy} if config.uses_programs else {})}
    enabled = [server.name for server in config.servers if not server.disabled]
    listings = base.closed(Refresher(catalog, enabled, pool.get, own))
    base.closed(dspy)
    programs = base.closed(
        Lazy(
            lambda: _open_programs(
                base, call, settle, lambda: [scripts] if dspy.made is None else [scripts, dspy.made]
            )
        )
    )
    finder = Finder(catalog)
    composer = Composer(
        config=config,
        store=base.store,
        store_trouble=base.store_trouble,
        catalog=catalog,
        listings=listings,
        pool=pool,
        finder=finder,
        policy=base.policy,
        edges=base.edges,
        learned=base.learned,
    )
    doctor = Doctor(
        config=config,
        store=base.store,
        store_trouble=base.store_trouble,
        catalog=catalog,
        listings=listings,
        pool=pool,
        scripts=scripts,
        programs=programs,
        dspy=dspy,
        learned=base.learned,
        composer=composer,
    )
    base.retention.start()
    await scripts.look()
    if config.uses_programs:
        await look_at_dspy()
    return Parts(
        store=base.store,
        store_trouble=base.store_trouble,
        catalog=catalog,
        listings=listings,
        finder=finder,
        recorder=base.recorder,
        retention=base.retention,
        calls=calls,
        call=call,
        scripts=scripts,
        pool=pool,
        programs=programs,
        dspy=dspy,
        learned=base.learned,
        composer=composer,
        linter=Linter(config, base.store, catalog, pool, base.learned),
        doctor=doctor,
        closing=base.closing,
    )


async def _open_pool(
    base: _Base,
    in_process: Mapping[str, Any],
    list_roots: ListRoots,
    on_listing: Callable[[Listing], Awaitable[None]],
) -> Pool:
    upstream = await asyncio.to_thread(import_module, "halflap.upstream")
    pool: Pool = upstream.Pool(
        base.config.servers,
        version=__version__,
        log_folder=base.config.data_dir / "logs",
        list_roots=list_roots,
        on_listing=on_listing,
        last_versions={name: one.protocol_version for name, one in base.catalog.snapshot.servers.items()},
        redact=base.redactor.text,
        in_process=in_process,
    )
    for source in pool:
        base.calls.register(source)
    return pool


async def _open_dspy(
    base: _Base,
    call: Call,
    settle: Callable[[], Awaitable[None]],
    unavailable: Callable[[], Mapping[str, str]],
) -> DspyPrograms:
    saved = await asyncio.to_thread(import_module, "halflap.gateway.dspy_programs")
    programs: DspyPrograms = saved.open_programs(
        base.config,
        call=call,
        snapshot=base.snapshot,
        absorb=base.absorb,
        settle=settle,
        unavailable=unavailable,
        policy=base.policy,
        recorder=base.recorder,
    )
    base.calls.register(programs)
    return programs


async def _open_programs(
    base: _Base,
    call: Call,
    settle: Callable[[], Awaitable[None]],
    own_sources: Callable[[], Sequence[Scripts | DspyPrograms]],
) -> Programs:
    programs, choose, checker, examiner = [
        await asyncio.to_thread(import_module, f"halflap.sandbox.{name}")
        for name in ("programs", "choose", "check.checker", "check.examiner")
    ]
    config = base.config
    check = checker.Checker(
        examiner.Examiner(),
        snapshot=base.snapshot,
        settle=settle,
        servers=[server.name for server in config.servers if not server.disabled],
        is_broken=lambda name: any(one.is_broken(name) for one in own_sources()),
        is_breached=base.calls.breaches.has,
        learned=base.learned.type_of,
    )
    made: Programs = programs.Programs(
        config.execution,
        choose.choose(config.execution),
        check,
        call=call,
        snapshot=base.snapshot,
        policy=base.policy,
        recorder=base.recorder,
        settle=settle,
        keeps=_keeps(config, base.store_trouble),
        code_of=lambda tool: next(
            (code for one in own_sources() if (code := one.code_of(tool)) is not None), None
        ),
        schema_of=base.learned.schema_of,
    )
    return made


class _Caller:
    """Finds the server of a tool, starts it if needed, and makes the call."""

    def __init__(
        self, catalog: Catalog, calls: Calls, pool: Lazy[Pool], listings: Callable[[], Refresher]
    ) -> None:
        self._catalog = catalog
        self._calls = calls
        self._listings = listings
        self._pool = pool

    async def call(
        self, name: str, arguments: Mapping[str, Any], context: CallContext | None = None
    ) -> Result:
        context = context or CallContext()
        with self._calls.finding(name, arguments, context):
            # Scripts and DSPy programs need no server.
            upstreams = () if name.startswith(_OWN_PREFIXES) else await self._pool.get()
            await self._listings().find(name, upstreams)
        try:
            return await self._calls.call(name, arguments, context)
        except ToolHeldError:
            # `halflap trust` in another process may have accepted it meanwhile.
            await self._catalog.load()
            if name in self._catalog.snapshot.held:
                raise
            return await self._calls.call(name, arguments, context)


def _keeps(config: Config, trouble: str | None) -> Kept:
    if config.traces.record != "full":
        return "off"
    return "stored" if trouble is None else "memory"


async def _open_store(config: Config) -> tuple[Store, str | None]:
    """Open the store; if it cannot be opened, one in memory, and why."""
    from halflap.store import open_store  # noqa: PLC0415 -- see the top

    place = config.store.url or config.store.path or config.data_dir / "halflap.db"
    try:
        return await open_store(place), None
    except (StoreTooNewError, StoreBrokenError):
        raise
    except StoreError as error:
        # People can use their tools even where the home folder cannot be written to.
        logger.warning("%s Going on in memory: the next start will not remember this one.", error)
        return await open_store(None), str(error)


async def _drop_values(store: Store) -> None:
    """Remove values that were learned while `learning.values` was on."""
    try:
        dropped = await store.drop_values()
    except StoreError as error:
        # They are not shown in any case.
        logger.warning("Values that were learned before could not be removed: %s", error)
        return
    if dropped:
        logger.info("Values that were learned while `learning.values` was on were removed.")
