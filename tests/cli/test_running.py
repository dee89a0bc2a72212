"""`halflap run`: programs from a file, from stdin and by the name of a script, and the check alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from cli.program import PLAIN, configure, halflap

if TYPE_CHECKING:
    from pathlib import Path

    from cli.program import Done

CONFIG = ("-c", "halflap-test.json")
ADD = """\
async def main(a: int, b: int = 2, note: str = "") -> int:
    print("adding", note, end="")
    return await mcp__plain__add(a=a, b=b)
"""
FILES = {
    "add.py": ADD,
    "fails.py": "print('\\x1b[31mso far')\nprint(await mcp__plain__echo(text='gone'))\nraise ValueError('no')",
    "broken.py": "def main(\n    a: bytes,\n): ...",
}
SETTINGS: dict[str, Any] = {
    "execution": {"confirm_destructive": True},
    "tools": {"destructive": ["mcp__plain__echo"]},
}
MISTAKES: dict[str, tuple[str, ...]] = {
    "argument of a script": ("add", "--arg", "a=x"),
    "bad annotation": ("broken.py",),
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


def run(place: Path, *words: str, **how: Any) -> Done:
    return halflap("run", *CONFIG, *words, home=place, **how)


@pytest.mark.parametrize(
    ("words", "stdin", "printed"),
    [
        (("add.py", "--arg", "a=40", "--arg", "note=40"), b"", "adding 40\n42\n"),
        (("add", "--json-args", "-"), b'{"a": 1}', "adding \n3\n"),
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


@pytest.mark.parametrize("answer", ["y\n", "n\n"])
def test_on_a_terminal_a_destructive_tool_is_confirmed(place: Path, answer: str) -> None:
    done = run(place, "fails.py", typed=answer, columns=80)
    assert "mcp__plain__echo" in done.err.partition("Allow this once?")[0]
    assert (done.code, "gone" in done.out) == (1, answer == "y\n")


def test_a_failing_program_exits_with_1_and_lists_its_calls(place: Path) -> None:
    failed = run(place, "fails.py", "--yes", columns=80)
    # Control characters of the program do not reach the terminal.
    assert (failed.code, failed.out) == (1, "so far\ngone\n")
    for part in ("Error [run-failed]", "ValueError: no", "mcp__plain__echo"):
        assert part in failed.err
    assert "halflap/" not in failed.err
