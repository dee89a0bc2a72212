"""Queries for runs and calls: read, and delete when they are old or too many."""

from __future__ import annotations

from datetime import datetime
from statistics import median
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from halflap.core.errors import UsageError
from halflap.core.text import shorten
from halflap.store.records import CallRecord, Purged, RunRecord
from halflap.store.tables import call_row, calls, read_call, run_row, runs, upsert

if TYPE_CHECKING:
    from collections.abc import Sequence

_BATCH = 100
"""Rows deleted in one transaction; more make others wait longer."""
_MAX_SUGGESTED = 5
_MAX_LINE = 60
_MAX_TIMED_CALLS = 20_000
"""Newest calls that the median durations rest on."""
_RUN_COLUMNS = [column for column in runs.columns if column.name != "kept_bytes"]
_CALL_COLUMNS = [column for column in calls.columns if column.name != "kept_bytes"]
_NEWEST_FIRST: tuple[Any, ...] = (sa.desc("started_at"), sa.desc("id"))


def write(connection: sa.Connection, new_calls: Sequence[CallRecord], new_runs: Sequence[RunRecord]) -> None:
    upsert(connection, runs, [run_row(record) for record in new_runs])
    upsert(connection, calls, [call_row(record) for record in new_calls])


def _calls(connection: sa.Connection, query: sa.Select[Any]) -> Sequence[CallRecord]:
    return [read_call(dict(row)) for row in connection.execute(query).mappings()]


def newest_calls(connection: sa.Connection, limit: int) -> Sequence[CallRecord]:
    return _calls(connection, sa.select(*_CALL_COLUMNS).order_by(*_NEWEST_FIRST).limit(limit))


def small_results(connection: sa.Connection, max_bytes: int, limit: int) -> Sequence[CallRecord]:
    # Arguments may be long, and are not needed here.
    columns = [sa.null().label(one.name) if one.name == "arguments" else one for one in _CALL_COLUMNS]
    query = sa.select(*columns).where(
        calls.c.outcome == "ok", calls.c.result.is_not(None), calls.c.result_bytes <= max_bytes
    )
    return _calls(connection, query.order_by(*_NEWEST_FIRST).limit(limit))


def calls_of_run(connection: sa.Connection, identifier: str) -> Sequence[CallRecord]:
    query = sa.select(*_CALL_COLUMNS).where(calls.c.run == identifier)
    return _calls(connection, query.order_by("started_at", "id"))


def unobserved_calls(connection: sa.Connection, after: str | None, limit: int) -> Sequence[CallRecord]:
    query = sa.select(*_CALL_COLUMNS).where(
        sa.literal_column("observed") == 0,
        calls.c.result.is_not(None),
        calls.c.outcome.in_(("ok", "tool_error")),
    )
    # Identifiers sort by time.
    query = query if after is None else query.where(calls.c.id > after)
    return _calls(connection, query.order_by("id").limit(limit))


def latencies(connection: sa.Connection) -> dict[tuple[str, str], float]:
    query = (
        sa.select(calls.c.server, calls.c.tool, calls.c.duration_ms)
        .where(calls.c.outcome == "ok", calls.c.duration_ms.is_not(None))
        .order_by(sa.desc("started_at"))
        .limit(_MAX_TIMED_CALLS)
    )
    took: dict[tuple[str, str], list[float]] = {}
    for server, tool, duration in connection.execute(query):
        took.setdefault((server, tool), []).append(duration)
    return {tool: median(durations) for tool, durations in took.items()}


def newest_runs(
    connection: sa.Connection, limit: int, principal: str | None, before: float | None
) -> Sequence[RunRecord]:
    # The output may be megabytes; it comes with the single run.
    columns = [column for column in _RUN_COLUMNS if column.name != "output"]
    query = _runs_of(principal, sa.select(*columns)).order_by(*_NEWEST_FIRST).limit(limit)
    if before is not None:
        query = query.where(runs.c.started_at < before)
    return [RunRecord(**row) for row in connection.execute(query).mappings()]


def find_run(connection: sa.Connection, identifier: str, principal: str | None) -> RunRecord | None:
    whole = _runs_of(principal, sa.select(*_RUN_COLUMNS))
    row = connection.execute(whole.where(runs.c.id == identifier)).mappings().first()
    if row is None and identifier.isalnum():
        beginning = sa.func.substr(runs.c.id, 1, len(identifier)) == identifier
        columns = (runs.c.id, runs.c.started_at, runs.c.name, runs.c.code)
        matching = _runs_of(principal, sa.select(*columns)).where(beginning).order_by(*_NEWEST_FIRST)
        found = connection.execute(matching.limit(_MAX_SUGGESTED + 1)).all()
        if len(found) > 1:
            lines = [_describe(*one) for one in found[:_MAX_SUGGESTED]]
            lines += ["… and more"] if len(found) > _MAX_SUGGESTED else []
            raise UsageError("\n  ".join([f"{identifier!r} fits several runs. Give more of it:", *lines]))
        if found:
            row = connection.execute(whole.where(runs.c.id == found[0].id)).mappings().first()
    return None if row is None else RunRecord(**row)


def _describe(identifier: str, started_at: float, name: str | None, code: str | None) -> str:
    when = datetime.fromtimestamp(started_at).astimezone().isoformat(" ", "seconds")
    lines = (line.strip() for line in (name or code or "").splitlines())
    first = next((line for line in lines if line), "")
    return f"{identifier}  {when}  {shorten(first, _MAX_LINE)}".rstrip()


def _runs_of(principal: str | None, query: sa.Select[Any]) -> sa.Select[Any]:
    return query if principal is None else query.where(runs.c.principal == principal)


def oldest_to_keep(connection: sa.Connection, keep_bytes: int) -> float | None:
    """Return the earliest time from which everything fits into this many bytes; None if all of it does."""
    total = 0
    for table in (runs, calls):
        total += connection.scalar(sa.select(sa.func.coalesce(sa.func.sum(table.c.kept_bytes), 0))) or 0
    if total <= keep_bytes:
        return None
    weights = sa.union_all(*(sa.select(table.c.started_at, table.c.kept_bytes) for table in (runs, calls)))
    excess = total - keep_bytes
    reached = 0.0
    for started_at, weight in connection.execute(
        sa.select(weights.subquery()).order_by(sa.asc("started_at"))
    ):
        if excess <= 0 and started_at > reached:
            return float(started_at)
        reached = started_at
        excess -= weight
    # Not even the newest fits alone.
    return float("inf")


def delete_batch(connection: sa.Connection, before: float | None) -> Purged:
    """Delete some of the oldest runs with their calls, or some calls without a run, that began before a time."""
    old_runs = _oldest(connection, runs, before)
    if old_runs:
        deleted = connection.execute(sa.delete(calls).where(calls.c.run.in_(old_runs)))
        connection.execute(sa.delete(runs).where(runs.c.id.in_(old_runs)))
    else:
        deleted = connection.execute(
            sa.delete(calls).where(calls.c.id.in_(_oldest(connection, calls, before)))
        )
    return Purged(len(old_runs), max(deleted.rowcount, 0))


def _oldest(connection: sa.Connection, table: Any, before: float | None) -> list[str]:
    query = sa.select(table.c.id).order_by("started_at").limit(_BATCH)
    if before is not None:
        query = query.where(table.c.started_at < before)
    return list(connection.execute(query).scalars())
