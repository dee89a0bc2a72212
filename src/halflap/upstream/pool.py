"""The upstreams of one gateway."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from halflap.upstream.log import ServerLog
from halflap.upstream.upstream import Upstream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from halflap.config import ServerConfig
    from halflap.upstream.connection import Hooks


class Pool:
    """The upstreams by name. None starts before it is needed; all end together."""

    def __init__(
        self,
        servers: tuple[ServerConfig, ...],
        hooks: Hooks,
        *,
        log_folder: Path | None,
        redact: Callable[[str], str],
        last_versions: Mapping[str, str | None],
        in_process: Mapping[str, Any],
    ) -> None:
        self._upstreams = {
            server.name: Upstream(
                server,
                hooks,
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
