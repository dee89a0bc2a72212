"""`halflap run`: programs from a file, from stdin and by the name of a script."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from cli.program import PLAIN, configure, halflap, in_terminal, side_by_side

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
}
SETTINGS: dict[str, Any] = {
    "execution": {"confirm_destructive": True},
    "tools": {"destructive": ["mcp__plain__echo"]},
}
RUNS: dict[str, tuple[str, ...]] = {
    "lines": ("lines.py",),
    "file with arguments": ("add.py", "--arg", "a=40", "--arg", "note=40"),
    "saved --json": ("add", "--arg", "a=40", "--json"),
    "fails": ("fails.py", "--yes"),
    "destroys": ("destroys.py",),
    "destroys --yes": ("destroys.py", "--yes"),
}
MISTAKES: dict[str, tuple[str, ...]] = {
    "missing argument": ("add.py",),
    "wrong argument": ("add.py", "-a", "a=x"),
    "argument of a script": ("add", "--arg", "a=x"),
    "argument without main": ("lines.py", "-a", "a=1"),
    "bad annotation": ("broken.py",),
    "no such file": ("nothing.py",),
    "no such script": ("ad",),
    "a folder": ("..",),
    "nothing": (),
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
    assert halflap("list", *CONFIG, home=home).code == 0
    return home


@pytest.fixture(scope="module")
def done(place: Path) -> dict[str, Done]:
    run = partial(halflap, "run", *CONFIG, home=place)
    jobs = {name: partial(run, *words) for name, words in {**RUNS, **MISTAKES}.items()}
    return side_by_side(
        {
            **jobs,
            "stdin": partial(run, "-", stdin=b"print(6 * 7)"),
            "arguments from stdin": partial(run, "add", "--json-args", "-", stdin=b'{"a": 1}'),
            "not text": partial(run, "-", stdin=b"\n\xff"),
        }
    )


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("lines", "one\ntwo\n"),
        ("stdin", "42\n"),
        ("file with arguments", "adding 40\n42\n"),
        ("arguments from stdin", "adding \n3\n"),
        ("destroys --yes", "gone\n"),
    ],
)
def test_stdout_is_what_the_program_printed_and_its_value(
    done: dict[str, Done], name: str, printed: str
) -> None:
    assert (done[name].code, done[name].out) == (0, printed)


@pytest.mark.parametrize("name", [*MISTAKES, "not text"])
def test_a_mistake_exits_with_2_and_leaves_stdout_empty(done: dict[str, Done], name: str) -> None:
    assert (done[name].code, done[name].out) == (2, "")
    assert "Error [" in done[name].err
    assert "Traceback" not in done[name].err


def test_a_failing_program_exits_with_1_and_lists_its_calls(done: dict[str, Done]) -> None:
    failed = done["fails"]
    assert (failed.code, failed.out) == (1, "so far\n")
    assert "Error [run-failed]" in failed.err
    assert "ValueError: no" in failed.err
    assert "mcp__plain__echo" in failed.err
    assert "halflap/" not in failed.err


def test_json_has_output_value_and_calls(done: dict[str, Done]) -> None:
    saved = done["saved --json"].json
    assert {key: saved[key] for key in ("outcome", "output", "value", "error")} == {
        "outcome": "ok",
        "output": "adding \n",
        "value": 42,
        "error": None,
    }
    assert [(call["tool"], call["outcome"]) for call in saved["calls"]] == [("mcp__plain__add", "ok")]
    assert saved["run"]
    assert saved["duration_ms"] > 0


def test_without_a_terminal_a_destructive_tool_is_refused(done: dict[str, Done]) -> None:
    assert done["destroys"].code == 1
    assert "--yes" in done["destroys"].err


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), pytest.param("n\n", 1, marks=pytest.mark.slow)])
def test_on_a_terminal_a_destructive_tool_is_confirmed(place: Path, answer: str, code: int) -> None:
    done = in_terminal("run", *CONFIG, "destroys.py", home=place, answers={"Allow this once?": answer})
    assert "mcp__plain__echo" in done.out
    assert (done.code, "gone" in done.out) == (code, code == 0)


def test_control_characters_of_a_program_do_not_reach_the_terminal(place: Path) -> None:
    done = in_terminal("run", *CONFIG, "escapes.py", home=place)
    assert "\x1b[31m" not in done.out
    assert "red" in done.out
