"""One server, transparent: under its own name and names, still with policy, traces and learning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import mcp_types as types
from mcp.shared.exceptions import MCPError

from halflap.core.errors import ToolNotFoundError
from halflap.server.passthrough.results import or_error_result
from halflap.server.tools.call import call_directly

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp.server.lowlevel import Server

    from halflap.core.values import Features
    from halflap.gateway import Gateway
    from halflap.server.passthrough.client import Client

__all__ = ["LISTS", "OneServer", "Target"]

LISTS: Mapping[str, tuple[Any, str]] = {
    "prompts/list": ("prompts", "prompts"),
    "resources/list": ("resources", "resources"),
    "resources/templates/list": ("templates", "resourceTemplates"),
}
"""By method: the field of `Features`, and the key of the result."""


class Target(NamedTuple):
    """A prompt's name, a resource's URI or a template, as its server knows it."""

    server: str
    name: str


class OneServer:
    """What the front of a single server offers."""

    def __init__(self, gateway: Gateway, server: str) -> None:
        self.only = server
        self.changing: tuple[str, ...] = ("tools", "prompts", "resources")
        self._gateway = gateway
        self._features: Features | None = None

    async def prepare(self, server: Server[Any]) -> None:
        """Make the front's server introduce itself as the one behind it, which may have to be started for that."""
        if self._features is not None:
            return
        features = await (await self._gateway.prepare()).passing.of_server(self.only)
        if features is None:
            reason = self._gateway.unavailable().get(self.only, "it did not answer in time.")
            raise MCPError(types.INTERNAL_ERROR, f"Server {self.only!r}: {reason}")
        self._features = features
        info, stored = features.server_info, self._gateway.snapshot.servers.get(self.only)
        server.name, server.version = str(info.get("name") or self.only), str(info.get("version") or "")
        server.title, server.description = info.get("title"), info.get("description")
        server.instructions = None if stored is None else stored.instructions

    def has(self, capability: str) -> bool:
        return self._features is not None and capability in self._features.capabilities

    def _definitions(self) -> dict[str, tuple[str, Mapping[str, Any]]]:
        """Return the callable tools by their server's names, with ours and their definitions."""
        snapshot = self._gateway.snapshot
        return {
            tool.original_name: (tool.name, snapshot.definitions[tool.name])
            for tool in snapshot.by_server.get(self.only, ())
            if snapshot.is_callable(tool.name)
        }

    def input_schema(self, tool: str) -> Mapping[str, Any] | None:
        found = self._definitions().get(tool)
        schema = None if found is None else found[1].get("inputSchema")
        return schema if isinstance(schema, dict) else None

    async def tools(self) -> dict[str, Any]:
        return {"tools": [definition for _, definition in self._definitions().values()]}

    async def call(self, tool: str, arguments: Mapping[str, Any], client: Client) -> dict[str, Any]:
        found = self._definitions().get(tool)
        if found is None:
            message = f"Unknown tool: {tool!r}."
            raise MCPError(types.INVALID_PARAMS, message, {"code": ToolNotFoundError.code})
        calling = call_directly(self._gateway, found[0], arguments, client)
        return await or_error_result(tool, calling, passes_errors=True)

    async def page(self, method: str, cursor: str | None, client: Client) -> Mapping[str, Any]:
        """Return a page of prompts, resources or templates."""
        passing = (await self._gateway.prepare()).passing
        field, key = LISTS[method]
        params = {} if cursor is None else {"cursor": cursor}
        page = await passing.list_page(self.only, method, params, client.on_behalf())
        listed = page.get(key)
        return {
            **page,
            key: passing.permitted(self.only, field, listed if isinstance(listed, list) else ()),
        }

    async def prompt(self, name: str) -> Target:
        return Target(self.only, name)

    async def resource(self, uri: str, principal: str) -> Target:
        del principal
        return Target(self.only, uri)

    async def template(self, uri: str) -> Target:
        return Target(self.only, uri)

    async def own_resource(self, uri: str, principal: str) -> None:
        del uri, principal
