"""Forward the announcements of servers to clients: changed lists, and updates of subscribed resources."""

from __future__ import annotations

import asyncio
from collections import Counter
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
from halflap.server.results import protocol_errors
from halflap.server.routing import uris_of
from halflap.server.tokens import principal_of

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext
    from mcp.server.connection import Connection

    from halflap.core.values import ServerEvent
    from halflap.gateway import Gateway
    from halflap.server.routing import Router, Target

    Context = ServerRequestContext[Any, Any]
    Event = ToolsListChanged | PromptsListChanged | ResourcesListChanged | ResourceUpdated

MAX_SUBSCRIPTIONS = 100
"""Resources that one client may subscribe to."""
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
    """A connected client of the older era: its subscriptions, and the queue of its messages."""

    def __init__(
        self, connection: Connection, principal: str, subscribe: Callable[[Callable[[Event], None]], Any]
    ) -> None:
        self.principal = principal
        self.subscribed: dict[str, Target] = {}
        self.leave = subscribe(self._enqueue)
        self._connection = connection
        self._queue: dict[Event, None] = {}
        """Ordered, and without duplicates."""
        self._sender: asyncio.Task[None] | None = None

    def _enqueue(self, event: Event) -> None:
        if isinstance(event, ResourceUpdated) and event.uri not in self.subscribed:
            return
        self._queue[event] = None
        if self._sender is None or self._sender.done():
            self._sender = asyncio.create_task(self._send())

    async def _send(self) -> None:
        while self._queue:
            event = next(iter(self._queue))
            del self._queue[event]
            with anyio.move_on_after(_SEND_SECONDS):
                params = {"uri": event.uri} if isinstance(event, ResourceUpdated) else None
                await self._connection.outbound.notify(_METHODS[type(event)], params)


class Subscriptions:
    """What the clients of one front have subscribed to."""

    def __init__(self, gateway: Gateway, router: Router) -> None:
        self._gateway = gateway
        self._router = router
        self._bus = InMemorySubscriptionBus()
        self._listen = ListenHandler(self._bus)
        self._clients: dict[Connection, _OlderClient] = {}
        self._watched: Counter[tuple[str, Target]] = Counter()
        """By principal and resource: the clients that watch it."""
        self._publishing: set[asyncio.Task[None]] = set()
        gateway.on_event(self._on_event)
        gateway.on_reload(self._watch_again)

    def connected(self, context: Context) -> None:
        """Register a client of the older era after its handshake."""
        if not is_modern(context):
            self._client(context)

    def _client(self, context: Context) -> _OlderClient:
        connection = connection_of(context)
        if connection not in self._clients:
            client = _OlderClient(connection, principal_of(context), self._bus.subscribe)
            self._clients[connection] = client
            connection.exit_stack.push_async_callback(self._disconnected, connection)
        return self._clients[connection]

    async def _disconnected(self, connection: Connection) -> None:
        client = self._clients.pop(connection)
        client.leave()
        await self._unsubscribe(client.principal, client.subscribed)

    async def subscribe(self, context: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        """Handle `resources/subscribe`, of the older era."""
        subscribed, uri = self._client(context).subscribed, str(params.uri)
        if uri not in subscribed:
            subscribed[uri] = await self._subscribe(uri, principal_of(context), len(subscribed))
        return types.EmptyResult()

    async def unsubscribe(
        self, context: Context, params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        """Handle `resources/unsubscribe`, of the older era."""
        subscribed, uri = self._client(context).subscribed, str(params.uri)
        if uri in subscribed:
            await self._unsubscribe(principal_of(context), {uri: subscribed.pop(uri)})
        return types.EmptyResult()

    async def listen(
        self, context: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Handle `subscriptions/listen`, of the newer era, until the client closes the stream."""
        wanted = params.notifications
        subscribed: dict[str, Target] = {}
        try:
            for uri in dict.fromkeys(wanted.resource_subscriptions or ()):
                with suppress(MCPError):
                    subscribed[uri] = await self._subscribe(uri, principal_of(context), len(subscribed))
            constant = {f"{kind}_list_changed": None for kind in _LISTS if kind not in self._router.changing}
            honored = wanted.model_copy(
                update={"resource_subscriptions": list(subscribed) or None, **constant}
            )
            return await self._listen(context, params.model_copy(update={"notifications": honored}))
        finally:
            with anyio.CancelScope(shield=True):
                await self._unsubscribe(principal_of(context), subscribed)

    async def _subscribe(self, uri: str, principal: str, subscribed: int) -> Target:
        if subscribed >= MAX_SUBSCRIPTIONS:
            message = f"A client can subscribe to {MAX_SUBSCRIPTIONS} resources at most."
            raise MCPError(types.INVALID_REQUEST, message)
        target = await self._router.resource(uri, principal)
        with protocol_errors():
            await self._watch(principal, target)
        self._watched[principal, target] += 1
        return target

    async def _watch(self, principal: str, target: Target) -> None:
        await (await self._gateway.seen_by(principal).prepare()).passing.subscribe(*target)

    async def _watch_again(self) -> None:
        for principal, target in list(self._watched.elements()):
            # The server may be gone, or the resource blocked now.
            with suppress(HalflapError):
                await self._watch(principal, target)

    async def _unsubscribe(self, principal: str, subscribed: Mapping[str, Target]) -> None:
        for target in subscribed.values():
            self._watched[principal, target] -= 1
            # The server may be gone, and our own gateway may be closing.
            with suppress(HalflapError), anyio.move_on_after(_SEND_SECONDS):
                await (await self._gateway.prepare()).passing.unsubscribe(*target)

    def _on_event(self, event: ServerEvent) -> None:
        if self._router.only not in {None, event.server}:
            return
        if event.what == "updated":
            events: list[Event] = [ResourceUpdated(uri) for uri in uris_of(event.server, event.uri)]
        else:
            events = [_LISTS[event.what]] if event.what in self._router.changing else []
        for one in events:
            task = asyncio.ensure_future(self._bus.publish(one))
            self._publishing.add(task)
            task.add_done_callback(self._publishing.discard)
