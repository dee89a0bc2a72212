"""The servers behind the gateway: list their tools, and send them requests within limits."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from mcp.shared.exceptions import MCPError

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
from halflap.upstream.connection import LOST, NOT_SENT, REFUSED, UNUSABLE, Hooks
from halflap.upstream.lifecycle import Lifecycle, Status
from halflap.upstream.log import ServerLog
from halflap.upstream.questions import Pending
from halflap.upstream.retry import repeat
from halflap.upstream.signin import SignIn

if TYPE_CHECKING:
    from halflap.config import ServerConfig

    Admit = Callable[[], Coroutine[Any, Any, None]]

_OWNER = "local"
"""The principal of the gateway's own connection, and of its sign-in."""


class Upstream:
    """A `ToolSource` over one configured server."""

    def __init__(self, config: ServerConfig, hooks: Hooks) -> None:
        self.config = config
        self.log = ServerLog(hooks.log_folder, config.name, hooks.redact)
        has_token = any(name.lower() == "authorization" for name in config.headers)
        self._can_sign_in = config.url is not None and not has_token
        self._hooks = hooks
        self._owned = self._connection(_OWNER, hooks)
        self._personal: dict[str, Lifecycle] = {}
        """One connection per person who signs in to the server, if several people share the gateway."""
        self._slots = asyncio.Semaphore(config.max_concurrent_calls)

    @property
    def name(self) -> str:
        return self.config.name

    def status(self) -> Status:
        return self._owned.status

    async def list(self) -> Listing:
        """Return the current tools; starts the server if necessary."""
        return await self._owned.list()

    async def call(
        self, tool: str, arguments: Mapping[str, Any], context: CallContext, *, repeatable: bool, admit: Admit
    ) -> Result:
        """Call a tool; `repeatable` and `admit` as in `request`."""
        params = {"name": tool, "arguments": arguments}
        raw = await self.request("tools/call", params, context, repeatable=repeatable, admit=admit)
        return Result.from_wire(raw)

    async def request(
        self, method: str, params: Mapping[str, Any], context: CallContext, *, repeatable: bool, admit: Admit
    ) -> dict[str, Any]:
        """Send a request on behalf of a client, and return the raw result.

        A request that may have arrived is repeated only if it is `repeatable`. `admit` is awaited before each attempt, with
        the server connected and its tools known; it may refuse the request. If the server wants a person to sign in and
        the client can show them a link, the request is sent again after that.
        """
        lifecycle = self._lifecycle_of(context)
        target = str(params.get("name") or params.get("uri") or method)

        async def attempt() -> dict[str, Any]:
            session = await lifecycle.session(context.deadline)
            await admit()
            pending = self._pending(context)
            try:
                with pending.scope:
                    return await session.request(method, params, pending)
            except MCPError:
                if session.connection.closed.is_set():
                    lifecycle.discard(session)
                raise
            raise self._timeout(target, pending)

        async def send() -> dict[str, Any]:
            async with self._slot(target, context.deadline):
                try:
                    return await repeat(attempt, repeatable=repeatable)
                except MCPError as failed:
                    raise self._call_error(target, failed) from failed

        began = time.time()
        try:
            raw = await send()
        except SignInNeededError:
            sign_in = lifecycle.sign_in
            if sign_in is None or not await sign_in.sign_in_through_client(context, began):
                raise
            raw = await send()
        if raw.get("resultType") == "input_required":
            raise InputRequiredError(target, raw)
        return raw

    @asynccontextmanager
    async def _slot(self, target: str, deadline: float | None) -> AsyncIterator[None]:
        """Wait for one of the server's slots for concurrent calls, and hold it."""
        with anyio.move_on_at(deadline or math.inf) as waiting:
            await self._slots.acquire()
        if waiting.cancelled_caught:
            message = f"{quote(target)} had to wait for other calls until the deadline; it was not sent."
            raise CallTimeoutError(self.name, message)
        try:
            yield
        finally:
            self._slots.release()

    async def features_known(self, seconds: float) -> None:
        """Wait until the server's prompts and resources have been listed; starts it if necessary."""
        with anyio.move_on_after(seconds):
            await self._owned.session()
            await self._owned.announcements.has_features.wait()

    async def watch(self, uri: str, *, on: bool) -> None:
        """Start or stop watching a resource; changes are reported to `Hooks.on_event`."""
        try:
            await self._owned.announcements.watch(uri, await self._owned.session(), on=on)
        except MCPError as failed:
            raise self._call_error(uri, failed) from failed

    async def set_log_level(self, level: str) -> None:
        """Set the minimum level of log messages, for this connection and later ones."""
        session = await self._owned.session() if self._owned.is_ready else None
        with suppress(MCPError):
            await self._owned.announcements.set_log_level(level, session)

    async def roots_changed(self) -> None:
        if self._owned.is_ready:
            await (await self._owned.session()).notify("notifications/roots/list_changed")

    async def close(self) -> None:
        await asyncio.gather(*(one.close() for one in (self._owned, *self._personal.values())))

    def _connection(self, principal: str, hooks: Hooks) -> Lifecycle:
        sign_in = SignIn(self.config, principal, hooks.credentials) if self._can_sign_in else None
        return Lifecycle(self.config, hooks, self.log, sign_in)

    def _lifecycle_of(self, context: CallContext) -> Lifecycle:
        """Return the connection that uses the caller's sign-in."""
        principal = context.principal
        if not self._can_sign_in or person_of(principal) is None:
            return self._owned
        if principal not in self._personal:
            hooks = replace(self._hooks, on_listing=self._absorb_personal)
            self._personal[principal] = self._connection(principal, hooks)
        return self._personal[principal]

    async def _absorb_personal(self, listing: Listing) -> None:
        """Use the tools that one person gets only if the gateway itself is not signed in: they may differ."""
        if not self._owned.is_ready:
            await self._hooks.on_listing(listing)

    def _pending(self, context: CallContext) -> Pending:
        end = anyio.current_time() + self.config.max_call_timeout_seconds
        pending = Pending(context, self.config.call_timeout_seconds, min(end, context.deadline or math.inf))
        pending.restart_clock()
        return pending

    def _timeout(self, target: str, pending: Pending) -> CallTimeoutError:
        seconds = f"{anyio.current_time() - pending.start:.1f} s"
        if pending.context.deadline is not None and anyio.current_time() >= pending.context.deadline:
            reason = f"it did not answer {quote(target)} before the deadline ({seconds})."
            return CallTimeoutError(self.name, reason)
        is_end = pending.scope.deadline == pending.end
        setting = "max_call_timeout_seconds" if is_end else "call_timeout_seconds"
        return CallTimeoutError(
            self.name,
            f"it did not answer {quote(target)} within {seconds}, and the call was cancelled. "
            f"If it needs longer, raise `{setting}` for it.",
        )

    def _call_error(self, target: str, failed: MCPError) -> Exception:
        """Return the error for a failed call, which says whether the call may have taken effect."""
        message = self.log.redact(failed.message)
        if failed.code == REFUSED:
            return (SignInNeededError if self._can_sign_in else UpstreamUnavailableError)(self.name, message)
        why = message.rstrip(".")
        if failed.code == NOT_SENT:
            return UpstreamUnavailableError(self.name, f"{why}. The call of {quote(target)} was not sent.")
        if failed.code == LOST:
            return UpstreamLostError(
                self.name,
                f"the connection was lost during the call of {quote(target)} ({why}). It may have taken effect; it was "
                "not repeated, because the tool is not known to be read-only or idempotent.",
            )
        code = types.INTERNAL_ERROR if failed.code == UNUSABLE else failed.code
        return ToolFailedError(target, self.name, code, message, failed.data)


class Pool:
    """The upstreams by name. Each starts when it is first needed; all are closed together."""

    def __init__(self, servers: Sequence[ServerConfig], hooks: Hooks) -> None:
        self._upstreams = {server.name: Upstream(server, hooks) for server in servers}

    def __iter__(self) -> Iterator[Upstream]:
        return iter(self._upstreams.values())

    def __getitem__(self, name: str) -> Upstream:
        return self._upstreams[name]

    async def roots_changed(self) -> None:
        """Notify every running server that the roots changed."""
        await asyncio.gather(*(upstream.roots_changed() for upstream in self), return_exceptions=True)

    async def set_log_level(self, level: str) -> None:
        """Set the lowest level of log messages of every server."""
        await asyncio.gather(*(upstream.set_log_level(level) for upstream in self), return_exceptions=True)

    async def close(self) -> None:
        await asyncio.gather(*(upstream.close() for upstream in self), return_exceptions=True)
