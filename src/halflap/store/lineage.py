"""Queries for data flow: counts of where values went."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING

import sqlalchemy as sa

from halflap.graph.lineage import Count, Flow, Lineage
from halflap.store.records import ToolKey
from halflap.store.tables import Row, lineage, upsert

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_ROWS = 200_000
"""Flows kept per origin, so that a server with ever new field names cannot fill the disk."""
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
    source, target = ToolKey(*flow.source), ToolKey(*flow.target)
    return {
        "id": _flow_id(origin, flow),
        "origin": origin,
        "source_server": source.server,
        "source_tool": source.tool,
        "source_hash": source.definition_hash,
        "target_server": target.server,
        "target_tool": target.tool,
        "target_hash": target.definition_hash,
        "source_path": flow.source_path,
        "target_path": flow.target_path,
        "times": count.times,
        "runs": count.runs,
    }


def read_lineage(connection: sa.Connection) -> dict[str, Lineage]:
    found: dict[str, dict[Flow, Count]] = {}
    for row in connection.execute(sa.select(lineage)):
        source = ToolKey(row.source_server, row.source_tool, row.source_hash)
        target = ToolKey(row.target_server, row.target_tool, row.target_hash)
        flow = Flow(source, row.source_path, target, row.target_path)
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
