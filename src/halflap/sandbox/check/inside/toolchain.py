"""Where ty runs and what it needs there: a root in memory with nothing but its libraries, or a private folder."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from halflap.sandbox.jail.inside import locks

__all__ = ["Toolchain"]

_IS_LINUX = sys.platform.startswith("linux")
_VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
_SETTINGS = """\
[analysis]
return-type-inference = "always"
"""
_ROOM = b"size=64m,nr_inodes=4k"
_FOLDERS = b"size=32m,nr_inodes=1k,mode=700"
_LOADER_CACHE = "/etc/ld.so.cache"
_LIBRARY = re.compile(r"^\s*(?:(\S+) => )?(/\S+) \(0x", re.MULTILINE)


class Toolchain:
    """ty, opened while it can still be seen, and a place with an empty Python environment for it."""

    def __init__(self, path: str, also: list[str]) -> None:
        """Ask the loader what ty needs; `also` are files and folders that a replacement of ty needs in tests."""
        self._descriptor = os.open(path, os.O_RDONLY)
        self.executable: int | str = self._descriptor if os.execve in os.supports_fd else path
        self.root: str | None = None
        """What precedes every path; None as long as there is no place."""
        self.is_private = False
        """Whether the place is gone with the last process in it."""
        self.environment: dict[str, str] = {}
        self._readable: list[tuple[int, int]] = []
        self._also = also
        self._libraries: dict[str, str] = {}
        if _IS_LINUX:
            # Of a static one the loader says nothing.
            traced = subprocess.run(
                [path, "--version"], env={"LD_TRACE_LOADED_OBJECTS": "1"}, capture_output=True, check=False
            )
            found = _LIBRARY.findall(traced.stdout.decode(errors="replace"))
            self._libraries = {name or library: library for name, library in found}

    @property
    def folders(self) -> str:
        """Where the folders of the examinations are."""
        return f"{self.root}/work"

    @property
    def arguments(self) -> tuple[str, ...]:
        """What ty is called with: nothing is left for it to discover."""
        none = f"{self.root}/none"
        return (
            "check", "--project", ".", "--config-file", f"{none}/ty.toml", "--python", none,
            "--python-version", _VERSION, "--no-respect-ignore-files", "--no-progress", "--color", "never",
            "--output-format", "gitlab", "program.py",
        )  # fmt: skip

    def readable_with(self, folder: str) -> list[tuple[int, int]]:
        """Return what Landlock leaves readable to ty in a folder: descriptors and rights."""
        if not _IS_LINUX:
            return []
        return [*self._readable, (os.open(folder, os.O_PATH | os.O_DIRECTORY), locks.READ | locks.LIST)]

    def leave_files(self) -> None:
        """Leave the files of the machine for a root in memory; wants the namespaces entered."""
        libraries = {
            name if name.startswith("/") else f"/lib/{name}": found for name, found in self._libraries.items()
        }
        also = [
            path for one in map(Path, self._also) for path in ([one] if one.is_file() else one.rglob("*"))
        ]
        files = libraries | {str(path): str(path) for path in also if path.is_file()}
        # Read now: the new root may cover where they lie.
        contents = {name: Path(found).read_bytes() for name, found in files.items()}

        def furnish() -> None:
            for name, body in contents.items():
                path = Path(name.lstrip("/"))
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(body)
                path.chmod(0o555)
            _make_none("none")
            Path("work").mkdir()
            locks.mount_folder("work", _FOLDERS)

        locks.leave_files(furnish, _ROOM)
        self.is_private = True
        self._settle("", [*libraries, *self._also])

    def make_folder(self, candidates: list[str]) -> None:
        """Make a private folder among the files of the machine."""
        for folder in candidates:
            with contextlib.suppress(OSError):
                root = tempfile.mkdtemp(prefix="halflap-check-", dir=folder)
                break
        else:
            raise OSError(f"no folder can be made in {' or '.join(candidates)}")
        try:
            _make_none(f"{root}/none")
            Path(root, "work").mkdir()
            cache = [_LOADER_CACHE] if Path(_LOADER_CACHE).exists() else []
            self._settle(root, [*self._libraries.values(), *self._also, *cache])
        except BaseException:
            shutil.rmtree(root, ignore_errors=True)
            raise

    def _settle(self, root: str, needed: list[str]) -> None:
        # One thread for one file: more would only be started. The home is where ty looks for a user's settings.
        self.environment = {"HOME": f"{root}/none", "TY_MAX_PARALLELISM": "1"}
        if self.is_private:
            self.environment["LD_LIBRARY_PATH"] = "/lib"
        self.root = root
        # No process can list what is at work beside it; names are not to be guessed.
        Path(self.folders).chmod(0o300)
        if _IS_LINUX:
            self._readable.append((self._descriptor, locks.EXECUTE | locks.READ))
            for name in (*needed, f"{root}/none"):
                within = locks.LIST if Path(name).is_dir() else 0
                self._readable.append((os.open(name, os.O_PATH), locks.EXECUTE | locks.READ | within))

    def clear(self) -> None:
        """Leave nothing behind."""
        if self.root is not None and not self.is_private:
            with contextlib.suppress(OSError):
                Path(self.folders).chmod(0o700)
            shutil.rmtree(self.root, ignore_errors=True)


def _make_none(path: str) -> None:
    """Make an empty Python environment, with ty's settings."""
    Path(path, "lib", f"python{_VERSION}", "site-packages").mkdir(parents=True)
    Path(path, "ty.toml").write_text(_SETTINGS, encoding="ascii")
