"""What the model answered before, kept in memory and as JSON files: nothing that is read from them can run."""

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
from typing import TYPE_CHECKING, Any, Final

from halflap.core.errors import ProgramCacheError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Answers", "answer_key"]

logger = logging.getLogger(__name__)

_FORMAT: Final = 1
_MOST_IN_MEMORY: Final = 2_000
_MOST_ON_DISK: Final = 20_000
_LARGEST: Final = 4_000_000
_PRUNE_EVERY: Final = 500
_PART = re.compile(r"[0-9a-f]{2}")
_KEPT = re.compile(r"[0-9a-f]{64}\.json")
_UNFINISHED = re.compile(r"\.[0-9a-f]{64}\.[0-9a-f]{8}")
_FINISHED_SECONDS: Final = 3_600.0


def answer_key(namespace: Mapping[str, Any], request: Mapping[str, Any]) -> str | None:
    """Give what a request is kept under: a hash, of which nobody can read the request; None if it cannot be kept."""
    try:
        text = json.dumps([_FORMAT, namespace, request], sort_keys=True, allow_nan=False, default=_schema)
    except (TypeError, ValueError):
        return None
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _schema(value: Any) -> Any:
    """Give what stands for a class of pydantic's, by which an answer's form is asked for."""
    try:
        return value.model_json_schema()
    except AttributeError:
        raise TypeError(f"{type(value).__name__} cannot be written as JSON") from None


class Answers:
    """By a request's key. Whatever goes wrong with the disk is logged and no more: the model is asked instead.

    May be used from several threads at once.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._memory: OrderedDict[str, list[Any]] = OrderedDict()
        self._lock = threading.Lock()
        self._told: set[str] = set()
        self._written = 0

    def recent(self, key: str) -> list[Any] | None:
        """Give an answer that is in memory."""
        with self._lock:
            found = self._memory.get(key)
            if found is not None:
                self._memory.move_to_end(key)
        return found

    def stored(self, key: str) -> list[Any] | None:
        """Give an answer that is on disk; it is in memory from then on."""
        if self._folder is None:
            return None
        path = self._path(key)
        try:
            outputs = _read(path, key)
        except FileNotFoundError:
            return None
        except OSError as error:
            self._tell(f"the answers in {self._folder} cannot be read: {error.strerror or error}.")
            return None
        except ValueError as error:
            self._tell(_of_one(path, str(error)))
            return None
        self._remember(key, outputs)
        return outputs

    def keep(self, key: str, outputs: list[Any]) -> None:
        """Keep an answer, on disk if that can be."""
        if not _is_answer(outputs):
            return
        self._remember(key, outputs)
        if self._folder is None:
            return
        try:
            _write(self._path(key), key, outputs)
            self._written += 1
            if self._written % _PRUNE_EVERY == 1:
                _prune(self._folder)
        except OSError as error:
            self._tell(f"the model's answers cannot be kept in {self._folder}: {error.strerror or error}.")

    def forget(self, keys: Iterable[str]) -> None:
        """Let go of answers that were of no use: the same would come again, however often it is tried."""
        for key in keys:
            with self._lock:
                self._memory.pop(key, None)
            if self._folder is not None:
                with contextlib.suppress(OSError):
                    self._path(key).unlink()

    def _remember(self, key: str, outputs: list[Any]) -> None:
        with self._lock:
            self._memory[key] = outputs
            self._memory.move_to_end(key)
            while len(self._memory) > _MOST_IN_MEMORY:
                self._memory.popitem(last=False)

    def _path(self, key: str) -> Path:
        assert self._folder is not None
        return self._folder / key[:2] / f"{key}.json"

    def _tell(self, what: str | ProgramCacheError) -> None:
        """Say it once: a folder that cannot be written to can't be at every call."""
        error = ProgramCacheError(what) if isinstance(what, str) else what
        with self._lock:
            if str(error) in self._told:
                return
            self._told.add(str(error))
        logger.warning("%s: %s", error.seed_code, error)


def _of_one(path: Path, reason: str) -> ProgramCacheError:
    """Let go of a file that is no answer, and say so: all others are as good as they were."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        return ProgramCacheError(
            f"{path}: {reason}, and it cannot be removed: {error.strerror or error}.", one=True
        )
    return ProgramCacheError(f"{path}: {reason}. It was removed.", one=True)


def _read(path: Path, key: str) -> list[Any]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise ValueError("it is a link") from None
        raise
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("it is no regular file")
        if status.st_size > _LARGEST:
            raise ValueError("it is too large")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            content = file.read(_LARGEST + 1)
    finally:
        os.close(descriptor)
    try:
        found = json.loads(content)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    if not isinstance(found, dict) or found.get("format") != _FORMAT or found.get("key") != key:
        raise ValueError("it says nothing of this request")
    outputs = found.get("outputs")
    if not _is_answer(outputs):
        raise ValueError("its outputs are none")
    assert isinstance(outputs, list)
    return outputs


def _is_answer(outputs: Any) -> bool:
    """Say whether this is what DSPy gets from a model: texts, or what else came with a text, as JSON."""
    return (
        isinstance(outputs, list)
        and bool(outputs)
        and all(isinstance(one, str) or (isinstance(one, dict) and _is_further(one)) for one in outputs)
    )


def _is_further(output: dict[str, Any]) -> bool:
    return isinstance(output.get("text"), str) and set(output) <= {"text", "reasoning_content"}


def _write(path: Path, key: str, outputs: list[Any]) -> None:
    content = json.dumps({"format": _FORMAT, "key": key, "outputs": outputs}).encode()
    if len(content) > _LARGEST:
        return
    path.parent.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
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
    """Let go of the oldest tenth when there are too many, and of what was never finished; of nothing that is not ours."""
    found = []
    with os.scandir(folder) as parts:
        # A link may lead anywhere, and the folder may hold other things, too.
        ours = [one for one in parts if _PART.fullmatch(one.name) and one.is_dir(follow_symlinks=False)]
    for part in ours:
        for one in Path(part).iterdir():
            with contextlib.suppress(OSError):
                when = one.lstat().st_mtime
                if _UNFINISHED.fullmatch(one.name) and when < time.time() - _FINISHED_SECONDS:
                    one.unlink()
                elif _KEPT.fullmatch(one.name):
                    found.append((when, one))
    if len(found) > _MOST_ON_DISK:
        for _, one in sorted(found)[: len(found) - _MOST_ON_DISK * 9 // 10]:
            with contextlib.suppress(OSError):
                one.unlink()
