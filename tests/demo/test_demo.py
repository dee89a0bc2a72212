"""`halflap demo` in a pipe, with a failed server, and interrupted."""

from __future__ import annotations

import errno
import fcntl
import html
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import typer

from cli.program import Done, environment, halflap, side_by_side
from halflap.cli.demo.command import demo
from halflap.cli.demo.playing import FILES
from halflap.cli.demo.story import GUESSED, NEXT, RIGHT, SCENES, WRONG
from halflap.cli.output import harmless
from halflap.demo import contract_sales
from support import HALFLAP, PATIENCE, ROOT, alive, eventually

# A Python that runs everything but one of the demo's servers.
BROKEN = """#!/bin/sh
case "$*" in
  *halflap.demo.{server}*) {instead};;
  *) exec {python} "$@";;
esac
"""
WITH_ANOTHER_PYTHON = "import sys; sys.executable = sys.argv.pop(1); from halflap.cli import main; main()"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home, and a working folder in which somebody has put modules of well-known names."""
    home = tmp_path_factory.mktemp("demo")
    folder = home / "project"
    (folder / "halflap").mkdir(parents=True)
    for name in ("json.py", "mcp_types.py", "anyio.py", "halflap/__init__.py"):
        (folder / name).write_text("import pathlib; pathlib.Path('imported').touch()\n")
    for name in ("tmp", "nowhere"):
        (home / name).mkdir()
    return home


def surroundings(place: Path) -> dict[str, str]:
    return {**environment(place), "TMPDIR": str(place / "tmp"), "HOME": str(place / "nowhere")}


def broken(place: Path, server: str, instead: str, *words: str) -> Done:
    """Run the demo with something else in the place of one of its servers."""
    python = place / f"python-{server}"
    python.write_text(BROKEN.format(server=server, instead=instead, python=sys.executable))
    python.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-c", WITH_ANOTHER_PYTHON, str(python), "demo", *words],
        capture_output=True,
        text=True,
        env=surroundings(place),
        timeout=90,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="module")
def runs(place: Path) -> dict[str, Done]:
    return side_by_side(
        {
            "shown": partial(
                halflap,
                "demo",
                "--save",
                str(place / "saved"),
                home=place,
                cwd=place / "project",
                TMPDIR=str(place / "tmp"),
                HOME=str(place / "nowhere"),
                COLUMNS="80",
            ),
            "ended": partial(broken, place, "sales", "echo 'the sales are gone' >&2; exit 7", "--json"),
        }
    )


@pytest.fixture(scope="module")
def done(runs: dict[str, Done]) -> Done:
    return runs["shown"]


def test_the_demo_succeeds_and_shows_every_step(done: Done, place: Path) -> None:
    assert done.code == 0
    assert str(place / "saved") in done.err
    for number, scene in enumerate(SCENES, 1):
        assert f"{number} ▸ {scene.title}" in done.out
    for command, _ in NEXT:
        assert command in done.out


def test_in_a_pipe_there_are_no_colours_and_no_long_lines(done: Done) -> None:
    assert "\x1b" not in done.out
    assert [line for line in done.out.splitlines() if line != line.rstrip() or len(line) > 80] == []


@pytest.mark.usefixtures("runs")
def test_the_demo_leaves_nothing_behind_even_if_it_fails(place: Path) -> None:
    assert not (place / "data").exists()
    assert not list((place / "tmp").iterdir())
    assert not list((place / "nowhere").iterdir())


@pytest.mark.usefixtures("runs")
def test_the_demo_imports_nothing_from_the_working_folder(place: Path) -> None:
    assert not (place / "project" / "imported").exists()


@pytest.mark.usefixtures("runs")
def test_the_saved_files_match_the_story(place: Path) -> None:
    saved = {name: (place / "saved" / name).read_text() for name in FILES}
    data = json.loads(saved["demo.json"])
    assert list(data) == [scene.name for scene in SCENES]
    assert saved["workflow.py"].strip() == data["suggest"]["suggestion"]["program"].strip()


def test_the_picture_in_the_docs_is_of_this_demo() -> None:
    """Where the story has changed, `halflap demo --save DIR` makes a new one."""
    drawn = re.sub(r"<[^>]*>", "", (ROOT / "docs" / "demo.svg").read_text())
    text = "".join(html.unescape(drawn).split())
    for number, scene in enumerate(SCENES, 1):
        assert "".join(f"{number} ▸ {scene.title}{scene.why}".split()) in text
    for program in (WRONG, RIGHT, GUESSED):
        for line in program.splitlines():
            assert "".join(line.split()) in text


def test_a_failed_server_ends_the_demo_with_the_step_and_the_reason(runs: dict[str, Done]) -> None:
    done = runs["ended"]
    assert done.code == 1
    assert done.err == ""
    assert done.json["code"] == "demo"
    assert "step 1 " in done.json["message"]
    assert "the sales are gone" in done.json["message"]


@pytest.mark.parametrize(
    "options", [{"pause": True}, {"pause": True, "as_json": True}, {"save": "file/below"}, {"save": "mine"}]
)
def test_a_mistake_exits_with_2_before_anything_starts(tmp_path: Path, options: dict[str, Any]) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "workflow.py").write_text("print()\n")
    if "save" in options:
        options = {"save": tmp_path / options["save"]}
    with pytest.raises(typer.Exit) as ended:
        demo(**options)
    assert ended.value.exit_code == 2


def test_the_bundled_contract_server_is_the_example() -> None:
    example = ROOT / "examples" / "sales-server" / "server.py"
    assert (contract_sales.FOLDER / "server.py").samefile(example)


def children(pid: int) -> list[int]:
    """Give a process's children, and theirs."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    found = [int(one) for task in tasks for one in (task / "children").read_text().split()]
    return found + [inner for one in found for inner in children(one)]


def read(terminal: int) -> str:
    try:
        return os.read(terminal, 65536).decode(errors="replace")
    except OSError as error:
        assert error.errno == errno.EIO  # noqa: PT017 -- how Linux says that the other side is closed
        return ""


@pytest.mark.slow
def test_it_pauses_between_steps_and_ctrl_c_leaves_nothing_behind(tmp_path: Path) -> None:
    pauses = 2
    (tmp_path / "tmp").mkdir()
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 40, 0, 0))
    with subprocess.Popen(
        [HALFLAP, "demo", "--pause"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**environment(tmp_path), "TMPDIR": str(tmp_path / "tmp")},
        start_new_session=True,
    ) as process:
        os.close(theirs)
        seen = ""
        try:
            for pause in range(1, pauses + 1):
                while seen.count("Enter goes on") < pause:
                    more = read(ours)
                    assert more, seen
                    seen += more
                if pause < pauses:
                    os.write(ours, b"\n")
            started = children(process.pid)
            os.killpg(process.pid, signal.SIGINT)
            while more := read(ours):
                seen += more
            assert process.wait(PATIENCE) == 130
        finally:
            process.kill()
    os.close(ours)
    assert "\x1b[1;36m1 ▸ " in seen
    text = " ".join(harmless(seen).split())
    for scene in SCENES[:pauses]:
        assert scene.title in text
    # The next step was not waited for.
    assert SCENES[pauses].title not in text
    assert "Traceback" not in seen
    assert len(started) > 3
    assert eventually(lambda: not any(map(alive, started)))
    assert not list((tmp_path / "tmp").iterdir())
