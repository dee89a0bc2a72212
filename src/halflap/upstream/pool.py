"""All servers behind one gateway, and the guardian that they share."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

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
    """The upstreams by name. Nothing starts before it is needed; all end together."""

    def __init__(
        self,
        servers: tuple[ServerConfig, ...],
        *,
        version: str,
        log_folder: Path | None,
        list_roots: Callable[[], Awaitable[list[dict[str, Any]]]],
        on_listing: Callable[[Listing], Awaitable[None]],
        spoke: Mapping[str, str | None],
        redact: Callable[[str], str],
        in_process: Mapping[str, Any],
    ) -> None:
        self._guardian = Guardian()
        self._upstreams = {
            server.name: Upstream(
                server,
                guardian=self._guardian,
                log=ServerLog(log_folder, server.name, redact),
                version=version,
                list_roots=list_roots,
                on_listing=on_listing,
                spoke=spoke.get(server.name),
                redact=redact,
                in_process=in_process.get(server.name),
            )
            for server in servers
        }

    def __iter__(self) -> Iterator[Upstream]:
        return iter(self._upstreams.values())

    def get(self, name: str) -> Upstream | None:
        return self._upstreams.get(name)

    async def roots_changed(self) -> None:
        """Tell every running server that the roots are others now."""
        await asyncio.gather(*(upstream.roots_changed() for upstream in self), return_exceptions=True)

    async def close(self) -> None:
        """Stop all servers at once, then the guardian."""
        await asyncio.gather(*(upstream.close() for upstream in self), return_exceptions=True)
        await self._guardian.close()
