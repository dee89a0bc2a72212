"""A folder of small, untrusted files that are offered as tools."""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

from halflap.core.errors import HalflapError, ProgramBrokenError, UsageError
from halflap.core.files import read_limited, replacing
from halflap.core.text import visible

_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_MAX_SHOWN = 100

T = TypeVar("T")


@dataclass(frozen=True)
class Saved(Generic[T]):
    """The contents of a folder, by file name without suffix."""

    valid: Mapping[str, T] = field(default_factory=dict)
    broken: Mapping[str, str] = field(default_factory=dict)
    """The reason why a file cannot be used."""
    problem: str = ""
    """Why the folder cannot be read, if so."""


class ToolFolder(ABC, Generic[T]):
    """Reads and writes the files. The methods block: call them from a thread, one at a time."""

    suffix: ClassVar[str]
    most_bytes: ClassVar[int]

    def __init__(self, path: Path) -> None:
        self.path = path
        self._saved = Saved[T]()
        self._parsed: dict[str, tuple[str, T]] = {}
        """The last content of each file, with the hash of its bytes."""

    @abstractmethod
    def parse(self, name: str, data: bytes) -> T:
        """Parse one file, or raise a `HalflapError`."""

    def read(self) -> Saved[T]:
        """Return the current contents; the same object as before if nothing changed."""
        valid: dict[str, T] = {}
        broken: dict[str, str] = {}
        problem = ""
        try:
            names = sorted(os.listdir(self.path))  # noqa: PTH208 -- also names that are not UTF-8
        except OSError as error:
            names, problem = [], f"{self.path} cannot be read: {error.strerror}."
        for name, suffix in map(os.path.splitext, names):
            if suffix != self.suffix or name.startswith("."):
                continue
            try:
                valid[name] = self._read(name)
            except HalflapError as error:
                problems = error.problems if isinstance(error, ProgramBrokenError) else [str(error)]
                broken[visible(name, _MAX_SHOWN)] = "\n".join(problems)
        saved = Saved(valid, broken, problem)
        if saved != self._saved:
            self._saved = saved
        return self._saved

    def _read(self, name: str) -> T:
        check_name(name)
        try:
            data, _ = read_limited(self.file(name), self.most_bytes, regular=True, follow=False)
        except OSError as error:
            raise UsageError(f"it cannot be read: {error.strerror}.", code="file") from None
        digest = sha256(data).hexdigest()
        if self._parsed.get(name, ("",))[0] != digest:
            self._parsed[name] = digest, self.parse(name, data)
        return self._parsed[name][1]

    def check_new(self, name: str, *, force: bool) -> None:
        """Raise `UsageError` if a file of this name must not be written."""
        check_name(name)
        if os.path.lexists(self.file(name)) and not force:
            raise UsageError(f"{name!r} already exists. Choose another name, or use --force.")

    def write(self, name: str, data: bytes, *, force: bool = False) -> T:
        """Save a file if it can be parsed; replace an existing one only with `force`."""
        self.check_new(name, force=force)
        parsed = self.parse(name, data)
        file = self.file(name)
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            with replacing(file) as target:
                target.write(data)
        except OSError as error:
            raise UsageError(f"{file} cannot be written: {error.strerror}.", code="file") from error
        return parsed

    def remove(self, name: str) -> None:
        """Remove a file, broken or not."""
        try:
            self.file(name).unlink()
        except OSError as error:
            raise UsageError(
                f"{self.file(name)} cannot be removed: {error.strerror}.", code="file"
            ) from error

    def file(self, name: str) -> Path:
        return self.path / f"{name}{self.suffix}"


def check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot be a name. Use up to 64 lower-case letters, digits and _, starting with a letter."
        )
