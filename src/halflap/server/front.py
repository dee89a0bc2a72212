"""The MCP server that a transport runs: in front of all servers, or of a single one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import mcp_types as types
from mcp.server.lowlevel import NotificationOptions, Server
from pydantic_core import to_jsonable_python

from halflap import __version__
from halflap.server.client import LEVELS, Client, connection_of, set_log_level
from halflap.server.parking import Parking
from halflap.server.results import RawResults, protocol_errors, raw
from halflap.server.routing import CAPABILITIES, AllServers, OneServer, Router
from halflap.server.subscriptions import Subscriptions
from halflap.server.tokens import principal_of
from halflap.server.tools.execute import read_output

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext
    from mcp.server.connection import Connection
    from mcp.server.context import CallNext, HandlerResult

    from halflap.gateway import Gateway
    from halflap.server.audit import Audit
    from halflap.server.tools.tool import OwnTool

    Context = ServerRequestContext[Any, Any]

_INSTRUCTIONS = """\
Halflap gives you the tools of all of the user's MCP servers. Find one with search_tools, see its parameters and results \
with inspect_tool, call it with call_tool, or combine several in a Python program with execute_program, which returns only \
what the program prints. suggest_workflow plans such a program. Names are mcp__<server>__<tool>."""
_ROOTS_SECONDS = 5.0
_NOT_FORWARDED = {"_meta", "inputResponses", "requestState"}
"""Parameters of a request that concern only the client and Halflap."""


class _Server(Server[dict[str, Any]]):
    """The library's server, with the capabilities of the router."""

    router: Router

    def get_capabilities(
        self, notification_options: NotificationOptions | None = None, *args: Any, **options: Any
    ) -> types.ServerCapabilities:
        del notification_options
        changing = {f"{kind}_changed": True for kind in self.router.changing}
        capabilities = super().get_capabilities(NotificationOptions(**changing), *args, **options)
        missing = {name: None for name in CAPABILITIES if name not in self.router.capabilities}
        return capabilities.model_copy(update=missing)


class Front:
    """An MCP server in front of a gateway's servers, or of `only` one."""

    def __init__(self, gateway: Gateway, only: str | None = None, audit: Audit | None = None) -> None:
        self._gateway = gateway
        self._router: Router = AllServers(gateway) if only is None else OneServer(gateway, only)
        self._parking = Parking()
        self._subscriptions = Subscriptions(gateway, self._router)
        self._with_roots: Connection | None = None
        """A client that can be asked for its roots."""
        self._lowest_level = len(LEVELS)
        gateway.on_reload(self._ask_for_log_messages)
        self.server = _Server(
            "halflap",
            version=__version__,
            title="Halflap",
            instructions=_INSTRUCTIONS,
            get_tool_input_schema=self._router.input_schema,
        )
        self.server.router = self._router
        self.server.middleware += [] if audit is None else [audit.middleware]
        self.server.middleware += [self._introduce, self._parking.boundary, RawResults(self.server)]
        paginated, subscriptions = types.PaginatedRequestParams, self._subscriptions
        handlers: list[tuple[str, type[types.RequestParams], Any]] = [
            ("tools/list", paginated, raw(self._list_tools)),
            ("tools/call", types.CallToolRequestParams, raw(self._call_tool)),
            ("prompts/list", paginated, raw(self._list)),
            ("prompts/get", types.GetPromptRequestParams, raw(self._forward)),
            ("resources/list", paginated, raw(self._list)),
            ("resources/templates/list", paginated, raw(self._list)),
            ("resources/read", types.ReadResourceRequestParams, raw(self._forward)),
            ("completion/complete", types.CompleteRequestParams, raw(self._forward)),
            ("logging/setLevel", types.SetLevelRequestParams, self._set_log_level),
            ("resources/subscribe", types.SubscribeRequestParams, subscriptions.subscribe),
            ("resources/unsubscribe", types.UnsubscribeRequestParams, subscriptions.unsubscribe),
            ("subscriptions/listen", types.SubscriptionsListenRequestParams, subscriptions.listen),
        ]
        for method, params, handler in handlers:
            self.server.add_request_handler(method, params, handler)
        self.server.add_notification_handler(
            "notifications/initialized", types.NotificationParams, self._initialized
        )

    @property
    def tools(self) -> tuple[OwnTool, ...]:
        """Halflap's own tools that clients see, in order."""
        return tuple(self._router.own_tools.values())

    def forward_roots(self) -> None:
        """Forward the client's roots to servers that ask for them, on a transport with a single client."""
        self._gateway.offer_roots(self._client_roots)
        self.server.add_notification_handler(
            "notifications/roots/list_changed", types.NotificationParams, self._roots_changed
        )

    def close(self) -> None:
        """Cancel requests that wait for clients."""
        self._parking.close()

    async def _introduce(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Complete the introduction: the library composes it before the server behind us is known."""
        if ctx.request_id is not None:
            with protocol_errors():
                await self._router.prepare(self.server)
        result = await call_next(ctx)
        if ctx.method == "initialize" and isinstance(result, dict):
            about = {
                "capabilities": self.server.get_capabilities(),
                "serverInfo": self.server.server_info,
                "instructions": self.server.instructions,
            }
            result |= to_jsonable_python(about, by_alias=True, exclude_none=True)
        return result

    async def _list_tools(self, context: Context, _params: Any) -> Mapping[str, Any]:
        return await self._router.tools(principal_of(context))

    async def _call_tool(self, context: Context, params: types.CallToolRequestParams) -> Mapping[str, Any]:
        return await self._parking.answer(
            context, lambda client: self._router.call(params.name, params.arguments or {}, client)
        )

    async def _list(self, context: Context, params: types.PaginatedRequestParams) -> Mapping[str, Any]:
        return await self._router.page(context.method, params.cursor, Client(context))

    async def _forward(self, context: Context, params: Any) -> Mapping[str, Any]:
        """Send a request about a prompt or a resource to its server, with the name that the server uses."""
        about = params.ref if isinstance(params, types.CompleteRequestParams) else params
        principal = principal_of(context)
        kind: Literal["prompt", "resource"]
        if isinstance(about, types.PromptReference | types.GetPromptRequestParams):
            kind, target = "prompt", await self._router.prompt(about.name, principal)
            named: dict[str, Any] = {"name": target.name}
        else:
            uri = str(about.uri)
            own = await read_output(self._gateway, uri, principal) if self._router.only is None else None
            if own is not None:
                return own
            kind, target = "resource", await self._router.resource(uri, principal)
            named = {"uri": target.name}
        if about is not params:
            named = {"ref": {"type": f"ref/{kind}", **named}}
        given = {key: value for key, value in (context.params or {}).items() if key not in _NOT_FORWARDED}

        async def work(client: Client) -> dict[str, Any]:
            passing = (await self._gateway.seen_by(principal).prepare()).passing
            asked, on_behalf = (target.server, kind, target.name), client.on_behalf(forwards=True)
            return await passing.request(asked, context.method, {**given, **named}, on_behalf)

        return await self._parking.answer(context, work)

    async def _set_log_level(
        self, context: Context, params: types.SetLevelRequestParams
    ) -> types.EmptyResult:
        """Set this client's level; servers are asked for the lowest level of any client."""
        set_log_level(context, params.level)
        if LEVELS.index(params.level) < self._lowest_level:
            self._lowest_level = LEVELS.index(params.level)
            await self._ask_for_log_messages()
        return types.EmptyResult()

    async def _ask_for_log_messages(self) -> None:
        if self._lowest_level < len(LEVELS):
            pool = await (await self._gateway.prepare()).pool.get()
            await pool.set_log_level(LEVELS[self._lowest_level])

    # Connections of the older era

    async def _initialized(self, context: Context, _params: types.NotificationParams) -> None:
        self._subscriptions.connected(context)
        capabilities = context.session.client_capabilities
        if capabilities is not None and capabilities.roots is not None:
            self._with_roots = connection_of(context)

    async def _roots_changed(self, _context: Context, _params: types.NotificationParams) -> None:
        await self._gateway.roots_changed()

    async def _client_roots(self) -> Sequence[Mapping[str, Any]]:
        if self._with_roots is None:
            return []
        answer = await self._with_roots.outbound.send_raw_request(
            "roots/list", {}, {"timeout": _ROOTS_SECONDS}
        )
        roots: Sequence[Mapping[str, Any]] = answer["roots"]
        return roots
