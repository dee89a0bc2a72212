"""The `halflap` command, run in this process as if on a terminal or in a pipe."""

from __future__ import annotations

import io
import json
import logging
import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from halflap.cli import main
from support import HALFLAP, python_server

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

OLD = python_server("old", "legacy.py", protocol="legacy")
PLAIN = python_server("plain", "swift.py", protocol="legacy")


def environment(home: Path) -> dict[str, str]:
    """Return an environment in which nothing of the user's is read or written."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HALFLAP", "COLUMNS"))}
    return {
        **kept,
        "HALFLAP_CONFIG_DIR": str(home / "config"),
        "HALFLAP_DATA_DIR": str(home / "data"),
        "TERM": "xterm-256color",
    }


def configure(folder: Path, *servers: Mapping[str, Any], **more: Any) -> str:
    """Write a configuration; return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "halflap-test.json"
    file.write_text(json.dumps({"servers": servers, **more}, indent=1))
    return str(file)


def definitions(folder: Path, *tools: Mapping[str, Any], name: str = "replay") -> dict[str, Any]:
    """Configure a server that offers tools of these definitions, to the letter."""
    file = folder / f"{name}-definitions.json"
    file.write_text(json.dumps({name: {"tools": tools}}))
    return python_server(name, "replay.py", str(file), protocol="legacy")


@dataclass(frozen=True)
class Done:
    """What a run of the command left."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class _Screen(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True

    def readline(self, size: int = -1, /) -> str:  # type: ignore[override]  # as the base class has it
        line = super().readline(size)
        if "\x03" in line:
            raise KeyboardInterrupt
        return line


def halflap(
    *arguments: str,
    home: Path,
    cwd: Path | None = None,
    stdin: bytes = b"",
    typed: str | None = None,
    columns: int | None = None,
    **variables: str,
) -> Done:
    """Run a command in this process; the same code runs as in a process of its own.

    With `columns`, it prints to a terminal of that width; `typed` is what a person answers to its questions,
    where \\x03 is Ctrl-C.
    """
    data = [io.BytesIO(stdin if typed is None else typed.encode()), io.BytesIO(), io.BytesIO()]
    kind = io.TextIOWrapper if columns is None else _Screen
    given = (io.TextIOWrapper if typed is None else _Screen)(data[0], encoding="utf-8")
    out, err = (kind(one, encoding="utf-8", write_through=True) for one in data[1:])
    variables |= {} if columns is None else {"COLUMNS": str(columns)}
    code: object = 0
    with pytest.MonkeyPatch.context() as patch, _logging_kept():
        for name in os.environ:
            patch.delenv(name)
        for name, value in {**environment(home), **variables}.items():
            patch.setenv(name, value)
        patch.chdir(home if cwd is None else cwd)
        patch.setattr(sys, "argv", [HALFLAP, *arguments])
        for name, stream in (("stdin", given), ("stdout", out), ("stderr", err)):
            patch.setattr(sys, name, stream)
        try:
            main()
        except SystemExit as ended:
            code = ended.code
    assert isinstance(code, int)
    return Done(code, data[1].getvalue().decode(), data[2].getvalue().decode())


@contextmanager
def _logging_kept() -> Iterator[None]:
    """Undo what a command does to logging, which it sets up for its whole process."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    levels = {name: logging.getLogger(name).level for name in list(root.manager.loggerDict)}
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
        for name in list(root.manager.loggerDict):
            logging.getLogger(name).setLevel(levels.get(name, logging.NOTSET))
