"""Runs and calls: written, found, counted, and deleted when they are old or too many."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from statistics import median
from typing import Any

from halflap.core.errors import StoreError, UsageError
from halflap.core.text import join
from halflap.core.values import DSPY, SCRIPTS
from halflap.store import sqlite_file
from halflap.store.database import Database, transactional
from halflap.store.records import INTERRUPTED, RUNNING, Activity, Breach, CallRecord, Purged, RunRecord
from halflap.store.sql import KEYS, Row, Transaction, columns, matching, row_of, upsert

_ROW_BYTES = 500
"""About the size of a row without its texts."""
_BATCH = 20
"""Rows deleted in one transaction; more make others wait longer, since SQLite overwrites what is deleted."""
_MAX_SUGGESTED = 5
_MAX_TIMED_CALLS = 20_000
"""Newest calls that the median durations rest on."""
_VALUES = ("arguments", "result")
"""The columns of a call that may be large."""
_CALL_IS_COMPLETE = "calls.outcome <> 'sent' OR excluded.outcome = 'sent'"
_RUN_IS_COMPLETE = """
    excluded.outcome = 'running'
    OR (runs.outcome NOT IN ('running', 'interrupted') AND (runs.output IS NOT NULL OR excluded.output IS NULL))
"""
"""When a stored row is not replaced by one that comes late."""
_ADD_BREACH = f"""
    INSERT INTO breaches ({columns(Breach)}) VALUES ({", ".join(f":{field.name}" for field in fields(Breach))})
    ON CONFLICT ({", ".join(KEYS["breaches"])})
    DO UPDATE SET last_at = excluded.last_at, times = breaches.times + excluded.times
"""


class TraceStore(Database):
    """The part of the store that keeps what happened."""

    @transactional
    def record(
        self,
        transaction: Transaction,
        *,
        calls: Sequence[CallRecord] = (),
        runs: Sequence[RunRecord] = (),
        breaches: Sequence[Breach] = (),
        is_late: bool = False,
    ) -> int:
        """Write records in one transaction: existing calls and runs are replaced, breaches are added up.

        Once this returns, the records survive the end of this process. With SQLite, the last moments may not survive
        a power failure. Late records, which could not be written when they were made, do not undo how a call or run
        ended. Returns about how many bytes were written.
        """
        run_rows, call_rows = [_run_row(record) for record in runs], [_call_row(record) for record in calls]
        upsert(transaction, "runs", run_rows, unless=_RUN_IS_COMPLETE if is_late else "")
        upsert(transaction, "calls", call_rows, unless=_CALL_IS_COMPLETE if is_late else "")
        transaction.run_many(_ADD_BREACH, [row_of(breach) for breach in breaches])
        return sum(row["kept_bytes"] for row in (*run_rows, *call_rows))

    @transactional
    def interrupt_runs(self, transaction: Transaction, process: str, error: str) -> int:
        """Record that the runs of a process that is gone were interrupted, and return how many there were."""
        return transaction.run(
            """
            UPDATE runs SET outcome = :outcome, error = :error,
                calls = (SELECT count(*) FROM calls WHERE calls.run = runs.id)
            WHERE process = :process AND outcome = :running
            """,
            outcome=INTERRUPTED, error=error, process=process, running=RUNNING,
        )  # fmt: skip

    # Calls

    @transactional
    def recent_calls(
        self,
        transaction: Transaction,
        limit: int,
        *,
        server: str | None = None,
        tool: str | None = None,
        principal: str | None = None,
        values: bool = True,
    ) -> Sequence[CallRecord]:
        """Return the newest calls, newest first; `tool` is the server's own name. Arguments and results may be large."""
        having = {"server": server, "tool": tool, "principal": principal}
        rest = f"WHERE TRUE {matching(**having)} ORDER BY started_at DESC, id DESC LIMIT :limit"
        return _calls(transaction, rest, without=() if values else _VALUES, limit=limit, **having)

    @transactional
    def call(
        self, transaction: Transaction, identifier: str, *, principal: str | None = None
    ) -> CallRecord | None:
        rest = f"WHERE id = :id {matching(principal=principal)}"
        return next(iter(_calls(transaction, rest, id=identifier, principal=principal)), None)

    @transactional
    def calls_of_run(
        self, transaction: Transaction, identifier: str, *, values: bool = True
    ) -> Sequence[CallRecord]:
        """Return the calls of a run in their order."""
        rest, without = "WHERE run = :run ORDER BY started_at, id", () if values else _VALUES
        return _calls(transaction, rest, without=without, run=identifier)

    @transactional
    def small_results(self, transaction: Transaction, max_bytes: int, limit: int) -> Sequence[CallRecord]:
        """Return the newest successful calls with a recorded result up to this size, without their arguments."""
        rest = """
            WHERE outcome = 'ok' AND result IS NOT NULL AND result_bytes <= :max_bytes
            ORDER BY started_at DESC, id DESC LIMIT :limit
        """
        return _calls(transaction, rest, without=["arguments"], max_bytes=max_bytes, limit=limit)

    @transactional
    def unobserved_calls(
        self, transaction: Transaction, after: str | None, limit: int
    ) -> Sequence[CallRecord]:
        """Return calls with results that nothing was learned from yet, oldest first; `after` is a call's identifier."""
        # Identifiers sort by time.
        rest = """
            WHERE observed = 0 AND result IS NOT NULL AND outcome IN ('ok', 'tool_error') AND id > :after
            ORDER BY id LIMIT :limit
        """
        return _calls(transaction, rest, after=after or "", limit=limit)

    # Runs

    @transactional
    def runs(
        self,
        transaction: Transaction,
        limit: int,
        *,
        principal: str | None = None,
        before: float | None = None,
    ) -> Sequence[RunRecord]:
        """Return the newest runs, newest first, without their output, which may be megabytes."""
        query = f"""
            SELECT {columns(RunRecord, without=["output"])} FROM runs
            WHERE started_at < :before {matching(principal=principal)}
            ORDER BY started_at DESC, id DESC LIMIT :limit
        """
        before = math.inf if before is None else before
        rows = transaction.select(query, before=before, principal=principal, limit=limit)
        return [RunRecord(**row) for row in rows]

    @transactional
    def run(
        self, transaction: Transaction, identifier: str, *, principal: str | None = None
    ) -> RunRecord | None:
        """Return the run whose identifier is or begins with this one; `UsageError` if several do."""
        found = _runs_like(transaction, "id = :identifier", identifier, principal)
        if not found and identifier.isalnum():
            condition = "substr(id, 1, length(:identifier)) = :identifier"
            found = _runs_like(transaction, condition, identifier, principal)
        if len(found) > 1:
            names = join([run.id for run in found], limit=_MAX_SUGGESTED)
            raise UsageError(f"{identifier!r} matches several runs: {names}. Use more of its characters.")
        return found[0] if found else None

    # Statistics

    @transactional
    def latencies(self, transaction: Transaction) -> Mapping[tuple[str, str], float]:
        """Return the median duration of recent calls in milliseconds, by server and tool."""
        query = """
            SELECT server, tool, duration_ms FROM calls WHERE outcome = 'ok' AND duration_ms IS NOT NULL
            ORDER BY started_at DESC LIMIT :limit
        """
        durations: dict[tuple[str, str], list[float]] = {}
        for row in transaction.select(query, limit=_MAX_TIMED_CALLS):
            durations.setdefault((row["server"], row["tool"]), []).append(row["duration_ms"])
        return {tool: median(times) for tool, times in durations.items()}

    @transactional
    def activity(
        self,
        transaction: Transaction,
        since: float,
        span_seconds: float,
        spans: int,
        *,
        output_limit: int,
        principal: str | None,
    ) -> Activity:
        """Count the calls in each span since a time. Of a run's output, the model read at most `output_limit`."""
        own, until = matching(principal=principal), since + span_seconds * spans
        within = f"WHERE started_at >= :since AND started_at < :until {own}"
        count = f"""
            SELECT count(*) AS calls,
                coalesce(sum(CASE WHEN outcome IN ('ok', 'sent', 'cancelled') THEN 0 ELSE 1 END), 0) AS errors
            FROM calls {within}
        """
        starts = (since + at * span_seconds for at in range(spans))
        counts = [
            transaction.select(count, since=start, until=start + span_seconds, principal=principal)[0]
            for start in starts
        ]
        durations: list[list[float]] = [[] for _ in range(spans)]
        timed = f"""
            SELECT started_at, duration_ms FROM calls {within} AND duration_ms IS NOT NULL
            ORDER BY started_at DESC LIMIT {_MAX_TIMED_CALLS}
        """
        for row in transaction.select(timed, since=since, until=until, principal=principal):
            span = min(spans - 1, int((row["started_at"] - since) / span_seconds))
            durations[span].append(row["duration_ms"])
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
            calls=tuple(int(one["calls"]) for one in counts),
            errors=tuple(int(one["errors"]) for one in counts),
            median_ms=tuple(median(times) if times else None for times in durations),
            slow_ms=tuple(_slow(times) for times in durations),
            result_bytes=int(totals[0]["result_bytes"]),
            output_bytes=int(totals[0]["output_bytes"]),
            oldest=totals[0]["oldest"],
        )

    # Retention

    async def purge(
        self,
        *,
        older_than: float | None = None,
        keep_bytes: int | None = None,
        everything: bool = False,
        shrink: bool = True,
    ) -> Purged:
        """Delete runs and calls, oldest first, and free their space on disk, or let it be used again.

        To save space, a run that is under way loses its oldest calls, but is not deleted itself.
        """
        ages = [math.inf] if everything else [] if older_than is None else [older_than]
        limits = [*ages, await self._oldest_to_keep(keep_bytes)] if keep_bytes is not None else ages
        gone = Purged()
        # In batches, so that others get their turn.
        while limits and (some := await self._delete_batch(max(limits), max(ages, default=-math.inf))):
            gone += some
        # Space in use by other processes is freed another time.
        with contextlib.suppress(StoreError):
            if self._file is not None:
                while shrink and await self._in_thread(lambda: sqlite_file.release_space(self._connection)):
                    pass
            elif gone and not self._is_sqlite:
                await self._in_thread(lambda: self._connection.execute("VACUUM runs, calls"))
        return gone

    @transactional
    def _oldest_to_keep(self, transaction: Transaction, keep_bytes: int) -> float:
        """Return the earliest time from which everything fits into this many bytes."""
        sizes = "SELECT started_at, kept_bytes FROM runs UNION ALL SELECT started_at, kept_bytes FROM calls"
        total = transaction.scalar(f"SELECT coalesce(sum(kept_bytes), 0) FROM ({sizes}) AS sizes")
        if total <= keep_bytes:
            return -math.inf
        query = f"""
            SELECT min(started_at) FROM (
                SELECT started_at, sum(kept_bytes) OVER (ORDER BY started_at DESC) AS newer_bytes FROM ({sizes}) AS sizes
            ) AS totals WHERE newer_bytes <= :keep_bytes
        """
        earliest = transaction.scalar(query, keep_bytes=keep_bytes)
        # Infinity: not even the newest fits alone.
        return math.inf if earliest is None else float(earliest)

    @transactional
    def _delete_batch(self, transaction: Transaction, before: float, running_before: float) -> Purged:
        """Delete some of the calls that began before a time or belong to a run that did, or, without such, some runs."""
        runs = f"""
            SELECT id FROM runs WHERE started_at < :before AND (outcome <> 'running' OR started_at < :running_before)
            ORDER BY started_at, id LIMIT {_BATCH}
        """
        times = {"before": before, "running_before": running_before}
        for which in ("started_at < :before", f"run IN (SELECT id FROM ({runs}) AS old)"):
            calls = f"SELECT id FROM calls WHERE {which} ORDER BY started_at, id LIMIT {_BATCH}"
            if gone := transaction.run(f"DELETE FROM calls WHERE id IN ({calls})", **times):
                return Purged(calls=gone)
        return Purged(runs=transaction.run(f"DELETE FROM runs WHERE id IN ({runs})", **times))


def _run_row(record: RunRecord) -> Row:
    return {**row_of(record), "kept_bytes": _kept_bytes(record.code, record.output, record.error)}


def _call_row(record: CallRecord) -> Row:
    return {**row_of(record), "kept_bytes": _kept_bytes(record.arguments, record.result, record.error)}


def _kept_bytes(*texts: str | None) -> int:
    """Estimate the size of a row, stored with it so that retention need not read the texts."""
    return _ROW_BYTES + sum(len(text.encode(errors="surrogatepass")) for text in texts if text is not None)


def _calls(
    transaction: Transaction, rest: str, *, without: Sequence[str] = (), **parameters: Any
) -> list[CallRecord]:
    query = f"SELECT {columns(CallRecord, without=without)} FROM calls {rest}"
    rows = transaction.select(query, **parameters)
    cut = ("arguments_cut", "result_cut")
    return [CallRecord(**{**row, **{name: bool(row[name]) for name in cut}}) for row in rows]


def _runs_like(
    transaction: Transaction, condition: str, identifier: str, principal: str | None
) -> list[RunRecord]:
    query = f"""
        SELECT {columns(RunRecord)} FROM runs WHERE {condition} {matching(principal=principal)}
        ORDER BY started_at DESC, id DESC LIMIT {_MAX_SUGGESTED + 1}
    """
    rows = transaction.select(query, identifier=identifier, principal=principal)
    return [RunRecord(**row) for row in rows]


def _slow(times: list[float]) -> float | None:
    return sorted(times)[math.ceil(0.95 * len(times)) - 1] if times else None
