"""docs/scripts.md."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from cli.program import Done, each, halflap
from halflap.demo import demo_config
from halflap.scripts.annotations import SUPPORTED
from support import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PAGE = (ROOT / "docs" / "scripts.md").read_text()
FILES = {
    text.partition("\n")[0].removeprefix("# "): text
    for text in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
}
COMMANDS = [
    line.split()
    for line in re.findall(r"^    halflap (.*)$", PAGE.partition("## What a script takes")[0], re.MULTILINE)
]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Done]:
    """Do what the page says, on the demo's servers."""
    home: Path = tmp_path_factory.mktemp("scripts-page")
    (home / "config").mkdir()
    (home / "config" / "config.json").write_text(json.dumps(demo_config()))
    for name, text in FILES.items():
        (home / name).write_text(text)
    saving, *others = COMMANDS
    runs = {"save": halflap(*saving, home=home)}
    return runs | each({" ".join(command): command for command in others}, home)


def test_the_page_has_two_files_and_four_commands() -> None:
    assert list(FILES) == ["best_customers.py", "report.py"]
    assert len(COMMANDS) == 4


@pytest.mark.slow
def test_every_command_of_the_page_works(done: dict[str, Done]) -> None:
    assert {name: one.err for name, one in done.items() if one.code != 0} == {}


@pytest.mark.slow
def test_saving_says_what_the_page_says(done: dict[str, Done]) -> None:
    (signature,) = re.findall(r"```text\n(.*?)\n```", PAGE)
    assert done["save"].err == f"Saved: {signature}\n"


@pytest.mark.slow
def test_the_script_gives_what_it_says(done: dict[str, Done]) -> None:
    best = json.loads(done["run best_customers --arg limit=2"].out)
    assert [list(one) for one in best] == [["name", "revenue"]] * 2
    lines = done["run report.py"].out.splitlines()
    assert [line.partition(":")[0] for line in lines] == [
        f"{place}. {one['name']}" for place, one in enumerate(best, 1)
    ]


def test_the_table_names_every_supported_annotation() -> None:
    table = PAGE.replace("\\|", "|")
    for word in re.findall(r"\w+", SUPPORTED.partition(", and")[0]):
        assert word in table
