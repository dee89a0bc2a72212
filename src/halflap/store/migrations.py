"""The numbered versions of the tables. A released migration never changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Migration(NamedTuple):
    """Takes a store to a version from the one before, in SQL that all our databases speak."""

    number: int
    about: str
    statements: Sequence[str]


# Versions 1 to 9 existed only while the first release was written.
MIGRATIONS: Sequence[Migration] = (
    Migration(
        10,
        "the first version",
        (
            """
            CREATE TABLE servers (
                name TEXT PRIMARY KEY,
                fingerprint TEXT NOT NULL,
                listed_at DOUBLE PRECISION NOT NULL,
                ttl_seconds DOUBLE PRECISION,
                protocol_version TEXT,
                server_info TEXT,
                instructions TEXT,
                features TEXT
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
                duration_ms DOUBLE PRECISION,
                outcome TEXT NOT NULL,
                argument_bytes BIGINT NOT NULL,
                result_bytes BIGINT NOT NULL,
                arguments_cut INTEGER NOT NULL,
                result_cut INTEGER NOT NULL,
                kept_bytes BIGINT NOT NULL,
                breach TEXT,
                error TEXT,
                arguments TEXT,
                result TEXT,
                observed INTEGER NOT NULL DEFAULT 0
            )
            """,
            """
            CREATE TABLE runs (
                id TEXT PRIMARY KEY,
                principal TEXT NOT NULL,
                kind TEXT NOT NULL,
                name TEXT,
                code_hash TEXT NOT NULL,
                started_at DOUBLE PRECISION NOT NULL,
                duration_ms DOUBLE PRECISION,
                outcome TEXT NOT NULL,
                output_bytes BIGINT NOT NULL,
                calls BIGINT NOT NULL,
                cpu_ms DOUBLE PRECISION,
                memory_bytes BIGINT,
                sandbox TEXT,
                kept_bytes BIGINT NOT NULL,
                error TEXT,
                code TEXT,
                output TEXT,
                process TEXT
            )
            """,
            """
            CREATE TABLE breaches (
                server TEXT NOT NULL,
                tool TEXT NOT NULL,
                definition_hash TEXT NOT NULL,
                path TEXT NOT NULL,
                expected TEXT NOT NULL,
                first_at DOUBLE PRECISION NOT NULL,
                last_at DOUBLE PRECISION NOT NULL,
                times BIGINT NOT NULL,
                origin TEXT NOT NULL DEFAULT 'live',
                PRIMARY KEY (server, tool, definition_hash, path)
            )
            """,
            """
            CREATE TABLE learned (
                origin TEXT NOT NULL,
                server TEXT NOT NULL,
                tool TEXT NOT NULL,
                definition_hash TEXT NOT NULL,
                shapes TEXT NOT NULL,
                PRIMARY KEY (server, tool, definition_hash, origin)
            )
            """,
            """
            CREATE TABLE watermarks (
                origin TEXT PRIMARY KEY,
                watermark TEXT NOT NULL
            )
            """,
            """
            CREATE TABLE drift (
                server TEXT NOT NULL,
                tool TEXT NOT NULL,
                definition_hash TEXT NOT NULL,
                path TEXT NOT NULL,
                what TEXT NOT NULL,
                before TEXT NOT NULL,
                now TEXT NOT NULL,
                at DOUBLE PRECISION NOT NULL,
                observations BIGINT NOT NULL,
                confidence DOUBLE PRECISION NOT NULL,
                origin TEXT NOT NULL DEFAULT 'live',
                PRIMARY KEY (server, tool, definition_hash, path, what, now)
            )
            """,
            """
            CREATE TABLE lineage (
                id TEXT PRIMARY KEY,
                origin TEXT NOT NULL,
                source_server TEXT NOT NULL,
                source_tool TEXT NOT NULL,
                source_hash TEXT NOT NULL,
                source_path TEXT NOT NULL,
                target_server TEXT NOT NULL,
                target_tool TEXT NOT NULL,
                target_hash TEXT NOT NULL,
                target_path TEXT NOT NULL,
                times BIGINT NOT NULL,
                runs BIGINT NOT NULL
            )
            """,
            """
            CREATE TABLE installation (
                name TEXT PRIMARY KEY,
                value TEXT NOT NULL
            )
            """,
            """
            CREATE TABLE meters (
                name TEXT PRIMARY KEY,
                value DOUBLE PRECISION NOT NULL
            )
            """,
            "CREATE INDEX runs_by_time ON runs (started_at, kept_bytes)",
            "CREATE INDEX runs_by_principal ON runs (principal, started_at)",
            "CREATE INDEX calls_by_time ON calls (started_at, kept_bytes)",
            "CREATE INDEX calls_by_tool ON calls (server, tool, started_at)",
            "CREATE INDEX calls_by_run ON calls (run, started_at)",
            "CREATE INDEX calls_unobserved ON calls (id) WHERE observed = 0",
        ),
    ),
    Migration(11, "the line of a call", ("ALTER TABLE calls ADD COLUMN line INTEGER",)),
)
