"""What was learned, in SQL: read, merged and written; the secret that goes with it; what drifted."""

from __future__ import annotations

import json
import logging
import secrets
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from halflap.errors import ShapeBrokenError, ShapeTooNewError, StoreAheadError, StoreTooNewError
from halflap.learn import Learned
from halflap.store.base import DriftEvent, StoredShape, ToolKey
from halflap.store.tables import drift, installation, learned, watermarks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halflap.store.base import Advance

__all__ = [
    "drift_of",
    "expect",
    "kept",
    "kept_value",
    "mark_observed",
    "merged_rows",
    "newer_rows",
    "shapes_of",
    "watermarks_of",
]

logger = logging.getLogger(__name__)

_calls = sa.table("calls", sa.column("id"), sa.column("observed"))
_MARK = sa.update(_calls).where(_calls.c.id == sa.bindparam("one")).values(observed=1)

_Row = dict[str, Any]


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


def expect(connection: sa.Connection, sources: Mapping[str, Advance]) -> None:
    """See to it that what is to be read on was not read on by somebody else."""
    known = watermarks_of(connection) if sources else {}
    if any(known.get(source) != advance.before for source, advance in sources.items()):
        raise StoreAheadError(
            "What was read has been counted meanwhile, by somebody else. Nothing of it was added; run it again."
        )


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
