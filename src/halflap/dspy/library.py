"""The folder of DSPy programs, one sub-folder each: untrusted when read, never overwritten when written.

`<name>/manifest.json` and `state.json` are the active version; others are kept in `<name>/versions/<version>/`. Readers
share a lock on the folder and writers hold it alone, so no reader sees half of a change.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import stat
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from halflap.core.errors import FileError, ProgramBrokenError, ProgramNotFoundError, UsageError
from halflap.core.text import quote, visible
from halflap.dspy.manifest import MANIFEST, read_manifest, write_manifest
from halflap.dspy.spec import NAME, VERSION
from halflap.dspy.state import STATE, read_state, write_state

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from halflap.dspy.spec import Manifest
    from halflap.dspy.state import State

    Files = tuple[bytes, bytes]
    """The manifest and the state, as they are on disk."""

__all__ = ["SHIPPED", "Library", "Shelf", "Stored", "source_hash", "version_order"]

SHIPPED = Path(__file__).parent / "shipped"
"""The programs that come with Halflap."""
_VERSIONS = "versions"
_MAX_PROGRAMS = 1_000
_MAX_BYTES = {MANIFEST: 262_144, STATE: 4_194_304}
_MAX_SHOWN = 100
_LOCK_SECONDS = 10.0
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
        self._place = root or SHIPPED
        self._shelf = Shelf()
        self._seen: Mapping[str, object] | None = None

    def read(self) -> Shelf:
        """Return what is there now; the same object as before if nothing has changed."""
        try:
            with _locked(self._place, fcntl.LOCK_SH):
                return self._read()
        except OSError as error:
            advice = "Create it, or" if isinstance(error, FileNotFoundError) else "Make it readable, or"
            problem = f"{self.root} cannot be read: {error.strerror}. {advice} change `programs.root`."
            if problem != self._shelf.problem:
                self._seen, self._shelf = None, Shelf(problem=problem)
            return self._shelf

    def version(self, name: str, version: str) -> Stored:
        """Read one version of a program, active or not."""
        with _locked(self._place, fcntl.LOCK_SH):
            return self._version(self._read().find(name), version)

    def save(self, manifest: Manifest, state: State) -> Stored:
        """Save a program. A new one is active at once; of an existing one, this is a further version."""
        files = write_manifest(manifest), write_state(state, manifest)
        # Never write what could not be read again.
        read_state(files[1], read_manifest(files[0], name=manifest.name))
        with self._writing(manifest.name) as folder:
            target = folder
            if os.path.lexists(folder):
                if manifest.version in self._read().find(manifest.name).versions:
                    raise UsageError(
                        f"The DSPy program {quote(manifest.name)} already has a version {manifest.version}, and nothing is "
                        "overwritten. Choose another version."
                    )
                target = folder / _VERSIONS / manifest.version
            _write_folder(target, files)
            return self._version(self._read().find(manifest.name), manifest.version)

    def promote(self, name: str, version: str) -> Stored:
        """Make a version the active one; the previous one is kept among the versions."""
        self.read().find(name)
        with self._writing(name) as folder:
            stored = self._read().find(name)
            if self._version(stored, version) is stored:
                return stored
            now, kept = self._files(folder), folder / _VERSIONS / stored.manifest.version
            if not kept.exists():
                _write_folder(kept, now)
            elif self._files(kept) != now:
                raise UsageError(
                    f"The active {quote(name)} differs from {_VERSIONS}/{kept.name}, so promoting another version would lose "
                    f"it. Change the version in its {MANIFEST} first."
                )
            for file, data in zip(
                (STATE, MANIFEST), reversed(self._files(kept.with_name(version))), strict=True
            ):
                beside = folder / f".{file}.{secrets.token_hex(8)}"
                _write_file(beside, data)
                beside.replace(folder / file)
            return self._read().find(name)

    def _read(self) -> Shelf:
        """Read what changed; the caller holds the lock."""
        names = sorted(
            one.name
            for one in self._place.iterdir()
            if not one.name.startswith(".") and (one.is_dir() or (one.is_symlink() and not one.is_file()))
        )
        seen = {name: _fingerprint(self._place / name) for name in names}
        if seen == self._seen:
            return self._shelf
        programs: dict[str, Stored] = {}
        broken: dict[str, str] = {}
        for place, name in enumerate(names):
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
                    found = self._read_one(name, self._place / name)
                except ProgramBrokenError as error:
                    broken[name] = "\n".join(error.problems)
                else:
                    programs[name] = known if known == found else found
        self._seen = {name: object() if _is_fresh(one) else one for name, one in seen.items()}
        shelf = Shelf(programs, broken)
        if shelf != self._shelf:
            self._shelf = shelf
        return self._shelf

    def _read_one(self, name: str, folder: Path) -> Stored:
        files = self._files(folder)
        manifest = read_manifest(files[0], name=name)
        versions = self._place / name / _VERSIONS
        kept = [] if versions.is_symlink() or not versions.is_dir() else list(versions.iterdir())
        others = {
            one.name for one in kept if VERSION.fullmatch(one.name) and one.is_dir() and not one.is_symlink()
        }
        return Stored(
            manifest=manifest,
            state=read_state(files[1], manifest),
            source_hash=source_hash(*files),
            folder=None if self.root is None else folder,
            versions=tuple(sorted({manifest.version, *others}, key=version_order)),
        )

    def _version(self, stored: Stored, version: str) -> Stored:
        if version == stored.manifest.version:
            return stored
        if version not in stored.versions:
            raise UsageError(
                f"The DSPy program {quote(stored.name)} has no version {quote(version)}. "
                f"Versions: {', '.join(stored.versions)}."
            )
        found = self._read_one(stored.name, self._place / stored.name / _VERSIONS / version)
        if found.manifest.version != version:
            wrong = (
                f"{MANIFEST}: version is {found.manifest.version}, but its folder is {_VERSIONS}/{version}."
            )
            raise ProgramBrokenError(stored.name, [wrong])
        return found

    def _files(self, folder: Path) -> Files:
        """Read both files of a folder; links below the root, which could lead anywhere, are not followed."""
        problems = [
            f"its folder {one.name} is a symbolic link, which is not followed."
            for one in (folder, *folder.parents)
            if one.is_relative_to(self._place) and one != self._place and one.is_symlink()
        ]
        manifest, state = (
            (b"", b"") if problems else (_read_file(folder / one, problems) for one in (MANIFEST, STATE))
        )
        if problems:
            raise ProgramBrokenError(folder.name, problems)
        return manifest, state

    @contextmanager
    def _writing(self, name: str) -> Iterator[Path]:
        """Hold the folder alone; yield that of a program."""
        if self.root is None:
            raise UsageError(
                "The DSPy programs that come with Halflap cannot be changed. Set `programs.root` to a folder of your own."
            )
        folder = self.root / name
        try:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            with _locked(self.root, fcntl.LOCK_EX):
                if (folder / _VERSIONS).is_symlink():
                    raise ProgramBrokenError(name, [f"its folder {_VERSIONS} is a symbolic link."])
                yield folder
        except OSError as error:
            raise FileError(f"{folder} cannot be written: {error.strerror}.") from error


@contextmanager
def _locked(root: Path, how: int) -> Iterator[None]:
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        until = time.monotonic() + _LOCK_SECONDS
        while True:
            try:
                fcntl.flock(descriptor, how | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise FileError(f"Another Halflap process is writing to {root}. Try again.") from None
                time.sleep(0.01)
        yield
    finally:
        os.close(descriptor)


def _fingerprint(folder: Path) -> tuple[tuple[int, ...], ...]:
    """Return what changes whenever a program does, without reading it."""
    return tuple(_stat(folder / one) for one in (".", MANIFEST, STATE, _VERSIONS))


def _stat(path: Path) -> tuple[int, ...]:
    try:
        one = path.lstat()
    except OSError as error:
        return (error.errno or 0,)
    return (one.st_dev, one.st_ino, one.st_mode, one.st_size, one.st_ctime_ns, one.st_mtime_ns)


def _is_fresh(fingerprint: tuple[tuple[int, ...], ...]) -> bool:
    latest = (time.time() - _SETTLED_SECONDS) * 1e9
    return any(one[-1] > latest for one in fingerprint)


def _read_file(path: Path, problems: list[str]) -> bytes:
    try:
        # Before it is opened, since opening a device may have effects.
        if not stat.S_ISREG(path.lstat().st_mode):
            what = "a symbolic link, which is not followed" if path.is_symlink() else "not a plain file"
            problems.append(f"{path.name} is {what}.")
            return b""
        with os.fdopen(
            os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb"
        ) as source:
            data = source.read(_MAX_BYTES[path.name] + 1)
    except FileNotFoundError:
        pickles = [one.name for one in path.parent.iterdir() if one.suffix in {".pkl", ".pickle"}]
        advice = (
            f" {min(pickles)} could run code, so it is never opened: `halflap programs export`."
            if pickles
            else ""
        )
        problems.append(f"{path.name} is missing.{advice}")
        return b""
    except OSError as error:
        problems.append(f"{path.name} cannot be read: {error.strerror}.")
        return b""
    if len(data) > _MAX_BYTES[path.name]:
        problems.append(f"{path.name} is larger than {_MAX_BYTES[path.name]:,} bytes.")
    return data


def _write_folder(target: Path, files: Files) -> None:
    """Write a folder that appears whole, or not at all."""
    target.parent.mkdir(mode=0o700, exist_ok=True)
    beside = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    beside.mkdir(mode=0o700)
    try:
        for file, data in zip((MANIFEST, STATE), files, strict=True):
            _write_file(beside / file, data)
        beside.rename(target)
    except BaseException:
        shutil.rmtree(beside)
        raise


def _write_file(path: Path, data: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as target:
        target.write(data)
        target.flush()
        os.fsync(target.fileno())
