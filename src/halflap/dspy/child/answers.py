"""Cache what the model answered, in memory and as JSON files: nothing that is read from them can run."""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import os
import re
import secrets
import stat
import threading
import time
from collections import OrderedDict
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Answers", "CacheError", "answer_key"]

logger = logging.getLogger(__name__)

_FORMAT = 1
_MAX_IN_MEMORY = 2_000
_MAX_ON_DISK = 20_000
_MAX_BYTES = 4_000_000
_PRUNE_EVERY = 500
_PART = re.compile(r"[0-9a-f]{2}")
_ANSWER = re.compile(r"[0-9a-f]{64}\.json")
_UNFINISHED = re.compile(r"\.[0-9a-f]{64}\.[0-9a-f]{8}")
_UNFINISHED_SECONDS = 3_600.0


class CacheError(Exception):
    """The cache folder cannot be used."""


def answer_key(namespace: Mapping[str, Any], request: Mapping[str, Any]) -> str | None:
    """Return a hash of a request; None if it cannot be cached."""
    try:
        text = json.dumps(
            [_FORMAT, namespace, request], sort_keys=True, allow_nan=False, default=_json_schema
        )
    except (TypeError, ValueError, AttributeError):
        return None
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _json_schema(model: Any) -> Any:
    """Return the schema of a pydantic class, which asks for an answer of its form."""
    return model.model_json_schema()


class Answers:
    """Answers by key, usable from several threads. A file that cannot be read or written is logged, not fatal."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        self._memory: OrderedDict[str, list[Any]] = OrderedDict()
        self._lock = threading.Lock()
        self._written = 0

    def check(self) -> None:
        """Raise if the folder cannot be used, before the model is asked."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not os.access(self._folder, os.R_OK | os.W_OK | os.X_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        except OSError as error:
            raise CacheError(
                f"model answers cannot be cached in {self._folder}: {error.strerror or error}."
            ) from None

    def find(self, key: str) -> list[Any] | None:
        with self._lock:
            if key in self._memory:
                self._memory.move_to_end(key)
                return self._memory[key]
        path = self._path(key)
        try:
            outputs = _read(path, key)
        except FileNotFoundError:
            return None
        except ValueError as error:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
            logger.warning("CACHE_ERROR: %s: %s. It is removed, and the model is asked again.", path, error)
            return None
        except OSError as error:
            logger.warning("CACHE_ERROR: %s cannot be read: %s.", path, error.strerror)
            return None
        self._remember(key, outputs)
        return outputs

    def keep(self, key: str, outputs: list[Any]) -> None:
        if not _is_answer(outputs):
            return
        self._remember(key, outputs)
        try:
            _write(self._path(key), key, outputs)
            self._written += 1
            if self._written % _PRUNE_EVERY == 1:
                _prune(self._folder)
        except OSError as error:
            logger.warning("CACHE_ERROR: %s cannot be written to: %s.", self._folder, error.strerror)

    def forget(self, keys: Iterable[str]) -> None:
        for key in keys:
            with self._lock:
                self._memory.pop(key, None)
            with contextlib.suppress(OSError):
                self._path(key).unlink()

    def _remember(self, key: str, outputs: list[Any]) -> None:
        with self._lock:
            self._memory[key] = outputs
            self._memory.move_to_end(key)
            while len(self._memory) > _MAX_IN_MEMORY:
                self._memory.popitem(last=False)

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key}.json"


def _read(path: Path, key: str) -> list[Any]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise ValueError("it is a link") from None
        raise
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MAX_BYTES:
            raise ValueError("it is not a plain file, or too large")
        content = file.read(_MAX_BYTES + 1)
    try:
        found = json.loads(content)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    if not isinstance(found, dict) or (found.get("format"), found.get("key")) != (_FORMAT, key):
        raise ValueError("it is not an answer to this request")
    if not _is_answer(found.get("outputs")):
        raise ValueError("it has no outputs")
    outputs: list[Any] = found["outputs"]
    return outputs


def _is_answer(outputs: Any) -> bool:
    """Return whether this is what DSPy gets from a model: texts, or objects with a text."""
    return (
        isinstance(outputs, list)
        and bool(outputs)
        and all(
            isinstance(one, str)
            or (
                isinstance(one, dict)
                and isinstance(one.get("text"), str)
                and set(one) <= {"text", "reasoning_content"}
            )
            for one in outputs
        )
    )


def _write(path: Path, key: str, outputs: list[Any]) -> None:
    content = json.dumps({"format": _FORMAT, "key": key, "outputs": outputs}).encode()
    if len(content) > _MAX_BYTES:
        return
    path.parent.mkdir(exist_ok=True, mode=0o700)
    unfinished = path.with_name(f".{key}.{secrets.token_hex(4)}")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def _prune(folder: Path) -> None:
    """Remove the oldest tenth when there are too many, and abandoned files; never anything that is not ours."""
    found = []
    with os.scandir(folder) as parts:
        ours = [Path(one) for one in parts if _PART.fullmatch(one.name) and one.is_dir(follow_symlinks=False)]
    for one in (file for part in ours for file in part.iterdir()):
        with contextlib.suppress(OSError):
            changed = one.lstat().st_mtime
            if _UNFINISHED.fullmatch(one.name) and changed < time.time() - _UNFINISHED_SECONDS:
                one.unlink()
            elif _ANSWER.fullmatch(one.name):
                found.append((changed, one))
    if len(found) > _MAX_ON_DISK:
        for _, one in sorted(found)[: len(found) - _MAX_ON_DISK * 9 // 10]:
            one.unlink(missing_ok=True)
