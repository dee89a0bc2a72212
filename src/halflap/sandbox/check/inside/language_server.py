"""ty as a language server: it has Python's library in memory by the time a program arrives, and answers in milliseconds."""

from __future__ import annotations

import contextlib
import json
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from halflap.sandbox.check.inside.answer import Place

if TYPE_CHECKING:
    import socket

__all__ = ["STUBS", "Diagnostic", "LanguageServer", "TyFailedError"]

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
