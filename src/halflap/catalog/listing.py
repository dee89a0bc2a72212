"""Merge a server's listing into what is stored: names never change, and removed tools are kept as removed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from halflap.catalog.naming import choose_name
from halflap.core.values import Listing, canonical, definition_hash
from halflap.store import ServerRows, StoredServer, StoredTool

PARTS = {
    "title": "title",
    "description": "description",
    "inputSchema": "input schema",
    "outputSchema": "output schema",
    "annotations": "annotations",
}
"""The parts of a definition that an agent relies on, with the words for them."""


@dataclass(frozen=True, slots=True)
class Absorbed:
    """The rows after a listing, and what to warn of."""

    rows: ServerRows
    renamed: tuple[tuple[str, str], ...] = ()
    """(original name, name given) of tools whose plain name belongs to another tool."""
    unaccepted: tuple[str, ...] = ()
    """Tools with a new definition that is not the accepted one."""


def absorb(before: ServerRows, listing: Listing, fingerprint: str, now: float) -> Absorbed:
    """Merge a listing into the rows of its server. Pure."""
    known = {tool.original_name: tool for tool in before.tools}
    taken = dict(before.names)
    tools: dict[str, StoredTool] = {}
    renamed, unaccepted = [], []
    for position, definition in enumerate(listing.tools):
        original, digest = str(definition["name"]), definition_hash(definition)
        old = known.get(original)
        if original in tools:
            continue
        if old is None:
            name = choose_name(listing.server, original, taken)
            taken[name] = (listing.server, original)
            if name != choose_name(listing.server, original, {}):
                renamed.append((original, name))
            old = StoredTool(
                listing.server, original, name, definition, digest, definition, digest, now, now, position
            )
        if digest not in {old.hash, old.accepted_hash}:
            unaccepted.append(old.name)
        tools[original] = replace(
            old, definition=definition, hash=digest, last_seen=now, position=position, removed=False
        )
    gone = [replace(tool, removed=True) for original, tool in known.items() if original not in tools]
    server = StoredServer(
        listing.server,
        fingerprint,
        now,
        listing.ttl_seconds,
        listing.protocol_version,
        listing.server_info,
        listing.instructions,
        None if before.server is None else before.server.features,
    )
    rows = ServerRows(server, [*tools.values(), *gone], taken)
    return Absorbed(rows, tuple(renamed), tuple(sorted(unaccepted)))


def changed_parts(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the words for the parts of a definition that differ."""
    # As text, because `True == 1` in Python but not in the hash.
    return tuple(word for key, word in PARTS.items() if canonical(old.get(key)) != canonical(new.get(key)))
