"""The MCP server that a transport runs: in front of all servers, or of a single one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import mcp_types as types
from mcp.server.lowlevel import NotificationOptions, Server
from pydantic_core import to_jsonable_python

from halflap import __version__
from halflap.server.offers import AllServers, Offer, OneServer, Target
from halflap.server.passthrough.changes import Changes
from halflap.server.passthrough.client import LEVELS, Client, set_log_level
from halflap.server.passthrough.requests import Requests
from halflap.server.passthrough.results import ResultMiddleware, as_it_came, protocol_errors

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext
    from mcp.server.context import CallNext, HandlerResult

    from halflap.gateway import Gateway
    from halflap.server.tools.tool import FrontTool

    Context = ServerRequestContext[Any, Any]

_INSTRUCTIONS = """\
Halflap gives you the tools of all of the user's MCP servers. Find one with search_tools, see its parameters and results \
with inspect_tool, call it with call_tool, or combine several in a Python program with execute_program, which returns only \
what the program prints. suggest_workflow plans such a program. Names are mcp__<server>__<tool>."""
_MIRRORED = ("tools", "prompts", "resources", "completions", "logging")
_ROOTS_SECONDS = 5.0
_BETWEEN_US = {"_meta", "inputResponses", "requestState"}
"""Parameters of a request that are not for the server as they are."""


class _Server(Server[dict[str, Any]]):
    """The library's server, which declares what is offered."""

    offer: Offer

    def get_capabilities(
        self, notification_options: NotificationOptions | None = None, *args: Any, **options: Any
    ) -> types.ServerCapabilities:
        del notification_options
        changing = {f"{kind}_changed": True for kind in self.offer.changing}
        capabilities = super().get_capabilities(NotificationOptions(**changing), *args, **options)
        return capabilities.model_copy(update={name: None for name in _MIRRORED if not self.offer.has(name)})


class Front:
    """An MCP face of a gateway, in front of all servers or of `only` one."""

    def __init__(self, gateway: Gateway, only: str | None = None) -> None:
        self.answered = asyncio.Event()
        """Set when the first list of tools has been sent."""
        self._gateway = gateway
        self._offer: Offer = AllServers(gateway) if only is None else OneServer(gateway, only)
        self._requests = Requests()
        self._changes = Changes(gateway, self._offer.resource, self._offer.changing, only)
        self._asker: Context | None = None
        """The request through which a single client is asked for its roots."""
        self._lowest_level = len(LEVELS)
        self.server = _Server(
            "halflap",
            version=__version__,
            title="Halflap",
            instructions=_INSTRUCTIONS,
            get_tool_input_schema=self._offer.input_schema,
        )
        self.server.offer = self._offer
        self.server.middleware += [self._introduce, self._requests.boundary, ResultMiddleware(self.server)]
        paginated, changes = types.PaginatedRequestParams, self._changes
        handlers: list[tuple[str, type[types.RequestParams], Any]] = [
            ("tools/list", paginated, as_it_came(self._list_tools)),
            ("tools/call", types.CallToolRequestParams, as_it_came(self._call_tool)),
            ("prompts/list", paginated, as_it_came(self._list)),
            ("prompts/get", types.GetPromptRequestParams, as_it_came(self._get_prompt)),
            ("resources/list", paginated, as_it_came(self._list)),
            ("resources/templates/list", paginated, as_it_came(self._list)),
            ("resources/read", types.ReadResourceRequestParams, as_it_came(self._read_resource)),
            ("completion/complete", types.CompleteRequestParams, as_it_came(self._complete)),
            ("logging/setLevel", types.SetLevelRequestParams, self._set_log_level),
            ("resources/subscribe", types.SubscribeRequestParams, changes.subscribe),
            ("resources/unsubscribe", types.UnsubscribeRequestParams, changes.unsubscribe),
            ("subscriptions/listen", types.SubscriptionsListenRequestParams, changes.listen),
        ]
        for method, params, handler in handlers:
            self.server.add_request_handler(method, params, handler)
        self.server.add_notification_handler(
            "notifications/initialized", types.NotificationParams, self._initialized
        )

    @property
    def tools(self) -> tuple[FrontTool, ...]:
        """Halflap's own tools that clients see, in order."""
        return tuple(self._offer.own_tools.values())

    def forward_roots(self) -> None:
        """Pass the client's roots on to the servers that ask: for a transport with a single client."""
        self._gateway.offer_roots(self._client_roots)
        self.server.add_notification_handler(
            "notifications/roots/list_changed", types.NotificationParams, self._roots_changed
        )

    def close(self) -> None:
        """Cancel what waits for clients."""
        self._requests.close()

    async def _introduce(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Introduce ourselves with what is known only now: the library asks before the first request."""
        if ctx.request_id is not None:
            with protocol_errors():
                await self._offer.prepare(self.server)
        result = await call_next(ctx)
        if ctx.method == "initialize" and isinstance(result, dict):
            about = {
                "capabilities": self.server.get_capabilities(),
                "serverInfo": self.server.server_info,
                "instructions": self.server.instructions,
            }
            result |= to_jsonable_python(about, by_alias=True, exclude_none=True)
        return result

    # Tools

    async def _list_tools(
        self, _context: Context, _params: types.PaginatedRequestParams
    ) -> Mapping[str, Any]:
        # The answer is sent after this returns.
        asyncio.get_running_loop().call_later(0.05, self.answered.set)
        return await self._offer.tools()

    async def _call_tool(self, context: Context, params: types.CallToolRequestParams) -> Mapping[str, Any]:
        return await self._requests.answer(
            context, lambda client: self._offer.call(params.name, params.arguments or {}, client)
        )

    # Prompts and resources

    async def _list(self, context: Context, params: types.PaginatedRequestParams) -> Mapping[str, Any]:
        return await self._offer.page(context.method, params.cursor, Client(context))

    async def _get_prompt(self, context: Context, params: types.GetPromptRequestParams) -> Mapping[str, Any]:
        target = await self._offer.prompt(params.name)
        return await self._forward(context, "prompt", target, {"name": target.name})

    async def _read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> Mapping[str, Any]:
        uri, principal = str(params.uri), Client(context).principal
        if (own := await self._offer.own_resource(uri, principal)) is not None:
            return own
        target = await self._offer.resource(uri, principal)
        return await self._forward(context, "resource", target, {"uri": target.name})

    async def _complete(self, context: Context, params: types.CompleteRequestParams) -> Mapping[str, Any]:
        if isinstance(params.ref, types.PromptReference):
            target = await self._offer.prompt(params.ref.name)
            ref = {"type": "ref/prompt", "name": target.name}
            return await self._forward(context, "prompt", target, {"ref": ref})
        target = await self._offer.template(str(params.ref.uri))
        ref = {"type": "ref/resource", "uri": target.name}
        return await self._forward(context, "resource", target, {"ref": ref})

    async def _forward(
        self,
        context: Context,
        kind: Literal["prompt", "resource"],
        target: Target,
        replaced: Mapping[str, Any],
    ) -> dict[str, Any]:
        """Send the client's request to the server with its own names, and return the result as it came."""
        given = {key: value for key, value in (context.params or {}).items() if key not in _BETWEEN_US}
        about, params = (target.server, kind, target.name), {**given, **replaced}

        async def work(client: Client) -> dict[str, Any]:
            passing = (await self._gateway.prepare()).passing
            return await passing.request(about, context.method, params, client.on_behalf(forwards=True))

        return await self._requests.answer(context, work)

    async def _set_log_level(
        self, context: Context, params: types.SetLevelRequestParams
    ) -> types.EmptyResult:
        """Note what this client wants to hear; servers are asked for what any client wants."""
        set_log_level(context, params.level)
        if LEVELS.index(params.level) < self._lowest_level:
            self._lowest_level = LEVELS.index(params.level)
            await (await (await self._gateway.prepare()).pool.get()).set_log_level(params.level)
        return types.EmptyResult()

    # Connections of the older era

    async def _initialized(self, context: Context, _params: types.NotificationParams) -> None:
        self._changes.connected(context)
        capabilities = context.session.client_capabilities
        if capabilities is not None and capabilities.roots is not None:
            self._asker = context

    async def _roots_changed(self, _context: Context, _params: types.NotificationParams) -> None:
        await self._gateway.roots_changed()

    async def _client_roots(self) -> Sequence[Mapping[str, Any]]:
        if self._asker is None:
            return []
        result = await self._asker.session.send_request(
            types.ListRootsRequest(), types.ListRootsResult, request_read_timeout_seconds=_ROOTS_SECONDS
        )
        return [root.model_dump(by_alias=True, mode="json", exclude_none=True) for root in result.roots]
