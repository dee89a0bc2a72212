"""One live session with a server: agree on a version, send requests, and return exactly what it answered."""

from __future__ import annotations

import itertools
import logging
from contextlib import asynccontextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any, Literal

import anyio
import mcp_types as types
from mcp.client.session import ClientSession, IncomingMessage
from mcp.client.subscriptions import (
    ListenNotSupportedError,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    SubscriptionLost,
    ToolsListChanged,
    listen,
)
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    NAME_BEARING_METHODS,
    encode_header_value,
    mcp_param_headers,
)
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.transport_context import TransportContext
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError
from pydantic_core import to_jsonable_python

from halflap.core.errors import ClientRefusedError
from halflap.core.values import CallContext, Listing
from halflap.upstream.connection import LOST, NOT_SENT, REFUSED, RequestFailedError
from halflap.upstream.definitions import MAX_TOOLS, Definitions, read_features
from halflap.upstream.questions import ELICIT, ROOTS, SAMPLE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Collection, Mapping

    from mcp.shared.dispatcher import CallOptions, DispatchContext, OnNotify, OnNotifyIntercept, OnRequest

    from halflap.core.values import Features, Progress
    from halflap.upstream.connection import Connection
    from halflap.upstream.questions import Pending, Questions

    What = Literal["tools", "prompts", "resources", "updated"]

logger = logging.getLogger(__name__)

_PROBE_SECONDS = 3.0
"""How long a server may take to answer `server/discover` before `initialize` is tried as well.

Some servers of the older era do not answer a method that they don't know. A slow one of the newer era answers
`initialize` with an error that names the versions it speaks.
"""
_CANCEL_SECONDS = 1.0
_MAX_PAGES = 1_000
_MAX_ROUNDS = 10
"""How often a server may ask for input before it answers one request."""
_MAX_INSTRUCTIONS = 100_000
_MAX_SERVER_INFO = 500
_RESERVED = "io.modelcontextprotocol/"
"""Keys of `_meta` that are between a client and us, or between us and a server."""
_NO_CLIENT = CallContext()


async def _never_called(*_: Any, **__: Any) -> Any:
    raise AssertionError("the dispatcher answers the server's questions")


_declared: Any = _never_called


class _Dispatcher(JSONRPCDispatcher[TransportContext]):
    """Hands the server's questions over as they came, and notes when the connection ends."""

    def __init__(self, read: Any, write: Any, connection: Connection, questions: Questions) -> None:
        super().__init__(read, write)
        self._connection = connection
        self._questions = questions

    async def run(
        self,
        on_request: OnRequest,
        on_notify: OnNotify,
        on_notify_intercept: OnNotifyIntercept | None = None,
        *,
        task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        async def answer(
            context: DispatchContext[TransportContext], method: str, params: Mapping[str, Any] | None
        ) -> dict[str, Any]:
            if method not in {ELICIT, SAMPLE, ROOTS}:
                return await on_request(context, method, params)
            try:
                return {**await self._questions.answer(method, params or {})}
            except ClientRefusedError as refused:
                raise MCPError(refused.rpc_code, refused.message, refused.data) from refused

        try:
            await super().run(answer, on_notify, on_notify_intercept, task_status=task_status)
        finally:
            self._connection.closed.set()


class Session:
    """Sends requests below the SDK's `ClientSession`, which would validate results as a whole and refuse some."""

    def __init__(
        self,
        streams: tuple[Any, Any],
        connection: Connection,
        questions: Questions,
        *,
        version: str,
        on_change: Callable[[What, str], None],
    ) -> None:
        self.connection = connection
        self._questions = questions
        self._request_ids = itertools.count(1_000_001)
        """Far from the SDK's own ids, which count from 1."""
        self._on_change = on_change
        self._dispatcher = _Dispatcher(*streams, connection, questions)
        self._info = types.Implementation(name="halflap", version=version)
        self._param_headers: dict[str, Any] = {}
        """Of each tool, which arguments are sent as HTTP headers, too."""
        self.client = ClientSession(
            dispatcher=self._dispatcher,
            # They make the SDK declare what the dispatcher answers.
            list_roots_callback=_declared,
            elicitation_callback=_declared,
            sampling_callback=_declared,
            message_handler=self._on_message,
            client_info=self._info,
        )

    @asynccontextmanager
    async def opened(
        self, protocol: Literal["auto", "legacy", "modern"], last_version: str | None
    ) -> AsyncIterator[Session]:
        """Agree on a protocol version, trying the era of `last_version` first: the one the server spoke last time."""
        async with self.client as client:
            is_known_legacy = last_version in HANDSHAKE_PROTOCOL_VERSIONS
            if protocol == "modern":
                await client.discover()
            elif protocol == "legacy":
                await client.initialize()
            elif is_known_legacy or not await _probe(client):
                try:
                    await client.initialize()
                except MCPError as error:
                    if error.code != types.UNSUPPORTED_PROTOCOL_VERSION:
                        raise
                    await client.discover()
            self.connection.agreed = True
            yield self

    @property
    def is_modern(self) -> bool:
        return self.client.protocol_version in MODERN_PROTOCOL_VERSIONS

    @property
    def capabilities(self) -> types.ServerCapabilities:
        return self.client.server_capabilities or types.ServerCapabilities()

    # Lists

    async def list(self, server: str) -> Listing:
        """Return all tools; what cannot be used is left out with a warning."""
        definitions = Definitions(check_headers=self.is_modern)
        if self.capabilities.tools is not None:
            async for page in self._pages("tools/list"):
                definitions.add_page(page)
                if len(definitions.tools) >= MAX_TOOLS:
                    break
            else:
                if definitions.pages == _MAX_PAGES:
                    definitions.warnings.append(
                        f"its list of tools does not end; it was cut after {_MAX_PAGES} pages"
                    )
        self._param_headers = definitions.param_headers
        info = self.client.server_info
        return Listing(
            server=server,
            tools=tuple(definitions.tools),
            instructions=(self.client.instructions or "")[:_MAX_INSTRUCTIONS] or None,
            protocol_version=self.client.protocol_version,
            server_info=None if info is None else _describe(info),
            ttl_seconds=definitions.ttl_seconds,
            repeated=definitions.repeated,
            again=tuple(definitions.again),
            warnings=tuple(definitions.warnings),
        )

    async def features(self) -> Features:
        """Return what the server offers besides tools."""
        return await read_features(self.client.server_info, self.capabilities, self._pages)

    async def _pages(self, method: str) -> AsyncIterator[dict[str, Any]]:
        cursor: str | None = None
        seen: set[str] = set()
        for _ in range(_MAX_PAGES):
            page = await self._send(method, {} if cursor is None else {"cursor": cursor})
            yield page
            cursor = page.get("nextCursor")
            if not isinstance(cursor, str) or cursor in seen:
                return
            seen.add(cursor)

    # Requests

    async def request(
        self, method: str, params: Mapping[str, Any], pending: Pending, progress: Progress | None = None
    ) -> dict[str, Any]:
        """Send a client's request and return the raw result; `RequestFailedError` if there is none.

        A server of the newer era may answer with questions. They are asked, or returned if the client takes them so.
        """
        forwarded = pending.context.forwarded
        sent = {**params}
        if forwarded is not None:
            sent |= _given(forwarded.answers, forwarded.state)
        for _ in range(_MAX_ROUNDS):
            raw = await self._send(method, sent, pending, progress)
            if raw.get("resultType") != "input_required":
                return raw
            questions = raw.get("inputRequests") or {}
            if not self.is_modern or not _are_questions(questions):
                message = "it asked for input in a form that is not the protocol's"
                raise RequestFailedError(types.INTERNAL_ERROR, message)
            if forwarded is not None and forwarded.takes_questions and self._can_forward(questions, pending):
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

    def _can_forward(self, questions: Mapping[str, Any], pending: Pending) -> bool:
        asks_roots = any(one["method"] == ROOTS for one in questions.values())
        return not asks_roots or self._questions.shares_roots(pending.context.client)

    async def run_task(self, params: Mapping[str, Any], pending: Pending) -> dict[str, Any]:
        """Call a tool that only runs as a task (2025-11-25), and wait for its result."""
        created = await self._send("tools/call", {**params, "task": {}}, pending)
        task = created.get("task")
        identifier = task.get("taskId") if isinstance(task, dict) else None
        if not isinstance(identifier, str):
            # It answered at once, as it may.
            return created
        try:
            return await self._send("tasks/result", {"taskId": identifier}, pending)
        except anyio.get_cancelled_exc_class():
            with anyio.move_on_after(_CANCEL_SECONDS, shield=True), suppress(MCPError):
                await self._send("tasks/cancel", {"taskId": identifier})
            raise

    async def _send(
        self,
        method: str,
        params: Mapping[str, Any],
        pending: Pending | None = None,
        progress: Progress | None = None,
    ) -> dict[str, Any]:
        request_id = next(self._request_ids)
        # Requests of our own, such as for lists, are nobody's: a question cannot be meant for them.
        with nullcontext() if pending is None else self._questions.in_flight(request_id, pending):
            try:
                message = to_jsonable_python({**params})
                options = self._stamp(method, message, _NO_CLIENT if pending is None else pending.context)
                options["request_id"] = request_id
                if progress is not None:
                    options["on_progress"] = progress
                return await self._dispatcher.send_raw_request(method, message, options)
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

    def _stamp(self, method: str, params: dict[str, Any], context: CallContext) -> CallOptions:
        """Add what the protocol wants in every request, and return its HTTP headers."""
        version = str(self.client.protocol_version)
        meta = {} if context.forwarded is None else {**context.forwarded.meta}
        meta = {key: value for key, value in meta.items() if not key.startswith(_RESERVED)}
        meta.pop("progressToken", None)
        headers = {MCP_PROTOCOL_VERSION_HEADER: version}
        if self.is_modern:
            meta[types.PROTOCOL_VERSION_META_KEY] = version
            meta[types.CLIENT_INFO_META_KEY] = self._info.model_dump(by_alias=True, exclude_none=True)
            meta[types.CLIENT_CAPABILITIES_META_KEY] = self._questions.capabilities(context)
            if context.client is not None and context.client.log_level is not None:
                meta[types.LOG_LEVEL_META_KEY] = context.client.log_level
            headers[MCP_METHOD_HEADER] = method
            name = params.get(NAME_BEARING_METHODS.get(method, ""))
            if isinstance(name, str):
                headers[MCP_NAME_HEADER] = encode_header_value(name)
            if method == "tools/call" and name in self._param_headers:
                headers |= mcp_param_headers(self._param_headers[name], params.get("arguments") or {})
        if meta:
            params["_meta"] = meta
        return {"headers": headers}

    # Notifications

    async def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send a notification to a server of the older era; the newer one has none from clients."""
        if not self.is_modern:
            await self._dispatcher.notify(method, params)

    async def watch(self, uris: Collection[str]) -> None:
        """Subscribe to changes of lists and of these resources; the older era sends changes of lists unasked."""
        offered = self.capabilities
        tools, prompts, resources = (
            one is not None and bool(one.list_changed)
            for one in (offered.tools, offered.prompts, offered.resources)
        )
        if not self.is_modern or not (uris or tools or prompts or resources):
            return
        try:
            async with listen(
                self.client,
                tools_list_changed=tools,
                prompts_list_changed=prompts,
                resources_list_changed=resources,
                resource_subscriptions=list(uris),
            ) as subscription:
                async for event in subscription:
                    if isinstance(event, ResourceUpdated):
                        self._on_change("updated", event.uri)
                    else:
                        self._on_change(_LISTS[type(event)], "")
        except (ListenNotSupportedError, SubscriptionLost, MCPError, TimeoutError):
            logger.debug("the subscription to changes ended", exc_info=True)

    async def _on_message(self, message: IncomingMessage) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._on_change("tools", "")
        elif isinstance(message, types.PromptListChangedNotification):
            self._on_change("prompts", "")
        elif isinstance(message, types.ResourceListChangedNotification):
            self._on_change("resources", "")
        elif isinstance(message, types.ResourceUpdatedNotification) and not self.is_modern:
            self._on_change("updated", message.params.uri)
        elif isinstance(message, types.LoggingMessageNotification | types.ElicitCompleteNotification):
            params = message.params.model_dump(by_alias=True, mode="json", exclude_none=True)
            await self._questions.notify(message.method, params)


_LISTS: dict[type, What] = {
    ToolsListChanged: "tools",
    PromptsListChanged: "prompts",
    ResourcesListChanged: "resources",
}


def _given(answers: Mapping[str, Any] | None, state: str | None) -> dict[str, Any]:
    given = {"inputResponses": answers, "requestState": state}
    return {key: value for key, value in given.items() if value is not None}


def _are_questions(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(one, dict) and one.get("method") in {ELICIT, SAMPLE, ROOTS} for one in value.values()
    )


async def _probe(client: ClientSession) -> bool:
    """Return whether the server speaks the newer era in a version that we know, and settle on it if so."""
    try:
        with anyio.move_on_after(_PROBE_SECONDS):
            await client.discover()
            return True
    except MCPError as error:
        if error.code in {NOT_SENT, LOST, REFUSED}:
            raise
    except (ValidationError, RuntimeError):
        # Not an answer to `server/discover`, or one with other versions only.
        pass
    return False


def _describe(info: types.Implementation) -> str:
    name = f"{info.name} {info.version}".strip()
    more = ", ".join(part for part in (info.title, info.description) if part)
    return (f"{name}: {more}" if more else name)[:_MAX_SERVER_INFO]
