"""The numbered versions of the tables. A released migration never changes."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from halflap.core.errors import ShapeError
from halflap.core.values import schema_hash
from halflap.learn import Learned

if TYPE_CHECKING:
    from halflap.store.sql import Transaction

__all__ = ["MIGRATIONS", "Migration"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Migration:
    """Takes a store from version `number - 1` to `number`, in SQL that all our databases speak."""

    number: int
    about: str
    statements: Sequence[str]
    change: Callable[[Transaction], None] | None = None
    """What SQL alone cannot do, after the statements."""


def key_by_schemas(transaction: Transaction) -> None:
    """Move what was learned, what drifted and what was broken from the hash of a definition to the hash of its schemas."""
    moved: dict[str, str] = {}
    for tool in transaction.select("SELECT definition, hash, accepted, accepted_hash FROM tools"):
        for text, digest in ((tool["definition"], tool["hash"]), (tool["accepted"], tool["accepted_hash"])):
            try:
                definition = json.loads(text)
                output = definition.get("outputSchema")
                moved[digest] = schema_hash(
                    definition.get("inputSchema"), output if isinstance(output, dict) else None
                )
            except (ValueError, AttributeError, RecursionError):
                logger.warning(
                    "A stored tool definition cannot be read; what was learned of it stays as it is."
                )
    for old, new in moved.items():
        _rename_hash(transaction, old, new)


def _rename_hash(transaction: Transaction, old: str, new: str) -> None:
    update = "UPDATE {} SET definition_hash = :new WHERE definition_hash = :old"
    transaction.run(update.format("drift"), old=old, new=new)
    is_there = """
        SELECT 1 FROM breaches AS same WHERE same.definition_hash = :new AND same.server = breaches.server
        AND same.tool = breaches.tool AND same.path = breaches.path
    """
    transaction.run(f"{update.format('breaches')} AND NOT EXISTS ({is_there})", old=old, new=new)
    of_tool = "origin = :origin AND server = :server AND tool = :tool AND definition_hash"
    for row in transaction.select("SELECT * FROM learned WHERE definition_hash = :old", old=old):
        key = {name: row[name] for name in ("origin", "server", "tool")}
        there = transaction.scalar(f"SELECT shapes FROM learned WHERE {of_tool} = :new", new=new, **key)
        if there is None:
            transaction.run(
                f"UPDATE learned SET definition_hash = :new WHERE {of_tool} = :old", old=old, new=new, **key
            )
            continue
        try:
            both = Learned.from_json(json.loads(there)).merge(Learned.from_json(json.loads(row["shapes"])))
        except (ShapeError, ValueError, RecursionError):
            continue
        shapes = json.dumps(both.to_json())
        transaction.run(
            f"UPDATE learned SET shapes = :shapes WHERE {of_tool} = :new", shapes=shapes, new=new, **key
        )
        transaction.run(f"DELETE FROM learned WHERE {of_tool} = :old", old=old, **key)


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
    Migration(
        2,
        "the runs, and what was passed and returned",
        (
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
                output TEXT
            )
            """,
            "CREATE INDEX runs_by_time ON runs (started_at, kept_bytes)",
            "CREATE INDEX runs_by_principal ON runs (principal, started_at)",
            # SQLite cannot make a column nullable, so the table is rebuilt.
            """
            CREATE TABLE calls_2 (
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
                result TEXT
            )
            """,
            """
            INSERT INTO calls_2 SELECT
                id, run, parent, principal, server, tool, definition_hash, started_at, duration_ms, outcome,
                argument_bytes, result_bytes, 0, 0, 500, breach, NULL, NULL, NULL
            FROM calls
            """,
            "DROP TABLE calls",
            "ALTER TABLE calls_2 RENAME TO calls",
            "CREATE INDEX calls_by_time ON calls (started_at, kept_bytes)",
            "CREATE INDEX calls_by_tool ON calls (server, tool, started_at)",
            "CREATE INDEX calls_by_run ON calls (run, started_at)",
        ),
    ),
    Migration(
        3,
        "declarations that results have broken",
        (
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
                PRIMARY KEY (server, tool, definition_hash, path)
            )
            """,
        ),
    ),
    Migration(
        4,
        "what was learned of the tools",
        (
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
                PRIMARY KEY (server, tool, definition_hash, path, what, now)
            )
            """,
            """
            CREATE TABLE installation (
                name TEXT PRIMARY KEY,
                value TEXT NOT NULL
            )
            """,
            "ALTER TABLE calls ADD COLUMN observed INTEGER NOT NULL DEFAULT 0",
            "CREATE INDEX calls_unobserved ON calls (id) WHERE observed = 0",
        ),
    ),
    Migration(
        5,
        "the origin of drift and of broken declarations",
        (
            "ALTER TABLE drift ADD COLUMN origin TEXT NOT NULL DEFAULT 'live'",
            "ALTER TABLE breaches ADD COLUMN origin TEXT NOT NULL DEFAULT 'live'",
        ),
    ),
    Migration(
        6,
        "where values went, and which tool feeds which",
        (
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
            CREATE TABLE edges (
                id TEXT PRIMARY KEY,
                source_server TEXT NOT NULL,
                source_tool TEXT NOT NULL,
                source_hash TEXT NOT NULL,
                target_server TEXT NOT NULL,
                target_tool TEXT NOT NULL,
                target_hash TEXT NOT NULL,
                coverage TEXT NOT NULL,
                confidence DOUBLE PRECISION NOT NULL,
                kinds TEXT NOT NULL,
                mappings TEXT NOT NULL
            )
            """,
            "CREATE TABLE meters (name TEXT PRIMARY KEY, value DOUBLE PRECISION NOT NULL)",
            "CREATE INDEX edges_by_source ON edges (source_server, source_tool)",
            "CREATE INDEX edges_by_target ON edges (target_server, target_tool)",
        ),
    ),
    Migration(7, "what was learned belongs to a tool's schemas, not to its description", (), key_by_schemas),
    Migration(
        8,
        "edges are computed when they are asked for",
        ("DROP TABLE edges", "DELETE FROM installation WHERE name = 'edges'"),
    ),
    Migration(9, "prompts and resources of servers", ("ALTER TABLE servers ADD COLUMN features TEXT",)),
    Migration(10, "which process makes a run", ("ALTER TABLE runs ADD COLUMN process TEXT",)),
)
