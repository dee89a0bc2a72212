"""The demo as people run it: in a pipe, on a narrow terminal, with a broken server, and interrupted."""

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
# The documents without what identifies them.
NAMELESS = """\
from dataclasses import replace
from halflap.demo import doc_retrieval as own
from halflap.demo._serving import serve

def search(**asked):
    return [{key: hit[key] for key in hit if key != "doc_id"} for hit in own.search_docs(**asked)]

serve("doc_retrieval", [replace(own.TOOLS[0], answer=search), *own.TOOLS[1:]])
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


def test_the_demo_succeeds_and_says_where_it_wrote(done: Done, place: Path) -> None:
    assert (done.code, done.err) == (0, f"Written to {place / 'saved'}: {', '.join(FILES)}.\n")


def test_the_demo_shows_every_step_and_what_to_do_next(done: Done) -> None:
    for number, scene in enumerate(SCENES, 1):
        assert f"{number} ▸ {scene.title}" in done.out
    for command, _ in NEXT:
        assert command in done.out


@pytest.mark.parametrize(
    "shown",
    [
        "doc_retrieval       2                0 of 2",
        "✗ line 3 there is no tool mcp__sales__order_histry.",
        "Acme Corp: 7 of 105 orders cancelled, $129,904",
        "├── doc_id: string  always",
        "'id' is not in an item of the result of",
        "[].doc_id → doc_id: ★ get_doc",
        "Refunds above 5,000 USD need the approval of",
        "✓ 9 of 9 tools say what they return, before any call.",
        "OPP-007  Ada Okafor (legal), Bruno Silva (decision maker)",
    ],
)
def test_the_demo_tells_its_story(done: Done, shown: str) -> None:
    assert shown in done.out


def test_in_a_pipe_there_are_no_colours_no_blanks_at_line_ends_and_no_long_lines(done: Done) -> None:
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
def test_what_is_saved_is_what_was_shown(place: Path) -> None:
    saved = {name: (place / "saved" / name).read_text() for name in FILES}
    data = json.loads(saved["demo.json"])
    assert list(data) == [scene.name for scene in SCENES]
    assert saved["workflow.py"].strip() == data["suggest"]["suggestion"]["program"].strip()
    assert "search_docs" in saved["feeds.svg"]
    picture = saved["demo.svg"]
    # It is looked at offline, too.
    assert not re.search(r"url\((?!#)", picture)
    for scene in SCENES:
        assert scene.title.replace(" ", "&#160;") in picture


def test_the_picture_in_the_docs_is_of_this_demo() -> None:
    """Where the story has changed, `halflap demo --save DIR` makes a new one."""
    drawn = re.sub(r"<[^>]*>", "", (ROOT / "docs" / "demo.svg").read_text())
    text = "".join(html.unescape(drawn).split())
    for number, scene in enumerate(SCENES, 1):
        assert "".join(f"{number} ▸ {scene.title}{scene.why}".split()) in text
    for program in (WRONG, RIGHT, GUESSED):
        for line in program.splitlines():
            assert "".join(line.split()) in text


def test_the_demo_fails_with_the_step_and_the_reason_if_a_server_ends(runs: dict[str, Done]) -> None:
    done = runs["ended"]
    assert done.code == 1
    assert done.err == ""
    error = done.json
    assert error["code"] == "demo"
    assert f"failed at step 1 of {len(SCENES)}" in error["message"]
    assert "Expected: server 'sales' to be ready\nCame: it is failed: " in error["message"]
    assert "the sales are gone" in error["message"]


@pytest.mark.slow
def test_the_demo_fails_where_the_loop_breaks(place: Path) -> None:
    nameless = place / "nameless.py"
    nameless.write_text(NAMELESS)
    done = broken(place, "doc_retrieval", f"exec {sys.executable} {nameless}")
    assert done.code == 1
    assert "The demo failed at step 6 of 11, “What came back is learned”." in done.err
    assert "Expected: doc_id to be learned\nCame: content, score, title\n" in done.err
    assert "Traceback" not in done.err
    # What did not hold was not shown.
    assert "always" not in done.out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"pause": True}, "--pause waits for a key, and there is no terminal."),
        ({"pause": True, "as_json": True}, "--pause and --json exclude each other"),
        ({"save": "file/below"}, "file/below cannot be written to: Not a directory."),
        ({"save": "mine"}, "mine would overwrite workflow.py, which is not the demo's."),
    ],
)
def test_what_is_asked_wrongly_is_said_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: dict[str, Any], said: str
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "workflow.py").write_text("print()\n")
    if "save" in options:
        options = {"save": tmp_path / options["save"]}
    with pytest.raises(typer.Exit) as ended:
        demo(**options)
    assert ended.value.exit_code == 2
    told = capsys.readouterr()
    assert said in told.out + told.err


def test_the_server_of_the_contract_kit_is_the_example_itself() -> None:
    example = ROOT / "examples" / "sales-server" / "server.py"
    assert (contract_sales.FOLDER / "server.py").samefile(example)


def test_where_links_could_not_be_made_the_server_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contract_sales, "FOLDER", tmp_path / "_contract_sales")
    with pytest.raises(SystemExit, match=r"run examples/sales-server/server\.py itself\.$"):
        contract_sales.serve()


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


@pytest.mark.parametrize("pauses", [2, pytest.param(len(SCENES) - 1, marks=pytest.mark.slow)])
def test_on_a_narrow_terminal_it_waits_between_steps_and_ctrl_c_ends_it_with_nothing_left(
    tmp_path: Path, pauses: int
) -> None:
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
