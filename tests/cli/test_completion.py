"""Completion in shells."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cli.program import PLAIN, configure, halflap

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("completion")
    (home / "config").mkdir()
    configure(home, PLAIN)
    (home / "config" / "config.json").write_text((home / "halflap-test.json").read_text())
    assert halflap("list", home=home).code == 0
    return home


def completed(home: Path, words: str) -> list[str]:
    count = str(len(words.split(" ")) - 1)
    done = halflap(home=home, COMP_WORDS=words, COMP_CWORD=count, _HALFLAP_COMPLETE="complete_bash")
    assert not done.err
    return done.out.split()


def test_tools_are_completed(place: Path) -> None:
    command = "call"
    assert completed(place, f"halflap {command} mcp__plain__e") == ["mcp__plain__echo"]


def test_commands_are_completed(place: Path) -> None:
    assert completed(place, "halflap ins") == ["install", "inspect"]
    assert completed(place, "halflap install c") == [
        "claude-code",
        "claude-desktop",
        "cursor",
        "codex",
        "cline",
    ]


def test_a_broken_configuration_completes_nothing_quietly(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.yaml").write_text("servers: {{{")
    assert completed(tmp_path, "halflap call mcp") == []


def test_completing_creates_no_store(tmp_path: Path) -> None:
    assert completed(tmp_path, "halflap call mcp") == []
    assert not (tmp_path / "data").exists()


def test_shell_scripts_are_printed(place: Path) -> None:
    shell = "bash"
    done = halflap(home=place, _HALFLAP_COMPLETE=f"source_{shell}")
    assert done.code == 0
    assert "_HALFLAP_COMPLETE" in done.out
