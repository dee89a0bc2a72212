"""One server behind Halflap: started when first needed, shared by all, brought back when lost."""

from __future__ import annotations

import asyncio
import logging
import math
import random
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio

from halflap.core.errors import CallTimeoutError, ToolFailedError, UpstreamUnavailableError
from halflap.core.text import visible
from halflap.core.values import Result
from halflap.upstream.handshake import agree
from halflap.upstream.http import http_streams, sse_streams
from halflap.upstream.memory import memory_streams
from halflap.upstream.reason import explain, explain_timeout, lost
from halflap.upstream.sending import send
from halflap.upstream.session import Session
from halflap.upstream.status import Status
from halflap.upstream.stdio import stdio_streams
from halflap.upstream.wire import REFUSED, RequestFailedError, Wire

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping

    from halflap.config import ServerConfig
    from halflap.core.values import CallContext, Listing
    from halflap.upstream.guardian import Guardian
    from halflap.upstream.log import ServerLog
    from halflap.upstream.reason import Reason
    from halflap.upstream.status import State, Trouble

__all__ = ["Upstream"]

logger = logging.getLogger(__name__)

_RECONNECTS = 6
"""So many times in a row a lost server is brought back by itself; then it waits until it is needed."""
_BACKOFF_SECONDS = 0.25
_LONGEST_BACKOFF_SECONDS = 30.0
_STABLE_SECONDS = 30.0
"""A connection that held so long starts counting anew when it is lost."""
_SETTLE_SECONDS = 0.05
"""A server that announces changes tends to announce several at once."""
_CLOSING_SECONDS = 8.0
"""How long a server may take to be stopped in order; its supervisor takes four of them at most."""
_LONGEST_SHOWN = 200
_ATTEMPTS = 3
"""So often at most one call is sent, however often it provably did not arrive."""


class Upstream:
    """A `ToolSource` over one configured server."""

    def __init__(
        self,
        config: ServerConfig,
        *,
        guardian: Guardian,
        log: ServerLog,
        version: str,
        list_roots: Callable[[], Awaitable[list[dict[str, Any]]]],
        on_listing: Callable[[Listing], Awaitable[None]],
        spoke: str | None = None,
        redact: Callable[[str], str] = str,
        in_process: Any = None,
    ) -> None:
        self.config = config
        self._in_process = in_process
        """The server object, where `transport` is `memory`."""
        self.log = log
        self.reason: str | None = None
        self._trouble: Trouble | None = None
        self._guardian = guardian
        self._redact = redact
        """Takes secrets out of what it says of itself when something goes wrong."""
        self._version = version
        self._list_roots = list_roots
        self._on_listing = on_listing
        self._spoke = spoke
        """The protocol version that it spoke last time, to greet it that way at once."""
        self._transport = config.transport
        self._state: State = "disabled" if config.disabled else "idle"
        if config.broken is not None and not config.disabled:
            self._state, self.reason, self._trouble = "failed", config.broken, "misconfigured"
        self._places = asyncio.Semaphore(config.max_concurrent_calls)
        self._current: asyncio.Future[Session] | None = None
        self._owner: asyncio.Task[None] | None = None
        self._scope: anyio.CancelScope | None = None
        self._stop = asyncio.Event()
        self._changed = asyncio.Event()
        self._failures = 0
        self._next_try = 0.0
        self._starts = 0
        self._wants_sign_in = False
        self._start_seconds: float | None = None
        self._listing: Listing | None = None
        self._pid: int | None = None

    @property
    def name(self) -> str:
        return self.config.name

    def status(self) -> Status:
        """Say how it is doing, without touching it."""
        listing = self._listing
        return Status(
            name=self.name,
            state=self._state,
            reason=self.reason,
            trouble=self._trouble,
            start_seconds=self._start_seconds,
            protocol_version=listing.protocol_version if listing else self._spoke,
            server_info=listing.server_info if listing else None,
            pid=self._pid if self._state == "ready" else None,
            starts=self._starts,
            warnings=listing.warnings if listing else (),
        )

    async def list(self) -> Listing:
        """Start the server if need be and give its tools as they are now."""
        connected = self._state == "ready"
        session = await self._session()
        if not connected and self._listing is not None:
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
            reason = explain(error, self.config, session.wire, self.log)
            raise UpstreamUnavailableError(self.name, self._redact(reason.words)) from error
        await self._take(listing)
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
        """Call a tool. A call that may have reached the server is repeated only if that does no harm."""
        await self._take_place(tool, context)
        try:
            attempt = 0
            while True:
                attempt += 1
                session = await self._session(context.deadline)
                await admit()
                try:
                    return Result.from_wire(await send(session, self.config, tool, arguments, context))
                except RequestFailedError as failure:
                    said = self._redact(failure.message)
                    if failure.code == REFUSED:
                        raise UpstreamUnavailableError(self.name, said) from failure
                    if not failure.lost:
                        raise ToolFailedError(tool, self.name, failure.code, said) from failure
                    if failure.gone:
                        self._lose(session)
                    if attempt < _ATTEMPTS and (repeatable or not failure.sent):
                        continue
                    why = self._redact(session.wire.trouble or failure.message)
                    raise lost(self.name, tool, why, sent=failure.sent) from failure
        finally:
            self._places.release()

    async def _take_place(self, tool: str, context: CallContext) -> None:
        """Wait for one of the places of this server, but not beyond the deadline."""
        with anyio.CancelScope(deadline=math.inf if context.deadline is None else context.deadline):
            await self._places.acquire()
            return
        raise CallTimeoutError(
            self.name,
            f"{visible(tool, _LONGEST_SHOWN)!r} had to wait for other calls until the deadline; it was not sent.",
        )

    async def roots_changed(self) -> None:
        """Pass on that the roots changed, if it is running."""
        if self._state == "ready" and self._current is not None and self._current.done():
            await self._current.result().roots_changed()

    async def close(self) -> None:
        """Stop it, in order."""
        self._stop.set()
        if self._state != "ready" and self._scope is not None:
            self._scope.cancel()
        if self._owner is not None:
            await asyncio.wait([self._owner], timeout=_CLOSING_SECONDS)
            self._owner.cancel()
            await asyncio.wait([self._owner], timeout=1.0)
        if self._current is not None and not self._current.done():
            self._current.set_exception(UpstreamUnavailableError(self.name, "Halflap is shutting down."))

    async def _session(self, deadline: float | None = None) -> Session:
        """Give the live session; starts the server, or waits for it to come back, if need be."""
        if self.config.disabled:
            raise UpstreamUnavailableError(
                self.name, "it is disabled in the configuration. Take `disabled` out to use it."
            )
        if self.config.broken is not None:
            raise UpstreamUnavailableError(self.name, self.config.broken)
        if self._stop.is_set():
            raise UpstreamUnavailableError(self.name, "Halflap is shutting down.")
        if self._current is None:
            wait = self._next_try - anyio.current_time()
            if wait > 0:
                raise UpstreamUnavailableError(self.name, f"{self.reason} Next try in {wait:.1f} s.")
            self._current = _future()
            self._owner = asyncio.create_task(self._own(), name=f"upstream {self.name}")
        limit = anyio.current_time() + self.config.start_timeout_seconds + self.config.call_timeout_seconds
        with anyio.move_on_at(limit if deadline is None else min(deadline, limit)):
            return await asyncio.shield(self._current)
        raise UpstreamUnavailableError(
            self.name, self.reason or "it is still starting. Ask again in a moment."
        )

    def _lose(self, session: Session) -> None:
        """Give a session up; the owner brings the next one, and callers wait for that from now on."""
        if self._current is not None and self._current.done() and not self._current.exception():
            if self._current.result() is not session:
                return
            self._current = _future()
            self._state = "reconnecting"
        session.wire.broken.set()

    async def _own(self) -> None:
        """Keep the server connected until it is closed, fails to start, or is lost too often."""
        losses = 0
        while True:
            ready_for = await self._connect()
            if self._stop.is_set():
                return
            if ready_for is None and losses == 0:
                self._failures += 1
                break
            losses = 1 if ready_for is not None and ready_for >= _STABLE_SECONDS else losses + 1
            if losses > _RECONNECTS:
                self._failures += 1
                break
            self._state = "reconnecting"
            logger.info("server %r: %s Reconnecting.", self.name, self.reason)
            if losses > 1:
                with anyio.move_on_after(_backoff(losses - 1)):
                    await self._stop.wait()
                    return
        self._state = "needs-sign-in" if self._wants_sign_in else "failed"
        self._next_try = anyio.current_time() + _backoff(self._failures)
        waiting, self._current = self._current, None
        if waiting is not None and not waiting.done():
            waiting.set_exception(
                UpstreamUnavailableError(self.name, self.reason or "it could not be started.")
            )

    async def _connect(self) -> float | None:
        """Connect once and stay until it ends. Gives how long it was ready; None if it never was."""
        wire = Wire()
        began = anyio.current_time()
        ready_at: float | None = None
        self._state = "starting" if self._state != "reconnecting" else "reconnecting"
        self._starts += 1
        self.log.begin()
        failure: BaseException | None = None
        with anyio.CancelScope(deadline=began + self.config.start_timeout_seconds) as scope:
            self._scope = scope
            try:
                async with self._open(wire) as session:
                    listing = await session.list(self.name)
                    await self._take(listing)
                    scope.deadline = math.inf
                    ready_at = anyio.current_time()
                    self._is_ready(session, ready_at - began)
                    await self._attend(session)
                    self._lose(session)
            except Exception as error:  # noqa: BLE001 -- a server may fail in any way; it must not take us along
                failure = error
        self._scope = None
        self._pid = None
        self._wants_sign_in = wire.wants_sign_in
        if failure is not None:
            self._fail(explain(failure, self.config, wire, self.log))
        elif ready_at is None and scope.cancelled_caught:
            self._fail(explain_timeout(self.config, wire, self.log))
        elif ready_at is not None and not self._stop.is_set():
            self.reason = self._redact(wire.trouble or "the connection was lost.")
        if (
            failure is not None
            and ready_at is not None
            and self._current is not None
            and self._current.done()
        ):
            self._current = _future()
        if self._stop.is_set():
            self._state = "idle"
        return None if ready_at is None else anyio.current_time() - ready_at

    def _fail(self, reason: Reason) -> None:
        self._trouble, self.reason = reason.trouble, self._redact(reason.words)

    def _is_ready(self, session: Session, seconds: float) -> None:
        self._state = "ready"
        session.wire.ready = True
        self._failures = 0
        self.reason = self._trouble = None
        self._start_seconds = seconds
        self._spoke = session.client.protocol_version
        self._pid = session.wire.pid
        if self._current is not None and not self._current.done():
            self._current.set_result(session)

    @asynccontextmanager
    async def _open(self, wire: Wire) -> AsyncIterator[Session]:
        """Open the transport, and the session on it, greeted."""
        if self._transport == "auto":
            try:
                async with self._open_as("http", wire) as session:
                    self._transport = "http"
                    yield session
            except Exception:
                if self._transport == "http" or not wire.fallback_to_sse:
                    raise
                wire.trouble = None
                self._transport = "sse"
            else:
                return
        async with self._open_as(self._transport, wire) as session:
            yield session

    @asynccontextmanager
    async def _open_as(self, transport: str, wire: Wire) -> AsyncIterator[Session]:
        async with AsyncExitStack() as stack:
            if transport == "stdio":
                opened: Any = stdio_streams(self._guardian, self.config, wire, self.log)
            elif transport == "sse":
                opened = sse_streams(self.config, wire)
            elif transport == "memory":
                opened = memory_streams(self._in_process)
            else:
                opened = http_streams(self.config, wire)
            session = await stack.enter_async_context(
                Session(
                    await stack.enter_async_context(opened),
                    wire,
                    version=self._version,
                    list_roots=self._list_roots,
                    on_tools_changed=self._changed.set,
                )
            )
            await agree(session.client, self.config.protocol, self._spoke)
            wire.greeted = True
            yield session

    async def _attend(self, session: Session) -> None:
        """Stay with a ready session until it ends or is to be closed."""
        async with anyio.create_task_group() as tasks:

            async def until(ended: Awaitable[Any]) -> None:
                await ended
                tasks.cancel_scope.cancel()

            tasks.start_soon(session.watch_tools)
            tasks.start_soon(self._relist_when_changed, session)
            tasks.start_soon(until, self._stop.wait())
            tasks.start_soon(until, session.ended())

    async def _relist_when_changed(self, session: Session) -> None:
        while True:
            await self._changed.wait()
            await anyio.sleep(_SETTLE_SECONDS)
            self._changed.clear()
            try:
                with anyio.fail_after(self.config.start_timeout_seconds):
                    await self._take(await session.list(self.name))
            except Exception:  # noqa: BLE001 -- the old listing stays; the next need lists again
                logger.warning("server %r announced other tools but did not list them", self.name)

    async def _take(self, listing: Listing) -> None:
        self._listing = listing
        for warning in listing.warnings:
            logger.warning("server %r: %s", self.name, warning)
        await self._on_listing(listing)


def _future() -> asyncio.Future[Session]:
    future: asyncio.Future[Session] = asyncio.get_running_loop().create_future()
    # Nobody may be waiting when it fails; that is no mistake.
    future.add_done_callback(lambda done: done.cancelled() or done.exception())
    return future


def _backoff(failures: int) -> float:
    """Wait longer each time, and never in step with others."""
    longest: float = min(_LONGEST_BACKOFF_SECONDS, _BACKOFF_SECONDS * 2 ** min(failures, 16))
    return longest * random.uniform(0.5, 1.0)  # noqa: S311 -- jitter, not a secret
