"""The programs of the corpus, long and short, and the servers in Python that most of them are for, behind one gateway."""

from __future__ import annotations

import re
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halflap.demo import demo_config
from sandbox.desk import Desk
from support import python_server

if TYPE_CHECKING:
    from collections.abc import Iterator


__all__ = ["SERVERS", "Program", "more_programs", "open_world", "programs"]

_HERE = Path(__file__).parent
_HEADING = re.compile(r"(?m)^#= (.+)\n")
_NAMED_TOOL = re.compile(r"\bmcp__(\w+?)__\w+")
SERVERS = [
    *demo_config()["servers"],
    python_server("helpdesk", "helpdesk.py"),
    python_server("crm", "crm.py"),
    {"name": "time", "command": str(Path(sys.executable).parent / "mcp-server-time")},
]


@dataclass(frozen=True)
class Program:
    """A correct program of the corpus."""

    name: str
    code: str

    @property
    def is_runnable(self) -> bool:
        """Whether the servers that it needs are among ours; the others need Node, files or a repository."""
        return set(_NAMED_TOOL.findall(self.code)) <= {server["name"] for server in SERVERS}


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


@contextmanager
def open_world(folder: Path, **config: Any) -> Iterator[Desk]:
    """Open a desk in front of these servers, every one of them listed."""
    with Desk({"servers": SERVERS, **config}, folder) as desk:
        desk.do(desk.gateway.refresh())
        yield desk
