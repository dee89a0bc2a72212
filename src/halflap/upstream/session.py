"""One live session with a server: agree on a version, send requests, and return exactly what it answered."""

from __future__ import annotations

import itertools
import logging
import math
from collections.abc import Callable, Collection, Mapping
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any, Literal

import anyio
import mcp_types as types
from mcp.client._probe import negotiate_auto
from mcp.client.session import ClientSession
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost, listen
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.transport_context import TransportContext
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from pydantic_core import to_jsonable_python

from halflap.core.errors import ClientRefusedError
from halflap.core.values import CallContext, Progress
from halflap.upstream.connection import REFUSED, Connection, RequestFailedError
from halflap.upstream.questions import ELICIT, ROOTS, SAMPLE, Pending, Questions

if TYPE_CHECKING:
    from mcp.shared.dispatcher import CallOptions, DispatchContext

    What = Literal["tools", "prompts", "resources", "updated"]

logger = logging.getLogger(__name__)

_PROBE_SECONDS = 3.0
"""How long a server may take to answer `server/discover` before `initialize` is tried as well.

Some servers of the older era do not answer a method that they don't know. A slow one of the newer era answers
`initialize` with an error that names the versions it speaks.
"""
_CANCEL_SECONDS = 1.0
_MAX_ROUNDS = 10
"""How often a server may ask for input before it answers one request."""
_RESERVED = "io.modelcontextprotocol/"
"""Keys of `_meta` that are between a client and us, or between us and a server."""
_CHANGES: Mapping[str, What] = {
    "notifications/tools/list_changed": "tools",
    "notifications/prompts/list_changed": "prompts",
    "notifications/resources/list_changed": "resources",
    "notifications/resources/updated": "updated",
}
_FOR_CLIENTS = ("notifications/message", "notifications/elicitation/complete")
_NO_CLIENT = CallContext()


class _Dispatcher(JSONRPCDispatcher[TransportContext]):
    """Notes when the connection ends."""

    def __init__(self, read: Any, write: Any, closed: Callable[[], None]) -> None:
        super().__init__(read, write)
        self._on_closed = closed

    async def run(self, *args: Any, **options: Any) -> None:
        try:
            await super().run(*args, **options)
        finally:
            self._on_closed()


class Session(ClientSession):
    """The SDK's session, which sends requests and takes messages without validating them.

    The SDK validates a result as a whole and refuses it for one wrong field; here it belongs to the caller.
    """

    def __init__(
        self,
        streams: tuple[Any, Any],
        connection: Connection,
        questions: Questions,
        on_change: Callable[[What, str], None],
        version: str,
    ) -> None:
        self.connection = connection
        self._questions = questions
        self._on_change = on_change
        self._probe_seconds = math.inf
        self._request_ids = itertools.count(1_000_001)
        """Far from the SDK's own ids, which count from 1."""
        super().__init__(
            dispatcher=_Dispatcher(*streams, connection.closed.set),
            client_info=types.Implementation(name="halflap", version=version),
        )

    async def agree(self, protocol: Literal["auto", "legacy", "modern"], last_version: str | None) -> None:
        """Agree on a protocol version, trying the era of `last_version` first: the one the server spoke last time."""
        if protocol == "modern":
            await self.discover()
        elif protocol == "legacy":
            await self.initialize()
        elif last_version not in HANDSHAKE_PROTOCOL_VERSIONS:
            self._probe_seconds = _PROBE_SECONDS
            await negotiate_auto(self)
        else:
            try:
                await self.initialize()
            except MCPError as error:
                if error.code != types.UNSUPPORTED_PROTOCOL_VERSION:
                    raise
                await self.discover()

    async def send_discover(self, version: str) -> dict[str, Any]:
        seconds, self._probe_seconds = self._probe_seconds, math.inf
        with anyio.move_on_after(seconds):
            try:
                return await super().send_discover(version)
            except MCPError as error:
                if error.code != REFUSED:
                    raise
                # It wants a sign-in, whatever era it is of: `initialize` would only get another answer.
                raise PermissionError(error.message) from error
        raise MCPError(types.REQUEST_TIMEOUT, "it did not answer server/discover in time")

    @property
    def is_modern(self) -> bool:
        return self.protocol_version in MODERN_PROTOCOL_VERSIONS

    @property
    def capabilities(self) -> types.ServerCapabilities:
        return self.server_capabilities or types.ServerCapabilities()

    def _build_capabilities(self, version: str) -> types.ClientCapabilities:
        del version
        # Many clients share this session: each question is answered by what its own client can do.
        return types.ClientCapabilities(
            sampling=types.SamplingCapability(),
            elicitation=types.ElicitationCapability(
                form=types.FormElicitationCapability(), url=types.UrlElicitationCapability()
            ),
            roots=types.RootsCapability(list_changed=True),
        )

    def send_as_headers(self, arguments: dict[str, dict[tuple[str, ...], str]]) -> None:
        """Note which arguments of which tools the newer era wants as HTTP headers, too."""
        self._x_mcp_header_maps = arguments

    async def request(self, method: str, params: Mapping[str, Any], pending: Pending) -> dict[str, Any]:
        """Send a client's request and return the raw result; `RequestFailedError` if there is none.

        A server of the newer era may answer with questions. They are asked, or returned if the client takes them so.
        """
        forwarded = pending.context.forwarded
        sent = {**params}
        if forwarded is not None:
            sent |= _given(forwarded.answers, forwarded.state)
        for _ in range(_MAX_ROUNDS):
            raw = await self.send(method, sent, pending, pending.on_progress)
            if raw.get("resultType") != "input_required":
                return raw
            questions = raw.get("inputRequests") or {}
            if not self.is_modern or not _are_questions(questions):
                message = "it asked for input in a form that is not the protocol's"
                raise RequestFailedError(types.INTERNAL_ERROR, message)
            if (
                forwarded is not None
                and forwarded.takes_questions
                and self._questions.can_forward(questions, pending)
            ):
                return raw
            try:
                answers = await self._questions.ask(questions, pending)
            except ClientRefusedError as refused:
                message = f"it asked for input, which it cannot get: {refused.message}"
                raise RequestFailedError(types.INVALID_REQUEST, message) from refused
            state = raw.get("requestState")
            sent = {**params, **_given(answers, state if isinstance(state, str) else None)}
        raise RequestFailedError(
            types.INTERNAL_ERROR, f"it asked for more input {_MAX_ROUNDS} times in a row"
        )

    async def run_task(self, params: Mapping[str, Any], pending: Pending) -> dict[str, Any]:
        """Call a tool that only runs as a task (2025-11-25), and wait for its result."""
        created = await self.send("tools/call", {**params, "task": {}}, pending)
        task = created.get("task")
        identifier = task.get("taskId") if isinstance(task, dict) else None
        if not isinstance(identifier, str):
            # It answered at once, as it may.
            return created
        try:
            return await self.send("tasks/result", {"taskId": identifier}, pending)
        except anyio.get_cancelled_exc_class():
            with anyio.move_on_after(_CANCEL_SECONDS, shield=True), suppress(MCPError):
                await self.send("tasks/cancel", {"taskId": identifier})
            raise

    async def send(
        self,
        method: str,
        params: Mapping[str, Any],
        pending: Pending | None = None,
        progress: Progress | None = None,
    ) -> dict[str, Any]:
        """Send a request; without `pending` it is one of our own, and no client can be asked anything for it."""
        request_id = next(self._request_ids)
        with nullcontext() if pending is None else self._questions.in_flight(pending):
            try:
                message = {"method": method, "params": to_jsonable_python({**params})}
                options = self._stamped(message, _NO_CLIENT if pending is None else pending.context)
                options["request_id"] = request_id
                if progress is not None:
                    options["on_progress"] = progress
                return await self._dispatcher.send_raw_request(method, message["params"], options)
            except MCPError as error:
                if pending is None:
                    raise
                raise self.connection.request_failed(error, request_id) from error
            except (ValueError, RecursionError) as error:
                text = f"the arguments cannot be written as JSON: {error}"
                raise RequestFailedError(types.INVALID_PARAMS, text, may_have_arrived=False) from error
            finally:
                if self.connection.sent is not None:
                    self.connection.sent.pop(request_id, None)

    def _stamped(self, message: dict[str, Any], context: CallContext) -> CallOptions:
        """Add to a request what the protocol wants, and what its client sent along."""
        meta = {} if context.forwarded is None else {**context.forwarded.meta}
        meta = {key: value for key, value in meta.items() if not key.startswith(_RESERVED)}
        meta.pop("progressToken", None)
        message["params"]["_meta"] = meta
        options: CallOptions = {}
        self._stamp(message, options)
        if self.is_modern:
            meta[types.CLIENT_CAPABILITIES_META_KEY] = self._questions.capabilities(context)
            if context.client is not None and context.client.log_level is not None:
                meta[types.LOG_LEVEL_META_KEY] = context.client.log_level
        return options

    # What the server sends by itself

    async def notify(self, method: str) -> None:
        """Send a notification to a server of the older era; the newer one has none from clients."""
        if not self.is_modern:
            await self._dispatcher.notify(method, None)

    async def listen(self, uris: Collection[str]) -> None:
        """Subscribe to changes of lists and of these resources in the newer era, until the server ends it."""
        offered = self.capabilities
        tools, prompts, resources = (
            one is not None and bool(one.list_changed)
            for one in (offered.tools, offered.prompts, offered.resources)
        )
        if not (uris or tools or prompts or resources):
            return
        try:
            async with listen(
                self,
                tools_list_changed=tools,
                prompts_list_changed=prompts,
                resources_list_changed=resources,
                resource_subscriptions=list(uris),
            ) as changes:
                async for _ in changes:
                    pass  # each of them arrives as a notification, too
        except (ListenNotSupportedError, SubscriptionLost, MCPError, TimeoutError):
            logger.debug("the subscription to changes ended", exc_info=True)

    async def _on_request(
        self, dctx: DispatchContext[TransportContext], method: str, params: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        if method not in {ELICIT, SAMPLE, ROOTS}:
            return await super()._on_request(dctx, method, params)
        try:
            return {**await self._questions.answer(method, params or {})}
        except ClientRefusedError as refused:
            raise MCPError(refused.rpc_code, refused.message, refused.data) from refused

    async def _on_notify(
        self, dctx: DispatchContext[TransportContext], method: str, params: Mapping[str, Any] | None
    ) -> None:
        if method in _CHANGES:
            self._on_change(_CHANGES[method], str((params or {}).get("uri", "")))
        elif method in _FOR_CLIENTS:
            await self._questions.notify(method, params or {})
        else:
            await super()._on_notify(dctx, method, params)


def _given(answers: Mapping[str, Any] | None, state: str | None) -> dict[str, Any]:
    given = {"inputResponses": answers, "requestState": state}
    return {key: value for key, value in given.items() if value is not None}


def _are_questions(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(one, dict) and one.get("method") in {ELICIT, SAMPLE, ROOTS} for one in value.values()
    )
