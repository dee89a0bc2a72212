"""How the store is, asked in SQL: how much is in it, and how large that is."""

from __future__ import annotations

import time
from typing import Any

import sqlalchemy as sa

from halflap.store.facts import Condition
from halflap.store.tables import calls, learned, runs

__all__ = ["condition_of", "looked_rows"]

_TABLES = (
    "breaches", "calls", "drift", "edges", "installation", "learned", "lineage", "meters", "runs", "servers", "tools",
    "watermarks",
)  # fmt: skip


def looked_rows() -> list[dict[str, Any]]:
    """Give what is written to see whether anything can be: when that was."""
    return [{"name": "looked_at", "value": time.time()}]


def condition_of(connection: sa.Connection, version: int, size: int | None) -> Condition:
    """Count what there is; `size` is what its file takes, where it is one."""
    tools = sa.select(learned.c.server, learned.c.tool, learned.c.definition_hash).distinct().subquery()
    began = [connection.scalar(sa.select(sa.func.min(table.c.started_at))) for table in (runs, calls)]
    return Condition(
        version=version,
        size_bytes=_size(connection) if size is None else size,
        runs=_count(connection, runs),
        calls=_count(connection, calls),
        learned=_count(connection, tools),
        oldest=min((float(one) for one in began if one is not None), default=None),
    )


def _count(connection: sa.Connection, table: Any) -> int:
    return int(connection.scalar(sa.select(sa.func.count()).select_from(table)) or 0)


def _size(connection: sa.Connection) -> int:
    """Say how large a store is that is no file."""
    if connection.dialect.name == "sqlite":
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar() or 0
        return int(pages * (connection.exec_driver_sql("PRAGMA page_size").scalar() or 0))
    # Not the whole database: others may be in it, too.
    sizes = (
        sa.func.coalesce(sa.func.pg_total_relation_size(sa.func.to_regclass(name)), 0) for name in _TABLES
    )
    return sum(int(connection.scalar(sa.select(size)) or 0) for size in sizes)
