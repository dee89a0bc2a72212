"""One server behind the gateway, shared by all callers: list its tools, and call them within limits."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Any

import anyio

from halflap.core.errors import CallTimeoutError, ToolFailedError, UpstreamUnavailableError
from halflap.core.text import quote
from halflap.core.values import Result
from halflap.upstream.connection import OWN_CODES, REFUSED, RequestFailedError
from halflap.upstream.failure import call_lost, explain
from halflap.upstream.lifecycle import Lifecycle

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    from halflap.config import ServerConfig
    from halflap.core.values import CallContext, Listing
    from halflap.upstream.connection import Connection
    from halflap.upstream.lifecycle import Shared, Status
    from halflap.upstream.log import ServerLog
    from halflap.upstream.session import Session

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
        shared: Shared,
        log: ServerLog,
        *,
        last_version: str | None = None,
        in_process: Any = None,
    ) -> None:
        self.config = config
        self.log = log
        self._lifecycle = Lifecycle(config, shared, log, last_version=last_version, in_process=in_process)
        self._slots = asyncio.Semaphore(config.max_concurrent_calls)

    @property
    def name(self) -> str:
        return self.config.name

    def status(self) -> Status:
        return self._lifecycle.status()

    async def list(self) -> Listing:
        """Return the tools as they are now; starts the server if necessary."""
        was_ready = self._lifecycle.is_ready
        session = await self._lifecycle.session()
        if not was_ready and self._lifecycle.listing is not None:
            return self._lifecycle.listing
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
            failure = explain(error, self.config, session.connection, self.log)
            raise UpstreamUnavailableError(self.name, self.log.redact(failure.message)) from error
        await self._lifecycle.keep(listing)
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
                session = await self._lifecycle.session(context.deadline)
                await admit()
                try:
                    return Result.from_wire(await self._send(session, tool, arguments, context))
                except RequestFailedError as failed:
                    if failed.session_lost:
                        self._lifecycle.give_up(session)
                    may_repeat = failed.lost and (repeatable or not failed.may_have_arrived)
                    if not may_repeat or attempt == _MAX_ATTEMPTS:
                        raise self._call_error(tool, failed, session.connection) from failed
            raise AssertionError("unreachable")
        finally:
            self._slots.release()

    async def roots_changed(self) -> None:
        if self._lifecycle.is_ready:
            await (await self._lifecycle.session()).roots_changed()

    async def close(self) -> None:
        await self._lifecycle.close()

    async def _acquire_slot(self, tool: str, context: CallContext) -> None:
        with anyio.CancelScope(deadline=math.inf if context.deadline is None else context.deadline):
            await self._slots.acquire()
            return
        raise CallTimeoutError(
            self.name, f"{quote(tool)} had to wait for other calls until the deadline; it was not sent."
        )

    async def _send(
        self, session: Session, tool: str, arguments: Mapping[str, Any], context: CallContext
    ) -> dict[str, Any]:
        """Send a call and wait. Each progress message restarts its time limit, up to the maximum and the deadline."""
        clock = asyncio.get_running_loop().time
        start = clock()
        end = min(start + self.config.max_call_timeout_seconds, context.deadline or math.inf)
        limit = min(start + self.config.call_timeout_seconds, end)

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            nonlocal limit
            limit = min(clock() + self.config.call_timeout_seconds, end)
            if context.progress is not None:
                await context.progress(progress, total, message)

        # In a separate task: with a server that reads nothing, even cancelling can block.
        call = asyncio.create_task(session.call(tool, arguments, on_progress), name=f"call {quote(tool)}")
        _running.add(call)
        call.add_done_callback(_ended)
        try:
            while not call.done() and clock() < limit:
                await asyncio.wait([call], timeout=limit - clock())
            if call.done():
                return call.result()
        finally:
            if not call.done():
                call.cancel()
                await asyncio.wait([call], timeout=_CANCEL_SECONDS)
        seconds = f"{clock() - start:.1f} s"
        if context.deadline is not None and clock() >= context.deadline:
            message = f"it did not answer {quote(tool)} before the deadline ({seconds})."
            raise CallTimeoutError(self.name, message)
        setting = "max_call_timeout_seconds" if limit == end else "call_timeout_seconds"
        raise CallTimeoutError(
            self.name,
            f"it did not answer {quote(tool)} within {seconds}, and the call was cancelled. "
            f"If it needs longer, raise `{setting}` for it.",
        )

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


def _ended(call: asyncio.Task[dict[str, Any]]) -> None:
    _running.discard(call)
    if not call.cancelled():
        # Its caller may be gone; asyncio complains about exceptions that are never retrieved.
        call.exception()
