"""What was learned, in SQL: read, merged and written; the secret that goes with it; what drifted."""

from __future__ import annotations

import json
import logging
import secrets
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from halflap.core.errors import ShapeBrokenError, ShapeTooNewError, StoreAheadError, StoreTooNewError
from halflap.learn import Learned
from halflap.store.base import DriftEvent, StoredShape, ToolKey
from halflap.store.tables import drift, installation, learned, watermarks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from halflap.store.base import Advance

__all__ = [
    "drift_of",
    "expect",
    "forget",
    "has_values",
    "kept",
    "kept_value",
    "mark_observed",
    "merged_rows",
    "newer_rows",
    "note_values",
    "remark",
    "shapes_of",
    "taken",
    "unvalued_rows",
    "watermarks_of",
]

logger = logging.getLogger(__name__)

_calls = sa.table("calls", sa.column("id"), sa.column("observed"))
_AT_ONCE = 500
_MARK = sa.update(_calls).where(_calls.c.id == sa.bindparam("one")).values(observed=1)

_Row = dict[str, Any]
_VALUES = "values"


def merged_rows(connection: sa.Connection, origin: str, shapes: Mapping[ToolKey, Learned]) -> list[_Row]:
    """Give the rows of an origin with something added to them."""
    rows = []
    for key, added in shapes.items():
        before = _known(connection, origin, key)
        rows.append(_row(origin, key, added if before is None else before.merge(added)))
    return rows


def newer_rows(connection: sa.Connection, origin: str, shapes: Mapping[ToolKey, Learned]) -> list[_Row]:
    """Give the rows of an origin that know more than those that are here.

    What an origin knows only grows, so of two states of it the one that rests on more results contains the other.
    """
    rows = []
    for key, came in shapes.items():
        before = _known(connection, origin, key)
        if before is None or came.observations >= before.observations:
            rows.append(_row(origin, key, came))
    return rows


def shapes_of(connection: sa.Connection, server: str | None, tool: str | None) -> list[StoredShape]:
    """Give what is known, without what cannot be read."""
    query = sa.select(learned).order_by("server", "tool", "definition_hash", "origin")
    query = query if server is None else query.where(learned.c.server == server)
    query = query if tool is None else query.where(learned.c.tool == tool)
    found = []
    for row in connection.execute(query).mappings():
        key = ToolKey(row["server"], row["tool"], row["definition_hash"])
        try:
            read = Learned.from_json(json.loads(row["shapes"]))
        except (ShapeTooNewError, ShapeBrokenError, ValueError, RecursionError) as error:
            logger.warning("What %s learned of %s.%s is left out: %s", row["origin"], *key[:2], error)
            continue
        found.append(StoredShape(*key, row["origin"], read))
    return found


def watermarks_of(connection: sa.Connection) -> dict[str, str]:
    """Give every origin with its watermark."""
    names = connection.execute(sa.select(learned.c.origin).distinct()).scalars()
    marked = {row.origin: row.watermark for row in connection.execute(sa.select(watermarks))}
    return {**dict.fromkeys(names, ""), **marked}


def forget(
    connection: sa.Connection, origin: str | None, server: str | None, tool: str | None
) -> list[tuple[str, ToolKey]]:
    """Take out what was learned, and what drifted of tools of which nothing is known any more."""
    named = sa.select(learned.c.origin, learned.c.server, learned.c.tool, learned.c.definition_hash)
    rows = [(row[0], ToolKey(*row[1:])) for row in connection.execute(named)]
    gone = [
        (one, key)
        for one, key in rows
        if (origin is None or one == origin or one.startswith(f"{origin}:"))
        and server in {None, key.server}
        and tool in {None, key.tool}
    ]
    for one, key in gone:
        of_key = [learned.c[name] == value for name, value in key._asdict().items()]
        connection.execute(sa.delete(learned).where(learned.c.origin == one, *of_key))
    left = {key[:2] for row in rows if row not in gone for key in [row[1]]}
    for name, own in {key[:2] for _, key in gone} - left:
        connection.execute(sa.delete(drift).where(drift.c.server == name, drift.c.tool == own))
    return gone


def remark(connection: sa.Connection, change: Callable[[str, str], str | None]) -> list[_Row]:
    """Give the watermarks that are others now, and take out those that go."""
    rows = []
    for row in connection.execute(sa.select(watermarks)).all():
        text = change(row.origin, row.watermark)
        if text is None:
            connection.execute(sa.delete(watermarks).where(watermarks.c.origin == row.origin))
        elif text != row.watermark:
            rows.append({"origin": row.origin, "watermark": text})
    return rows


def note_values(connection: sa.Connection, shapes: Iterable[Learned]) -> None:
    """Note that there are values in the store, if there are, so that nobody has to look for them."""
    if any(one.has_values for one in shapes) and not has_values(connection):
        connection.execute(sa.insert(installation).values(name=_VALUES, value="kept"))


def unvalued_rows(connection: sa.Connection) -> list[_Row]:
    """Give the rows that have values, without them; what cannot be read stays as it is."""
    connection.execute(sa.delete(installation).where(installation.c.name == _VALUES))
    return [
        _row(row.origin, row.key, row.learned.without_values())
        for row in shapes_of(connection, None, None)
        if row.learned.has_values
    ]


def has_values(connection: sa.Connection) -> bool:
    """Say whether there are values in the store that are kept with `learning.values` alone."""
    return (
        connection.scalar(sa.select(installation.c.value).where(installation.c.name == _VALUES)) is not None
    )


def expect(
    connection: sa.Connection,
    sources: Mapping[str, Advance],
    look: Callable[[Mapping[str, str]], None] | None = None,
) -> None:
    """See to it that what is to be read on was not read on by somebody else."""
    known = watermarks_of(connection) if sources or look is not None else {}
    if any(known.get(source) != advance.before for source, advance in sources.items()):
        raise StoreAheadError(
            "What was read has been counted meanwhile, by somebody else. Nothing of it was added; run it again."
        )
    if look is not None:
        look(known)


def taken(connection: sa.Connection, calls: Sequence[str]) -> frozenset[str]:
    """Give those of the calls that something was learned from already; whoever asks holds the lock."""
    found: set[str] = set()
    for start in range(0, len(calls), _AT_ONCE):
        some = _calls.c.id.in_(calls[start : start + _AT_ONCE])
        found.update(connection.execute(sa.select(_calls.c.id).where(some, _calls.c.observed == 1)).scalars())
    return frozenset(found)


def mark_observed(connection: sa.Connection, calls: Sequence[str]) -> None:
    """Note that nothing is to be learned from these calls any more."""
    if calls:
        connection.execute(_MARK, [{"one": call} for call in calls])


def kept_value(connection: sa.Connection, name: str, size: int) -> str:
    """Give a random value that is made once, in hexadecimal; whoever asks holds the lock."""
    known = kept(connection, name)
    if known is not None:
        return known
    made = secrets.token_hex(size)
    connection.execute(sa.insert(installation).values(name=name, value=made))
    return made


def kept(connection: sa.Connection, name: str) -> str | None:
    """Give what is kept under a name of this installation's."""
    found = connection.scalar(sa.select(installation.c.value).where(installation.c.name == name))
    return None if found is None else str(found)


def drift_of(connection: sa.Connection, server: str | None, tool: str | None) -> list[DriftEvent]:
    """Give what drifted, the newest first."""
    query = sa.select(drift).order_by(sa.desc("at"), "server", "tool", "path", "what", "now")
    query = query if server is None else query.where(drift.c.server == server)
    query = query if tool is None else query.where(drift.c.tool == tool)
    return [DriftEvent(**row) for row in connection.execute(query).mappings()]


def _known(connection: sa.Connection, origin: str, key: ToolKey) -> Learned | None:
    text = connection.scalar(
        sa.select(learned.c.shapes).where(
            learned.c.origin == origin,
            learned.c.server == key.server,
            learned.c.tool == key.tool,
            learned.c.definition_hash == key.definition_hash,
        )
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
        logger.warning("What %s learned of %s.%s is damaged, and begun anew: %s", origin, *key[:2], error)
        return None


def _row(origin: str, key: ToolKey, known: Learned) -> _Row:
    text = json.dumps(known.to_json(), separators=(",", ":"), ensure_ascii=False)
    return {"origin": origin, **key._asdict(), "shapes": text}
