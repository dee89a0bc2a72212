from __future__ import annotations

import ast
import json
from typing import TYPE_CHECKING

import pytest

from cli.program import SWIFT, at_once, configure, halflap

if TYPE_CHECKING:
    from pathlib import Path

    from cli.program import Done

FILES = {
    "fine.py": "print(await mcp__echo__add(a=1, b=2))",
    "wrong.py": "r = await mcp__echo__add(a=1, b=2)\nprint(await mcp__echo__add(a=1, c=2))\n",
    "doubtful.py": "import random\nif random.random() > 5:\n    print(nothing)\n",
    "broken.py": "print((1\n",
    "hard.py": (
        "def f(x):\n"
        + "".join(f"    class C{number}: ...\n" for number in range(60))
        + "".join(
            f"    if not isinstance(x, (C{number}, C{(number + 1) % 60})): return\n" for number in range(60)
        )
        + "    x.nothing\n"
    ),
}
CONFIG = ("-c", "halflap-test.json")
RUNS = {
    **{name: ("run", f"{name}.py", "--check-only", *CONFIG) for name in ("fine", "wrong", "doubtful", "broken", "hard")},
    "wrong --json": ("run", "wrong.py", "--check-only", "--json", *CONFIG),
    "hard --json": ("run", "hard.py", "--check-only", "--json", *CONFIG),
    "unknown script": ("run", "nothing", "--check-only", *CONFIG),
    "stubs": ("schema", "stubs", *CONFIG),
    "stubs of one": ("schema", "stubs", "--server", "echo", "-o", "__builtins__.pyi", *CONFIG),
    "stubs of none": ("schema", "stubs", "--server", "ecko", *CONFIG),
    "stubs to nowhere": ("schema", "stubs", "-o", "no/such/folder.pyi", *CONFIG),
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("checking")
    configure(path, SWIFT)
    for name, code in FILES.items():
        (path / name).write_text(code)
    return path


@pytest.fixture(scope="module")
def done(folder: Path) -> dict[str, Done]:
    halflap("list", *CONFIG, home=folder)
    return at_once(RUNS, folder)


def test_a_program_without_mistakes_exits_with_0_and_is_not_run(done: dict[str, Done]) -> None:
    assert (done["fine"].code, done["fine"].out) == (0, "")
    assert "Nothing found." in done["fine"].err


def test_mistakes_exit_with_1_and_stand_on_stdout(done: dict[str, Done]) -> None:
    assert done["wrong"].code == 1
    assert done["wrong"].out.startswith(
        "mistake: line 2, column 33: c is not an argument of mcp__echo__add. [check-unknown-argument]\n"
    )
    assert "1 mistake. It would not be run." in done["wrong"].err


def test_doubts_are_shown_and_are_no_failure(done: dict[str, Done]) -> None:
    assert done["doubtful"].code == 0
    assert "doubt: line 3, column 11: Name `nothing` used when not defined" in done["doubtful"].out
    assert "1 doubt. It would be run" in done["doubtful"].err


def test_what_is_no_python_is_a_mistake(done: dict[str, Done]) -> None:
    assert done["broken"].code == 1
    assert "SyntaxError: '(' was never closed" in done["broken"].out


def test_what_cannot_be_checked_exits_with_1_and_says_why(done: dict[str, Done]) -> None:
    assert done["hard"].code == 1
    assert "The program could not be checked: it took longer than 2 s." in done["hard"].err
    told = json.loads(done["hard --json"].out)
    assert (told["ok"], told["skipped"]) == (False, "it took longer than 2 s")


def test_mistakes_come_as_data(done: dict[str, Done]) -> None:
    told = json.loads(done["wrong --json"].out)
    assert told["ok"] is False
    assert [(one["rule"], one["line"], one["column"]) for one in told["mistakes"]] == [
        ("unknown-argument", 2, 33)
    ]


def test_a_script_that_is_not_there_is_a_mistake_in_asking(done: dict[str, Done]) -> None:
    assert done["unknown script"].code == 2


def test_stubs_are_python(done: dict[str, Done], folder: Path) -> None:
    assert done["stubs"].code == 0
    assert "async def mcp__echo__add(*, a: int, b: int)" in done["stubs"].out
    ast.parse(done["stubs"].out)
    assert (folder / "__builtins__.pyi").read_text() == done["stubs"].out
    assert "Written to __builtins__.pyi." in done["stubs of one"].err


def test_a_server_or_a_place_that_is_not_there_is_told(done: dict[str, Done]) -> None:
    assert done["stubs of none"].code == 2
    assert "There is no server named 'ecko'. There are: echo." in done["stubs of none"].err
    assert done["stubs to nowhere"].code == 2
    assert "cannot be written" in done["stubs to nowhere"].err
