"""Diagnose a gateway: start every server, examine every part, and report what is wrong."""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from halflap import __version__
from halflap.catalog import namespaced
from halflap.core.errors import HalflapError, ServerNotFoundError, StoreError
from halflap.core.text import iso
from halflap.gateway.findings import findings, server_findings, summary
from halflap.gateway.sign_ins import sign_ins

if TYPE_CHECKING:
    from halflap.calls import Recorder
    from halflap.catalog import Catalog, Snapshot
    from halflap.config import Config, ServerConfig
    from halflap.dspy.programs import DspyPrograms
    from halflap.gateway.lazy import Lazy
    from halflap.gateway.learned import LearnedSchemas
    from halflap.gateway.metrics import Metrics
    from halflap.sandbox.programs import Programs
    from halflap.scripts import Scripts
    from halflap.store import Store
    from halflap.upstream import Pool, Upstream

_EDGE_SECONDS = 2.0
"""How long edges are counted; thousands of tools with large schemas would take minutes."""
_BEYOND_START_SECONDS = 10.0
_DRIFT_SECONDS = 7 * 86_400.0
"""Older drift is not reported."""


@dataclass(frozen=True)
class Doctor:
    """Produces the report of `halflap doctor`."""

    config: Config
    store: Store
    recorder: Recorder
    catalog: Catalog
    pool: Lazy[Pool]
    scripts: Scripts
    programs: Programs
    dspy: DspyPrograms
    learned: LearnedSchemas
    metrics: Metrics

    async def health(self) -> dict[str, Any]:
        """Return the rows and findings of all servers, without starting any."""
        kinds = await self.learned.output_kinds()
        rows = await self._rows(kinds)
        found = await asyncio.to_thread(server_findings, rows, self.config)
        return {"servers": rows, "findings": found, "outputs": _count(kinds.values())}

    async def _rows(self, kinds: dict[str, str]) -> list[dict[str, Any]]:
        pool, snapshot, reasons = await self.pool.get(), self.catalog.snapshot, self.catalog.unavailable()

        def rows() -> list[dict[str, Any]]:
            held = sign_ins(self.config)
            return [_row(one, reasons.get(one.name), snapshot, kinds, held.get(one.name, ())) for one in pool]

        # In a thread: it reads the log files.
        return await asyncio.to_thread(rows)

    async def examine(
        self,
        servers: Sequence[str] = (),
        *,
        on_progress: Callable[[Sequence[str], int], None] | None = None,
        stop: asyncio.Event | None = None,
    ) -> dict[str, Any]:
        """Start every server, or only these, and return the report that `halflap doctor --json` prints.

        `on_progress` is called with the names of the servers that have not answered yet, and the number of all. Setting
        `stop` ends the wait for servers.
        """
        every = [server.name for server in self.config.servers]
        if unknown := [name for name in servers if name not in every]:
            raise ServerNotFoundError(unknown[0], every)
        names, stop = set(servers or every), stop or asyncio.Event()
        await self._start(names, on_progress, stop)
        snapshot = self.catalog.snapshot
        tools = {name for name, tool in snapshot.tools.items() if not servers or tool.server in names}
        parts: dict[str, Awaitable[Any]] = {
            "outputs": self.learned.output_kinds(),
            "drift": self.learned.drift_of(
                map(snapshot.tools.__getitem__, tools), time.time() - _DRIFT_SECONDS
            ),
            "sandbox": self._sandbox(),
            "store": self._store_state(),
            "edges": self.metrics.counts(tools if servers else None, seconds=_EDGE_SECONDS),
        }
        if not servers:
            parts["scripts"] = self.scripts.saved()
            if self.config.uses_programs:
                parts["programs"] = self.dspy.usable()
        known: dict[str, Any] = {}
        unfinished: dict[str, str] = {}

        async def look_at(part: str, work: Awaitable[Any]) -> None:
            try:
                known[part] = await work
            except HalflapError as error:
                unfinished[part] = str(error)

        await asyncio.gather(*(look_at(part, work) for part, work in parts.items()))
        kinds, counts = known.get("outputs", {}), known.get("edges", {})
        examined: dict[str, Any] = {
            "version": __version__,
            "python": sys.version.split()[0],
            "configuration": [str(path) for path in self.config.sources],
            "configurationWarnings": list(self.config.warnings),
            "untrustedProjectFiles": [str(file.path) for file in self.config.pending],
            "servers": [row for row in await self._rows(kinds) if row["name"] in names],
            "tools": len(tools),
            "callable": len(tools & set(snapshot.callable)),
            "outputs": _count(kind for name, kind in kinds.items() if name in tools),
            "collisions": [
                {"name": tool.name, "server": tool.server, "originalName": tool.original_name}
                for tool in snapshot.tools.values()
                if tool.server in names and tool.name != namespaced(tool.server, tool.original_name)
            ],
            "drift": [
                {"tool": name, "server": snapshot.tools[name].server, **one}
                for name, drift in sorted(known.get("drift", {}).items())
                for one in drift
            ],
            "brokenScripts": dict(known["scripts"].broken) if "scripts" in known else {},
            "brokenPrograms": known["programs"][1] if "programs" in known else {},
            "sandbox": known.get("sandbox"),
            "store": known.get("store"),
            "edges": counts.get("edges"),
            "learning": {"enabled": self.config.learning.enabled, **counts.get("learning", {})},
            "unfinished": unfinished,
            "interrupted": stop.is_set(),
        }
        found = await asyncio.to_thread(findings, examined, self.config)
        healthy = not examined["interrupted"] and not any(one["severity"] == "problem" for one in found)
        return {"healthy": healthy, "summary": summary(examined, found), "findings": found, **examined}

    async def _start(
        self, names: set[str], on_progress: Callable[[Sequence[str], int], None] | None, stop: asyncio.Event
    ) -> None:
        """List all servers concurrently, each with its own timeout."""
        waiting: dict[asyncio.Future[Any], str] = {
            asyncio.ensure_future(
                asyncio.wait(
                    [self.catalog.relist(one.name)], timeout=one.start_timeout_seconds + _BEYOND_START_SECONDS
                )
            ): one.name
            for one in self.config.servers
            if one.name in names and not one.disabled
        }
        total, stopped = len(waiting), asyncio.ensure_future(stop.wait())
        while waiting and not stop.is_set():
            if on_progress is not None:
                on_progress(list(waiting.values()), total)
            done, _ = await asyncio.wait({*waiting, stopped}, return_when=asyncio.FIRST_COMPLETED)
            for one in done & waiting.keys():
                del waiting[one]
        for task in (stopped, *waiting):
            task.cancel()

    async def _sandbox(self) -> dict[str, Any]:
        """Start the sandbox and the check, and return the layers in force."""
        ready = await self.programs.ready()
        check = await self.programs.check_ready()
        return {
            "name": ready.name,
            "layers": list(ready.layers),
            "missing": dict(ready.missing),
            "trouble": ready.trouble,
            "notes": list(ready.notes),
            "check": {"layers": list(check.layers), "missing": dict(check.missing), "trouble": check.trouble},
        }

    async def _store_state(self) -> dict[str, Any]:
        traces, trouble = self.config.traces, self.store.trouble
        now, lost = None, self.recorder.writer.lost
        try:
            now = await self.store.status()
            lost += int((await self.store.counters()).get("records_lost", 0))
        except StoreError as error:
            trouble = trouble or str(error)
        return {
            "place": self.store.location,
            "trouble": trouble,
            "writable": trouble is None,
            "record": traces.record,
            "keepDays": traces.keep_days,
            "keepMegabytes": traces.keep_mb,
            "schemaVersion": now and now.version,
            "bytes": now and now.size_bytes,
            "runs": now and now.runs,
            "calls": now and now.calls,
            "learnedTools": now and now.learned,
            "oldest": now and iso(now.oldest),
            "journalBytes": await self.recorder.writer.journal_bytes(),
            "lostRecords": lost,
        }


def _row(
    upstream: Upstream,
    reason: str | None,
    snapshot: Snapshot,
    kinds: dict[str, str],
    signed_in: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    server, status = upstream.config, upstream.status()
    state = "failed" if status.state == "ready" and reason is not None else status.state
    names = [tool.name for tool in snapshot.by_server.get(server.name, ())]
    held = [name for name in names if name in snapshot.held]
    return {
        "name": server.name,
        "transport": server.transport,
        "state": state,
        "healthy": state in {"ready", "disabled"} and not held,
        "signIn": _sign_in(server, state, is_signed_in=bool(signed_in)),
        "signedIn": list(signed_in),
        "startSeconds": None if status.start_seconds is None else round(status.start_seconds, 3),
        "protocolVersion": status.protocol_version,
        "serverInfo": status.server_info,
        "tools": len(names),
        "outputs": _count(kinds.get(name, "unknown") for name in names),
        "blocked": sum(name in snapshot.blocked for name in names),
        "held": held,
        "changed": [name for name in names if name in snapshot.changed],
        "unfilled": [{"where": where, "variable": variable} for where, variable in server.unfilled],
        "trouble": status.trouble if state == "failed" else None,
        "lastError": reason,
        "warnings": list(status.warnings),
        "log": list(upstream.log.tail()),
    }


def _sign_in(server: ServerConfig, state: str, *, is_signed_in: bool) -> str | None:
    """Return the sign-in state of a server with a URL; None if it is unknown."""
    if server.url is None or state not in {"ready", "needs-sign-in"}:
        return None
    if state == "ready":
        return "accepted" if server.headers or is_signed_in else "not-asked"
    return "refused" if server.headers or is_signed_in else "needed"


def _count(kinds: Iterable[str]) -> dict[str, int]:
    counts = Counter(kinds)
    return {kind: counts[kind] for kind in ("declared", "learned", "unknown")}
