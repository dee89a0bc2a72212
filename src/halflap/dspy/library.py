"""The folder of DSPy programs, one sub-folder each: untrusted when read, and never overwritten when written.

`<name>/` holds a program's `manifest.json` and `state.json`; further versions are in `<name>/versions/<version>/`. A file
`<name>/current` names the active version; without it, the files in `<name>/` are active. A version appears as a whole and
never changes afterwards, and `current` is replaced atomically, so readers and writers need no lock.
"""

from __future__ import annotations

import os
import re
import tempfile
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from halflap.core.errors import FileError, ProgramBrokenError, ProgramNotFoundError, UsageError
from halflap.core.files import read_limited, replacing
from halflap.core.text import quote, visible
from halflap.dspy.manifest import MANIFEST, NAME, VERSION, read_manifest, write_manifest
from halflap.dspy.state import STATE, read_state, write_state

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.dspy.manifest import Manifest
    from halflap.dspy.state import State

__all__ = ["BUNDLED", "Library", "SavedProgram", "SavedPrograms", "version_order"]

BUNDLED = Path(__file__).parent / "bundled"
"""The programs that come with Halflap."""
_VERSIONS, _CURRENT = "versions", "current"
_MAX_BYTES = {MANIFEST: 262_144, STATE: 4_194_304, _CURRENT: 100}
_MAX_SHOWN = 100


@dataclass(frozen=True, slots=True)
class SavedProgram:
    """A version of a DSPy program as it was when it was read."""

    manifest: Manifest
    state: State
    source_hash: str
    folder: Path
    versions: tuple[str, ...]
    """All versions of the program, oldest first."""

    @property
    def name(self) -> str:
        return self.manifest.name


@dataclass(frozen=True, slots=True)
class SavedPrograms:
    """All DSPy programs at one moment."""

    programs: Mapping[str, SavedProgram] = field(default_factory=dict)
    broken: Mapping[str, str] = field(default_factory=dict)
    """Why a folder cannot be used, by its name."""
    problem: str = ""
    """Why the folder of all programs cannot be read, if it cannot."""

    def find(self, name: str) -> SavedProgram:
        if name in self.broken:
            raise ProgramBrokenError(name, self.broken[name].split("\n"))
        if name not in self.programs:
            raise ProgramNotFoundError(name, list(self.programs))
        return self.programs[name]


def version_order(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in version.split("."))


class Library:
    """The saved programs. Its methods do blocking I/O: call them from a thread, one at a time."""

    def __init__(self, root: Path | None) -> None:
        self.root = root
        """None for the programs that come with Halflap, which cannot be changed."""
        self._place = root or BUNDLED
        self._saved = SavedPrograms()

    def read(self) -> SavedPrograms:
        """Return what is there now; the same object as before if nothing has changed."""
        programs: dict[str, SavedProgram] = {}
        broken: dict[str, str] = {}
        problem = ""
        try:
            names = sorted(entry.name for entry in self._place.iterdir() if entry.is_dir())
        except OSError as error:
            names, problem = [], f"{self.root} cannot be read: {error.strerror}. Check `programs.root`."
        for name in names:
            if name.startswith("."):
                continue
            try:
                programs[name] = self._read_current(name)
            except ProgramBrokenError as error:
                broken[visible(name, _MAX_SHOWN)] = "\n".join(error.problems)
        saved = SavedPrograms(programs, broken, problem)
        if saved != self._saved:
            self._saved = saved
        return self._saved

    def version(self, name: str, version: str) -> SavedProgram:
        """Read one version of a program, active or not."""
        active = self.read().find(name)
        if version == active.manifest.version:
            return active
        if version not in active.versions:
            raise UsageError(
                f"The DSPy program {quote(name)} has no version {quote(version)}. Versions: {', '.join(active.versions)}."
            )
        return self._read_version(name, version)

    def save(self, manifest: Manifest, state: State) -> SavedProgram:
        """Save a program. A new one is active at once; of an existing one, this is a further version."""
        root = self._writable()
        files = {MANIFEST: write_manifest(manifest), STATE: write_state(state, manifest)}
        # Never write what could not be read again.
        read_state(files[STATE], read_manifest(files[MANIFEST], name=manifest.name))
        folder = root / manifest.name
        exists = UsageError(
            f"The DSPy program {quote(manifest.name)} already has a version {manifest.version}, and nothing is "
            "overwritten. Choose another version."
        )
        if os.path.lexists(folder):
            if manifest.version in self.read().find(manifest.name).versions:
                raise exists
            folder = folder / _VERSIONS / manifest.version
        try:
            self._write_folder(folder, files)
        except FileError as error:
            raise exists if folder.exists() else error from None
        return self.version(manifest.name, manifest.version)

    def promote(self, name: str, version: str) -> SavedProgram:
        """Make a version the active one; the previous one is kept among the versions."""
        root = self._writable()
        active = self.read().find(name)
        if self.version(name, version) is active:
            return active
        kept = root / name / _VERSIONS / active.manifest.version
        if not kept.exists():
            self._write_folder(
                kept, {file: self._read_file(name, active.folder / file) for file in (MANIFEST, STATE)}
            )
        try:
            with replacing(root / name / _CURRENT) as file:
                file.write(f"{version}\n".encode())
        except OSError as error:
            raise FileError(f"{root / name} cannot be written: {error.strerror}.") from error
        return self.read().find(name)

    def _read_current(self, name: str) -> SavedProgram:
        if not re.fullmatch(NAME, name):
            told = "a folder's name is up to 64 lower-case letters, digits and _, starting with a letter."
            raise ProgramBrokenError(name, [told])
        folder = self._place / name
        if not os.path.lexists(folder / _CURRENT):
            return self._read_folder(name, folder)
        version = self._read_file(name, folder / _CURRENT).decode(errors="replace").strip()
        if not re.fullmatch(VERSION, version):
            raise ProgramBrokenError(name, [f"{_CURRENT}: must name a version, such as 1.2.0."])
        return self._read_version(name, version)

    def _read_version(self, name: str, version: str) -> SavedProgram:
        program = self._read_folder(name, self._place / name / _VERSIONS / version)
        if program.manifest.version != version:
            told = (
                f"{MANIFEST}: version is {program.manifest.version}, but its folder is {_VERSIONS}/{version}."
            )
            raise ProgramBrokenError(name, [told])
        return program

    def _read_folder(self, name: str, folder: Path) -> SavedProgram:
        self._check_no_link(name, folder)
        manifest_data, state_data = (self._read_file(name, folder / file) for file in (MANIFEST, STATE))
        source_hash = sha256(b"%d\0" % len(manifest_data) + manifest_data + state_data).hexdigest()
        known = self._saved.programs.get(name)
        if known is not None and known.source_hash == source_hash:
            manifest, state = known.manifest, known.state
        else:
            manifest = read_manifest(manifest_data, name=name)
            state = read_state(state_data, manifest)
        others = (self._place / name / _VERSIONS).glob("*.*.*")
        versions = {manifest.version, *(other.name for other in others if re.fullmatch(VERSION, other.name))}
        order = tuple(sorted(versions, key=version_order))
        return SavedProgram(manifest, state, source_hash, folder, order)

    def _check_no_link(self, name: str, folder: Path) -> None:
        """Raise if a link below the root, which could lead anywhere, is on the way to a folder."""
        if folder.resolve() != self._place.resolve() / folder.relative_to(self._place):
            raise ProgramBrokenError(name, ["its folder is behind a symbolic link, which is not followed."])

    def _read_file(self, name: str, path: Path) -> bytes:
        try:
            return read_limited(path, _MAX_BYTES[path.name], regular=True, follow=False)[0]
        except FileNotFoundError:
            # DSPy can also save pickles, which could run code and are never opened.
            advice = ' Save it as JSON: `program.save("state.json")`.' if path.name == STATE else ""
            raise ProgramBrokenError(name, [f"{path.name} is missing.{advice}"]) from None
        except OSError as error:
            raise ProgramBrokenError(name, [f"{path.name} cannot be read: {error.strerror}."]) from None

    def _writable(self) -> Path:
        if self.root is None:
            raise UsageError(
                "The DSPy programs that come with Halflap cannot be changed. Set `programs.root` to a folder of your own."
            )
        return self.root

    def _write_folder(self, folder: Path, files: Mapping[str, bytes]) -> None:
        """Write a folder that appears whole, or not at all; an existing one is not replaced."""
        try:
            folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._check_no_link(folder.name, folder.parent)
            with tempfile.TemporaryDirectory(
                dir=folder.parent, prefix=".", ignore_cleanup_errors=True
            ) as place:
                for file, data in files.items():
                    with replacing(Path(place) / file) as target:
                        target.write(data)
                Path(place).rename(folder)
        except OSError as error:
            raise FileError(f"{folder} cannot be written: {error.strerror}.") from error
