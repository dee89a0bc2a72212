"""The folder in which DSPy programs are kept, one folder for each: read without being believed, never overwritten."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from halflap.core.errors import FileError, ProgramBrokenError, ProgramNotFoundError, UsageError
from halflap.core.text import visible
from halflap.dspy.folders import (
    VERSIONS,
    is_still,
    look,
    names_in,
    opened,
    opened_root,
    read_files,
    versions_in,
)
from halflap.dspy.manifest import MANIFEST, NAME, read_manifest, write_manifest
from halflap.dspy.putting import exchange, locked, new_folder, take_over
from halflap.dspy.state import STATE, read_state, write_state

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.dspy.manifest import Manifest
    from halflap.dspy.state import State

__all__ = ["SHIPPED", "Library", "Shelf", "Stored", "source_hash", "version_order"]

SHIPPED = Path(__file__).parent / "shipped"
"""The programs that come with Halflap."""

_MOST = 1_000
_MOST_SWAPS = 20
_LONGEST_SHOWN = 100
_FRESH_SECONDS = 0.1
"""Files that changed so shortly before they were looked at may change again without looking different."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A DSPy program as it was when it was read."""

    manifest: Manifest
    state: State
    source_hash: str
    """SHA-256 over the bytes of both files, as `source_hash` makes it."""
    folder: Path | None
    """None for one that ships with Halflap."""
    versions: tuple[str, ...]
    """Its own and those that are kept beside it, the oldest first."""
    read_at: datetime
    """In UTC."""

    @property
    def name(self) -> str:
        return self.manifest.name


@dataclass(frozen=True, slots=True)
class Shelf:
    """All DSPy programs at one moment."""

    programs: Mapping[str, Stored] = field(default_factory=dict)
    broken: Mapping[str, str] = field(default_factory=dict)
    """What cannot be used, by the name of its folder, and why."""
    problem: str = ""
    """Why the folder of all of them cannot be read, if it cannot."""

    def find(self, name: str) -> Stored:
        """Give a program by its name; raises what is wrong with it, or that there is none."""
        if name in self.broken:
            raise ProgramBrokenError(name, self.broken[name].split("\n"))
        if name not in self.programs:
            raise ProgramNotFoundError(name, list(self.programs))
        return self.programs[name]


def source_hash(manifest: bytes, state: bytes) -> str:
    """Hash both files: how many bytes the manifest has, in digits, then a NUL, the manifest and the state."""
    return sha256(b"%d\0" % len(manifest) + manifest + state).hexdigest()


def version_order(version: str) -> tuple[object, ...]:
    """Give what versions are sorted by: numbers as numbers, and `1.0.0-rc` before the `1.0.0` that it leads to."""
    plain, _, build = version.partition("+")
    numbers, mark, rest = plain.partition("-")
    return (*(int(one) for one in numbers.split(".")), not mark, rest, build)


class Library:
    """The saved programs. Its methods read and write files: call them from a thread, one at a time."""

    def __init__(self, root: Path | None) -> None:
        self.root = root
        """None for the programs that come with Halflap, which nothing is added to."""
        self._shelf = Shelf()
        self._looks: dict[str, tuple[object, ...]] | None = None

    # Reading ------------------------------------------------------------------------------------------

    def read(self) -> Shelf:
        """Give what is there now; the same object as the last time if nothing has changed."""
        try:
            with opened_root(self.root or SHIPPED) as root:
                looks = {name: look(name, root) for name in names_in(root)}
                if looks == self._looks:
                    return self._shelf
                shelf = self._read(looks, root)
        except OSError as error:
            looks, shelf = {}, Shelf(problem=self._unreadable(error))
        self._looks = {name: () if _is_fresh(one) else one for name, one in looks.items()}
        if shelf != self._shelf:
            self._shelf = shelf
        return self._shelf

    def _unreadable(self, error: OSError) -> str:
        missing = isinstance(error, FileNotFoundError)
        advice = "Make it, or name another." if missing else "Make it a folder that you may read."
        return f"programs.root, {self.root}, cannot be read: {error.strerror}. {advice}"

    def _read(self, looks: Mapping[str, tuple[object, ...]], root: int) -> Shelf:
        programs: dict[str, Stored] = {}
        broken: dict[str, str] = {}
        for place, (name, seen) in enumerate(sorted(looks.items())):
            known = self._shelf.programs.get(name)
            if known is not None and (self._looks or {}).get(name) == seen:
                programs[name] = known
                continue
            try:
                if place >= _MOST:
                    raise ProgramBrokenError(name, [f"there are more than {_MOST:,} folders. Remove some."])  # noqa: TRY301
                if not NAME.fullmatch(name):
                    raise ProgramBrokenError(name, [_NO_NAME])  # noqa: TRY301
                found = self._read_one(root, name)
            except ProgramBrokenError as error:
                broken[visible(name, _LONGEST_SHOWN)] = "\n".join(error.problems)
            else:
                same = known is not None and _key(known) == _key(found)
                programs[name] = known if known is not None and same else found
        return Shelf(programs, broken)

    def _read_one(self, root: int, name: str, *steps: str) -> Stored:
        # A folder that was swapped for another while it was read is emptied: then it is the other that counts.
        for _ in range(_MOST_SWAPS):
            with ExitStack() as stack:
                folder = inner = stack.enter_context(opened(name, root, name))
                try:
                    for step in steps:
                        inner = stack.enter_context(opened(step, inner, name))
                    files, kept = read_files(inner, name), versions_in(folder)
                except ProgramBrokenError:
                    if is_still(name, root, folder):
                        raise
                else:
                    if is_still(name, root, folder):
                        return self._stored(name, files, kept, *steps)
        raise ProgramBrokenError(name, ["its folder is swapped for others all the time."])

    def _stored(self, name: str, files: tuple[bytes, bytes], kept: list[str], *steps: str) -> Stored:
        manifest = read_manifest(files[0], name=name)
        return Stored(
            manifest=manifest,
            state=read_state(files[1], manifest),
            source_hash=source_hash(*files),
            folder=None if self.root is None else self.root.joinpath(name, *steps),
            versions=tuple(sorted({manifest.version, *kept}, key=version_order)),
            read_at=datetime.now(UTC),
        )

    def version(self, name: str, version: str) -> Stored:
        """Read a version that is kept beside the one in force, or that one itself."""
        stored = self.read().find(name)
        if version == stored.manifest.version:
            return stored
        if version not in stored.versions:
            raise UsageError(
                f"The DSPy program {name!r} has no version {version[:_LONGEST_SHOWN]!r}. "
                f"There are: {', '.join(stored.versions)}."
            )
        with opened_root(self.root or SHIPPED) as root:
            found = self._read_one(root, name, VERSIONS, version)
        if found.manifest.version != version:
            raise ProgramBrokenError(
                name,
                [f"{MANIFEST}: version is {found.manifest.version}, and its folder is {VERSIONS}/{version}."],
            )
        return found

    # Writing ------------------------------------------------------------------------------------------

    def save(self, manifest: Manifest, state: State) -> Stored:
        """Save a program: one that is new comes into force, of one that is there this is a further version.

        Nothing is ever overwritten: a version that is there already, whatever is in it, is refused.
        """
        root, name, version = self._writable(), manifest.name, manifest.version
        files = {MANIFEST: write_manifest(manifest), STATE: write_state(state, manifest)}
        # What could not be read again must not be written.
        read_state(files[STATE], read_manifest(files[MANIFEST], name=name))
        try:
            root.mkdir(mode=0o700, parents=True, exist_ok=True)
            with locked(root), new_folder(root, name, files) as beside, opened_root(root) as outer:
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
                f"The DSPy program {name!r} has a version {version} already, and nothing is overwritten. "
                "Give another version."
            )
        with opened(name, root, name) as folder:
            with suppress(FileExistsError):
                os.mkdir(VERSIONS, 0o700, dir_fd=folder)
            with opened(VERSIONS, folder, name) as kept:
                # A folder takes the place of nothing but an empty one.
                os.rename(beside, version, dst_dir_fd=kept)

    def promote(self, name: str, version: str) -> Stored:
        """Bring a version into force; the one that was is kept among the versions."""
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
        with opened_root(root) as outer, opened(name, outer, name) as folder:
            now = read_files(folder, name)
            with opened(VERSIONS, folder, name) as kept, opened(version, kept, name) as inner:
                then = read_files(inner, name)
            is_kept = old in versions_in(folder)
        if is_kept and self._differs(root, name, old, now):
            raise UsageError(
                f"The DSPy program {name!r} was changed since {old}, which is kept as it was in {VERSIONS}/{old}: what is in "
                f"force would be lost. Give it another version in its {MANIFEST}."
            )
        with (
            new_folder(root, name, dict(zip((MANIFEST, STATE), then, strict=True))) as beside,
            new_folder(root, name, dict(zip((MANIFEST, STATE), now, strict=True))) as before,
        ):
            take_over(root / name, beside, but=(MANIFEST, STATE))
            if not is_kept:
                before.rename(beside / VERSIONS / old)
            exchange(beside, root / name)

    def _differs(self, root: Path, name: str, version: str, files: tuple[bytes, bytes]) -> bool:
        with ExitStack() as stack:
            inner = stack.enter_context(opened_root(root))
            for step in (name, VERSIONS, version):
                inner = stack.enter_context(opened(step, inner, name))
            return read_files(inner, name) != files

    def _writable(self) -> Path:
        if self.root is None:
            raise UsageError(
                "The DSPy programs that come with Halflap cannot be changed. Set `programs.root` to a folder of your own."
            )
        return self.root


_NO_NAME = "the name of its folder takes lower-case letters, digits and _, a letter first, 64 at most, like worklet_selector."


def _key(stored: Stored) -> tuple[str, tuple[str, ...]]:
    return stored.source_hash, stored.versions


def _is_fresh(seen: tuple[object, ...]) -> bool:
    """Say whether any of the times is of just now, or still to come."""
    times = [one[-1] for one in seen if isinstance(one, tuple)]
    now = time.time() - _FRESH_SECONDS
    return any(isinstance(one, int) and one > now * 1e9 for one in times)
