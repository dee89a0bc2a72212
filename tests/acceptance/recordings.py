"""Recordings: answers of the product, collected once for all test processes and kept as JSON."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import halflap
from cli.program import configure, environment
from support import PATIENCE, ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

WORKSHOP = {
    "name": "workshop",
    "command": sys.executable,
    "args": [str(Path(__file__).with_name("workshop.py"))],
    "protocol": "legacy",
}
TIMEOUTS = {"start_timeout_seconds": PATIENCE, "call_timeout_seconds": PATIENCE}
"""Far longer than a busy machine takes."""


def bundled(module: str, name: str | None = None) -> dict[str, Any]:
    """Configure one of the bundled servers."""
    return {
        "name": name or module,
        "command": sys.executable,
        "args": ["-P", "-m", f"halflap.demo.{module}"],
    }


SERVERS = [
    bundled("financial_data"),
    bundled("doc_retrieval"),
    bundled("contract_sales", "sales"),
    WORKSHOP,
]
SETTINGS: dict[str, Any] = {
    "upstream": TIMEOUTS,
    "server": {"families": ["core", "dspy", "gepa"]},
    "tools": {"block": ["mcp__workshop__secret"], "destructive": ["mcp__workshop__erase"]},
    "profiles": {"reader": {"servers": ["doc_retrieval"]}},
    "execution": {"confirm_destructive": True, "max_output_bytes": 1000, "max_calls": 100},
}


class Recordings:
    """Recorded answers in a folder that all test processes share."""

    def __init__(self, factory: pytest.TempPathFactory) -> None:
        base = factory.getbasetemp()
        self.folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "recordings"
        self.folder.mkdir(exist_ok=True)

    def get(self, name: str, record: Callable[[Path], Any]) -> Any:
        """Return what `record` returned for a fresh home; only the first process to ask calls it."""
        file = self.folder / f"{name}.json"
        with (self.folder / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not file.exists():
                home = self.folder / name
                shutil.rmtree(home, ignore_errors=True)
                home.mkdir()
                answers = json.dumps(record(home)).replace(str(home), "<home>")
                file.write_text(answers.replace(str(ROOT), "<root>"))
        return json.loads(file.read_text())

    def prepare(self, home: Path, **settings: Any) -> str:
        """Write the configuration and its servers' catalogue into a home; return the configuration's path."""
        self.get("catalogue", lambda first: list_all(configure(first, *SERVERS, **SETTINGS), first))
        shutil.copytree(self.folder / "catalogue" / "data", home / "data")
        return configure(home, *SERVERS, **{**SETTINGS, **settings})


def list_all(config: str, home: Path) -> list[str]:
    """List every configured server, however long a busy machine takes to start them; return the tools' names."""

    async def names() -> list[str]:
        async with halflap.Gateway.open(halflap.load_config(config, environ=environment(home))) as gateway:
            await gateway.refresh()
            assert gateway.unavailable() == {}
            return [tool.name for tool in await gateway.tools()]

    return asyncio.run(names())
