"""Queries for data flow: counts of where values went, and the edges between tools."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from halflap.graph.lineage import Count, Flow, Lineage
from halflap.store.records import StoredEdge, ToolKey
from halflap.store.tables import Row, edges, installation, lineage, upsert

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MAX_ROWS = 200_000
"""Flows kept per origin, so that a server with ever new field names cannot fill the disk."""
EDGES_VERSION = "edges"
_BATCH = 400


def add(connection: sa.Connection, origin: str, new: Lineage, combine: Callable[[int, int], int]) -> None:
    """Write the flows that an origin saw; a stored count is combined with the new one."""
    rows = {_flow_id(origin, flow): _row(origin, flow, count) for flow, count in new.counts.items()}
    identifiers = list(rows)
    stored = {}
    for start in range(0, len(identifiers), _BATCH):
        query = sa.select(lineage.c.id, lineage.c.times, lineage.c.runs)
        found = connection.execute(query.where(lineage.c.id.in_(identifiers[start : start + _BATCH])))
        stored.update({row.id: row for row in found})
    if len(stored) < len(rows):
        count = sa.select(sa.func.count()).select_from(lineage).where(lineage.c.origin == origin)
        room = max(0, MAX_ROWS - (connection.scalar(count) or 0))
        for identifier in [one for one in identifiers if one not in stored][room:]:
            del rows[identifier]
    for identifier, row in stored.items():
        rows[identifier]["times"] = combine(row.times, rows[identifier]["times"])
        rows[identifier]["runs"] = combine(row.runs, rows[identifier]["runs"])
    upsert(connection, lineage, list(rows.values()))


def _flow_id(origin: str, flow: Flow) -> str:
    # The columns together are longer than what a database takes as a key.
    text = json.dumps([origin, list(flow.source), flow.source_path, list(flow.target), flow.target_path])
    return sha256(text.encode()).hexdigest()


def _row(origin: str, flow: Flow, count: Count) -> Row:
    return {
        "id": _flow_id(origin, flow),
        "origin": origin,
        **_ends(ToolKey(*flow.source), ToolKey(*flow.target)),
        "source_path": flow.source_path,
        "target_path": flow.target_path,
        "times": count.times,
        "runs": count.runs,
    }


def _ends(source: ToolKey, target: ToolKey) -> Row:
    return {
        "source_server": source.server,
        "source_tool": source.tool,
        "source_hash": source.definition_hash,
        "target_server": target.server,
        "target_tool": target.tool,
        "target_hash": target.definition_hash,
    }


def _source(row: Any) -> ToolKey:
    return ToolKey(row.source_server, row.source_tool, row.source_hash)


def _target(row: Any) -> ToolKey:
    return ToolKey(row.target_server, row.target_tool, row.target_hash)


def read_lineage(connection: sa.Connection) -> dict[str, Lineage]:
    found: dict[str, dict[Flow, Count]] = {}
    for row in connection.execute(sa.select(lineage)):
        flow = Flow(_source(row), row.source_path, _target(row), row.target_path)
        found.setdefault(row.origin, {})[flow] = Count(row.times, row.runs)
    return {origin: Lineage(counts) for origin, counts in sorted(found.items())}


def forget(connection: sa.Connection, origin: str | None, server: str | None, tool: str | None) -> None:
    """Delete the flows from and to tools."""
    query = sa.delete(lineage)
    if origin is not None:
        within = lineage.c.origin.startswith(f"{origin}:", autoescape=True)
        query = query.where(sa.or_(lineage.c.origin == origin, within))
    ends = []
    for end in ("source", "target"):
        wanted = {f"{end}_server": server, f"{end}_tool": tool}
        ends.append([lineage.c[column] == value for column, value in wanted.items() if value is not None])
    if ends[0]:
        query = query.where(sa.or_(*(sa.and_(*end) for end in ends)))
    connection.execute(query)


def _edge_row(edge: StoredEdge) -> Row:
    source, target = edge.source, edge.target
    return {
        "id": sha256(json.dumps([list(source[:2]), list(target[:2])]).encode()).hexdigest(),
        **_ends(source, target),
        "coverage": edge.coverage,
        "confidence": edge.confidence,
        "kinds": " ".join(edge.kinds),
        "mappings": json.dumps(list(edge.mappings), separators=(",", ":"), ensure_ascii=False),
    }


def replace_edges(
    connection: sa.Connection,
    new: Sequence[StoredEdge],
    version: str,
    tools: Sequence[tuple[str, str]] | None,
) -> None:
    """Replace the edges from and to these tools, by server and name; None replaces all."""
    if tools is None:
        connection.execute(sa.delete(edges))
    for server, tool in tools or ():
        for end in ("source", "target"):
            same = edges.c[f"{end}_server"] == server, edges.c[f"{end}_tool"] == tool
            connection.execute(sa.delete(edges).where(*same))
    upsert(connection, edges, [_edge_row(edge) for edge in new])
    upsert(connection, installation, [{"name": EDGES_VERSION, "value": version}])


def read_edges(connection: sa.Connection) -> list[StoredEdge]:
    query = sa.select(edges).order_by(sa.desc("confidence"), "source_server", "source_tool", "id")
    return [
        StoredEdge(
            _source(row),
            _target(row),
            row.coverage,
            row.confidence,
            tuple(row.kinds.split()),
            tuple(json.loads(row.mappings)),
        )
        for row in connection.execute(query)
    ]
