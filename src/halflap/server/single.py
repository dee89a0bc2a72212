"""One server behind the gateway, transparent: under its own name and names, still with policy, traces and learning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import mcp_types as types
from mcp.shared.exceptions import MCPError
from pydantic_core import to_jsonable_python

from halflap.core.errors import ToolNotFoundError
from halflap.server.caller import Caller
from halflap.server.passthrough.front import BaseFront, FrontServer
from halflap.server.passthrough.results import AsItCame, or_error_result, protocol_errors
from halflap.server.passthrough.routes import Single
from halflap.server.tools.call import call_directly

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp.server import ServerRequestContext
    from mcp.server.context import CallNext, HandlerResult

    from halflap.core.values import Features, Forwarded
    from halflap.gateway import Gateway
    from halflap.server.passthrough.peer import Peer

__all__ = ["SingleFront"]

_MIRRORED = ("tools", "prompts", "resources", "completions", "logging")


class _MirrorServer(FrontServer):
    """Declares what the server behind it declares."""

    features: Features | None = None

    def get_capabilities(self, *args: Any, **options: Any) -> types.ServerCapabilities:
        capabilities = super().get_capabilities(*args, **options)
        declared = {} if self.features is None else self.features.capabilities
        missing = {name: None for name in _MIRRORED if name not in declared}
        return capabilities.model_copy(update=missing)


class SingleFront(BaseFront):
    """The MCP face of one server."""

    def __init__(self, gateway: Gateway, name: str) -> None:
        self._name = name
        self._mirror = _MirrorServer(
            name,
            get_tool_input_schema=self._input_schema,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
        )
        super().__init__(
            gateway,
            self._mirror,
            Single(gateway, name),
            changing={"tools", "prompts", "resources"},
            only=name,
        )
        self._mirror.middleware.append(self._prepare)

    async def _prepare(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Know the server behind us before anything is said about it; it may have to be started for that."""
        if self._mirror.features is None and ctx.request_id is not None:
            with protocol_errors():
                features = await (await self._gateway.prepare()).passing.of_server(self._name)
            if features is None:
                reason = self._gateway.unavailable().get(self._name, "it did not answer in time.")
                raise MCPError(types.INTERNAL_ERROR, f"Server {self._name!r}: {reason}")
            self._mirror.features = features
            info, stored = features.server_info, self._gateway.snapshot.servers.get(self._name)
            self._mirror.name = str(info.get("name") or self._name)
            self._mirror.version = str(info.get("version") or "")
            self._mirror.title, self._mirror.description = info.get("title"), info.get("description")
            self._mirror.instructions = None if stored is None else stored.instructions
        result = await call_next(ctx)
        if ctx.method == "initialize" and isinstance(result, dict):
            # The library composed what it says about us before the server behind us was known.
            about = {
                "capabilities": self._mirror.get_capabilities(),
                "serverInfo": self._mirror.server_info,
                "instructions": self._mirror.instructions,
            }
            result |= to_jsonable_python(about, by_alias=True, exclude_none=True)
        return result

    def _definitions(self) -> dict[str, tuple[str, Mapping[str, Any]]]:
        """Return the callable tools by their server's names, with ours and their definitions."""
        snapshot = self._gateway.snapshot
        tools = snapshot.by_server.get(self._name, ())
        return {
            tool.original_name: (tool.name, snapshot.definitions[tool.name])
            for tool in tools
            if snapshot.is_callable(tool.name)
        }

    def _input_schema(self, name: str) -> Mapping[str, Any] | None:
        found = self._definitions().get(name)
        schema = None if found is None else found[1].get("inputSchema")
        return schema if isinstance(schema, dict) else None

    async def _list_tools(
        self, _context: ServerRequestContext[Any, Any], _params: types.PaginatedRequestParams | None
    ) -> NoReturn:
        raise AsItCame({"tools": [definition for _, definition in self._definitions().values()]})

    async def _call_tool(
        self, context: ServerRequestContext[Any, Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        found = self._definitions().get(params.name)
        if found is None:
            message = f"Unknown tool: {params.name!r}."
            raise MCPError(types.INVALID_PARAMS, message, {"code": ToolNotFoundError.code})

        async def work(peer: Peer, forwarded: Forwarded) -> types.CallToolResult:
            caller = Caller(context, peer, forwarded)
            calling = call_directly(self._gateway, found[0], params.arguments or {}, caller)
            return await or_error_result(params.name, calling, passes_errors=True)

        return await self._requests.answer(context, work)
