"""Stores to test with: SQLite files, and databases on a PostgreSQL server of the tests' own."""

from __future__ import annotations

import asyncio
import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from halflap.store import open_store
from support import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from halflap.store import Store

_numbers = itertools.count(1)


def _programs() -> tuple[str, str]:
    """Find PostgreSQL, which Debian does not put on the path, or skip, saying why."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    path = os.pathsep.join([os.environ.get("PATH", ""), *map(str, folders)])
    found = shutil.which("initdb", path=path), shutil.which("postgres", path=path)
    if found[0] is None or found[1] is None:
        pytest.skip("needs the programs initdb and postgres; on Debian: apt-get install postgresql")
    return found[0], found[1]


def _owner() -> dict[str, Any]:
    """Return the user to run it as: PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = names.get("postgres") or names["nobody"]
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


@pytest.fixture(scope="session")
def postgres() -> Iterator[Callable[[], str]]:
    """Start a PostgreSQL server of our own; yield a function that makes a new database and returns its URL."""
    initdb, program = _programs()
    psycopg = pytest.importorskip("psycopg", reason="needs psycopg: pip install 'halflap[postgres]'")
    owner = _owner()
    with ExitStack() as stack:
        # Not in pytest's own folder, which another user may not enter; and a socket's path must be short.
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="halflap-pg-")))
        if owner:
            os.chown(folder, owner["user"], owner["group"])
        data = folder / "data"
        options = ["--auth=trust", "--username=halflap", "--encoding=UTF8", "--locale=C", "--no-sync"]
        subprocess.run(
            [initdb, "-D", str(data), *options], check=True, capture_output=True, cwd=folder, **owner
        )
        log = stack.enter_context((folder / "log").open("wb"))
        command = [program, "-D", str(data), "-k", str(folder), "-c", "listen_addresses=", "-F"]
        server = stack.enter_context(
            subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=folder, **owner)
        )
        # At once, also if a test that failed has left a connection open.
        stack.callback(server.send_signal, signal.SIGINT)
        until = time.monotonic() + PATIENCE
        while True:
            try:
                admin = psycopg.connect(host=str(folder), user="halflap", dbname="postgres", autocommit=True)
                break
            except psycopg.OperationalError:
                if server.poll() is not None or time.monotonic() > until:
                    pytest.fail(f"PostgreSQL did not start: {(folder / 'log').read_text()}")
                time.sleep(0.05)
        stack.callback(admin.close)

        def create() -> str:
            name = f"store{next(_numbers)}"
            admin.execute(f"CREATE DATABASE {name}")
            return f"postgresql+psycopg://halflap@/{name}?host={folder}"

        yield create


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str | Path:
    """Return the place of a store that does not exist yet, on each kind of database."""
    if request.param == "sqlite":
        return tmp_path / "data" / "halflap.db"
    create: Callable[[], str] = request.getfixturevalue("postgres")
    return create()


@pytest.fixture
def store(place: str | Path) -> Iterator[Store]:
    """Return an open store on each kind of database."""
    opened = asyncio.run(open_store(place))
    yield opened
    asyncio.run(opened.close())


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return the path of a SQLite store that does not exist yet."""
    return tmp_path / "data" / "halflap.db"
