"""A run of ty: its process, and its report (`--output-format gitlab`) with rule, place and message of each diagnostic."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from typing import Any, NamedTuple

from halflap.sandbox.check.inside.tree import Place

__all__ = ["Diagnostic", "Ty", "TyError", "read_report"]

_PROGRAM, _STUBS = "program.py", "__builtins__.pyi"
_MAX_PRINTED = 4 * 1024 * 1024
_FOUND_SOMETHING = 1
_SYNTAX = "invalid-syntax"


class TyError(Exception):
    """ty failed; the message says how."""


class Diagnostic(NamedTuple):
    """What ty says about a place in the program."""

    rule: str
    place: Place
    message: str


class Ty:
    """A process that is locked and waits to become ty, once there is a program in its folder."""

    def __init__(self, folder: str, lock: Callable[[], None], execute: Callable[[], None]) -> None:
        self._folder = folder
        self._printed, write = os.pipe()
        ready, self._go = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                os.close(self._go)
                os.dup2(write, 1)
                os.chdir(folder)
                lock()
                if os.read(ready, 1):
                    execute()
            finally:
                os._exit(127)
        os.close(write)
        os.close(ready)

    def run(self, text: str, stubs: str) -> list[Diagnostic]:
        _write(f"{self._folder}/{_PROGRAM}", text)
        _write(f"{self._folder}/{_STUBS}", stubs)
        os.write(self._go, b"!")
        os.close(self._go)
        output = self._read()
        _, status = os.waitpid(self._pid, 0)
        ended = os.waitstatus_to_exitcode(status)
        if len(output) >= _MAX_PRINTED:
            raise TyError("ty printed too much")
        if ended not in {0, _FOUND_SOMETHING}:
            raise TyError(_ending(ended))
        return read_report(output)

    def _read(self) -> bytes:
        parts, size = [], 0
        while size < _MAX_PRINTED and (part := os.read(self._printed, 1 << 16)):
            parts.append(part)
            size += len(part)
        os.close(self._printed)
        return b"".join(parts)


def _write(name: str, text: str) -> None:
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        rest = memoryview(text.encode("utf-8", "surrogatepass"))
        while rest:
            rest = rest[os.write(descriptor, rest) :]
    finally:
        os.close(descriptor)


def read_report(printed: bytes) -> list[Diagnostic]:
    every = json.loads(printed.decode("utf-8", "replace"))
    if not isinstance(every, list):
        raise TypeError("ty's report is no list")
    # ty knows no `await` outside a function. The program compiles, so there is no mistake in its syntax.
    return [one for one in map(_diagnostic, every) if one is not None and one.rule != _SYNTAX]


def _diagnostic(one: dict[str, Any]) -> Diagnostic | None:
    rule, where = one["check_name"], one["location"]
    if where["path"] != _PROGRAM:
        return None
    begin, end = where["positions"]["begin"], where["positions"]["end"]
    place = Place(begin["line"], begin["column"], end["line"], end["column"])
    return Diagnostic(rule, place, one["description"].removeprefix(f"{rule}: "))


def _ending(status: int) -> str:
    try:
        return f"ty crashed ({signal.Signals(-status).name})"
    except ValueError:
        return f"ty failed with status {status}"
