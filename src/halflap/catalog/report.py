"""The state of a server and its tools, for `halflap doctor`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from halflap.catalog.snapshot import Snapshot
    from halflap.upstream import Status, Upstream

__all__ = ["ServerReport", "report"]


@dataclass(frozen=True, slots=True)
class ServerReport:
    status: Status
    transport: str
    tools: int
    declared_output_schemas: int
    blocked: int
    held: tuple[str, ...]
    changed: tuple[str, ...]
    listed_at: float | None
    log: tuple[str, ...]


def report(upstream: Upstream, snapshot: Snapshot) -> ServerReport:
    """Return a server's report. Reads its log file, so call it from a thread."""
    tools = snapshot.by_server.get(upstream.name, ())
    kept = snapshot.servers.get(upstream.name)
    return ServerReport(
        status=upstream.status(),
        transport=upstream.config.transport,
        tools=len(tools),
        declared_output_schemas=sum(1 for tool in tools if tool.output_schema),
        blocked=sum(1 for tool in tools if tool.name in snapshot.blocked),
        held=tuple(tool.name for tool in tools if tool.name in snapshot.held),
        changed=tuple(tool.name for tool in tools if tool.name in snapshot.changed),
        listed_at=None if kept is None else kept.listed_at,
        log=tuple(upstream.log.tail()),
    )
