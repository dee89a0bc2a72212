"""The folder in which scripts are saved: private, written atomically, and untrusted when read."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from halflap.core.errors import ScriptError, UsageError
from halflap.core.files import read_limited, replacing
from halflap.scripts.definition import Definition, read_definition

_MAX_BYTES = 262_144
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


@dataclass(frozen=True, slots=True)
class Script:
    """A saved script as it was when it was read."""

    name: str
    code: str
    definition: Definition


@dataclass(frozen=True, slots=True)
class SavedScripts:
    """Everything in the folder at one moment."""

    scripts: Mapping[str, Script] = field(default_factory=dict)
    broken: Mapping[str, str] = field(default_factory=dict)
    """Why a file cannot be used, by its name without `.py`."""


class ScriptFolder:
    """The saved scripts. Its methods do blocking I/O: call them from a thread, one at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._saved = SavedScripts()

    def read(self) -> SavedScripts:
        """Return what is there now; the same object as before if nothing has changed."""
        scripts: dict[str, Script] = {}
        broken: dict[str, str] = {}
        for file in sorted(self.path.glob("*.py")):
            name = file.stem
            if name.startswith("."):
                continue
            try:
                _check_name(name)
                code = read_file(file, follow=False)
                known = self._saved.scripts.get(name)
                if known is None or known.code != code:
                    known = Script(name, code, read_definition(code))
                scripts[name] = known
            except (ScriptError, UsageError) as error:
                broken[name] = str(error)
        saved = SavedScripts(scripts, broken)
        if saved != self._saved:
            self._saved = saved
        return self._saved

    def save(self, name: str, code: str, *, force: bool = False) -> Script:
        """Save a script; an existing one is replaced only with `force`."""
        _check_name(name)
        script = Script(name, decode(code.encode()), read_definition(code))
        file = self._file(name)
        if os.path.lexists(file) and not force:
            raise UsageError(
                f"There is already a script {name!r}. `halflap scripts show {name}` shows it; --force replaces it."
            )
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.path.chmod(0o700)
            with replacing(file) as target:
                target.write(code.encode())
        except OSError as error:
            raise ScriptError(f"{file} cannot be written: {error.strerror}.") from error
        return script

    def remove(self, name: str) -> None:
        """Remove a script, broken or not."""
        try:
            self._file(name).unlink()
        except OSError as error:
            raise ScriptError(f"{self._file(name)} cannot be removed: {error.strerror}.") from error

    def _file(self, name: str) -> Path:
        return self.path / f"{name}.py"


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot be the name of a script. Use up to 64 lower-case letters, digits and _, starting with a "
            "letter: weekly_report."
        )


def read_file(path: Path, *, follow: bool) -> str:
    """Read a script; refuse special files and large ones, and links unless they are to be followed."""
    try:
        return decode(read_limited(path, _MAX_BYTES, regular=True, follow=follow)[0])
    except OSError as error:
        raise ScriptError(f"it cannot be read: {error.strerror}.") from None


def decode(data: bytes) -> str:
    """Return the text of a script."""
    if len(data) > _MAX_BYTES:
        raise ScriptError(f"it is larger than {_MAX_BYTES // 1024} KiB. Let it get its data through tools.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ScriptError(f"line {line}: it is not UTF-8 text.") from None
