"""One live session with a server: agree on a version, list its tools, call them, and return exactly what it sent."""

from __future__ import annotations

import itertools
import logging
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import anyio
import mcp_types as types
from mcp.client.session import ClientRequestContext, ClientSession, IncomingMessage
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost, listen
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.transport_context import TransportContext
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from halflap.core.values import Listing
from halflap.upstream.connection import LOST, NOT_SENT, REFUSED, RequestFailedError
from halflap.upstream.definitions import MAX_TOOLS, Definitions

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping

    from mcp.shared.dispatcher import CallOptions, OnNotify, OnNotifyIntercept, OnRequest

    from halflap.core.values import Progress
    from halflap.upstream.connection import Connection

    ListRoots = Callable[[], Awaitable[list[dict[str, Any]]]]

logger = logging.getLogger(__name__)

_PROBE_SECONDS = 3.0
"""How long a server may take to answer `server/discover` before `initialize` is tried as well.

Some servers of the older era do not answer a method that they don't know. A slow one of the newer era answers
`initialize` with an error that names the versions it speaks.
"""
_MAX_PAGES = 1_000
_MAX_QUESTIONS = 10
"""How often a server may ask for input during one call."""
_MAX_INSTRUCTIONS = 100_000
_MAX_SERVER_INFO = 500
_ACCEPTED: dict[str, dict[str, Any]] = {
    "tools/call": {"content": [], "resultType": "complete"},
    "tools/list": {"tools": []},
}
"""What the SDK sees instead of the result: it would validate the whole of it, and refuse some."""


@dataclass(slots=True)
class _Exchange:
    """The id that one request is sent under, and the raw answer to it."""

    request_id: int
    hide: bool
    """Whether the SDK gets an empty answer."""
    answer: dict[str, Any] | None = None


_exchange: ContextVar[_Exchange | None] = ContextVar("halflap_exchange", default=None)


class _Dispatcher(JSONRPCDispatcher[TransportContext]):
    """Keeps each answer as it came, before the SDK validates or reshapes it.

    The SDK's session refuses results that break their schema. A gateway must not lose a result because a server was
    careless about types.
    """

    def __init__(self, read: Any, write: Any, connection: Connection) -> None:
        super().__init__(read, write)
        self._connection = connection

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None, **private: Any
    ) -> dict[str, Any]:
        exchange = _exchange.get()
        if exchange is None:
            return await super().send_raw_request(method, params, opts, **private)
        options: CallOptions = {**(opts or {}), "request_id": exchange.request_id}
        exchange.answer = await super().send_raw_request(method, params, options, **private)
        return deepcopy(_ACCEPTED[method]) if exchange.hide else exchange.answer

    async def run(
        self,
        on_request: OnRequest,
        on_notify: OnNotify,
        on_notify_intercept: OnNotifyIntercept | None = None,
        *,
        task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        try:
            await super().run(on_request, on_notify, on_notify_intercept, task_status=task_status)
        finally:
            self._connection.closed.set()


class Session:
    """Wraps the SDK's session, `client`."""

    def __init__(
        self,
        streams: tuple[Any, Any],
        connection: Connection,
        *,
        version: str,
        list_roots: ListRoots,
        on_tools_changed: Callable[[], None],
    ) -> None:
        self.connection = connection
        self._request_ids = itertools.count(1_000_001)
        """Far from the SDK's own ids, which count from 1."""
        self._list_roots = list_roots
        self._on_tools_changed = on_tools_changed
        self.client = ClientSession(
            dispatcher=_Dispatcher(*streams, connection),
            list_roots_callback=self._answer_roots,
            message_handler=self._on_message,
            client_info=types.Implementation(name="halflap", version=version),
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
    def _is_modern(self) -> bool:
        return self.client.protocol_version in MODERN_PROTOCOL_VERSIONS

    @property
    def _tools_capability(self) -> types.ToolsCapability | None:
        capabilities = self.client.server_capabilities
        return None if capabilities is None else capabilities.tools

    async def list(self, server: str) -> Listing:
        """Return all tools; what cannot be used is left out with a warning."""
        definitions = Definitions()
        if self._tools_capability is not None:
            await self._list_pages(definitions)
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

    async def _list_pages(self, definitions: Definitions) -> None:
        cursor: str | None = None
        seen: set[str] = set()
        for _ in range(_MAX_PAGES):
            page = await self._list_page(cursor)
            definitions.add_page(page)
            cursor = page.get("nextCursor")
            if not isinstance(cursor, str) or cursor in seen or len(definitions.tools) >= MAX_TOOLS:
                return
            seen.add(cursor)
        definitions.warnings.append(f"its list of tools does not end; it was cut after {_MAX_PAGES} pages")

    async def _list_page(self, cursor: str | None) -> dict[str, Any]:
        params = types.PaginatedRequestParams(cursor=cursor) if cursor is not None else None
        # In the newer era the SDK takes from the list which arguments become HTTP headers.
        with self._begin_exchange(hide=not self._is_modern) as exchange:
            try:
                await self.client.list_tools(params=params)
            except Exception:
                # The SDK refuses a page for one bad tool. We look at each tool by itself.
                if exchange.answer is None:
                    raise
                logger.debug("the SDK refused a page of tools", exc_info=True)
        return exchange.answer or {}

    async def call(
        self, tool: str, arguments: Mapping[str, Any], progress: Progress | None
    ) -> dict[str, Any]:
        """Call a tool and return the raw result; `RequestFailedError` if there is none."""
        params = types.CallToolRequestParams(name=tool, arguments=dict(arguments))
        for _ in range(_MAX_QUESTIONS):
            raw = await self._send_call(types.CallToolRequest(params=params), progress)
            if raw.get("resultType") != "input_required":
                return raw
            try:
                question = types.InputRequiredResult.model_validate(raw)
            except ValueError as error:
                message = "it asked for input in a form that is not the protocol's"
                raise RequestFailedError(types.INTERNAL_ERROR, message) from error
            answers = await self._answer(question)
            params = params.model_copy(
                update={"input_responses": answers, "request_state": question.request_state}
            )
        raise RequestFailedError(
            types.INTERNAL_ERROR, f"it asked for more input {_MAX_QUESTIONS} times in a row"
        )

    async def _send_call(self, request: types.CallToolRequest, progress: Progress | None) -> dict[str, Any]:
        with self._begin_exchange(hide=True) as exchange:
            try:
                await self.client.send_request(request, types.CallToolResult, progress_callback=progress)
            except MCPError as error:
                raise self.connection.request_failed(error, exchange.request_id) from error
            except (ValueError, RecursionError) as error:
                if exchange.answer is None:
                    message = f"the arguments cannot be written as JSON: {error}"
                    raise RequestFailedError(types.INVALID_PARAMS, message, may_have_arrived=False) from error
        assert exchange.answer is not None
        return exchange.answer

    @contextmanager
    def _begin_exchange(self, *, hide: bool) -> Iterator[_Exchange]:
        exchange = _Exchange(next(self._request_ids), hide)
        token = _exchange.set(exchange)
        try:
            yield exchange
        finally:
            _exchange.reset(token)
            if self.connection.sent is not None:
                self.connection.sent.pop(exchange.request_id, None)

    async def _answer(self, question: types.InputRequiredResult) -> types.InputResponses:
        """Answer what a server of the newer era asks during a call: its roots, and nothing else yet."""
        answers: types.InputResponses = {}
        for key, request in (question.input_requests or {}).items():
            if not isinstance(request, types.ListRootsRequest):
                message = f"it asked for {request.method}, which Halflap does not offer to servers"
                raise RequestFailedError(types.INVALID_REQUEST, message)
            answers[key] = await self._roots()
        return answers

    async def _answer_roots(self, context: ClientRequestContext) -> types.ListRootsResult:  # noqa: ARG002 -- the SDK's signature
        return await self._roots()

    async def _roots(self) -> types.ListRootsResult:
        return types.ListRootsResult.model_validate({"roots": await self._list_roots()})

    async def roots_changed(self) -> None:
        """Notify a server of the older era that the roots changed; the newer era asks for them in each call."""
        if not self._is_modern:
            await self.client.send_notification(types.RootsListChangedNotification())

    async def watch_tools(self) -> None:
        """Subscribe to changes of the tools; servers of the older era send them to `_on_message` unasked."""
        tools = self._tools_capability
        if not self._is_modern or tools is None or not tools.list_changed:
            return
        try:
            async with listen(self.client, tools_list_changed=True) as subscription:
                async for _event in subscription:
                    self._on_tools_changed()
        except (ListenNotSupportedError, SubscriptionLost, MCPError, TimeoutError):
            logger.debug("the subscription to changed tools ended", exc_info=True)

    async def _on_message(self, message: IncomingMessage) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._on_tools_changed()


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
