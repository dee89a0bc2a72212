"""Queries for what was learned: shapes, watermarks, drift, breaches, and the installation's own values."""

from __future__ import annotations

import json
import logging
import secrets
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from halflap.core.errors import ShapeBrokenError, ShapeTooNewError, StoreAheadError, StoreTooNewError
from halflap.learn import Learned
from halflap.store.records import LIVE, Breach, DriftEvent, StoredShape, ToolKey
from halflap.store.tables import breaches, counters, drift, installation, learned, watermarks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from halflap.store.records import WatermarkChange

__all__ = [
    "already_observed",
    "breach_rows",
    "changed_watermarks",
    "check_watermarks",
    "counter_rows",
    "forget",
    "has_values",
    "mark_observed",
    "merged_rows",
    "note_values",
    "random_value",
    "read_breaches",
    "read_counters",
    "read_drift",
    "read_shapes",
    "read_value",
    "read_watermarks",
    "rows_resting_on_more",
    "rows_without_values",
]

logger = logging.getLogger(__name__)

_calls = sa.table("calls", sa.column("id"), sa.column("observed"))
_MARK_OBSERVED = sa.update(_calls).where(_calls.c.id == sa.bindparam("call")).values(observed=1)
_BATCH = 500
_VALUES = "values"

_Row = dict[str, Any]


def merged_rows(connection: sa.Connection, origin: str, shapes: Mapping[ToolKey, Learned]) -> list[_Row]:
    """Return the rows of an origin with new shapes merged in."""
    rows = []
    for key, new in shapes.items():
        stored = _stored(connection, origin, key)
        rows.append(_row(origin, key, new if stored is None else stored.merge(new)))
    return rows


def rows_resting_on_more(
    connection: sa.Connection, origin: str, shapes: Mapping[ToolKey, Learned]
) -> list[_Row]:
    """Return the new rows that rest on at least as many results as the stored ones.

    An origin's knowledge only grows, so of two states the one with more results contains the other.
    """
    rows = []
    for key, new in shapes.items():
        stored = _stored(connection, origin, key)
        if stored is None or new.observations >= stored.observations:
            rows.append(_row(origin, key, new))
    return rows


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


def _row(origin: str, key: ToolKey, known: Learned) -> _Row:
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
    connection: sa.Connection, origin: str | None, server: str | None, tool: str | None
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
    return gone


# Values: a flag says whether any are stored, so that nobody has to read all shapes to find out.


def note_values(connection: sa.Connection, shapes: Iterable[Learned]) -> None:
    if any(one.has_values for one in shapes) and not has_values(connection):
        connection.execute(sa.insert(installation).values(name=_VALUES, value="kept"))


def has_values(connection: sa.Connection) -> bool:
    return read_value(connection, _VALUES) is not None


def rows_without_values(connection: sa.Connection) -> list[_Row]:
    """Return the rows that have values, without them. Rows that cannot be read stay as they are."""
    connection.execute(sa.delete(installation).where(installation.c.name == _VALUES))
    return [
        _row(row.origin, row.key, row.learned.without_values())
        for row in read_shapes(connection)
        if row.learned.has_values
    ]


# Watermarks and observed calls


def read_watermarks(connection: sa.Connection) -> dict[str, str]:
    origins = connection.execute(sa.select(learned.c.origin).distinct()).scalars()
    marked = {row.origin: row.watermark for row in connection.execute(sa.select(watermarks))}
    return {**dict.fromkeys(origins, ""), **marked}


def changed_watermarks(connection: sa.Connection, change: Callable[[str, str], str | None]) -> list[_Row]:
    """Return the watermarks that `change` makes different, and delete those for which it returns None."""
    rows = []
    for row in connection.execute(sa.select(watermarks)).all():
        text = change(row.origin, row.watermark)
        if text is None:
            connection.execute(sa.delete(watermarks).where(watermarks.c.origin == row.origin))
        elif text != row.watermark:
            rows.append({"origin": row.origin, "watermark": text})
    return rows


def check_watermarks(
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


def already_observed(connection: sa.Connection, calls: Sequence[str]) -> frozenset[str]:
    """Return those of the calls that something was learned from before."""
    found: set[str] = set()
    for start in range(0, len(calls), _BATCH):
        some = _calls.c.id.in_(calls[start : start + _BATCH])
        found.update(connection.execute(sa.select(_calls.c.id).where(some, _calls.c.observed == 1)).scalars())
    return frozenset(found)


def mark_observed(connection: sa.Connection, calls: Sequence[str]) -> None:
    if calls:
        connection.execute(_MARK_OBSERVED, [{"call": call} for call in calls])


# Drift and breaches


def read_drift(connection: sa.Connection, server: str | None, tool: str | None) -> list[DriftEvent]:
    query = _select(drift, server, tool).order_by(sa.desc("at"), "server", "tool", "path", "what", "now")
    return [DriftEvent(**row) for row in connection.execute(query).mappings()]


def read_breaches(connection: sa.Connection) -> list[Breach]:
    rows = connection.execute(sa.select(breaches).order_by("first_at")).mappings()
    return [Breach(**row) for row in rows]


def breach_rows(connection: sa.Connection, new: Sequence[Breach]) -> list[_Row]:
    """Return the rows of breaches, each merged with the stored one."""
    stored = {_breach_key(one): one for one in read_breaches(connection)}
    return [asdict(_merged(stored.get(_breach_key(one)), one)) for one in new]


def _breach_key(breach: Breach) -> tuple[str, ...]:
    return breach.server, breach.tool, breach.definition_hash, breach.path


def _merged(stored: Breach | None, new: Breach) -> Breach:
    if stored is None:
        return new
    return replace(
        new,
        first_at=min(stored.first_at, new.first_at),
        last_at=max(stored.last_at, new.last_at),
        times=stored.times + new.times,
        origin=LIVE if LIVE in {stored.origin, new.origin} else new.origin,
    )


# The installation's own values, and counters


def read_value(connection: sa.Connection, name: str) -> str | None:
    found = connection.scalar(sa.select(installation.c.value).where(installation.c.name == name))
    return None if found is None else str(found)


def random_value(connection: sa.Connection, name: str, size: int) -> str:
    """Return a random value that is generated once, in hexadecimal. The caller holds the lock."""
    stored = read_value(connection, name)
    if stored is not None:
        return stored
    made = secrets.token_hex(size)
    connection.execute(sa.insert(installation).values(name=name, value=made))
    return made


def read_counters(connection: sa.Connection) -> dict[str, float]:
    return {row.name: row.value for row in connection.execute(sa.select(counters).order_by("name"))}


def counter_rows(connection: sa.Connection, added: Mapping[str, float]) -> list[_Row]:
    stored = read_counters(connection)
    return [{"name": name, "value": stored.get(name, 0.0) + value} for name, value in added.items()]
