"""Forward to clients what servers announce: lists that changed, and resources that they watch."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError

from halflap.core.errors import HalflapError
from halflap.server.client import connection_of, is_modern
from halflap.server.offers import names_of
from halflap.server.results import protocol_errors
from halflap.server.tokens import principal_of

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext
    from mcp.server.connection import Connection

    from halflap.core.values import ServerEvent
    from halflap.gateway import Gateway
    from halflap.server.offers import Offer, Target

    Context = ServerRequestContext[Any, Any]
    Event = ToolsListChanged | PromptsListChanged | ResourcesListChanged | ResourceUpdated

MAX_WATCHED = 100
"""Resources that one client may watch."""
_SEND_SECONDS = 10.0
"""How long a client may take to read a message; a slower one misses it."""
_LISTS: dict[str, Event] = {
    "tools": ToolsListChanged(),
    "prompts": PromptsListChanged(),
    "resources": ResourcesListChanged(),
}
_METHODS: dict[type, str] = {
    ToolsListChanged: "notifications/tools/list_changed",
    PromptsListChanged: "notifications/prompts/list_changed",
    ResourcesListChanged: "notifications/resources/list_changed",
    ResourceUpdated: "notifications/resources/updated",
}


class _OlderClient:
    """A connected client of the older era: what it watches, and the messages that wait for it."""

    def __init__(self, connection: Connection, subscribe: Callable[[Callable[[Event], None]], Any]) -> None:
        self.watched: dict[str, Target] = {}
        self.unsubscribe = subscribe(self._take)
        self._connection = connection
        self._waiting: dict[Event, None] = {}
        self._sender: asyncio.Task[None] | None = None

    def _take(self, event: Event) -> None:
        if isinstance(event, ResourceUpdated) and event.uri not in self.watched:
            return
        # The same event is not queued twice.
        self._waiting[event] = None
        if self._sender is None or self._sender.done():
            self._sender = asyncio.create_task(self._send())

    async def _send(self) -> None:
        while self._waiting:
            event = next(iter(self._waiting))
            del self._waiting[event]
            with anyio.move_on_after(_SEND_SECONDS):
                params = {"uri": event.uri} if isinstance(event, ResourceUpdated) else None
                await self._connection.outbound.notify(_METHODS[type(event)], params)


class Changes:
    """What the clients of one front want to hear."""

    def __init__(self, gateway: Gateway, offer: Offer) -> None:
        self._gateway = gateway
        self._offer = offer
        self._bus = InMemorySubscriptionBus()
        self._listen = ListenHandler(self._bus)
        self._clients: dict[Connection, _OlderClient] = {}
        self._publishing: set[asyncio.Task[None]] = set()
        gateway.on_event(self._on_event)

    def connected(self, context: Context) -> None:
        """Note a client of the older era when it has connected."""
        if not is_modern(context):
            self._client(context)

    def _client(self, context: Context) -> _OlderClient:
        connection = connection_of(context)
        if connection not in self._clients:
            self._clients[connection] = _OlderClient(connection, self._bus.subscribe)
            connection.exit_stack.push_async_callback(self._disconnected, connection)
        return self._clients[connection]

    async def _disconnected(self, connection: Connection) -> None:
        client = self._clients.pop(connection)
        client.unsubscribe()
        await self._unwatch(client.watched)

    async def subscribe(self, context: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        """Watch a resource for a client of the older era."""
        watched, uri = self._client(context).watched, str(params.uri)
        if uri not in watched:
            watched[uri] = await self._watch(uri, principal_of(context), len(watched))
        return types.EmptyResult()

    async def unsubscribe(
        self, context: Context, params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        """Stop watching a resource."""
        watched, uri = self._client(context).watched, str(params.uri)
        if uri in watched:
            await self._unwatch({uri: watched.pop(uri)})
        return types.EmptyResult()

    async def listen(
        self, context: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Send a client of the newer era what it asks for, until it closes the stream."""
        wanted = params.notifications
        watched: dict[str, Target] = {}
        try:
            for uri in dict.fromkeys(wanted.resource_subscriptions or ()):
                with suppress(MCPError):
                    watched[uri] = await self._watch(uri, principal_of(context), len(watched))
            lists = {f"{kind}_list_changed": None for kind in _LISTS if kind not in self._offer.changing}
            honored = wanted.model_copy(update={"resource_subscriptions": list(watched) or None, **lists})
            return await self._listen(context, params.model_copy(update={"notifications": honored}))
        finally:
            with anyio.CancelScope(shield=True):
                await self._unwatch(watched)

    async def _watch(self, uri: str, principal: str, watched: int) -> Target:
        if watched >= MAX_WATCHED:
            raise MCPError(types.INVALID_REQUEST, f"A client can watch {MAX_WATCHED} resources at most.")
        target = await self._offer.resource(uri, principal)
        with protocol_errors():
            await (await self._gateway.seen_by(principal).prepare()).passing.subscribe(*target)
        return target

    async def _unwatch(self, watched: Mapping[str, Target]) -> None:
        for target in watched.values():
            # The server may be gone, and our own gateway may be closing.
            with suppress(HalflapError), anyio.move_on_after(_SEND_SECONDS):
                await (await self._gateway.prepare()).passing.unsubscribe(*target)

    def _on_event(self, event: ServerEvent) -> None:
        if self._offer.only not in {None, event.server}:
            return
        if event.what == "updated":
            # The bus sends it to those who watch the resource under one of these names.
            events: list[Event] = [ResourceUpdated(uri) for uri in names_of(event.server, event.uri)]
        else:
            events = [_LISTS[event.what]] if event.what in self._offer.changing else []
        for one in events:
            task = asyncio.ensure_future(self._bus.publish(one))
            self._publishing.add(task)
            task.add_done_callback(self._publishing.discard)
