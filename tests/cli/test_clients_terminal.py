"""`halflap init` and `halflap install` on a terminal."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from cli.program import in_terminal

if TYPE_CHECKING:
    from pathlib import Path

TOKEN = "ghp_" + "a1B2" * 9
SERVERS = {"mcpServers": {"github": {"command": "npx", "env": {"GITHUB_TOKEN": TOKEN}}}}
QUESTION = "config.yaml? [y/N]"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".cursor" / "mcp.json").write_text(json.dumps(SERVERS))
    return tmp_path


@pytest.mark.parametrize(
    ("answer", "code"),
    [("n\n", 1), ("\x03", 130), *(pytest.param(key, 1, marks=pytest.mark.slow) for key in ("\n", "\x04"))],
)
def test_anything_but_yes_writes_nothing(place: Path, answer: str, code: int) -> None:
    done = in_terminal("init", home=place, answers={QUESTION: answer})
    assert done.code == code
    assert "Nothing was written." in done.out
    assert not (place / "config").exists()
    assert "Traceback" not in done.out


def assert_within(columns: int, shown: str) -> None:
    """Assert that only unbreakable words exceed the width."""
    for line in re.sub(r"\x1b\[[0-9;]*m", "", shown).splitlines():
        is_name = line.startswith(("--- ", "+++ ")) or "? [y/N]" in line or len(line.split()) == 1
        assert len(line) <= columns or is_name


def test_init_install_and_undo_on_a_terminal(place: Path) -> None:
    cursor = place / ".cursor" / "mcp.json"
    before = cursor.read_bytes()
    done = in_terminal("init", home=place, columns=60, answers={QUESTION: "y\n"})
    assert done.code == 0
    assert_within(60, done.out)
    # Green, on a terminal: what is added. What is secret is not shown there.
    assert "\x1b[32m+mcpServers:\x1b[0m" in done.out
    assert TOKEN not in done.out
    assert TOKEN in (place / "config" / "config.yaml").read_text()
    answers = {"mcp.json? [y/N]": "y\n"}
    done = in_terminal("install", "cursor", "--move", home=place, columns=60, answers=answers)
    assert_within(60, done.out)
    assert done.code == 0
    assert "\x1b[31m-" in done.out
    entry = json.loads(cursor.read_bytes())["mcpServers"]
    assert list(entry) == ["halflap"]
    assert entry["halflap"]["env"]["HALFLAP_CONFIG_DIR"] == str(place / "config")
    done = in_terminal("install", "cursor", "--undo", home=place, answers={"mcp.json? [y/N]": "y\n"})
    assert done.code == 0
    assert "byte for byte" in done.out
    assert cursor.read_bytes() == before
