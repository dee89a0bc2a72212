"""What was learned about tools: shapes, where values went, drift, and broken declarations."""

from __future__ import annotations

import json
import logging
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from halflap.core.errors import ShapeBrokenError, ShapeTooNewError, StoreAheadError, StoreTooNewError
from halflap.learn import Learned
from halflap.store import lineage as flows
from halflap.store.database import Database, exclusive, transactional
from halflap.store.records import Breach, DriftEvent, StoredShape, ToolKey, WatermarkChange
from halflap.store.sql import Row, Transaction, columns, matching, row_of, upsert

if TYPE_CHECKING:
    from halflap.graph.lineage import Lineage

__all__ = ["KnowledgeStore"]

logger = logging.getLogger(__name__)

_VALUES = "values"
"""Flags in the installation whether values are stored, so that nothing has to read all shapes to find out."""


class KnowledgeStore(Database):
    """The part of the store that keeps what was learned, per origin."""

    @exclusive
    def add_learned(
        self,
        transaction: Transaction,
        origin: str,
        shapes: Mapping[ToolKey, Learned],
        *,
        lineage: Lineage | None = None,
        watermark: str | None = None,
        observed_calls: Sequence[str] = (),
        sources: Mapping[str, WatermarkChange] | None = None,
        check: Callable[[Mapping[str, str]], None] | None = None,
    ) -> frozenset[str]:
        """Merge what an origin learned, in one transaction with how far it has read.

        `observed_calls` are recorded calls that `shapes` rest on. If any of them was learned from before, nothing is
        added and those are returned: try again without them. `sources` are watermarks of what was read; if another
        process has moved one of them, nothing is added and `StoreAheadError` is raised. `check` receives all
        watermarks in the same transaction; if it raises, nothing is added.
        """
        query = "SELECT id FROM calls WHERE observed = 1 AND id IN"
        if taken := frozenset(row["id"] for row in transaction.select_in(query, observed_calls)):
            return taken
        sources = sources or {}
        if sources or check is not None:
            _check_watermarks(transaction, sources, check)
        merged = {}
        for key, new in shapes.items():
            stored = _stored(transaction, origin, key)
            merged[key] = new if stored is None else stored.merge(new)
        _write_shapes(transaction, origin, merged)
        if lineage is not None:
            flows.add(transaction, origin, lineage, operator.add)
        marks = {source: change.now for source, change in sources.items()}
        marks |= {} if watermark is None else {origin: watermark}
        rows: list[Row] = [{"origin": name, "watermark": mark} for name, mark in marks.items()]
        upsert(transaction, "watermarks", rows)
        transaction.run_many(
            "UPDATE calls SET observed = 1 WHERE id = :id", [{"id": call} for call in observed_calls]
        )
        return frozenset()

    @exclusive
    def replace_learned(
        self,
        transaction: Transaction,
        origin: str,
        shapes: Mapping[ToolKey, Learned],
        lineage: Lineage | None = None,
    ) -> None:
        """Replace what is stored of another installation, except where that rests on more results.

        An origin's knowledge only grows, so of two states the one with more results contains the other.
        """
        newer = {}
        for key, new in shapes.items():
            stored = _stored(transaction, origin, key)
            if stored is None or new.observations >= stored.observations:
                newer[key] = new
        _write_shapes(transaction, origin, newer)
        if lineage is not None:
            flows.add(transaction, origin, lineage, max)

    @exclusive
    def forget_learned(
        self,
        transaction: Transaction,
        origin: str | None = None,
        server: str | None = None,
        tool: str | None = None,
        *,
        update_watermark: Callable[[str, str], str | None] | None = None,
    ) -> Sequence[tuple[str, ToolKey]]:
        """Delete what an origin and its sub-origins (`origin:…`) learned about tools, and return what was deleted.

        `update_watermark` receives every origin and watermark in the same transaction, and returns the new watermark or
        None to delete it. The drift of a tool goes with the last that is known about it.
        """
        what = {"origin": origin, "prefix": f"{origin}:", "server": server, "tool": tool}
        within = f"{flows.of_origin(origin)} {matching(server=server, tool=tool)}"
        gone = transaction.select(
            f"SELECT origin, server, tool, definition_hash FROM learned WHERE {within}", **what
        )
        transaction.run(f"DELETE FROM learned WHERE {within}", **what)
        transaction.run(
            """
            DELETE FROM drift WHERE NOT EXISTS (
                SELECT 1 FROM learned WHERE learned.server = drift.server AND learned.tool = drift.tool
            )
            """
        )
        flows.forget(transaction, origin, server, tool)
        if update_watermark is not None:
            _update_watermarks(transaction, update_watermark)
        return [(row.pop("origin"), ToolKey(**row)) for row in gone]

    @exclusive
    def drop_values(self, transaction: Transaction) -> int:
        """Delete the example values kept with `learning.values`; returns from how many rows."""
        if not transaction.run("DELETE FROM installation WHERE name = :name", name=_VALUES):
            return 0
        kept = [row for row in _read_shapes(transaction) if row.learned.has_values]
        for row in kept:
            _write_shapes(transaction, row.origin, {row.key: row.learned.without_values()})
        return len(kept)

    @transactional
    def learned(
        self, transaction: Transaction, *, server: str | None = None, tool: str | None = None
    ) -> Sequence[StoredShape]:
        """Return what every origin learned, except rows that cannot be read; `tool` is the server's own name."""
        return _read_shapes(transaction, server, tool)

    @transactional
    def watermarks(self, transaction: Transaction) -> Mapping[str, str]:
        """Return every origin with its watermark, empty where it has none."""
        return _read_watermarks(transaction)

    @transactional
    def lineage(self, transaction: Transaction) -> Mapping[str, Lineage]:
        """Return where each origin saw values go; its tools are `ToolKey`s."""
        return flows.read(transaction)

    @transactional
    def breaches(self, transaction: Transaction) -> Sequence[Breach]:
        rows = transaction.select(f"SELECT {columns(Breach)} FROM breaches ORDER BY first_at")
        return [Breach(**row) for row in rows]

    @transactional
    def add_drift(self, transaction: Transaction, events: Sequence[DriftEvent]) -> None:
        """Store drift; of a known event the first time is kept."""
        upsert(transaction, "drift", [row_of(event) for event in events], replace=False)

    @transactional
    def drift(
        self, transaction: Transaction, *, server: str | None = None, tool: str | None = None
    ) -> Sequence[DriftEvent]:
        """Return drift, newest first."""
        query = f"""
            SELECT {columns(DriftEvent)} FROM drift WHERE TRUE {matching(server=server, tool=tool)}
            ORDER BY at DESC, server, tool, path, what, now
        """
        return [DriftEvent(**row) for row in transaction.select(query, server=server, tool=tool)]


def _write_shapes(transaction: Transaction, origin: str, shapes: Mapping[ToolKey, Learned]) -> None:
    rows = [
        {
            "origin": origin,
            **key._asdict(),
            "shapes": json.dumps(learned.to_json(), separators=(",", ":"), ensure_ascii=False),
        }
        for key, learned in shapes.items()
    ]
    upsert(transaction, "learned", rows)
    if any(learned.has_values for learned in shapes.values()):
        upsert(transaction, "installation", [{"name": _VALUES, "value": "kept"}])


def _stored(transaction: Transaction, origin: str, key: ToolKey) -> Learned | None:
    query = f"SELECT shapes FROM learned WHERE origin = :origin {matching(**key._asdict())}"
    text = transaction.scalar(query, origin=origin, **key._asdict())
    if text is None:
        return None
    try:
        return Learned.from_json(json.loads(text))
    except ShapeTooNewError as error:
        raise StoreTooNewError(
            f"What is known of {key.server}.{key.tool} cannot be added to. {error}"
        ) from error
    except (ShapeBrokenError, ValueError, RecursionError) as error:
        logger.warning("What %s learned of %s.%s is damaged and starts over: %s", origin, *key[:2], error)
        return None


def _read_shapes(
    transaction: Transaction, server: str | None = None, tool: str | None = None
) -> list[StoredShape]:
    query = f"""
        SELECT * FROM learned WHERE TRUE {matching(server=server, tool=tool)}
        ORDER BY server, tool, definition_hash, origin
    """
    found = []
    for row in transaction.select(query, server=server, tool=tool):
        key = ToolKey(row["server"], row["tool"], row["definition_hash"])
        try:
            shapes = Learned.from_json(json.loads(row["shapes"]))
        except (ShapeTooNewError, ShapeBrokenError, ValueError, RecursionError) as error:
            logger.warning("What %s learned of %s.%s is left out: %s", row["origin"], *key[:2], error)
            continue
        found.append(StoredShape(*key, row["origin"], shapes))
    return found


def _read_watermarks(transaction: Transaction) -> dict[str, str]:
    origins = [row["origin"] for row in transaction.select("SELECT DISTINCT origin FROM learned")]
    marks = transaction.select("SELECT origin, watermark FROM watermarks")
    return {**dict.fromkeys(origins, ""), **{row["origin"]: row["watermark"] for row in marks}}


def _update_watermarks(transaction: Transaction, change: Callable[[str, str], str | None]) -> None:
    for row in transaction.select("SELECT origin, watermark FROM watermarks"):
        changed = change(row["origin"], row["watermark"])
        if changed is None:
            transaction.run("DELETE FROM watermarks WHERE origin = :origin", origin=row["origin"])
        else:
            upsert(transaction, "watermarks", [{**row, "watermark": changed}])


def _check_watermarks(
    transaction: Transaction,
    sources: Mapping[str, WatermarkChange],
    check: Callable[[Mapping[str, str]], None] | None,
) -> None:
    """Raise if another process has read on in one of the sources."""
    stored = _read_watermarks(transaction)
    if any(stored.get(source) != change.before for source, change in sources.items()):
        raise StoreAheadError(
            "Another process has counted this data meanwhile. Nothing was added; run the command again."
        )
    if check is not None:
        check(stored)
