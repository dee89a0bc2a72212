"""SQL that both databases understand: transactions, and rows made of records."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import Any

Row = dict[str, Any]

KEYS: Mapping[str, tuple[str, ...]] = {
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
_BATCH = 500
"""Values in one `IN (…)`."""
_PARAMETER = re.compile(r":(\w+)")
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED = re.compile(r"\\(\\|u[0-9a-f]{4})")
_JSON_COLUMNS = frozenset({"definition", "accepted"})
"""ASCII with JSON's own escapes, stored as it is."""


class Transaction:
    r"""Runs statements with parameters written as `:name`.

    Text may contain what databases refuse, NUL and lone surrogates: it is stored as `\uXXXX`.
    """

    def __init__(self, connection: Any, *, is_sqlite: bool) -> None:
        self._connection = connection
        self._is_sqlite = is_sqlite

    def run(self, statement: str, /, **parameters: Any) -> int:
        """Return how many rows were changed."""
        changed: int = self._execute(statement, parameters).rowcount
        return max(0, changed)

    def run_many(self, statement: str, rows: Iterable[Row]) -> None:
        encoded = [_encode_row(row) for row in rows]
        self._connection.cursor().executemany(self._dialect(statement), encoded)

    def select(self, query: str, /, **parameters: Any) -> list[Row]:
        cursor = self._execute(query, parameters)
        names = [column[0] for column in cursor.description]
        return [
            {name: _decode(name, value) for name, value in zip(names, row, strict=True)} for row in cursor
        ]

    def select_in(self, query: str, values: Sequence[str]) -> list[Row]:
        """Run a query that ends in `IN`, with any number of values."""
        found: list[Row] = []
        for start in range(0, len(values), _BATCH):
            batch = {f"v{number}": value for number, value in enumerate(values[start : start + _BATCH])}
            found += self.select(f"{query} ({', '.join(f':{name}' for name in batch)})", **batch)
        return found

    def scalar(self, query: str, /, **parameters: Any) -> Any:
        """Return the first column of the first row, or None if there is no row."""
        return next((value for row in self.select(query, **parameters) for value in row.values()), None)

    def _execute(self, statement: str, parameters: Mapping[str, Any]) -> Any:
        return self._connection.execute(self._dialect(statement), _encode_row(parameters))

    def _dialect(self, statement: str) -> str:
        return statement if self._is_sqlite else _for_postgresql(statement)


@cache
def _for_postgresql(statement: str) -> str:
    return _PARAMETER.sub(r"%(\1)s", statement)


def _encode_row(row: Mapping[str, Any]) -> Row:
    return {name: _encode(name, value) for name, value in row.items()}


def _encode(name: str, value: Any) -> Any:
    if isinstance(value, bool):
        return int(value)
    if not isinstance(value, str) or name in _JSON_COLUMNS:
        return value
    # Not with one regular expression, which would block all threads while it reads megabytes.
    escaped = value.replace("\\", "\\\\").replace("\0", "\\u0000")
    try:
        escaped.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", escaped)
    return escaped


def _decode(name: str, value: Any) -> Any:
    if not isinstance(value, str) or "\\" not in value or name in _JSON_COLUMNS:
        return value
    return _ESCAPED.sub(lambda match: "\\" if match[1] == "\\" else chr(int(match[1][1:], 16)), value)


def columns(record: type, *, without: Sequence[str] = ()) -> str:
    """Return the columns of a record's table for a query; those to leave out are read as None."""
    names = [field.name for field in fields(record)]
    return ", ".join(f"NULL AS {name}" if name in without else name for name in names)


def matching(**values: Any) -> str:
    """Return further conditions for `WHERE TRUE`; a column whose value is None is not compared."""
    return "".join(f" AND {name} = :{name}" for name, value in values.items() if value is not None)


def row_of(record: Any) -> Row:
    # Not `asdict`, which would copy the definitions of tools.
    return {field.name: getattr(record, field.name) for field in fields(record)}


def upsert(
    transaction: Transaction, table: str, rows: Sequence[Row], *, replace: bool = True, unless: str = ""
) -> None:
    """Insert rows. A row with the same key is replaced, unless `replace` is false or the condition `unless` holds."""
    if rows:
        transaction.run_many(_upsert(table, tuple(rows[0]), replace=replace, unless=unless), rows)


@cache
def _upsert(table: str, names: tuple[str, ...], *, replace: bool, unless: str) -> str:
    key = KEYS[table]
    changed = ", ".join(f"{name} = excluded.{name}" for name in names if name not in key)
    values = ", ".join(f":{name}" for name in names)
    insert = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({values}) ON CONFLICT ({', '.join(key)})"
    condition = f" WHERE NOT ({unless})" if unless else ""
    return f"{insert} DO UPDATE SET {changed}{condition}" if replace else f"{insert} DO NOTHING"
