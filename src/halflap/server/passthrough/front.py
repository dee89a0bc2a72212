"""What every front has in common: an MCP server over whatever transport, and what passes through it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.server.lowlevel import NotificationOptions, Server

from halflap.server.passthrough.changes import Changes
from halflap.server.passthrough.handlers import Handlers
from halflap.server.passthrough.requests import Requests
from halflap.server.passthrough.results import ResultMiddleware

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from mcp.server import ServerRequestContext

    from halflap.gateway import Gateway
    from halflap.server.passthrough.routes import Routes

__all__ = ["BaseFront", "FrontServer"]

_ROOTS_SECONDS = 5.0


class FrontServer(Server[dict[str, Any]]):
    """The library's server, which says which lists of ours may change."""

    changing: Collection[str] = ()

    def get_capabilities(
        self, notification_options: NotificationOptions | None = None, *args: Any, **options: Any
    ) -> types.ServerCapabilities:
        del notification_options
        announced = NotificationOptions(
            prompts_changed="prompts" in self.changing,
            resources_changed="resources" in self.changing,
            tools_changed="tools" in self.changing,
        )
        return super().get_capabilities(announced, *args, **options)


class BaseFront:
    """An MCP face of a gateway; `server` is what a transport runs."""

    def __init__(
        self,
        gateway: Gateway,
        server: FrontServer,
        routes: Routes,
        *,
        changing: Collection[str],
        only: str | None = None,
    ) -> None:
        self.server = server
        self._gateway = gateway
        self._requests = Requests()
        self._changes = Changes(gateway, routes, lists=changing, server=only)
        self._asker: ServerRequestContext[Any, Any] | None = None
        server.changing = changing
        server.middleware.append(ResultMiddleware(server))
        self._handlers = Handlers(gateway, routes, self._requests)
        self._handlers.register(server, self._changes)
        server.add_notification_handler(
            "notifications/initialized", types.NotificationParams, self._initialized
        )

    def forward_roots(self) -> None:
        """Pass the client's roots on to the servers that ask: for a transport with a single client."""
        self._gateway.offer_roots(self._client_roots)
        self.server.add_notification_handler(
            "notifications/roots/list_changed", types.NotificationParams, self._roots_changed
        )

    def close(self) -> None:
        """Give up what waits for clients."""
        self._requests.close()

    async def _initialized(
        self, context: ServerRequestContext[Any, Any], _params: types.NotificationParams
    ) -> None:
        self._changes.connected(context)
        capabilities = context.session.client_capabilities
        if capabilities is not None and capabilities.roots is not None:
            self._asker = context

    async def _roots_changed(
        self, _context: ServerRequestContext[Any, Any], _params: types.NotificationParams
    ) -> None:
        await self._gateway.roots_changed()

    async def _client_roots(self) -> Sequence[Mapping[str, Any]]:
        if self._asker is None:
            return []
        result = await self._asker.session.send_request(
            types.ListRootsRequest(), types.ListRootsResult, request_read_timeout_seconds=_ROOTS_SECONDS
        )
        return [root.model_dump(by_alias=True, mode="json", exclude_none=True) for root in result.roots]
