"""One session with a server: negotiate the protocol version, send requests, and return the raw answers."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any, Literal

import anyio
import mcp_types as types
from mcp.client import session as client_session
from mcp.client._probe import negotiate_auto
from mcp.client.session import ClientSession
from mcp.client.subscriptions import SubscriptionLost, listen
from mcp.shared import jsonrpc_dispatcher
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.transport_context import TransportContext
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from pydantic_core import to_jsonable_python

from halflap.core.errors import ClientRefusedError
from halflap.core.values import CallContext
from halflap.upstream.questions import ELICIT, ROOTS, SAMPLE, Pending, Questions

if TYPE_CHECKING:
    import contextvars

    from mcp.shared.dispatcher import CallOptions, DispatchContext
    from mcp.shared.message import SessionMessage

    from halflap.upstream.connection import Connection

    Change = Literal["tools", "prompts", "resources", "updated"]

logger = logging.getLogger(__name__)

client_session.DISCOVER_TIMEOUT_SECONDS = 3.0
"""Timeout of `server/discover`, after which `initialize` is tried as well.

Some servers of the older era do not answer unknown methods. A slow server of the newer era answers `initialize` with an
error that names its versions.
"""
jsonrpc_dispatcher._ABANDON_WRITE_TIMEOUT = 0.3  # noqa: SLF001 -- there is no setting
"""Timeout for notifying the server of a cancelled call: a server that reads nothing blocks even that."""
_CANCEL_SECONDS = 1.0
_MAX_HANDLED = 200
"""Maximum number of a server's requests and notifications in progress: one that reads no answers could send ever more."""
_MAX_ROUNDS = 10
"""How often a server may ask for input during one request."""
_RESERVED = "io.modelcontextprotocol/"
"""Keys of `_meta` that are not forwarded: each side of Halflap sets its own."""
_CHANGES: Mapping[str, Change] = {
    "notifications/tools/list_changed": "tools",
    "notifications/prompts/list_changed": "prompts",
    "notifications/resources/list_changed": "resources",
    "notifications/resources/updated": "updated",
}
_FOR_CLIENTS = ("notifications/message", "notifications/elicitation/complete")


class _Dispatcher(JSONRPCDispatcher[TransportContext]):
    """Calls `closed` when the connection ends, and drops a server's messages while too many are being handled."""

    def __init__(self, read: Any, write: Any, closed: Callable[[], None]) -> None:
        super().__init__(read, write)
        self._on_closed = closed
        self._handled = 0

    async def run(self, *args: Any, **options: Any) -> None:
        try:
            await super().run(*args, **options)
        finally:
            self._on_closed()

    async def _dispatch(self, item: SessionMessage | Exception, *handlers: Any) -> None:
        message = None if isinstance(item, Exception) else item.message
        is_answer = not isinstance(message, types.JSONRPCRequest | types.JSONRPCNotification)
        if is_answer or self._handled < _MAX_HANDLED:
            await super()._dispatch(item, *handlers)

    def _spawn(
        self, fn: Callable[..., Awaitable[Any]], *args: object, sender_ctx: contextvars.Context | None
    ) -> None:
        async def counted() -> None:
            try:
                await fn(*args)
            finally:
                self._handled -= 1

        self._handled += 1
        super()._spawn(counted, sender_ctx=sender_ctx)


class Session(ClientSession):
    """The SDK's session without validation of results.

    The SDK rejects a whole result for one wrong field; Halflap passes it to the caller.
    """

    def __init__(
        self,
        streams: tuple[Any, Any],
        connection: Connection,
        questions: Questions,
        on_change: Callable[[Change, str], None],
        version: str,
    ) -> None:
        self.connection = connection
        self._questions = questions
        self._on_change = on_change
        self.task_tools: frozenset[str] = frozenset()
        """Tools that only run as tasks, in the older era."""
        self._request_ids = itertools.count(1_000_001)
        """Must not collide with the SDK's own ids, which count from 1."""
        super().__init__(
            dispatcher=_Dispatcher(*streams, connection.closed.set),
            client_info=types.Implementation(name="halflap", version=version),
        )

    async def negotiate(
        self, protocol: Literal["auto", "legacy", "modern"], last_version: str | None
    ) -> None:
        """Negotiate the protocol version, starting with the era of the version agreed on last time."""
        if protocol == "auto" and last_version not in HANDSHAKE_PROTOCOL_VERSIONS:
            await negotiate_auto(self)
            return
        try:
            if protocol != "modern":
                await self.initialize()
        except MCPError as error:
            if protocol == "legacy" or error.code != types.UNSUPPORTED_PROTOCOL_VERSION:
                raise
        while self.protocol_version is None:
            # A slow server may need several attempts.
            try:
                await self.discover()
            except MCPError as error:
                if error.code != types.REQUEST_TIMEOUT:
                    raise

    @property
    def is_modern(self) -> bool:
        return self.protocol_version in MODERN_PROTOCOL_VERSIONS

    @property
    def capabilities(self) -> types.ServerCapabilities:
        return self.server_capabilities or types.ServerCapabilities()

    def _build_capabilities(self, version: str) -> types.ClientCapabilities:
        del version
        # Many clients share this session, so everything is declared; each question is checked against its own client.
        return types.ClientCapabilities(
            sampling=types.SamplingCapability(),
            elicitation=types.ElicitationCapability(
                form=types.FormElicitationCapability(), url=types.UrlElicitationCapability()
            ),
            roots=types.RootsCapability(list_changed=True),
        )

    @property
    def argument_headers(self) -> dict[str, dict[tuple[str, ...], str]]:
        """Tool arguments that the newer era also sends as HTTP headers."""
        return self._x_mcp_header_maps

    async def request(self, method: str, params: Mapping[str, Any], pending: Pending) -> dict[str, Any]:
        """Send a client's request and return the raw result, or raise `MCPError`.

        A server of the newer era may answer with questions. They are returned if the client handles them itself;
        otherwise the client is asked and the request is repeated with the answers.
        """
        if method == "tools/call" and params["name"] in self.task_tools and not self.is_modern:
            return await self._run_task(params, pending)
        forwarded = pending.context.forwarded
        sent = {**params}
        if forwarded is not None:
            sent |= _with_answers(forwarded.answers, forwarded.state)
        for _ in range(_MAX_ROUNDS):
            raw = await self.send(method, sent, pending)
            if raw.get("resultType") != "input_required":
                return raw
            questions = raw.get("inputRequests") or {}
            if not self.is_modern or not _are_questions(questions):
                message = "it asked for input in a form that MCP does not have"
                raise MCPError(types.INTERNAL_ERROR, message)
            takes_questions = forwarded is not None and forwarded.takes_questions
            if takes_questions and self._questions.can_forward(questions, pending):
                return raw
            try:
                answers = await self._questions.ask(questions, pending)
            except ClientRefusedError as refused:
                message = f"it asked for input, which it cannot get: {refused.message}"
                raise MCPError(types.INVALID_REQUEST, message) from refused
            sent = {**params, **_with_answers(answers, raw.get("requestState"))}
        raise MCPError(types.INTERNAL_ERROR, f"it asked for more input {_MAX_ROUNDS} times in a row")

    async def _run_task(self, params: Mapping[str, Any], pending: Pending) -> dict[str, Any]:
        """Call a tool that requires a task (2025-11-25), and wait for its result."""
        created = await self.send("tools/call", {**params, "task": {}}, pending)
        task = created.get("task")
        identifier = task.get("taskId") if isinstance(task, dict) else None
        if not isinstance(identifier, str):
            # It returned the result directly, which is allowed.
            return created
        try:
            return await self.send("tasks/result", {"taskId": identifier}, pending)
        except anyio.get_cancelled_exc_class():
            with anyio.move_on_after(_CANCEL_SECONDS, shield=True), suppress(MCPError):
                await self.send("tasks/cancel", {"taskId": identifier})
            raise

    async def send(
        self, method: str, params: Mapping[str, Any], pending: Pending | None = None
    ) -> dict[str, Any]:
        """Send a request. Without `pending`, it is Halflap's own, and the server cannot ask a client anything."""
        request_id = next(self._request_ids)
        with nullcontext() if pending is None else self._questions.in_flight(pending):
            try:
                message = {"method": method, "params": to_jsonable_python({**params})}
                options = self._stamped(message, CallContext() if pending is None else pending.context)
                options["request_id"] = request_id
                if pending is not None:
                    options["on_progress"] = pending.on_progress
                return await self._dispatcher.send_raw_request(method, message["params"], options)
            except MCPError as error:
                raise self.connection.translate(error, request_id) from error
            except (ValueError, RecursionError) as error:
                text = f"the arguments cannot be written as JSON: {error}"
                raise MCPError(types.INVALID_PARAMS, text) from error
            finally:
                if self.connection.sent is not None:
                    self.connection.sent.pop(request_id, None)

    def _stamped(self, message: dict[str, Any], context: CallContext) -> CallOptions:
        """Add the metadata that the protocol requires, and the client's own."""
        meta = {} if context.forwarded is None else context.forwarded.meta
        meta = {
            key: value
            for key, value in meta.items()
            if key != "progressToken" and not key.startswith(_RESERVED)
        }
        message["params"]["_meta"] = meta
        options: CallOptions = {}
        self._stamp(message, options)
        if self.is_modern:
            meta[types.CLIENT_CAPABILITIES_META_KEY] = self._questions.capabilities(context)
            if context.client is not None and context.client.log_level is not None:
                meta[types.LOG_LEVEL_META_KEY] = context.client.log_level
        return options

    # Messages from the server

    async def notify(self, method: str) -> None:
        """Send a notification; only the older era has notifications from clients."""
        if not self.is_modern:
            await self._dispatcher.notify(method, None)

    async def listen(self, uris: Collection[str]) -> None:
        """Subscribe to changes of the lists and of these resources (newer era), until the server ends the stream."""
        offered = self.capabilities
        lists = {
            f"{kind}_list_changed": bool(getattr(getattr(offered, kind), "list_changed", False))
            for kind in ("tools", "prompts", "resources")
        }
        if not (uris or any(lists.values())):
            return
        try:
            async with listen(self, resource_subscriptions=list(uris), **lists) as changes:  # type: ignore[arg-type]
                async for _ in changes:
                    pass  # each also arrives as a notification
        except (SubscriptionLost, MCPError, TimeoutError):
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


def _with_answers(answers: Mapping[str, Any] | None, state: Any) -> dict[str, Any]:
    answered = {} if answers is None else {"inputResponses": answers}
    return answered | ({"requestState": state} if isinstance(state, str) else {})


def _are_questions(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(one, dict) and one.get("method") in {ELICIT, SAMPLE, ROOTS} for one in value.values()
    )
