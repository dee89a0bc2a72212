"""Rows of the store's tables: made of records, read into records, written."""

from __future__ import annotations

import json
import secrets
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any

from halflap.store.records import CallRecord, RunRecord, StoredTool

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halflap.store.transaction import Row, Transaction

TABLES: Mapping[str, tuple[str, ...]] = {
    "servers": ("name",),
    "tools": ("server", "original_name"),
    "calls": ("id",),
    "runs": ("id",),
    "breaches": ("server", "tool", "definition_hash", "path"),
    "drift": ("server", "tool", "definition_hash", "path", "what", "now"),
    "learned": ("server", "tool", "definition_hash", "origin"),
    "watermarks": ("origin",),
    "lineage": ("id",),
    "installation": ("name",),
    "meters": ("name",),
}
"""Every table with its primary key."""
_ROW_BYTES = 500
"""About the size of a row without its texts."""


def columns(record: type, *, without: Sequence[str] = ()) -> str:
    """Return the columns of a record's table for a query; those to leave out are read as None."""
    names = [field.name for field in fields(record)]
    return ", ".join(f"NULL AS {name}" if name in without else name for name in names)


def matching(**values: Any) -> str:
    """Return further conditions for `WHERE TRUE`; a column whose value is None is not compared."""
    return "".join(f" AND {name} = :{name}" for name, value in values.items() if value is not None)


def upsert(transaction: Transaction, table: str, rows: Sequence[Row], *, replace: bool = True) -> None:
    """Insert rows; those whose key is there already are replaced, or left as they are."""
    if rows:
        transaction.run_many(_upsert(table, tuple(rows[0]), replace=replace), rows)


@cache
def _upsert(table: str, names: tuple[str, ...], *, replace: bool) -> str:
    key = TABLES[table]
    changed = ", ".join(f"{name} = excluded.{name}" for name in names if name not in key)
    values = ", ".join(f":{name}" for name in names)
    insert = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({values}) ON CONFLICT ({', '.join(key)})"
    return f"{insert} DO UPDATE SET {changed}" if replace else f"{insert} DO NOTHING"


def row_of(record: Any) -> Row:
    # Not `asdict`, which would copy the definitions of tools.
    return {field.name: getattr(record, field.name) for field in fields(record)}


def tool_row(tool: StoredTool) -> Row:
    definition, accepted = json.dumps(tool.definition), json.dumps(tool.accepted)
    return {**row_of(tool), "definition": definition, "accepted": accepted}


def read_tool(row: Row) -> StoredTool:
    definition = json.loads(row["definition"])
    is_same = row["hash"] == row["accepted_hash"]
    accepted = definition if is_same else json.loads(row["accepted"])
    return StoredTool(
        **{**row, "definition": definition, "accepted": accepted, "removed": bool(row["removed"])}
    )


def call_row(record: CallRecord) -> Row:
    return {**row_of(record), "kept_bytes": _kept_bytes(record.arguments, record.result, record.error)}


def read_call(row: Row) -> CallRecord:
    return CallRecord(
        **{**row, "arguments_cut": bool(row["arguments_cut"]), "result_cut": bool(row["result_cut"])}
    )


def run_row(record: RunRecord) -> Row:
    return {**row_of(record), "kept_bytes": _kept_bytes(record.code, record.output, record.error)}


def _kept_bytes(*texts: str | None) -> int:
    """Estimate the size of a row, stored with it so that retention need not read the texts."""
    return _ROW_BYTES + sum(len(text.encode(errors="surrogatepass")) for text in texts if text is not None)


# The installation's own values, and counters


def read_value(transaction: Transaction, name: str) -> str | None:
    found = transaction.scalar("SELECT value FROM installation WHERE name = :name", name=name)
    return None if found is None else str(found)


def random_value(transaction: Transaction, name: str, size: int) -> str:
    """Return a random value that is generated once, in hexadecimal. The caller holds the lock."""
    stored = read_value(transaction, name)
    if stored is not None:
        return stored
    value = secrets.token_hex(size)
    upsert(transaction, "installation", [{"name": name, "value": value}])
    return value


def read_counters(transaction: Transaction) -> dict[str, float]:
    rows = transaction.select("SELECT name, value FROM meters ORDER BY name")
    return {row["name"]: row["value"] for row in rows}


def add_counters(transaction: Transaction, added: Mapping[str, float]) -> None:
    stored = read_counters(transaction)
    rows = [{"name": name, "value": stored.get(name, 0.0) + value} for name, value in added.items()]
    upsert(transaction, "meters", rows)
