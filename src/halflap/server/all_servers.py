"""All servers under names that cannot collide, beside Halflap's own tools."""

from __future__ import annotations

import json
import logging
import re
from collections import Counter, OrderedDict
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp.shared.uri_template import InvalidUriTemplate, UriTemplate

from halflap.core.errors import ToolNotFoundError
from halflap.server.one_server import LISTS, Target
from halflap.server.passthrough.results import or_error_result
from halflap.server.run_output import OUTPUT_TEMPLATE, read_output
from halflap.server.tools.call import call_directly
from halflap.server.tools.families import own_tools

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mcp.server.lowlevel import Server

    from halflap.core.values import Features
    from halflap.gateway import Gateway
    from halflap.server.passthrough.client import Client

__all__ = ["AllServers"]

logger = logging.getLogger(__name__)

_PREFIX = "halflap://servers/"
_PREFIXED = re.compile(re.escape(_PREFIX) + r"([^/]+)/(.+)", re.DOTALL)
_VARIABLES = re.compile(r"(\{[^{}]*\})")
_PAGE = 1_000
_MAX_LINKS = 1_000
"""Links to resources in results of tools that are remembered, so that they can be read."""
_TOOLS_TTL_MS = 3_600_000
_BYTES_PER_TOKEN = 4


class AllServers:
    """What the front of all servers offers, with the same methods as `OneServer`.

    Prompts are `<server>__<prompt>`; a resource keeps its URI where only one server has it.
    """

    only = None

    def __init__(self, gateway: Gateway) -> None:
        self.own_tools = own_tools(gateway)
        self.changing: tuple[str, ...] = (
            "prompts",
            "resources",
            *(("tools",) if gateway.config.server.expose else ()),
        )
        self._gateway = gateway
        self._links: OrderedDict[tuple[str, str], set[str]] = OrderedDict()
        self._too_large: set[str] = set()

    async def prepare(self, server: Server[Any]) -> None:
        """Nothing depends on a server."""

    def has(self, capability: str) -> bool:
        del capability
        return True

    # Tools

    def input_schema(self, tool: str) -> Mapping[str, Any] | None:
        if tool in self.own_tools:
            return self.own_tools[tool].input_schema
        schema = self._exposed().get(tool, {}).get("inputSchema")
        return schema if isinstance(schema, dict) else None

    async def tools(self) -> dict[str, Any]:
        tools: list[Mapping[str, Any]] = [tool.definition for tool in self.own_tools.values()]
        if not self._gateway.config.server.expose:
            return {"tools": tools, "ttlMs": _TOOLS_TTL_MS, "cacheScope": "public"}
        await self._gateway.settle()
        return {"tools": [*tools, *self._exposed().values()]}

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

    async def call(self, tool: str, arguments: Mapping[str, Any], client: Client) -> dict[str, Any]:
        own = self.own_tools.get(tool)
        if own is not None:
            result = await or_error_result(tool, own.answer(arguments, client), passes_errors=False)
            called = arguments.get("name") if tool == "call_tool" else None
        elif tool in self._exposed():
            calling = call_directly(self._gateway, tool, arguments, client)
            result, called = await or_error_result(tool, calling, passes_errors=True), tool
        else:
            raise MCPError(
                types.INVALID_PARAMS,
                f"Unknown tool: {tool!r}. Tools: {', '.join(sorted(self.own_tools))}. Call the tools of other servers "
                "with call_tool.",
                {"code": ToolNotFoundError.code},
            )
        if isinstance(called, str) and (found := self._gateway.snapshot.tools.get(called)) is not None:
            self._note_links(found.server, client.principal, result["content"])
        return result

    def _note_links(self, server: str, principal: str, blocks: Iterable[Mapping[str, Any]]) -> None:
        """Remember the resources that a result links to: few servers list all that they link to."""
        for block in blocks:
            uri = block.get("uri") if block.get("type") == "resource_link" else None
            if isinstance(uri, str):
                self._links.setdefault((principal, uri), set()).add(server)
                self._links.move_to_end((principal, uri))
        while len(self._links) > _MAX_LINKS:
            self._links.popitem(last=False)

    # Prompts and resources

    async def page(self, method: str, cursor: str | None, client: Client) -> Mapping[str, Any]:
        del client
        features = await self._features()
        entries: list[Mapping[str, Any]]
        if method == "prompts/list":
            entries = [{**entry, "name": name} for name, (_, entry) in _prompts(features).items()]
        elif method == "resources/list":
            entries = _named(features, "resources", "uri")
        else:
            entries = [OUTPUT_TEMPLATE, *_named(features, "templates", "uriTemplate")]
        start = int(cursor) if cursor is not None and cursor.isdecimal() else 0
        page: dict[str, Any] = {LISTS[method][1]: entries[start : start + _PAGE]}
        if len(entries) > start + _PAGE:
            page["nextCursor"] = str(start + _PAGE)
        return page

    async def prompt(self, name: str) -> Target:
        found = _prompts(await self._features()).get(name)
        if found is None:
            raise _not_found(f"Prompt {name!r}")
        server, entry = found
        return Target(server, str(entry["name"]))

    async def resource(self, uri: str, principal: str) -> Target:
        """Find a resource: by its server's name, else listed by one server, else linked to, else in a template."""
        features = await self._features()
        return self._find(
            uri,
            features,
            [name for name, one in features.items() if any(entry["uri"] == uri for entry in one.resources)],
            sorted(self._links.get((principal, uri), ())),
            [name for name, one in features.items() if any(_matches(entry, uri) for entry in one.templates)],
        )

    async def template(self, uri: str) -> Target:
        features = await self._features()
        having = [
            name
            for name, one in features.items()
            if any(entry["uriTemplate"] == uri for entry in one.templates)
        ]
        return self._find(uri, features, having)

    async def own_resource(self, uri: str, principal: str) -> dict[str, Any] | None:
        return await read_output(self._gateway, uri, principal)

    async def _features(self) -> dict[str, Features]:
        return await (await self._gateway.prepare()).passing.features()

    @staticmethod
    def _find(uri: str, features: Mapping[str, Features], *candidates: list[str]) -> Target:
        """Return the server that a URI names, or the only one in the first list of candidates that has any."""
        if (prefixed := _PREFIXED.fullmatch(uri)) is not None:
            server = unquote(prefixed[1])
            if server not in features:
                raise _not_found(f"Server {server!r}", uri)
            return Target(server, unquote(prefixed[2]))
        servers = next((one for one in candidates if one), [])
        if len(servers) == 1:
            return Target(servers[0], uri)
        if not servers:
            raise _not_found(f"Resource {uri}", uri)
        ways = ", ".join(_with_server(server, uri) for server in servers)
        raise MCPError(types.INVALID_PARAMS, f"Several servers have {uri}. Use one of: {ways}.", {"uri": uri})


def _not_found(what: str, uri: str | None = None) -> MCPError:
    return MCPError(types.INVALID_PARAMS, f"{what} was not found.", None if uri is None else {"uri": uri})


def _prompts(features: Mapping[str, Features]) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """Return all prompts by name; of two with the same, the later server's gets a suffix."""
    found: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for server, one in features.items():
        for entry in one.prompts:
            name = f"{server}__{entry['name']}"
            if name in found:
                digest = sha256(f"{server}\0{entry['name']}".encode(errors="surrogatepass")).hexdigest()
                name = f"{name}_{digest[:6]}"
            found[name] = (server, entry)
    return found


def _named(features: Mapping[str, Features], field: str, key: str) -> list[Mapping[str, Any]]:
    """Return resources or templates; where several servers list the same, none of them gets the plain URI."""
    entries = [(server, entry) for server, one in features.items() for entry in getattr(one, field)]
    times = Counter(entry[key] for _, entry in entries)
    return [
        entry if times[entry[key]] == 1 else {**entry, key: _with_server(server, entry[key])}
        for server, entry in entries
    ]


def _with_server(server: str, uri: str) -> str:
    parts = (part if part.startswith("{") else quote(part, safe="") for part in _VARIABLES.split(uri))
    return f"{_PREFIX}{quote(server, safe='')}/{''.join(parts)}"


def _matches(entry: Mapping[str, Any], uri: str) -> bool:
    template = _template(entry["uriTemplate"])
    return template is not None and template.match(uri) is not None


@lru_cache(maxsize=4_096)
def _template(text: str) -> UriTemplate | None:
    try:
        return UriTemplate.parse(text)
    except InvalidUriTemplate:
        return None
