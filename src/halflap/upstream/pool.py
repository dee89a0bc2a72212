"""The upstreams of one gateway, and the guardian that they share."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from halflap.upstream.connector import Connector
from halflap.upstream.guardian import Guardian
from halflap.upstream.log import ServerLog
from halflap.upstream.upstream import Upstream

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping
    from pathlib import Path

    from halflap.config import ServerConfig
    from halflap.core.values import Listing

__all__ = ["Pool"]


class Pool:
    """The upstreams by name. None starts before it is needed; all end together."""

    def __init__(
        self,
        servers: tuple[ServerConfig, ...],
        *,
        version: str,
        log_folder: Path | None,
        list_roots: Callable[[], Awaitable[list[dict[str, Any]]]],
        on_listing: Callable[[Listing], Awaitable[None]],
        last_versions: Mapping[str, str | None],
        redact: Callable[[str], str],
        in_process: Mapping[str, Any],
    ) -> None:
        self._guardian = Guardian()
        self._upstreams: dict[str, Upstream] = {}
        for server in servers:
            log = ServerLog(log_folder, server.name, redact)
            connector = Connector(
                server,
                guardian=self._guardian,
                log=log,
                version=version,
                list_roots=list_roots,
                in_process=in_process.get(server.name),
            )
            self._upstreams[server.name] = Upstream(
                server,
                connector=connector,
                log=log,
                on_listing=on_listing,
                last_version=last_versions.get(server.name),
            )

    def __iter__(self) -> Iterator[Upstream]:
        return iter(self._upstreams.values())

    def get(self, name: str) -> Upstream | None:
        return self._upstreams.get(name)

    async def roots_changed(self) -> None:
        """Notify every running server that the roots changed."""
        await asyncio.gather(*(upstream.roots_changed() for upstream in self), return_exceptions=True)

    async def close(self) -> None:
        await asyncio.gather(*(upstream.close() for upstream in self), return_exceptions=True)
        await self._guardian.close()
