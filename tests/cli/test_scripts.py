"""`halflap scripts`: save, list, show, call and remove."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cli.program import PLAIN, configure, halflap

if TYPE_CHECKING:
    from pathlib import Path

DOUBLE = 'async def main(number: int) -> int:\n    """Double a number."""\n    return await mcp__plain__add(a=number, b=number)\n'


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "config").mkdir()
    configure(tmp_path, PLAIN, tools={"block": ["script__blocked"]}, ttl={"list_seconds": 100_000})
    (tmp_path / "config" / "config.json").write_text((tmp_path / "halflap-test.json").read_text())
    (tmp_path / "double.py").write_text(DOUBLE)
    return tmp_path


def put(place: Path, **scripts: str) -> Path:
    folder = place / "data" / "scripts"
    folder.mkdir(parents=True, exist_ok=True)
    for name, code in scripts.items():
        (folder / f"{name}.py").write_text(code)
    return folder


def test_broken_scripts_are_listed_with_the_others(place: Path) -> None:
    folder = put(place, good=DOUBLE, syntax="x = (", blocked=DOUBLE, hidden='"""No\x1b[31mthing\u202e."""')
    (folder / "passwords.py").symlink_to("/etc/passwd")
    listed, data = halflap("scripts", home=place), halflap("scripts", "--json", home=place)
    assert not set(listed.out) & {"\x1b", "\u202e"}
    assert {row["name"] for row in data.json if row.get("broken")} == {"passwords", "syntax"}
    assert "root:" not in data.out
    tools = halflap("list", home=place).out
    assert ("script__good" in tools, "script__blocked" in tools) == (True, False)


def test_a_terminal_shows_invisible_characters_of_a_script(place: Path) -> None:
    put(place, a="if 1:\n\tx = '\u200b\u202e\x1b[31m'")
    assert "\\u200b\\u202e\\u001b[31m" in halflap("scripts", "show", "a", home=place, columns=80).out
