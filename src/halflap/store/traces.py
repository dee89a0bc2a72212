"""Queries for runs and calls: read, and delete when they are old or too many."""

from __future__ import annotations

import math
from datetime import datetime
from statistics import median
from typing import TYPE_CHECKING, Any

from halflap.core.errors import UsageError
from halflap.core.text import shorten
from halflap.core.values import DSPY, SCRIPTS
from halflap.store.records import Activity, CallRecord, Purged, RunRecord
from halflap.store.rows import call_row, columns, matching, read_call, run_row, upsert

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halflap.store.transaction import Transaction

_BATCH = 100
"""Rows deleted in one transaction; more make others wait longer."""
_MAX_SUGGESTED = 5
_MAX_LINE = 60
_MAX_TIMED_CALLS = 20_000
"""Newest calls that the median durations rest on."""


def write(transaction: Transaction, calls: Sequence[CallRecord], runs: Sequence[RunRecord]) -> None:
    upsert(transaction, "runs", [run_row(record) for record in runs])
    upsert(transaction, "calls", [call_row(record) for record in calls])


VALUES = ("arguments", "result")
"""The columns of a call that may be large."""


def _calls(
    transaction: Transaction, rest: str, *, without: Sequence[str] = (), **parameters: Any
) -> list[CallRecord]:
    query = f"SELECT {columns(CallRecord, without=without)} FROM calls {rest}"
    return [read_call(row) for row in transaction.select(query, **parameters)]


def newest_calls(
    transaction: Transaction, /, limit: int, without: Sequence[str], **having: str | None
) -> Sequence[CallRecord]:
    rest = f"WHERE TRUE {matching(**having)} ORDER BY started_at DESC, id DESC LIMIT :limit"
    return _calls(transaction, rest, without=without, limit=limit, **having)


def small_results(transaction: Transaction, max_bytes: int, limit: int) -> Sequence[CallRecord]:
    rest = """
        WHERE outcome = 'ok' AND result IS NOT NULL AND result_bytes <= :max_bytes
        ORDER BY started_at DESC, id DESC LIMIT :limit
    """
    # Arguments may be long, and are not needed here.
    return _calls(transaction, rest, without=["arguments"], max_bytes=max_bytes, limit=limit)


def calls_of_run(
    transaction: Transaction, identifier: str, without: Sequence[str] = ()
) -> Sequence[CallRecord]:
    return _calls(transaction, "WHERE run = :run ORDER BY started_at, id", without=without, run=identifier)


def find_call(transaction: Transaction, identifier: str, principal: str | None) -> CallRecord | None:
    rest = f"WHERE id = :id {matching(principal=principal)}"
    return next(iter(_calls(transaction, rest, id=identifier, principal=principal)), None)


def unobserved_calls(transaction: Transaction, after: str | None, limit: int) -> Sequence[CallRecord]:
    # Identifiers sort by time.
    rest = """
        WHERE observed = 0 AND result IS NOT NULL AND outcome IN ('ok', 'tool_error') AND id > :after
        ORDER BY id LIMIT :limit
    """
    return _calls(transaction, rest, after=after or "", limit=limit)


def latencies(transaction: Transaction) -> dict[tuple[str, str], float]:
    query = """
        SELECT server, tool, duration_ms FROM calls WHERE outcome = 'ok' AND duration_ms IS NOT NULL
        ORDER BY started_at DESC LIMIT :limit
    """
    durations: dict[tuple[str, str], list[float]] = {}
    for row in transaction.select(query, limit=_MAX_TIMED_CALLS):
        durations.setdefault((row["server"], row["tool"]), []).append(row["duration_ms"])
    return {tool: median(times) for tool, times in durations.items()}


def activity(
    transaction: Transaction,
    since: float,
    span_seconds: float,
    spans: int,
    *,
    output_limit: int,
    principal: str | None,
) -> Activity:
    own = matching(principal=principal)
    query = f"""
        SELECT count(*) AS calls,
            coalesce(sum(CASE WHEN outcome IN ('ok', 'sent', 'cancelled') THEN 0 ELSE 1 END), 0) AS errors
        FROM calls WHERE started_at >= :since AND started_at < :until {own}
    """
    starts = [since + at * span_seconds for at in range(spans)]
    counts = [
        transaction.select(query, since=start, until=start + span_seconds, principal=principal)[0]
        for start in starts
    ]
    within = {"since": since, "until": since + span_seconds * spans, "principal": principal}
    durations: list[list[float]] = [[] for _ in range(spans)]
    query = f"""
        SELECT started_at, duration_ms FROM calls
        WHERE started_at >= :since AND started_at < :until AND duration_ms IS NOT NULL {own}
        ORDER BY started_at DESC LIMIT :limit
    """
    for row in transaction.select(query, limit=_MAX_TIMED_CALLS, **within):
        durations[min(spans - 1, int((row["started_at"] - since) / span_seconds))].append(row["duration_ms"])
    # Scripts and DSPy programs that a program calls are counted by what they call themselves.
    totals = transaction.select(
        f"""
        SELECT
            (SELECT coalesce(sum(result_bytes), 0) FROM calls
                WHERE run IS NOT NULL AND server NOT IN (:scripts, :dspy) {own}) AS result_bytes,
            (SELECT coalesce(sum(CASE WHEN output_bytes > :most THEN :most ELSE output_bytes END), 0) FROM runs
                WHERE kind = 'program' {own}) AS output_bytes,
            (SELECT min(started_at) FROM calls WHERE TRUE {own}) AS oldest
        """,
        scripts=SCRIPTS, dspy=DSPY, most=output_limit, principal=principal,
    )  # fmt: skip
    return Activity(
        since=since,
        span_seconds=span_seconds,
        calls=tuple(int(count["calls"]) for count in counts),
        errors=tuple(int(count["errors"]) for count in counts),
        median_ms=tuple(median(times) if times else None for times in durations),
        slow_ms=tuple(_slow(times) for times in durations),
        result_bytes=int(totals[0]["result_bytes"]),
        output_bytes=int(totals[0]["output_bytes"]),
        oldest=totals[0]["oldest"],
    )


def _slow(times: list[float]) -> float | None:
    return sorted(times)[math.ceil(0.95 * len(times)) - 1] if times else None


def newest_runs(
    transaction: Transaction, limit: int, principal: str | None, before: float | None
) -> Sequence[RunRecord]:
    # The output may be megabytes; it comes with the single run.
    query = f"""
        SELECT {columns(RunRecord, without=["output"])} FROM runs
        WHERE started_at < :before {matching(principal=principal)}
        ORDER BY started_at DESC, id DESC LIMIT :limit
    """
    before = math.inf if before is None else before
    rows = transaction.select(query, before=before, principal=principal, limit=limit)
    return [RunRecord(**row) for row in rows]


def find_run(transaction: Transaction, identifier: str, principal: str | None) -> RunRecord | None:
    found = _runs_like(transaction, "id = :identifier", identifier, principal)
    if not found and identifier.isalnum():
        found = _runs_like(
            transaction, "substr(id, 1, length(:identifier)) = :identifier", identifier, principal
        )
    if len(found) > 1:
        lines = [_describe(run) for run in found[:_MAX_SUGGESTED]]
        lines += ["… and more"] if len(found) > _MAX_SUGGESTED else []
        raise UsageError("\n  ".join([f"{identifier!r} fits several runs. Give more of it:", *lines]))
    return found[0] if found else None


def _runs_like(
    transaction: Transaction, condition: str, identifier: str, principal: str | None
) -> list[RunRecord]:
    query = f"""
        SELECT {columns(RunRecord)} FROM runs WHERE {condition} {matching(principal=principal)}
        ORDER BY started_at DESC, id DESC LIMIT {_MAX_SUGGESTED + 1}
    """
    rows = transaction.select(query, identifier=identifier, principal=principal)
    return [RunRecord(**row) for row in rows]


def _describe(run: RunRecord) -> str:
    when = datetime.fromtimestamp(run.started_at).astimezone().isoformat(" ", "seconds")
    lines = (line.strip() for line in (run.name or run.code or "").splitlines())
    first = next((line for line in lines if line), "")
    return f"{run.id}  {when}  {shorten(first, _MAX_LINE)}".rstrip()


def oldest_to_keep(transaction: Transaction, keep_bytes: int) -> float | None:
    """Return the earliest time from which everything fits into this many bytes; None if all of it does."""
    sizes = "SELECT started_at, kept_bytes FROM runs UNION ALL SELECT started_at, kept_bytes FROM calls"
    total = transaction.scalar(f"SELECT coalesce(sum(kept_bytes), 0) FROM ({sizes}) AS sizes")
    if total <= keep_bytes:
        return None
    query = f"""
        SELECT min(started_at) FROM (
            SELECT started_at, sum(kept_bytes) OVER (ORDER BY started_at DESC) AS newer_bytes FROM ({sizes}) AS sizes
        ) AS totals WHERE newer_bytes <= :keep_bytes
    """
    earliest = transaction.scalar(query, keep_bytes=keep_bytes)
    # Infinity: not even the newest fits alone.
    return math.inf if earliest is None else float(earliest)


def delete_batch(transaction: Transaction, before: float | None) -> Purged:
    """Delete some of the oldest runs with their calls, or some calls without a run, that began before a time."""
    before = math.inf if before is None else before
    oldest = f"SELECT id FROM {{table}} WHERE started_at < :before ORDER BY started_at, id LIMIT {_BATCH}"
    of_runs = f"DELETE FROM calls WHERE run IN ({oldest.format(table='runs')})"
    calls = transaction.run(of_runs, before=before)
    runs = transaction.run(f"DELETE FROM runs WHERE id IN ({oldest.format(table='runs')})", before=before)
    if not runs:
        calls = transaction.run(
            f"DELETE FROM calls WHERE id IN ({oldest.format(table='calls')})", before=before
        )
    return Purged(runs, calls)
