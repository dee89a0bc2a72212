from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from cli.program import PLAIN, configure, in_terminal
from halflap.cli.trees import print_parameters, print_places
from halflap.cli.wrapping import print_lines, say

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_places_are_drawn_below_the_place_that_they_are_in(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        ("", "object"), ("rows", "array", "always"), ("rows[]", "object"), ("rows[].id", "string", "", "learned"),
        ("a.b", "integer"), ("by[key]", "number"),
    ]  # fmt: skip
    print_places("Returns", rows)
    assert capsys.readouterr().out.splitlines() == [
        "Returns  object",
        "├── rows  array  always",
        "│   └── []  object",
        "│       └── id  string  learned",
        # Of a name with a dot in it, nothing is known that it would be in.
        "├── a.b  integer",
        "└── by[key]  number",
    ]


def test_parameters_are_drawn_below_the_one_that_they_are_in(capsys: pytest.CaptureFixture[str]) -> None:
    lines = ["- a (object, required): What it is", "  - b (string, optional)", "- c (integer, optional)"]
    print_parameters("Takes", lines)
    assert capsys.readouterr().out.splitlines() == [
        "Takes",
        "├── a (object, required): What it is",
        "│   └── b (string, optional)",
        "└── c (integer, optional)",
    ]


def test_nothing_in_a_tree_is_obeyed_by_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_places("Returns", [("a\x1b[2J\x9b", "\x1b]0;owned\x07text")])
    print_parameters("Takes", ["- b\x1b[2J (\x9bstring)", "\x1b[31mred"])
    assert not set(capsys.readouterr().out) & set("\x1b\x9b\x07")


def said(text: str, first: str, *, width: int, deeper: int = 0, terminal: bool = True) -> list[str]:
    file = io.StringIO()
    console = Console(file=file, width=width, force_terminal=terminal, color_system=None)
    say(console, Text(text), Text(first), deeper=deeper)
    return file.getvalue().splitlines()


def test_a_text_goes_on_below_its_beginning() -> None:
    assert said("one two three four", "0.5  ", width=19) == ["0.5  one two three", "     four"]
    assert said("one two three four five", "", width=14, deeper=2) == ["one two three", "  four five"]


def test_a_word_that_is_too_long_is_broken_not_cut() -> None:
    assert "".join(line.strip() for line in said("x" * 50, "  ", width=20)) == "x" * 50


def test_in_a_pipe_lines_stay_whole(capsys: pytest.CaptureFixture[str]) -> None:
    assert said("word " * 30 + "end", "- ", width=20, terminal=False) == ["- " + "word " * 30 + "end"]
    print_lines(["  " + "word " * 100 + "end", "next"])
    assert capsys.readouterr().out == "  " + "word " * 100 + "end\nnext\n"


def test_a_tool_is_inspected_in_a_narrow_terminal(tmp_path: Path) -> None:
    configure(tmp_path, PLAIN)
    done = in_terminal("inspect", "mcp__plain__add", "-c", "halflap-test.json", home=tmp_path, columns=40)
    lines = [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line).rstrip() for line in done.out.splitlines()]
    assert done.code == 0
    for line in ("├── a (integer, required)", "└── b (integer, required)", "Returns  integer"):
        assert line in lines
    assert max(map(len, lines)) <= 40
