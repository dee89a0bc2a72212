"""The upstreams of one gateway, and what they share."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from halflap.upstream.guardian import Guardian
from halflap.upstream.lifecycle import Shared
from halflap.upstream.log import ServerLog
from halflap.upstream.upstream import Upstream

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping
    from pathlib import Path

    from halflap.config import ServerConfig
    from halflap.core.values import Features, Listing, ServerEvent
    from halflap.upstream.questions import ListRoots


class Pool:
    """The upstreams by name. None starts before it is needed; all end together."""

    def __init__(
        self,
        servers: tuple[ServerConfig, ...],
        *,
        version: str,
        log_folder: Path | None,
        list_roots: ListRoots,
        on_listing: Callable[[Listing], Awaitable[None]],
        on_features: Callable[[str, Features], Awaitable[bool]],
        on_event: Callable[[ServerEvent], None],
        last_versions: Mapping[str, str | None],
        redact: Callable[[str], str],
        in_process: Mapping[str, Any],
    ) -> None:
        self._guardian = Guardian()
        shared = Shared(self._guardian, version, list_roots, on_listing, on_features, on_event)
        self._upstreams = {
            server.name: Upstream(
                server,
                shared,
                ServerLog(log_folder, server.name, redact),
                last_version=last_versions.get(server.name),
                in_process=in_process.get(server.name),
            )
            for server in servers
        }

    def __iter__(self) -> Iterator[Upstream]:
        return iter(self._upstreams.values())

    def get(self, name: str) -> Upstream | None:
        return self._upstreams.get(name)

    async def roots_changed(self) -> None:
        """Notify every running server that the roots changed."""
        await asyncio.gather(*(upstream.roots_changed() for upstream in self), return_exceptions=True)

    async def set_log_level(self, level: str) -> None:
        """Set the lowest level of log messages of every server."""
        await asyncio.gather(*(upstream.set_log_level(level) for upstream in self), return_exceptions=True)

    async def close(self) -> None:
        await asyncio.gather(*(upstream.close() for upstream in self), return_exceptions=True)
        await self._guardian.close()
