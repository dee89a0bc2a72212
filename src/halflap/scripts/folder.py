"""The folder in which scripts are saved: private, written atomically, and untrusted when read."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from halflap.core.errors import ScriptError, UsageError
from halflap.scripts.definition import Definition, read_definition

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["Folder", "Script", "Shelf", "decode", "read_file"]

_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_MAX_BYTES = 262_144
_MAX_SCRIPTS = 1_000
_SUFFIX = ".py"
_State = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Script:
    """A saved script as it was when it was read."""

    name: str
    code: str
    definition: Definition


@dataclass(frozen=True, slots=True)
class Shelf:
    """Everything in the folder at one moment."""

    scripts: Mapping[str, Script] = field(default_factory=dict)
    broken: Mapping[str, str] = field(default_factory=dict)
    """Why a file cannot be used, by its name without `.py`."""


class Folder:
    """The saved scripts. Its methods do blocking I/O: call them from a thread, one at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._shelf = Shelf()
        self._states: dict[str, _State] = {}

    def read(self) -> Shelf:
        """Return what is there now; the same object as before if nothing has changed."""
        states = self._fingerprints()
        if states == self._states:
            return self._shelf
        scripts: dict[str, Script] = {}
        broken: dict[str, str] = {}
        for place, (name, state) in enumerate(sorted(states.items())):
            known = self._shelf.scripts.get(name)
            if known is not None and self._states.get(name) == state:
                scripts[name] = known
            elif place >= _MAX_SCRIPTS:
                broken[name] = f"there are more than {_MAX_SCRIPTS:,} scripts in the folder."
            else:
                try:
                    check_name(name)
                    code = read_file(self._file(name))
                    scripts[name] = Script(name, code, read_definition(code))
                except (ScriptError, UsageError) as error:
                    broken[name] = str(error)
        self._states, self._shelf = states, Shelf(scripts, broken)
        return self._shelf

    def save(self, name: str, code: str, *, force: bool = False) -> Script:
        """Save a script; an existing one is replaced only with `force`."""
        check_name(name)
        if len(code.encode()) > _MAX_BYTES:
            raise ScriptError(f"it is larger than {_MAX_BYTES:,} bytes.")
        script = Script(name, code, read_definition(code))
        file = self._file(name)
        exists = UsageError(
            f"There is already a script {name!r}. `halflap scripts show {name}` shows it; --force replaces it."
        )
        if os.path.lexists(file) and not force:
            raise exists
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.path.chmod(0o700)
            self._write(file, code, force=force)
        except OSError as error:
            if isinstance(error, FileExistsError) and self.path.is_dir():
                raise exists from None
            raise ScriptError(f"{file} cannot be written: {error.strerror}.") from error
        return script

    def _write(self, file: Path, code: str, *, force: bool) -> None:
        beside = self.path / f".{file.stem}.{secrets.token_hex(8)}.tmp"
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as target:
                target.write(code.encode())
                target.flush()
                os.fsync(target.fileno())
            if force:
                beside.replace(file)
            else:
                # Unlike a rename, a link never replaces a file that was created meanwhile.
                os.link(beside, file)
        finally:
            beside.unlink(missing_ok=True)

    def remove(self, name: str) -> None:
        """Remove a script, broken or not."""
        try:
            self._file(name).unlink()
        except OSError as error:
            raise ScriptError(f"{self._file(name)} cannot be removed: {error.strerror}.") from error

    def _file(self, name: str) -> Path:
        return self.path / f"{name}{_SUFFIX}"

    def _fingerprints(self) -> dict[str, _State]:
        """Return what changes whenever a file does, by its name."""
        states: dict[str, _State] = {}
        with contextlib.suppress(OSError), os.scandir(self.path) as entries:
            for entry in entries:
                if entry.name.endswith(_SUFFIX) and not entry.name.startswith("."):
                    with contextlib.suppress(OSError):
                        seen = entry.stat(follow_symlinks=False)
                        states[entry.name.removesuffix(_SUFFIX)] = (
                            seen.st_ino, seen.st_mode, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns,
                        )  # fmt: skip
        return states


def check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot be the name of a script. Use up to 64 lower-case letters, digits and _, starting with a "
            "letter: weekly_report."
        )


def read_file(path: Path, *, follow: bool = False) -> str:
    """Read a file that should be a script; refuse links (unless `follow`), special files and large ones."""
    try:
        # Opening a pipe must not wait for someone to write to it.
        link = 0 if follow else os.O_NOFOLLOW
        descriptor = os.open(path, os.O_RDONLY | link | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise ScriptError("it is a symbolic link. Use the file that it points to.") from None
        raise ScriptError(f"it cannot be read: {error.strerror}.") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ScriptError("it is not a plain file.")
    with os.fdopen(descriptor, "rb") as file:
        return decode(file.read(_MAX_BYTES + 1))


def decode(data: bytes) -> str:
    """Return the text of a script."""
    if len(data) > _MAX_BYTES:
        raise ScriptError(f"it is larger than {_MAX_BYTES:,} bytes. Let it get its data through tools.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ScriptError(f"line {line}: it is not UTF-8 text.") from None
