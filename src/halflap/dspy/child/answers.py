"""Cache what the model answered as JSON files: nothing that is read from them can run."""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import os
import re
import secrets
import stat
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Answers", "CacheError", "answer_key"]

logger = logging.getLogger(__name__)

_FORMAT = 1
_MAX_ANSWERS = 20_000
_MAX_IN_MEMORY = 1_000
_MAX_BYTES = 4_000_000
_PRUNE_EVERY = 500
_OURS = re.compile(r"[0-9a-f]{2}/(?:[0-9a-f]{64}\.json|\.[0-9a-f]{64}\.[0-9a-f]{8})")


class CacheError(Exception):
    """The cache folder cannot be used."""


def answer_key(namespace: Mapping[str, Any], request: Mapping[str, Any]) -> str | None:
    """Return a hash of a request; None if it cannot be cached."""
    try:
        # A pydantic class in a request asks for an answer of its form.
        text = json.dumps(
            [_FORMAT, namespace, request],
            sort_keys=True,
            allow_nan=False,
            default=lambda one: one.model_json_schema(),
        )
    except (TypeError, ValueError, AttributeError):
        return None
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Answers:
    """Answers by key. A file that cannot be read or written is logged, and the model is asked instead."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        self._memory: dict[str, list[Any]] = {}
        self._written = 0

    def check(self) -> None:
        """Raise if the folder cannot be used, before the model is asked."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not os.access(self._folder, os.R_OK | os.W_OK | os.X_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        except OSError as error:
            told = f"model answers cannot be cached in {self._folder}: {error.strerror}."
            raise CacheError(told) from None

    def find(self, key: str) -> list[Any] | None:
        if key in self._memory:
            return self._memory[key]
        path = self._path(key)
        try:
            self._remember(key, _read(path, key))
            return self._memory[key]
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError) as error:
            with contextlib.suppress(OSError):
                path.unlink()
            logger.warning("CACHE_ERROR: %s is removed, and the model asked again: %s.", path, error)
            return None

    def keep(self, key: str, outputs: list[Any]) -> None:
        if not _is_answer(outputs):
            return
        self._remember(key, outputs)
        content = json.dumps({"format": _FORMAT, "key": key, "outputs": outputs}).encode()
        if len(content) > _MAX_BYTES:
            return
        try:
            _write(self._path(key), content)
            self._written += 1
            if self._written % _PRUNE_EVERY == 1:
                self._prune()
        except OSError as error:
            logger.warning("CACHE_ERROR: %s cannot be written to: %s.", self._folder, error.strerror)

    def forget(self, keys: Iterable[str]) -> None:
        for key in keys:
            self._memory.pop(key, None)
            with contextlib.suppress(OSError):
                self._path(key).unlink()

    def _remember(self, key: str, outputs: list[Any]) -> None:
        if len(self._memory) >= _MAX_IN_MEMORY:
            del self._memory[next(iter(self._memory))]
        self._memory[key] = outputs

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key}.json"

    def _prune(self) -> None:
        """Remove the oldest tenth when there are too many; never anything that is not ours."""
        files = [one for one in self._folder.glob("*/*") if _OURS.fullmatch(f"{one.parent.name}/{one.name}")]
        ours = [one for one in files if not one.parent.is_symlink()]
        if len(ours) > _MAX_ANSWERS:
            ours.sort(key=lambda one: one.lstat().st_mtime)
            for one in ours[: len(ours) - _MAX_ANSWERS * 9 // 10]:
                one.unlink(missing_ok=True)


def _read(path: Path, key: str) -> list[Any]:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MAX_BYTES:
            raise ValueError("it is not a plain file, or too large")
        found = json.loads(file.read(_MAX_BYTES + 1))
    if not isinstance(found, dict) or (found.get("format"), found.get("key")) != (_FORMAT, key):
        raise ValueError("it is not an answer to this request")
    outputs = found.get("outputs")
    if not isinstance(outputs, list) or not _is_answer(outputs):
        raise ValueError("it has no outputs")
    return outputs


def _is_answer(outputs: list[Any]) -> bool:
    """Return whether this is what DSPy gets from a model: texts, or objects with a text."""
    whole = [one if isinstance(one, dict) else {"text": one} for one in outputs]
    return bool(whole) and all(
        isinstance(one.get("text"), str) and set(one) <= {"text", "reasoning_content"} for one in whole
    )


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(exist_ok=True, mode=0o700)
    unfinished = path.with_name(f".{path.stem}.{secrets.token_hex(4)}")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
