"""Keep one server connected: start it when it is first needed, reconnect when it is lost, stop it at the end."""

from __future__ import annotations

import asyncio
import logging
import math
import random
from contextvars import Context
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import anyio

from halflap.core.errors import UpstreamUnavailableError
from halflap.core.values import ServerEvent
from halflap.upstream.connection import Connection, Failure, Trouble
from halflap.upstream.definitions import list_features, list_tools
from halflap.upstream.failure import explain, explain_timeout
from halflap.upstream.questions import Questions
from halflap.upstream.session import Session
from halflap.upstream.subscriptions import Subscriptions
from halflap.upstream.transports import InMemoryTransport, http_streams, sse_streams, stdio_streams

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping
    from contextlib import AbstractAsyncContextManager

    from halflap.config import ServerConfig
    from halflap.core.values import Features, Listing
    from halflap.upstream.log import ServerLog
    from halflap.upstream.questions import ListRoots
    from halflap.upstream.session import What

logger = logging.getLogger(__name__)

State = Literal["idle", "starting", "ready", "reconnecting", "failed", "needs-sign-in", "disabled"]

_RECONNECTS = 6
"""Reconnect attempts before giving up; the next call tries again."""
_BACKOFF_SECONDS = 0.25
_MAX_BACKOFF_SECONDS = 30.0
_STABLE_SECONDS = 30.0
"""Connections stable for this long reset the retry counter."""
_SETTLE_SECONDS = 0.05
"""Servers tend to announce several changes at once: how long to wait before listing again."""
_MAX_SETTLE_SECONDS = 60.0
"""How long to wait at most where a server announces changes all the time; the wait doubles until then."""
_CLOSE_SECONDS = 8.0
"""How long a server may take to stop; its guardian needs six of them at most."""
_SHUTTING_DOWN = "Halflap is shutting down."


@dataclass(frozen=True, slots=True)
class Status:
    """A server's state as `halflap doctor` shows it."""

    name: str
    state: State
    reason: str | None = None
    """Why it is not ready, or why the last connection was lost."""
    trouble: Trouble | None = None
    start_seconds: float | None = None
    protocol_version: str | None = None
    server_info: str | None = None
    pid: int | None = None
    starts: int = 0
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hooks:
    """What the gateway does for its servers."""

    list_roots: ListRoots
    on_listing: Callable[[Listing], Awaitable[None]]
    on_features: Callable[[str, Features], Awaitable[bool]]
    """Returns whether they are others than before."""
    on_event: Callable[[ServerEvent], None]


class Lifecycle:
    """A single task (`_keep_connected`) owns the connection. Callers wait for `_current`, the future of its session."""

    def __init__(
        self,
        config: ServerConfig,
        hooks: Hooks,
        log: ServerLog,
        *,
        last_version: str | None,
        in_process: Any,
    ) -> None:
        self.listing: Listing | None = None
        """The newest list of tools."""
        self._config = config
        self._hooks = hooks
        self._log = log
        self._last_version = last_version
        """The protocol version that the server spoke last time."""
        self._in_process = in_process
        """The server object, where the transport is `memory`."""
        self._transport: str = config.transport
        self._state: State = "disabled" if config.disabled else "idle"
        self._failure: Failure | None = None
        """Why it is not ready, or why the last connection was lost."""
        if config.broken is not None and not config.disabled:
            self._state, self._failure = "failed", Failure("misconfigured", config.broken)
        self.has_features = asyncio.Event()
        """Set when it is known what the server offers besides tools."""
        self._current: asyncio.Future[Session] | None = None
        self._owner: asyncio.Task[None] | None = None
        self._connecting: anyio.CancelScope | None = None
        self.subscriptions = Subscriptions()
        self._stop = asyncio.Event()
        self._announced: set[What] = set()
        """Lists that the server said have changed."""
        self._announcement = asyncio.Event()
        self._failed_starts = 0
        self._next_try = 0.0
        self._starts = 0
        self._start_seconds: float | None = None
        self._pid: int | None = None
        self._task_tools: set[str] = set()

    @property
    def is_ready(self) -> bool:
        return self._state == "ready"

    def status(self) -> Status:
        listing = self.listing
        return Status(
            name=self._config.name,
            state=self._state,
            reason=None if self._failure is None else self._failure.message,
            trouble=None if self._failure is None else self._failure.trouble,
            start_seconds=self._start_seconds,
            protocol_version=listing.protocol_version if listing else self._last_version,
            server_info=listing.server_info if listing else None,
            pid=self._pid if self.is_ready else None,
            starts=self._starts,
            warnings=listing.warnings if listing else (),
        )

    async def session(self, deadline: float | None = None) -> Session:
        """Return the live session; starts the server, or waits for it to reconnect, if necessary."""
        if self._config.disabled:
            raise self._unavailable("it is disabled in the configuration. Remove `disabled` to use it.")
        if self._config.broken is not None:
            raise self._unavailable(self._config.broken)
        if self._stop.is_set():
            raise self._unavailable(_SHUTTING_DOWN)
        if self._current is None:
            wait = self._next_try - anyio.current_time()
            if wait > 0:
                raise self._unavailable(f"{self._reason} Next try in {wait:.1f} s.")
            self._current = _future()
            # In an empty context: it outlives the request that it is started for.
            self._owner = asyncio.create_task(
                self._keep_connected(), name=f"upstream {self._config.name}", context=Context()
            )
        limit = anyio.current_time() + self._config.start_timeout_seconds + self._config.call_timeout_seconds
        with anyio.move_on_at(limit if deadline is None else min(deadline, limit)):
            return await asyncio.shield(self._current)
        raise self._unavailable(self._reason)

    def give_up(self, session: Session) -> None:
        """Abandon a session: from now on, callers wait for the next one."""
        current = self._current
        if current is not None and current.done() and not current.exception() and current.result() is session:
            self._current = _future()
            self._state = "reconnecting"
        session.connection.closed.set()

    def needs_task(self, tool: str) -> bool:
        """Return whether a tool can only be run as a task."""
        return tool in self._task_tools

    async def keep(self, listing: Listing) -> None:
        """Take a new list of tools."""
        self.listing = listing
        self._task_tools = {str(one["name"]) for one in listing.tools if _task_support(one) == "required"}
        for warning in listing.warnings:
            logger.warning("server %r: %s", self._config.name, warning)
        await self._hooks.on_listing(listing)

    async def close(self) -> None:
        """Stop the server: gracefully if it is ready, at once if it is still starting."""
        self._stop.set()
        if not self.is_ready and self._connecting is not None:
            self._connecting.cancel()
        if self._owner is not None:
            await asyncio.wait([self._owner], timeout=_CLOSE_SECONDS)
            self._owner.cancel()
            await asyncio.wait([self._owner], timeout=1.0)
        if self._current is not None and not self._current.done():
            self._current.set_exception(self._unavailable(_SHUTTING_DOWN))

    @property
    def _reason(self) -> str:
        starting = "it is still starting. Ask again in a moment."
        return starting if self._failure is None else self._failure.message

    def _unavailable(self, reason: str) -> UpstreamUnavailableError:
        return UpstreamUnavailableError(self._config.name, reason)

    async def _keep_connected(self) -> None:
        """Keep the server connected until it is closed, fails to start, or is lost too often."""
        losses = 0
        while True:
            connection = Connection()
            ready_seconds = await self._connect(connection)
            if self._stop.is_set():
                return
            if ready_seconds is None and self._transport == "auto" and connection.only_sse:
                # A `url` without a transport is tried as streamable HTTP, then as SSE.
                self._transport = "sse"
                continue
            if ready_seconds is None and losses == 0:
                break
            losses = 1 if ready_seconds is not None and ready_seconds >= _STABLE_SECONDS else losses + 1
            if losses > _RECONNECTS:
                break
            self._state = "reconnecting"
            logger.info("server %r: %s Reconnecting.", self._config.name, self._reason)
            if losses > 1:
                with anyio.move_on_after(_backoff(losses - 1)):
                    await self._stop.wait()
                    return
        needs_sign_in = self._failure is not None and self._failure.trouble == "sign-in-needed"
        self._state = "needs-sign-in" if needs_sign_in else "failed"
        self._failed_starts += 1
        self._next_try = anyio.current_time() + _backoff(self._failed_starts)
        waiting, self._current = self._current, None
        if waiting is not None and not waiting.done():
            waiting.set_exception(self._unavailable(self._reason))

    async def _connect(self, connection: Connection) -> float | None:
        """Connect once and stay until the connection ends. Return how long it was ready, None if never."""
        start = anyio.current_time()
        ready_at: float | None = None
        failure: Failure | None = None
        if self._state != "reconnecting":
            self._state = "starting"
        self._starts += 1
        self._log.start_process()
        with anyio.CancelScope(deadline=start + self._config.start_timeout_seconds) as scope:
            self._connecting = scope
            try:
                async with self._streams(connection) as streams, self._session(streams, connection) as session:
                    await session.agree(self._config.protocol, self._last_version)
                    await self.keep(await list_tools(session, self._config.name))
                    scope.deadline = math.inf
                    ready_at = anyio.current_time()
                    self._set_ready(session, ready_at - start)
                    await self._serve(session)
            except Exception as error:  # noqa: BLE001 -- a server may fail in any way, but only for itself
                failure = explain(error, self._config, connection, self._log)
        self._connecting = None
        self._pid = None
        if self._stop.is_set():
            self._state = "idle"
        elif failure is None and ready_at is None and scope.cancelled_caught:
            failure = explain_timeout(self._config, connection, self._log)
        elif failure is None:
            failure = connection.failure or Failure("not-reached", "the connection was lost.")
        if failure is not None:
            self._failure = Failure(failure.trouble, self._log.redact(failure.message))
        return None if ready_at is None else anyio.current_time() - ready_at

    def _streams(self, connection: Connection) -> AbstractAsyncContextManager[Any]:
        if self._transport == "stdio":
            return stdio_streams(self._config, connection, self._log)
        if self._transport == "memory":
            return InMemoryTransport(self._in_process)
        return (sse_streams if self._transport == "sse" else http_streams)(self._config, connection)

    def _session(self, streams: tuple[Any, Any], connection: Connection) -> Session:
        is_local = self._config.url is None
        questions = Questions(self._hooks.list_roots, enabled=self._config.questions, is_local=is_local)
        return Session(streams, connection, questions, self._on_change)

    def _set_ready(self, session: Session, seconds: float) -> None:
        self._state = "ready"
        self._failure = None
        self._failed_starts = 0
        self._start_seconds = seconds
        self._last_version = session.protocol_version
        self._transport = "http" if self._transport == "auto" else self._transport
        self._pid = session.connection.pid
        session.connection.ready = True
        if self._current is not None and not self._current.done():
            self._current.set_result(session)

    async def _serve(self, session: Session) -> None:
        """Stay with a ready session until it ends or is to be closed."""
        try:
            async with anyio.create_task_group() as tasks:

                async def until(ended: Awaitable[Any]) -> None:
                    await ended
                    tasks.cancel_scope.cancel()

                tasks.start_soon(self.subscriptions.keep, session)
                tasks.start_soon(self._keep_listed, session)
                tasks.start_soon(until, self._stop.wait())
                tasks.start_soon(until, session.connection.closed.wait())
        finally:
            self.give_up(session)

    def _on_change(self, what: What, uri: str) -> None:
        if what != "updated":
            self._announced.add(what)
            self._announcement.set()
        elif uri in self.subscriptions:
            self._hooks.on_event(ServerEvent(self._config.name, what, uri))

    async def _keep_listed(self, session: Session) -> None:
        """List what the server offers besides tools, and then again what it says has changed."""
        await self._list_features(session, ())
        pause, last = _SETTLE_SECONDS, -math.inf
        while True:
            await self._announcement.wait()
            # A server that announces changes all the time is asked less and less often.
            busy = anyio.current_time() - last < 2 * pause + 1
            pause = min(2 * pause, _MAX_SETTLE_SECONDS) if busy else _SETTLE_SECONDS
            await anyio.sleep(pause)
            self._announcement.clear()
            announced, self._announced = self._announced, set()
            last = anyio.current_time()
            if "tools" in announced:
                await self._list_tools(session)
            if announced - {"tools"}:
                await self._list_features(session, announced - {"tools"})

    async def _list_tools(self, session: Session) -> None:
        try:
            with anyio.fail_after(self._config.start_timeout_seconds):
                await self.keep(await list_tools(session, self._config.name))
        except Exception:  # noqa: BLE001 -- the old listing stays; the next request lists again
            logger.warning("server %r announced changed tools but did not list them", self._config.name)
        self._hooks.on_event(ServerEvent(self._config.name, "tools"))

    async def _list_features(self, session: Session, announced: Collection[What]) -> None:
        with anyio.move_on_after(self._config.start_timeout_seconds):
            has_changed = await self._hooks.on_features(self._config.name, await list_features(session))
            self.has_features.set()
            for what in ("prompts", "resources"):
                if has_changed or what in announced:
                    self._hooks.on_event(ServerEvent(self._config.name, what))


def _task_support(tool: Mapping[str, Any]) -> Any:
    execution = tool.get("execution")
    return execution.get("taskSupport") if isinstance(execution, dict) else None


def _future() -> asyncio.Future[Session]:
    future: asyncio.Future[Session] = asyncio.get_running_loop().create_future()
    # There may be no caller when it fails; asyncio complains about exceptions that are never retrieved.
    future.add_done_callback(lambda done: done.cancelled() or done.exception())
    return future


def _backoff(failures: int) -> float:
    """Return a wait that doubles with each failure, with jitter."""
    longest: float = min(_MAX_BACKOFF_SECONDS, _BACKOFF_SECONDS * 2 ** min(failures, 16))
    return longest * random.uniform(0.5, 1.0)  # noqa: S311 -- jitter, not a secret
