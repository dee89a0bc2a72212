"""Cache what the model answered, as JSON in one SQLite file: nothing that is read from it can run."""

from __future__ import annotations

import json
import logging
import os
import sqlite3
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Answers", "CacheError", "answer_key"]

logger = logging.getLogger(__name__)

_FILE = "answers.sqlite"
_MAX_ANSWERS = 20_000
_MAX_LENGTH = 4_000_000
_PRUNE_EVERY = 500
_BUSY_SECONDS = 5.0


class CacheError(Exception):
    """The cache folder cannot be used."""


def answer_key(namespace: Mapping[str, Any], request: Mapping[str, Any]) -> str | None:
    """Return a hash of a request; None if it cannot be cached."""
    try:
        # A pydantic class in a request asks for an answer of its form.
        text = json.dumps(
            [namespace, request], sort_keys=True, allow_nan=False, default=lambda one: one.model_json_schema()
        )
    except (TypeError, ValueError, AttributeError):
        return None
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Answers:
    """Answers by key. What cannot be read or written is logged, and the model is asked instead."""

    def __init__(self, folder: str) -> None:
        self._path = Path(folder) / _FILE
        self._database: sqlite3.Connection | None = None
        self._written = 0

    def check(self) -> None:
        """Open the file, or raise if that is impossible, before the model is asked."""
        if self._database is not None:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            try:
                self._database = self._open()
            except sqlite3.DatabaseError as error:
                if isinstance(error, sqlite3.OperationalError):
                    raise
                logger.warning("CACHE_ERROR: %s is removed: %s.", self._path, error)
                self._path.unlink()
                self._database = self._open()
        except (OSError, sqlite3.Error) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise CacheError(f"model answers cannot be cached in {self._path.parent}: {reason}.") from None

    def _open(self) -> sqlite3.Connection:
        # Only the user may read it, and a link does not lead elsewhere.
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
        database = sqlite3.connect(self._path, timeout=_BUSY_SECONDS, isolation_level=None)
        database.execute("CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, outputs TEXT NOT NULL)")
        return database

    def find(self, key: str) -> list[Any] | None:
        rows = self._execute(
            "SELECT outputs FROM answers WHERE key = ? AND length(outputs) <= ?", key, _MAX_LENGTH
        )
        try:
            outputs = json.loads(rows[0][0]) if rows else None
        except (ValueError, TypeError, RecursionError):
            outputs = None
        return outputs if _is_answer(outputs) else None

    def keep(self, key: str, outputs: list[Any]) -> None:
        text = json.dumps(outputs) if _is_answer(outputs) else ""
        if not 0 < len(text) <= _MAX_LENGTH:
            return
        self._execute("INSERT OR REPLACE INTO answers VALUES (?, ?)", key, text)
        self._written += 1
        if self._written % _PRUNE_EVERY == 1:
            newest = "SELECT rowid FROM answers ORDER BY rowid DESC LIMIT ?"
            self._execute(f"DELETE FROM answers WHERE rowid NOT IN ({newest})", _MAX_ANSWERS)  # noqa: S608 -- constant

    def forget(self, keys: Iterable[str]) -> None:
        for key in keys:
            self._execute("DELETE FROM answers WHERE key = ?", key)

    def _execute(self, statement: str, *values: object) -> list[Any]:
        assert self._database is not None
        try:
            return self._database.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            logger.warning("CACHE_ERROR: %s cannot be used: %s.", self._path, error)
            return []


def _is_answer(outputs: Any) -> bool:
    """Return whether this is what DSPy gets from a model: texts, or objects with a text."""
    if not isinstance(outputs, list) or not outputs:
        return False
    whole = [one if isinstance(one, dict) else {"text": one} for one in outputs]
    return all(
        isinstance(one.get("text"), str) and set(one) <= {"text", "reasoning_content"} for one in whole
    )
