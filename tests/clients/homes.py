"""A home with every client in it, and the commands run in this process."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from typer.testing import CliRunner

from cli.program import Done
from halflap.cli.app import app

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pytest

TOKEN = "ghp_" + "a1B2" * 9
GITHUB = {"command": "npx", "args": ["-y", "@mcp/github"], "env": {"GITHUB_TOKEN": TOKEN}}
TIME = {"command": "uvx", "args": ["mcp-server-time"]}


@dataclass(frozen=True)
class Home:
    """A person's home folder, and the folder that they work in."""

    folder: Path

    @property
    def work(self) -> Path:
        return self.folder / "work"

    @property
    def config(self) -> Path:
        return self.folder / ".config" / "halflap" / "config.yaml"

    @property
    def backups(self) -> Path:
        return self.folder / ".local" / "share" / "halflap" / "backups"

    def write(self, name: str, content: str | Mapping[str, Any]) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else json.dumps(content, indent=2) + "\n"
        path.write_bytes(text.encode())
        return path

    def run(self, *arguments: str) -> Done:
        result = CliRunner().invoke(app, arguments)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Done(result.exit_code, result.stdout, result.stderr)

    def files(self) -> dict[str, bytes]:
        """Return every file in the home except Halflap's own."""
        return {
            str(path.relative_to(self.folder)): path.read_bytes()
            for path in sorted(self.folder.rglob("*"))
            if path.is_file() and ".local" not in path.parts
        }


def settle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """Make a home, and have this process live in it."""
    home = Home(tmp_path / "person")
    home.work.mkdir(parents=True)
    for name in ("HALFLAP_CONFIG", "HALFLAP_CONFIG_DIR", "HALFLAP_DATA_DIR", "APPDATA", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home.folder))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home.folder / ".config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(home.folder / ".local" / "share"))
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.chdir(home.work)
    return home
