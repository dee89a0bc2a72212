"""ty: where it runs, and how it is asked.

It runs in a root in memory with nothing but its libraries and one folder, or in that folder in the machine's files. As a
language server it has Python's library in memory by the time a program arrives, and answers in milliseconds.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from halflap.sandbox.check.inside.answer import Place
from halflap.sandbox.jail.inside import locks

if TYPE_CHECKING:
    import socket

STUBS = "__builtins__.pyi"
"""ty uses this file as the builtins of all files next to it."""
_PROGRAM = "program.py"
_VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
_SETTINGS = {"environment": {"python-version": _VERSION}, "analysis": {"return-type-inference": "always"}}
_ENCODING = "utf-32"
"""Columns count characters."""
_MAX_MESSAGE = 4 * 1024 * 1024
_HINT = 4
_WARM_UP = """\
import asyncio, collections, dataclasses, datetime, itertools, json, math, re, statistics, typing
async def total(rows: list[dict[str, typing.Any]]) -> float:
    by_name = collections.defaultdict(list)
    for number, row in enumerate(sorted(rows, key=lambda one: one["name"])):
        by_name[row["name"].strip().lower()].append(round(row.get("amount", 0), 2) + number)
    print("; ".join(f"{name}: {max(found)}" for name, found in by_name.items()), json.dumps(rows[:10]))
    return sum(await asyncio.gather(*(asyncio.sleep(0, len(one)) for one in zip(by_name, rows))))
"""
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


class TyFailedError(Exception):
    """ty ended, or does not speak the protocol."""


class Diagnostic(NamedTuple):
    """What ty reports about a place in the program."""

    rule: str
    place: Place
    message: str


class LanguageServer:
    """A running `ty server` that knows two files: one program and its builtins."""

    def __init__(self, connection: socket.socket, folder: str) -> None:
        self._connection = connection
        self._messages = connection.makefile("rb")
        self._folder = f"file://{folder}"
        self._last_request = 0
        self._version = 0

    def start(self) -> None:
        """Do the handshake."""
        started = self._request(
            "initialize",
            capabilities={"general": {"positionEncodings": [_ENCODING]}, "textDocument": {"diagnostic": {}}},
            initializationOptions={"configuration": _SETTINGS},
            processId=None,
            workspaceFolders=[{"uri": self._folder, "name": "check"}],
        )
        if self._result(started)["capabilities"].get("positionEncoding") != _ENCODING:
            raise TyFailedError("it does not count columns in characters")
        self._notify("initialized")
        for name in (STUBS, _PROGRAM):
            document = {"uri": self._uri(name), "languageId": "python", "version": self._version, "text": ""}
            self._notify("textDocument/didOpen", textDocument=document)

    def warm_up(self) -> None:
        """Make ty load what most programs need, without waiting for it."""
        self._update(_WARM_UP, "")

    def diagnostics(self, program: str, stubs: str) -> list[Diagnostic]:
        """Return what ty reports about a program with these builtins."""
        reported = self._result(self._update(program, stubs))["items"]
        return [_diagnostic(one) for one in reported if one.get("severity") != _HINT]

    def _update(self, program: str, stubs: str) -> int:
        self._version += 1
        for name, text in ((STUBS, stubs), (_PROGRAM, program)):
            document = {"uri": self._uri(name), "version": self._version}
            self._notify("textDocument/didChange", textDocument=document, contentChanges=[{"text": text}])
        return self._request("textDocument/diagnostic", textDocument={"uri": self._uri(_PROGRAM)})

    def _uri(self, name: str) -> str:
        return f"{self._folder}/{name}"

    def _request(self, method: str, **parameters: Any) -> int:
        self._last_request += 1
        self._send({"id": self._last_request, "method": method, "params": parameters})
        return self._last_request

    def _notify(self, method: str, **parameters: Any) -> None:
        self._send({"method": method, "params": parameters})

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            # If it has ended, reading finds that out.
            self._connection.sendall(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def _result(self, request: int) -> Any:
        """Wait for the answer to a request; other messages are of no interest."""
        try:
            while (message := json.loads(self._read())).get("id") != request:
                pass
            return message["result"]
        except (OSError, ValueError, LookupError, AttributeError) as error:
            raise TyFailedError("it crashed or its answer could not be read") from error

    def _read(self) -> bytes:
        length = 0
        while line := self._messages.readline(_MAX_MESSAGE).strip():
            name, colon, value = line.partition(b":")
            if not colon:
                raise ValueError("a line that is no header")
            if name.lower() == b"content-length":
                length = int(value)
        if not 0 < length <= _MAX_MESSAGE:
            raise ValueError(f"a message of {length} bytes")
        return self._messages.read(length)


def _diagnostic(reported: dict[str, Any]) -> Diagnostic:
    start, end = reported["range"]["start"], reported["range"]["end"]
    place = Place(start["line"] + 1, start["character"] + 1, end["line"] + 1, end["character"] + 1)
    return Diagnostic(str(reported["code"]), place, reported["message"].partition("\n")[0])
