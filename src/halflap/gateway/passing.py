"""Prompts and resources of servers: listed from the catalogue, requested on the same path as calls."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from halflap.catalog import block_rule, feature_name
from halflap.core.errors import ServerNotFoundError, ToolBlockedError
from halflap.core.values import CallContext, Features, Tool

if TYPE_CHECKING:
    from halflap.calls import Calls
    from halflap.catalog.view import Seen
    from halflap.config import Config, Profile, ServerConfig
    from halflap.gateway.lazy import Lazy
    from halflap.upstream import Pool, Upstream

Kind = Literal["prompt", "resource"]
Lists = Literal["prompts", "resources", "templates"]
_WAIT_SECONDS = 10.0
"""How long an answer waits for servers whose prompts and resources were never listed."""
_KEYS: dict[Lists, tuple[Kind, str]] = {
    "prompts": ("prompt", "name"),
    "resources": ("resource", "uri"),
    "templates": ("resource", "uriTemplate"),
}


@dataclass(frozen=True)
class PassThrough:
    """The prompts and resources that the configuration and a profile permit."""

    config: Config
    catalog: Seen
    pool: Lazy[Pool]
    calls: Calls
    profile: Profile | None

    async def features(self) -> dict[str, Features]:
        """Return the features of each server. Those that were never listed are awaited for a few seconds."""
        await self.catalog.ensure_listed()
        snapshot = self.catalog.snapshot
        servers = [name for name in self.catalog.configured if name in snapshot.servers]
        waits = [self._known(name) for name in servers if name not in snapshot.features]
        await asyncio.gather(*waits, return_exceptions=True)
        known = self.catalog.snapshot.features
        return {name: self._permitted(name, known[name]) for name in servers if name in known}

    async def of_server(self, server: str) -> Features | None:
        """Return the features of one server, from the catalogue if they are there."""
        self._enabled(server)
        if server not in self.catalog.snapshot.features:
            await self._known(server)
        return self.catalog.snapshot.features.get(server)

    async def _known(self, server: str) -> None:
        await (await self._upstream(server)).features_known(_WAIT_SECONDS)

    def _permitted(self, server: str, features: Features) -> Features:
        return replace(
            features,
            prompts=tuple(self.permitted(server, "prompts", features.prompts)),
            resources=tuple(self.permitted(server, "resources", features.resources)),
            templates=tuple(self.permitted(server, "templates", features.templates)),
        )

    def permitted(self, server: str, what: Lists, entries: Iterable[Any]) -> list[Mapping[str, Any]]:
        """Return the entries of a list that clients may use."""
        kind, key = _KEYS[what]
        if not _offers(self._enabled(server), kind):
            return []
        named = [one for one in entries if isinstance(one, dict) and isinstance(one.get(key), str)]
        return [one for one in named if self._is_permitted(self._feature(server, kind, one[key]))]

    def _is_permitted(self, feature: Tool) -> bool:
        return block_rule(feature, self.config.tools) is None and self.calls.policy.names(
            feature, self.profile
        )

    async def request(
        self, about: tuple[str, Kind, str], method: str, params: Mapping[str, Any], context: CallContext
    ) -> dict[str, Any]:
        """Send a request about a prompt or a resource, given by server, kind and name."""
        return await self.calls.request(self._offered(*about), method, params, context)

    async def list_page(
        self, server: str, method: str, params: Mapping[str, Any], context: CallContext
    ) -> dict[str, Any]:
        """Return one page of a server's own list."""
        upstream = await self._upstream(server)
        return await upstream.request(method, params, context, repeatable=True, admit=_admit)

    async def subscribe(self, server: str, uri: str) -> None:
        """Subscribe to a resource; its updates arrive as events of the gateway."""
        resource = self._offered(server, "resource", uri)
        self.calls.policy.admit_feature(resource, self.catalog.snapshot, self.profile)
        await (await self._upstream(server)).watch(uri, on=True)

    async def unsubscribe(self, server: str, uri: str) -> None:
        await (await self._upstream(server)).watch(uri, on=False)

    def _enabled(self, name: str) -> ServerConfig:
        known = self.catalog.configured
        enabled = {one.name: one for one in self.config.servers if one.name in known}
        if name not in enabled:
            raise ServerNotFoundError(name, tuple(enabled))
        return enabled[name]

    async def _upstream(self, name: str) -> Upstream:
        self._enabled(name)
        return (await self.pool.get())[name]

    def _offered(self, server: str, kind: Kind, name: str) -> Tool:
        feature = self._feature(server, kind, name)
        if not _offers(self._enabled(server), kind):
            raise ToolBlockedError(feature.name, f"`{kind}s: false` of server {server!r}")
        return feature

    def _feature(self, server: str, kind: Kind, name: str) -> Tool:
        """Return a prompt or a resource as the rules for tools see it."""
        known = feature_name(server, kind, name)
        return self.catalog.snapshot.prompts.get(known) or Tool(known, server, f"{kind} {name}", "", {})


def _offers(server: ServerConfig, kind: Kind) -> bool:
    return server.prompts if kind == "prompt" else server.resources


async def _admit() -> None:
    pass
