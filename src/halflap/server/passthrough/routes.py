"""Which server a prompt or a resource belongs to: under names that cannot collide, or those of a single server."""

from __future__ import annotations

import re
from collections import OrderedDict
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from urllib.parse import quote, unquote

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp.shared.uri_template import InvalidUriTemplate, UriTemplate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from halflap.core.values import CallContext, Features, Result
    from halflap.gateway import Gateway

__all__ = ["LISTS", "Aggregate", "Routes", "Single", "Target", "not_found"]

LISTS: Mapping[str, tuple[Any, str]] = {
    "prompts/list": ("prompts", "prompts"),
    "resources/list": ("resources", "resources"),
    "resources/templates/list": ("templates", "resourceTemplates"),
}
"""By method: the field of `Features`, and the key of the result."""
_PREFIX = "halflap://servers/"
_PREFIXED = re.compile(re.escape(_PREFIX) + r"([^/]+)/(.+)", re.DOTALL)
_VARIABLES = re.compile(r"(\{[^{}]*\})")
_PAGE = 1_000
_MAX_LINKS = 1_000
"""Links to resources in results of tools that are remembered, so that they can be read."""


class Target(NamedTuple):
    """A prompt's name, a resource's URI or a template, as its server knows it."""

    server: str
    name: str


class Routes(Protocol):
    """What a front offers besides tools."""

    async def page(self, method: str, cursor: str | None, context: CallContext) -> Mapping[str, Any]: ...

    async def prompt(self, name: str) -> Target: ...

    async def resource(self, uri: str, principal: str) -> Target: ...

    async def template(self, uri: str) -> Target: ...


def not_found(what: str, uri: str | None = None) -> MCPError:
    return MCPError(types.INVALID_PARAMS, f"{what} was not found.", None if uri is None else {"uri": uri})


class Single:
    """One server, under its own names."""

    def __init__(self, gateway: Gateway, server: str) -> None:
        self._gateway = gateway
        self._server = server

    async def page(self, method: str, cursor: str | None, context: CallContext) -> Mapping[str, Any]:
        passing = (await self._gateway.prepare()).passing
        field, key = LISTS[method]
        params = {} if cursor is None else {"cursor": cursor}
        page = await passing.list_page(self._server, method, params, context)
        listed = page.get(key)
        entries = passing.permitted(self._server, field, listed if isinstance(listed, list) else ())
        return {**page, key: entries}

    async def prompt(self, name: str) -> Target:
        return Target(self._server, name)

    async def resource(self, uri: str, principal: str) -> Target:
        del principal
        return Target(self._server, uri)

    async def template(self, uri: str) -> Target:
        return Target(self._server, uri)


class Aggregate:
    """All servers. Prompts are `<server>__<prompt>`; a resource keeps its URI where only one server has it."""

    def __init__(self, gateway: Gateway, own_templates: Iterable[Mapping[str, Any]] = ()) -> None:
        self._gateway = gateway
        self._own_templates = list(own_templates)
        self._links: OrderedDict[tuple[str, str], set[str]] = OrderedDict()

    async def page(self, method: str, cursor: str | None, context: CallContext) -> Mapping[str, Any]:
        del context
        features = await self._features()
        entries: list[Mapping[str, Any]]
        if method == "prompts/list":
            entries = [{**entry, "name": name} for name, (_, entry) in _prompts(features).items()]
        elif method == "resources/list":
            entries = _named(features, "resources", "uri")
        else:
            entries = [*self._own_templates, *_named(features, "templates", "uriTemplate")]
        start = int(cursor) if cursor is not None and cursor.isdecimal() else 0
        page: dict[str, Any] = {LISTS[method][1]: entries[start : start + _PAGE]}
        if len(entries) > start + _PAGE:
            page["nextCursor"] = str(start + _PAGE)
        return page

    async def prompt(self, name: str) -> Target:
        found = _prompts(await self._features()).get(name)
        if found is None:
            raise not_found(f"Prompt {name!r}")
        server, entry = found
        return Target(server, str(entry["name"]))

    async def resource(self, uri: str, principal: str) -> Target:
        """Find a resource: by its server's name, else listed by one server, else linked to, else in a template."""
        features = await self._features()
        if (prefixed := self._prefixed(uri, features)) is not None:
            return prefixed
        for servers in (
            [name for name, one in features.items() if any(entry["uri"] == uri for entry in one.resources)],
            sorted(self._links.get((principal, uri), ())),
            [name for name, one in features.items() if any(_matches(entry, uri) for entry in one.templates)],
        ):
            if len(servers) == 1:
                return Target(servers[0], uri)
            if servers:
                raise _ambiguous(uri, servers)
        raise not_found(f"Resource {uri}", uri)

    async def template(self, uri: str) -> Target:
        features = await self._features()
        if (prefixed := self._prefixed(uri, features)) is not None:
            return prefixed
        servers = [
            name
            for name, one in features.items()
            if any(entry["uriTemplate"] == uri for entry in one.templates)
        ]
        if len(servers) > 1:
            raise _ambiguous(uri, servers)
        if not servers:
            raise not_found(f"Template {uri}", uri)
        return Target(servers[0], uri)

    def note_links(self, server: str, principal: str, result: Result) -> None:
        """Remember the resources that a result links to: few servers list all that they link to."""
        for block in result.content:
            uri = block.get("uri") if block.get("type") == "resource_link" else None
            if isinstance(uri, str):
                self._links.setdefault((principal, uri), set()).add(server)
                self._links.move_to_end((principal, uri))
        while len(self._links) > _MAX_LINKS:
            self._links.popitem(last=False)

    async def _features(self) -> dict[str, Features]:
        return await (await self._gateway.prepare()).passing.features()

    def _prefixed(self, uri: str, features: Mapping[str, Features]) -> Target | None:
        found = _PREFIXED.fullmatch(uri)
        if found is None:
            return None
        server = unquote(found[1])
        if server not in features:
            raise not_found(f"Server {server!r}", uri)
        return Target(server, unquote(found[2]))


def _prompts(features: Mapping[str, Features]) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """Return all prompts by name; of two with the same, the later server's gets a suffix."""
    found: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for server, one in features.items():
        for entry in one.prompts:
            name = f"{server}__{entry['name']}"
            if name in found:
                name += (
                    "_" + sha256(f"{server}\0{entry['name']}".encode(errors="surrogatepass")).hexdigest()[:6]
                )
            found[name] = (server, entry)
    return found


def _named(features: Mapping[str, Features], field: str, key: str) -> list[Mapping[str, Any]]:
    """Return resources or templates; where several servers list the same, none of them gets the plain URI."""
    entries = [(server, entry) for server, one in features.items() for entry in getattr(one, field)]
    seen: dict[str, int] = {}
    for _, entry in entries:
        seen[entry[key]] = seen.get(entry[key], 0) + 1
    return [
        entry if seen[entry[key]] == 1 else {**entry, key: _with_server(server, entry[key])}
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


def _ambiguous(uri: str, servers: Iterable[str]) -> MCPError:
    ways = ", ".join(_with_server(server, uri) for server in servers)
    return MCPError(types.INVALID_PARAMS, f"Several servers have {uri}. Use one of: {ways}.", {"uri": uri})
