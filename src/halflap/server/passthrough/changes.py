"""Tell clients what servers announce: lists that changed, and resources that they watch."""

from __future__ import annotations

import asyncio
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
from halflap.server.passthrough.peer import connection_of, is_modern
from halflap.server.passthrough.results import protocol_errors
from halflap.server.principal import principal_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from mcp.server import ServerRequestContext
    from mcp.server.connection import Connection
    from mcp.server.lowlevel import Server

    from halflap.core.values import ServerEvent
    from halflap.gateway import Gateway
    from halflap.server.passthrough.routes import Routes, Target

    Context = ServerRequestContext[Any, Any]
    Event = ToolsListChanged | PromptsListChanged | ResourcesListChanged | ResourceUpdated

__all__ = ["Changes"]

MAX_WATCHED = 100
"""Resources that one client may watch."""
_MAX_CONNECTIONS = 1_024
_SEND_SECONDS = 10.0
"""How long a client may take to read a message; a slower one misses it."""
_LISTS: dict[str, Event] = {
    "tools": ToolsListChanged(),
    "prompts": PromptsListChanged(),
    "resources": ResourcesListChanged(),
}


class _Client:
    """A connected client of the older era: what it watches, and the messages that wait for it."""

    def __init__(self, connection: Connection) -> None:
        self.watched: dict[str, Target] = {}
        self._connection = connection
        self._waiting: dict[Event, None] = {}
        self._sender: asyncio.Task[None] | None = None

    def tell(self, event: Event) -> None:
        """Send an event; the same one is not queued twice."""
        self._waiting[event] = None
        if self._sender is None or self._sender.done():
            self._sender = asyncio.create_task(self._send())

    async def _send(self) -> None:
        while self._waiting:
            event = next(iter(self._waiting))
            del self._waiting[event]
            with anyio.move_on_after(_SEND_SECONDS):
                if isinstance(event, ResourceUpdated):
                    await self._connection.send_resource_updated(event.uri)
                elif isinstance(event, ToolsListChanged):
                    await self._connection.send_tool_list_changed()
                elif isinstance(event, PromptsListChanged):
                    await self._connection.send_prompt_list_changed()
                else:
                    await self._connection.send_resource_list_changed()


class Changes:
    """The clients of one front, and what each of them wants to hear."""

    def __init__(
        self, gateway: Gateway, routes: Routes, *, lists: Collection[str], server: str | None = None
    ) -> None:
        self._gateway = gateway
        self._routes = routes
        self._lists = lists
        self._server = server
        """The only server whose changes count; None for all."""
        self._bus = InMemorySubscriptionBus()
        self._listen = ListenHandler(self._bus)
        self._clients: dict[Connection, _Client] = {}
        self._streams: dict[object, dict[str, Target]] = {}
        """What each stream of the newer era watches."""
        self._tasks: set[asyncio.Task[None]] = set()
        gateway.on_event(self._on_event)

    def register(self, server: Server[Any]) -> None:
        server.add_request_handler("resources/subscribe", types.SubscribeRequestParams, self.subscribe)
        server.add_request_handler("resources/unsubscribe", types.UnsubscribeRequestParams, self.unsubscribe)
        server.add_request_handler(
            "subscriptions/listen", types.SubscriptionsListenRequestParams, self.listen
        )

    def connected(self, context: Context) -> None:
        """Note a client of the older era when it has connected."""
        if not is_modern(context) and len(self._clients) < _MAX_CONNECTIONS:
            self._client(connection_of(context))

    def _client(self, connection: Connection) -> _Client:
        if connection not in self._clients:
            self._clients[connection] = _Client(connection)
            connection.exit_stack.push_async_callback(self._disconnected, connection)
        return self._clients[connection]

    async def _disconnected(self, connection: Connection) -> None:
        client = self._clients.pop(connection, None)
        if client is not None:
            await self._unwatch(client.watched.values())

    async def subscribe(self, context: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        """Watch a resource for a client of the older era."""
        watched = self._client(connection_of(context)).watched
        if str(params.uri) not in watched:
            watched[str(params.uri)] = await self._watch(str(params.uri), principal_of(context), len(watched))
        return types.EmptyResult()

    async def unsubscribe(
        self, context: Context, params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        """Stop watching a resource."""
        target = self._client(connection_of(context)).watched.pop(str(params.uri), None)
        await self._unwatch([] if target is None else [target])
        return types.EmptyResult()

    async def listen(
        self, context: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Send a client of the newer era what it asks for, until it closes the stream."""
        wanted = params.notifications
        watched: dict[str, Target] = {}
        for uri in wanted.resource_subscriptions or ():
            with suppress(MCPError):
                watched[uri] = await self._watch(uri, principal_of(context), len(watched))
        honored = wanted.model_copy(
            update={
                "resource_subscriptions": list(watched) or None,
                **{f"{kind}_list_changed": None for kind in _LISTS if kind not in self._lists},
            }
        )
        stream = object()
        self._streams[stream] = watched
        try:
            return await self._listen(context, params.model_copy(update={"notifications": honored}))
        finally:
            del self._streams[stream]
            with anyio.CancelScope(shield=True):
                await self._unwatch(watched.values())

    async def _watch(self, uri: str, principal: str, watched: int) -> Target:
        if watched >= MAX_WATCHED:
            raise MCPError(types.INVALID_REQUEST, f"A client can watch {MAX_WATCHED} resources at most.")
        target = await self._routes.resource(uri, principal)
        with protocol_errors():
            await (await self._gateway.prepare()).passing.subscribe(*target)
        return target

    async def _unwatch(self, targets: Iterable[Target]) -> None:
        for target in targets:
            # The server may be gone, and our own gateway may be closing.
            with suppress(HalflapError), anyio.move_on_after(_SEND_SECONDS):
                await (await self._gateway.prepare()).passing.unsubscribe(*target)

    def _on_event(self, event: ServerEvent) -> None:
        if self._server not in {None, event.server}:
            return
        if event.what != "updated":
            if event.what in self._lists:
                self._publish(_LISTS[event.what])
                for client in self._clients.values():
                    client.tell(_LISTS[event.what])
            return
        changed = (event.server, event.uri)
        streams = (watched.items() for watched in self._streams.values())
        for uri in {uri for watched in streams for uri, target in watched if target == changed}:
            self._publish(ResourceUpdated(uri))
        for client in self._clients.values():
            for uri in (uri for uri, target in client.watched.items() if target == changed):
                client.tell(ResourceUpdated(uri))

    def _publish(self, event: Event) -> None:
        task = asyncio.ensure_future(self._bus.publish(event))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
