"""One live connection to a server: list its tools, call them, get back exactly what it sent."""

from __future__ import annotations

import itertools
import logging
from collections import Counter
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import anyio
import mcp_types as types
from mcp.client.session import ClientRequestContext, ClientSession, IncomingMessage
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost, listen
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.transport_context import TransportContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from halflap.core.text import visible
from halflap.core.values import Listing, canonical
from halflap.upstream.message import CUT, tame
from halflap.upstream.reason import is_answer
from halflap.upstream.wire import LOST, NOT_SENT, REFUSED, SESSION_CLOSED, RequestFailedError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from types import TracebackType

    from mcp.shared.dispatcher import CallOptions, OnNotify, OnNotifyIntercept, OnRequest
    from pydantic import BaseModel

    from halflap.core.values import Progress
    from halflap.upstream.wire import Wire

__all__ = ["Session"]


logger = logging.getLogger(__name__)

_MOST_AGAIN = 100
_MOST_PAGES = 1_000
_MOST_TOOLS = 20_000
_MOST_ROUNDS = 10
_DEEPEST = 320
"""So deep a definition may be. Python copies and writes such values with a stack of a thousand."""
_LONGEST_INSTRUCTIONS = 100_000
_LONGEST_SHOWN = 100
_LONGEST_TTL_MS = 10**12
_ANSWERED = {"content": [], "resultType": "complete"}
"""What the library gets to see of a result of a call: it would validate the whole, which may be large."""


@dataclass(slots=True)
class _Slot:
    """Where one request's raw answer is put, and the id under which it goes out."""

    request_id: int
    raw: dict[str, Any] | None = None


_slot: ContextVar[_Slot | None] = ContextVar("halflap_slot", default=None)


class _Tamed:
    """A stream of messages without those numbers that would end the dispatcher that reads it."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._stream.__aexit__(*error)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        item = await self._stream.__anext__()
        tame(getattr(item, "message", None))
        return item


class _Tap(JSONRPCDispatcher[TransportContext]):
    """A dispatcher that hands us each answer as it came, before anything validates or reshapes it.

    The library above it refuses results that are not to its taste. A gateway must not lose a result
    because a server was careless about types.
    """

    def __init__(self, read: Any, write: Any) -> None:
        super().__init__(_Tamed(read), write)
        self.ended = anyio.Event()

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None, **private: Any
    ) -> dict[str, Any]:
        slot = _slot.get()
        if slot is None:
            return await super().send_raw_request(method, params, opts, **private)
        options: CallOptions = {**(opts or {}), "request_id": slot.request_id}
        slot.raw = await super().send_raw_request(method, params, options, **private)
        return dict(_ANSWERED) if method == "tools/call" else slot.raw

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
            self.ended.set()


class Session:
    """Wraps the library's client session. Enter it, `agree` on a version, then list and call."""

    def __init__(
        self,
        streams: tuple[Any, Any],
        wire: Wire,
        *,
        version: str,
        list_roots: Callable[[], Awaitable[list[dict[str, Any]]]],
        on_tools_changed: Callable[[], None],
    ) -> None:
        self.wire = wire
        self._dispatcher = _Tap(*streams)
        self._ids = itertools.count(1)
        self._list_roots = list_roots
        self._on_tools_changed = on_tools_changed
        self.client = ClientSession(
            dispatcher=self._dispatcher,
            list_roots_callback=self._answer_roots,
            message_handler=self._on_message,
            client_info=types.Implementation(name="halflap", version=version),
        )

    async def __aenter__(self) -> Self:
        await self.client.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.client.__aexit__(kind, error, trace)

    async def ended(self) -> None:
        """Wait until nothing can come from this server any more."""
        async with anyio.create_task_group() as tasks:

            async def first(event: Any) -> None:
                await event.wait()
                tasks.cancel_scope.cancel()

            tasks.start_soon(first, self._dispatcher.ended)
            tasks.start_soon(first, self.wire.broken)

    async def list(self, server: str) -> Listing:
        """Ask for all tools, page by page; what cannot be used is left out with a warning."""
        definitions: list[Mapping[str, Any]] = []
        again: list[Mapping[str, Any]] = []
        warnings: list[str] = []
        ttl: float | None = None
        cursor: str | None = None
        cursors: set[str] = set()
        names = Counter[str]()
        capabilities = self.client.server_capabilities
        if capabilities is not None and capabilities.tools is not None:
            for _ in range(_MOST_PAGES):
                raw = await self._list_page(cursor)
                page = raw.get("tools")
                for definition in page if isinstance(page, list) else ():
                    _take(definition, definitions, again, warnings, names)
                ttl = _shorter(ttl, raw.get("ttlMs"))
                following = raw.get("nextCursor")
                if not isinstance(following, str) or following in cursors or len(definitions) > _MOST_TOOLS:
                    break
                cursors.add(following)
                cursor = following
            else:
                warnings.append(f"its list of tools does not end; it was cut after {_MOST_PAGES} pages")
        info = self.client.server_info
        return Listing(
            server=server,
            tools=tuple(definitions[:_MOST_TOOLS]),
            instructions=(self.client.instructions or "")[:_LONGEST_INSTRUCTIONS] or None,
            protocol_version=self.client.protocol_version,
            server_info=None if info is None else _introduction(info),
            ttl_seconds=ttl,
            repeated=tuple(name for name, times in names.items() if times > 1),
            again=tuple(again[:_MOST_AGAIN]),
            warnings=tuple(warnings),
        )

    async def _list_page(self, cursor: str | None) -> dict[str, Any]:
        params = types.PaginatedRequestParams(cursor=cursor) if cursor is not None else None
        slot = _Slot(self._next_id())
        token = _slot.set(slot)
        try:
            await self.client.list_tools(params=params)
        except Exception:
            # Whatever the library makes of it, once the answer is there: each tool is looked at by itself.
            if slot.raw is None:
                raise
            logger.debug("a page of tools is not to the library's taste", exc_info=True)
        finally:
            _slot.reset(token)
        return slot.raw or {}

    async def call(
        self, tool: str, arguments: Mapping[str, Any], progress: Progress | None
    ) -> dict[str, Any]:
        """Call a tool; gives the raw result, or raises `RequestFailedError`."""
        responses: types.InputResponses | None = None
        state: str | None = None
        for _ in range(_MOST_ROUNDS):
            request = types.CallToolRequest(
                params=types.CallToolRequestParams(
                    name=tool, arguments=dict(arguments), input_responses=responses, request_state=state
                )
            )
            raw = await self._request(request, types.CallToolResult, progress)
            if CUT in raw:
                raise RequestFailedError(types.INTERNAL_ERROR, f"its result {raw[CUT]} to be passed on")
            if raw.get("resultType") != "input_required":
                return raw
            try:
                asked = types.InputRequiredResult.model_validate(raw)
            except ValueError as error:
                words = "it asked for input in a form that is not the protocol's"
                raise RequestFailedError(types.INTERNAL_ERROR, words) from error
            responses = await self._answer_questions(asked)
            state = asked.request_state
        raise RequestFailedError(
            types.INTERNAL_ERROR, f"it asked for more input {_MOST_ROUNDS} times in a row"
        )

    async def _request(
        self, request: types.CallToolRequest, expected: type[BaseModel], progress: Progress | None
    ) -> dict[str, Any]:
        slot = _Slot(self._next_id())
        token = _slot.set(slot)
        try:
            await self.client.send_request(request, expected, progress_callback=progress)
        except MCPError as error:
            raise self._failure(error, slot) from error
        except (ValueError, RecursionError) as error:
            if slot.raw is None:
                words = f"the arguments cannot be written as JSON: {error}"
                raise RequestFailedError(types.INVALID_PARAMS, words, sent=False) from error
        finally:
            _slot.reset(token)
            if self.wire.sent is not None:
                self.wire.sent.pop(slot.request_id, None)
        assert slot.raw is not None
        return slot.raw

    def _failure(self, error: MCPError, slot: _Slot) -> RequestFailedError:
        """Say whether the connection is lost with it, and whether the server may have acted on it."""
        closed = error.code not in {NOT_SENT, LOST, REFUSED} and not is_answer(error)
        # Over HTTP each call has a connection of its own: one that broke says nothing of the others.
        gone = error.code == NOT_SENT or (closed and error.message.startswith(SESSION_CLOSED))
        sent = error.code not in {NOT_SENT, REFUSED}
        if closed:
            sent = self.wire.may_have_arrived(slot.request_id)
        lost = closed or error.code in {NOT_SENT, LOST}
        return RequestFailedError(error.code, error.message, lost=lost, gone=gone, sent=sent)

    def _next_id(self) -> int:
        return 1_000_000 + next(self._ids)

    async def _answer_questions(self, asked: types.InputRequiredResult) -> types.InputResponses:
        """Answer what the newer era asks in the middle of a call: roots, and nothing else yet."""
        answers: types.InputResponses = {}
        for key, question in (asked.input_requests or {}).items():
            if not isinstance(question, types.ListRootsRequest):
                raise RequestFailedError(
                    types.INVALID_REQUEST,
                    f"it asked for {question.method}, which Halflap does not offer to servers",
                )
            answers[key] = await self._roots()
        return answers

    async def _answer_roots(self, context: ClientRequestContext) -> types.ListRootsResult:  # noqa: ARG002 -- the library's signature
        return await self._roots()

    async def _roots(self) -> types.ListRootsResult:
        return types.ListRootsResult.model_validate({"roots": await self._list_roots()})

    async def roots_changed(self) -> None:
        """Tell a server of the older era that the roots are others now."""
        if self.client.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            await self.client.send_notification(types.RootsListChangedNotification())

    async def watch_tools(self) -> None:
        """In the newer era, changes are told only to who listens; in the older, `_on_message` hears them."""
        capabilities = self.client.server_capabilities
        tools = capabilities.tools if capabilities is not None else None
        if (
            self.client.protocol_version not in MODERN_PROTOCOL_VERSIONS
            or tools is None
            or not tools.list_changed
        ):
            return
        try:
            async with listen(self.client, tools_list_changed=True) as subscription:
                async for _event in subscription:
                    self._on_tools_changed()
        except (ListenNotSupportedError, SubscriptionLost, MCPError, TimeoutError):
            logger.debug("no longer told of changed tools", exc_info=True)

    async def _on_message(self, message: IncomingMessage) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._on_tools_changed()


def _introduction(info: types.Implementation) -> str:
    """Say who a server is, as it says itself."""
    who = f"{info.name} {info.version}".strip()
    more = ", ".join(part for part in (info.title, info.description) if part)
    return (f"{who}: {more}" if more else who)[:500]


def _take(
    definition: Any,
    definitions: list[Mapping[str, Any]],
    again: list[Mapping[str, Any]],
    warnings: list[str],
    names: Counter[str],
) -> None:
    """Keep a definition that can be used, mended where the mend is plain; one of a name that is there already, by itself."""
    if (
        not isinstance(definition, dict)
        or not isinstance(definition.get("name"), str)
        or not definition["name"]
    ):
        warnings.append("a tool without a name was left out")
        return
    shown = visible(definition["name"], _LONGEST_SHOWN)
    names[definition["name"]] += 1
    if names[definition["name"]] > 1:
        warnings.append(f"tool {shown!r} is listed twice; the second was left out")
        again += [] if _unusable(definition) else [definition]
        return
    trouble = _unusable(definition)
    if trouble is not None:
        warnings.append(f"tool {shown!r} was left out: {trouble}")
        return
    kept = dict(definition)
    if not isinstance(kept.get("inputSchema"), dict):
        warnings.append(f"tool {shown!r} has no input schema; it is taken to accept any arguments")
        kept["inputSchema"] = {"type": "object"}
    if not isinstance(kept.get("outputSchema"), dict):
        kept.pop("outputSchema", None)
    if not isinstance(kept.get("description"), str):
        kept["description"] = ""
    definitions.append(kept)


def _unusable(definition: dict[str, Any]) -> str | None:
    """Say what keeps a definition from being kept, copied and hashed, if anything does."""
    level: list[Any] = [definition]
    for _ in range(_DEEPEST):
        level = [
            inner
            for part in level
            for inner in (part.values() if isinstance(part, dict) else part)
            if isinstance(inner, dict | list)
        ]
        if not level:
            break
    else:
        return f"its definition is nested more than {_DEEPEST} levels deep"
    try:
        canonical(definition)
    except ValueError:
        return "its definition has a number of more than 4,000 digits"
    return None


def _shorter(ttl: float | None, milliseconds: Any) -> float | None:
    if not isinstance(milliseconds, int | float) or isinstance(milliseconds, bool):
        return ttl
    if not 0 <= milliseconds <= _LONGEST_TTL_MS:
        return ttl
    seconds = milliseconds / 1000
    return seconds if ttl is None else min(ttl, seconds)
