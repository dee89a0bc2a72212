"""The servers that the corpus is written for, behind one gateway, and the programs of the corpus, long and short."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halflap.demo import demo_config
from sandbox.desk import Desk
from support import NODE_SERVERS, python_server

if TYPE_CHECKING:
    from collections.abc import Iterator


__all__ = [
    "Program",
    "missing_servers",
    "more_programs",
    "open_world",
    "programs",
    "servers",
]

_HERE = Path(__file__).parent
_HEADING = re.compile(r"(?m)^#= (.+)\n")
_NAMED_TOOL = re.compile(r"\bmcp__(\w+?)__(\w+)")
_FILES = {
    "sales.csv": "region,month,amount\nnorth,2026-01,120\nsouth,2026-01,80\nnorth,2026-02,150\nsouth,2026-02,95\n",
    "config.json": '{"name": "demo", "retries": 3, "features": {"search": true, "export": false}}\n',
    "notes/todo.md": "# To do\n- [ ] call Mara\n- [x] send the invoice\n- [ ] fix the export\n",
    "notes/ideas.md": "# Ideas\nA lamp that follows the sun.\n",
    "logs/app.log": "10:00 INFO started\n10:02 ERROR disk full\n10:03 INFO retry\n10:04 ERROR timeout after 30s\n",
}
_COMMITS = (
    ("README.md", "# Kiln\n", "Start the project"),
    ("kiln.py", "def fire(degrees):\n    return degrees * 2\n", "feat: fire the kiln"),
    ("kiln.py", "def fire(degrees):\n    return degrees + 2\n", "fix: do not overheat"),
)


@dataclass(frozen=True)
class Program:
    """A correct program of the corpus."""

    name: str
    code: str

    @property
    def tools(self) -> frozenset[str]:
        """The tools that its text names."""
        return frozenset(match.group() for match in _NAMED_TOOL.finditer(self.code))

    @property
    def servers(self) -> frozenset[str]:
        """The servers that it needs."""
        return frozenset(match.group(1) for match in _NAMED_TOOL.finditer(self.code))


@cache
def programs() -> tuple[Program, ...]:
    """Return the long programs, in which mistakes are planted."""
    return tuple(_read(_HERE / "corpus.txt"))


@cache
def more_programs() -> tuple[Program, ...]:
    """Return the short programs; most ask the crm server."""
    return tuple(one for path in sorted((_HERE / "more").glob("*.txt")) for one in _read(path))


def _read(path: Path) -> Iterator[Program]:
    """Read the programs of a file, each under a line `#= name`."""
    parts = _HEADING.split(path.read_text())[1:]
    return map(Program, parts[::2], parts[1::2])


def missing_servers() -> frozenset[str]:
    """Return the servers that cannot be started here: those from npm, where npm has not installed them."""
    names = {"everything": "everything", "files": "filesystem", "memory": "memory"}
    return frozenset(
        name
        for name, program in names.items()
        if shutil.which("node") is None or not (NODE_SERVERS / f"mcp-server-{program}").exists()
    )


def servers(folder: Path) -> list[dict[str, Any]]:
    """Configure every server that can be started here, over files and a repository made in the folder."""
    files, repository = folder / "files", folder / "repository"
    _write_files(files)
    _write_repository(repository)
    python = Path(sys.executable).parent
    everything = [
        *demo_config()["servers"],
        python_server("helpdesk", "helpdesk.py"),
        python_server("crm", "crm.py"),
        {"name": "time", "command": str(python / "mcp-server-time")},
        {"name": "git", "command": str(python / "mcp-server-git"), "cwd": str(repository)},
        {"name": "everything", "command": str(NODE_SERVERS / "mcp-server-everything")},
        {
            "name": "files",
            "command": str(NODE_SERVERS / "mcp-server-filesystem"),
            "args": [str(files)],
            "cwd": str(files),
        },
        {
            "name": "memory",
            "command": str(NODE_SERVERS / "mcp-server-memory"),
            "env": {"MEMORY_FILE_PATH": str(folder / "memory.json")},
        },
    ]
    missing = missing_servers()
    return [server for server in everything if server["name"] not in missing]


@contextmanager
def open_world(folder: Path, **config: Any) -> Iterator[Desk]:
    """Open a desk in front of all these servers, every one of them listed."""
    with Desk({"servers": servers(folder), **config}, folder / "data") as desk:
        desk.do(desk.gateway.refresh())
        yield desk


def _write_files(folder: Path) -> None:
    for name, text in _FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _write_repository(folder: Path) -> None:
    """Make a repository with a few commits and one change that is not committed."""
    folder.mkdir(parents=True, exist_ok=True)
    who = {
        f"GIT_{role}_{what}": "kiln@example.org"
        for role in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    environment = {**os.environ, **who, "GIT_CONFIG_GLOBAL": os.devnull}

    def git(*arguments: str) -> None:
        subprocess.run(
            ["git", "-C", str(folder), *arguments], check=True, env=environment, capture_output=True
        )

    git("init", "-q", "-b", "main")
    git("config", "user.name", "Kiln")
    git("config", "user.email", "kiln@example.org")
    for name, text, message in _COMMITS:
        (folder / name).write_text(text)
        git("add", name)
        git("commit", "-q", "-m", message)
    git("branch", "glaze")
    (folder / "kiln.py").write_text("def fire(degrees):\n    return min(degrees + 2, 1300)\n")
