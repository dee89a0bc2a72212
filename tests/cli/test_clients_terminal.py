"""`halflap init` and `halflap install` on a terminal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from cli.program import Done, halflap

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


def typed(place: Path, *words: str, answer: str = "y\n") -> Done:
    xdg = str(place / "xdg")
    return halflap(*words, home=place, typed=answer, HOME=str(place), XDG_CONFIG_HOME=xdg)


@pytest.mark.parametrize(("answer", "code"), [("\x03", 130), ("n\n", 1), ("\n", 1), ("", 1)])
def test_anything_but_yes_writes_nothing(place: Path, answer: str, code: int) -> None:
    done = typed(place, "init", answer=answer)
    assert (done.code, "Nothing was written." in done.err, "Traceback" in done.err) == (code, True, False)
    assert not (place / "config").exists()


def test_init_install_and_undo_on_a_terminal(place: Path) -> None:
    cursor = place / ".cursor" / "mcp.json"
    before = cursor.read_bytes()
    done = typed(place, "init")
    assert (done.code, QUESTION in done.err) == (0, True)
    # What is added is shown, but not what is secret.
    assert "github:" in done.out
    assert TOKEN not in done.out + done.err
    assert TOKEN in (place / "config" / "config.yaml").read_text()
    done = typed(place, "install", "cursor", "--move")
    assert (done.code, "- github" in done.out) == (0, True)
    entry = json.loads(cursor.read_bytes())["mcpServers"]
    assert list(entry) == ["halflap"]
    assert entry["halflap"]["env"]["HALFLAP_CONFIG_DIR"] == str(place / "config")
    done = typed(place, "install", "cursor", "--undo")
    assert (done.code, "byte for byte" in done.err) == (0, True)
    assert cursor.read_bytes() == before
