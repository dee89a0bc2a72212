"""Forward a server's requests and notifications to the client whose call caused them.

Over HTTP, a message arrives on the stream of the request that caused it. Over stdio, the cause is known only if all
requests in flight come from one client; otherwise the server gets an error.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types

from halflap.core.errors import ClientRefusedError

if TYPE_CHECKING:
    from halflap.core.values import CallContext, ClientChannel

    ListRoots = Callable[[ClientChannel | None], Awaitable[list[dict[str, Any]]]]

logger = logging.getLogger(__name__)

ELICIT, SAMPLE, ROOTS = "elicitation/create", "sampling/createMessage", "roots/list"
_MAX_OPEN = 32
"""Maximum number of questions and messages of one server that are being forwarded at the same time."""
_MAX_PER_CALL = 100
"""Maximum number of questions per call."""


@dataclass(eq=False, slots=True)
class Pending:
    """A client's request while a server works on it."""

    context: CallContext
    seconds: float
    """Timeout; progress restarts it, and it is paused while the server waits for an answer."""
    end: float
    """The latest time at which the request ends."""
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    start: float = field(default_factory=anyio.current_time)
    asked: int = 0
    """Number of questions that the server has asked."""

    def restart_clock(self) -> None:
        self.scope.deadline = min(anyio.current_time() + self.seconds, self.end)

    async def on_progress(self, progress: float, total: float | None, message: str | None) -> None:
        self.restart_clock()
        if self.context.progress is not None:
            await self.context.progress(progress, total, message)


_current: ContextVar[tuple[Questions, Pending] | None] = ContextVar("halflap_request", default=None)
"""Set while a request is sent. The SDK's HTTP transport delivers each message in the context of its request."""


class Questions:
    """The requests in flight on one session, and the clients that they belong to."""

    def __init__(self, list_roots: ListRoots, *, enabled: bool, is_local: bool) -> None:
        self._list_roots = list_roots
        self._enabled = enabled
        self._is_local = is_local
        """The server runs on this machine, so a remote client must not choose its folders."""
        self._in_flight: dict[Pending, None] = {}
        """In order of sending."""
        self._open = 0

    @contextmanager
    def in_flight(self, pending: Pending) -> Iterator[None]:
        """Mark a request as in flight."""
        self._in_flight[pending] = None
        token = _current.set((self, pending))
        try:
            yield
        finally:
            _current.reset(token)
            self._in_flight.pop(pending, None)

    def capabilities(self, context: CallContext) -> dict[str, Any]:
        """Return what a server of the newer era may ask for during a request."""
        client = self._client(context)
        # There are always the configured roots.
        return {**({} if client is None else client.capabilities), "roots": {}}

    def can_forward(self, requests: Mapping[str, Any], cause: Pending) -> bool:
        """Return whether the client may answer these requests directly: configured roots take precedence over its own."""
        asks_roots = any(one["method"] == ROOTS for one in requests.values())
        return not asks_roots or self._with_roots(self._client(cause.context)) is not None

    async def answer(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Answer a request from a server of the older era; raises `ClientRefusedError`."""
        cause = self._cause()
        if cause is None and method != ROOTS:
            message = (
                "It is unclear whom to ask: no call is in flight, or calls of several clients are. "
                "`max_concurrent_calls: 1` for this server prevents the latter."
            )
            raise ClientRefusedError(types.INVALID_REQUEST, message)
        answers = await self.ask({method: {"method": method, "params": params}}, cause)
        return answers[method]

    async def ask(
        self, requests: Mapping[str, Mapping[str, Any]], cause: Pending | None
    ) -> dict[str, Mapping[str, Any]]:
        """Return the client's answers by key; configured roots take precedence over the client's own."""
        client = None if cause is None else self._client(cause.context)
        others = {key: one for key, one in requests.items() if one["method"] != ROOTS}
        for one in others.values():
            if client is None:
                raise ClientRefusedError(types.METHOD_NOT_FOUND, "There is no client that can be asked.")
            _check_supported(one, client.capabilities)
        if self._open >= _MAX_OPEN or (cause is not None and cause.asked + len(requests) > _MAX_PER_CALL):
            raise ClientRefusedError(types.INVALID_REQUEST, "Too many questions.")
        self._open += 1
        if cause is not None:
            cause.asked += len(requests)
            cause.scope.deadline = cause.end
        try:
            answers: dict[str, Mapping[str, Any]] = {}
            if roots := requests.keys() - others.keys():
                listed = {"roots": await self._list_roots(self._with_roots(client))}
                answers = dict.fromkeys(roots, listed)
            if others and client is not None:
                answers |= await client.ask(others)
            return answers
        finally:
            self._open -= 1
            if cause is not None:
                cause.restart_clock()

    async def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Forward a log message or the end of an elicitation, if its cause is known."""
        cause = self._cause()
        client = None if cause is None else self._client(cause.context)
        if client is None or self._open >= _MAX_OPEN:
            logger.debug("dropped %s: it has no client", method)
            return
        self._open += 1
        try:
            await client.notify(method, params)
        finally:
            self._open -= 1

    def _client(self, context: CallContext) -> ClientChannel | None:
        return context.client if self._enabled else None

    def _with_roots(self, client: ClientChannel | None) -> ClientChannel | None:
        """Return the client if its own roots may be used by this server."""
        if client is None or "roots" not in client.capabilities:
            return None
        return client if client.is_local or not self._is_local else None

    def _cause(self) -> Pending | None:
        """Return the request that the current message belongs to."""
        current = _current.get()
        # A server in this process may itself be a gateway; then the context can be that of another session.
        if current is not None and current[0] is self:
            return current[1] if current[1] in self._in_flight else None
        clients = {one.context.client and one.context.client.identity for one in self._in_flight}
        return next(reversed(self._in_flight)) if len(clients) == 1 else None


def _check_supported(request: Mapping[str, Any], capabilities: Mapping[str, Any]) -> None:
    """Raise unless the client declared support for this request."""
    method = request["method"]
    declared = capabilities.get("elicitation" if method == ELICIT else "sampling")
    if declared is None:
        raise ClientRefusedError(types.METHOD_NOT_FOUND, f"The client does not support {method}.")
    params = request.get("params")
    mode = params.get("mode", "form") if isinstance(params, dict) else "form"
    # The default mode is a form.
    modes = [one for one in ("form", "url") if isinstance(declared, dict) and declared.get(one) is not None]
    if method == ELICIT and mode not in (modes or ["form"]):
        raise ClientRefusedError(types.INVALID_PARAMS, f"The client does not support elicitation by {mode}.")
