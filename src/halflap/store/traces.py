"""The runs and calls in SQL: asked for, and taken out again when they are old or too many."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from halflap.core.errors import UsageError
from halflap.store.base import CallRecord, Purged, RunRecord
from halflap.store.tables import calls, read_call, runs

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "calls_of_run",
    "delete_some",
    "find_run",
    "newest_calls",
    "newest_runs",
    "oldest_to_keep",
    "short_results",
    "unobserved_calls",
]

_AT_ONCE = 100
"""So many rows are taken out in one transaction: nobody else waits long for it."""
_MOST_SUGGESTED = 5
_LONGEST_LINE = 60
_RUN_COLUMNS = [column for column in runs.columns if column.name != "kept_bytes"]
_CALL_COLUMNS = [column for column in calls.columns if column.name != "kept_bytes"]
_NEWEST_FIRST: tuple[Any, ...] = (sa.desc("started_at"), sa.desc("id"))


def newest_calls(connection: sa.Connection, limit: int) -> Sequence[CallRecord]:
    query = sa.select(*_CALL_COLUMNS).order_by(*_NEWEST_FIRST).limit(limit)
    return [read_call(dict(row)) for row in connection.execute(query).mappings()]


def short_results(connection: sa.Connection, most_bytes: int, limit: int) -> Sequence[CallRecord]:
    fitting = (calls.c.outcome == "ok", calls.c.result.is_not(None), calls.c.result_bytes <= most_bytes)
    query = sa.select(*_CALL_COLUMNS).where(*fitting).order_by(*_NEWEST_FIRST).limit(limit)
    # What was passed may be long all the same, and is not asked for.
    columns = [sa.null().label(one.name) if one.name == "arguments" else one for one in _CALL_COLUMNS]
    rows = connection.execute(query.with_only_columns(*columns)).mappings()
    return [read_call(dict(row)) for row in rows]


def newest_runs(
    connection: sa.Connection, limit: int, principal: str | None, before: float | None
) -> Sequence[RunRecord]:
    # The output may be megabytes, and whoever wants it asks for the run.
    columns = [column for column in _RUN_COLUMNS if column.name != "output"]
    query = _of(principal, sa.select(*columns)).order_by(*_NEWEST_FIRST).limit(limit)
    if before is not None:
        query = query.where(runs.c.started_at < before)
    return [RunRecord(**row) for row in connection.execute(query).mappings()]


def find_run(connection: sa.Connection, identifier: str, principal: str | None) -> RunRecord | None:
    whole = _of(principal, sa.select(*_RUN_COLUMNS))
    row = connection.execute(whole.where(runs.c.id == identifier)).mappings().first()
    if row is None and identifier.isalnum():
        beginning = sa.func.substr(runs.c.id, 1, len(identifier)) == identifier
        columns = (runs.c.id, runs.c.started_at, runs.c.name, runs.c.code)
        fitting = _of(principal, sa.select(*columns)).where(beginning).order_by(*_NEWEST_FIRST)
        found = connection.execute(fitting.limit(_MOST_SUGGESTED + 1)).all()
        if len(found) > 1:
            lines = [_in_a_line(*one) for one in found[:_MOST_SUGGESTED]]
            lines += ["… and more"] if len(found) > _MOST_SUGGESTED else []
            raise UsageError("\n  ".join([f"{identifier!r} fits several runs. Give more of it:", *lines]))
        if found:
            row = connection.execute(whole.where(runs.c.id == found[0].id)).mappings().first()
    return None if row is None else RunRecord(**row)


def _in_a_line(identifier: str, started_at: float, name: str | None, code: str | None) -> str:
    when = datetime.fromtimestamp(started_at).astimezone().isoformat(" ", "seconds")
    lines = (line.strip() for line in (name or code or "").splitlines())
    first = next((line for line in lines if line), "")
    short = first if len(first) <= _LONGEST_LINE else f"{first[: _LONGEST_LINE - 1]}…"
    return f"{identifier}  {when}  {short}".rstrip()


def calls_of_run(connection: sa.Connection, identifier: str) -> Sequence[CallRecord]:
    query = sa.select(*_CALL_COLUMNS).where(calls.c.run == identifier).order_by("started_at", "id")
    return [read_call(dict(row)) for row in connection.execute(query).mappings()]


def unobserved_calls(connection: sa.Connection, after: str | None, limit: int) -> Sequence[CallRecord]:
    """Give calls with results that nothing was learned from yet. Their identifiers sort by time."""
    query = sa.select(*_CALL_COLUMNS).where(
        sa.literal_column("observed") == 0,
        calls.c.result.is_not(None),
        calls.c.outcome.in_(("ok", "tool_error")),
    )
    query = query if after is None else query.where(calls.c.id > after)
    rows = connection.execute(query.order_by("id").limit(limit)).mappings()
    return [read_call(dict(row)) for row in rows]


def oldest_to_keep(connection: sa.Connection, keep_bytes: int) -> float | None:
    """Say from when on everything fits into so many bytes; None if all of it does."""
    total = 0
    for table in (runs, calls):
        total += connection.scalar(sa.select(sa.func.coalesce(sa.func.sum(table.c.kept_bytes), 0))) or 0
    if total <= keep_bytes:
        return None
    weights = sa.union_all(*(sa.select(table.c.started_at, table.c.kept_bytes) for table in (runs, calls)))
    ordered = sa.select(weights.subquery()).order_by(sa.asc("started_at"))
    excess = total - keep_bytes
    reached = 0.0
    for started_at, weight in connection.execute(ordered):
        if excess <= 0 and started_at > reached:
            return float(started_at)
        reached = started_at
        excess -= weight
    # Not even the newest fits alone.
    return float("inf")


def delete_some(connection: sa.Connection, before: float | None) -> Purged:
    """Take out a few of the runs and calls that began before a time, or of all, the oldest first."""
    gone_runs = _oldest(connection, runs, before)
    gone_calls = 0
    if gone_runs:
        gone_calls += _rows(connection.execute(sa.delete(calls).where(calls.c.run.in_(gone_runs))))
        connection.execute(sa.delete(runs).where(runs.c.id.in_(gone_runs)))
    else:
        alone = _oldest(connection, calls, before)
        if alone:
            gone_calls += _rows(connection.execute(sa.delete(calls).where(calls.c.id.in_(alone))))
    return Purged(len(gone_runs), gone_calls)


def _of(principal: str | None, query: sa.Select[Any]) -> sa.Select[Any]:
    return query if principal is None else query.where(runs.c.principal == principal)


def _oldest(connection: sa.Connection, table: Any, before: float | None) -> list[str]:
    query = sa.select(table.c.id).order_by("started_at").limit(_AT_ONCE)
    if before is not None:
        query = query.where(table.c.started_at < before)
    return list(connection.execute(query).scalars())


def _rows(result: sa.CursorResult[Any]) -> int:
    return max(result.rowcount, 0)
