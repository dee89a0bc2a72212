"""The store's numbered versions. A migration, once released, is never changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["MIGRATIONS", "Migration"]


@dataclass(frozen=True, slots=True)
class Migration:
    """Takes a store from version `number - 1` to `number`, in SQL that all our databases speak."""

    number: int
    about: str
    statements: Sequence[str]


MIGRATIONS: Sequence[Migration] = (
    Migration(
        1,
        "the catalogue and the calls",
        (
            """
            CREATE TABLE servers (
                name TEXT PRIMARY KEY,
                fingerprint TEXT NOT NULL,
                listed_at DOUBLE PRECISION NOT NULL,
                ttl_seconds DOUBLE PRECISION,
                protocol_version TEXT,
                server_info TEXT,
                instructions TEXT
            )
            """,
            """
            CREATE TABLE tools (
                server TEXT NOT NULL,
                original_name TEXT NOT NULL,
                name TEXT NOT NULL UNIQUE,
                definition TEXT NOT NULL,
                hash TEXT NOT NULL,
                accepted TEXT NOT NULL,
                accepted_hash TEXT NOT NULL,
                first_seen DOUBLE PRECISION NOT NULL,
                last_seen DOUBLE PRECISION NOT NULL,
                position INTEGER NOT NULL,
                removed INTEGER NOT NULL,
                PRIMARY KEY (server, original_name)
            )
            """,
            """
            CREATE TABLE calls (
                id TEXT PRIMARY KEY,
                run TEXT,
                parent TEXT,
                principal TEXT NOT NULL,
                server TEXT NOT NULL,
                tool TEXT NOT NULL,
                definition_hash TEXT NOT NULL,
                started_at DOUBLE PRECISION NOT NULL,
                duration_ms DOUBLE PRECISION NOT NULL,
                outcome TEXT NOT NULL,
                argument_bytes INTEGER NOT NULL,
                result_bytes INTEGER NOT NULL,
                breach TEXT
            )
            """,
            "CREATE INDEX calls_by_time ON calls (started_at)",
            "CREATE INDEX calls_by_tool ON calls (server, tool, started_at)",
        ),
    ),
)
