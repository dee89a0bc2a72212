"""Queries for where values went, and how often."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256

from halflap.graph.lineage import Count, Flow, Lineage
from halflap.store.records import ToolKey
from halflap.store.sql import Row, Transaction, matching, upsert

MAX_ROWS = 200_000
"""Flows kept per origin, so that a server with ever new field names cannot fill the disk."""


def add(transaction: Transaction, origin: str, new: Lineage, combine: Callable[[int, int], int]) -> None:
    """Write the flows that an origin saw; a stored count is combined with the new one."""
    rows = {_flow_id(origin, flow): _row(origin, flow, count) for flow, count in new.counts.items()}
    stored = transaction.select_in("SELECT id, times, runs FROM lineage WHERE id IN", list(rows))
    known = {row["id"] for row in stored}
    if len(known) < len(rows):
        count = transaction.scalar("SELECT count(*) FROM lineage WHERE origin = :origin", origin=origin)
        room = max(0, MAX_ROWS - count)
        for identifier in [identifier for identifier in rows if identifier not in known][room:]:
            del rows[identifier]
    for row in stored:
        for column in ("times", "runs"):
            rows[row["id"]][column] = combine(row[column], rows[row["id"]][column])
    upsert(transaction, "lineage", list(rows.values()))


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


def read(transaction: Transaction) -> dict[str, Lineage]:
    flows: dict[str, dict[Flow, Count]] = {}
    for row in transaction.select("SELECT * FROM lineage"):
        source = ToolKey(row["source_server"], row["source_tool"], row["source_hash"])
        target = ToolKey(row["target_server"], row["target_tool"], row["target_hash"])
        flow = Flow(source, row["source_path"], target, row["target_path"])
        flows.setdefault(row["origin"], {})[flow] = Count(row["times"], row["runs"])
    return {origin: Lineage(counts) for origin, counts in sorted(flows.items())}


def of_origin(origin: str | None) -> str:
    """Return a condition for the rows of an origin and its sub-origins; `:prefix` is the origin with a colon."""
    return "TRUE" if origin is None else "(origin = :origin OR substr(origin, 1, length(:prefix)) = :prefix)"


def forget(transaction: Transaction, origin: str | None, server: str | None, tool: str | None) -> None:
    """Delete the flows from and to tools."""
    source = {"source_server": server, "source_tool": tool}
    target = {"target_server": server, "target_tool": tool}
    transaction.run(
        f"DELETE FROM lineage WHERE {of_origin(origin)} "
        f"AND ((TRUE {matching(**source)}) OR (TRUE {matching(**target)}))",
        origin=origin,
        prefix=f"{origin}:",
        **source,
        **target,
    )
