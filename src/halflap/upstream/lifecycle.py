"""Keep one server connected: start it when it is first needed, reconnect when the connection is lost, stop it at the end."""

from __future__ import annotations

import asyncio
import logging
import math
from contextlib import AbstractAsyncContextManager
from contextvars import Context
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import anyio

# The SDK offers its in-memory transport only through its own `Client`, which validates results as a whole.
from mcp.client._memory import InMemoryTransport

from halflap.core.errors import SignInNeededError, UpstreamUnavailableError
from halflap.upstream.announcements import Announcements
from halflap.upstream.connection import Connection, Failure, Hooks, Trouble, explain
from halflap.upstream.http import http_streams
from halflap.upstream.listing import list_tools
from halflap.upstream.questions import Questions
from halflap.upstream.retry import START_PAUSE_SECONDS, Backoff
from halflap.upstream.session import Session
from halflap.upstream.stdio import stdio_streams

if TYPE_CHECKING:
    from halflap.config import ServerConfig
    from halflap.core.values import Listing
    from halflap.upstream.log import ServerLog
    from halflap.upstream.signin import SignIn

logger = logging.getLogger(__name__)

State = Literal["idle", "starting", "ready", "reconnecting", "failed", "needs-sign-in", "disabled"]

_CLOSE_SECONDS = 8.0
"""How long a server may take to stop; its guardian needs up to six seconds."""
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
    starts: int = 0
    warnings: tuple[str, ...] = ()


class Lifecycle:
    """Owns the connection to one server. One task (`_keep_connected`) maintains it; callers wait for `_current`, a future session."""

    def __init__(self, config: ServerConfig, hooks: Hooks, log: ServerLog, sign_in: SignIn | None) -> None:
        self.sign_in = sign_in
        """None if the server can't ask for one, or its configuration has a token."""
        self._blocked = config.blocked
        state: State = "disabled" if config.disabled else "failed" if self._blocked else "idle"
        self.status = Status(config.name, state, protocol_version=hooks.last_versions.get(config.name))
        if state == "failed":
            self._set(reason=self._blocked, trouble="misconfigured")
        self.announcements = Announcements(config, hooks, self._list_tools)
        self._config = config
        self._hooks = hooks
        self._log = log
        self._listing: Listing | None = None
        self._transport: str = config.transport
        self._current: asyncio.Future[Session] | None = None
        self._owner: asyncio.Task[None] | None = None
        self._next_try = 0.0

    @property
    def is_ready(self) -> bool:
        return self.status.state == "ready"

    def _set(self, **fields: Any) -> None:
        self.status = replace(self.status, **fields)

    async def session(self, deadline: float | None = None) -> Session:
        """Return the live session; starts the server, or waits for it to reconnect, if necessary."""
        if self._blocked is not None:
            raise self._unavailable(self._blocked)
        if self._current is None:
            wait = self._next_try - anyio.current_time()
            if wait > 0:
                raise self._unavailable(f"{self._reason} Next try in {wait:.1f} s.")
            self._current = _future()
            # In an empty context, because the task outlives the current request.
            self._owner = asyncio.create_task(
                self._keep_connected(), name=f"upstream {self._config.name}", context=Context()
            )
        limit = anyio.current_time() + self._config.start_timeout_seconds + self._config.call_timeout_seconds
        with anyio.move_on_at(limit if deadline is None else min(deadline, limit)):
            return await asyncio.shield(self._current)
        raise self._unavailable(self._reason)

    def discard(self, session: Session) -> None:
        """Discard a session; callers wait for the next one."""
        current = self._current
        if current is not None and current.done() and not current.exception() and current.result() is session:
            self._current = _future()
            self._set(state="reconnecting")
        session.connection.closed.set()

    async def list(self) -> Listing:
        """Return the tools as they are now; starts the server if necessary."""
        was_ready = self.is_ready
        session = await self.session()
        if was_ready:
            try:
                await self._list_tools(session)
            except Exception as error:
                failure = explain(error, self._config, session.connection, self._log)
                raise self._unavailable(self._log.redact(failure.message)) from error
        assert self._listing is not None
        return self._listing

    async def _list_tools(self, session: Session) -> None:
        """List the tools, remember the list, and publish it."""
        with anyio.fail_after(self._config.start_timeout_seconds):
            listing = await list_tools(session, self._config.name)
        self._listing = listing
        self._set(
            protocol_version=listing.protocol_version,
            server_info=listing.server_info,
            warnings=listing.warnings,
        )
        for warning in listing.warnings:
            logger.warning("server %r: %s", self._config.name, warning)
        await self._hooks.on_listing(listing)

    async def close(self) -> None:
        """Stop the server: gracefully if it is ready, immediately if it is still starting."""
        self._blocked = _SHUTTING_DOWN
        if self._owner is not None and not self._owner.done():
            self._owner.cancel()
            _, pending = await asyncio.wait([self._owner], timeout=_CLOSE_SECONDS)
            for stuck in pending:
                stuck.cancel()
            self._set(state="idle")
        if self._current is not None and not self._current.done():
            self._current.set_exception(self._unavailable(_SHUTTING_DOWN))

    @property
    def _reason(self) -> str:
        return self.status.reason or "it is still starting. Try again in a moment."

    def _unavailable(self, reason: str) -> UpstreamUnavailableError:
        is_refused = self.status.state == "needs-sign-in" and self.sign_in is not None
        return (SignInNeededError if is_refused else UpstreamUnavailableError)(self._config.name, reason)

    async def _keep_connected(self) -> None:
        """Keep the server connected until it is closed, fails to start, or is lost too often."""
        backoff = Backoff()
        while True:
            connection = Connection()
            ready_seconds = await self._connect(connection)
            if ready_seconds is None and self._transport == "auto" and connection.only_sse:
                # A `url` without a transport is tried as streamable HTTP, then as SSE.
                self._transport = "sse"
                continue
            pause = backoff.pause(ready_seconds)
            if pause is None:
                break
            self._set(state="reconnecting")
            logger.info("server %r: %s Reconnecting.", self._config.name, self._reason)
            await asyncio.sleep(pause)
        is_refused = self.status.trouble == "sign-in-needed"
        self._set(state="needs-sign-in" if is_refused else "failed")
        self._next_try = anyio.current_time() + (0.0 if is_refused else START_PAUSE_SECONDS)
        waiting, self._current = self._current, None
        if waiting is not None and not waiting.done():
            waiting.set_exception(self._unavailable(self._reason))

    async def _connect(self, connection: Connection) -> float | None:
        """Connect, and return when the connection ends: how many seconds it was ready, or None if it never was."""
        start = anyio.current_time()
        ready_at: float | None = None
        state: State = "reconnecting" if self.status.state == "reconnecting" else "starting"
        self._set(state=state, starts=self.status.starts + 1)
        self._log.start_process()
        questions = Questions(
            self._hooks.list_roots, enabled=self._config.questions, is_local=self._config.url is None
        )
        on_change, version = self.announcements.on_change, self._hooks.version
        failure = Failure("not-reached", "the connection was lost.")
        try:
            with anyio.fail_after(self._config.start_timeout_seconds) as scope:
                async with (
                    self._streams(connection) as streams,
                    Session(streams, connection, questions, on_change, version) as session,
                ):
                    await session.negotiate(self._config.protocol, self.status.protocol_version)
                    await self._list_tools(session)
                    scope.deadline = math.inf
                    ready_at = anyio.current_time()
                    self._transport = "http" if self._transport == "auto" else self._transport
                    await self._serve(session, ready_at - start)
            failure = connection.failure or failure
        except Exception as error:  # noqa: BLE001 -- a server may fail in any way, but only for itself
            failure = explain(error, self._config, connection, self._log)
        self._set(reason=self._log.redact(failure.message), trouble=failure.trouble)
        return None if ready_at is None else anyio.current_time() - ready_at

    def _streams(self, connection: Connection) -> AbstractAsyncContextManager[Any]:
        if self._transport == "stdio":
            return stdio_streams(self._config, connection, self._log)
        if self._transport == "memory":
            return InMemoryTransport(self._hooks.in_process[self._config.name])
        return http_streams(self._config, connection, self.sign_in, is_sse=self._transport == "sse")

    async def _serve(self, session: Session, start_seconds: float) -> None:
        """Hand out a ready session until it ends."""
        session.connection.ready = True
        self._set(state="ready", reason=None, trouble=None, start_seconds=start_seconds)
        if self._current is not None and not self._current.done():
            self._current.set_result(session)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self.announcements.follow, session)
                await session.connection.closed.wait()
                tasks.cancel_scope.cancel()
        finally:
            self.discard(session)


def _future() -> asyncio.Future[Session]:
    future: asyncio.Future[Session] = asyncio.get_running_loop().create_future()
    # asyncio complains about exceptions that are never retrieved, and there may be no caller when it fails.
    future.add_done_callback(lambda done: done.cancelled() or done.exception())
    return future
