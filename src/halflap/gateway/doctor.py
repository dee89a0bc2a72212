"""Examine a gateway: start every server, look at every part, and say what a person has to do."""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING, Any, TypeVar

from halflap import __version__
from halflap.core.errors import HalflapError, ServerNotFoundError, StoreError
from halflap.gateway.findings import findings, summary

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Sequence

    from halflap.catalog import Catalog, Refresher, ServerReport, Snapshot
    from halflap.config import Config, ServerConfig
    from halflap.dspy.source import DspyPrograms
    from halflap.gateway.compose import Composer
    from halflap.gateway.lazy import Lazy
    from halflap.gateway.learned import LearnedSchemas
    from halflap.sandbox import Programs
    from halflap.scripts import Scripts
    from halflap.store import Store
    from halflap.upstream import Pool

__all__ = ["Doctor"]

_T = TypeVar("_T")

_PART_SECONDS = 60.0
"""How long each part other than the servers may take; they have their own timeouts."""
_BEYOND_START_SECONDS = 10.0
_DRIFT_DAYS = 7
"""Only drift of the last days is reported."""


class Doctor:
    """What `halflap doctor` asks."""

    def __init__(
        self,
        *,
        config: Config,
        store: Store,
        store_trouble: str | None,
        catalog: Catalog,
        listings: Refresher,
        pool: Lazy[Pool],
        scripts: Scripts,
        programs: Lazy[Programs],
        dspy: Lazy[DspyPrograms],
        learned: LearnedSchemas,
        composer: Composer,
    ) -> None:
        self._config = config
        self._store = store
        self._store_trouble = store_trouble
        self._catalog = catalog
        self._listings = listings
        self._pool = pool
        self._scripts = scripts
        self._programs = programs
        self._dspy = dspy
        self._learned = learned
        self._composer = composer

    async def reports(self) -> tuple[ServerReport, ...]:
        """Return every server's state, in the order of the configuration."""
        pool, snapshot = await self._pool.get(), self._catalog.snapshot
        from halflap.catalog import report  # noqa: PLC0415 -- see the top of `build`

        return tuple([await asyncio.to_thread(report, upstream, snapshot) for upstream in pool])

    async def examine(
        self,
        servers: Sequence[str] = (),
        *,
        on_progress: Callable[[Sequence[str], int], None] | None = None,
        stop: asyncio.Event | None = None,
    ) -> dict[str, Any]:
        """Start every server, or only these, and return what `halflap doctor --json` prints.

        `on_progress` gets the names of the servers that are still awaited, and how many there are in all. Once `stop`
        is set, nothing more is waited for, and what is known by then is the answer.
        """
        stop = stop or asyncio.Event()
        wanted = self._wanted(servers)
        work = _Work(stop)
        await work.do("servers", self._start(wanted, on_progress, stop), seconds=None)
        reports = [one for one in await self.reports() if not servers or one.status.name in servers]
        kinds = await work.do("outputs", self._learned.output_kinds()) or {}
        reasons = self._listings.unavailable(self._pool.made or ())
        configured = {server.name: server for server in self._config.servers}
        snapshot = self._catalog.snapshot
        rows = [
            _row(one, configured[one.status.name], reasons.get(one.status.name), snapshot, kinds)
            for one in reports
        ]
        tools = {name for name, tool in snapshot.tools.items() if not servers or tool.server in set(servers)}
        counts = await work.do("edges", self._composer.counts(tools if servers else None)) or {}
        examined: dict[str, Any] = {
            "version": __version__,
            "python": sys.version.split()[0],
            "configuration": [str(path) for path in self._config.sources],
            "configurationWarnings": list(self._config.warnings),
            "untrustedProjectFiles": [str(file.path) for file in self._config.pending],
            "servers": rows,
            "tools": len(tools),
            "callable": len(tools & set(snapshot.callable)),
            "outputs": _outputs(kind for name, kind in kinds.items() if name in tools),
            "collisions": collisions(snapshot, self._config, servers),
            "drift": await work.do("drift", self._drift(servers)) or [],
            "driftDays": _DRIFT_DAYS,
            "brokenScripts": {} if servers else await work.do("scripts", self._broken_scripts()) or {},
            "brokenPrograms": {} if servers else await work.do("programs", self._broken_programs()) or {},
            "sandbox": await work.do("sandbox", self._sandbox()),
            "store": await work.do("store", self._store_state()),
            "edges": counts.get("edges"),
            "learning": {"enabled": self._config.learning.enabled, **counts.get("learning", {})},
            "unfinished": work.unfinished,
            "interrupted": stop.is_set(),
        }
        found = findings(examined, self._config)
        healthy = not stop.is_set() and not any(one["severity"] == "problem" for one in found)
        return {"healthy": healthy, "summary": summary(examined, found), "findings": found, **examined}

    def _wanted(self, servers: Sequence[str]) -> list[ServerConfig]:
        names = [server.name for server in self._config.servers]
        for name in servers:
            if name not in names:
                raise ServerNotFoundError(name, names)
        return [
            one for one in self._config.servers if not one.disabled and (not servers or one.name in servers)
        ]

    async def _start(
        self,
        wanted: Sequence[ServerConfig],
        on_progress: Callable[[Sequence[str], int], None] | None,
        stop: asyncio.Event,
    ) -> None:
        """List all servers at once, each within its own time."""
        waiting = {
            asyncio.ensure_future(
                asyncio.wait(
                    [self._listings.ask(one.name)], timeout=one.start_timeout_seconds + _BEYOND_START_SECONDS
                )
            ): one.name
            for one in wanted
        }
        while waiting and not stop.is_set():
            if on_progress is not None:
                on_progress(list(waiting.values()), len(wanted))
            done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for one in done:
                del waiting[one]

    async def _drift(self, servers: Sequence[str]) -> list[dict[str, Any]]:
        """Return what lately contradicted the declared or learned output of the tools as they are defined now."""
        from halflap.observe import drift_told  # noqa: PLC0415 -- see the top of `build`

        events, breaches = await self._learned.drift()
        since = time.time() - _DRIFT_DAYS * 86_400
        found = []
        for tool in self._catalog.snapshot.tools.values():
            if servers and tool.server not in servers:
                continue
            key = (tool.server, tool.original_name)
            shown = drift_told(
                [
                    one
                    for one in events
                    if (one.server, one.tool) == key
                    and one.definition_hash in {tool.schema_hash, ""}
                    and one.at >= since
                ],
                [
                    one
                    for one in breaches
                    if (one.server, one.tool) == key
                    and one.definition_hash == tool.schema_hash
                    and one.last_at >= since
                ],
            )
            found += [{"tool": tool.name, "server": tool.server, **one} for one in shown]
        return found

    async def _broken_scripts(self) -> dict[str, str]:
        return dict((await self._scripts.shelf()).broken)

    async def _broken_programs(self) -> dict[str, str]:
        return await (await self._dspy.get()).broken() if self._config.uses_programs else {}

    async def _sandbox(self) -> dict[str, Any]:
        """Start the sandbox and the check, and return which of their locks are in force."""
        programs = await self._programs.get()
        ready = await programs.ready()
        check = await programs.check_ready()
        return {
            "name": ready.name,
            "layers": list(ready.layers),
            "missing": dict(ready.missing),
            "trouble": ready.trouble,
            "notes": list(ready.notes),
            "check": {"layers": list(check.layers), "missing": dict(check.missing), "trouble": check.trouble},
        }

    async def _store_state(self) -> dict[str, Any]:
        from halflap.observe import iso  # noqa: PLC0415 -- see the top of `build`

        traces, trouble = self._config.traces, self._store_trouble
        now = None
        try:
            now = await self._store.status()
        except StoreError as error:
            trouble = trouble or str(error)
        return {
            "place": self._store.location,
            "trouble": trouble,
            "writable": trouble is None,
            "record": traces.record,
            "keepDays": traces.keep_days,
            "keepMegabytes": traces.keep_mb,
            "schemaVersion": None if now is None else now.version,
            "bytes": None if now is None else now.size_bytes,
            "runs": None if now is None else now.runs,
            "calls": None if now is None else now.calls,
            "learnedTools": None if now is None else now.learned,
            "oldest": None if now is None else iso(now.oldest),
        }


class _Work:
    """Runs the steps of an examination; one that fails or takes too long is left out and reported."""

    def __init__(self, stop: asyncio.Event) -> None:
        self.unfinished: dict[str, str] = {}
        """Why a step has no answer, by its name."""
        self._stop = stop

    async def do(
        self, name: str, part: Coroutine[Any, Any, _T], *, seconds: float | None = _PART_SECONDS
    ) -> _T | None:
        task = asyncio.ensure_future(part)
        stopped = asyncio.ensure_future(self._stop.wait())
        await asyncio.wait({task, stopped}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if not task.done():
            task.cancel()
            interrupted = self._stop.is_set()
            self.unfinished[name] = "interrupted" if interrupted else f"it took more than {seconds:g} s"
            return None
        try:
            return task.result()
        except HalflapError as error:
            self.unfinished[name] = str(error)
            return None


def _row(
    report: ServerReport, server: ServerConfig, reason: str | None, snapshot: Snapshot, kinds: dict[str, str]
) -> dict[str, Any]:
    status = report.status
    state = "failed" if status.state == "ready" and reason is not None else status.state
    own = [kinds.get(tool.name, "unknown") for tool in snapshot.by_server.get(status.name, ())]
    return {
        "name": status.name,
        "transport": report.transport,
        "state": state,
        "healthy": state in {"ready", "disabled"} and not report.held,
        "signIn": _sign_in(server, state),
        "startSeconds": None if status.start_seconds is None else round(status.start_seconds, 3),
        "protocolVersion": status.protocol_version,
        "serverInfo": status.server_info,
        "tools": report.tools,
        "outputs": _outputs(own),
        "blocked": report.blocked,
        "held": list(report.held),
        "changed": list(report.changed),
        "unfilled": [{"where": where, "variable": variable} for where, variable in server.unfilled],
        "trouble": status.trouble if state == "failed" else None,
        "lastError": reason,
        "warnings": list(status.warnings),
        "log": list(report.log),
    }


def _sign_in(server: ServerConfig, state: str) -> str | None:
    """Return the sign-in state of a server with a URL; None where it is not known."""
    if server.url is None or state not in {"ready", "needs-sign-in"}:
        return None
    if state == "ready":
        return "accepted" if server.headers else "not-asked"
    return "refused" if server.headers else "needed"


def _outputs(kinds: Iterable[str]) -> dict[str, int]:
    counts = Counter(kinds)
    return {word: counts[word] for word in ("declared", "learned", "unknown")}


def collisions(snapshot: Snapshot, config: Config, servers: Sequence[str] = ()) -> dict[str, Any]:
    """Return the tools that could not get their plain names, and the servers whose names look the same in tool names.

    With `servers`, only what concerns one of them.
    """
    from halflap.catalog import namespaced  # noqa: PLC0415 -- see the top of `build`

    tools = []
    for tool in snapshot.tools.values():
        plain = namespaced(tool.server, tool.original_name)
        owner = snapshot.tools.get(plain)
        concerned = {tool.server} if owner is None else {tool.server, owner.server}
        if tool.name != plain and (not servers or not concerned.isdisjoint(servers)):
            tools.append(
                {
                    "name": tool.name,
                    "server": tool.server,
                    "originalName": tool.original_name,
                    "plainName": plain,
                    "takenBy": None
                    if owner is None
                    else {"server": owner.server, "originalName": owner.original_name},
                }
            )
    alike: dict[str, list[str]] = {}
    for server in config.servers:
        alike.setdefault(namespaced(server.name, ""), []).append(server.name)
    groups = [names for names in alike.values() if len(names) > 1]
    return {
        "tools": tools,
        "servers": [names for names in groups if not servers or not set(names).isdisjoint(servers)],
    }
