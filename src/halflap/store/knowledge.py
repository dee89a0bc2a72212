"""Queries for what was learned: shapes, watermarks, drift and breaches."""

from __future__ import annotations

import dataclasses
import json
import logging
import operator
from typing import TYPE_CHECKING

from halflap.core.errors import ShapeBrokenError, ShapeTooNewError, StoreAheadError, StoreTooNewError
from halflap.learn import Learned
from halflap.store import lineage
from halflap.store.records import LIVE, Breach, DriftEvent, StoredShape, ToolKey
from halflap.store.rows import columns, matching, read_value, row_of, upsert

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from halflap.graph.lineage import Lineage
    from halflap.store.records import WatermarkChange
    from halflap.store.transaction import Row, Transaction

logger = logging.getLogger(__name__)

_VALUES = "values"


def add(
    transaction: Transaction,
    origin: str,
    shapes: Mapping[ToolKey, Learned],
    *,
    flows: Lineage | None,
    marks: Mapping[str, str],
    calls: Sequence[str],
    sources: Mapping[str, WatermarkChange],
    check: Callable[[Mapping[str, str]], None] | None,
) -> frozenset[str]:
    """Merge what an origin learned; see `Store.add_learned`."""
    if taken := _already_observed(transaction, calls):
        return taken
    _check_watermarks(transaction, sources, check)
    rows = []
    for key, new in shapes.items():
        stored = _stored(transaction, origin, key)
        rows.append(_row(origin, key, new if stored is None else stored.merge(new)))
    _upsert_shapes(transaction, rows, shapes.values())
    if flows is not None:
        lineage.add(transaction, origin, flows, operator.add)
    marks = {**{source: change.now for source, change in sources.items()}, **marks}
    upsert(transaction, "watermarks", [{"origin": name, "watermark": mark} for name, mark in marks.items()])
    if calls:
        transaction.run_many("UPDATE calls SET observed = 1 WHERE id = :id", [{"id": call} for call in calls])
    return frozenset()


def replace(
    transaction: Transaction, origin: str, shapes: Mapping[ToolKey, Learned], flows: Lineage | None
) -> None:
    """Replace an origin's shapes, except where the stored ones rest on more results.

    An origin's knowledge only grows, so of two states the one with more results contains the other.
    """
    rows = []
    for key, new in shapes.items():
        stored = _stored(transaction, origin, key)
        if stored is None or new.observations >= stored.observations:
            rows.append(_row(origin, key, new))
    _upsert_shapes(transaction, rows, shapes.values())
    if flows is not None:
        lineage.add(transaction, origin, flows, max)


def _upsert_shapes(transaction: Transaction, rows: list[Row], shapes: Iterable[Learned]) -> None:
    upsert(transaction, "learned", rows)
    # A flag says whether values are stored, so that nothing has to read all shapes to find out.
    if any(one.has_values for one in shapes):
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


def _row(origin: str, key: ToolKey, known: Learned) -> Row:
    text = json.dumps(known.to_json(), separators=(",", ":"), ensure_ascii=False)
    return {"origin": origin, **key._asdict(), "shapes": text}


def read_shapes(
    transaction: Transaction, server: str | None = None, tool: str | None = None
) -> list[StoredShape]:
    """Return what is known, except rows that cannot be read."""
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


def forget(
    transaction: Transaction,
    origin: str | None,
    server: str | None,
    tool: str | None,
    update_watermark: Callable[[str, str], str | None] | None,
) -> list[tuple[str, ToolKey]]:
    """Delete what was learned, and the drift of tools about which nothing is known any more."""
    known = [
        (row.pop("origin"), ToolKey(**row))
        for row in transaction.select("SELECT origin, server, tool, definition_hash FROM learned")
    ]
    gone = [
        (name, key)
        for name, key in known
        if (origin is None or name == origin or name.startswith(f"{origin}:"))
        and server in {None, key.server}
        and tool in {None, key.tool}
    ]
    transaction.run_many(
        "DELETE FROM learned WHERE origin = :origin AND server = :server AND tool = :tool "
        "AND definition_hash = :definition_hash",
        [{"origin": name, **key._asdict()} for name, key in gone],
    )
    left = {key[:2] for _, key in set(known).difference(gone)}
    unknown = {key[:2] for _, key in gone} - left
    transaction.run_many(
        "DELETE FROM drift WHERE server = :server AND tool = :tool",
        [{"server": name, "tool": own} for name, own in unknown],
    )
    lineage.forget(transaction, origin, server, tool)
    if update_watermark is not None:
        _update_watermarks(transaction, update_watermark)
    return gone


def drop_values(transaction: Transaction) -> int:
    """Remove the values from all rows, and return from how many. Rows that cannot be read stay as they are."""
    if read_value(transaction, _VALUES) is None:
        return 0
    transaction.run("DELETE FROM installation WHERE name = :name", name=_VALUES)
    rows = [
        _row(row.origin, row.key, row.learned.without_values())
        for row in read_shapes(transaction)
        if row.learned.has_values
    ]
    upsert(transaction, "learned", rows)
    return len(rows)


# Watermarks and observed calls


def read_watermarks(transaction: Transaction) -> dict[str, str]:
    origins = [row["origin"] for row in transaction.select("SELECT DISTINCT origin FROM learned")]
    marks = {
        row["origin"]: row["watermark"]
        for row in transaction.select("SELECT origin, watermark FROM watermarks")
    }
    return {**dict.fromkeys(origins, ""), **marks}


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
    if not sources and check is None:
        return
    stored = read_watermarks(transaction)
    if any(stored.get(source) != change.before for source, change in sources.items()):
        raise StoreAheadError(
            "Another process has counted this data meanwhile. Nothing was added; run the command again."
        )
    if check is not None:
        check(stored)


def _already_observed(transaction: Transaction, calls: Sequence[str]) -> frozenset[str]:
    """Return those of the calls that something was learned from before."""
    observed = transaction.select_in("SELECT id FROM calls WHERE observed = 1 AND id IN", calls)
    return frozenset(row["id"] for row in observed)


# Drift and breaches


def read_drift(transaction: Transaction, server: str | None, tool: str | None) -> list[DriftEvent]:
    query = f"""
        SELECT {columns(DriftEvent)} FROM drift WHERE TRUE {matching(server=server, tool=tool)}
        ORDER BY at DESC, server, tool, path, what, now
    """
    return [DriftEvent(**row) for row in transaction.select(query, server=server, tool=tool)]


def add_drift(transaction: Transaction, events: Sequence[DriftEvent]) -> None:
    upsert(transaction, "drift", [row_of(event) for event in events], replace=False)


def read_breaches(transaction: Transaction) -> list[Breach]:
    rows = transaction.select(f"SELECT {columns(Breach)} FROM breaches ORDER BY first_at")
    return [Breach(**row) for row in rows]


def add_breaches(transaction: Transaction, new: Sequence[Breach]) -> None:
    """Write breaches, each merged with the stored one."""
    stored = {_breach_key(one): one for one in read_breaches(transaction)}
    upsert(transaction, "breaches", [row_of(_merged(stored.get(_breach_key(one)), one)) for one in new])


def _breach_key(breach: Breach) -> tuple[str, ...]:
    return breach.server, breach.tool, breach.definition_hash, breach.path


def _merged(stored: Breach | None, new: Breach) -> Breach:
    if stored is None:
        return new
    return dataclasses.replace(
        new,
        first_at=min(stored.first_at, new.first_at),
        last_at=max(stored.last_at, new.last_at),
        times=stored.times + new.times,
        origin=LIVE if LIVE in {stored.origin, new.origin} else new.origin,
    )
