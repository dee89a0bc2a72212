"""Search over the callable tools of the current snapshot."""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from halflap.core.errors import ServerNotFoundError, UsageError
from halflap.core.text import clean, visible

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from halflap.catalog.search.index import Index
    from halflap.catalog.snapshot import Snapshot
    from halflap.catalog.view import Seen
    from halflap.core.values import Tool

_MAX_SERVER_TEXT = 1_000
_MAX_LINE = 200


class Hit(NamedTuple):
    """A search result: the first line of the tool's description, its signature, and its score."""

    name: str
    description: str
    signature: str
    score: float


class Finder:
    """Searches an index of the catalogue, which is rebuilt in a thread when the catalogue has changed."""

    def __init__(
        self, catalog: Seen, signatures: Callable[[Sequence[Tool]], Awaitable[Sequence[str]]]
    ) -> None:
        self._catalog = catalog
        self._signatures = signatures
        self._lock = asyncio.Lock()
        self._index: tuple[int, Index] | None = None

    async def search(self, query: str, limit: int, server: str | None) -> list[Hit]:
        """Return the best matches, best first."""
        if not query.strip():
            raise UsageError("The query is empty. Describe what the tool should do, or name it.")
        if limit < 1:
            raise UsageError(f"The limit must be at least 1, not {limit}.")
        snapshot = self._catalog.snapshot
        if server is not None and server not in snapshot.by_server:
            if server in self._catalog.servers:
                raise UsageError(f"Server {server!r} has no tools. `halflap doctor {server}` shows why.")
            raise ServerNotFoundError(visible(server, _MAX_LINE), self._catalog.servers)
        async with self._lock:
            if self._index is None or self._index[0] != snapshot.number:
                self._index = (snapshot.number, await asyncio.to_thread(self._build, snapshot))
            index = self._index[1]
        found = index.search(query, limit, server)
        tools = [snapshot.tools[one.name] for one in found]
        signatures = await self._signatures(tools)
        return [
            Hit(tool.name, _first_line(tool.description), signature, round(one.score, 4))
            for one, tool, signature in zip(found, tools, signatures, strict=True)
        ]

    def _build(self, snapshot: Snapshot) -> Index:
        # Imported in the thread: it takes a while, and not every gateway is used to search.
        document_of = import_module("halflap.catalog.search.terms").document_of
        texts = {
            name: f"{server.server_info or ''} {server.instructions or ''}"[:_MAX_SERVER_TEXT]
            for name, server in snapshot.servers.items()
        }
        tools = (snapshot.tools[name] for name in snapshot.callable)
        documents = [document_of(tool, texts.get(tool.server, "")) for tool in tools]
        index: Index = import_module("halflap.catalog.search.index").Index(documents)
        return index


def _first_line(description: str) -> str:
    line = next((line.strip() for line in description.splitlines() if line.strip()), "")
    return clean(line, _MAX_LINE)
