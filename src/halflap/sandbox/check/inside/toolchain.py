"""Where ty runs: a root in memory with nothing but ty's libraries and one folder, or that folder in the machine's files."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from halflap.sandbox.check.inside.language_server import STUBS
from halflap.sandbox.jail.inside import locks

__all__ = ["Toolchain"]

_IS_LINUX = sys.platform.startswith("linux")
_ROOM = b"size=64m,nr_inodes=4k"
_PRIVATE_FOLDER = "/check"
_LOADER_CACHE = "/etc/ld.so.cache"
_LIBRARY = re.compile(r"^\s*(?:(\S+) => )?(/\S+) \(0x", re.MULTILINE)


class Toolchain:
    """ty, opened while it can still be seen, and the folder it works in.

    ty gets all texts through its connection, but only finds the stubs if there is a file by their name.
    """

    def __init__(self, path: str, also: list[str]) -> None:
        """Ask the loader what ty needs; `also` are files and folders that a replacement of ty needs in tests."""
        self._descriptor = os.open(path, os.O_RDONLY)
        self.executable: int | str = self._descriptor if os.execve in os.supports_fd else path
        self.folder = ""
        """Empty as long as there is none."""
        self.is_private = False
        """Whether the folder vanishes with the last process that can see it."""
        self.readable: list[tuple[int, int]] = []
        """What Landlock leaves readable: descriptors and rights."""
        self._also = also
        self._libraries: dict[str, str] = {}
        if _IS_LINUX:
            # The loader lists nothing for a static executable.
            traced = subprocess.run(
                [path, "--version"], env={"LD_TRACE_LOADED_OBJECTS": "1"}, capture_output=True, check=False
            )
            found = _LIBRARY.findall(traced.stdout.decode(errors="replace"))
            self._libraries = {name or library: library for name, library in found}

    @property
    def environment(self) -> dict[str, str]:
        # There is one file to check: more threads would only be started. The home is where ty looks for a user's settings.
        own = {"HOME": self.folder, "TY_MAX_PARALLELISM": "1", "MALLOC_ARENA_MAX": "1"}
        return own | ({"LD_LIBRARY_PATH": "/lib"} if self.is_private else {})

    def leave_files(self) -> None:
        """Exchange the machine's files for a root in memory. The namespaces must have been entered."""
        libraries = {
            name if name.startswith("/") else f"/lib/{name}": found for name, found in self._libraries.items()
        }
        also = [
            path for one in map(Path, self._also) for path in ([one] if one.is_file() else one.rglob("*"))
        ]
        files = libraries | {str(path): str(path) for path in also if path.is_file()}
        # Read before the new root covers them.
        contents = {name: Path(found).read_bytes() for name, found in files.items()}

        def furnish() -> None:
            for name, body in {**contents, f"{_PRIVATE_FOLDER}/{STUBS}": b""}.items():
                path = Path(name.lstrip("/"))
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(body)
                path.chmod(0o555)

        locks.leave_files(furnish, _ROOM)
        self.is_private = True
        self._settle(_PRIVATE_FOLDER, [*libraries, *self._also])

    def make_folder(self, candidates: list[str]) -> None:
        """Make the folder among the files of the machine."""
        for place in candidates:
            with contextlib.suppress(OSError):
                folder = tempfile.mkdtemp(prefix="halflap-check-", dir=place)
                break
        else:
            raise OSError(f"no folder can be made in {' or '.join(candidates)}")
        try:
            Path(folder, STUBS).touch()
            cache = [_LOADER_CACHE] if Path(_LOADER_CACHE).exists() else []
            self._settle(folder, [*self._libraries.values(), *self._also, *cache])
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def _settle(self, folder: str, needed: list[str]) -> None:
        self.folder = folder
        if _IS_LINUX:
            self.readable.append((self._descriptor, locks.EXECUTE | locks.READ))
            for name in (*needed, folder):
                within = locks.LIST if Path(name).is_dir() else 0
                self.readable.append((os.open(name, os.O_PATH), locks.EXECUTE | locks.READ | within))

    def clear(self) -> None:
        """Remove the folder."""
        if self.folder and not self.is_private:
            shutil.rmtree(self.folder, ignore_errors=True)
