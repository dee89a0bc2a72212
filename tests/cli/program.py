"""The real program, run as people and their shells run it."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import logging
import os
import pty
import struct
import subprocess
import sys
import tempfile
import termios
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer.testing import CliRunner

from cli import warm
from halflap.cli.app import app
from support import HALFLAP, PATIENCE, python_server

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

OLD = python_server("old", "legacy.py", protocol="legacy")
SWIFT = python_server("echo", "swift.py", protocol="legacy")
PLAIN = {
    "name": "plain",
    "command": sys.executable,
    "args": [str(Path(__file__).with_name("plain.py"))],
    "protocol": "legacy",
}


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
    """What a run of the program left."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def halflap(
    *arguments: str, home: Path, cwd: Path | None = None, stdin: bytes = b"", **variables: str
) -> Done:
    """Run the program away from any terminal."""
    command = [HALFLAP, *arguments]
    where, folder = {**environment(home), **variables}, home if cwd is None else cwd
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(stdin)
        given.seek(0)
        streams = (given.fileno(), out.fileno(), err.fileno())
        run = warm.start(command, streams, where, folder)
        if run is None:
            code = subprocess.run(
                command,
                stdin=given,
                stdout=out,
                stderr=err,
                env=where,
                cwd=folder,
                timeout=PATIENCE,
                check=False,
            ).returncode
        else:
            code = run.wait(PATIENCE)
        out.seek(0)
        err.seek(0)
        return Done(code, out.read().decode(), err.read().decode())


def inside(*arguments: str, home: Path, stdin: bytes = b"") -> Done:
    """Run a command in this process, which is faster; nothing of it stays."""
    logger = logging.getLogger()
    before = (logger.level, logger.handlers[:])
    levels = {name: logging.getLogger(name).level for name in list(logger.manager.loggerDict)}
    folder = Path.cwd()
    os.chdir(home)
    try:
        done = CliRunner().invoke(app, arguments, input=stdin, env=environment(home))
    finally:
        os.chdir(folder)
        # A command sets up logging for its whole process.
        logger.handlers[:] = before[1]
        logger.setLevel(before[0])
        for name in list(logger.manager.loggerDict):
            logging.getLogger(name).setLevel(levels.get(name, logging.NOTSET))
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Done(done.exit_code, done.stdout, done.stderr)


def at_once(runs: Mapping[str, Sequence[str]], home: Path) -> dict[str, Done]:
    """Run the program several times side by side: most of a run is waiting for it to start."""
    return side_by_side({name: partial(halflap, *arguments, home=home) for name, arguments in runs.items()})


def side_by_side(jobs: Mapping[str, Callable[[], Done]]) -> dict[str, Done]:
    with ThreadPoolExecutor(4) as pool:
        waiting = {name: pool.submit(job) for name, job in jobs.items()}
        return {name: job.result() for name, job in waiting.items()}


def in_terminal(
    *arguments: str,
    home: Path,
    cwd: Path | None = None,
    columns: int = 80,
    answers: Mapping[str, str] | None = None,
) -> Done:
    """Run the program on a terminal; each question gets its answer when it has been asked."""
    waiting = dict(answers or {})
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    run = warm.start(
        [HALFLAP, *arguments], [theirs, theirs, theirs], environment(home), home if cwd is None else cwd
    )
    os.close(theirs)
    assert run is not None, "A terminal is for what people type."
    seen = ""
    with contextlib.closing(os.fdopen(ours, "r+b", buffering=0)) as terminal:
        while True:
            try:
                data = terminal.read(65536)
            except OSError as error:
                assert error.errno == errno.EIO  # noqa: PT017 -- how Linux says that the other side is closed
                break
            if not data:
                break
            seen += data.decode(errors="replace")
            for question in [question for question in waiting if question in seen]:
                terminal.write(waiting.pop(question).encode())
    return Done(run.wait(PATIENCE), seen.replace("\r\n", "\n"), "")
