"""The folder of DSPy programs, one JSON file each: untrusted when read, written whole or not at all."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from halflap.core.errors import FileError, ProgramBrokenError, ProgramNotFoundError, UsageError
from halflap.core.files import read_limited, replacing
from halflap.core.text import quote, visible
from halflap.dspy.spec import NAME, ProgramSpec, read_spec, write_spec

BUNDLED = Path(__file__).parent / "bundled"
"""The programs that come with Halflap."""
_MAX_BYTES = 4_194_304
_MAX_SHOWN = 100


@dataclass(frozen=True, slots=True)
class SavedProgram:
    """A DSPy program as it was when it was read."""

    spec: ProgramSpec
    source_hash: str
    path: Path

    @property
    def name(self) -> str:
        return self.spec.name


@dataclass(frozen=True, slots=True)
class SavedPrograms:
    """All DSPy programs at one moment."""

    programs: Mapping[str, SavedProgram] = field(default_factory=dict)
    broken: Mapping[str, str] = field(default_factory=dict)
    """Why a file cannot be used, by its name without `.json`."""
    problem: str = ""
    """Why the folder cannot be read, if it cannot."""

    def find(self, name: str) -> SavedProgram:
        if name in self.broken:
            raise ProgramBrokenError(name, self.broken[name].split("\n"))
        if name not in self.programs:
            raise ProgramNotFoundError(name, list(self.programs))
        return self.programs[name]


class Library:
    """The saved programs. Its methods do blocking I/O: call them from a thread, one at a time."""

    def __init__(self, root: Path | None) -> None:
        self._root = root
        """None for the programs that come with Halflap, which cannot be changed."""
        self._saved = SavedPrograms()

    def read(self) -> SavedPrograms:
        """Return what is there now; the same object as before if nothing has changed."""
        programs: dict[str, SavedProgram] = {}
        broken: dict[str, str] = {}
        problem = ""
        try:
            names = sorted(os.listdir(self._root or BUNDLED))  # noqa: PTH208 -- also names that are not UTF-8
        except OSError as error:
            names, problem = [], f"{self._root} cannot be read: {error.strerror}. Check `programs.root`."
        for name, ending in map(os.path.splitext, names):
            if ending != ".json" or name.startswith("."):
                continue
            try:
                programs[name] = self._read(name)
            except ProgramBrokenError as error:
                broken[visible(name, _MAX_SHOWN)] = "\n".join(error.problems)
        saved = SavedPrograms(programs, broken, problem)
        if saved != self._saved:
            self._saved = saved
        return self._saved

    def check_new(self, name: str, *, replace: bool) -> Path:
        """Return the file that a program would be saved in; raise if it must not be written."""
        if self._root is None:
            raise UsageError(
                "The DSPy programs that come with Halflap cannot be changed. Set `programs.root` to a folder of your own."
            )
        path = self._root / f"{name}.json"
        if os.path.lexists(path) and not replace:
            raise UsageError(
                f"There already is a DSPy program {quote(name)}. Choose another name, or replace it with --replace."
            )
        return path

    def save(self, spec: ProgramSpec, *, replace: bool = False) -> SavedProgram:
        data = write_spec(spec)
        # Never write what could not be read again.
        read_spec(data, spec.name)
        path = self.check_new(spec.name, replace=replace)
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with replacing(path) as file:
                file.write(data)
        except OSError as error:
            raise FileError(f"{path} cannot be written: {error.strerror}.") from error
        return self._read(spec.name)

    def _read(self, name: str) -> SavedProgram:
        if not re.fullmatch(NAME, name):
            told = "a program's name is up to 64 lower-case letters, digits and _, starting with a letter."
            raise ProgramBrokenError(name, [told])
        path = (self._root or BUNDLED) / f"{name}.json"
        try:
            data, _ = read_limited(path, _MAX_BYTES, regular=True, follow=False)
        except OSError as error:
            raise ProgramBrokenError(name, [f"it cannot be read: {error.strerror}."]) from None
        source_hash = sha256(data).hexdigest()
        known = self._saved.programs.get(name)
        if known is not None and known.source_hash == source_hash:
            return known
        return SavedProgram(read_spec(data, name), source_hash, path)
