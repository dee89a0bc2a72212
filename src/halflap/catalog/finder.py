"""Find tools by what they do: search over the callable tools of the current snapshot."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from halflap.core.errors import ServerNotFoundError, UsageError
from halflap.core.text import clean, visible
from halflap.schema import parse_schema

if TYPE_CHECKING:
    from halflap.catalog.catalog import Catalog
    from halflap.catalog.meaning import Meaning
    from halflap.catalog.search import Index
    from halflap.catalog.snapshot import Snapshot

__all__ = ["Finder", "Hit"]

logger = logging.getLogger(__name__)

_LONGEST_SERVER_TEXT = 1_000
_LONGEST_LINE = 200


@dataclass(frozen=True, slots=True)
class Hit:
    """A tool that was found: what it does in a line, how to call it, how well it fits."""

    name: str
    description: str
    signature: str
    score: float


class Finder:
    """Keeps an index of the catalogue, and makes it anew, in a thread, when the catalogue has changed."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._lock = asyncio.Lock()
        self._index: tuple[int, Index] | None = None
        self._meaning: Meaning | None = None
        self._meaning_looked_for = False

    async def search(self, query: str, limit: int, server: str | None) -> list[Hit]:
        """Give the tools that fit best, best first."""
        _check(query, limit, server)
        if not query.strip():
            raise UsageError("The query is empty. Say what the tool should do, or its name.")
        snapshot = self._catalog.snapshot
        if server is not None and server not in snapshot.by_server:
            asked = visible(server, _LONGEST_LINE)
            raise ServerNotFoundError(asked, sorted(snapshot.by_server), " with tools")
        async with self._lock:
            if self._index is None or self._index[0] != snapshot.number:
                self._index = (snapshot.number, await asyncio.to_thread(self._build, snapshot))
            index = self._index[1]
        hits = []
        for found in index.search(query, limit, server):
            tool = snapshot.tools[found.name]
            first = next((line.strip() for line in tool.description.splitlines() if line.strip()), "")
            hits.append(
                Hit(
                    found.name,
                    clean(first, _LONGEST_LINE),
                    parse_schema(tool).format_compact(),
                    round(found.score, 4),
                )
            )
        return hits

    def _build(self, snapshot: Snapshot) -> Index:
        """Make the index; loads what it needs here, in the thread, since not every run searches."""
        search = import_module("halflap.catalog.search")
        document_of = import_module("halflap.catalog.document").document_of
        if not self._meaning_looked_for:
            self._meaning = import_module("halflap.catalog.meaning").Meaning.load()
            self._meaning_looked_for = True
        texts = {
            name: f"{server.server_info or ''} {server.instructions or ''}"[:_LONGEST_SERVER_TEXT]
            for name, server in snapshot.servers.items()
        }
        tools = (snapshot.tools[name] for name in snapshot.callable)
        index: Index = search.Index(
            [document_of(tool, texts.get(tool.server, "")) for tool in tools], self._meaning
        )
        return index


def _check(query: object, limit: object, server: object) -> None:
    """Refuse what cannot be meant; Python does not, and would fail somewhere within."""
    if not isinstance(query, str):
        raise UsageError(f"The query must be a text, not {type(query).__name__}.")
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        shown = limit if isinstance(limit, int | float) else type(limit).__name__
        raise UsageError(f"The limit must be a whole number from 1 on, not {shown}.")
    if server is not None and not isinstance(server, str):
        raise UsageError(f"The server must be its name or None, not {type(server).__name__}.")
