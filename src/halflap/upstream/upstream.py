"""One server behind the gateway: started when first needed, shared by all callers, reconnected when lost."""

from __future__ import annotations

import asyncio
import logging
import math
import random
from typing import TYPE_CHECKING, Any

import anyio

from halflap.core.errors import CallTimeoutError, ToolFailedError, UpstreamUnavailableError
from halflap.core.text import quote
from halflap.core.values import Result
from halflap.upstream.connection import OWN_CODES, REFUSED, Connection, Failure, RequestFailedError
from halflap.upstream.failure import call_lost, explain, explain_timeout
from halflap.upstream.send import send
from halflap.upstream.status import Status

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Mapping

    from halflap.config import ServerConfig
    from halflap.core.values import CallContext, Listing
    from halflap.upstream.connector import Connector
    from halflap.upstream.log import ServerLog
    from halflap.upstream.session import Session
    from halflap.upstream.status import State

__all__ = ["Upstream"]

logger = logging.getLogger(__name__)

_RECONNECTS = 6
"""Reconnect attempts before giving up; the next call tries again."""
_BACKOFF_SECONDS = 0.25
_MAX_BACKOFF_SECONDS = 30.0
_STABLE_SECONDS = 30.0
"""Connections stable for this long reset the retry counter."""
_SETTLE_SECONDS = 0.05
"""Servers tend to announce several changes at once: how long to wait before listing the tools again."""
_CLOSE_SECONDS = 8.0
"""How long a server may take to stop; its supervisor needs four of them at most."""
_MAX_ATTEMPTS = 3
"""How often one call is sent at most, even if it provably never arrived."""


class Upstream:
    """A `ToolSource` over one configured server.

    A single task (`_keep_connected`) owns the connection. Callers wait for `_current`, the future of its session.
    """

    def __init__(
        self,
        config: ServerConfig,
        *,
        connector: Connector,
        log: ServerLog,
        on_listing: Callable[[Listing], Awaitable[None]],
        last_version: str | None,
    ) -> None:
        self.config = config
        self.log = log
        self._connector = connector
        self._on_listing = on_listing
        self._last_version = last_version
        """The protocol version that the server spoke last time."""
        self._state: State = "disabled" if config.disabled else "idle"
        self._failure: Failure | None = None
        """Why it is not ready, or why the last connection was lost."""
        if config.broken is not None and not config.disabled:
            self._state, self._failure = "failed", Failure("misconfigured", config.broken)
        self._slots = asyncio.Semaphore(config.max_concurrent_calls)
        self._current: asyncio.Future[Session] | None = None
        self._owner: asyncio.Task[None] | None = None
        self._connecting: anyio.CancelScope | None = None
        self._stop = asyncio.Event()
        self._tools_changed = asyncio.Event()
        self._failed_starts = 0
        self._next_try = 0.0
        self._starts = 0
        self._start_seconds: float | None = None
        self._listing: Listing | None = None
        self._pid: int | None = None

    @property
    def name(self) -> str:
        return self.config.name

    def status(self) -> Status:
        listing = self._listing
        return Status(
            name=self.name,
            state=self._state,
            reason=None if self._failure is None else self._failure.message,
            trouble=None if self._failure is None else self._failure.trouble,
            start_seconds=self._start_seconds,
            protocol_version=listing.protocol_version if listing else self._last_version,
            server_info=listing.server_info if listing else None,
            pid=self._pid if self._state == "ready" else None,
            starts=self._starts,
            warnings=listing.warnings if listing else (),
        )

    async def list(self) -> Listing:
        """Return the tools as they are now; starts the server if necessary."""
        was_ready = self._state == "ready"
        session = await self._session()
        if not was_ready and self._listing is not None:
            return self._listing
        try:
            with anyio.fail_after(self.config.start_timeout_seconds):
                listing = await session.list(self.name)
        except TimeoutError:
            raise UpstreamUnavailableError(
                self.name,
                f"it did not list its tools within {self.config.start_timeout_seconds:g} s. "
                "If it needs longer, raise `start_timeout_seconds` for it.",
            ) from None
        except Exception as error:
            failure = self._redact(explain(error, self.config, session.connection, self.log))
            raise UpstreamUnavailableError(self.name, failure.message) from error
        await self._keep(listing)
        return listing

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        context: CallContext,
        *,
        repeatable: bool,
        admit: Callable[[], Coroutine[Any, Any, None]],
    ) -> Result:
        """Call a tool. A call that may have arrived is repeated only if it is `repeatable`.

        `admit` is awaited before each attempt, with the server connected and its tools known; it may refuse the call.
        """
        await self._acquire_slot(tool, context)
        try:
            for attempt in range(1, _MAX_ATTEMPTS + 1):
                session = await self._session(context.deadline)
                await admit()
                try:
                    return Result.from_wire(await send(session, self.config, tool, arguments, context))
                except RequestFailedError as failed:
                    if failed.session_lost:
                        self._give_up(session)
                    may_repeat = failed.lost and (repeatable or not failed.may_have_arrived)
                    if not may_repeat or attempt == _MAX_ATTEMPTS:
                        raise self._call_error(tool, failed, session.connection) from failed
            raise AssertionError("unreachable")
        finally:
            self._slots.release()

    def _call_error(self, tool: str, failed: RequestFailedError, connection: Connection) -> Exception:
        message = self.log.redact(failed.message)
        if failed.lost:
            if failed.code not in OWN_CODES and connection.failure is not None:
                # The SDK says no more than that the connection is closed.
                message = self.log.redact(connection.failure.message)
            return call_lost(self.name, tool, message, may_have_arrived=failed.may_have_arrived)
        if failed.code == REFUSED:
            return UpstreamUnavailableError(self.name, message)
        return ToolFailedError(tool, self.name, failed.code, message)

    async def _acquire_slot(self, tool: str, context: CallContext) -> None:
        with anyio.CancelScope(deadline=math.inf if context.deadline is None else context.deadline):
            await self._slots.acquire()
            return
        raise CallTimeoutError(
            self.name, f"{quote(tool)} had to wait for other calls until the deadline; it was not sent."
        )

    async def roots_changed(self) -> None:
        if self._state == "ready" and self._current is not None and self._current.done():
            await self._current.result().roots_changed()

    async def close(self) -> None:
        """Stop the server: gracefully if it is ready, at once if it is still starting."""
        self._stop.set()
        if self._state != "ready" and self._connecting is not None:
            self._connecting.cancel()
        if self._owner is not None:
            await asyncio.wait([self._owner], timeout=_CLOSE_SECONDS)
            self._owner.cancel()
            await asyncio.wait([self._owner], timeout=1.0)
        if self._current is not None and not self._current.done():
            self._current.set_exception(UpstreamUnavailableError(self.name, "Halflap is shutting down."))

    async def _session(self, deadline: float | None = None) -> Session:
        """Return the live session; starts the server, or waits for it to reconnect, if necessary."""
        if self.config.disabled:
            raise UpstreamUnavailableError(
                self.name, "it is disabled in the configuration. Remove `disabled` to use it."
            )
        if self.config.broken is not None:
            raise UpstreamUnavailableError(self.name, self.config.broken)
        if self._stop.is_set():
            raise UpstreamUnavailableError(self.name, "Halflap is shutting down.")
        if self._current is None:
            wait = self._next_try - anyio.current_time()
            if wait > 0:
                raise UpstreamUnavailableError(self.name, f"{self._reason} Next try in {wait:.1f} s.")
            self._current = _future()
            self._owner = asyncio.create_task(self._keep_connected(), name=f"upstream {self.name}")
        limit = anyio.current_time() + self.config.start_timeout_seconds + self.config.call_timeout_seconds
        with anyio.move_on_at(limit if deadline is None else min(deadline, limit)):
            return await asyncio.shield(self._current)
        raise UpstreamUnavailableError(self.name, self._reason)

    @property
    def _reason(self) -> str:
        return (
            "it is still starting. Ask again in a moment." if self._failure is None else self._failure.message
        )

    def _give_up(self, session: Session) -> None:
        """Abandon a session: from now on, callers wait for the next one."""
        current = self._current
        if current is not None and current.done() and not current.exception() and current.result() is session:
            self._current = _future()
            self._state = "reconnecting"
        session.connection.closed.set()

    async def _keep_connected(self) -> None:
        """Keep the server connected until it is closed, fails to start, or is lost too often."""
        losses = 0
        while True:
            ready_seconds = await self._connect()
            if self._stop.is_set():
                return
            if ready_seconds is None and losses == 0:
                break
            losses = 1 if ready_seconds is not None and ready_seconds >= _STABLE_SECONDS else losses + 1
            if losses > _RECONNECTS:
                break
            self._state = "reconnecting"
            logger.info("server %r: %s Reconnecting.", self.name, self._reason)
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
            waiting.set_exception(UpstreamUnavailableError(self.name, self._reason))

    async def _connect(self) -> float | None:
        """Connect once and stay until the connection ends. Return how long it was ready, None if never."""
        connection = Connection()
        start = anyio.current_time()
        ready_at: float | None = None
        error: Exception | None = None
        if self._state != "reconnecting":
            self._state = "starting"
        self._starts += 1
        self.log.start_process()
        with anyio.CancelScope(deadline=start + self.config.start_timeout_seconds) as scope:
            self._connecting = scope
            try:
                async with self._connector.open(
                    connection, self._last_version, self._tools_changed.set
                ) as session:
                    await self._keep(await session.list(self.name))
                    scope.deadline = math.inf
                    ready_at = anyio.current_time()
                    self._set_ready(session, ready_at - start)
                    await self._serve(session)
            except Exception as caught:  # noqa: BLE001 -- a server may fail in any way, but only for itself
                error = caught
        self._connecting = None
        self._pid = None
        if error is not None:
            self._failure = self._redact(explain(error, self.config, connection, self.log))
        elif ready_at is None and scope.cancelled_caught:
            self._failure = self._redact(explain_timeout(self.config, connection, self.log))
        elif not self._stop.is_set():
            lost = connection.failure or Failure("not-reached", "the connection was lost.")
            self._failure = self._redact(lost)
        if self._stop.is_set():
            self._state = "idle"
        return None if ready_at is None else anyio.current_time() - ready_at

    def _redact(self, failure: Failure) -> Failure:
        return Failure(failure.trouble, self.log.redact(failure.message))

    def _set_ready(self, session: Session, seconds: float) -> None:
        self._state = "ready"
        self._failure = None
        self._failed_starts = 0
        self._start_seconds = seconds
        self._last_version = session.client.protocol_version
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

                tasks.start_soon(session.watch_tools)
                tasks.start_soon(self._list_when_changed, session)
                tasks.start_soon(until, self._stop.wait())
                tasks.start_soon(until, session.connection.closed.wait())
        finally:
            self._give_up(session)

    async def _list_when_changed(self, session: Session) -> None:
        while True:
            await self._tools_changed.wait()
            await anyio.sleep(_SETTLE_SECONDS)
            self._tools_changed.clear()
            try:
                with anyio.fail_after(self.config.start_timeout_seconds):
                    await self._keep(await session.list(self.name))
            except Exception:  # noqa: BLE001 -- the old listing stays; the next request lists again
                logger.warning("server %r announced changed tools but did not list them", self.name)

    async def _keep(self, listing: Listing) -> None:
        self._listing = listing
        for warning in listing.warnings:
            logger.warning("server %r: %s", self.name, warning)
        await self._on_listing(listing)


def _future() -> asyncio.Future[Session]:
    future: asyncio.Future[Session] = asyncio.get_running_loop().create_future()
    # There may be no caller when it fails; asyncio complains about exceptions that are never retrieved.
    future.add_done_callback(lambda done: done.cancelled() or done.exception())
    return future


def _backoff(failures: int) -> float:
    """Return a wait that doubles with each failure, with jitter."""
    longest: float = min(_MAX_BACKOFF_SECONDS, _BACKOFF_SECONDS * 2 ** min(failures, 16))
    return longest * random.uniform(0.5, 1.0)  # noqa: S311 -- jitter, not a secret
