"""The MCP server: a fixed handful of tools, the same for every client, and what passes through from servers."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from halflap import __version__
from halflap.core.errors import ToolNotFoundError
from halflap.server.caller import Caller
from halflap.server.passthrough.front import BaseFront, FrontServer
from halflap.server.passthrough.results import AsItCame, or_error_result
from halflap.server.passthrough.routes import Aggregate
from halflap.server.resources import OUTPUT_TEMPLATE, RunResources
from halflap.server.tools.call import call_directly
from halflap.server.tools.core import core_family
from halflap.server.tools.dspy import dspy_family
from halflap.server.tools.gepa import gepa_family

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp.server import ServerRequestContext

    from halflap.core.values import Forwarded
    from halflap.gateway import Gateway
    from halflap.server.passthrough.peer import Peer
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
_BYTES_PER_TOKEN = 4


class Front(BaseFront):
    """The MCP face of a gateway, over whatever transport."""

    def __init__(self, gateway: Gateway) -> None:
        self.answered = asyncio.Event()
        """Set when the first list of tools has been sent."""
        config = gateway.config
        # Without a model, DSPy programs can't run; optimising workflows is for those who ask for it.
        families = config.server.families or (("core", "dspy") if config.programs.lm else ("core",))
        self._tools = {tool.name: tool for family in families for tool in FAMILIES[family](gateway)}
        self._too_large: set[str] = set()
        self._routes = Aggregate(gateway, [OUTPUT_TEMPLATE])
        server = FrontServer(
            "halflap",
            version=__version__,
            title="Halflap",
            instructions=_INSTRUCTIONS,
            get_tool_input_schema=self._input_schema,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
        )
        changing = {"prompts", "resources", *(("tools",) if config.server.expose else ())}
        super().__init__(gateway, server, self._routes, changing=changing)
        runs = RunResources(gateway, self._handlers.read_resource)
        server.add_request_handler("resources/read", types.ReadResourceRequestParams, runs.read)

    @property
    def tools(self) -> tuple[FrontTool, ...]:
        """Halflap's own tools that clients see, in order."""
        return tuple(self._tools.values())

    async def _list_tools(
        self, _context: ServerRequestContext[Any, Any], _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        # The answer is sent after this returns.
        asyncio.get_running_loop().call_later(0.05, self.answered.set)
        if not self._gateway.config.server.expose:
            return types.ListToolsResult(
                tools=[tool.definition for tool in self._tools.values()],
                ttl_ms=_TOOLS_TTL_MS,
                cache_scope="public",
            )
        await self._gateway.settle()
        own = [
            tool.definition.model_dump(by_alias=True, mode="json", exclude_none=True) for tool in self.tools
        ]
        raise AsItCame({"tools": [*own, *self._exposed().values()]})

    def _exposed(self) -> dict[str, Mapping[str, Any]]:
        """Return the definitions of the servers' tools that clients see, as many as fit."""
        config, snapshot = self._gateway.config.server, self._gateway.snapshot
        if not config.expose:
            return {}
        from halflap.catalog import matches  # noqa: PLC0415 -- it loads much that listing our own tools does not need

        room = config.expose_tokens * _BYTES_PER_TOKEN
        found: dict[str, Mapping[str, Any]] = {}
        for name in snapshot.callable:
            if name not in snapshot.definitions or matches(name, config.expose) is None:
                continue
            definition = {**snapshot.definitions[name], "name": name}
            room -= len(json.dumps(definition, separators=(",", ":")))
            if room < 0:
                if name not in self._too_large:
                    logger.warning("%s is not listed: `server.expose_tokens` is used up.", name)
                self._too_large.add(name)
                break
            found[name] = definition
        return found

    def _input_schema(self, name: str) -> Mapping[str, Any] | None:
        tool = self._tools.get(name)
        if tool is not None:
            return tool.input_schema
        schema = self._exposed().get(name, {}).get("inputSchema")
        return schema if isinstance(schema, dict) else None

    async def _call_tool(
        self, context: ServerRequestContext[Any, Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        tool = self._tools.get(params.name)
        arguments = params.arguments or {}
        if tool is None and params.name not in self._exposed():
            raise MCPError(
                types.INVALID_PARAMS,
                f"Unknown tool: {params.name!r}. Tools: {', '.join(sorted(self._tools))}. Call the tools of other servers with "
                "call_tool.",
                {"code": ToolNotFoundError.code},
            )

        async def work(peer: Peer, forwarded: Forwarded) -> types.CallToolResult:
            caller = Caller(context, peer, forwarded, self._routes.note_links)
            if tool is not None:
                return await or_error_result(params.name, tool.answer(arguments, caller), passes_errors=False)
            calling = call_directly(self._gateway, params.name, arguments, caller)
            return await or_error_result(params.name, calling, passes_errors=True)

        return await self._requests.answer(context, work)
