"""`halflap run --check-only` and `halflap schema stubs`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pytest

from cli.program import PLAIN, at_once, configure, halflap

if TYPE_CHECKING:
    from pathlib import Path

    from cli.program import Done

FILES = {
    "fine.py": "print(await mcp__plain__add(a=1, b=2))",
    "wrong.py": "r = await mcp__plain__add(a=1, b=2)\nprint(await mcp__plain__add(a=1, c=2))\n",
    "doubtful.py": "import random\nif random.random() > 5:\n    print(nothing)\n",
    "broken.py": "print((1\n",
}
CONFIG = ("-c", "halflap-test.json")
RUNS = {
    "fine": ("run", "fine.py", "--check-only", *CONFIG),
    "wrong": ("run", "wrong.py", "--check-only", "--json", *CONFIG),
    "doubtful": ("run", "doubtful.py", "--check-only", *CONFIG),
    "broken": ("run", "broken.py", "--check-only", *CONFIG),
    "unknown script": ("run", "nothing", "--check-only", *CONFIG),
    "stubs": ("schema", "stubs", "--server", "plain", "-o", "__builtins__.pyi", *CONFIG),
    "stubs of none": ("schema", "stubs", "--server", "plane", *CONFIG),
    "stubs to nowhere": ("schema", "stubs", "-o", "no/such/folder.pyi", *CONFIG),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("checking")
    configure(path, PLAIN)
    for name, code in FILES.items():
        (path / name).write_text(code)
    return path


@pytest.fixture(scope="module")
def done(folder: Path) -> dict[str, Done]:
    halflap("list", *CONFIG, home=folder)
    return at_once(RUNS, folder)


def test_a_correct_program_exits_with_0_and_is_not_run(done: dict[str, Done]) -> None:
    assert (done["fine"].code, done["fine"].out) == (0, "")


def test_mistakes_exit_with_1_and_come_as_data(done: dict[str, Done]) -> None:
    assert done["wrong"].code == 1
    checked = done["wrong"].json
    assert checked["ok"] is False
    assert [(one["rule"], one["line"], one["column"]) for one in checked["mistakes"]] == [
        ("unknown-argument", 2, 34)
    ]


def test_doubts_are_shown_and_are_no_failure(done: dict[str, Done]) -> None:
    assert done["doubtful"].code == 0
    assert "line 3" in done["doubtful"].out


def test_a_syntax_error_is_a_mistake(done: dict[str, Done]) -> None:
    assert done["broken"].code == 1
    assert "line 1" in done["broken"].out


@pytest.mark.parametrize("name", ["unknown script", "stubs of none", "stubs to nowhere"])
def test_an_unknown_name_or_path_exits_with_2(done: dict[str, Done], name: str) -> None:
    assert (done[name].code, done[name].out) == (2, "")


def test_stubs_are_python(done: dict[str, Done], folder: Path) -> None:
    assert (done["stubs"].code, done["stubs"].out) == (0, "")
    stubs = (folder / "__builtins__.pyi").read_text()
    assert "async def mcp__plain__add(*, a: int, b: int)" in stubs
    ast.parse(stubs)
