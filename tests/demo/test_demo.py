"""`halflap demo` in a pipe, and in full."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

import pytest

from cli.program import halflap
from halflap.cli.demo import NEXT, RIGHT, WRONG
from halflap.demo import contract_sales
from support import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from cli.program import Done

MAX_LINES = 65


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home, and a working folder with modules that must not be imported."""
    home = tmp_path_factory.mktemp("demo")
    folder = home / "project"
    (folder / "halflap").mkdir(parents=True)
    for name in ("json.py", "mcp_types.py", "anyio.py", "halflap/__init__.py"):
        (folder / name).write_text("import pathlib; pathlib.Path('imported').touch()\n")
    for name in ("tmp", "nowhere"):
        (home / name).mkdir()
    return home


def run(place: Path, *options: str) -> Done:
    return halflap(
        "demo",
        *options,
        home=place,
        cwd=place / "project",
        TMPDIR=str(place / "tmp"),
        HOME=str(place / "nowhere"),
        COLUMNS="80",
    )


def assert_nothing_is_left(place: Path) -> None:
    assert not (place / "data").exists()
    assert not list((place / "tmp").iterdir())
    assert not list((place / "nowhere").iterdir())
    assert not (place / "project" / "imported").exists()


def test_the_demo_fits_one_page_ends_with_what_to_do_next_and_leaves_nothing_behind(place: Path) -> None:
    done = run(place)
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert len(lines) <= MAX_LINES
    assert "\x1b" not in done.out
    assert max(map(len, lines)) <= 80
    for command, _ in NEXT:
        assert command in done.out
    assert_nothing_is_left(place)


def test_the_picture_in_the_docs_shows_this_demo() -> None:
    """`python docs/draw_demo.py` draws a new one."""
    drawn = re.sub(r"<[^>]*>", "", (ROOT / "docs" / "demo.svg").read_text())
    text = "".join(html.unescape(drawn).split())
    for line in (*WRONG.splitlines(), *RIGHT.splitlines()):
        assert "".join(line.split()) in text


@pytest.mark.slow
def test_every_step_holds(place: Path) -> None:
    done = run(place, "--full")
    assert done.code == 0, done.err
    assert len(re.findall(r"^\d ▸ ", done.out, re.MULTILINE)) == 9


def test_the_bundled_contract_server_is_the_example() -> None:
    example = ROOT / "examples" / "sales-server" / "server.py"
    assert (contract_sales.FOLDER / "server.py").samefile(example)
