"""Completion in shells."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.program import PLAIN, configure, halflap

if TYPE_CHECKING:
    from pathlib import Path


def completed(home: Path, words: str) -> list[str]:
    count = str(len(words.split(" ")) - 1)
    done = halflap(home=home, COMP_WORDS=words, COMP_CWORD=count, _HALFLAP_COMPLETE="complete_bash")
    assert not done.err
    return done.out.split()


def test_commands_and_tools_are_completed(tmp_path: Path) -> None:
    assert completed(tmp_path, "halflap call mcp") == []
    (tmp_path / "config").mkdir()
    configure(tmp_path, PLAIN)
    (tmp_path / "config" / "config.json").write_text((tmp_path / "halflap-test.json").read_text())
    assert halflap("list", home=tmp_path).code == 0
    assert completed(tmp_path, "halflap call mcp__plain__e") == ["mcp__plain__echo"]
    assert completed(tmp_path, "halflap ins") == ["install", "inspect"]
    (tmp_path / "config" / "config.json").write_text("{{{")
    assert completed(tmp_path, "halflap call mcp") == []
