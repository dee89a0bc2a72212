"""Where values went, and which tool feeds which, in SQL: counts that are added to, and edges that are made anew."""

from __future__ import annotations

import json
from hashlib import sha256
from statistics import median
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from halflap.graph.lineage import Count, Flow, Lineage
from halflap.store.base import StoredEdge, ToolKey
from halflap.store.tables import calls, edges, lineage, meters

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = [
    "added_rows",
    "edges_of",
    "forget",
    "grown_rows",
    "latencies_of",
    "lineage_of",
    "meter_rows",
    "meters_of",
    "row_of_edge",
    "without_edges_of",
]

_MOST_ROWS = 200_000
"""So many ways an origin keeps: a server whose results have ever new names fills no disk with them."""
_AT_ONCE = 400
_MOST_CALLS = 20_000
"""Of so many calls, the newest, it is looked at how long they took."""

_Row = dict[str, Any]


def added_rows(connection: sa.Connection, origin: str, added: Lineage) -> list[_Row]:
    """Give the rows of an origin with something added to them."""
    return _rows(connection, origin, added, lambda one, other: one + other)


def grown_rows(connection: sa.Connection, origin: str, came: Lineage) -> list[_Row]:
    """Give the rows of an origin as another installation has them, unless ours have more.

    What an origin knows only grows, so of two states of it the greater counts contain the others.
    """
    return _rows(connection, origin, came, max)


def _rows(connection: sa.Connection, origin: str, came: Lineage, put: Any) -> list[_Row]:
    rows = {_id(origin, flow): _row(origin, flow, count) for flow, count in came.counts.items()}
    known = {}
    names = list(rows)
    for start in range(0, len(names), _AT_ONCE):
        query = sa.select(lineage.c.id, lineage.c.times, lineage.c.runs)
        found = connection.execute(query.where(lineage.c.id.in_(names[start : start + _AT_ONCE])))
        known.update({row.id: row for row in found})
    if len(known) < len(rows):
        there = connection.scalar(
            sa.select(sa.func.count()).select_from(lineage).where(lineage.c.origin == origin)
        )
        room = max(0, _MOST_ROWS - (there or 0))
        new = [name for name in names if name not in known]
        for name in new[room:]:
            del rows[name]
    for name, row in known.items():
        rows[name]["times"] = put(row.times, rows[name]["times"])
        rows[name]["runs"] = put(row.runs, rows[name]["runs"])
    return list(rows.values())


def _id(origin: str, flow: Flow) -> str:
    # Not the columns themselves: together they are longer than what a database takes as a key.
    text = json.dumps([origin, list(flow.source), flow.source_path, list(flow.target), flow.target_path])
    return sha256(text.encode()).hexdigest()


def _row(origin: str, flow: Flow, count: Count) -> _Row:
    source, target = ToolKey(*flow.source), ToolKey(*flow.target)
    return {
        "id": _id(origin, flow),
        "origin": origin,
        "source_server": source.server,
        "source_tool": source.tool,
        "source_hash": source.definition_hash,
        "source_path": flow.source_path,
        "target_server": target.server,
        "target_tool": target.tool,
        "target_hash": target.definition_hash,
        "target_path": flow.target_path,
        "times": count.times,
        "runs": count.runs,
    }


def lineage_of(connection: sa.Connection) -> dict[str, Lineage]:
    """Give what every origin counted; tools are `ToolKey`s."""
    found: dict[str, dict[Flow, Count]] = {}
    for row in connection.execute(sa.select(lineage)):
        flow = Flow(
            ToolKey(row.source_server, row.source_tool, row.source_hash),
            row.source_path,
            ToolKey(row.target_server, row.target_tool, row.target_hash),
            row.target_path,
        )
        found.setdefault(row.origin, {})[flow] = Count(row.times, row.runs)
    return {origin: Lineage(counts) for origin, counts in sorted(found.items())}


def forget(connection: sa.Connection, origin: str | None, server: str | None, tool: str | None) -> None:
    """Take out where the values of tools went, and whence theirs came."""
    gone = sa.delete(lineage)
    if origin is not None:
        gone = gone.where(
            sa.or_(lineage.c.origin == origin, lineage.c.origin.startswith(f"{origin}:", autoescape=True))
        )
    if server is not None or tool is not None:
        gone = gone.where(
            sa.or_(
                *(
                    sa.and_(
                        *([] if server is None else [lineage.c[f"{end}_server"] == server]),
                        *([] if tool is None else [lineage.c[f"{end}_tool"] == tool]),
                    )
                    for end in ("source", "target")
                )
            )
        )
    connection.execute(gone)


def row_of_edge(edge: StoredEdge) -> _Row:
    """Give an edge as a row."""
    source, target = edge.source, edge.target
    return {
        "id": sha256(json.dumps([list(source[:2]), list(target[:2])]).encode()).hexdigest(),
        "source_server": source.server,
        "source_tool": source.tool,
        "source_hash": source.definition_hash,
        "target_server": target.server,
        "target_tool": target.tool,
        "target_hash": target.definition_hash,
        "coverage": edge.coverage,
        "confidence": edge.confidence,
        "kinds": " ".join(edge.kinds),
        "mappings": json.dumps(list(edge.mappings), separators=(",", ":"), ensure_ascii=False),
    }


def without_edges_of(tools: Iterable[tuple[str, str]] | None) -> Iterator[Any]:
    """Give the statements that take out the edges from and to these tools, by server and name; None is all."""
    if tools is None:
        yield sa.delete(edges)
        return
    for server, tool in tools:
        yield sa.delete(edges).where(edges.c.source_server == server, edges.c.source_tool == tool)
        yield sa.delete(edges).where(edges.c.target_server == server, edges.c.target_tool == tool)


def edges_of(connection: sa.Connection) -> list[StoredEdge]:
    """Give all edges, the surest first."""
    query = sa.select(edges).order_by(sa.desc("confidence"), "source_server", "source_tool", "id")
    return [
        StoredEdge(
            ToolKey(row.source_server, row.source_tool, row.source_hash),
            ToolKey(row.target_server, row.target_tool, row.target_hash),
            row.coverage,
            row.confidence,
            tuple(row.kinds.split()),
            tuple(json.loads(row.mappings)),
        )
        for row in connection.execute(query)
    ]


def latencies_of(connection: sa.Connection) -> dict[tuple[str, str], float]:
    """Give how long a call of each tool took, in milliseconds: the median of the last."""
    query = (
        sa.select(calls.c.server, calls.c.tool, calls.c.duration_ms)
        .where(calls.c.outcome == "ok", calls.c.duration_ms.is_not(None))
        .order_by(sa.desc("started_at"))
        .limit(_MOST_CALLS)
    )
    took: dict[tuple[str, str], list[float]] = {}
    for server, tool, duration in connection.execute(query):
        took.setdefault((server, tool), []).append(duration)
    return {tool: median(durations) for tool, durations in took.items()}


def meter_rows(connection: sa.Connection, added: Mapping[str, float]) -> list[_Row]:
    """Give the rows of numbers with something added to them."""
    known = meters_of(connection)
    return [{"name": name, "value": known.get(name, 0.0) + value} for name, value in added.items()]


def meters_of(connection: sa.Connection) -> dict[str, float]:
    """Give all numbers that are counted."""
    return {row.name: row.value for row in connection.execute(sa.select(meters).order_by("name"))}
