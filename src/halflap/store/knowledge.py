"""What was learned about tools: shapes, where values went and how often, drift, and broken declarations."""

from __future__ import annotations

import json
import logging
import operator
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256

from halflap.core.errors import ShapeError, ShapeTooNewError, StoreError, StoreTooNewError
from halflap.graph.lineage import Count, Flow, Lineage
from halflap.learn import Learned
from halflap.store.database import Database, exclusive, transactional
from halflap.store.records import Breach, DriftEvent, StoredShape, ToolKey, WatermarkChange
from halflap.store.sql import Row, Transaction, columns, matching, row_of, upsert

logger = logging.getLogger(__name__)

_VALUES = "values"
"""Set in the installation if values are stored, so that nothing has to read all shapes to find out."""
_SOURCE = ("source_server", "source_tool", "source_hash")
_TARGET = ("target_server", "target_tool", "target_hash")
MAX_FLOWS = 200_000
"""Flows stored per origin, so that a server with ever new field names cannot fill the disk."""


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
        observed_calls: Sequence[str] = (),
        sources: Mapping[str, WatermarkChange] | None = None,
    ) -> frozenset[str]:
        """Merge what an origin learned, in one transaction with how far it has read.

        `observed_calls` are the recorded calls behind `shapes`. If some of them were learned from before, nothing is added
        and those are returned: try again without them. `sources` are watermarks of what was read. If another process has
        moved one of them, nothing is added and `StoreError` (`store-ahead`) is raised.
        """
        query = "SELECT id FROM calls WHERE observed = 1 AND id IN"
        if taken := frozenset(row["id"] for row in transaction.select_in(query, observed_calls)):
            return taken
        sources = sources or {}
        marks = _read_watermarks(transaction) if sources else {}
        if any(marks.get(source) != change.before for source, change in sources.items()):
            raise StoreError(
                "Another process has counted this data meanwhile. Nothing was added; run the command again.",
                code="store-ahead",
            )
        merged = {}
        for key, new in shapes.items():
            stored = _stored(transaction, origin, key)
            merged[key] = new if stored is None else stored.merge(new)
        _write_shapes(transaction, origin, merged)
        if lineage is not None:
            _add_lineage(transaction, origin, lineage, operator.add)
        rows: list[Row] = [{"origin": source, "watermark": change.now} for source, change in sources.items()]
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
    ) -> int:
        """Replace what is stored of another installation, except where that rests on more results.

        An origin's knowledge only grows, so of two states the one with more results contains the other. Returns how
        many results are new.
        """
        newer, count = {}, 0
        for key, new in shapes.items():
            stored = _stored(transaction, origin, key)
            known = 0 if stored is None else stored.observations
            if new.observations >= known:
                newer[key] = new
                count += new.observations - known
        _write_shapes(transaction, origin, newer)
        if lineage is not None:
            _add_lineage(transaction, origin, lineage, max)
        return count

    @exclusive
    def forget_learned(
        self,
        transaction: Transaction,
        origin: str | None = None,
        server: str | None = None,
        tool: str | None = None,
        *,
        watermarks: str | None = None,
    ) -> Sequence[tuple[str, ToolKey]]:
        """Delete what an origin and its sub-origins (`origin:…`) learned about tools, and return what was deleted.

        Drift is deleted with the last knowledge of its tool. Watermarks that begin with `watermarks` are deleted as well.
        """
        begins = "substr(origin, 1, length(:prefix)) = :prefix"
        what = {"origin": origin, "prefix": f"{origin}:", "server": server, "tool": tool}
        source, target = (dict(zip(names, (server, tool), strict=False)) for names in (_SOURCE, _TARGET))
        of_origin = "TRUE" if origin is None else f"(origin = :origin OR {begins})"
        within = f"{of_origin} {matching(server=server, tool=tool)}"
        gone = transaction.select(
            f"SELECT origin, server, tool, definition_hash FROM learned WHERE {within}", **what
        )
        transaction.run(f"DELETE FROM learned WHERE {within}", **what)
        transaction.run(
            f"""
            DELETE FROM lineage WHERE {of_origin}
            AND ((TRUE {matching(**source)}) OR (TRUE {matching(**target)}))
            """,
            **what,
            **source,
            **target,
        )
        transaction.run(
            """
            DELETE FROM drift WHERE NOT EXISTS (
                SELECT 1 FROM learned WHERE learned.server = drift.server AND learned.tool = drift.tool
            )
            """
        )
        if watermarks is not None:
            transaction.run(f"DELETE FROM watermarks WHERE {begins}", prefix=watermarks)
        return [(row.pop("origin"), ToolKey(**row)) for row in gone]

    @exclusive
    def drop_values(self, transaction: Transaction) -> int:
        """Delete the values stored with `learning.values`, and return from how many rows."""
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
        """Return the watermark of every origin, empty if it has none."""
        return _read_watermarks(transaction)

    @transactional
    def lineage(self, transaction: Transaction) -> Mapping[str, Lineage]:
        """Return where each origin saw values go; its tools are `ToolKey`s."""
        flows: dict[str, dict[Flow, Count]] = {}
        for row in transaction.select("SELECT * FROM lineage"):
            source, target = (ToolKey(*(row[name] for name in names)) for names in (_SOURCE, _TARGET))
            flow = Flow(source, row["source_path"], target, row["target_path"])
            flows.setdefault(row["origin"], {})[flow] = Count(row["times"], row["runs"])
        return {origin: Lineage(counts) for origin, counts in sorted(flows.items())}

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
    except (ShapeError, ValueError, RecursionError) as error:
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
        except (ShapeError, ValueError, RecursionError) as error:
            logger.warning("What %s learned of %s.%s is left out: %s", row["origin"], *key[:2], error)
            continue
        found.append(StoredShape(*key, row["origin"], shapes))
    return found


def _read_watermarks(transaction: Transaction) -> dict[str, str]:
    origins = [row["origin"] for row in transaction.select("SELECT DISTINCT origin FROM learned")]
    marks = transaction.select("SELECT origin, watermark FROM watermarks")
    return {**dict.fromkeys(origins, ""), **{row["origin"]: row["watermark"] for row in marks}}


def _add_lineage(
    transaction: Transaction, origin: str, new: Lineage, combine: Callable[[int, int], int]
) -> None:
    """Write the flows that an origin saw; a stored count is combined with the new one."""
    rows: dict[str, Row] = {}
    for flow, seen in new.counts.items():
        # The columns together are longer than what a database takes as a key.
        key = json.dumps([origin, list(flow.source), flow.source_path, list(flow.target), flow.target_path])
        identifier = sha256(key.encode()).hexdigest()
        rows[identifier] = {
            "id": identifier,
            "origin": origin,
            **dict(zip(_SOURCE, flow.source, strict=True)),
            **dict(zip(_TARGET, flow.target, strict=True)),
            "source_path": flow.source_path,
            "target_path": flow.target_path,
            **seen._asdict(),
        }
    stored = transaction.select_in("SELECT id, times, runs FROM lineage WHERE id IN", list(rows))
    known = {row["id"] for row in stored}
    if len(known) < len(rows):
        count = transaction.scalar("SELECT count(*) FROM lineage WHERE origin = :origin", origin=origin)
        room = max(0, MAX_FLOWS - count)
        for identifier in [identifier for identifier in rows if identifier not in known][room:]:
            del rows[identifier]
    for row in stored:
        for column in ("times", "runs"):
            rows[row["id"]][column] = combine(row[column], rows[row["id"]][column])
    upsert(transaction, "lineage", list(rows.values()))
