"""The folder of DSPy programs, one sub-folder each: untrusted when read, never overwritten when written."""

from __future__ import annotations

import os
import shutil
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from halflap.core.errors import FileError, ProgramBrokenError, ProgramNotFoundError, UsageError
from halflap.core.text import quote, visible
from halflap.dspy.folders import (
    VERSIONS,
    exchange,
    fingerprint,
    is_current,
    locked,
    names_in,
    new_folder,
    opened,
    read_files,
    versions_in,
)
from halflap.dspy.manifest import MANIFEST, read_manifest, write_manifest
from halflap.dspy.spec import NAME
from halflap.dspy.state import STATE, read_state, write_state

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.dspy.folders import Files
    from halflap.dspy.spec import Manifest
    from halflap.dspy.state import State

__all__ = ["SHIPPED", "Library", "Shelf", "Stored", "source_hash", "version_order"]

SHIPPED = Path(__file__).parent / "shipped"
"""The programs that come with Halflap."""
_MAX_PROGRAMS = 1_000
_MAX_SWAPS = 20
_MAX_SHOWN = 100
_SETTLED_SECONDS = 0.1
"""Files that changed more recently than this may change again within the resolution of the file system's clock."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A DSPy program as it was when it was read."""

    manifest: Manifest
    state: State
    source_hash: str
    folder: Path | None
    """None for a program that ships with Halflap."""
    versions: tuple[str, ...]
    """Its own and those kept beside it, oldest first."""

    @property
    def name(self) -> str:
        return self.manifest.name


@dataclass(frozen=True, slots=True)
class Shelf:
    """All DSPy programs at one moment."""

    programs: Mapping[str, Stored] = field(default_factory=dict)
    broken: Mapping[str, str] = field(default_factory=dict)
    """Why a folder cannot be used, by its name."""
    problem: str = ""
    """Why the folder of all programs cannot be read, if it cannot."""

    def find(self, name: str) -> Stored:
        if name in self.broken:
            raise ProgramBrokenError(name, self.broken[name].split("\n"))
        if name not in self.programs:
            raise ProgramNotFoundError(name, list(self.programs))
        return self.programs[name]


def source_hash(manifest: bytes, state: bytes) -> str:
    """Hash both files: the length of the manifest in digits, a NUL, the manifest, the state."""
    return sha256(b"%d\0" % len(manifest) + manifest + state).hexdigest()


def version_order(version: str) -> tuple[object, ...]:
    """Return a sort key: numbers as numbers, and `1.0.0-rc` before `1.0.0`."""
    plain, _, build = version.partition("+")
    numbers, mark, rest = plain.partition("-")
    return (*(int(one) for one in numbers.split(".")), not mark, rest, build)


class Library:
    """The saved programs. Its methods do blocking I/O: call them from a thread, one at a time."""

    def __init__(self, root: Path | None) -> None:
        self.root = root
        """None for the programs that ship with Halflap, which cannot be changed."""
        self._shelf = Shelf()
        self._seen: dict[str, tuple[tuple[int, ...], ...]] | None = None

    def read(self) -> Shelf:
        """Return what is there now; the same object as before if nothing has changed."""
        try:
            with opened(self.root or SHIPPED) as root:
                seen = {name: fingerprint(name, root) for name in names_in(root)}
                if seen == self._seen:
                    return self._shelf
                shelf = self._read(seen, root)
        except OSError as error:
            advice = "Create it, or" if isinstance(error, FileNotFoundError) else "Make it readable, or"
            seen, shelf = (
                {},
                Shelf(
                    problem=f"{self.root} cannot be read: {error.strerror}. {advice} change `programs.root`."
                ),
            )
        self._seen = {name: () if _is_fresh(one) else one for name, one in seen.items()}
        if shelf != self._shelf:
            self._shelf = shelf
        return self._shelf

    def _read(self, seen: Mapping[str, object], root: int) -> Shelf:
        programs: dict[str, Stored] = {}
        broken: dict[str, str] = {}
        for place, name in enumerate(sorted(seen)):
            known = self._shelf.programs.get(name)
            if known is not None and (self._seen or {}).get(name) == seen[name]:
                programs[name] = known
            elif place >= _MAX_PROGRAMS:
                broken[visible(name, _MAX_SHOWN)] = f"there are more than {_MAX_PROGRAMS:,} folders."
            elif not NAME.fullmatch(name):
                broken[visible(name, _MAX_SHOWN)] = (
                    "a folder's name is up to 64 lower-case letters, digits and _, starting with a letter."
                )
            else:
                try:
                    found = self._read_one(root, name)
                except ProgramBrokenError as error:
                    broken[name] = "\n".join(error.problems)
                else:
                    programs[name] = known if known == found else found
        return Shelf(programs, broken)

    def _read_one(self, root: int, name: str, *inner: str) -> Stored:
        for _ in range(_MAX_SWAPS):
            with ExitStack() as stack:
                folder = descriptor = stack.enter_context(opened(name, root))
                try:
                    for step in inner:
                        descriptor = stack.enter_context(opened(step, descriptor))
                    files, kept = read_files(descriptor, name), versions_in(folder)
                except ProgramBrokenError:
                    if is_current(name, root, folder):
                        raise
                else:
                    if is_current(name, root, folder):
                        return self._stored(name, files, kept, *inner)
        raise ProgramBrokenError(name, ["its folder keeps being replaced."])

    def _stored(self, name: str, files: Files, kept: list[str], *inner: str) -> Stored:
        manifest = read_manifest(files[0], name=name)
        return Stored(
            manifest=manifest,
            state=read_state(files[1], manifest),
            source_hash=source_hash(*files),
            folder=None if self.root is None else self.root.joinpath(name, *inner),
            versions=tuple(sorted({manifest.version, *kept}, key=version_order)),
        )

    def version(self, name: str, version: str) -> Stored:
        """Read one version of a program, active or not."""
        stored = self.read().find(name)
        if version == stored.manifest.version:
            return stored
        if version not in stored.versions:
            raise UsageError(
                f"The DSPy program {quote(name)} has no version {quote(version)}. Versions: {', '.join(stored.versions)}."
            )
        with opened(self.root or SHIPPED) as root:
            found = self._read_one(root, name, VERSIONS, version)
        if found.manifest.version != version:
            raise ProgramBrokenError(
                name,
                [f"{MANIFEST}: version is {found.manifest.version}, but its folder is {VERSIONS}/{version}."],
            )
        return found

    # Writing ------------------------------------------------------------------------------------------

    def save(self, manifest: Manifest, state: State) -> Stored:
        """Save a program. A new one is active at once; of an existing one, this is a further version."""
        root, name, version = self._writable(), manifest.name, manifest.version
        files = write_manifest(manifest), write_state(state, manifest)
        # Never write what could not be read again.
        read_state(files[1], read_manifest(files[0], name=name))
        try:
            root.mkdir(mode=0o700, parents=True, exist_ok=True)
            with locked(root), new_folder(root, name, files) as beside, opened(root) as outer:
                if not os.path.lexists(root / name):
                    beside.rename(root / name)
                else:
                    self._add(beside, outer, name, version)
        except OSError as error:
            raise FileError(f"{root / name} cannot be written: {error.strerror}.") from error
        return self.version(name, version)

    def _add(self, beside: Path, root: int, name: str, version: str) -> None:
        if version in self.read().find(name).versions:
            raise UsageError(
                f"The DSPy program {quote(name)} already has a version {version}, and nothing is overwritten. "
                "Choose another version."
            )
        with opened(name, root) as folder:
            with suppress(FileExistsError):
                os.mkdir(VERSIONS, 0o700, dir_fd=folder)
            with opened(VERSIONS, folder) as kept:
                os.rename(beside, version, dst_dir_fd=kept)

    def promote(self, name: str, version: str) -> Stored:
        """Make a version the active one; the previous one is kept among the versions."""
        root = self._writable()
        try:
            with locked(root):
                self._promote(root, name, version)
        except OSError as error:
            raise FileError(f"{root / name} cannot be written: {error.strerror}.") from error
        return self.read().find(name)

    def _promote(self, root: Path, name: str, version: str) -> None:
        stored = self.read().find(name)
        old = stored.manifest.version
        if self.version(name, version) is stored:
            return
        with opened(root) as outer, opened(name, outer) as folder:
            now, is_kept = read_files(folder, name), old in versions_in(folder)
            with opened(VERSIONS, folder) as kept:
                with opened(version, kept) as inner:
                    then = read_files(inner, name)
                if is_kept:
                    with opened(old, kept) as inner:
                        is_changed = read_files(inner, name) != now
        if is_kept and is_changed:
            raise UsageError(
                f"The active {quote(name)} differs from {VERSIONS}/{old}, so promoting another version would lose it. Change "
                f"the version in its {MANIFEST} first."
            )
        with new_folder(root, name, then) as beside, new_folder(root, name, now) as before:
            _copy_rest(root / name, beside)
            if not is_kept:
                before.rename(beside / VERSIONS / old)
            exchange(beside, root / name)

    def _writable(self) -> Path:
        if self.root is None:
            raise UsageError(
                "The DSPy programs that come with Halflap cannot be changed. Set `programs.root` to a folder of your own."
            )
        return self.root


def _copy_rest(old: Path, new: Path) -> None:
    """Link everything except the two files; links stay links."""
    shutil.copytree(
        old,
        new,
        symlinks=True,
        dirs_exist_ok=True,
        copy_function=lambda source, target: os.link(source, target, follow_symlinks=False),
        ignore=lambda folder, _: [MANIFEST, STATE] if Path(folder) == old else [],
    )


def _is_fresh(seen: tuple[tuple[int, ...], ...]) -> bool:
    latest = (time.time() - _SETTLED_SECONDS) * 1e9
    return any(one[-1] > latest for one in seen)
