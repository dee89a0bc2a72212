"""The servers behind the gateway, shared by all callers: list what they have, and send them requests within limits."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from halflap.core.errors import (
    CallTimeoutError,
    InputRequiredError,
    SignInNeededError,
    ToolFailedError,
    UpstreamLostError,
    UpstreamUnavailableError,
)
from halflap.core.text import quote
from halflap.core.values import CallContext, Listing, Result, person_of
from halflap.upstream.connection import OWN_CODES, REFUSED, Connection, Hooks, RequestFailedError
from halflap.upstream.lifecycle import Lifecycle, Status
from halflap.upstream.log import ServerLog
from halflap.upstream.questions import Pending
from halflap.upstream.signin import SignIn, can_open_links, sign_in_through_client

if TYPE_CHECKING:
    from halflap.config import ServerConfig
    from halflap.upstream.session import Session
    from halflap.upstream.signin import CredentialStore, SignedIn

    Admit = Callable[[], Coroutine[Any, Any, None]]

_MAX_ATTEMPTS = 3
"""How often one call is sent at most, even if it provably never arrived."""
_CANCEL_SECONDS = 0.3
"""How long a cancelled call may take to notify the server; after that it continues in the background."""
_OWNER = "local"
"""The principal whose sign-in the gateway's own connection uses."""

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
        last_version: str | None,
        in_process: Any,
        credentials: CredentialStore,
    ) -> None:
        self.config = config
        self.log = log
        has_token = any(name.lower() == "authorization" for name in config.headers)
        self._credentials = None if config.url is None or has_token else credentials
        self._hooks = hooks
        self._lifecycle = self._connection(_OWNER, hooks, last_version, in_process)
        self._personal: dict[str, Lifecycle] = {}
        """A connection for each person who shares the gateway, where they sign in to the server."""
        self._slots = asyncio.Semaphore(config.max_concurrent_calls)

    @property
    def name(self) -> str:
        return self.config.name

    def status(self) -> Status:
        return self._lifecycle.status

    async def list(self) -> Listing:
        """Return the tools as they are now; starts the server if necessary."""
        return await self._lifecycle.list()

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        context: CallContext,
        *,
        repeatable: bool,
        admit: Admit,
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
        admit: Admit,
    ) -> dict[str, Any]:
        """Send a request on behalf of a client, as `call` does, and return the raw result.

        If the server wants a person to sign in and the client can show them a link, it is sent again after that.
        """
        lifecycle = self._lifecycle_of(context)

        async def send() -> dict[str, Any]:
            for attempt in range(1, _MAX_ATTEMPTS + 1):
                session = await lifecycle.session(context.deadline)
                await admit()
                try:
                    return await self._send(session, method, params, context)
                except RequestFailedError as failed:
                    if failed.session_lost:
                        lifecycle.give_up(session)
                    may_repeat = failed.lost and (repeatable or not failed.may_have_arrived)
                    if not may_repeat or attempt == _MAX_ATTEMPTS:
                        raise self._call_error(
                            _target(method, params), failed, session.connection
                        ) from failed
            raise AssertionError("unreachable")

        began = time.time()
        try:
            return await self._in_turn(send, method, params, context)
        except SignInNeededError:
            if lifecycle.sign_in is None or not can_open_links(context):
                raise
        await sign_in_through_client(lifecycle.sign_in, context, began)
        return await self._in_turn(send, method, params, context)

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

    def _connection(
        self, principal: str, hooks: Hooks, last_version: str | None, in_process: Any
    ) -> Lifecycle:
        sign_in = None if self._credentials is None else SignIn(self.config, principal, self._credentials)
        return Lifecycle(
            self.config, hooks, self.log, last_version=last_version, in_process=in_process, sign_in=sign_in
        )

    def _lifecycle_of(self, context: CallContext) -> Lifecycle:
        """Return the connection with the sign-in of the caller; the gateway's owner lists the tools."""
        principal = context.principal
        if self._credentials is None or person_of(principal) is None:
            return self._lifecycle
        if principal not in self._personal:
            hooks = replace(self._hooks, on_listing=self._absorb_personal)
            version = self._lifecycle.status.protocol_version
            self._personal[principal] = self._connection(principal, hooks, version, None)
        return self._personal[principal]

    async def _absorb_personal(self, listing: Listing) -> None:
        """Take the tools that a person sees only if the owner is not signed in: they may differ."""
        if not self._lifecycle.is_ready:
            await self._hooks.on_listing(listing)

    async def _in_turn(
        self,
        send: Callable[[], Coroutine[Any, Any, dict[str, Any]]],
        method: str,
        params: Mapping[str, Any],
        context: CallContext,
    ) -> dict[str, Any]:
        """Send a request when one of the places for calls is free."""
        what = _target(method, params)
        try:
            with anyio.fail_after(_seconds_until(context.deadline)):
                await self._slots.acquire()
        except TimeoutError:
            message = f"{quote(what)} had to wait for other calls until the deadline; it was not sent."
            raise CallTimeoutError(self.name, message) from None
        try:
            raw = await send()
        finally:
            self._slots.release()
        if raw.get("resultType") == "input_required":
            raise InputRequiredError(what, raw)
        return raw

    async def _send(
        self, session: Session, method: str, params: Mapping[str, Any], context: CallContext
    ) -> dict[str, Any]:
        """Send a request and wait as long as its limits allow."""
        what = _target(method, params)
        start = anyio.current_time()
        end = min(start + self.config.max_call_timeout_seconds, context.deadline or math.inf)
        pending = Pending(context, anyio.CancelScope(), self.config.call_timeout_seconds, end)
        pending.restart_clock()
        with pending.scope:
            if method == "tools/call" and what in self._lifecycle.task_tools and not session.is_modern:
                return await _abandonable(session.run_task(params, pending))
            return await _abandonable(session.request(method, params, pending))
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
        """Return the error of a call, which says whether the call may have taken effect."""
        message = self.log.redact(failed.message)
        if not failed.lost:
            if failed.code == REFUSED:
                refused = UpstreamUnavailableError if self._credentials is None else SignInNeededError
                return refused(self.name, message)
            return ToolFailedError(what, self.name, failed.code, message, failed.data)
        if failed.code not in OWN_CODES and connection.failure is not None:
            # The SDK says no more than that the connection is closed.
            message = self.log.redact(connection.failure.message)
        why = message.rstrip(".")
        if not failed.may_have_arrived:
            return UpstreamUnavailableError(self.name, f"{why}. The call of {quote(what)} was not sent.")
        return UpstreamLostError(
            self.name,
            f"the connection was lost during the call of {quote(what)} ({why}). It may have taken effect; it was "
            "not repeated, because the tool is not known to be read-only or idempotent.",
        )


def _target(method: str, params: Mapping[str, Any]) -> str:
    """Return what a request is about, for messages."""
    return str(params.get("name") or params.get("uri") or method)


def _seconds_until(deadline: float | None) -> float | None:
    return None if deadline is None else max(0.0, deadline - anyio.current_time())


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
