"""How a change and what is said about it look: on narrow terminals, and of files that are one line."""

from __future__ import annotations

import io
import json
import sys
from typing import TYPE_CHECKING

from rich.cells import cell_len

from clients.homes import TIME
from clients.test_install import configured
from halflap.cli.output import note

if TYPE_CHECKING:
    import pytest

    from clients.homes import Home


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def told(monkeypatch: pytest.MonkeyPatch, text: str, columns: int = 60) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(columns))
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    note(text)
    return terminal.getvalue().splitlines()


def test_what_is_said_is_broken_at_words_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "Note: " + "what is to be done about it, 日本語, " * 6 + "and so on."
    lines = told(monkeypatch, text)
    assert len(lines) > 3
    assert all(cell_len(line) <= 60 for line in lines)
    assert all(line.startswith("  ") for line in lines[1:])
    assert " ".join(line.strip() for line in lines) == text


def test_a_word_that_is_wider_than_the_terminal_stays_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    path = "/home/" + "x" * 80
    assert told(monkeypatch, f"It is kept in {path}.\nThe end.") == [
        "It is kept in",
        f"  {path}.",
        "The end.",
    ]


def test_away_from_a_terminal_what_is_said_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    note("word " * 100 + "end")
    assert capsys.readouterr().err == "word " * 100 + "end\n"


def test_a_change_within_one_line_is_shown_laid_out_and_written_in_one_line(person: Home) -> None:
    configured(person)
    path = person.write(
        ".cursor/mcp.json", json.dumps({"mcpServers": {"time": TIME, "b": {"command": "b" * 99}}})
    )
    done = person.run("install", "cursor", "--move", "--yes")
    lines = done.out.splitlines()
    assert '-    "time": {' in lines
    assert '+    "halflap": {' in lines
    assert '     "b": {' in lines
    assert "The file has long lines: it is shown laid out. It is written as it is." in done.err
    assert "\n" not in path.read_text()


def test_what_cannot_be_laid_out_is_shown_as_it_is(person: Home) -> None:
    args = ["x" * 90] * 6
    person.write(".cursor/mcp.json", {"mcpServers": {"a": {"command": "a", "env": {"A": " ".join(args)}}}})
    done = person.run("init", "--yes")
    assert "long lines" not in done.err
    assert "+  a:" in done.out.splitlines()


def test_comments_are_shown_unless_a_line_is_too_long_to_be(person: Home) -> None:
    configured(person)
    long = ", ".join(f'"{number:030}"' for number in range(4))
    person.write(
        ".cursor/mcp.json", f'{{\n// mine\n"mcpServers": {{"t": {{"command": "t", "args": [{long}]}}}}}}\n'
    )
    done = person.run("install", "cursor", "--print")
    assert " // mine" in done.out.splitlines()
