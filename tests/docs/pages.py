"""Plays pages: writes their files, runs their commands and compares the output.

A `console` block holds commands after `$` and what they print; `export NAME=VALUE` holds for the commands after it.
A block with `title=NAME` after its language is a file. In an output, `…` stands for any text in its line, and a line
of its own for any lines.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_STYLE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
COLUMNS = 100


@dataclass(frozen=True)
class Command:
    """A command of a page, and the output shown for it."""

    text: str
    output: str
    line: int


@dataclass(frozen=True)
class File:
    """A file of a page."""

    name: str
    content: str


def parts_of(page: str) -> Iterator[Command | File]:
    """Yield the files and commands of a page, in their order."""
    for block in _BLOCK.finditer(page):
        language, told, content = block.groups()
        title = re.search(r"title=(\S+)", told)
        line = page.count("\n", 0, block.start()) + 2
        if title is not None:
            yield File(title[1].strip('"'), content)
        elif language == "console":
            yield from _commands(content, line)


def _commands(content: str, line: int) -> Iterator[Command]:
    text, at = "", line
    output: list[str] = []
    for number, told in enumerate(content.splitlines(), line):
        if told.startswith("$ "):
            if text:
                yield Command(text, "\n".join(output), at)
            text, output, at = told[2:], [], number
        elif text.endswith("\\"):
            text = f"{text[:-1]}{told.strip()}"
        else:
            output.append(told)
    if text:
        yield Command(text, "\n".join(output), at)


def play(page: Path, home: Path) -> int:
    """Follow a page in a new home; return the number of its commands."""
    folder = home / "work"
    if page.parent.parent.name == "examples":
        shutil.copytree(page.parent, folder)
    folder.mkdir(exist_ok=True)
    count, variables = 0, environment(home)
    for part in parts_of(page.read_text()):
        if isinstance(part, File):
            file = folder / part.name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(part.content)
        elif part.text.startswith("export "):
            name, _, value = part.text.removeprefix("export ").partition("=")
            variables[name] = value.replace("$PWD", str(folder))
        else:
            count += 1
            printed = run(part.text, variables, folder).replace(str(home), "~")
            assert matches(part.output, printed), (
                f"{page.name}, line {part.line}: `{part.text}` printed\n{printed}\nand not\n{part.output}"
            )
    return count


def environment(home: Path) -> dict[str, str]:
    """Return the environment of a person's shell, without anything of the person who runs the tests."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("HALFLAP", "XDG_", "COLUMNS", "NO_COLOR"))
    }
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    return {**kept, "HOME": str(home), "PATH": path, "TERM": "xterm-256color"}


def run(command: str, variables: dict[str, str], folder: Path) -> str:
    """Run a command line on a terminal; return what it prints to stdout, then to stderr."""
    terminal, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
    with tempfile.TemporaryFile() as said, open(os.devnull, "rb") as nothing:  # noqa: PTH123 -- a stream, not a file
        started = subprocess.Popen(
            ["bash", "-c", command], stdin=nothing, stdout=theirs, stderr=said, env=variables, cwd=folder
        )
        os.close(theirs)
        printed = b"".join(iter(lambda: _read(terminal), b""))
        os.close(terminal)
        started.wait(120)
        said.seek(0)
        return _STYLE.sub("", (printed.replace(b"\r\n", b"\n") + said.read()).decode())


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:
        # How Linux reports that the other side is closed.
        return b""


def matches(told: str, printed: str) -> bool:
    """Return whether the output matches what the page shows."""
    pattern = ""
    for line in told.strip("\n").splitlines():
        if line.strip() == "…":
            pattern += r"(?:[^\n]*\n)*?"
        else:
            pattern += ".*?".join(re.escape(piece.rstrip()) for piece in line.rstrip().split("…")) + r"[ ]*\n"
    ours = "".join(f"{line.rstrip()}\n" for line in printed.strip("\n").splitlines())
    return re.fullmatch(pattern, ours) is not None
