"""`halflap run`: programs from a file, from stdin and by the name of a script, and the check alone."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import pytest

from cli.program import PLAIN, configure, halflap, in_terminal

if TYPE_CHECKING:
    from pathlib import Path

    from cli.program import Done

CONFIG = ("-c", "halflap-test.json")
ADD = """\
async def main(a: int, b: int = 2, note: str = "") -> int:
    print("adding", note)
    return await mcp__plain__add(a=a, b=b)
"""
FILES = {
    "lines.py": "print('one')\nprint('two', end='')",
    "add.py": ADD,
    "fails.py": "await mcp__plain__echo(text='x')\nprint('so far')\nraise ValueError('no')",
    "escapes.py": "print('\\x1b[31mred')",
    "broken.py": "def main(\n    a: bytes,\n): ...",
    "destroys.py": "print(await mcp__plain__echo(text='gone'))",
    "doubtful.py": "import random\nif random.random() > 5:\n    print(nothing)\n",
    "syntax.py": "print((1\n",
}
SETTINGS: dict[str, Any] = {
    "execution": {"confirm_destructive": True},
    "tools": {"destructive": ["mcp__plain__echo"]},
}
MISTAKES: dict[str, tuple[str, ...]] = {
    "missing argument": ("add.py",),
    "argument of a script": ("add", "--arg", "a=x"),
    "argument without main": ("lines.py", "-a", "a=1"),
    "bad annotation": ("broken.py",),
    "a folder": ("..",),
    "not text": ("-",),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("running")
    for name, code in FILES.items():
        (home / name).write_text(code)
    configure(home, PLAIN, **SETTINGS, ttl={"list_seconds": 100_000})
    scripts = home / "data" / "scripts"
    scripts.mkdir(parents=True)
    (scripts / "add.py").write_text(ADD)
    return home


def run(place: Path, *words: str, stdin: bytes = b"") -> Done:
    return halflap("run", *CONFIG, *words, home=place, stdin=stdin)


@pytest.mark.parametrize(
    ("words", "stdin", "printed"),
    [
        (("lines.py",), b"", "one\ntwo\n"),
        (("add.py", "--arg", "a=40", "--arg", "note=40"), b"", "adding 40\n42\n"),
        (("add", "--json-args", "-"), b'{"a": 1}', "adding \n3\n"),
        (("destroys.py", "--yes"), b"", "gone\n"),
    ],
)
def test_stdout_is_what_the_program_printed_and_its_value(
    place: Path, words: tuple[str, ...], stdin: bytes, printed: str
) -> None:
    done = run(place, *words, stdin=stdin)
    assert (done.code, done.out) == (0, printed)


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_exits_with_2_and_leaves_stdout_empty(place: Path, name: str) -> None:
    done = run(place, *MISTAKES[name], stdin=b"\n\xff")
    assert (done.code, done.out) == (2, "")
    assert "Error [" in done.err


def test_a_failing_program_exits_with_1_and_lists_its_calls(place: Path) -> None:
    failed = run(place, "fails.py", "--yes")
    assert (failed.code, failed.out) == (1, "so far\n")
    for part in ("Error [run-failed]", "ValueError: no", "mcp__plain__echo"):
        assert part in failed.err
    assert "halflap/" not in failed.err


def test_without_a_terminal_a_destructive_tool_is_refused(place: Path) -> None:
    refused = run(place, "destroys.py")
    assert (refused.code, "--yes" in refused.err) == (1, True)


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), pytest.param("n\n", 1, marks=pytest.mark.slow)])
def test_on_a_terminal_a_destructive_tool_is_confirmed(place: Path, answer: str, code: int) -> None:
    done = in_terminal("run", *CONFIG, "destroys.py", home=place, answers={"Allow this once?": answer})
    assert "mcp__plain__echo" in done.out
    assert (done.code, "gone" in done.out) == (code, code == 0)


def test_control_characters_of_a_program_do_not_reach_the_terminal(place: Path) -> None:
    done = halflap("run", *CONFIG, "escapes.py", home=place, columns=80)
    assert "\x1b[31m" not in done.out
    assert "red" in done.out


@pytest.mark.parametrize(
    ("file", "code", "shown"),
    [("lines.py", 0, ""), ("doubtful.py", 0, "line 3"), ("syntax.py", 1, "line 1")],
)
def test_the_check_alone_runs_nothing(place: Path, file: str, code: int, shown: str) -> None:
    done = run(place, file, "--check-only")
    assert (done.code, shown in done.out, "one" in done.out) == (code, True, False)


def test_stubs_are_python(place: Path) -> None:
    done = halflap("schema", "stubs", "--server", "plain", *CONFIG, home=place)
    assert "async def mcp__plain__add(*, a: int, b: int)" in done.out
    ast.parse(done.out)
