"""What a gateway says of its own health: every server started and looked at, and what a person has to do about it."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import TYPE_CHECKING, Any, TypeVar

from halflap import __version__
from halflap.core.errors import HalflapError, ServerNotFoundError, StoreError
from halflap.gateway.composing import Composing
from halflap.gateway.findings import findings, summary

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from halflap.catalog import ServerReport, Snapshot
    from halflap.config import Config, ServerConfig

__all__ = ["Examining"]

_T = TypeVar("_T")

_PART_SECONDS = 60.0
"""So long at most any part but the servers is waited for; those have times of their own."""
_BEYOND_START_SECONDS = 10.0
DRIFT_DAYS = 7
"""What drifted within so many days did so lately."""


class Examining(Composing):
    """The part of a gateway that examines itself."""

    def unavailable(self) -> dict[str, str]:
        """Say which servers cannot be reached at the moment, and why."""
        return {} if self._listings is None else self._listings.unavailable(self._pool or ())

    async def reports(self) -> tuple[ServerReport, ...]:
        """Give every server's state, in the order of the configuration."""
        pool, snapshot = await self._connections(), self.snapshot
        from halflap.catalog import report  # noqa: PLC0415 -- see the top of `parts`

        return tuple([await asyncio.to_thread(report, upstream, snapshot) for upstream in pool])

    @property
    def store_place(self) -> str:
        """Where the store is, fit to be shown."""
        return "" if self._store is None else self._store.place

    async def examine(
        self,
        servers: Sequence[str] = (),
        *,
        told: Callable[[Sequence[str], int], None] | None = None,
        stop: asyncio.Event | None = None,
    ) -> dict[str, Any]:
        """Start every server, or these alone, and say how all is doing: what `halflap doctor --json` prints.

        `told` gets the names of those that are awaited yet, and of how many, whenever one of them is there. When
        `stop` is set, nothing is waited for any longer, and what is known by then is the answer.
        """
        stop = stop or asyncio.Event()
        wanted = self._wanted(servers)
        await self.prepare()
        work = _Work(stop)
        await work.do("servers", self._started(wanted, told, stop), seconds=None)
        reports = [one for one in await self.reports() if not servers or one.status.name in servers]
        kinds = await work.do("outputs", self.output_kinds()) or {}
        reasons = self.unavailable()
        configured = {server.name: server for server in self.config.servers}
        rows = [
            _row(one, configured[one.status.name], reasons.get(one.status.name), self.snapshot, kinds)
            for one in reports
        ]
        own = {
            name for name, tool in self.snapshot.tools.items() if not servers or tool.server in set(servers)
        }
        counted = await work.do("edges", self.counted(own if servers else None)) or {}
        examined: dict[str, Any] = {
            "version": __version__,
            "python": sys.version.split()[0],
            "configuration": [str(path) for path in self.config.sources],
            "configurationWarnings": list(self.config.warnings),
            "untrustedProjectFiles": [str(file.path) for file in self.config.pending],
            "servers": rows,
            "tools": len(own),
            "callable": len(own & set(self.snapshot.callable)),
            "outputs": {
                word: _times((kind for name, kind in kinds.items() if name in own), word)
                for word in ("declared", "learned", "unknown")
            },
            "collisions": collisions(self.snapshot, self.config, servers),
            "drift": await work.do("drift", self._drifted(servers)) or [],
            "driftDays": DRIFT_DAYS,
            "brokenScripts": {} if servers else await work.do("scripts", self._broken_scripts()) or {},
            "brokenPrograms": {} if servers else await work.do("programs", self._broken_programs()) or {},
            "sandbox": await work.do("sandbox", self._sandbox()),
            "store": await work.do("store", self._store_told()),
            "edges": counted.get("edges"),
            "learning": {"enabled": self.config.learning.enabled, **counted.get("learning", {})},
            "unfinished": work.unfinished,
            "interrupted": stop.is_set(),
        }
        found = findings(examined, self.config)
        healthy = not stop.is_set() and not any(one["severity"] == "problem" for one in found)
        return {"healthy": healthy, "summary": summary(examined, found), "findings": found, **examined}

    def _wanted(self, servers: Sequence[str]) -> list[ServerConfig]:
        names = [server.name for server in self.config.servers]
        for name in servers:
            if name not in names:
                raise ServerNotFoundError(name, names)
        return [
            one for one in self.config.servers if not one.disabled and (not servers or one.name in servers)
        ]

    async def _started(
        self,
        wanted: Sequence[ServerConfig],
        told: Callable[[Sequence[str], int], None] | None,
        stop: asyncio.Event,
    ) -> None:
        """Have every one listed, all at once; each is given its own time, and none may hold up the answer."""
        listings = await self._asker()
        waiting = {
            asyncio.ensure_future(
                asyncio.wait(
                    [listings.ask(one.name)], timeout=one.start_timeout_seconds + _BEYOND_START_SECONDS
                )
            ): one.name
            for one in wanted
        }
        while waiting and not stop.is_set():
            if told is not None:
                told(list(waiting.values()), len(wanted))
            done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for one in done:
                del waiting[one]

    async def _drifted(self, servers: Sequence[str]) -> list[dict[str, Any]]:
        """Give what contradicted, lately, what is declared or was learned of tools as they are defined now."""
        from halflap.observe import drift_told  # noqa: PLC0415 -- see the top of `parts`

        events, breaches = await self.drift()
        since = time.time() - DRIFT_DAYS * 86_400
        found = []
        for tool in self.snapshot.tools.values():
            if servers and tool.server not in servers:
                continue
            key = (tool.server, tool.original_name)
            told = drift_told(
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
            found += [{"tool": tool.name, "server": tool.server, **one} for one in told]
        return found

    async def _broken_scripts(self) -> dict[str, str]:
        return dict((await self.scripts.shelf()).broken)

    async def _broken_programs(self) -> dict[str, str]:
        return await (await self.dspy()).broken() if self.config.uses_programs else {}

    async def _sandbox(self) -> dict[str, Any]:
        """Try the locks that programs run behind, and say which are in force."""
        programs = await self.programs()
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

    async def _store_told(self) -> dict[str, Any]:
        assert self._store is not None
        traces = self.config.traces
        told: dict[str, Any] = {
            "place": self.store_place,
            "trouble": self.store_trouble,
            "writable": self.store_trouble is None,
            "record": traces.record,
            "keepDays": traces.keep_days,
            "keepMegabytes": traces.keep_mb,
        }
        try:
            now = await self._store.condition()
        except StoreError as error:
            now = None
            told |= {"writable": False, "trouble": self.store_trouble or str(error)}
        from halflap.observe import iso  # noqa: PLC0415 -- see the top of `parts`

        return told | {
            "schemaVersion": None if now is None else now.version,
            "bytes": None if now is None else now.size_bytes,
            "runs": None if now is None else now.runs,
            "calls": None if now is None else now.calls,
            "learnedTools": None if now is None else now.learned,
            "oldest": None if now is None else iso(now.oldest),
        }


class _Work:
    """Parts of the examination, each with its bound: what takes too long, or fails, is left out and named."""

    def __init__(self, stop: asyncio.Event) -> None:
        self.unfinished: dict[str, str] = {}
        """The part that is missing, and why."""
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
        "outputs": {word: _times(own, word) for word in ("declared", "learned", "unknown")},
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
    """Say whether a server that is reached by a URL has what it wants; None where nobody can tell."""
    if server.url is None or state not in {"ready", "needs-sign-in"}:
        return None
    if state == "ready":
        return "accepted" if server.headers else "not-asked"
    return "refused" if server.headers else "needed"


def _times(kinds: Any, word: str) -> int:
    return sum(kind == word for kind in kinds)


def collisions(snapshot: Snapshot, config: Config, servers: Sequence[str] = ()) -> dict[str, Any]:
    """Give the tools that could not get their plain names, and the servers whose names look the same in those.

    If `servers` are named, it is what concerns any of them.
    """
    from halflap.catalog import namespaced  # noqa: PLC0415 -- see the top of `parts`

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
