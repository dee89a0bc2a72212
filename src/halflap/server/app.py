"""Our own MCP server: a fixed handful of tools, the same for every client."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from halflap import __version__
from halflap.core.errors import HalflapError, ToolNotFoundError
from halflap.server.caller import Caller
from halflap.server.confirmation import Confirmations
from halflap.server.core import core_family
from halflap.server.dspy import dspy_family
from halflap.server.gepa import gepa_family
from halflap.server.runs import RunResources

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mcp.server import ServerRequestContext

    from halflap.core.codes import OtherCode
    from halflap.gateway import Gateway
    from halflap.server.family import FrontTool

__all__ = ["FAMILIES", "Front"]

logger = logging.getLogger(__name__)

_INSTRUCTIONS = """\
Halflap stands in front of this person's MCP servers. search_tools finds a tool among all that they offer \
by what it does; inspect_tool shows what one of them takes and returns; suggest_workflow says which to combine, and \
how, to get what is wanted; execute_program runs Python that calls them and gives back only what it prints; \
list_callable_tools names them all, as mcp__<server>__<tool>, saved scripts as script__<name> and saved DSPy \
programs as dspy__<name>."""

FAMILIES: Mapping[str, Callable[[Gateway], list[FrontTool]]] = {
    "core": core_family,
    "dspy": dspy_family,
    "gepa": gepa_family,
}
"""Our own tools, by the names that `server.families` has for them."""

_TOOLS_TTL_MS = 3_600_000
_ROOTS_SECONDS = 5.0
_INTERNAL: OtherCode = "internal"


class Front:
    """The MCP face of a gateway, over whatever transport."""

    def __init__(self, gateway: Gateway) -> None:
        self.answered = asyncio.Event()
        """Set when the first list of tools has gone out."""
        self._gateway = gateway
        families = gateway.config.server.families or FAMILIES
        self._tools = {tool.name: tool for family in families for tool in FAMILIES[family](gateway)}
        self._asker: ServerRequestContext[Any, Any] | None = None
        self._confirmations = Confirmations()
        runs = RunResources(gateway)
        self.server: Server[dict[str, Any]] = Server(
            "halflap",
            version=__version__,
            title="Halflap",
            instructions=_INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=runs.list,
            on_list_resource_templates=runs.list_templates,
            on_read_resource=runs.read,
        )

    @property
    def tools(self) -> tuple[FrontTool, ...]:
        """What a client sees, in the order in which it is listed."""
        return tuple(self._tools.values())

    def forward_roots(self) -> None:
        """Pass the client's roots on to the servers that ask: for a transport with a single client."""
        self._gateway.offer_roots(self._client_roots)
        self.server.add_notification_handler(
            "notifications/initialized", types.NotificationParams, self._initialized
        )
        self.server.add_notification_handler(
            "notifications/roots/list_changed", types.NotificationParams, self._roots_changed
        )

    async def _list_tools(
        self, _context: ServerRequestContext[Any, Any], _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        # The answer leaves us after this returns; whatever waits for it gives it a moment.
        asyncio.get_running_loop().call_later(0.05, self.answered.set)
        return types.ListToolsResult(
            tools=[tool.definition for tool in self._tools.values()],
            ttl_ms=_TOOLS_TTL_MS,
            cache_scope="public",
        )

    async def _call_tool(
        self, context: ServerRequestContext[Any, Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        tool = self._tools.get(params.name)
        if tool is None:
            raise MCPError(
                types.INVALID_PARAMS,
                f"Unknown tool: {params.name!r}. There are: {', '.join(sorted(self._tools))}.",
                {"code": ToolNotFoundError.code},
            )
        try:
            return await tool.answer(params.arguments or {}, Caller(context, params, self._confirmations))
        except HalflapError as error:
            return _error(str(error), error.code)
        except Exception as error:
            logger.exception("the call of %s failed", params.name)
            return _error(
                f"Halflap failed to answer ({type(error).__name__}). Its log has the whole story.", _INTERNAL
            )

    async def _initialized(
        self, context: ServerRequestContext[Any, Any], _params: types.NotificationParams
    ) -> None:
        capabilities = context.session.client_capabilities
        offers = capabilities is not None and capabilities.roots is not None
        if offers and context.session.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS:
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


def _error(message: str, code: str) -> types.CallToolResult:
    text = types.TextContent(type="text", text=f"[{code}] {message}")
    return types.CallToolResult(content=[text], is_error=True, _meta={"halflap": {"code": code}})
