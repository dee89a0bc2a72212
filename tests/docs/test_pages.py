"""Pages with commands: every command exists, and prints what the page shows."""

from __future__ import annotations

import itertools
import re
import shlex
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from docs.pages import Command, parts_of, play
from halflap.cli.app import _loaded
from support import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGES = [
    ROOT / "docs" / "tutorial.md",
    ROOT / "docs" / "scripts.md",
    *sorted((ROOT / "docs" / "howto").glob("*.md")),
    *sorted((ROOT / "examples").glob("*/README.md")),
]


def _name(page: Path) -> str:
    return f"{page.parent.name}/{page.name}"


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_every_command_and_option_of_a_page_exists(page: Path) -> None:
    commands = [part for part in parts_of(page.read_text()) if isinstance(part, Command)]
    assert commands
    for line in (words for one in commands for words in _words(one.text)):
        # What follows `--` belongs to another command.
        words = line[: line.index("--")] if "--" in line else line
        if words[:1] != ["halflap"] or words[1].startswith("-"):
            continue
        command = _loaded(words[1])
        for word in words[2:]:
            command = getattr(command, "commands", {}).get(word, command)
        known = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
        used = {word.partition("=")[0] for word in words[2:] if re.match(r"--?[a-z]", word)}
        assert used <= known, words


def _words(line: str) -> Iterator[list[str]]:
    """Split a line for a shell into commands, and those into words."""
    shell = shlex.shlex(line, posix=True, punctuation_chars=True)
    shell.whitespace_split = True
    for is_word, words in itertools.groupby(shell, lambda word: not set(word) <= set("|;&<>()")):
        if is_word:
            yield list(words)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_a_page_prints_what_it_shows(page: Path) -> None:
    # The home is as short as people's homes are: lines are broken by their length.
    with tempfile.TemporaryDirectory(prefix="h") as home:
        assert play(page, Path(home)) > 0


def test_every_example_has_a_page_that_is_played() -> None:
    folders = {folder for folder in (ROOT / "examples").iterdir() if folder.is_dir()}
    assert folders == {page.parent for page in PAGES if page.parent.parent == ROOT / "examples"}
