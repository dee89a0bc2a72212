"""The cache of model answers: JSON in one SQLite file, so nothing read from it can run code."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sqlite3
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

logger = logging.getLogger(__name__)

_FILE = "answers.sqlite"
_MAX_ANSWERS = 20_000


class CacheError(Exception):
    """The cache folder cannot be used."""


def answer_key(request: Mapping[str, Any]) -> str:
    def describe(value: Any) -> Any:
        # A pydantic class in a request asks for an answer of its form.
        return value.model_json_schema() if hasattr(value, "model_json_schema") else repr(value)

    text = json.dumps(request, sort_keys=True, default=describe)
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Answers:
    """Answers by key. One that cannot be read or written is logged, and the model is asked instead."""

    def __init__(self, folder: str) -> None:
        self._path = Path(folder) / _FILE
        self._database: sqlite3.Connection | None = None

    def open(self) -> None:
        """Open the file, or raise before the model is asked; delete all but the newest answers."""
        if self._database is not None:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            # Only the user may read it, and a link does not lead elsewhere.
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
            database = sqlite3.connect(self._path, isolation_level=None)
            database.execute(
                "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, outputs TEXT NOT NULL)"
            )
            oldest = "(SELECT max(rowid) FROM answers) - ?"
            database.execute(f"DELETE FROM answers WHERE rowid <= {oldest}", (_MAX_ANSWERS,))  # noqa: S608 -- constant
        except (OSError, sqlite3.Error) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise CacheError(f"model answers cannot be cached in {self._path}: {reason}.") from None
        self._database = database

    def find(self, key: str) -> Any:
        rows = self._execute("SELECT outputs FROM answers WHERE key = ?", key)
        with contextlib.suppress(ValueError, RecursionError):
            return json.loads(rows[0][0]) if rows else None

    def keep(self, answers: Mapping[str, Any]) -> None:
        for key, outputs in answers.items():
            with contextlib.suppress(TypeError):
                self._execute("INSERT OR REPLACE INTO answers VALUES (?, ?)", key, json.dumps(outputs))

    def _execute(self, statement: str, *values: str) -> list[Any]:
        assert self._database is not None
        try:
            return self._database.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            logger.warning("CACHE_ERROR: %s cannot be used: %s.", self._path, error)
            return []
