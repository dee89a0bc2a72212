"""The servers behind the gateway, shared by all callers: list what they have, and send them requests within limits."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from halflap.core.errors import (
    CallTimeoutError,
    InputRequiredError,
    SignInNeededError,
    ToolFailedError,
    UpstreamUnavailableError,
)
from halflap.core.text import quote
from halflap.core.values import CallContext, Listing, Result, person_of
from halflap.upstream.connection import OWN_CODES, REFUSED, Connection, Hooks, RequestFailedError
from halflap.upstream.definitions import list_tools
from halflap.upstream.failure import call_lost, explain
from halflap.upstream.lifecycle import Lifecycle, Status
from halflap.upstream.log import ServerLog
from halflap.upstream.questions import Pending
from halflap.upstream.signin import SignIn, can_open_links, sign_in_through_client

if TYPE_CHECKING:
    from halflap.config import ServerConfig
    from halflap.upstream.session import Session
    from halflap.upstream.signin import CredentialStore, SignedIn

_MAX_ATTEMPTS = 3
"""How often one call is sent at most, even if it provably never arrived."""
_CANCEL_SECONDS = 0.3
"""How long a cancelled call may take to notify the server; after that it continues in the background."""

_running: set[asyncio.Task[dict[str, Any]]] = set()
"""Keeps cancelled calls alive until they end: the event loop holds only weak references to tasks."""


class Upstream:
    """A `ToolSource` over one configured server."""

    def __init__(
        self,
        config: ServerConfig,
        hooks: Hooks,
        log: ServerLog,
        *,
        last_version: str | None = None,
        in_process: Any = None,
        credentials: CredentialStore | None = None,
    ) -> None:
        self.config = config
        self.log = log
        self._credentials = credentials if _may_sign_in(config) else None
        self._hooks = hooks
        self._personal: dict[str, Lifecycle] = {}
        """A connection for each person who shares the gateway, where they sign in to the server."""
        self._lifecycle = Lifecycle(
            config,
            hooks,
            log,
            last_version=last_version,
            in_process=in_process,
            sign_in=self._sign_in("local"),
        )
        self._signing_in = asyncio.Lock()
        self._slots = asyncio.Semaphore(config.max_concurrent_calls)

    @property
    def name(self) -> str:
        return self.config.name

    def status(self) -> Status:
        return self._lifecycle.status

    async def list(self) -> Listing:
        """Return the tools as they are now; starts the server if necessary."""
        was_ready = self._lifecycle.is_ready
        session = await self._lifecycle.session()
        if was_ready or self._lifecycle.listing is None:
            seconds = self.config.start_timeout_seconds
            try:
                with anyio.fail_after(seconds):
                    await self._lifecycle.keep(await list_tools(session, self.name))
            except TimeoutError:
                hint = "If it needs longer, raise `start_timeout_seconds` for it."
                message = f"it did not list its tools within {seconds:g} s. {hint}"
                raise UpstreamUnavailableError(self.name, message) from None
            except Exception as error:
                failure = explain(error, self.config, session.connection, self.log)
                raise UpstreamUnavailableError(self.name, self.log.redact(failure.message)) from error
        assert self._lifecycle.listing is not None
        return self._lifecycle.listing

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
        params = {"name": tool, "arguments": arguments}
        raw = await self.request("tools/call", params, context, repeatable=repeatable, admit=admit)
        return Result.from_wire(raw)

    async def request(
        self,
        method: str,
        params: Mapping[str, Any],
        context: CallContext,
        *,
        repeatable: bool,
        admit: Callable[[], Coroutine[Any, Any, None]],
    ) -> dict[str, Any]:
        """Send a request on behalf of a client, as `call` does, and return the raw result.

        If the server wants a person to sign in and the client can show them a link, it is sent again after that.
        """
        lifecycle = self._lifecycle_of(context)
        send = partial(self._request, lifecycle, method, params, context, repeatable=repeatable, admit=admit)
        began = time.time()
        try:
            return await send()
        except SignInNeededError:
            if lifecycle.sign_in is None or not can_open_links(context):
                raise
            async with self._signing_in:
                held = await lifecycle.sign_in.held()
                # Another call may have signed in while this one waited.
                if held is None or held.signed_in_at < began:
                    await sign_in_through_client(lifecycle.sign_in, context)
            return await send()

    async def _request(
        self,
        lifecycle: Lifecycle,
        method: str,
        params: Mapping[str, Any],
        context: CallContext,
        *,
        repeatable: bool,
        admit: Callable[[], Coroutine[Any, Any, None]],
    ) -> dict[str, Any]:
        what = _target(method, params)
        async with self._slot(what, context):
            for attempt in range(1, _MAX_ATTEMPTS + 1):
                session = await lifecycle.session(context.deadline)
                await admit()
                try:
                    raw = await self._send(session, method, params, context)
                except RequestFailedError as failed:
                    if failed.session_lost:
                        lifecycle.give_up(session)
                    may_repeat = failed.lost and (repeatable or not failed.may_have_arrived)
                    if not may_repeat or attempt == _MAX_ATTEMPTS:
                        raise self._call_error(what, failed, session.connection) from failed
                else:
                    if raw.get("resultType") == "input_required":
                        raise InputRequiredError(what, raw)
                    return raw
            raise AssertionError("unreachable")

    async def features_known(self, seconds: float) -> None:
        """Wait until it is known what the server offers besides tools; starts it if necessary."""
        with anyio.move_on_after(seconds):
            await self._lifecycle.session()
            await self._lifecycle.announcements.has_features.wait()

    async def watch(self, uri: str, *, on: bool) -> None:
        """Watch a resource, whose changes come as events, or stop watching it."""
        session = await self._lifecycle.session()
        try:
            await self._lifecycle.announcements.watch(uri, session, on=on)
        except RequestFailedError as failed:
            raise self._call_error(uri, failed, session.connection) from failed

    async def set_log_level(self, level: str) -> None:
        """Set the lowest level of log messages, also for later connections."""
        session = await self._lifecycle.session() if self._lifecycle.is_ready else None
        with suppress(RequestFailedError):
            await self._lifecycle.announcements.set_log_level(level, session)

    async def roots_changed(self) -> None:
        if self._lifecycle.is_ready:
            await (await self._lifecycle.session()).notify("notifications/roots/list_changed")

    async def close(self) -> None:
        await asyncio.gather(*(one.close() for one in (self._lifecycle, *self._personal.values())))

    def _sign_in(self, principal: str) -> SignIn | None:
        return None if self._credentials is None else SignIn(self.config, principal, self._credentials)

    def _lifecycle_of(self, context: CallContext) -> Lifecycle:
        """Return the connection with the sign-in of the caller; the gateway's owner lists the tools."""
        if self._credentials is None or person_of(context.principal) is None:
            return self._lifecycle
        if context.principal not in self._personal:
            self._personal[context.principal] = Lifecycle(
                self.config,
                replace(self._hooks, on_listing=self._absorb_personal),
                self.log,
                last_version=self._lifecycle.status.protocol_version,
                in_process=None,
                sign_in=self._sign_in(context.principal),
            )
        return self._personal[context.principal]

    async def _absorb_personal(self, listing: Listing) -> None:
        """Take the tools that a person sees only if the owner is not signed in: they may differ."""
        if not self._lifecycle.is_ready:
            await self._hooks.on_listing(listing)

    @asynccontextmanager
    async def _slot(self, what: str, context: CallContext) -> AsyncIterator[None]:
        with anyio.CancelScope(deadline=math.inf if context.deadline is None else context.deadline) as scope:
            await self._slots.acquire()
        if scope.cancelled_caught:
            raise CallTimeoutError(
                self.name, f"{quote(what)} had to wait for other calls until the deadline; it was not sent."
            )
        try:
            yield
        finally:
            self._slots.release()

    async def _send(
        self, session: Session, method: str, params: Mapping[str, Any], context: CallContext
    ) -> dict[str, Any]:
        """Send a request and wait as long as its limits allow."""
        what = _target(method, params)
        start = anyio.current_time()
        end = min(start + self.config.max_call_timeout_seconds, context.deadline or math.inf)
        pending = Pending(context, anyio.CancelScope(), self.config.call_timeout_seconds, end)
        pending.restart_clock()

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            pending.restart_clock()
            if context.progress is not None:
                await context.progress(progress, total, message)

        with pending.scope:
            if method == "tools/call" and what in self._lifecycle.task_tools and not session.is_modern:
                return await _abandonable(session.run_task(params, pending))
            return await _abandonable(session.request(method, params, pending, on_progress))
        seconds = f"{anyio.current_time() - start:.1f} s"
        if context.deadline is not None and anyio.current_time() >= context.deadline:
            message = f"it did not answer {quote(what)} before the deadline ({seconds})."
            raise CallTimeoutError(self.name, message)
        setting = "max_call_timeout_seconds" if pending.scope.deadline == end else "call_timeout_seconds"
        raise CallTimeoutError(
            self.name,
            f"it did not answer {quote(what)} within {seconds}, and the call was cancelled. "
            f"If it needs longer, raise `{setting}` for it.",
        )

    def _call_error(self, what: str, failed: RequestFailedError, connection: Connection) -> Exception:
        message = self.log.redact(failed.message)
        if failed.lost:
            if failed.code not in OWN_CODES and connection.failure is not None:
                # The SDK says no more than that the connection is closed.
                message = self.log.redact(connection.failure.message)
            return call_lost(self.name, what, message, may_have_arrived=failed.may_have_arrived)
        if failed.code == REFUSED:
            refused = UpstreamUnavailableError if self._credentials is None else SignInNeededError
            return refused(self.name, message)
        return ToolFailedError(what, self.name, failed.code, message, failed.data)


def _may_sign_in(server: ServerConfig) -> bool:
    return server.url is not None and not any(name.lower() == "authorization" for name in server.headers)


def _target(method: str, params: Mapping[str, Any]) -> str:
    """Return what a request is about, for messages."""
    return str(params.get("name") or params.get("uri") or method)


async def _abandonable(sending: Coroutine[Any, Any, dict[str, Any]]) -> dict[str, Any]:
    """Wait for a request, but not for long once it is cancelled: a server that reads nothing blocks even that."""
    task = asyncio.create_task(sending)
    _running.add(task)
    task.add_done_callback(_ended)
    try:
        return await asyncio.shield(task)
    finally:
        if not task.done():
            task.cancel()
            with anyio.CancelScope(shield=True):
                await asyncio.wait([task], timeout=_CANCEL_SECONDS)


def _ended(task: asyncio.Task[dict[str, Any]]) -> None:
    _running.discard(task)
    if not task.cancelled():
        # Its caller may be gone; asyncio complains about exceptions that are never retrieved.
        task.exception()


class Pool:
    """The upstreams by name. None starts before it is needed; all end together."""

    def __init__(
        self,
        servers: tuple[ServerConfig, ...],
        hooks: Hooks,
        *,
        log_folder: Path | None,
        redact: Callable[[str], str],
        last_versions: Mapping[str, str | None],
        in_process: Mapping[str, Any],
        credentials: CredentialStore,
    ) -> None:
        self._credentials = credentials
        self._upstreams = {
            server.name: Upstream(
                server,
                hooks,
                ServerLog(log_folder, server.name, redact),
                last_version=last_versions.get(server.name),
                in_process=in_process.get(server.name),
                credentials=credentials,
            )
            for server in servers
        }

    def __iter__(self) -> Iterator[Upstream]:
        return iter(self._upstreams.values())

    def __getitem__(self, name: str) -> Upstream:
        return self._upstreams[name]

    async def sign_ins(self) -> dict[str, list[SignedIn]]:
        """Return who is signed in to each server."""
        found = await self._credentials.signed_in()
        return {one.name: [held for held in found if held.url == one.config.url] for one in self}

    async def roots_changed(self) -> None:
        """Notify every running server that the roots changed."""
        await asyncio.gather(*(upstream.roots_changed() for upstream in self), return_exceptions=True)

    async def set_log_level(self, level: str) -> None:
        """Set the lowest level of log messages of every server."""
        await asyncio.gather(*(upstream.set_log_level(level) for upstream in self), return_exceptions=True)

    async def close(self) -> None:
        await asyncio.gather(*(upstream.close() for upstream in self), return_exceptions=True)
