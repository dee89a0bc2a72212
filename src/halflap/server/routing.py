"""The tools, prompts and resources of a front: under which names clients see them, and which server each belongs to."""

from __future__ import annotations

import json
import logging
import re
from abc import ABC, abstractmethod
from collections import Counter, OrderedDict
from collections.abc import Container, Iterable, Mapping
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, unquote

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp.shared.uri_template import InvalidUriTemplate, UriTemplate

from halflap.core.errors import ToolNotFoundError
from halflap.server.results import or_error_result
from halflap.server.tools import own_tools
from halflap.server.tools.execute import OUTPUT_TEMPLATE, call_directly

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

    from halflap.core.values import Features
    from halflap.gateway import Gateway
    from halflap.server.client import Client
    from halflap.server.tools.tool import OwnTool

    Definition = Mapping[str, Any]

logger = logging.getLogger(__name__)

_LISTS: Mapping[str, tuple[Any, str, str]] = {
    "prompts/list": ("prompts", "prompts", "name"),
    "resources/list": ("resources", "resources", "uri"),
    "resources/templates/list": ("templates", "resourceTemplates", "uriTemplate"),
}
"""By method: the field of `Features`, the key of the result, and the key that identifies an entry."""
CAPABILITIES = ("tools", "prompts", "resources", "completions", "logging")
_PREFIX = "halflap://servers/"
_PREFIXED = re.compile(re.escape(_PREFIX) + r"([^/]+)/(.+)", re.DOTALL)
_VARIABLES = re.compile(r"(\{[^{}]*\})")
_MAX_LINKS = 1_000
"""Resource links in results of tools that are remembered, so that clients can read them."""
_TOOLS_TTL_MS = 3_600_000
_BYTES_PER_TOKEN = 4


class Target(NamedTuple):
    """A prompt, a resource or a template, by the name that its server uses."""

    server: str
    name: str


class Router(ABC):
    """The names of a front."""

    only: str | None = None
    """The server, if there is a single one."""
    own_tools: Mapping[str, OwnTool] = {}
    changing: tuple[str, ...] = ("tools", "prompts", "resources")
    """The lists that can change."""
    capabilities: Container[str] = CAPABILITIES

    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway

    @abstractmethod
    def server_tools(self, gateway: Gateway) -> dict[str, tuple[str, Definition]]:
        """Return the servers' tools that a client sees: the gateway's name of each, and its definition."""

    @abstractmethod
    async def page(self, method: str, cursor: str | None, client: Client) -> Mapping[str, Any]:
        """Return a page of prompts, resources or templates."""

    @abstractmethod
    async def prompt(self, name: str, principal: str) -> Target: ...

    @abstractmethod
    async def resource(self, uri: str, principal: str) -> Target:
        """Find the server of a resource or a template."""

    async def prepare(self, server: Server[Any]) -> None:
        """Complete how the front introduces itself, before its first request is answered."""
        del server

    def input_schema(self, tool: str) -> Mapping[str, Any] | None:
        if tool in self.own_tools:
            return self.own_tools[tool].input_schema
        _, definition = self.server_tools(self.gateway).get(tool, ("", {}))
        schema = definition.get("inputSchema")
        return schema if isinstance(schema, dict) else None

    async def tools(self, principal: str) -> dict[str, Any]:
        own = [tool.definition for tool in self.own_tools.values()]
        theirs = self.server_tools(self.gateway.seen_by(principal)).values()
        return {"tools": [*own, *(definition for _, definition in theirs)]}

    async def call(self, tool: str, arguments: Mapping[str, Any], client: Client) -> dict[str, Any]:
        if tool in self.own_tools:
            own_tool = self.own_tools[tool]
            answering = own_tool.answer(arguments, client)
            return await or_error_result(tool, answering, as_object=own_tool.returns_error_objects)
        gateway = self.gateway.seen_by(client.principal)
        name, _ = self.server_tools(gateway).get(tool, (None, {}))
        if name is None:
            own = ", ".join(self.own_tools)
            message = f"Unknown tool: {tool!r}.{f' Tools: {own}. Call others with call_tool.' if own else ''}"
            raise MCPError(types.INVALID_PARAMS, message, {"code": ToolNotFoundError.code})
        answering = call_directly(gateway, name, arguments, client)
        return await or_error_result(tool, answering, passes_errors=True)


class OneServer(Router):
    """A single server, transparent: under its own name and names, but with policy, traces and learning."""

    def __init__(self, gateway: Gateway, server: str) -> None:
        super().__init__(gateway)
        self.only: str = server
        self._is_prepared = False

    async def prepare(self, server: Server[Any]) -> None:
        if self._is_prepared:
            return
        # This may start the server.
        features = await (await self.gateway.prepare()).passing.of_server(self.only)
        if features is None:
            reason = self.gateway.unavailable().get(self.only, "it did not answer in time.")
            raise MCPError(types.INTERNAL_ERROR, f"Server {self.only!r}: {reason}")
        self.capabilities, self._is_prepared = features.capabilities, True
        info, stored = features.server_info, self.gateway.snapshot.servers.get(self.only)
        server.name, server.version = str(info.get("name") or self.only), str(info.get("version") or "")
        server.title, server.description = info.get("title"), info.get("description")
        server.instructions = None if stored is None else stored.instructions

    def server_tools(self, gateway: Gateway) -> dict[str, tuple[str, Definition]]:
        snapshot = gateway.snapshot
        return {
            tool.original_name: (tool.name, snapshot.definitions[tool.name])
            for tool in snapshot.by_server.get(self.only, ())
            if snapshot.is_callable(tool.name)
        }

    async def page(self, method: str, cursor: str | None, client: Client) -> Mapping[str, Any]:
        passing = (await self.gateway.seen_by(client.principal).prepare()).passing
        field, key, _ = _LISTS[method]
        params = {} if cursor is None else {"cursor": cursor}
        page = await passing.list_page(self.only, method, params, client.on_behalf())
        listed = page.get(key)
        return {**page, key: passing.permitted(self.only, field, listed if isinstance(listed, list) else ())}

    async def prompt(self, name: str, principal: str) -> Target:
        del principal
        return Target(self.only, name)

    async def resource(self, uri: str, principal: str) -> Target:
        del principal
        return Target(self.only, uri)


class AllServers(Router):
    """All servers under names that cannot collide, and Halflap's own tools.

    Prompts are `<server>__<prompt>`; a resource keeps its URI where only one server has it.
    """

    def __init__(self, gateway: Gateway) -> None:
        super().__init__(gateway)
        self.own_tools = own_tools(gateway)
        if not gateway.config.server.expose:
            self.changing = ("prompts", "resources")
        self._links: OrderedDict[tuple[str, str], set[str]] = OrderedDict()
        self._too_large: set[str] = set()

    async def tools(self, principal: str) -> dict[str, Any]:
        if self.gateway.config.server.expose:
            await self.gateway.settle()
            return await super().tools(principal)
        return {**await super().tools(principal), "ttlMs": _TOOLS_TTL_MS, "cacheScope": "public"}

    def server_tools(self, gateway: Gateway) -> dict[str, tuple[str, Definition]]:
        """Return the tools that `server.expose` names, as many as fit into its budget."""
        config, snapshot = gateway.config.server, gateway.snapshot
        if not config.expose:
            return {}
        from halflap.catalog import matches  # noqa: PLC0415 -- slow to import, and not needed for our own tools

        room = config.expose_tokens * _BYTES_PER_TOKEN
        found: dict[str, tuple[str, Definition]] = {}
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
            found[name] = (name, definition)
        return found

    async def call(self, tool: str, arguments: Mapping[str, Any], client: Client) -> dict[str, Any]:
        result = await super().call(tool, arguments, client)
        called = arguments.get("name") if tool == "call_tool" else tool
        if isinstance(called, str) and (found := self.gateway.snapshot.tools.get(called)) is not None:
            self._remember_links(found.server, client.principal, result["content"])
        return result

    def _remember_links(self, server: str, principal: str, blocks: Iterable[Mapping[str, Any]]) -> None:
        """Remember the resources that a result links to: few servers list them."""
        for block in blocks:
            uri = block.get("uri") if block.get("type") == "resource_link" else None
            if isinstance(uri, str):
                self._links.setdefault((principal, uri), set()).add(server)
                self._links.move_to_end((principal, uri))
        while len(self._links) > _MAX_LINKS:
            self._links.popitem(last=False)

    async def page(self, method: str, cursor: str | None, client: Client) -> Mapping[str, Any]:
        del cursor  # Everything is on one page.
        features = await self._features(client.principal)
        field, key, name = _LISTS[method]
        if field == "prompts":
            return {key: [{**entry, name: shown} for shown, (_, entry) in _prompts(features).items()]}
        entries = [(server, entry) for server, one in features.items() for entry in getattr(one, field)]
        times = Counter(entry[name] for _, entry in entries)
        # If several servers have the same URI, none of them gets the plain one.
        listed = [
            entry if times[entry[name]] == 1 else {**entry, name: _prefixed(server, entry[name])}
            for server, entry in entries
        ]
        return {key: [OUTPUT_TEMPLATE, *listed] if field == "templates" else listed}

    async def prompt(self, name: str, principal: str) -> Target:
        found = _prompts(await self._features(principal)).get(name)
        if found is None:
            raise _not_found(f"Prompt {name!r}")
        server, entry = found
        return Target(server, str(entry["name"]))

    async def resource(self, uri: str, principal: str) -> Target:
        features = await self._features(principal)
        if (prefixed := _PREFIXED.fullmatch(uri)) is not None:
            server = unquote(prefixed[1])
            if server not in features:
                raise _not_found(f"Server {server!r}", uri)
            return Target(server, unquote(prefixed[2]))
        listed = [name for name, one in features.items() if any(each["uri"] == uri for each in one.resources)]
        linked = sorted(self._links.get((principal, uri), ()))
        fitting = [name for name, one in features.items() if any(_fits(each, uri) for each in one.templates)]
        servers = listed or linked or fitting
        if not servers:
            raise _not_found(f"Resource {uri}", uri)
        if len(servers) > 1:
            ways = ", ".join(_prefixed(server, uri) for server in servers)
            raise MCPError(
                types.INVALID_PARAMS, f"Several servers have {uri}. Use one of: {ways}.", {"uri": uri}
            )
        return Target(servers[0], uri)

    async def _features(self, principal: str) -> dict[str, Features]:
        return await (await self.gateway.seen_by(principal).prepare()).passing.features()


def _not_found(what: str, uri: str | None = None) -> MCPError:
    return MCPError(types.INVALID_PARAMS, f"{what} was not found.", None if uri is None else {"uri": uri})


def _prompts(features: Mapping[str, Features]) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """Return all prompts by name; if two names are the same, the later server's gets a suffix."""
    found: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for server, one in features.items():
        for entry in one.prompts:
            name = f"{server}__{entry['name']}"
            if name in found:
                digest = sha256(f"{server}\0{entry['name']}".encode(errors="surrogatepass")).hexdigest()
                name = f"{name}_{digest[:6]}"
            found[name] = (server, entry)
    return found


def uris_of(server: str, uri: str) -> tuple[str, str]:
    """Return the URIs under which clients may know a server's resource."""
    return uri, _prefixed(server, uri)


def _prefixed(server: str, uri: str) -> str:
    parts = (part if part.startswith("{") else quote(part, safe="") for part in _VARIABLES.split(uri))
    return f"{_PREFIX}{quote(server, safe='')}/{''.join(parts)}"


def _fits(entry: Mapping[str, Any], uri: str) -> bool:
    template = entry["uriTemplate"]
    with suppress(InvalidUriTemplate):
        return uri == template or UriTemplate.parse(template).match(uri) is not None
    return False
