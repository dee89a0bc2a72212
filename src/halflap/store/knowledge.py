"""Queries for what was learned: shapes, watermarks, drift and breaches."""

from __future__ import annotations

import dataclasses
import json
import logging
import operator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from halflap.core.errors import ShapeBrokenError, ShapeTooNewError, StoreAheadError, StoreTooNewError
from halflap.learn import Learned
from halflap.store import lineage
from halflap.store.records import LIVE, Breach, DriftEvent, StoredShape, ToolKey
from halflap.store.tables import Row, breaches, drift, installation, learned, read_value, upsert, watermarks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from halflap.graph.lineage import Lineage
    from halflap.store.records import WatermarkChange

logger = logging.getLogger(__name__)

_calls = sa.table("calls", sa.column("id"), sa.column("observed"))
_MARK_OBSERVED = sa.update(_calls).where(_calls.c.id == sa.bindparam("call")).values(observed=1)
_BATCH = 500
_VALUES = "values"


def add(
    connection: sa.Connection,
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
    if taken := _already_observed(connection, calls):
        return taken
    _check_watermarks(connection, sources, check)
    rows = []
    for key, new in shapes.items():
        stored = _stored(connection, origin, key)
        rows.append(_row(origin, key, new if stored is None else stored.merge(new)))
    _upsert_shapes(connection, rows, shapes.values())
    if flows is not None:
        lineage.add(connection, origin, flows, operator.add)
    marks = {**{source: change.now for source, change in sources.items()}, **marks}
    upsert(connection, watermarks, [{"origin": name, "watermark": mark} for name, mark in marks.items()])
    if calls:
        connection.execute(_MARK_OBSERVED, [{"call": call} for call in calls])
    return frozenset()


def replace(
    connection: sa.Connection, origin: str, shapes: Mapping[ToolKey, Learned], flows: Lineage | None
) -> None:
    """Replace an origin's shapes, except where the stored ones rest on more results.

    An origin's knowledge only grows, so of two states the one with more results contains the other.
    """
    rows = []
    for key, new in shapes.items():
        stored = _stored(connection, origin, key)
        if stored is None or new.observations >= stored.observations:
            rows.append(_row(origin, key, new))
    _upsert_shapes(connection, rows, shapes.values())
    if flows is not None:
        lineage.add(connection, origin, flows, max)


def _upsert_shapes(connection: sa.Connection, rows: list[Row], shapes: Iterable[Learned]) -> None:
    upsert(connection, learned, rows)
    # A flag says whether values are stored, so that nothing has to read all shapes to find out.
    if any(one.has_values for one in shapes):
        upsert(connection, installation, [{"name": _VALUES, "value": "kept"}])


def _stored(connection: sa.Connection, origin: str, key: ToolKey) -> Learned | None:
    text = connection.scalar(
        sa.select(learned.c.shapes).where(learned.c.origin == origin, *_of(learned, key))
    )
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


def _of(table: Any, key: ToolKey) -> list[Any]:
    return [table.c[column] == value for column, value in key._asdict().items()]


def _row(origin: str, key: ToolKey, known: Learned) -> Row:
    text = json.dumps(known.to_json(), separators=(",", ":"), ensure_ascii=False)
    return {"origin": origin, **key._asdict(), "shapes": text}


def _select(table: Any, server: str | None, tool: str | None) -> Any:
    query = sa.select(table)
    query = query if server is None else query.where(table.c.server == server)
    return query if tool is None else query.where(table.c.tool == tool)


def read_shapes(
    connection: sa.Connection, server: str | None = None, tool: str | None = None
) -> list[StoredShape]:
    """Return what is known, except rows that cannot be read."""
    query = _select(learned, server, tool).order_by("server", "tool", "definition_hash", "origin")
    found = []
    for row in connection.execute(query).mappings():
        key = ToolKey(row["server"], row["tool"], row["definition_hash"])
        try:
            shapes = Learned.from_json(json.loads(row["shapes"]))
        except (ShapeTooNewError, ShapeBrokenError, ValueError, RecursionError) as error:
            logger.warning("What %s learned of %s.%s is left out: %s", row["origin"], *key[:2], error)
            continue
        found.append(StoredShape(*key, row["origin"], shapes))
    return found


def forget(
    connection: sa.Connection,
    origin: str | None,
    server: str | None,
    tool: str | None,
    update_watermark: Callable[[str, str], str | None] | None,
) -> list[tuple[str, ToolKey]]:
    """Delete what was learned, and the drift of tools about which nothing is known any more."""
    columns = sa.select(learned.c.origin, learned.c.server, learned.c.tool, learned.c.definition_hash)
    rows = [(row[0], ToolKey(*row[1:])) for row in connection.execute(columns)]
    gone = [
        (one, key)
        for one, key in rows
        if (origin is None or one == origin or one.startswith(f"{origin}:"))
        and server in {None, key.server}
        and tool in {None, key.tool}
    ]
    for one, key in gone:
        connection.execute(sa.delete(learned).where(learned.c.origin == one, *_of(learned, key)))
    left = {key[:2] for _, key in set(rows).difference(gone)}
    for name, own in {key[:2] for _, key in gone} - left:
        connection.execute(sa.delete(drift).where(drift.c.server == name, drift.c.tool == own))
    lineage.forget(connection, origin, server, tool)
    if update_watermark is not None:
        _update_watermarks(connection, update_watermark)
    return gone


def drop_values(connection: sa.Connection) -> int:
    """Remove the values from all rows, and return from how many. Rows that cannot be read stay as they are."""
    if read_value(connection, _VALUES) is None:
        return 0
    connection.execute(sa.delete(installation).where(installation.c.name == _VALUES))
    rows = [
        _row(row.origin, row.key, row.learned.without_values())
        for row in read_shapes(connection)
        if row.learned.has_values
    ]
    upsert(connection, learned, rows)
    return len(rows)


# Watermarks and observed calls


def read_watermarks(connection: sa.Connection) -> dict[str, str]:
    origins = connection.execute(sa.select(learned.c.origin).distinct()).scalars()
    marked = {row.origin: row.watermark for row in connection.execute(sa.select(watermarks))}
    return {**dict.fromkeys(origins, ""), **marked}


def _update_watermarks(connection: sa.Connection, change: Callable[[str, str], str | None]) -> None:
    for origin, mark in connection.execute(sa.select(watermarks.c.origin, watermarks.c.watermark)).all():
        text = change(origin, mark)
        if text is None:
            connection.execute(sa.delete(watermarks).where(watermarks.c.origin == origin))
        elif text != mark:
            upsert(connection, watermarks, [{"origin": origin, "watermark": text}])


def _check_watermarks(
    connection: sa.Connection,
    sources: Mapping[str, WatermarkChange],
    check: Callable[[Mapping[str, str]], None] | None,
) -> None:
    """Raise if another process has read on in one of the sources."""
    if not sources and check is None:
        return
    stored = read_watermarks(connection)
    if any(stored.get(source) != change.before for source, change in sources.items()):
        raise StoreAheadError(
            "Another process has counted this data meanwhile. Nothing was added; run the command again."
        )
    if check is not None:
        check(stored)


def _already_observed(connection: sa.Connection, calls: Sequence[str]) -> frozenset[str]:
    """Return those of the calls that something was learned from before."""
    found: set[str] = set()
    for start in range(0, len(calls), _BATCH):
        some = _calls.c.id.in_(calls[start : start + _BATCH])
        found.update(connection.execute(sa.select(_calls.c.id).where(some, _calls.c.observed == 1)).scalars())
    return frozenset(found)


# Drift and breaches


def read_drift(connection: sa.Connection, server: str | None, tool: str | None) -> list[DriftEvent]:
    query = _select(drift, server, tool).order_by(sa.desc("at"), "server", "tool", "path", "what", "now")
    return [DriftEvent(**row) for row in connection.execute(query).mappings()]


def add_drift(connection: sa.Connection, events: Sequence[DriftEvent]) -> None:
    upsert(connection, drift, [asdict(event) for event in events], replace=False)


def read_breaches(connection: sa.Connection) -> list[Breach]:
    rows = connection.execute(sa.select(breaches).order_by("first_at")).mappings()
    return [Breach(**row) for row in rows]


def add_breaches(connection: sa.Connection, new: Sequence[Breach]) -> None:
    """Write breaches, each merged with the stored one."""
    stored = {_breach_key(one): one for one in read_breaches(connection)}
    upsert(connection, breaches, [asdict(_merged(stored.get(_breach_key(one)), one)) for one in new])


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
