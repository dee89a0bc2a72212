"""What servers offer besides tools: listed from the catalogue, requested on the same path as calls."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from halflap.catalog import block_rule, feature_name
from halflap.core.errors import ServerNotFoundError, ToolBlockedError
from halflap.core.values import Tool

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from halflap.calls import Calls
    from halflap.catalog import Catalog, Refresher
    from halflap.config import Config, ServerConfig
    from halflap.core.values import CallContext, Features
    from halflap.gateway.lazy import Lazy
    from halflap.upstream import Pool, Upstream

    Kind = Literal["prompt", "resource"]

__all__ = ["PassThrough"]

_WAIT_SECONDS = 10.0
"""How long an answer waits for servers that were never asked what they offer."""
_KEYS = {
    "prompts": ("prompt", "name"),
    "resources": ("resource", "uri"),
    "templates": ("resource", "uriTemplate"),
}


@dataclass(frozen=True)
class PassThrough:
    """Prompts and resources, as far as the configuration permits them."""

    config: Config
    catalog: Catalog
    listings: Refresher
    pool: Lazy[Pool]
    calls: Calls

    async def features(self) -> dict[str, Features]:
        """Return what each server offers. Servers that were never asked are awaited for a few seconds."""
        await self.listings.ensure_listed()
        snapshot = self.catalog.snapshot
        servers = [one for one in self.config.servers if not one.disabled and one.name in snapshot.servers]
        if unknown := [one.name for one in servers if one.name not in snapshot.features]:
            pool = await self.pool.get()
            upstreams = [upstream for name in unknown if (upstream := pool.get(name)) is not None]
            waits = (upstream.features_known(_WAIT_SECONDS) for upstream in upstreams)
            await asyncio.gather(*waits, return_exceptions=True)
        known = self.catalog.snapshot.features
        return {one.name: self._permitted(one, known[one.name]) for one in servers if one.name in known}

    async def of_server(self, server: str) -> Features | None:
        """Return what one server offers, from the catalogue if it is known there."""
        self._enabled(server)
        if server not in self.catalog.snapshot.features:
            await (await self._upstream(server)).features_known(_WAIT_SECONDS)
        return self.catalog.snapshot.features.get(server)

    def _permitted(self, server: ServerConfig, features: Features) -> Features:
        return replace(
            features,
            prompts=tuple(self.permitted(server.name, "prompts", features.prompts)),
            resources=tuple(self.permitted(server.name, "resources", features.resources)),
            templates=tuple(self.permitted(server.name, "templates", features.templates)),
        )

    def permitted(
        self, server: str, what: Literal["prompts", "resources", "templates"], entries: Iterable[Any]
    ) -> list[Mapping[str, Any]]:
        """Return the entries of a list that clients may use."""
        kind, key = _KEYS[what]
        if not self._offers(self._enabled(server), kind):
            return []
        return [
            one
            for one in entries
            if isinstance(one, dict)
            and isinstance(one.get(key), str)
            and block_rule(self._feature(server, kind, one[key]), self.config.tools) is None
        ]

    async def request(
        self, about: tuple[str, Kind, str], method: str, params: Mapping[str, Any], context: CallContext
    ) -> dict[str, Any]:
        """Send a request for a prompt or a resource (its server, kind and name) to its server."""
        server, kind, name = about
        feature = self._feature(server, kind, name)
        if not self._offers(self._enabled(server), kind):
            raise ToolBlockedError(feature.name, f"`{kind}s: false` of server {server!r}")
        await self.pool.get()  # has the server that the request goes to
        return await self.calls.request(feature, method, params, context)

    async def list_page(
        self, server: str, method: str, params: Mapping[str, Any], context: CallContext
    ) -> dict[str, Any]:
        """Return one page of a server's own list."""
        upstream = await self._upstream(server)
        return await upstream.request(method, params, context, repeatable=True, admit=_admit)

    async def subscribe(self, server: str, uri: str) -> None:
        """Watch a resource of a server; its changes come as events."""
        feature = self._feature(server, "resource", uri)
        if not self._offers(self._enabled(server), "resource"):
            raise ToolBlockedError(feature.name, f"`resources: false` of server {server!r}")
        self.calls.policy.admit_feature(feature, self.catalog.snapshot)
        await (await self._upstream(server)).subscribe(uri)

    async def unsubscribe(self, server: str, uri: str) -> None:
        await (await self._upstream(server)).unsubscribe(uri)

    def _enabled(self, name: str) -> ServerConfig:
        for server in self.config.servers:
            if server.name == name and not server.disabled:
                return server
        enabled = tuple(one.name for one in self.config.servers if not one.disabled)
        raise ServerNotFoundError(name, enabled)

    async def _upstream(self, name: str) -> Upstream:
        self._enabled(name)
        upstream = (await self.pool.get()).get(name)
        assert upstream is not None
        return upstream

    @staticmethod
    def _offers(server: ServerConfig, kind: str) -> bool:
        return server.prompts if kind == "prompt" else server.resources

    def _feature(self, server: str, kind: Any, name: str) -> Tool:
        """Return a prompt or a resource as the rules for tools see it."""
        known = feature_name(server, kind, name)
        return self.catalog.snapshot.prompts.get(known) or Tool(known, server, f"{kind} {name}", "", {})


async def _admit() -> None:
    pass
