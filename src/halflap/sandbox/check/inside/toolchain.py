"""Where ty runs and what it needs there: a root in memory with nothing but its libraries, or a private folder."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from halflap.sandbox.jail.inside import locks

__all__ = ["Place", "Tool", "find_tool", "leave_for_a_place", "make_a_place"]

_VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
_SETTINGS = """\
[analysis]
return-type-inference = "always"
respect-type-ignore-comments = false
"""
"""Who overrides the check does so line by line, which is seen to elsewhere: not with one comment for all."""
_ROOM = b"size=64m,nr_inodes=4k"
_FOLDERS = b"size=32m,nr_inodes=1k,mode=700"
_LOADER_CACHE = "/etc/ld.so.cache"
_LIBRARY = re.compile(r"^\s*(?:(\S+) => )?(/\S+) \(0x", re.MULTILINE)


@dataclass(frozen=True)
class Tool:
    """An executable that is open, and the files that the loader needs for it."""

    path: str
    descriptor: int
    libraries: dict[str, str]
    """By the name under which each is asked for."""
    also: tuple[str, ...] = ()
    """In tests only: files and folders for the program that plays ty."""


def find_tool(path: str, also: tuple[str, ...]) -> Tool:
    """Open ty, while we may still see it, and ask the loader what it needs. Static ones need nothing."""
    descriptor = os.open(path, os.O_RDONLY)
    libraries: dict[str, str] = {}
    if sys.platform.startswith("linux"):
        libraries = {name or found: found for name, found in _LIBRARY.findall(_trace(path))}
    return Tool(path, descriptor, libraries, also)


def _trace(path: str) -> str:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.dup2(writing, 1)
            os.execve(path, [path, "--version"], {"LD_TRACE_LOADED_OBJECTS": "1"})  # noqa: S606 -- our own ty
        finally:
            os._exit(127)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8", errors="replace") as told:
        text = told.read()
    os.waitpid(pid, 0)
    return text


@dataclass
class Place:
    """A folder for each examination, beside an empty Python environment and an empty configuration."""

    root: str
    """What is before every path."""
    environment: dict[str, str]
    readable: list[tuple[int, int]] = field(default_factory=list)
    is_private: bool = False
    """Whether it is gone with the last process in it."""

    @property
    def folders(self) -> str:
        """Where the folders of the examinations are."""
        return f"{self.root}/work"

    def clear(self) -> None:
        """Leave nothing behind; what is private is gone with us."""
        if not self.is_private:
            with contextlib.suppress(OSError):
                Path(self.folders).chmod(0o700)
            shutil.rmtree(self.root, ignore_errors=True)

    @property
    def arguments(self) -> tuple[str, ...]:
        """What ty is called with: nothing is left for it to discover."""
        none = f"{self.root}/none"
        return (
            "check", "--project", ".", "--config-file", f"{none}/ty.toml", "--python", none,
            "--python-version", _VERSION, "--no-respect-ignore-files", "--no-progress", "--color", "never",
            "--output-format", "gitlab", "program.py",
        )  # fmt: skip


def leave_for_a_place(tool: Tool) -> Place:
    """Leave the files of the machine for a root in memory; wants the namespaces entered."""
    libraries = {
        name if name.startswith("/") else f"/lib/{name}": found for name, found in tool.libraries.items()
    }
    files = libraries | {name: name for name in _files(tool.also)}
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
    # Nobody can list what is at work beside him; names are not to be guessed.
    os.chmod("/work", 0o300)  # noqa: PTH101 -- as above
    place = Place("", _environment("", "/lib"), is_private=True)
    _allow(place, tool, [*libraries, *tool.also])
    return place


def _files(paths: tuple[str, ...]) -> list[str]:
    every = [one for path in map(Path, paths) for one in ([path] if path.is_file() else path.rglob("*"))]
    return [str(one) for one in every if one.is_file()]


def make_a_place(tool: Tool, candidates: list[str]) -> Place:
    """Make a private folder among the files of the machine."""
    for folder in candidates:
        try:
            root = tempfile.mkdtemp(prefix="halflap-check-", dir=folder)
        except OSError:
            continue
        break
    else:
        raise OSError(f"no folder can be made in {' or '.join(candidates)}")
    place = Place(root, _environment(root, ""))
    try:
        _make_none(f"{root}/none")
        Path(root, "work").mkdir(mode=0o300)
        _allow(place, tool, [*tool.libraries.values(), *tool.also])
    except BaseException:
        place.clear()
        raise
    return place


def _make_none(path: str) -> None:
    Path(path, "lib", f"python{_VERSION}", "site-packages").mkdir(parents=True)
    Path(path, "ty.toml").write_text(_SETTINGS, encoding="ascii")


def _environment(root: str, libraries: str) -> dict[str, str]:
    # One thread for one file: more would only be started. The home is where ty looks for a user's settings.
    environment = {"HOME": f"{root}/none", "TY_MAX_PARALLELISM": "1"}
    return environment | ({"LD_LIBRARY_PATH": libraries} if libraries else {})


def _allow(place: Place, tool: Tool, files: list[str]) -> None:
    """Note what Landlock is to leave readable: ty, its libraries, and nothing where everything is empty."""
    if not sys.platform.startswith("linux"):
        return
    run = locks.EXECUTE | locks.READ
    place.readable.append((tool.descriptor, run))
    for name in files:
        within = locks.LIST if Path(name).is_dir() else 0
        place.readable.append((os.open(name, os.O_PATH), run | within))
    place.readable.append((os.open(f"{place.root}/none", os.O_PATH), locks.READ | locks.LIST))
    if not place.is_private and Path(_LOADER_CACHE).exists():
        place.readable.append((os.open(_LOADER_CACHE, os.O_PATH), locks.READ))
