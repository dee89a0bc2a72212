"""`halflap init` and `halflap install` on a terminal."""

from __future__ import annotations

import json
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


def test_init_install_and_undo_on_a_terminal(place: Path) -> None:
    cursor = place / ".cursor" / "mcp.json"
    before = cursor.read_bytes()
    done = in_terminal("init", home=place, answers={QUESTION: "y\n"})
    assert done.code == 0
    # What is added is shown, but not what is secret.
    assert "github:" in done.out
    assert TOKEN not in done.out
    assert TOKEN in (place / "config" / "config.yaml").read_text()
    answers = {"mcp.json? [y/N]": "y\n"}
    done = in_terminal("install", "cursor", "--move", home=place, answers=answers)
    assert done.code == 0
    assert "- github" in done.out
    entry = json.loads(cursor.read_bytes())["mcpServers"]
    assert list(entry) == ["halflap"]
    assert entry["halflap"]["env"]["HALFLAP_CONFIG_DIR"] == str(place / "config")
    done = in_terminal("install", "cursor", "--undo", home=place, answers={"mcp.json? [y/N]": "y\n"})
    assert done.code == 0
    assert "byte for byte" in done.out
    assert cursor.read_bytes() == before
