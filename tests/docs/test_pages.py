"""Pages with commands in them are played from their beginning to their end."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from docs.pages import Command, matches, parts_of, play
from support import ROOT

PAGES = [
    ROOT / "docs" / "tutorial.md",
    *sorted((ROOT / "docs" / "howto").glob("*.md")),
    *sorted((ROOT / "examples").glob("*/README.md")),
]
LONG = {
    "custom-agent/README.md",
    "from-python/README.md",
    "howto/block-a-tool.md",
    "howto/read-only.md",
    "howto/share-schemas.md",
    "howto/slow-server.md",
    "saved-script/README.md",
}
"""Pages that take seconds each; the tutorial, which takes longest, has what most of them are about."""


def _name(page: Path) -> str:
    return f"{page.parent.name}/{page.name}"


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=_name(page), marks=[pytest.mark.slow] if _name(page) in LONG else [])
        for page in PAGES
    ],
)
def test_all_that_a_page_says_is_so(page: Path) -> None:
    # As short as people's homes are: lines are broken by their length.
    with tempfile.TemporaryDirectory(prefix="h") as home:
        assert play(page, Path(home)) > 0


def test_every_page_that_is_said_to_take_long_is_there() -> None:
    assert set(map(_name, PAGES)) >= LONG


def test_every_example_is_explained_and_played() -> None:
    folders = {folder for folder in (ROOT / "examples").iterdir() if folder.is_dir()}
    assert folders == {page.parent for page in PAGES if page.parent.parent == ROOT / "examples"}


@pytest.mark.parametrize(
    ("told", "printed", "holds"),
    [
        ("one\ntwo", "one\ntwo\n", True),
        ("one", "one\ntwo\n", False),
        ("one\n…", "one\ntwo\nthree\n", True),
        ("…\nthree", "one\ntwo\nthree\n", True),
        ("in … s", "in 1.2 s\n", True),
        ("in … s", "in 1.2 ms or\nso s\n", False),
        ("a.c", "abc\n", False),
        ("", "", True),
        ("", "something\n", False),
    ],
)
def test_what_is_told_is_compared_with_what_is_printed(told: str, printed: str, holds: bool) -> None:
    assert matches(told, printed) is holds


def test_commands_go_over_lines_and_have_their_outputs() -> None:
    page = "x\n```console\n$ one \\\n    two\nout\nput\n$ three\n```\n"
    assert list(parts_of(page)) == [Command("one two", "out\nput", 3), Command("three", "", 7)]
