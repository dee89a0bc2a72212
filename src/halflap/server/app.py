"""The MCP server: a fixed handful of tools, the same for every client."""

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
from halflap.server.confirm import Confirmations
from halflap.server.resources import RunResources
from halflap.server.tools.core import core_family
from halflap.server.tools.dspy import dspy_family
from halflap.server.tools.gepa import gepa_family

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mcp.server import ServerRequestContext

    from halflap.core.codes import OtherCode
    from halflap.gateway import Gateway
    from halflap.server.tools.tool import FrontTool

__all__ = ["FAMILIES", "Front"]

logger = logging.getLogger(__name__)

_INSTRUCTIONS = """\
Halflap gives you the tools of all of the user's MCP servers. Find one with search_tools, see its parameters and results \
with inspect_tool, call it with call_tool, or combine several in a Python program with execute_program, which returns only \
what the program prints. suggest_workflow plans such a program. Names are mcp__<server>__<tool>."""

FAMILIES: Mapping[str, Callable[[Gateway], list[FrontTool]]] = {
    "core": core_family,
    "dspy": dspy_family,
    "gepa": gepa_family,
}
"""Halflap's own tools, by the names in `server.families`."""

_TOOLS_TTL_MS = 3_600_000
_ROOTS_SECONDS = 5.0
_INTERNAL: OtherCode = "internal"


class Front:
    """The MCP face of a gateway, over whatever transport."""

    def __init__(self, gateway: Gateway) -> None:
        self.answered = asyncio.Event()
        """Set when the first list of tools has been sent."""
        self._gateway = gateway
        config = gateway.config
        # Without a model, DSPy programs can't run; optimising workflows is for those who ask for it.
        families = config.server.families or (("core", "dspy") if config.programs.lm else ("core",))
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
        """The tools that clients see, in order."""
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
        # The answer is sent after this returns.
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
                f"Unknown tool: {params.name!r}. Tools: {', '.join(sorted(self._tools))}. Call the tools of other servers with "
                "call_tool.",
                {"code": ToolNotFoundError.code},
            )
        try:
            return await tool.answer(params.arguments or {}, Caller(context, params, self._confirmations))
        except HalflapError as error:
            return _error(str(error), error.code)
        except Exception as error:
            logger.exception("the call of %s failed", params.name)
            return _error(f"Halflap failed to answer ({type(error).__name__}). See its log.", _INTERNAL)

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
