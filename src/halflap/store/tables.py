"""The tables of the store. The columns are the fields of the records; any text can be stored."""

from __future__ import annotations

import json
import re
import secrets
from dataclasses import fields
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from halflap.store.records import Breach, CallRecord, DriftEvent, RunRecord, StoredServer, StoredTool

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Row = dict[str, Any]

metadata = sa.MetaData()
versions = sa.Table(
    "halflap_version",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("at", sa.Double, nullable=False),
)


class _AnyText(sa.types.TypeDecorator[str]):
    r"""Text that may contain what databases refuse, NUL and lone surrogates: stored as `\uXXXX`."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> str | None:
        del dialect
        if value is None:
            return None
        # Not with one regular expression, which would block all threads while it reads megabytes.
        escaped = value.replace("\\", "\\\\").replace("\0", "\\u0000")
        try:
            escaped.encode()
        except UnicodeEncodeError:
            return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", escaped)
        return escaped

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> str | None:
        del dialect
        if value is None or "\\" not in value:
            return value
        return _ESCAPED.sub(_unescape, value)


_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED = re.compile(r"\\(\\|u[0-9a-f]{4})")


def _unescape(match: re.Match[str]) -> str:
    return "\\" if match[1] == "\\" else chr(int(match[1][1:], 16))


def _table(name: str, values: type, *more: str) -> Any:
    """Describe a table for queries; the migrations create it."""
    return sa.table(
        name,
        *(
            sa.column(field.name, _AnyText if str(field.type).startswith("str") else None)
            for field in fields(values)
        ),
        *(sa.column(column) for column in more),
    )


servers = _table("servers", StoredServer)
tools = _table("tools", StoredTool)
calls = _table("calls", CallRecord, "kept_bytes")
runs = _table("runs", RunRecord, "kept_bytes")
breaches = _table("breaches", Breach)
drift = _table("drift", DriftEvent)


def _texts(name: str, *columns: str) -> Any:
    return sa.table(name, *(sa.column(column, _AnyText) for column in columns))


learned = _texts("learned", "origin", "server", "tool", "definition_hash", "shapes")
watermarks = _texts("watermarks", "origin", "watermark")
installation = _texts("installation", "name", "value")
_ENDS = ("source_server", "source_tool", "source_hash", "target_server", "target_tool", "target_hash")
lineage = sa.table(
    "lineage",
    *(sa.column(name, _AnyText) for name in ("id", "origin", *_ENDS, "source_path", "target_path")),
    sa.column("times"),
    sa.column("runs"),
)
counters = sa.table("meters", sa.column("name"), sa.column("value"))
KEYS = {
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
"""The primary key of each table."""


def upsert(connection: sa.Connection, table: Any, rows: Sequence[Row], *, replace: bool = True) -> None:
    """Insert rows; those whose key is there already are replaced, or left as they are."""
    if rows:
        connection.execute(_upsert(connection.dialect.name, table, replace=replace), list(rows))


# Cached: building it takes as long as executing it.
@cache
def _upsert(dialect: str, table: Any, *, replace: bool) -> Any:
    insert: Any = import_module(f"sqlalchemy.dialects.{dialect}").insert(table)
    key = KEYS[table.name]
    if not replace:
        return insert.on_conflict_do_nothing(index_elements=key)
    changed = {
        column.name: insert.excluded[column.name] for column in table.columns if column.name not in key
    }
    return insert.on_conflict_do_update(index_elements=key, set_=changed)


def tool_row(tool: StoredTool) -> Row:
    return {
        # Not `asdict`, which would copy the definitions.
        **_row(tool),
        "definition": json.dumps(tool.definition),
        "accepted": json.dumps(tool.accepted),
        "removed": int(tool.removed),
    }


def read_tool(row: Row) -> StoredTool:
    definition = json.loads(row["definition"])
    same = row["hash"] == row["accepted_hash"]
    accepted = definition if same else json.loads(row["accepted"])
    return StoredTool(
        **{**row, "definition": definition, "accepted": accepted, "removed": bool(row["removed"])}
    )


def call_row(record: CallRecord) -> Row:
    return {
        **_row(record),
        "arguments_cut": int(record.arguments_cut),
        "result_cut": int(record.result_cut),
        "kept_bytes": _kept_bytes(record.arguments, record.result, record.error),
    }


def read_call(row: Row) -> CallRecord:
    return CallRecord(
        **{**row, "arguments_cut": bool(row["arguments_cut"]), "result_cut": bool(row["result_cut"])}
    )


def run_row(record: RunRecord) -> Row:
    return {**_row(record), "kept_bytes": _kept_bytes(record.code, record.output, record.error)}


def _row(value: Any) -> Row:
    return {field.name: getattr(value, field.name) for field in fields(value)}


_ROW_BYTES = 500
"""About the size of a row without its texts."""


def _kept_bytes(*texts: str | None) -> int:
    """Estimate the size of a row, stored with it so that retention need not read the texts."""
    return _ROW_BYTES + sum(len(text.encode(errors="surrogatepass")) for text in texts if text is not None)


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


def add_counters(connection: sa.Connection, added: Mapping[str, float]) -> None:
    stored = read_counters(connection)
    rows = [{"name": name, "value": stored.get(name, 0.0) + value} for name, value in added.items()]
    upsert(connection, counters, rows)
